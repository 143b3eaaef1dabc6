"""What ddpm and flow share: one phase, label dropout, the loss of a network that sees a noisy sample (docs/training.md)."""
import numpy as np

from elementary import ONE
from fused import chain_products, fma
from lanes import Gradients, Pass
from schedules import time_embedding
from spectral import Prepared
from streams import Stream
from trees import tree_sum


def combine(a, x, b, y):
    return fma(a, x, b * y)


def is_dropped(u, share):
    return u < share


def embedded(network, times):
    return np.array([time_embedding(t, network.embedding_width) for t in times]).astype(np.float32)


def held_out_name(kind, name):
    """Of a stream."""
    return f"{kind}/held-out-{name}"


def validated(role):
    return role.averages[0] if role.averages else role.parameters


class Denoiser:
    """An objective says `noised(draws, samples, noise)`: the network's input, its target, the times that it is told."""

    phases = ("denoise",)

    def __init__(self, recipe, networks, lanes):
        self.network, self.lanes = networks["model"], lanes
        self.integer_products = recipe.integer_products
        table = recipe["objective"]
        self.seed, self.kind = recipe.seed, table["kind"]
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
        role = state.roles["model"]
        prepared = Prepared(self.network, role.parameters, role.buffers, True)
        pass_ = Pass(self.lanes, prepared.weights, condition=self.condition(batch),
                     integer_products=self.integer_products, seed=self.seed, draws=batch.draws)
        losses, difference, weights, back = self.losses(pass_, batch)
        inverse, share = ONE / np.float32(difference[0].size), self.lanes.share()
        if weights is not None:
            share = (share * weights).reshape(-1, *[1] * (difference.ndim - 1))
        gradients = Gradients()
        back(difference * (share * (np.float32(2.0) * inverse)), gradients)
        return self.lanes.mean_loss(losses), prepared.gradients(gradients)

    def losses(self, pass_, batch):
        """Of the samples; the differences of outputs and targets, the weights of the losses, the way back."""
        samples = batch.samples
        noise = self.noise_stream.normal(batch.draws, samples[0].size).reshape(samples.shape)
        noisy, target, times = self.noised(batch.draws, samples, noise)
        output, back = self.network.forward(pass_, noisy, embedded(self.network, times))
        difference = output - target
        rows = difference.reshape(len(output), -1).T
        losses, weights = chain_products(rows, rows) * (ONE / np.float32(len(rows))), self.weights(times)
        return losses if weights is None else losses * weights, difference, weights, back

    def validation(self, state, batch):
        """The mean loss of held-out samples, from averages where they are kept (*Held-out samples*)."""
        role = state.roles["model"]
        weights = validated(role)
        pass_ = Pass(None, weights, role.buffers, condition=batch.condition, by_running=True,
                     integer_products=self.integer_products)
        training = self.timestep_stream, self.noise_stream
        self.timestep_stream, self.noise_stream = (
            Stream(self.seed, held_out_name(self.kind, name)) for name in ("timestep", "noise"))
        losses = self.losses(pass_, batch)[0]
        self.timestep_stream, self.noise_stream = training
        return tree_sum(losses.reshape(-1, 1))[0] * np.float32(1.0 / len(losses))
