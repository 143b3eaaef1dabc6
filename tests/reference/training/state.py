"""The training state: all tensors, their order, their first values (docs/checkpoint.md, docs/networks.md)."""
import numpy as np

from hashes import commit_digest, state_digest
from optimizers import SLOTS
from streams import Stream


def first_values(tensor, role, seed):
    if tensor.kind == "constant":
        return np.full(tensor.shape, tensor.scale, np.float32)
    stream = Stream(seed, f"init/{role}/{tensor.name}")
    count = int(np.prod(tensor.shape))
    if tensor.kind == "uniform":
        u = stream.uniform([0], count)[0]
        values = (u + u - np.float32(1.0)) * tensor.scale
    else:
        values = stream.normal([0], count)[0] * tensor.scale
    return values.reshape(tensor.shape)


def decays(optimizer):
    """Of the averages that are kept."""
    return [optimizer["ema_decay"], *optimizer["more_ema_decays"]] if optimizer["ema_decay"] != 0.0 else []


class Role:
    """A network's tensors, by name, in the order of its layers."""

    def __init__(self, name, network, optimizer, seed):
        self.name = name
        self.parameters = {t.name: first_values(t, name, seed) for t in network.parameters()}
        self.buffers = {t.name: first_values(t, name, seed) for t in network.buffers()}
        self.slots = {slot: {n: np.zeros_like(p) for n, p in self.parameters.items()}
                      for slot in SLOTS[optimizer["kind"]]}
        self.averages = [dict(self.parameters) for _ in decays(optimizer)]

    def tensors(self):
        kinds = [("param", self.parameters), ("buffer", self.buffers), *self.slots.items(),
                 *((f"ema{k + 1}" if k else "ema", average) for k, average in enumerate(self.averages))]
        return [(f"{self.name}/{kind}/{name}", value) for kind, values in kinds for name, value in values.items()]


class State:
    def __init__(self, recipe, networks):
        self.roles = {name: Role(name, networks[name], recipe[name + ".optimizer"], recipe.seed)
                      for name in recipe.roles}
        self.step = self.samples = 0

    def tensors(self):
        return [tensor for role in self.roles.values() for tensor in role.tensors()]

    def digest(self):
        return state_digest(self.tensors(), self.step, self.samples)

    def commit(self):
        return commit_digest(self.tensors(), self.step, self.samples)
