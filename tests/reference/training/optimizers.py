"""Learning rates, clipping, AdamW, SGD, Lion, moving averages (docs/numerics.md, *Updates*, *Schedules*, *Tiles*)."""
import math

import numpy as np

import host
import schedules
from elementary import ONE
from fused import chain_products, fma
from trees import tree_sum

TILE = 4096
SLOTS = {"adamw": ("m", "v"), "sgd": ("momentum",), "lion": ("m",)}


def clipped_by_value(gradients, limit):
    """Choices, so a NaN and the sign of a zero stay."""
    return {name: np.where(g < -limit, -limit, np.where(g > limit, limit, g)) for name, g in gradients.items()}


def _tile_squares(tensor):
    flat = tensor.reshape(-1)
    full = len(flat) // TILE
    tiles = flat[:full * TILE].reshape(full, TILE).T
    squares = list(chain_products(tiles, tiles)) if full else []
    rest = flat[full * TILE:]
    return squares + [chain_products(rest, rest)] if len(rest) else squares


def clipped(gradients, length):
    """`gradients` in the order of the state."""
    norm = np.sqrt(tree_sum([s for g in gradients.values() for s in _tile_squares(g)]))
    if not (np.isfinite(norm) and norm > length):
        return gradients
    factor = length / norm
    return {name: factor * g for name, g in gradients.items()}


def _adamw(table, lr, t):
    """Scalars in binary64, rounded once; the update of one parameter."""
    beta1, beta2 = table["beta1"], table["beta2"]
    one_minus_beta1, one_minus_beta2 = np.float32(1.0 - beta1), np.float32(1.0 - beta2)
    step_size = np.float32(lr / (1.0 - host.pow(beta1, float(t))))
    inv_sqrt_bias2 = np.float32(1.0 / math.sqrt(1.0 - host.pow(beta2, float(t))))
    decay, eps = np.float32(1.0 - lr * table["weight_decay"]), np.float32(table["eps"])
    beta1, beta2 = np.float32(beta1), np.float32(beta2)

    def update(p, g, slots):
        m = fma(beta1, slots["m"], one_minus_beta1 * g)
        v = fma(beta2, slots["v"], one_minus_beta2 * (g * g))
        d = np.sqrt(v) * inv_sqrt_bias2 + eps
        return p * decay - step_size * (m / d), {"m": m, "v": v}
    return update


def nesterov(momentum, u, g):
    """Sutskever et al., 2013: a step further along the velocity."""
    return fma(momentum, u, g)


def _sgd(table, lr, _):
    weight_decay, momentum = np.float32(table["weight_decay"]), np.float32(table["momentum"])
    minus_lr = np.float32(-lr)

    def update(p, g, slots):
        g = fma(weight_decay, p, g)
        u = fma(momentum, slots["momentum"], g)
        return fma(minus_lr, nesterov(momentum, u, g) if table["nesterov"] else u, p), {"momentum": u}
    return update


def sign(u):
    """1, -1, or +0 for both zeros; a NaN stays."""
    return np.where(u > 0, ONE, np.where(u < 0, -ONE, np.where(u == 0, np.float32(0.0), u)))


def combine_moments(m, g, betas):
    """What gives the sign, and the new m."""
    return [fma(beta, m, one_minus_beta * g) for beta, one_minus_beta in betas]


def lion_step(p, s, minus_lr, minus_decay):
    return fma(minus_lr, s, fma(minus_decay, p, p))


def _lion(table, lr, _):
    """Chen et al., 2023."""
    beta1, beta2 = table["beta1"], table["beta2"]
    minus_lr, minus_decay = np.float32(-lr), np.float32(-(lr * table["weight_decay"]))
    betas = [(np.float32(beta), np.float32(1.0 - beta)) for beta in (beta1, beta2)]

    def update(p, g, slots):
        towards, kept = combine_moments(slots["m"], g, betas)
        return lion_step(p, sign(towards), minus_lr, minus_decay), {"m": kept}
    return update


def decays(table, parameter):
    return table["decay"] == "all" or parameter.ndim >= 2


def update_role(role, table, batch, gradients, step, t):
    """Clips, then does update t, with the learning rate of the step, of all parameters of one role of the state."""
    table = {**table, "lr": schedules.peak(table["lr"], table["lr_scaling"], batch, table.get("base_batch"))}
    gradients = {name: gradients[name] for name in role.parameters}
    if table["clip_value"] != 0.0:
        gradients = clipped_by_value(gradients, np.float32(table["clip_value"]))
    if table["clip_norm"] != 0.0:
        gradients = clipped(gradients, np.float32(table["clip_norm"]))
    rule = {"adamw": _adamw, "sgd": _sgd, "lion": _lion}[table["kind"]]
    lr = schedules.learning_rate(table, step)
    decayed, free = rule(table, lr, t), rule({**table, "weight_decay": 0.0}, lr, t)
    for name, g in gradients.items():
        update = decayed if decays(table, role.parameters[name]) else free
        slots = {slot: values[name] for slot, values in role.slots.items()}
        role.parameters[name], slots = update(role.parameters[name], g, slots)
        for slot, value in slots.items():
            role.slots[slot][name] = value


def warmed(decay, t):
    return min(decay, (1 + t) / (10 + t))


def update_averages(role, decays, t, warmup):
    for average, decay in zip(role.averages, decays):
        one_minus_decay = np.float32(1.0 - (warmed(decay, t) if warmup else decay))
        for name, e in average.items():
            average[name] = fma(one_minus_decay, role.parameters[name] - e, e)
