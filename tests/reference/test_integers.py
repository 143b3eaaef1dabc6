"""integers.py against values whose answers are known, without the program.

    test_integers.py                what differs
    test_integers.py --break RULE   one broken rule of breaks.py: its check must differ, others not
"""
import argparse
import struct
import sys

import breaks
import integers
from vectors import Input

INFINITY, NAN = float("inf"), float("nan")
LARGEST_FLOAT = (2.0 - 2.0 ** -23) * 2.0 ** 127


def bits(values):
    return [0x7FC00000 if v != v else struct.unpack("<I", struct.pack("<f", v))[0] for v in values]


def numbers(*samples):
    """Samples of channels, as pictures of one pixel."""
    return Input([v for sample in samples for v in sample], [len(samples), 1, 1, len(samples[0])])


def weights(*columns):
    """[1][1][in][out] from the weights of each output."""
    return Input([v for row in zip(*columns) for v in row], [1, 1, len(columns[0]), len(columns)])


def grouped(*groups):
    q, exponents = integers.round_groups(Input([v for group in groups for v in group], [len(groups), len(groups[0])]), 0)
    return list(zip(integers.rows(q, len(groups[0])), exponents))


def exponents():
    found = [integers.exponent(group) for group in (
        [0.0, -0.0], [2.0 ** -149], [2.0 ** -116], [2.0 ** -115], [-1.0, 0.5], [1.999], [2.0], [-LARGEST_FLOAT],
        [1.0, INFINITY], [-INFINITY], [NAN, 1.0])]
    return found, [-116, -116, -116, -115, 0, 0, 1, 127, 128, 128, 128]


def ties():
    unit = 2.0 ** -10
    return grouped([1.0, 0.5 * unit, 1.5 * unit, 2.5 * unit, -0.5 * unit, -1.5 * unit, -2.5 * unit]), [
        ([1024, 0, 2, 2, 0, -2, -2], 0)]


def ends():
    """2047.9… is nearest to 2048."""
    below_two = 2.0 - 2.0 ** -23
    return grouped([below_two, -below_two, 1.0], [LARGEST_FLOAT, 2.0 ** 127, 0.0]), [
        ([2047, -2047, 1024], 0), ([2047, 1024, 0], 127)]


def small():
    """Below the smallest exponent; numbers that are subnormal in binary32."""
    return grouped([2.0 ** -117, 2.0 ** -126, 2.0 ** -127, 3 * 2.0 ** -127, -2.0 ** -149]), [([512, 1, 0, 2, 0], -116)]


def forward():
    """3 * 0.5 and + 2; -0 and 0 give +0; exponents of each sample; a bias after the rounding."""
    y = integers.conv2d(numbers([3.0, 0.0], [-0.0, 0.0], [-96.0, 32.0]), weights([0.5, 0.0], [0.0, 2.0]), None, 1, 0)
    biased = integers.conv2d(numbers([1.0]), weights([1.0]), Input([2.0 ** -24], [1]), 1, 0)
    return bits(y + biased), bits([1.5, 0.0, 0.0, 0.0, -48.0, 64.0, 1.0])


def subnormal():
    """Halfway between 0 and the smallest number, above that, overflow."""
    a, b = 2.0 ** -75, 2.0 ** 100
    y = [integers.conv2d(numbers([x]), weights([w]), None, 1, 0)[0]
         for x, w in ((a, a), (1.5 * a, a), (-1.5 * a, a), (3 * a, a), (2 * a, 1.5 * a), (b, b), (-b, b), (0.0, b))]
    return bits(y), [0, 1, 0x80000001, 2, 2, 0x7F800000, 0xFF800000, 0]


def not_finite():
    """An infinity anywhere in a sample, a NaN in the weight: even where a factor is 0, and without elements."""
    image = Input([1.0, INFINITY, 1.0, 2.0], [2, 2, 1, 1])
    by_samples = integers.conv2d(image, weights([1.0]), None, 1, 0)
    everywhere = integers.conv2d(image, Input([0.0, NAN], [1, 1, 1, 2]), Input([1.0, 1.0], [2]), 1, 0)
    lane = integers.conv2d_weight_grad(image, Input([1.0, 0.0, 1.0, 1.0], [2, 2, 1, 1]), 1, 0, [1, 1], 2, [1])
    return bits(by_samples + everywhere + lane), bits([NAN, NAN, 1.0, 2.0] + [NAN] * 9)


def gradients():
    """Stride 2: pixels that no tap meets are +0; a bias is added there, too. Each lane's gradient; two partials."""
    dy = Input([3.0, -1.0], [2, 1, 1, 1])
    dx = integers.conv2d_input_grad(dy, weights([0.5]), Input([1.0], [1]), 2, 0, [2, 1])
    x = Input([2.0, 9.0, 4.0, 9.0], [2, 2, 1, 1])
    one = integers.conv2d_weight_grad(x, dy, 2, 0, [1, 1], 1, [2])
    two = integers.conv2d_weight_grad(x, dy, 2, 0, [1, 1], 1, [1, 1])
    return bits(dx + one + two), bits([2.5, 1.0, 0.5, 1.0, 2.0, 6.0, -4.0])


def long_sum():
    """8 * 2047^2 + 1 = 33521673 is halfway between two binary32 numbers; a sum in binary32 ends at 33521668."""
    unit = 2.0 ** -10
    channels = [2047 * unit] * 8 + [unit]
    return bits(integers.conv2d(numbers(channels), weights(channels), None, 1, 0)), bits([33521672 * unit * unit])


def sample_exponents():
    """With one exponent for both samples the first would be rounded to 0."""
    return bits(integers.conv2d(numbers([2.0 ** -12], [1.0]), weights([1.0]), None, 1, 0)), bits([2.0 ** -12, 1.0])


def lane_of_samples():
    """1 + 2^-24 is 1, and once more; at once it would be 1 + 2^-23."""
    x = numbers([1.0], [2.0 ** -24], [2.0 ** -24])
    return bits(integers.conv2d_weight_grad(x, numbers([1.0], [1.0], [1.0]), 1, 0, [1, 1], 3, [1])), bits([1.0])


CHECKS = (exponents, ties, ends, small, forward, subnormal, not_finite, gradients, long_sum, sample_exponents,
          lane_of_samples)
BROKEN = {"away": ("ties", "small"), "unclamped": ("ends",), "sum_in_floats": ("long_sum",),
          "tensor_exponent": ("ends", "not_finite", "sample_exponents"), "joined_samples": ("lane_of_samples",)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--break", dest="broken", choices=sorted(BROKEN))
    options = parser.parse_args()
    if options.broken:
        breaks.BREAKS[options.broken][0]()
    differing = []
    for check in CHECKS:
        ours, known = check()
        if ours != known:
            differing.append(check.__name__)
            print(f"{check.__name__}: {ours}, known {known}")
    print(f"{len(differing)} of {len(CHECKS)} differ")
    return 0 if tuple(differing) == BROKEN.get(options.broken, ()) else 1


if __name__ == "__main__":
    sys.exit(main())
