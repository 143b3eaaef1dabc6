"""Host scalars: binary64 by the sequences of docs/numerics.md."""
import math

from floats import INFINITY, NAN, fma64

_R = float.fromhex("0x1.8p52")
_LOG2_E = float.fromhex("0x1.71547652b82fep+0")
_LN2_HIGH = float.fromhex("0x1.62e42fef00000p-1")
_LN2_LOW = float.fromhex("0x1.473de6af278edp-34")
_TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
_HALF_PI_HI = float.fromhex("0x1.921fb54442d18p+0")
_HALF_PI_LO = float.fromhex("0x1.1a62633145c07p-54")
_LN2_PAIR = (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56"))


def _table(text):
    return [float.fromhex(word) for word in text.split()]


_EXP = _table("""
    0x1p-1 0x1.5555555555555p-3 0x1.5555555555557p-5 0x1.1111111111111p-7
    0x1.6c16c16c15a68p-10 0x1.a01a01a0196acp-13 0x1.a01a01a9e991bp-16 0x1.71de3a5aa7bb7p-19
    0x1.27e4d41966f2fp-22 0x1.ae642c82e33d5p-26 0x1.1f7f2776cfaf2p-29 0x1.61bfaa228dde5p-33""")
_LOG = _table("""
    0x1.5555555555555p-1 0x1.9999999999998p-2 0x1.2492492492962p-2 0x1.c71c71c64b463p-3
    0x1.745d17d40cf59p-3 0x1.3b137afb813a0p-3 0x1.111d30dcfa14ap-3 0x1.debd2cc5021e0p-4
    0x1.e6bf079f670fep-4""")
_SIN = _table("""
    -0x1.5555555555555p-3 0x1.1111111111110p-7 -0x1.a01a01a01992fp-13 0x1.71de3a545f836p-19
    -0x1.ae645410e937bp-26 0x1.61217d9252c03p-33 -0x1.ab16f5caa198ap-41""")
_COS = _table("""
    0x1.5555555555555p-5 -0x1.6c16c16c16c16p-10 0x1.a01a01a019d06p-16 -0x1.27e4fb77125c5p-22
    0x1.1eed8deac3dfep-29 -0x1.9394b8bd50ae1p-37 0x1.ab779550c8d9bp-45""")


def _horner(table, x):
    s = table[-1]
    for c in reversed(table[:-1]):
        s = fma64(s, x, c)
    return s


def exp(x):
    if x != x:
        return NAN
    if x > 710.0:
        return INFINITY
    if x < -746.0:
        return 0.0
    k = fma64(x, _LOG2_E, _R) - _R
    h = fma64(-k, _LN2_HIGH, x)
    r = fma64(-k, _LN2_LOW, h)
    t = fma64(-k, _LN2_LOW, h - r)
    y = 1.0 + (r + fma64(r * r, _horner(_EXP, r), t))
    j = math.trunc(k / 2.0)
    return (y * 2.0 ** j) * 2.0 ** (int(k) - j)


def split(x):
    """k, m with x = 2^k m, sqrt(1/2) <= m < sqrt(2)."""
    m, k = math.frexp(x)
    if 2.0 * m < float.fromhex("0x1.6a09e667f3bcdp+0"):
        m, k = 2.0 * m, k - 1
    return float(k), m


def log(x):
    if x != x or x < 0.0:
        return NAN
    if x == 0.0:
        return -INFINITY
    if x == INFINITY:
        return x
    k, m = split(x)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    h = (0.5 * f) * f
    c = fma64(s, h + z * _horner(_LOG, z), k * _LN2_LOW)
    return fma64(k, _LN2_HIGH, f - (h - c))


def _sin_cos(x):
    if x != x:
        return 0, NAN, NAN
    assert abs(x) <= 2.0 ** 20
    n = fma64(x, _TWO_OVER_PI, _R)
    k = n - _R
    h = fma64(-k, _HALF_PI_HI, x)
    r = fma64(-k, _HALF_PI_LO, h)
    t = fma64(-k, _HALF_PI_LO, h - r)
    z = r * r
    sine = r + fma64(r * z, _horner(_SIN, z), t)
    a = 0.5 * z
    w = 1.0 - a
    cosine = w + (((1.0 - w) - a) + fma64(z * z, _horner(_COS, z), -(r * t)))
    return int(n) % 4, sine, cosine


def sin(x):
    q, s, c = _sin_cos(x)
    return (s, c, -s, -c)[q]


def cos(x):
    q, s, c = _sin_cos(x)
    return (c, -s, -c, s)[q]


def _fast_two_sum(a, b):
    s = a + b
    return s, b - (s - a)


def _two_sum(a, b):
    s = a + b
    c = s - a
    return s, (a - (s - c)) + (b - c)


def _pair_add(x, y):
    s, e = _two_sum(x[0], y[0])
    t, f = _two_sum(x[1], y[1])
    v, w = _fast_two_sum(s, e + t)
    return _fast_two_sum(v, f + w)


def _pair_mul(x, y):
    p = x[0] * y[0]
    e = fma64(x[0], y[0], -p)
    return _fast_two_sum(p, e + fma64(x[0], y[1], x[1] * y[0]))


def _pair_minus(x):
    return -x[0], -x[1]


def _pair_div(x, y):
    q = x[0] / y[0]
    d = _pair_add(x, _pair_minus(_pair_mul((q, 0.0), y)))
    c = d[0] / y[0]
    g = _pair_add(d, _pair_minus(_pair_mul((c, 0.0), y)))
    return _pair_add(_fast_two_sum(q, c), (g[0] / y[0], 0.0))


_ODD_INVERSES = [_pair_div((1.0, 0.0), (2.0 * n + 1.0, 0.0)) for n in range(23)]


def pow(x, y):
    if y == 0.0:
        return 1.0
    if x != x or y != y or x < 0.0:
        return NAN
    if x == 0.0 or x == INFINITY:
        return 0.0 if (x == 0.0) == (y > 0.0) else INFINITY
    k, m = split(x)
    s = _pair_div(_two_sum(m, -1.0), _two_sum(m, 1.0))
    z = _pair_mul(s, s)
    u = (0.0, 0.0)
    for n in range(22, -1, -1):
        u = _pair_add(_pair_mul(u, z), _ODD_INVERSES[n])
    logarithm = _pair_add(_pair_mul((k, 0.0), _LN2_PAIR), _pair_mul((2.0, 0.0), _pair_mul(s, u)))
    power = _pair_mul((y, 0.0), logarithm)
    e = exp(power[0])
    return e if e == INFINITY else fma64(e, power[1], e)
