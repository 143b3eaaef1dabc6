"""The objective ddpm: noise schedule, timesteps, noise, loss (training.md, *DDPM*; numerics.md, *Schedules*)."""
import math

import numpy as np

import host
from elementary import ONE
from fused import chain_products, fma
from lanes import Gradients, Pass
from spectral import Prepared
from streams import Stream


def betas(schedule, steps):
    if schedule == "linear":
        c = 1000.0 / steps
        a, b = c * 1e-4, c * 0.02
        values = [a if steps == 1 else a + (b - a) * (t / (steps - 1)) for t in range(steps)]
    else:
        def s(t):
            c = host.cos(((t / steps) + 0.008) / 1.008 * float.fromhex("0x1.921fb54442d18p+0"))
            return c * c
        values = [1.0 - s(t + 1) / s(t) for t in range(steps)]
    return [min(beta, 0.999) for beta in values]


def cumulative(beta):
    out, product = [], 1.0
    for b in beta:
        product *= 1.0 - b
        out.append(product)
    return out


def time_embedding(t, width):
    m = width // 2
    angles = [t * host.exp(-host.log(10000.0) * i / m) for i in range(m)]
    return [host.cos(a) for a in angles] + [host.sin(a) for a in angles]


def combine(a, x, b, y):
    return fma(a, x, b * y)


class Ddpm:
    phases = ("denoise",)

    def __init__(self, recipe, networks, lanes):
        self.network, self.lanes = networks["model"], lanes
        table = recipe["objective"]
        self.prediction, self.timesteps = table["prediction"], table["timesteps"]
        self.product = cumulative(betas(table["schedule"], self.timesteps))
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
