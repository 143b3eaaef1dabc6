#!/usr/bin/env python3
"""Training steps of a recipe's networks in plain PyTorch: the other side of tools/bench.

  tests/bench/pytorch/train.py tests/bench/unet.toml --steps 8 --threads 2 --channels-last --compile
  tests/bench/pytorch/train.py tests/bench/dcgan.toml --describe

Batch, networks, loss, optimiser and averages are those of the recipe. AdamW is PyTorch's fused one, its fastest. With
--ranks N: DistributedDataParallel over Gloo, each rank with its share of the batch. Prints one JSON line: steps a second
(of the median step), seconds of each step after the warm-up, peak memory of the process and of these steps.
--describe prints the networks' tensors. --losses FILE writes the loss of each step, of the warm-up's too, as a JSON list.
--samples FOLDER: pictures of a GAN's averaged generator, each --samples-every steps, step-NNNNNNNN.npz as `lockstep sample`
writes them, always of the same latents and in the arithmetic of the training. First weights, data and noise are drawn from
the recipe's run.seed.
"""
import argparse
import contextlib
import gzip
import json
import math
import os
import statistics
import sys
import time
import tomllib

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../python/lockstep"))
import networks  # without the package: it needs NumPy

TIMESTEPS = 1000


def images(folder):
    """Fashion-MNIST as [pictures][1][28][28] bytes."""
    with gzip.open(os.path.join(folder, "train-images-idx3-ubyte.gz")) as file:
        content = bytearray(file.read())
    return torch.frombuffer(content, dtype=torch.uint8, offset=16).view(-1, 1, 28, 28)


class Trainer:
    """What the kinds of training share: data, precision, layout, ranks."""

    def __init__(self, recipe, args, rank):
        self.recipe, self.args, self.rank = recipe, args, rank
        self.batch = recipe["batch"]["lanes"] * recipe["batch"]["samples_per_lane"] // max(args.ranks, 1)
        self.images = images(recipe["data"]["path"])
        seed = recipe["run"].get("seed", 1)
        torch.manual_seed(seed)  # first weights
        self.random = torch.Generator().manual_seed(seed + rank)

    def prepared(self, network, broadcast_buffers=True):
        """The network as this contestant runs it: layout, compiled, averaging gradients over ranks."""
        if self.args.channels_last:
            network = network.to(memory_format=torch.channels_last)
        if self.args.compile:
            network = torch.compile(network)
        if self.args.ranks:
            network = nn.parallel.DistributedDataParallel(network, broadcast_buffers=broadcast_buffers)
        return network

    def precision(self):
        return torch.autocast("cpu", dtype=torch.bfloat16) if self.args.bf16 else contextlib.nullcontext()

    def pictures(self):
        chosen = torch.randint(len(self.images), (self.batch,), generator=self.random)
        x = self.images[chosen].float() / 127.5 - 1
        return x.contiguous(memory_format=torch.channels_last) if self.args.channels_last else x

    def noise(self, *shape):
        return torch.randn(*shape, generator=self.random)


def adamw(network, recipe):
    return torch.optim.AdamW(network.parameters(), lr=recipe["lr"], weight_decay=recipe.get("weight_decay", 0.0),
                             betas=(recipe.get("beta1", 0.9), recipe.get("beta2", 0.999)), fused=True)


def learning_rate(recipe, update):
    """Of docs/numerics.md; updates count from 1."""
    lr, warmup, schedule = recipe["lr"], recipe.get("warmup", 0), recipe.get("schedule", "constant")
    if update < warmup:
        return lr * update / warmup
    if schedule == "constant":
        return lr
    past = min(1, (update - warmup) / (recipe["horizon"] - warmup))
    return lr * (0.5 * (1 + math.cos(math.pi * past)) if schedule == "cosine" else 1 - past)


def averaged(network, recipe):
    """The moving average of its weights, where the recipe keeps one."""
    decay = recipe.get("ema_decay", 0.0)
    return AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(decay)) if decay else None


class Update:
    """One network's updates: clipping, learning rate, AdamW."""

    def __init__(self, network, recipe):
        self.parameters, self.recipe, self.count = list(network.parameters()), recipe, 0
        self.optimizer = adamw(network, recipe)
        self.clip_norm = recipe.get("clip_norm", 0.0)
        self.scheduled = "schedule" in recipe or "warmup" in recipe

    def step(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        self.count += 1
        if self.clip_norm:
            nn.utils.clip_grad_norm_(self.parameters, self.clip_norm)
        if self.scheduled:
            for group in self.optimizer.param_groups:
                group["lr"] = learning_rate(self.recipe, self.count)
        self.optimizer.step()


class Ddpm(Trainer):
    def __init__(self, recipe, args, rank=0):
        super().__init__(recipe, args, rank)
        optimizer = recipe["model"]["optimizer"]
        self.plain = networks.KINDS[recipe["model"]["kind"]](recipe["model"])
        self.model = self.prepared(self.plain)
        self.update = Update(self.plain, optimizer)
        self.average = averaged(self.plain, optimizer)
        kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, TIMESTEPS, dtype=torch.float64), 0)
        self.signal, self.spread = kept.sqrt().float(), (1 - kept).sqrt().float()

    def networks(self):
        return {"model": self.plain}

    def step(self):
        x = self.pictures()
        t = torch.randint(TIMESTEPS, (self.batch,), generator=self.random)
        epsilon = self.noise(*x.shape)
        noisy = self.signal[t].view(-1, 1, 1, 1) * x + self.spread[t].view(-1, 1, 1, 1) * epsilon
        with self.precision():
            output = self.model(noisy, t)
        loss = F.mse_loss(output.float(), epsilon)
        self.update.step(loss)
        if self.average is not None:
            self.average.update_parameters(self.plain)
        return loss.item()


