"""Batch norm over all lanes and group norm, with gradients (docs/numerics.md, *Norms*), on binary32 arrays."""
import numpy as np

from chains import tree
from elementary import ONE, silu, silu_derivative
from fused import chain_products, chain_values, fma
from trees import tree_sum

EPS = np.float32(1e-5)
MOMENTUM = np.float32(0.1)


def _rstd(var):
    return ONE / np.sqrt(var + EPS)


def _merged(a, b):
    """The moments (count, mean, m2) of two parts of the batch."""
    d = b[1] - a[1]
    count = a[0] + b[0]
    r = b[0] / count
    return count, fma(d, r, a[1]), fma(d * d, a[0] * r, a[2] + b[2])


def batch_moments(rows, lanes):
    """count, mean, m2 of each channel over the whole batch."""
    x = lanes.rows(rows)
    count = np.float32(len(x))
    mean = chain_values(x) / count
    d = x - mean
    m2 = chain_products(d, d)
    return tree([(count, mean[i], m2[i]) for i in range(lanes.count)], _merged)


def batch_norm(rows, mean, var, gamma, beta):
    rstd = _rstd(var)
    xhat = (rows - mean) * rstd
    return fma(xhat, gamma, beta), xhat, rstd


def running_values(moments):
    count, mean, m2 = moments
    return mean, (count / (count - ONE)) * (m2 / count)


def moved(running, value):
    return fma(MOMENTUM, value - running, running)


def batch_norm_backward(dy, xhat, rstd, gamma, moments, lanes):
    """dx, dgamma, dbeta."""
    count = moments[0]
    g, x = lanes.rows(dy), lanes.rows(xhat)
    s, p = tree_sum(chain_values(g)), tree_sum(chain_products(g, x))
    dx = (gamma * rstd) * (dy - fma(xhat, p / count, s / count))
    return dx, p, s


def layer_norm(x, gamma, beta, eps):
    """Over the last dimension; gamma and beta broadcast. y and what the backward pass needs."""
    count = np.float32(x.shape[-1])
    d = x - (chain_values(np.moveaxis(x, -1, 0)) / count)[..., None]
    by_channel = np.moveaxis(d, -1, 0)
    rstd = (ONE / np.sqrt(chain_products(by_channel, by_channel) / count + eps))[..., None]
    xhat = d * rstd
    return fma(xhat, gamma, beta), (xhat, rstd, gamma, count)


def layer_norm_backward(dy, saved):
    """dx."""
    xhat, rstd, gamma, count = saved
    h = dy * gamma
    by_channel = np.moveaxis(h, -1, 0)
    m = chain_values(by_channel) / count
    q = chain_products(by_channel, np.moveaxis(xhat, -1, 0)) / count
    return (h - fma(xhat, q[..., None], m[..., None])) * rstd


def _over_groups(per_channel, groups):
    """[n][c] as [channel of the group][n][groups]."""
    return per_channel.reshape(len(per_channel), groups, -1).transpose(2, 0, 1)


def _to_channels(per_group, c):
    """[n][groups] as [n][1][c]."""
    return np.repeat(per_group, c // per_group.shape[1], axis=1)[:, None]


def group_norm(x, gamma, beta, groups, fused_silu):
    """x [n][positions][c]; y and what the backward pass needs."""
    _, positions, c = x.shape
    count = np.float32(positions * (c // groups))
    mean = chain_values(_over_groups(chain_values(x.transpose(1, 0, 2)), groups)) / count
    d = x - _to_channels(mean, c)
    by_position = np.ascontiguousarray(d.transpose(1, 0, 2))
    squares = chain_values(_over_groups(chain_products(by_position, by_position), groups))
    rstd = _to_channels(_rstd(squares / count), c)
    xhat = d * rstd
    z = fma(xhat, gamma, beta)
    return silu(z) if fused_silu else z, (xhat, rstd, z, count)


def group_norm_backward(dy, saved, gamma, groups, fused_silu):
    """dx, and each sample's dgamma and dbeta."""
    xhat, rstd, z, count = saved
    g = dy * silu_derivative(z) if fused_silu else dy
    by_position = g.transpose(1, 0, 2)
    sums = chain_values(by_position)
    dots = chain_products(by_position, xhat.transpose(1, 0, 2))
    gammas = _over_groups(np.broadcast_to(gamma, sums.shape), groups)
    m = chain_products(gammas, _over_groups(sums, groups)) / count
    q = chain_products(gammas, _over_groups(dots, groups)) / count
    c = len(gamma)
    dx = (g * gamma - fma(xhat, _to_channels(q, c), _to_channels(m, c))) * rstd
    return dx, dots, sums
