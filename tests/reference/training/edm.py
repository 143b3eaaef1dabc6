"""The objective edm: preconditioned denoising at noise levels (Karras, Aittala, Aila and Laine, 2022)."""
import math

import numpy as np

import elementary
import host
from denoise import Denoiser, combine
from fused import fma


class Level:
    """Binary64 numbers of one noise level."""

    def __init__(self, s, d):
        self.s, self.d = float(s), d
        self.q = self.s * self.s + d * d
        self.l = math.sqrt(self.q)

    def told(self):
        return float(np.float32(0.25 * host.log(self.s)))

    def scale(self):
        return np.float32(1.0 / self.l)

    def mix(self):
        """Factors of x0 and noise in the network's input."""
        return 1.0 / self.l, self.s / self.l

    def target(self):
        """Factors of noise and x0."""
        return -self.d / self.l, self.s / (self.d * self.l)

    def slope(self):
        """Factors of x and the output."""
        return np.float32(self.s / self.q), np.float32(-self.d / self.l)


def noise_level(n, mean, std):
    return elementary.exp(fma(np.float32(std), n, np.float32(mean)))


def levels(table):
    """Where a sampler's steps begin, and 0."""
    k, rho = table["sampler_steps"], table["rho"]
    f, g = (host.pow(table[key], 1.0 / rho) for key in ("sigma_max", "sigma_min"))
    return [table["sigma_max"], *(host.pow(f + (i / (k - 1)) * (g - f), rho) for i in range(1, k)), 0.0]


class Edm(Denoiser):
    def __init__(self, recipe, networks, lanes):
        super().__init__(recipe, networks, lanes)
        self.table = recipe["objective"]

    def noised(self, draws, samples, noise):
        n = self.timestep_stream.normal(draws, 1)[:, 0]
        drawn = noise_level(n, self.table["p_mean"], self.table["p_std"])
        levels = [Level(s, self.table["sigma_data"]) for s in drawn]

        def rows(factors):
            return (np.array(values).astype(np.float32).reshape(-1, 1, 1, 1) for values in zip(*factors))
        of_sample, of_noise = rows(level.mix() for level in levels)
        first, second = rows(level.target() for level in levels)
        return (combine(of_sample, samples, of_noise, noise), combine(first, noise, second, samples),
                [level.told() for level in levels])
