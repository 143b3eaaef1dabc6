"""The objective flow: straight lines from samples to noise (rectified flow: Liu, Gong and Liu, 2022)."""
import numpy as np

from denoise import Denoiser, combine
from elementary import ONE

TOLD = np.float32(1000.0)  # the network is told t times this


class Flow(Denoiser):
    def noised(self, draws, samples, noise):
        t = self.timestep_stream.uniform(draws, 1)[:, 0]
        rows = t.reshape(-1, 1, 1, 1)
        return combine(ONE - rows, samples, rows, noise), combine(ONE, noise, -ONE, samples), (TOLD * t).tolist()
