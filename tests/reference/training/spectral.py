"""Spectral norm of weights seen as [all dimensions but the last][the last] (docs/numerics.md)."""
import numpy as np

from elementary import ONE
from fused import chain_products, fma, matmul

EPS = np.float32(1e-12)


def _unit(x):
    return x * (ONE / (np.sqrt(chain_products(x, x)) + EPS))


def _times_v(w, v):
    return matmul(w, v[:, None])[:, 0]


def power_iteration(weight, u):
    """The new u and v."""
    w = weight.reshape(-1, weight.shape[-1])
    v = _unit(matmul(u[None], w)[0])
    return _unit(_times_v(w, v)), v


class Normalised:
    """The weight in use, and the backward function for its gradient."""

    def __init__(self, weight, u, v):
        w = weight.reshape(-1, weight.shape[-1])
        self.u, self.v = u, v
        self.inverse = ONE / chain_products(u, _times_v(w, v))
        self.weight = weight * self.inverse

    def gradient(self, g):
        a = chain_products(g.reshape(-1), self.weight.reshape(-1))
        rows = g.reshape(-1, g.shape[-1])
        return (fma((-a * self.u)[:, None], self.v[None], rows) * self.inverse).reshape(g.shape)


class Prepared:
    """A network's parameters as one phase uses them; in the network's own phase, u and v change first."""

    def __init__(self, network, parameters, buffers, own_phase):
        self.weights = dict(parameters)
        self.normalised = {}
        for layer in network.layers:
            if not layer.spectral:
                continue
            name, u, v = layer.weight_name, layer.path + ".u", layer.path + ".v"
            if own_phase:
                buffers[u], buffers[v] = power_iteration(parameters[name], buffers[u])
            self.normalised[name] = Normalised(parameters[name], buffers[u], buffers[v])
            self.weights[name] = self.normalised[name].weight

    def gradients(self, gradients):
        """The gradients of the parameters from those of the used weights."""
        return {name: self.normalised[name].gradient(g) if name in self.normalised else g
                for name, g in gradients.items()}