LOSSES = {  # of real and fake answers; of the generator's answers
    "gan": (lambda real, fake: F.softplus(-real) + F.softplus(fake), lambda fake: F.softplus(-fake)),
    "hinge-gan": (lambda real, fake: F.relu(1 - real) + F.relu(1 + fake), lambda fake: -fake)}


class Gan(Trainer):
    def __init__(self, recipe, args, rank=0):
        super().__init__(recipe, args, rank)
        self.latent = recipe["generator"]["latent"]
        self.losses = LOSSES[recipe["objective"]["kind"]]
        self.plain = {role: networks.KINDS[recipe[role]["kind"]](recipe[role])
                      for role in ("generator", "discriminator")}
        self.generator = self.prepared(self.plain["generator"])
        # Its buffers stay: it runs twice before one backward pass, and a broadcast in between would spoil that.
        self.discriminator = self.prepared(self.plain["discriminator"], broadcast_buffers=False)
        self.spectral = [layer for layer in self.plain["discriminator"].modules() if isinstance(layer, networks.Spectral)]
        self.updates = {role: Update(network, recipe[role]["optimizer"]) for role, network in self.plain.items()}
        self.average = averaged(self.plain["generator"], recipe["generator"]["optimizer"])

    def networks(self):
        return self.plain

    def prepare(self, iterate):
        for layer in self.spectral:
            layer.prepare(iterate)

    def step(self):
        own = (lambda wrapped: wrapped.module) if self.args.ranks else (lambda wrapped: wrapped)
        with torch.no_grad(), self.precision():
            fake = own(self.generator)(self.noise(self.batch, self.latent))
        self.prepare(True)
        with self.precision():
            real, false = self.discriminator(self.pictures()), self.discriminator(fake)
        loss = self.losses[0](real.float(), false.float()).mean()
        self.updates["discriminator"].step(loss)
        self.plain["discriminator"].requires_grad_(False)
        self.prepare(False)
        with self.precision():
            answer = own(self.discriminator)(self.generator(self.noise(self.batch, self.latent)))
        self.updates["generator"].step(self.losses[1](answer.float()).mean())
        self.plain["discriminator"].requires_grad_(True)
        if self.average is not None:
            self.average.update_parameters(self.plain["generator"])
        return loss.item()

    def write_samples(self, path, count):
        """By running statistics, as bytes [n][height][width][channels]."""
        network = self.average.module if self.average is not None else self.plain["generator"]
        random = torch.Generator().manual_seed(self.recipe["run"].get("seed", 1) + 10 ** 6)
        network.eval()
        with torch.no_grad(), self.precision():
            made = torch.cat([network(z) for z in torch.randn(count, self.latent, generator=random).split(50)])
        network.train()
        pixels = (made.float().clamp(-1, 1) * 127.5 + 128).clamp(max=255).to(torch.uint8)
        import numpy  # not where PyTorch only describes its networks
        numpy.savez(path, pixels.permute(0, 2, 3, 1).numpy())


def peak_bytes():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def forget_peak():
    """From here on the peak is that of what follows."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--steps", type=int, default=8, help="after the warm-up")
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--bf16", action="store_true", help="autocast")
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--describe", action="store_true")
    parser.add_argument("--losses", metavar="FILE")
    parser.add_argument("--samples", metavar="FOLDER")
    parser.add_argument("--samples-every", type=int, default=500, metavar="STEPS")
    parser.add_argument("--count", type=int, default=1000, help="pictures of each of these steps")
    args = parser.parse_args()
    if args.ranks and "RANK" not in os.environ:
        os.execv(sys.executable, [sys.executable, "-m", "torch.distributed.run", "--standalone",
                                  f"--nproc_per_node={args.ranks}", *sys.argv])
    torch.set_num_threads(args.threads)
    with open(args.recipe, "rb") as file:
        recipe = tomllib.load(file)
    rank = 0
    if args.ranks:
        torch.distributed.init_process_group("gloo")
        rank = torch.distributed.get_rank()
    trainer = (Gan if recipe["objective"]["kind"] in LOSSES else Ddpm)(recipe, args, rank)
    if args.describe:
        shapes = {f"{role}/param/{name}": list(tensor.shape)
                  for role, network in trainer.networks().items() for name, tensor in network.named_parameters()}
        print(json.dumps({"batch": trainer.batch, "torch": torch.__version__, "tensors": shapes}))
        return
    losses = [trainer.step() for _ in range(args.warm_up)]
    whole, seconds = peak_bytes(), []
    forget_peak()
    for _ in range(args.steps):
        start = time.perf_counter()
        losses.append(trainer.step())
        seconds.append(time.perf_counter() - start)
        if args.samples and len(losses) % args.samples_every == 0:
            trainer.write_samples(os.path.join(args.samples, f"step-{len(losses):08d}.npz"), args.count)
    if rank == 0 and args.losses:
        with open(args.losses, "w") as file:
            json.dump(losses, file)
    if rank == 0:
        print(json.dumps({"steps_per_s": 1 / statistics.median(seconds) if seconds else 0, "seconds": seconds,
                          "peak_bytes": max(whole, peak_bytes()), "peak_of_steps_bytes": peak_bytes(),
                          "torch": torch.__version__, "isa": torch.backends.cpu.get_cpu_capability()}), flush=True)
    if args.ranks:
        torch.distributed.barrier()
        os._exit(0)  # Gloo's threads sometimes hang at the interpreter's exit


if __name__ == "__main__":
    main()
