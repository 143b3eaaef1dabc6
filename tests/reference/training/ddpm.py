"""The objective ddpm: timesteps, noise, targets (training.md, *DDPM*; numerics.md, *Schedules*)."""
import math

import numpy as np

from denoise import Denoiser, combine
from schedules import min_snr, noise_schedule


class Ddpm(Denoiser):
    def __init__(self, recipe, networks, lanes):
        super().__init__(recipe, networks, lanes)
        table = recipe["objective"]
        self.prediction, self.timesteps = table["prediction"], table["timesteps"]
        _, self.product = noise_schedule(table["schedule"], self.timesteps)
        self.gamma = table["min_snr_gamma"] if table["weighting"] == "min-snr" else None

    def weights(self, times):
        if self.gamma is None:
            return None
        return np.array([min_snr(self.product[t], self.prediction, self.gamma) for t in times]).astype(np.float32)

    def noised(self, draws, samples, noise):
        times = self.timestep_stream.below(draws, self.timesteps, 0).tolist()
        signal, spread = (np.array(values).astype(np.float32).reshape(-1, 1, 1, 1) for values in (
            [math.sqrt(self.product[t]) for t in times], [math.sqrt(1.0 - self.product[t]) for t in times]))
        if self.prediction == "v":
            target = combine(signal, noise, -spread, samples)
        elif self.prediction == "x0":
            target = combine(np.zeros_like(signal), noise, np.ones_like(spread), samples)
        else:
            target = noise
        return combine(signal, samples, spread, noise), target, times
