"""Integer products on binary32 arrays (docs/numerics.md, *Integer products*): pictures [n][y][x][channel], weights
[ky][kx][in][out], one group a sample and one for the weight.

The integers are held in binary64, so that BLAS multiplies them. This is exact: a factor is at most 2047 in magnitude,
so a product is an integer of at most 2047^2 < 2^22, and a sum of K products, like every part of it in whatever order,
is an integer below 2^22 K, which binary64 holds for K <= 2^31 (2^22 * 2^31 = 2^53). fma rounds nothing either. `_checked`
refuses more. So neither BLAS nor the machine can change a bit.
"""
import numpy as np

from convolution_arrays import output_size

LEAST_WIDTH, LEAST_POSITIONS = 8, 8
NOT_FINITE = 128
LARGEST = 2047.0


def is_wide(inputs, outputs, positions):
    """`positions` of a sample, of the small side."""
    return inputs >= LEAST_WIDTH and outputs >= LEAST_WIDTH and positions >= LEAST_POSITIONS


def exponents(groups):
    """Of each group [groups][…]."""
    bits = np.ascontiguousarray(groups, np.float32).reshape(len(groups), -1).view(np.uint32) & np.uint32(0x7FFFFFFF)
    return np.maximum(bits.max(axis=1).astype(np.int64) >> 23, 11) - 127


def rounded(groups):
    """The integers of each group [groups][…], and the exponents. np.rint takes ties to even."""
    e = exponents(groups)
    finite = (e != NOT_FINITE).reshape(-1, *[1] * (groups.ndim - 1))
    values = np.where(finite, groups, np.float32(0.0)).astype(np.float64)  # the others are never used
    factors = np.ldexp(1.0, 10 - e).reshape(finite.shape)
    return np.clip(np.rint(values * factors), -LARGEST, LARGEST), e


def scaled(sums, e_u, e_v):
    """Sums [groups][…] as binary32: exact in binary64, then rounded once. (+ 0.0: a sum of -0 is +0.)"""
    factors = np.ldexp(1.0, e_u + e_v - 20)
    factors = np.where((e_u == NOT_FINITE) | (e_v == NOT_FINITE), np.nan, factors).reshape(-1, *[1] * (sums.ndim - 1))
    with np.errstate(over="ignore", under="ignore"):
        return ((sums + 0.0) * factors).astype(np.float32)


def _checked(terms):
    assert terms < 1 << 31


def _padded(x, kernel, stride, pad, size):
    """With zeros, so that every tap has a pixel for every output; the taps' slices of it."""
    sides = [max(side + pad, (n - 1) * stride + k) for side, n, k in zip(x.shape[1:3], size, kernel)]
    out = np.zeros((len(x), *sides, x.shape[3]))

    def tap(ky, kx):
        ys, xs = (slice(k, k + (n - 1) * stride + 1, stride) for k, n in zip((ky, kx), size))
        return out[:, ys, xs]
    taps = [(ky, kx) for ky in range(kernel[0]) for kx in range(kernel[1])]
    return out, [(*at, tap(*at)) for at in taps]


def _inside(pad, shape):
    return (slice(None), *(slice(pad, pad + side) for side in shape[1:3]))


def _rows(x):
    """[n][y][x][c] as [n][positions][c]."""
    return x.reshape(len(x), -1, x.shape[-1])


def forward(x, w, stride, pad):
    (q, e), (weights, e_weights) = rounded(x), rounded(w[None])
    size = output_size(x.shape[1:3], w.shape[:2], stride, pad)
    padded, taps = _padded(q, w.shape[:2], stride, pad, size)
    padded[_inside(pad, x.shape)] = q
    _checked(len(taps) * x.shape[3])
    sums = np.zeros((len(x), size[0] * size[1], w.shape[3]))
    for ky, kx, under in taps:
        sums += _rows(under) @ weights[0, ky, kx]
    return scaled(sums, e, e_weights).reshape(len(x), *size, w.shape[3])


def input_gradient(dy, w, stride, pad, size):
    """Each tap adds to the pixels under it."""
    (q, e), (weights, e_weights) = rounded(dy), rounded(w[None])
    shape = (len(dy), *size, w.shape[2])
    padded, taps = _padded(np.zeros(shape), w.shape[:2], stride, pad, dy.shape[1:3])
    _checked(len(taps) * dy.shape[3])
    for ky, kx, under in taps:
        under += (_rows(q) @ weights[0, ky, kx].T).reshape(under.shape)
    return scaled(padded[_inside(pad, shape)], e, e_weights)


def weight_gradient(x, dy, kernel, stride, pad, lanes):
    """A product for each sample, then their sums."""
    return lanes.sample_sums(sample_products(x, dy, kernel, stride, pad)).reshape(*kernel, x.shape[3], dy.shape[3])


def sample_products(x, dy, kernel, stride, pad):
    (q, e), (gradient, e_gradient) = rounded(x), rounded(dy)
    padded, taps = _padded(q, kernel, stride, pad, dy.shape[1:3])
    padded[_inside(pad, x.shape)] = q
    gradient = _rows(gradient)
    _checked(gradient.shape[1])
    sums = np.stack([_rows(under).transpose(0, 2, 1) @ gradient for _, _, under in taps], axis=1)
    return scaled(sums, e, e_gradient)
