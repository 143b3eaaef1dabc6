"""Negative controls: one broken rule, and the field of the ledger that must be the first to differ."""
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Callable

import numpy as np

import class_layers
import classifier
import cnn
import convolution_arrays
import data
import denoise
import dit
import elementary
import flow
import fused
import gan
import hashes
import integer_arrays
import lanes
import layers
import ledger
import norms_arrays
import optimizers
import schedules
import state
import unet

TOY, GANS, DIFFUSION = ("mlp-generator",), ("mlp-generator", "dcgan-generator", "sngan-generator"), ("unet",)
DIT, CNN = ("dit",), ("cnn",)
ALL = GANS + DIFFUSION + DIT + CNN
FLOW, LION = {"objective": "flow"}, {"model.optimizer": "lion"}


def name():
    """The first tensor of the state has another name."""
    tensors = state.State.tensors
    state.State.tensors = lambda self: [(key + "s" if i == 0 else key, value)
                                        for i, (key, value) in enumerate(tensors(self))]


def order():
    """The first two tensors of the state change places."""
    tensors = state.State.tensors

    def swapped(self):
        first, second, *rest = tensors(self)
        return [second, first, *rest]
    state.State.tensors = swapped


def leaf():
    """Both halves of a leaf use the same keys."""
    nh = hashes._nh
    hashes._nh = lambda tiles, first: nh(tiles, 0)


def lane_order():
    """Sums over lanes run from left to right, not in the tree."""
    def running(values):
        total = values[0]
        for value in values[1:]:
            total = total + value
        return total
    lanes.tree_sum = norms_arrays.tree_sum = optimizers.tree_sum = running


def pass_order():
    """Gradients are added as real + (fake + R1)."""
    summed = gan.summed
    gan.summed = lambda passes: summed([passes[0], summed(passes[1:])])


def embedding_order():
    """The gradients of the time embedding are added last use first, as a tape usually would."""
    init = unet.Backward.__init__

    class Prepending(list):
        def append(self, value):
            self.insert(0, value)

    def started(self, gradients):
        init(self, gradients)
        self.embedding = Prepending()
    unet.Backward.__init__ = started


def uses_turned():
    """The gradients of the transformer's embedding are added last use first."""
    summed_uses = dit.sum_of_uses
    dit.sum_of_uses = lambda gradients: summed_uses(gradients[::-1])


def gate_fused():
    """A gated sum is one fma."""
    dit.gated = lambda x, gate, branch: fused.fma(gate, branch, x)


