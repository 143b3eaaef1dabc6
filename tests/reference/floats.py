"""binary32 and binary64 arithmetic, every operation rounded once, to nearest, ties to even.

A binary32 value is held in a Python float (a binary64 number) that binary32 represents. Adding, subtracting,
dividing or taking the root in binary64 and then rounding to binary32 equals one rounding: 53 >= 2*24 + 2.
A product of two binary32 values is exact in binary64. fma must also look at the bits that its sum lost.
"""
import math
import struct

NAN = math.nan
INFINITY = math.inf
_FLOAT = struct.Struct("<f")
_HUGE = 2.0 ** 127  # below this fma's quick path cannot overflow


def round32(x):
    """A binary64 number to binary32."""
    try:
        return _FLOAT.unpack(_FLOAT.pack(x))[0]
    except OverflowError:
        return math.copysign(INFINITY, x)


def round_dyadic(n, exponent):
    """The integer n times 2^exponent to binary32."""
    magnitude = abs(n)
    shift = max(magnitude.bit_length() - 24, -149 - exponent)
    if shift > 0:
        rest = magnitude & ((1 << shift) - 1)
        half = 1 << (shift - 1)
        magnitude >>= shift
        exponent += shift
        if rest > half or (rest == half and magnitude & 1):
            magnitude += 1
    if magnitude.bit_length() + exponent > 128:
        return math.copysign(INFINITY, n)
    return math.copysign(math.ldexp(magnitude, exponent), n)


def dyadic(x):
    """Integers n, e with x = n * 2^e, for finite x."""
    fraction, exponent = math.frexp(x)
    return int(fraction * 2.0 ** 53), exponent - 53


def add(a, b):
    return round32(a + b)


def sub(a, b):
    return round32(a - b)


def mul(a, b):
    return round32(a * b)


def div(a, b):
    return round32(div64(a, b))


def sqrt(x):
    return round32(sqrt64(x))


def fma(a, b, c):
    """a*b + c of binary32 values."""
    product = a * b
    total = product + c
    if not -_HUGE < total < _HUGE:
        if not math.isfinite(total):  # an operand was infinite or NaN: binary64 holds every finite sum
            return total
        return _fma_by_integers(product, c)
    nearest = round32(total)
    if nearest != total:
        # The second rounding can go wrong only from the midpoint of two neighbours, if that was itself rounded.
        other = total + (total - nearest)
        if round32(other) == other:
            part = total - product
            lost = (product - (total - part)) + (c - part)
            if lost > 0:
                return max(nearest, other)
            if lost < 0:
                return min(nearest, other)
    return nearest


def _fma_by_integers(product, c):
    n, e = dyadic(product)
    m, f = dyadic(c)
    low = min(e, f)
    return round_dyadic((n << (e - low)) + (m << (f - low)), low)


def div64(a, b):
    if b == 0.0:
        if a == 0.0 or a != a:
            return NAN
        return math.copysign(INFINITY, a) * math.copysign(1.0, b)
    return a / b


def sqrt64(x):
    return NAN if x < 0.0 else math.sqrt(x)


def fma64(a, b, c):
    """a*b + c of binary64 values; the quotient of two Python integers is correctly rounded."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    (an, ad), (bn, bd), (cn, cd) = a.as_integer_ratio(), b.as_integer_ratio(), c.as_integer_ratio()
    n = an * bn * cd + cn * ad * bd
    if n == 0:
        return a * b + c if a == 0.0 or b == 0.0 else 0.0
    try:
        return n / (ad * bd * cd)
    except OverflowError:
        return math.copysign(INFINITY, n)
