"""exp, log, sin, cos, tanh of binary32 arrays, correctly rounded, and functions composed of them (numerics.md, *Functions*).

Evaluated in binary64, with operations of IEEE 754 alone, to an error far below 2^-45 of the result. Both ends of that
interval are rounded; where they differ (one element in a million), ../functions.py computes the element with as many
digits as it needs. So results do not depend on how the binary64 value was computed.
"""
import math

import numpy as np

import functions

_ERROR = 2.0 ** -45
_LOG2_E = float.fromhex("0x1.71547652b82fep+0")
_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42fef00000p-1"), float.fromhex("0x1.473de6af278edp-34")
_TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
# pi/2 in two parts; the first has 33 bits, so that its small multiples are exact.
_HALF_PI_HIGH, _HALF_PI_LOW = float.fromhex("0x1.921fb544p+0"), float.fromhex("0x1.0b4611a626331p-34")
_SQRT2 = math.sqrt(2.0)
ONE = np.float32(1.0)


def _horner(coefficients, x):
    """c[0] + c[1] x + …"""
    s = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        s = s * x + c
    return s


_EXP = [1.0 / math.factorial(i) for i in range(17)]
_EXPM1 = [1.0 / math.factorial(i + 1) for i in range(19)]
_ATANH = [2.0 / (2 * i + 1) for i in range(15)]
_SIN = [(-1.0) ** i / math.factorial(2 * i + 1) for i in range(10)]
_COS = [(-1.0) ** i / math.factorial(2 * i) for i in range(11)]


def _rounded(value, x, exactly):
    """Rounds the binary64 approximation to binary32; calls `exactly` where its error leaves two answers."""
    with np.errstate(over="ignore", under="ignore"):
        low, high = (value * (1.0 - _ERROR)).astype(np.float32), (value * (1.0 + _ERROR)).astype(np.float32)
    result = np.array(low)
    unsure = np.nonzero(~(low == high))  # NaN counts as unsure, too
    for at in zip(*unsure):
        result[at] = exactly(float(x[at]))
    return result


def _exp64(x):
    k = np.rint(x * _LOG2_E)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    return np.ldexp(_horner(_EXP, r), k.astype(np.int32))


def _array(x):
    return np.atleast_1d(np.asarray(x, np.float32))


def exp(x):
    x = _array(x)
    wide = np.minimum(np.maximum(x.astype(np.float64), -110.0), 90.0)  # beyond: 0 and infinity anyway
    return _rounded(_exp64(wide), x, functions.exp)


def log(x):
    x = _array(x)
    m, k = np.frexp(x.astype(np.float64))
    low = m * _SQRT2 < 1.0
    m, k = np.where(low, 2.0 * m, m), np.where(low, k - 1, k).astype(np.float64)
    with np.errstate(invalid="ignore"):
        s = (m - 1.0) / (m + 1.0)
        value = k * _LN2_HIGH + (k * _LN2_LOW + s * _horner(_ATANH, s * s))
    return _rounded(np.where(x == 0, -np.inf, value), x, functions.log)


def _sin_cos(x):
    """For arguments of a few turns at most."""
    wide = x.astype(np.float64)
    assert not x.size or (np.abs(wide) < 64.0).all()
    k = np.rint(wide * _TWO_OVER_PI)
    r = (wide - k * _HALF_PI_HIGH) - k * _HALF_PI_LOW
    z = r * r
    return k.astype(np.int64) % 4, r * _horner(_SIN, z), _horner(_COS, z)


def sin(x):
    x = _array(x)
    q, s, c = _sin_cos(x)
    return _rounded(np.choose(q, [s, c, -s, -c]), x, functions.sin)


def cos(x):
    x = _array(x)
    q, s, c = _sin_cos(x)
    return _rounded(np.choose(q, [c, -s, -c, s]), x, functions.cos)


def tanh(x):
    x = _array(x)
    wide = np.minimum(np.abs(x.astype(np.float64)), 20.0)
    small = np.minimum(wide, 0.5)
    e = 2.0 * small * _horner(_EXPM1, 2.0 * small)  # exp(2x) - 1 without cancellation
    value = np.where(wide < 0.5, e / (e + 2.0), 1.0 - 2.0 / (_exp64(2.0 * wide) + 1.0))
    return _rounded(np.copysign(value, x), x, functions.tanh)


def sigmoid(x):
    with np.errstate(over="ignore"):
        return ONE / (ONE + exp(-x))


def silu(x):
    return x * sigmoid(x)


def silu_derivative(x):
    s = sigmoid(x)
    return s * (ONE + x * (ONE - s))


_SQRT_2_OVER_PI, _CUBIC, _CUBIC_TIMES_3 = (np.float32(x) for x in (float.fromhex("0x1.988454p-1"), 0.044715, 0.134145))
HALF = np.float32(0.5)


def _gelu_tanh_t(x):
    return tanh(_SQRT_2_OVER_PI * (x + _CUBIC * (x * (x * x))))


def gelu_tanh(x):
    return (HALF * x) * (ONE + _gelu_tanh_t(x))


def gelu_tanh_derivative(x):
    t = _gelu_tanh_t(x)
    return HALF * (ONE + t) + (HALF * x) * ((ONE - t * t) * (_SQRT_2_OVER_PI * (ONE + _CUBIC_TIMES_3 * (x * x))))


def softplus(x):
    positive = x > 0
    e = exp(np.where(positive, -x, x))
    u = ONE + e
    one = u == ONE
    safe = np.where(one, np.float32(2.0), u)
    tail = np.where(one, e, log(safe) * (e / (safe - ONE)))
    return np.where(positive, x, np.float32(0.0)) + tail


def leaky_relu(x, slope):
    """Slope 0 is max(x, 0) as written with products: s * x may be -0."""
    return np.where(x > 0, x, np.float32(slope) * x)


def leaky_relu_backward(x, dy, slope):
    return dy * np.where(x > 0, ONE, np.float32(slope))
