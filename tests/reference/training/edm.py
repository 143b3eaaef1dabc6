"""The objective edm: preconditioned denoising at noise levels (Karras, Aittala, Aila and Laine, 2022)."""
import numpy as np

import elementary
from denoise import Denoiser, combine
from fused import fma
from schedules import Level


def noise_level(n, mean, std):
    return elementary.exp(fma(np.float32(std), n, np.float32(mean)))


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