def columns_first():
    """A token's position is that of its column, then that of its row."""
    positions = dit.positions
    dit.positions = lambda rows, columns, width: np.roll(positions(rows, columns, width), width // 2, axis=1)


def label_shift():
    """Every sample has the next class."""
    rows = data.condition_rows
    data.condition_rows = lambda labels, classes: rows((labels.astype(int) + 1) % classes, classes)


def dropout_turned():
    """A sample keeps its class where it must lose it. (< and <= differ only where u is the share: test_classes.py.)"""
    denoise.is_dropped = lambda u, share: u >= share


def dropout_stream():
    """Label dropout takes the bits of the timestep's stream."""
    started = denoise.Denoiser.__init__

    def other(self, *args):
        started(self, *args)
        self.dropout_stream = self.timestep_stream
    denoise.Denoiser.__init__ = other


def flip_shifted():
    """A mirrored picture is a pixel further to the right."""
    data.mirrored = lambda pictures: np.roll(pictures[:, :, ::-1], 1, axis=2)


def crop_repeats():
    """Beyond its border a picture goes on with the border itself."""
    def of_data(array, width, mode):
        return pad(array, width, "symmetric" if mode == "reflect" else mode)
    pad, np.pad = np.pad, of_data


def projection_fused():
    """The dot's part of its row's gradient is added by one fma. (Which of two parts comes first changes no bit.)"""
    class_layers.plus_scaled = lambda x, rows, factors: fused.fma(rows, factors, x)


def projection_first_order():
    """R1 gives the projection no gradient: the generator's phase has another discriminator."""
    penalised = gan.penalised

    def without(*args):
        penalty, gradients = penalised(*args)
        del gradients["classes.weight"]
        return penalty, gradients
    gan.penalised = without


def projection_unseen():
    """R1 does not see the projection at all."""
    class_layers.Projection.down = class_layers.Linear.down


def target_turned():
    """The flow runs from noise to samples: the target's sign."""
    noised = flow.Flow.noised

    def turned(*args):
        noisy, target, times = noised(*args)
        return noisy, -target, times
    flow.Flow.noised = turned


def told_unscaled():
    """The network is told t, not 1000 t."""
    flow.TOLD = np.float32(1.0)


def kept_first():
    """Lion takes the sign of the new m."""
    update = optimizers.combine_moments
    optimizers.combine_moments = lambda m, g, betas: [update(m, g, betas)[1]] * 2


def decay_late():
    """Lion's weights decay after the step."""
    optimizers.lion_step = lambda p, s, minus_lr, minus_decay: (
        lambda moved: fused.fma(minus_decay, moved, moved))(fused.fma(minus_lr, s, p))


def warmed_twice():
    """The line falls from update 0 on, not from the end of the warm-up."""
    progress = schedules.progress
    schedules.progress = lambda t, warmup, horizon: progress(t, 0, horizon)


def mean():
    """The loss is divided by B, not multiplied by float(1 / B)."""
    lanes.Lanes.mean_loss = lambda self, losses: (self.column_sums(losses.reshape(-1, 1))[0]
                                                  / np.float32(self.count * self.per_lane))


def running_variance():
    """The running variance takes the batch's variance without count / (count - 1)."""
    norms_arrays.running_values = lambda moments: (moments[1], moments[2] / moments[0])


def one_block():
    """Chains are not cut into blocks."""
    fused.BLOCK = 1 << 30


def unfused():
    """A product is rounded before it is added."""
    fused.multiply = lambda a, b, out=None: np.multiply(a, b, out=out, dtype=np.float32, casting="same_kind")


def rounded_twice():
    """fma's sum is rounded to binary64, then to binary32. A rare error: ddpm's state shows it from step 13 on."""
    fused.repaired = lambda product, addend: (product + addend).astype(np.float32)


def unchained():
    """The chain of a line does not cover the line before it."""
    chained = ledger.chained
    ledger.chained = lambda previous, body: chained(ledger.ZERO, body)


def float_weight_gradient():
    """Gradients of weights are chains, as those of narrow layers."""
    integer_arrays.weight_gradient = convolution_arrays.weight_gradient


def float_second_order():
    """R1's way down and up again is in floats."""
    down = layers.Conv.down
    layers.Conv.down = lambda self, pass_, x, dy: down(self, replace(pass_, integer_products=False), x, dy)


@contextmanager
def replaced(name, value):
    kept = getattr(integer_arrays, name)
    setattr(integer_arrays, name, value)
    try:
        yield
    finally:
        setattr(integer_arrays, name, kept)


def lane_exponents():
    """In gradients of weights the samples of a lane share an exponent."""
    exponents, gradient = integer_arrays.exponents, integer_arrays.weight_gradient

    def shared(*args):
        n = args[-1].per_lane
        with replaced("exponents", lambda groups: np.repeat(exponents(groups).reshape(-1, n).max(axis=1), n)):
            return gradient(*args)
    integer_arrays.weight_gradient = shared


def lane_rounded():
    """In gradients of weights the sum of a lane's samples is rounded, not each sample's."""
    gradient = integer_arrays.weight_gradient

    def at_once(*args):
        def sums(self, x):
            return lanes.tree_sum(x.reshape(self.count, self.per_lane, -1).sum(axis=1).astype(np.float32))
        each, lanes.Lanes.sample_sums = lanes.Lanes.sample_sums, sums
        try:
            with replaced("scaled", lambda sums, *e: sums * np.ldexp(1.0, sum(e) - 20).reshape(-1, *[1] * (sums.ndim - 1))):
                return gradient(*args)
        finally:
            lanes.Lanes.sample_sums = each
    integer_arrays.weight_gradient = at_once


def batch_exponent():
    """One exponent for all samples."""
    exponents = integer_arrays.exponents
    integer_arrays.exponents = lambda groups: np.broadcast_to(exponents(groups).max(), len(groups))


def narrow():
    """Narrow layers are integer, too."""
    integer_arrays.LEAST_WIDTH = 1


def few_rows():
    """Layers of few rows a sample are integer, too."""
    integer_arrays.LEAST_POSITIONS = 1


def log_sum_exp():
    """Cross-entropy is the logarithm of the sum of exponentials, less the logit."""
    def losses(logits, shares, condition):
        x = logits - logits.max(axis=1, keepdims=True)
        return elementary.log(fused.chain_values(elementary.exp(x).T)) - fused.chain_products(x.T, condition.T)
    classifier.losses_of = losses


def sides_down():
    """Halved sides are rounded down: the network sees no last row and column."""
    class Cut(cnn.Conv):
        def forward(self, pass_, x):
            return super().forward(pass_, x if self.stride == 1 else np.pad(x[:, :-1, :-1], ((0, 0), (0, 1), (0, 1), (0, 0))))
    cnn.Conv = Cut


def values_clipped():
    """Signals are taken for pictures, from -1 to 1."""
    samples = data.Arrays.samples
    data.Arrays.samples = lambda self, indices: np.clip(samples(self, indices), np.float32(-1), np.float32(1))


@dataclass
class Break:
    apply: Callable
    first: tuple  # one of these fields must be the first to differ
    kinds: tuple = ALL  # kinds of the first network: recipes that the rule affects
    only: tuple = ()  # if given, no other field may differ in any step
    classes: bool = False  # of recipes with classes alone
    where: dict = field(default_factory=dict)  # table: the kind that it must have
    augmented: bool = False  # of recipes with flip alone
    integers: bool = False  # of recipes with integer products alone

    def concerns(self, recipe):
        return (recipe[recipe.roles[0]]["kind"] in self.kinds and (recipe.classes or not self.classes)
                and (recipe["data"].get("flip") or not self.augmented)
                and (recipe.integer_products or not self.integers)
                and all(recipe[table]["kind"] == kind for table, kind in self.where.items()))


BREAKS = {
    "name": Break(name, ("before",)),
    "order": Break(order, ("before",)),
    "leaf": Break(leaf, ("before",)),
    "lane-order": Break(lane_order, ("loss", "state")),
    "pass-order": Break(pass_order, ("state",), TOY),
    "embedding-order": Break(embedding_order, ("state",), DIFFUSION),
    "uses-turned": Break(uses_turned, ("state",), DIT),
    "gate-fused": Break(gate_fused, ("loss", "state"), DIT),
    "columns-first": Break(columns_first, ("state",), DIT),
    "log-sum-exp": Break(log_sum_exp, ("loss",), CNN),
    "sides-down": Break(sides_down, ("loss",), CNN),
    "mean": Break(mean, ("loss",), TOY, ("loss", "chain")),
    "running-variance": Break(running_variance, ("state",), GANS),
    "one-block": Break(one_block, ("loss", "state")),
    "unfused": Break(unfused, ("loss", "state")),
    "rounded-twice": Break(rounded_twice, ("state",), DIFFUSION),
    "label-shift": Break(label_shift, ("loss", "state"), classes=True),
    "dropout-turned": Break(dropout_turned, ("state",), DIFFUSION, classes=True),
    "dropout-stream": Break(dropout_stream, ("loss", "state"), DIFFUSION, classes=True),
    "values-clipped": Break(values_clipped, ("loss", "state"), where={"data": "signals"}),
    "flip-shifted": Break(flip_shifted, ("loss", "state"), augmented=True),
    "crop-repeats": Break(crop_repeats, ("loss", "state"), augmented=True),
    "projection-fused": Break(projection_fused, ("loss", "state"), GANS, classes=True),
    "projection-first-order": Break(projection_first_order, ("loss",), GANS, classes=True),
    "projection-unseen": Break(projection_unseen, ("loss",), GANS, classes=True),
    "target-turned": Break(target_turned, ("loss", "state"), DIFFUSION, where=FLOW),
    "told-unscaled": Break(told_unscaled, ("loss", "state"), DIFFUSION, where=FLOW),
    "kept-first": Break(kept_first, ("state",), DIFFUSION, where=LION),
    "decay-late": Break(decay_late, ("state",), DIFFUSION, where=LION),
    "warmed-twice": Break(warmed_twice, ("state",), DIFFUSION, where=LION),
    "float-weight-gradient": Break(float_weight_gradient, ("loss", "state"), integers=True),
    "float-second-order": Break(float_second_order, ("loss",), GANS, integers=True),
    "lane-exponents": Break(lane_exponents, ("state",), integers=True),
    "lane-rounded": Break(lane_rounded, ("state",), integers=True),
    "batch-exponent": Break(batch_exponent, ("loss", "state"), integers=True),
    "narrow": Break(narrow, ("loss", "state"), integers=True),
    "few-rows": Break(few_rows, ("loss", "state"), integers=True),
    "unchained": Break(unchained, ("chain",), ALL, ("chain",)),
}
