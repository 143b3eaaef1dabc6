"""Softmax attention over the positions of a picture (docs/numerics.md, *Softmax and attention*; docs/networks.md)."""
import numpy as np

from elementary import exp
from fused import chain_products, chain_values, matmul
from layers import GroupNorm, Layer, Linear, root_scale
from networks import run


def softmax(x, scale):
    """Over the last dimension."""
    t = scale * x
    e = exp(t - t.max(axis=-1, keepdims=True))
    return e / chain_values(np.moveaxis(e, -1, 0))[..., None]


def softmax_backward(y, dy, scale):
    d = chain_products(np.moveaxis(y, -1, 0), np.moveaxis(dy, -1, 0))[..., None]
    return scale * (y * (dy - d))


class SelfAttention:
    """From q, k and v side by side in the last dimension: [n][…][3c] gives [n][…][c]."""

    def __init__(self, channels, heads):
        self.heads, self.scale = heads, root_scale(channels // heads)

    def _split(self, x):
        """[n][…][c] as [n heads][positions][c / heads]."""
        n, c = len(x), x.shape[-1]
        return x.reshape(n, -1, self.heads, c // self.heads).transpose(0, 2, 1, 3).reshape(
            n * self.heads, -1, c // self.heads)

    def _joined(self, x, shape):
        n, c = shape[0], shape[-1]
        return x.reshape(n, self.heads, -1, c // self.heads).transpose(0, 2, 1, 3).reshape(shape)

    def forward(self, pass_, qkv):
        shape = (*qkv.shape[:-1], qkv.shape[-1] // 3)
        q, k, v = (self._split(part) for part in np.split(qkv, 3, axis=-1))
        weights = softmax(matmul(q, k.transpose(0, 2, 1)), self.scale)

        def back(dy, gradients, needs_input=True):
            dmixed = self._split(dy)
            dv = matmul(weights.transpose(0, 2, 1), dmixed)
            dscores = softmax_backward(weights, matmul(dmixed, v.transpose(0, 2, 1)), self.scale)
            dq, dk = matmul(dscores, k), matmul(dscores.transpose(0, 2, 1), q)
            return np.concatenate([self._joined(part, shape) for part in (dq, dk, dv)], axis=-1)
        return self._joined(matmul(weights, v), shape), back


class Attention(Layer):
    """x + out(attention(qkv(norm(x))))."""

    def __init__(self, path, channels, heads, groups):
        self.norm = GroupNorm(path + ".norm", channels, groups, silu=False)
        self.qkv = Linear(path + ".qkv", channels, 3 * channels)
        self.out = Linear(path + ".out", channels, channels, "zero")
        self.mixing = SelfAttention(channels, heads)

    def parameters(self):
        return [t for layer in (self.norm, self.qkv, self.out) for t in layer.parameters()]

    def forward(self, pass_, x):
        branch, back_branch = run((self.norm, self.qkv, self.mixing, self.out), pass_, x)
        return x + branch, lambda dy, gradients, needs_input=True: back_branch(dy, gradients) + dy  # the branch first
