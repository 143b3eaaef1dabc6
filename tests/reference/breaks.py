"""Broken rules, each with a case that must change and a neighbour that must not."""
import hashlib
import math
import struct

import chains
import digests
import floats
import integers
import networks
import norms
import philox
import schedules
import spectral
import updates


def unfused():
    floats.fma = lambda a, b, c: floats.add(floats.mul(a, b), c)


def flush():
    rounded = floats.round32
    floats.round32 = lambda x: rounded(x) if abs(rounded(x)) >= 2.0 ** -126 or x != x else x * 0.0


def short_blocks():
    chains.BLOCK = 256


def one_block():
    chains.BLOCK = 1 << 30


def descending():
    dot = chains.dot
    chains.dot = lambda u, v: dot(u[::-1], v[::-1])


def halved_tree():
    chains.left_part = lambda n: n // 2


def tiles_in_turn():
    chains.left_part = lambda n: n - 1


def big_endian_seed():
    philox.stream_key = lambda seed, name: struct.unpack(
        "<2I", hashlib.sha256(seed.to_bytes(8, "big") + name.encode()).digest()[:8])


def seven_rounds():
    philox.ROUNDS = 7


def whole_horizon():
    schedules.progress = lambda t, warmup, horizon: min(1.0, t / horizon)


def uncapped():
    schedules.LARGEST_BETA = 1.0


def early_visits():
    schedules.visit = lambda i, timesteps, visits: i * timesteps // visits


def snr_of_noise():
    """The weights of epsilon for v, too."""
    min_snr = schedules.min_snr
    schedules.min_snr = lambda product, prediction, gamma: min_snr(product, "epsilon", gamma)


def told_level():
    schedules.Level.told = lambda self: self.s


def level_of_step():
    """The last level before 0 is one step before sigma_min."""
    levels = schedules.levels
    schedules.levels = lambda p, steps: levels(p, steps + 1)[:steps] + [0.0]


def padded_length():
    digests.length_of = lambda tile: len(tile) + -len(tile) % 8


def one_leaf_key():
    digests.SHIFT = 0


def leaf_of_nothing():
    cut = digests.tiles
    digests.tiles = lambda content: cut(content) or [b""]


def divided():
    spectral.over = lambda values, sigma: [floats.div(x, sigma) for x in values]


def undamped():
    spectral.TINY = 0.0


def biased():
    norms.unbiased = lambda variance, count: variance


def inverse_norm():
    updates.shortened = lambda values, length, norm: [
        floats.mul(floats.mul(length, floats.div(1.0, norm)), v) for v in values]


def late_power():
    power = updates.power
    updates.power = lambda beta, t: power(beta, t + 1)


def fan_out():
    networks.fan_in = lambda inputs, outputs: outputs


def away():
    """Ties away from zero."""
    integers.nearest = lambda x: int(math.copysign(math.floor(abs(x) + 0.5), x))


def unclamped():
    """Clamped above alone."""
    integers.SMALLEST = -math.inf


def sum_in_floats():
    def summed(u, v):
        total = 0.0
        for a, b in zip(u, v):
            total = floats.add(total, a * b)
        return int(total)
    integers.exact_sum = summed


def tensor_exponent():
    """One exponent for all samples."""
    def of_all(values, size):
        q, e = integers.rounded(values)
        return [(group, e) for group in chains.rows(q, size)]
    integers.groups_of = of_all


def joined_samples():
    """The samples of a lane are added before they are rounded."""
    def at_once(products):
        shifts = [e_u + e_v for _, e_u, e_v in products]
        if any(integers.NOT_FINITE in exponents for _, *exponents in products):
            return [floats.NAN] * len(products[0][0])
        low = min(shifts)
        return [floats.round_dyadic(total, low - 20) if (total := sum(s << (e - low) for s, e in zip(sums, shifts))) else 0.0
                for sums in zip(*(sums for sums, *_ in products))]
    integers.lane_sum = at_once


