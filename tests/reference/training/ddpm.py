"""The objective ddpm: timesteps, noise, loss (training.md, *DDPM*; numerics.md, *Schedules*)."""
import math

import numpy as np

from elementary import ONE
from fused import chain_products, fma
from lanes import Gradients, Pass
from schedules import noise_schedule, time_embedding
from spectral import Prepared
from streams import Stream


def combine(a, x, b, y):
    return fma(a, x, b * y)


class Ddpm:
    phases = ("denoise",)

    def __init__(self, recipe, networks, lanes):
        self.network, self.lanes = networks["model"], lanes
        table = recipe["objective"]
        self.prediction, self.timesteps = table["prediction"], table["timesteps"]
        _, self.product = noise_schedule(table["schedule"], self.timesteps)
        self.timestep_stream = Stream(recipe.seed, "ddpm/timestep")
        self.noise_stream = Stream(recipe.seed, "ddpm/noise")

    @staticmethod
    def role_of(phase):
        return "model"

    def phase(self, phase, state, draws, samples):
        role = state.roles["model"]
        prepared = Prepared(self.network, role.parameters, role.buffers, True)
        times = self.timestep_stream.below(draws, self.timesteps, 0).tolist()
        noise = self.noise_stream.normal(draws, samples[0].size).reshape(samples.shape)
        signal, spread = (np.array(values).astype(np.float32).reshape(-1, 1, 1, 1) for values in (
            [math.sqrt(self.product[t]) for t in times], [math.sqrt(1.0 - self.product[t]) for t in times]))
        noisy = combine(signal, samples, spread, noise)
        target = noise if self.prediction == "epsilon" else combine(signal, noise, -spread, samples)
        embedded = np.array([time_embedding(t, self.network.embedding_width) for t in times]).astype(np.float32)
        output, back = self.network.forward(Pass(self.lanes, prepared.weights), noisy, embedded)
        difference = output - target
        rows = difference.reshape(len(output), -1).T
        inverse = ONE / np.float32(len(rows))
        losses = chain_products(rows, rows) * inverse
        gradients = Gradients()
        back(difference * (self.lanes.share() * (np.float32(2.0) * inverse)), gradients)
        return self.lanes.mean_loss(losses), prepared.gradients(gradients)
