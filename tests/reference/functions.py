"""The functions of binary32: correctly rounded exp, log, sin, cos, tanh, erf, and the functions composed of them.

Each function is evaluated in fixed point on integers. The error is far below 2^12 units of the last place, so both
ends of that interval are rounded; where they differ, the precision doubles (Ziv). This loop would never end for a
value that is a binary32 number or the midpoint of two: these are exp(0), log(1), sin(0), cos(0), tanh(0), erf(0).
"""
import functools
import math

import floats
from floats import INFINITY, NAN, add, div, dyadic, mul, round_dyadic, sqrt, sub

_ERROR = 1 << 12


@functools.lru_cache(None)
def _atanh_inverse(n, bits):
    """atanh(1/n) * 2^bits; atan(1/-n) with alternating signs for n < 0."""
    total, power, k = 0, (1 << bits) // abs(n), 1
    while power:
        total += power // k if n > 0 or k % 4 == 1 else -(power // k)
        power //= n * n
        k += 2
    return total


@functools.lru_cache(None)
def _ln2(bits):
    return 2 * _atanh_inverse(3, bits + 16) >> 16


@functools.lru_cache(None)
def _pi(bits):
    return 4 * (4 * _atanh_inverse(-5, bits + 16) - _atanh_inverse(-239, bits + 16)) >> 16


