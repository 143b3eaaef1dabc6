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


def is_dropped(u, share):
    return u < share


class Ddpm:
    phases = ("denoise",)

    def __init__(self, recipe, networks, lanes):
        self.network, self.lanes = networks["model"], lanes
        table = recipe["objective"]
        self.prediction, self.timesteps = table["prediction"], table["timesteps"]
        _, self.product = noise_schedule(table["schedule"], self.timesteps)
        self.timestep_stream = Stream(recipe.seed, "ddpm/timestep")
        self.noise_stream = Stream(recipe.seed, "ddpm/noise")
        self.label_dropout = np.float32(table["label_dropout"])
        self.dropout_stream = Stream(recipe.seed, "ddpm/label-dropout")

    @staticmethod
    def role_of(phase):
        return "model"

    def condition(self, batch):
        """Label dropout (Ho and Salimans, 2022)."""
        if self.label_dropout == 0.0:
            return batch.condition
        dropped = is_dropped(self.dropout_stream.uniform(batch.draws, 1), self.label_dropout)
        return np.where(dropped, np.float32(0.0), batch.condition)

    def phase(self, phase, state, batch):
        draws, samples = batch.draws, batch.samples
        role = state.roles["model"]
        prepared = Prepared(self.network, role.parameters, role.buffers, True)
        times = self.timestep_stream.below(draws, self.timesteps, 0).tolist()
        noise = self.noise_stream.normal(draws, samples[0].size).reshape(samples.shape)
        signal, spread = (np.array(values).astype(np.float32).reshape(-1, 1, 1, 1) for values in (
            [math.sqrt(self.product[t]) for t in times], [math.sqrt(1.0 - self.product[t]) for t in times]))
        noisy = combine(signal, samples, spread, noise)
        target = noise if self.prediction == "epsilon" else combine(signal, noise, -spread, samples)
        embedded = np.array([time_embedding(t, self.network.embedding_width) for t in times]).astype(np.float32)
        pass_ = Pass(self.lanes, prepared.weights, condition=self.condition(batch))
        output, back = self.network.forward(pass_, noisy, embedded)
        difference = output - target
        rows = difference.reshape(len(output), -1).T
        inverse = ONE / np.float32(len(rows))
        losses = chain_products(rows, rows) * inverse
        gradients = Gradients()
        back(difference * (self.lanes.share() * (np.float32(2.0) * inverse)), gradients)
        return self.lanes.mean_loss(losses), prepared.gradients(gradients)
