"""What the kinds of training share: data, layout, precision, updates, averages; as the recipe says, its defaults too."""
import contextlib
import gzip
import math
import os
import sys

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../python/lockstep"))
import networks  # without the package: it needs NumPy


def only(name, table, known, fixed=None):
    """Ends the program at a key of the table that it does not follow; fixed: keys of which one value is known."""
    for key, value in table.items():
        if key not in known and (fixed or {}).get(key) != value:
            sys.exit(f"train.py: {name}.{key} = {value!r}: PyTorch's side does not know it; leave it out, or teach it there")


def images(folder):
    """Fashion-MNIST as [pictures][1][28][28] bytes."""
    with gzip.open(os.path.join(folder, "train-images-idx3-ubyte.gz")) as file:
        content = bytearray(file.read())
    return torch.frombuffer(content, dtype=torch.uint8, offset=16).view(-1, 1, 28, 28)


def labels(folder):
    """Of these pictures, [pictures]."""
    with gzip.open(os.path.join(folder, "train-labels-idx1-ubyte.gz")) as file:
        content = bytearray(file.read())
    return torch.frombuffer(content, dtype=torch.uint8, offset=8).long()


class Trainer:
    def __init__(self, recipe, args, rank):
        self.recipe, self.args, self.rank = recipe, args, rank
        self.batch = recipe["batch"]["lanes"] * recipe["batch"]["samples_per_lane"] // max(args.ranks, 1)
        only("data", recipe["data"], {"kind", "path", "classes"})
        self.images, self.classes = images(recipe["data"]["path"]).to(args.device), recipe["data"].get("classes", 0)
        self.labels = labels(recipe["data"]["path"]).to(args.device) if self.classes else None
        seed = recipe["run"].get("seed", 1)
        torch.manual_seed(seed)  # first weights
        self.random = torch.Generator(args.device).manual_seed(seed + rank)
        self.order = torch.empty(0, dtype=torch.long, device=args.device)

    def network(self, role):
        return networks.KINDS[self.recipe[role]["kind"]](self.recipe[role], classes=self.classes)

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
        return torch.autocast(self.args.device, dtype=torch.bfloat16) if self.args.bf16 else contextlib.nullcontext()

    def drawn(self):
        """The next batch: pictures, and their classes as rows (None without classes). An epoch has each picture once."""
        if len(self.order) < self.batch:
            self.order = torch.cat([self.order, torch.randperm(len(self.images), generator=self.random, device=self.random.device)])
        chosen, self.order = self.order[:self.batch], self.order[self.batch:]
        x = self.images[chosen].float() / 127.5 - 1
        return self.laid(x), self.rows(self.labels[chosen]) if self.classes else None

    def laid(self, x):
        return x.contiguous(memory_format=torch.channels_last) if self.args.channels_last else x

    def rows(self, chosen):
        return nn.functional.one_hot(chosen, self.classes).float()

    def noise(self, *shape):
        return torch.randn(*shape, generator=self.random, device=self.random.device)

    def write_samples(self, path, count):
        """An .npz as `lockstep sample` writes it: bytes [n][height][width][channels], and the classes where there are any."""
        import numpy  # not where PyTorch only describes its networks
        random = torch.Generator(self.args.device).manual_seed(self.recipe["run"].get("seed", 1) + 10 ** 6)
        with torch.no_grad(), self.precision():
            made = torch.cat([self.made(chosen, random) for chosen in torch.arange(count, device=random.device).split(64)])
        pixels = (made.float().clamp(-1, 1) * 127.5 + 128).clamp(max=255).to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy()
        numpy.savez(path, pixels, *([numpy.arange(count) % self.classes] if self.classes else []))


def learning_rate(recipe, update):
    """Of docs/numerics.md; updates count from 1."""
    lr, warmup, schedule = recipe["lr"], recipe.get("warmup", 0), recipe.get("schedule", "constant")
    if update < warmup:
        return lr * update / warmup
    if schedule == "constant":
        return lr
    past = min(1, (update - warmup) / (recipe["horizon"] - warmup))
    return lr * {"cosine": 0.5 * (1 + math.cos(math.pi * past)), "linear": 1 - past}[schedule]


class Update:
    """One network's updates: clipping, learning rate, AdamW, the moving average where the recipe keeps one."""

    def __init__(self, role, network, recipe):
        only(f"{role}.optimizer", recipe, {"lr", "weight_decay", "beta1", "beta2", "eps", "clip_norm", "schedule", "warmup", "horizon",
                                           "ema_decay"}, {"kind": "adamw"})
        self.network, self.parameters, self.recipe, self.count = network, list(network.parameters()), recipe, 0
        self.optimizer = torch.optim.AdamW(
            self.parameters, lr=recipe["lr"], betas=(recipe.get("beta1", 0.9), recipe.get("beta2", 0.999)),
            eps=recipe.get("eps", 1e-8), weight_decay=recipe.get("weight_decay", 0.0), fused=True)
        self.clip_norm, decay = recipe.get("clip_norm", 0.0), recipe.get("ema_decay", 0.0)
        self.scheduled = "schedule" in recipe or "warmup" in recipe
        self.average = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(decay)) if decay else None
        if self.average is not None:
            self.average.n_averaged.fill_(1)  # it begins with the first weights, not with those after the first update

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

    def follow(self):
        """After the step of all networks."""
        if self.average is not None:
            self.average.update_parameters(self.network)

    @contextlib.contextmanager
    def best(self):
        """The network that samples are made of: with averaged weights where they are kept."""
        network = self.average.module if self.average is not None else self.network
        network.eval()
        yield network
        network.train()