@functools.lru_cache(None)
def _two_over_sqrt_pi(bits):
    return math.isqrt((4 << 3 * bits) // _pi(bits))


def _shifted(n, places):
    return n << places if places >= 0 else n >> -places


def _exp_series(r, bits):
    total, term, k = 0, 1 << bits, 1
    while term not in (0, -1):
        total += term
        term = (term * r >> bits) // k
        k += 1
    return total


def _exp_parts(x, bits):
    """exp(x * 2^-bits) = y * 2^(k - bits)."""
    ln2 = _ln2(bits)
    k = (2 * x + ln2) // (2 * ln2)
    return _exp_series(x - k * ln2, bits), k


def _exp_fixed(n, e, bits):
    y, k = _exp_parts(n << (e + bits), bits)
    return y, k - bits


def _log_fixed(n, e, bits):
    k = n.bit_length()
    m = n << (bits - k)  # x = 2^(k+e) m, m in [1/2, 1)
    if 2 * m * m < 1 << 2 * bits:
        m, k = 2 * m, k - 1
    one = 1 << bits
    s = ((m - one) << bits) // (m + one)
    square = s * s >> bits
    total, power, i = 0, s, 1
    while power not in (0, -1):
        total += power // i
        power = power * square >> bits
        i += 2
    return 2 * total + (k + e) * _ln2(bits), -bits


def _sin_cos_fixed(n, e, bits, quarter):
    """sin(x + quarter * pi/2)."""
    wide = bits + 140  # the quotient has up to 128 bits
    half_pi = _pi(wide) >> 1
    x = n << (e + wide)
    q = (2 * x + half_pi) // (2 * half_pi)
    r = (x - q * half_pi) >> 140
    quarter = (q + quarter) % 4
    square = r * r >> bits
    k, term = (2, 1 << bits) if quarter % 2 else (3, r)
    total = 0
    while term not in (0, -1):
        total += term
        term = -(term * square >> bits) // (k * (k - 1))
        k += 2
    return (total if quarter < 2 else -total), -bits


def _tanh_fixed(n, e, bits):
    y, k = _exp_parts(abs(n) << (e + bits + 1), bits)
    y = _shifted(y, k)
    one = 1 << bits
    t = ((y - one) << bits) // (y + one)
    return (t if n > 0 else -t), -bits


def _erf_fixed(n, e, bits):
    wide = bits + 40  # the alternating terms grow to 2^21
    x = n << (e + wide)
    square = x * x >> wide
    total, term, k = 0, x, 0
    while term not in (0, -1):
        total += term // (2 * k + 1)
        k += 1
        term = -(term * square >> wide) // k
    return (total * _two_over_sqrt_pi(wide) >> wide + 40), -bits


def _correctly_rounded(evaluate, x):
    n, e = dyadic(x)
    small = max(0, -math.frexp(x)[1]) + 64
    bits = 96
    while True:
        value, exponent = evaluate(n, e, (bits + small + 63) // 64 * 64)
        low = round_dyadic(value - _ERROR, exponent)
        if low == round_dyadic(value + _ERROR, exponent):
            return low
        bits *= 2


def exp(x):
    if x != x:
        return NAN
    if x == 0.0:
        return 1.0
    if x > 89.0:
        return INFINITY
    if x < -104.0:
        return 0.0
    return _correctly_rounded(_exp_fixed, x)


def log(x):
    if x != x or x < 0.0:
        return NAN
    if x == 0.0:
        return -INFINITY
    if x == INFINITY:
        return x
    return 0.0 if x == 1.0 else _correctly_rounded(_log_fixed, x)


def sin(x):
    if not math.isfinite(x):
        return NAN
    return x if x == 0.0 else _correctly_rounded(lambda n, e, bits: _sin_cos_fixed(n, e, bits, 0), x)


def cos(x):
    if not math.isfinite(x):
        return NAN
    return 1.0 if x == 0.0 else _correctly_rounded(lambda n, e, bits: _sin_cos_fixed(n, e, bits, 1), x)


def tanh(x):
    if x != x or x == 0.0:
        return x
    if abs(x) >= 10.0:  # nearer to 1 than 2^-25
        return math.copysign(1.0, x)
    return _correctly_rounded(_tanh_fixed, x)


def erf(x):
    if x != x or x == 0.0:
        return x
    if abs(x) >= 4.0:  # nearer to 1 than 2^-25
        return math.copysign(1.0, x)
    return _correctly_rounded(_erf_fixed, x)


_TWO_OVER_SQRT_PI = float.fromhex("0x1.20dd76p+0")
_SQRT_HALF = float.fromhex("0x1.6a09e6p-1")
_INVERSE_SQRT_2PI = float.fromhex("0x1.988454p-2")
_SQRT_2_OVER_PI = float.fromhex("0x1.988454p-1")
_GELU_CUBIC, _GELU_CUBIC_TIMES_3 = floats.round32(0.044715), floats.round32(0.134145)


def sigmoid(x):
    return div(1.0, add(1.0, exp(-x)))


def silu(x):
    return mul(x, sigmoid(x))


def softplus(x):
    e = exp(-x if x > 0.0 else x)
    u = add(1.0, e)
    tail = e if u == 1.0 else mul(log(u), div(e, sub(u, 1.0)))
    return add(x if x > 0.0 else 0.0, tail)


def _gelu_factor(x):
    return add(1.0, erf(mul(x, _SQRT_HALF)))


def gelu(x):
    return mul(mul(0.5, x), _gelu_factor(x))


def gelu_derivative(x):
    density = mul(_INVERSE_SQRT_2PI, exp(mul(-0.5, mul(x, x))))
    return add(mul(0.5, _gelu_factor(x)), mul(x, density))


def _gelu_tanh_t(x):
    cubic = mul(_GELU_CUBIC, mul(x, mul(x, x)))
    return tanh(mul(_SQRT_2_OVER_PI, add(x, cubic)))


def gelu_tanh(x):
    return mul(mul(0.5, x), add(1.0, _gelu_tanh_t(x)))


def gelu_tanh_derivative(x):
    t = _gelu_tanh_t(x)
    slope = mul(_SQRT_2_OVER_PI, add(1.0, mul(_GELU_CUBIC_TIMES_3, mul(x, x))))
    return add(mul(0.5, add(1.0, t)), mul(mul(0.5, x), mul(sub(1.0, mul(t, t)), slope)))


def tanh_derivative(x):
    t = tanh(x)
    return sub(1.0, mul(t, t))


def sigmoid_derivative(x):
    s = sigmoid(x)
    return mul(s, sub(1.0, s))


def silu_derivative(x):
    s = sigmoid(x)
    return mul(s, add(1.0, mul(x, sub(1.0, s))))


VALUES = {
    "exp": exp, "log": log, "sin": sin, "cos": cos, "tanh": tanh, "erf": erf,
    "sqrt": lambda x: sqrt(x),
    "rsqrt": lambda x: div(1.0, sqrt(x)),
    "negate": lambda x: -x,
    "square": lambda x: mul(x, x),
    "abs": abs,
    "relu": lambda x: x if x > 0.0 or x != x else 0.0,
    "sigmoid": sigmoid, "silu": silu, "softplus": softplus, "gelu": gelu, "gelu_tanh": gelu_tanh,
    "leaky_relu": lambda x, slope: x if x > 0.0 else mul(slope, x),
}

DERIVATIVES = {
    "exp": exp,
    "log": lambda x: div(1.0, x),
    "sin": cos,
    "cos": lambda x: -sin(x),
    "tanh": tanh_derivative,
    "erf": lambda x: mul(_TWO_OVER_SQRT_PI, exp(-mul(x, x))),
    "sqrt": lambda x: div(0.5, sqrt(x)),
    "rsqrt": lambda x: div(div(-0.5, x), sqrt(x)),
    "negate": lambda x: -1.0,
    "square": lambda x: add(x, x),
    "abs": lambda x: 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0,
    "relu": lambda x: 1.0 if x > 0.0 else 0.0,
    "sigmoid": sigmoid_derivative, "silu": silu_derivative, "softplus": sigmoid, "gelu": gelu_derivative,
    "gelu_tanh": gelu_tanh_derivative,
    "leaky_relu": lambda x, slope: 1.0 if x > 0.0 else slope,
}


def from_byte(byte):
    return floats.fma(float(byte), float.fromhex("0x1.010102p-7"), -1.0)


def to_byte(x):
    clamped = 1.0 if x > 1.0 else x if x > -1.0 else -1.0
    return min(int(floats.fma(clamped, 127.5, 128.0)), 255)
