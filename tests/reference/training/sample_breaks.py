"""Negative controls of sampling: one broken rule each; some sample must differ."""
import numpy as np

import elementary
import fused
import integer_arrays
import layers
import norms_arrays
import recipe
import sampling
import schedules


def guidance_exchanged():
    """The output without a class takes the place of that with the class."""
    guided = sampling.guided
    sampling.guided = lambda scale, told, untold: guided(scale, untold, told)


def guidance_unfused():
    """The output without a class and scale times what the class adds to it: equal only in real numbers."""
    sampling.guided = lambda scale, told, untold: untold + np.float32(scale) * (told - untold)


def unguided():
    sampling.guided = lambda scale, told, untold: told


def classes_from_1():
    """Sample 0 has the class 1."""
    sampling.classes_of = lambda numbers, classes: [(i + 1) % classes for i in numbers]


def next_noise():
    """The noise of the next micro."""
    sampling.next_micro = lambda t: t + 1


def unclamped():
    sampling.clamped = lambda x: x


def unaveraged():
    """The weights, where an average of them is kept."""
    sampling.kind_of_weights = lambda averaged: "param"


def batch_statistics():
    """Batch norm by the statistics of the samples, as in training."""
    batch_norm = norms_arrays.batch_norm

    def by_batch(rows, mean, var, gamma, beta):
        _, mean, m2 = moments = norms_arrays.batch_moments(rows, OneLane)
        return batch_norm(rows, mean, m2 / moments[0], gamma, beta)
    layers.norms.batch_norm = by_batch


class OneLane:
    count = 1

    @staticmethod
    def rows(x):
        return x[:, None]


def half_bytes():
    """Bytes are rounded from 127.5 on, not from 128."""
    sampling.to_bytes = lambda x: fused.fma(np.clip(x, -elementary.ONE, elementary.ONE), np.float32(127.5),
                                            np.float32(127.5)).astype(np.uint8)


def told_unscaled():
    """A flow's network is told t, not 1000 t."""
    sampling.TOLD = elementary.ONE


def clipped_flow():
    """Euler's steps end inside -1 … 1, as a step of ddpm does."""
    steps = sampling.STEPS["flow"]

    def clipped(*args):
        for told, step in steps(*args):
            yield told, lambda output, x: np.clip(step(output, x), -elementary.ONE, elementary.ONE)
    sampling.STEPS["flow"] = clipped


def heun_without_end():
    """A step of Heun's goes along Euler's slope."""
    sampling.heun = lambda h, slope, following, x: fused.fma(h, slope, x)


def levels_even():
    """rho is 1."""
    levels = sampling.levels
    sampling.levels = lambda table, steps: levels({**table, "rho": 1.0}, steps)


def visits_early():
    """ddim visits the first timestep of each part, not the last."""
    schedules.visit = lambda i, timesteps, visits: i * timesteps // visits


def float_products():
    """Integer products are for training alone."""
    recipe.Recipe.integer_products = property(lambda self: False, lambda self, value: None)


def joint_exponent():
    """Samples that are made together share an exponent."""
    exponents = integer_arrays.exponents
    integer_arrays.exponents = lambda groups: np.broadcast_to(exponents(groups).max(), len(groups))


BREAKS = {rule.__name__.replace("_", "-"): rule for rule in (
    guidance_exchanged, guidance_unfused, unguided, classes_from_1, next_noise, unclamped, unaveraged, batch_statistics,
    half_bytes, told_unscaled, clipped_flow, heun_without_end, levels_even, visits_early, float_products, joint_exponent)}
