"""Integer products (docs/numerics.md): groups rounded to integers of 12 bits, exact sums, one rounding of a result."""
import math
import struct

import convolution
import floats
from chains import partials, rows
from vectors import Input

NOT_FINITE = 128
LARGEST = 2047
SMALLEST = -LARGEST


def magnitude_bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0] & 0x7FFFFFFF


def exponent(group):
    return max(max(map(magnitude_bits, group), default=0) >> 23, 11) - 127


def nearest(x):
    """Ties to even, as Python's round."""
    return round(x)


def rounded(group):
    """(integers, exponent). Those of a group that is not finite are never used."""
    e = exponent(group)
    if e == NOT_FINITE:
        return [0] * len(group), e
    factor = math.ldexp(1.0, 10 - e)  # the product is exact in binary64
    return [max(min(nearest(x * factor), LARGEST), SMALLEST) for x in group], e


def groups_of(values, size):
    """(integers, exponent) of each group."""
    return [rounded(group) for group in rows(values, size)]


def exact_sum(u, v):
    return sum(int(a) * int(b) for a, b in zip(u, v))


def scaled(sums, e_u, e_v):
    """Sums of products of two groups, as binary32."""
    if NOT_FINITE in (e_u, e_v):
        return [floats.NAN] * len(sums)
    return [floats.round_dyadic(s, e_u + e_v - 20) if s else 0.0 for s in sums]


def samples(tensor):
    """(a tensor of one sample's integers, exponent) of each sample."""
    n, *shape = tensor.shape
    return [(Input(q, [1, *shape]), e) for q, e in groups_of(tensor.values, math.prod(shape))]


def _by_samples(x, w, bias, sums_of):
    """Each sample's product with the weight, then the bias."""
    q, e = rounded(w.values)
    weights = Input(q, w.shape)
    out = []
    for sample, e_sample in samples(x):
        out += scaled(sums_of(sample, weights), e_sample, e)
    if bias is None:
        return out
    return [floats.add(y, bias.values[i % len(bias.values)]) for i, y in enumerate(out)]


def conv2d(x, w, bias, stride, pad):
    return _by_samples(x, w, bias, lambda sample, weights: convolution.forward(
        sample, weights, None, stride, pad, exact_sum))


def conv2d_input_grad(dy, w, bias, stride, pad, size):
    return _by_samples(dy, w, bias, lambda sample, weights: convolution.input_gradient(
        sample, weights, None, stride, pad, size, exact_sum))


def lane_sum(products):
    """Of (sums, exponent, exponent) of each sample: the first sample's product, then + the second's, …"""
    first, *others = [scaled(*product) for product in products]
    for other in others:
        first = [floats.add(a, b) for a, b in zip(first, other)]
    return first


def conv2d_weight_grad(x, dy, stride, pad, kernel, samples_per_lane, lanes_of_partials):
    products = [(convolution.weight_gradient(u, v, stride, pad, kernel, 1, [1], exact_sum), e_u, e_v)
                for (u, e_u), (v, e_v) in zip(samples(x), samples(dy))]
    return partials([lane_sum(lane) for lane in rows(products, samples_per_lane)], lanes_of_partials)


def round_groups(x, exponents_only):
    found = groups_of(x.values, x.shape[1])
    exponents = [e for _, e in found]
    return [exponents] if exponents_only else [[v for q, _ in found for v in q], exponents]
