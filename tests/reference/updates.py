"""Clipping, updates and their scalars."""

import chains
import host
from chains import dot, rows
from floats import INFINITY, add, div, fma, mul, round32, sqrt, sqrt64, sub

TILE = 4096


def tile_squares(tensors):
    """The squares of every tile, tensor by tensor."""
    return [dot(tile, tile) for values in tensors for tile in rows(values, TILE)]


def norm_of(squares):
    return sqrt(chains.tree_sum([[square] for square in squares])[0])


def shortened(values, length, norm):
    factor = div(length, norm)
    return [mul(factor, v) for v in values]


def clipped(tensors, length, norm):
    if length > 0.0 and norm > length and norm != INFINITY:
        return [shortened(values, length, norm) for values in tensors]
    return tensors


def power(beta, t):
    return host.pow(beta, float(t))


def adamw_scalars(t, lr, weight_decay, beta1, beta2, eps):
    """The scalars of AdamW's update t, by name."""
    return {name: round32(value) for name, value in {
        "beta1": beta1, "one_minus_beta1": 1.0 - beta1, "beta2": beta2, "one_minus_beta2": 1.0 - beta2, "eps": eps,
        "step_size": lr / (1.0 - power(beta1, t)), "inv_sqrt_bias2": 1.0 / sqrt64(1.0 - power(beta2, t)),
        "decay": 1.0 - lr * weight_decay}.items()}


def sgd_scalars(lr, weight_decay, momentum):
    return {"lr": round32(lr), "weight_decay": round32(weight_decay), "momentum": round32(momentum)}


def lion_scalars(lr, weight_decay, beta1, beta2):
    return {name: round32(value) for name, value in {
        "lr": lr, "decay": lr * weight_decay, "beta1": beta1, "one_minus_beta1": 1.0 - beta1,
        "beta2": beta2, "one_minus_beta2": 1.0 - beta2}.items()}


def scalars(p, t, lr):
    """Of update t of the kind that the parameters say."""
    if p["kind"] == "adamw":
        return adamw_scalars(t, lr, *(p[name] for name in ("weight_decay", "beta1", "beta2", "eps")))
    if p["kind"] == "lion":
        return lion_scalars(lr, *(p[name] for name in ("weight_decay", "beta1", "beta2")))
    return sgd_scalars(lr, p["weight_decay"], p["momentum"])


def adamw(i, p):
    out = []
    for g, w, m, v in zip(*(i[name].values for name in ("g", "p", "m", "v"))):
        a = mul(p["one_minus_beta1"], g)
        m = fma(p["beta1"], m, a)
        b = mul(g, g)
        b = mul(p["one_minus_beta2"], b)
        v = fma(p["beta2"], v, b)
        d = sqrt(v)
        d = mul(d, p["inv_sqrt_bias2"])
        d = add(d, p["eps"])
        w = mul(w, p["decay"])
        q = div(m, d)
        q = mul(p["step_size"], q)
        out.append((sub(w, q), m, v))
    return list(zip(*out))


def sgd(i, p):
    out = []
    for g, w, u in zip(*(i[name].values for name in ("g", "p", "u"))):
        g = fma(p["weight_decay"], w, g)
        u = fma(p["momentum"], u, g)
        d = fma(p["momentum"], u, g) if p.get("nesterov") else u
        out.append((fma(-p["lr"], d, w), u))
    return list(zip(*out))


def sign(u):
    if u > 0.0:
        return 1.0
    if u < 0.0:
        return -1.0
    return 0.0 if u == 0.0 else u


def lion(i, p):
    out = []
    for g, w, m in zip(*(i[name].values for name in ("g", "p", "m"))):
        s = sign(fma(p["beta1"], m, mul(p["one_minus_beta1"], g)))
        w = fma(-p["decay"], w, w)
        w = fma(-p["lr"], s, w)
        out.append((w, fma(p["beta2"], m, mul(p["one_minus_beta2"], g))))
    return list(zip(*out))


def ema(i, p):
    return [[fma(p["one_minus_decay"], sub(w, e), e) for w, e in zip(i["p"].values, i["e"].values)]]
