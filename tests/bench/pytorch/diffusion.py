"""Diffusion models: noise, targets, label dropout and samplers of docs/training.md and docs/numerics.md (Schedules)."""
import math

import torch
import torch.nn.functional as F

from training import Trainer, Update, only


def column(values):
    return values.view(-1, 1, 1, 1)


class Ddpm:
    """Ho et al. 2020, learnt as epsilon, v or x0, betas linear or cosine; sampled by ddim (Song et al. 2021)."""
    KEYS = {"prediction", "schedule", "timesteps", "sampler_steps"}
    FIXED = {"sampler": "ddim"}

    def __init__(self, objective):
        self.timesteps, self.visits = objective.get("timesteps", 1000), objective.get("sampler_steps", 50)
        self.prediction = objective.get("prediction", "epsilon")
        self.kept = torch.cumprod(1 - self.betas(objective.get("schedule", "linear")).clamp(max=0.999), 0)
        self.signal, self.spread = self.kept.sqrt().float(), (1 - self.kept).sqrt().float()

    def betas(self, schedule):
        if schedule == "linear":
            scale = 1000 / self.timesteps
            return torch.linspace(scale * 1e-4, scale * 0.02, self.timesteps, dtype=torch.float64)
        places = torch.arange(self.timesteps + 1, dtype=torch.float64) / self.timesteps
        kept = {"cosine": ((places + 0.008) / 1.008 * math.pi / 2).cos() ** 2}[schedule]
        return 1 - kept[1:] / kept[:-1]

    def noisy(self, x, epsilon, random):
        """Input, what the network is told of the time, target."""
        t = torch.randint(self.timesteps, (len(x),), generator=random, device=x.device)
        signal, spread = column(self.signal[t]), column(self.spread[t])
        target = {"epsilon": epsilon, "v": signal * epsilon - spread * x, "x0": x}[self.prediction]
        return signal * x + spread * epsilon, t, target

    def sample(self, network, x):
        for i in reversed(range(self.visits)):
            t, before = (i + 1) * self.timesteps // self.visits - 1, i * self.timesteps // self.visits - 1
            signal, spread = self.signal[t].item(), self.spread[t].item()
            output = network(x, torch.full((len(x),), t, device=x.device))
            found = {"epsilon": (x - spread * output) / signal, "v": signal * x - spread * output, "x0": output}[self.prediction].clamp(-1, 1)
            kept = self.kept[before].item() if before >= 0 else 1.0
            ratio = math.sqrt((1 - kept) / (1 - self.kept[t].item()))
            x = (math.sqrt(kept) - ratio * math.sqrt(self.kept[t].item())) * found + ratio * x
        return x


class Flow:
    """Rectified flow (Liu et al. 2023), times uniform or logit-normal (Esser et al. 2024); sampled by euler."""
    KEYS = {"times", "logit_mean", "logit_std", "sampler_steps"}
    FIXED = {"sampler": "euler"}

    def __init__(self, objective):
        self.steps, self.times = objective.get("sampler_steps", 50), objective.get("times", "uniform")
        self.mean, self.std = objective.get("logit_mean", 0.0), objective.get("logit_std", 1.0)

    def noisy(self, x, epsilon, random):
        t = {"uniform": lambda: torch.rand(len(x), generator=random, device=x.device),
             "logit-normal": lambda: torch.sigmoid(self.mean + self.std * torch.randn(len(x), generator=random, device=x.device))}[self.times]()
        return (1 - column(t)) * x + column(t) * epsilon, 1000 * t, epsilon - x

    def sample(self, network, x):
        for i in range(self.steps, 0, -1):
            x = x - network(x, torch.full((len(x),), 1000 * i / self.steps, device=x.device)) / self.steps
        return x


PROCESSES = {"ddpm": Ddpm, "flow": Flow}


def sampled(network, objective, x, y):
    """From noise x, of classes y; with classifier-free guidance where the recipe has it."""
    guidance = objective.get("guidance", 1.0)

    def asked(x, told):
        output = network(x, told, y)
        return output if guidance == 1 else guidance * output + (1 - guidance) * network(x, told, torch.zeros_like(y))

    return PROCESSES[objective["kind"]](objective).sample(asked, x)


class Diffusion(Trainer):
    def __init__(self, recipe, args, rank=0):
        super().__init__(recipe, args, rank)
        objective = recipe["objective"]
        process = PROCESSES[objective["kind"]]
        only("objective", objective, {"kind", "label_dropout", "guidance", *process.KEYS}, process.FIXED)
        self.process, self.label_dropout = process(objective), objective.get("label_dropout", 0.0)
        self.plain = self.network("model")
        self.model = self.prepared(self.plain)
        self.update = Update("model", self.plain, recipe["model"]["optimizer"])

    def networks(self):
        return {"model": self.plain}

    def step(self):
        x, y = self.drawn()
        noisy, told, target = self.process.noisy(x, self.noise(*x.shape), self.random)
        if self.label_dropout:
            y = y * (torch.rand(len(y), 1, generator=self.random, device=y.device) >= self.label_dropout)
        with self.precision():
            output = self.model(noisy, told, y)
        loss = F.mse_loss(output.float(), target)
        self.update.step(loss)
        self.update.follow()
        return loss.item()

    def made(self, chosen, random):
        """Sample i has the class i modulo the number of classes."""
        y = self.rows(chosen % self.classes) if self.classes else None
        with self.update.best() as network:
            return sampled(network, self.recipe["objective"], torch.randn(len(chosen), *self.images.shape[1:], generator=random, device=random.device), y)
