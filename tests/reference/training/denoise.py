"""What ddpm and flow share: one phase, label dropout, the loss of a network that sees a noisy sample (docs/training.md)."""
import numpy as np

from elementary import ONE
from fused import chain_products, fma
from lanes import Gradients, Pass
from schedules import time_embedding
from spectral import Prepared
from streams import Stream


def combine(a, x, b, y):
    return fma(a, x, b * y)


def is_dropped(u, share):
    return u < share


def embedded(network, times):
    return np.array([time_embedding(t, network.embedding_width) for t in times]).astype(np.float32)


class Denoiser:
    """An objective says `noised(draws, samples, noise)`: the network's input, its target, the times that it is told."""

    phases = ("denoise",)

    def __init__(self, recipe, networks, lanes):
        self.network, self.lanes = networks["model"], lanes
        self.integer_products, self.seed = recipe.integer_products, recipe.seed
        table = recipe["objective"]
        self.timestep_stream, self.noise_stream, self.dropout_stream = (
            Stream(recipe.seed, f"{table['kind']}/{name}") for name in ("timestep", "noise", "label-dropout"))
        self.label_dropout = np.float32(table["label_dropout"])

    @staticmethod
    def role_of(phase):
        return "model"

    def weights(self, times):
        """Of the samples' losses; None: they are as they are."""
        return None

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
        noise = self.noise_stream.normal(draws, samples[0].size).reshape(samples.shape)
        noisy, target, times = self.noised(draws, samples, noise)
        pass_ = Pass(self.lanes, prepared.weights, condition=self.condition(batch),
                     integer_products=self.integer_products, seed=self.seed, draws=draws)
        output, back = self.network.forward(pass_, noisy, embedded(self.network, times))
        difference = output - target
        rows = difference.reshape(len(output), -1).T
        inverse = ONE / np.float32(len(rows))
        losses, share = chain_products(rows, rows) * inverse, self.lanes.share()
        weights = self.weights(times)
        if weights is not None:
            losses = losses * weights
            share = (share * weights).reshape(-1, *[1] * (difference.ndim - 1))
        gradients = Gradients()
        back(difference * (share * (np.float32(2.0) * inverse)), gradients)
        return self.lanes.mean_loss(losses), prepared.gradients(gradients)