# A broken rule; the (operation, case) that must differ then; one that must not.
BREAKS = {
    "unfused": (unfused, ("row_dots", "5 x 512, wide"), ("row_sums", "5 x 512, wide")),
    "flush": (flush, ("multiply", "bits"), ("add", "bits")),
    "short_blocks": (short_blocks, ("row_dots", "5 x 512, wide"), ("row_dots", "5 x 17, wide")),
    "one_block": (one_block, ("row_sums", "5 x 1100, wide"), ("row_sums", "5 x 512, wide")),
    "descending": (descending, ("row_dots", "5 x 17, wide"), ("row_dots", "5 x 1, wide")),
    "halved_tree": (halved_tree, ("hash_tree", "393215 bytes"), ("hash_tree", "262144 bytes")),
    "lanes_in_turn": (tiles_in_turn, ("merge_moments", "7 lanes of 19"), ("merge_moments", "3 lanes of 19")),
    "big_endian_seed": (big_endian_seed, ("stream_key", "seed 7, data/order"), ("stream_key", "seed 0, data/order")),
    "seven_rounds": (seven_rounds, ("sample_order", "5 samples"), ("sample_order", "1 sample")),
    "whole_horizon": (whole_horizon, ("learning_rate", "cosine, warm-up 7"), ("learning_rate", "cosine, warm-up 0")),
    "uncapped": (uncapped, ("noise_schedule", "cosine, 1000"), ("noise_schedule", "linear, 1000")),
    "early_visits": (early_visits, ("sampler", "ddim, v, linear, 37 of 1000"), ("sampler", "ddim, v, cosine, 100 of 100")),
    "snr_of_noise": (snr_of_noise, ("min_snr", "v, linear, 1000, 5"), ("min_snr", "epsilon, linear, 1000, 5")),
    "told_level": (told_level, ("edm_levels", "the paper's"), ("min_snr", "v, linear, 1000, 5")),
    "level_of_step": (level_of_step, ("edm_steps", "18 steps, the paper's"), ("edm_steps", "1 step, the paper's")),
    "padded_length": (padded_length, ("leaves", "7 bytes"), ("leaves", "8 bytes")),
    "one_leaf_key": (one_leaf_key, ("leaves", "4 bytes"), ("leaves", "0 bytes")),
    "away": (away, ("round_groups", "ties"), ("round_groups", "largest values")),
    "unclamped": (unclamped, ("round_groups", "largest values"), ("round_groups", "ties")),
    "sum_in_floats": (sum_in_floats, ("integer_convolution", "3 x 3, 12 to 20 channels"),
                      ("integer_convolution", "1 x 1, 3 to 2 channels")),
    "tensor_exponent": (tensor_exponent, ("integer_convolution", "samples of unlike sizes"), ("integer_convolution", "one sample")),
    "joined_samples": (joined_samples, ("integer_convolution_weight_grad", "lanes of three samples"),
                       ("integer_convolution_weight_grad", "lanes of one sample")),
    # Of docs/networks.json:
    "leaf_of_nothing": (leaf_of_nothing, ("state_digest", "one tensor, empty"), ("state_digest", "one value")),
    "tiles_in_turn": (tiles_in_turn, ("clipping", "seven tiles, longer"), ("clipping", "an infinite norm")),
    "inverse_norm": (inverse_norm, ("clipping", "seven tiles, longer"), ("clipping", "seven tiles, shorter")),
    "divided": (divided, ("spectral_norm", "5 x 3"), ("power_iteration", "5 x 3")),
    "undamped": (undamped, ("power_iteration", "2 x 3, small values"), ("power_iteration", "5 x 3")),
    "biased": (biased, ("batch_norm_training", "5 lanes of 2 x 3 x 19"), ("batch_norm_training", "2 lanes of equal rows")),
    "late_power": (late_power, ("updates", "adamw"), ("updates", "sgd")),
    "fan_out": (fan_out, ("first_values", "mlp-discriminator"), ("first_values", "dcgan-generator")),
}
