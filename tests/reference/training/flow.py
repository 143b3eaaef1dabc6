"""The objective flow: straight lines from samples to noise (rectified flow: Liu, Gong and Liu, 2022)."""
import numpy as np

from denoise import Denoiser, combine
from elementary import ONE, sigmoid
from fused import fma

TOLD = np.float32(1000.0)  # the network is told t times this


def logit_normal(n, mean, std):
    return sigmoid(fma(np.float32(std), n, np.float32(mean)))


class Flow(Denoiser):
    def __init__(self, recipe, networks, lanes):
        super().__init__(recipe, networks, lanes)
        self.table = recipe["objective"]

    def times(self, draws):
        if self.table["times"] == "uniform":
            return self.timestep_stream.uniform(draws, 1)[:, 0]
        n = self.timestep_stream.normal(draws, 1)[:, 0]
        return logit_normal(n, self.table["logit_mean"], self.table["logit_std"])

    def noised(self, draws, samples, noise):
        t = self.times(draws)
        rows = t.reshape(-1, 1, 1, 1)
        return combine(ONE - rows, samples, rows, noise), combine(ONE, noise, -ONE, samples), (TOLD * t).tolist()
