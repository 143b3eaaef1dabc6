"""Negative controls of options: one broken rule each; a loss or a state must differ."""
import numpy as np

import data
import ddpm
import denoise
import edm
import flow
import gan
import optimizers
import schedules
import streams
import trainer


def intervals_rounded():
    """The rate falls in the middle of an interval."""
    intervals = schedules.intervals
    schedules.intervals = lambda t, warmup, interval, whole: (
        float(round((t - warmup) / interval)) if whole else intervals(t, warmup, interval, whole))


def lr_unscaled():
    schedules.peak = lambda lr, *_: lr


def decay_everything():
    optimizers.decays = lambda table, parameter: True


def nesterov_unfused():
    optimizers.nesterov = lambda momentum, u, g: momentum * u + g


def values_unclipped():
    optimizers.clipped_by_value = lambda gradients, limit: gradients


def times_uniform():
    """The mean and the deviation of the logits are left out."""
    flow.logit_normal = lambda n, mean, std: flow.sigmoid(n)


def min_snr_of_the_other():
    """The weights of the other prediction."""
    min_snr = ddpm.min_snr
    ddpm.min_snr = lambda product, prediction, gamma: min_snr(product, "v" if prediction == "epsilon" else "epsilon", gamma)


def mixes_exchanged():
    """The mixed share is the fake sample's."""
    between = gan.between
    gan.between = lambda u, real, fake: between(u, fake, real)


def penalty_unsquared():
    """The slope's square is pulled to 1, not the slope."""
    gan.slope = lambda squares: squares


def level_told():
    """The network is told the noise level, not a quarter of its logarithm."""
    edm.Level.told = lambda self: self.s


def kept_unscaled():
    """The values that dropout keeps do not grow."""
    mask = streams.Stream.mask
    streams.Stream.mask = lambda self, positions, n, rate, kept: mask(self, positions, n, rate, np.float32(1.0))


def held_out_trained():
    """Training draws from all samples."""
    data.Holdout.trained = lambda self, i: i


def held_out_draws():
    """Held-out samples have the random numbers of training."""
    denoise.held_out_name = lambda kind, name: f"{kind}/{name}"


def unaveraged_loss():
    """The held-out loss of the weights, where an average is kept."""
    denoise.validated = lambda role: role.parameters


def step_for_update():
    """Adam counts steps, also those in which its network rests."""
    trainer.update_number = lambda step, every: step


def average_of_the_rest():
    """Averages move in every step."""
    trainer.averaged = lambda roles, updated: list(roles)


def averages_cold():
    """Averages without a warm-up."""
    optimizers.warmed = lambda decay, t: decay


BREAKS = {rule.__name__.replace("_", "-"): rule for rule in (
    intervals_rounded, lr_unscaled, decay_everything, nesterov_unfused, values_unclipped, times_uniform,
    min_snr_of_the_other, mixes_exchanged, penalty_unsquared, level_told, kept_unscaled, held_out_trained, held_out_draws,
    unaveraged_loss, step_for_update, average_of_the_rest, averages_cold)}
