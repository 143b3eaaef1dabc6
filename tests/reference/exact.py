"""floats.py against exact rational arithmetic, on operands near the midpoints between numbers; exp and log
against Python's decimals, functions at arguments where the nearest binary64 number rounds wrongly; known answers for Philox.
"""
import decimal
import math
import struct
import sys
from fractions import Fraction

import floats
import functions
import philox
import vectors


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def value(w):
    return struct.unpack("<f", struct.pack("<I", w))[0]


def magnitude(w):
    """Exact value of the bits of a magnitude; infinity counts as the next number after the largest."""
    exponent, significand = w >> 23, w & 0x7FFFFF
    return Fraction(significand + (0x800000 if exponent else 0)) * Fraction(2) ** (max(exponent, 1) - 150)


def nearest(exact, result):
    """Is the result the nearest binary32 number, in a tie the even one?"""
    w = bits(abs(result))
    if exact and (exact < 0) != (math.copysign(1.0, result) < 0):
        return False
    distance = abs(abs(exact) - magnitude(w))
    for other in (w - 1, w + 1):
        if 0 <= other <= 0x7F800000:
            d = abs(abs(exact) - magnitude(other))
            if d < distance or (d == distance and w & 1):
                return False
    return True


def operands(count):
    """Short significands and neighbours of powers of two, so that ties happen, over all exponents."""
    for i in range(count):
        w = vectors.word(1, 2 * i)
        if i % 3 == 0:
            w = w & 0xFF800000 | (vectors.word(1, 2 * i + 1) % 5 - 2) & 0x7FFFFF
        elif i % 3 == 1:
            w &= 0xFFFFF000
        if w >> 23 & 0xFF != 0xFF:
            yield value(w)


def check_arithmetic(problems):
    numbers = list(operands(3000))
    for i, a in enumerate(numbers):
        b = numbers[(7 * i + 1) % len(numbers)]
        product = Fraction(a) * Fraction(b)
        beside = max(-3e38, min(3e38, float(product)))
        for c in (numbers[(11 * i + 5) % len(numbers)], floats.round32(beside * 2.0 ** 24), floats.round32(-beside)):
            if math.isfinite(c) and not nearest(product + Fraction(c), floats.fma(a, b, c)):
                problems.append(f"fma {a.hex()} {b.hex()} {c.hex()}")
        if not nearest(Fraction(a) + Fraction(b), floats.add(a, b)):
            problems.append(f"add {a.hex()} {b.hex()}")
        if not nearest(product, floats.mul(a, b)):
            problems.append(f"mul {a.hex()} {b.hex()}")
        if b and not nearest(Fraction(a) / Fraction(b), floats.div(a, b)):
            problems.append(f"div {a.hex()} {b.hex()}")
        root = bits(floats.sqrt(abs(a)))
        if a and not (magnitude(root) + magnitude(root - 1)) ** 2 < 4 * abs(Fraction(a)) < \
                (magnitude(root) + magnitude(root + 1)) ** 2:
            problems.append(f"sqrt {a.hex()}")


# a, b, c: the rounded sum; a binary64 sum rounded again differs.
FUSED = ((0x3F800001, 0x337FFFFE, 0x3F800001, 0x3F800001), (0x60918E00, 0x5E612000, 0xDD800000, 0x7F7FFFFF))
# argument:result, where the nearest binary64 number is a midpoint of two binary32 numbers and the even one is wrong.
HARD = {"log": "3c413d3a:c08e158f 41178feb:400fe5e7 4c5d65a5:418f034b 65d890d3:4254d1f9 6f31a8ec:42845a89",
        "sin": "46199998:beb1fa5d c6199998:3eb1fa5d",
        "cos": "5f18b878:3f7f14bb 6115cb11:3f78142f"}


def check_decimal(problems):
    """exp and log, which Python's decimals round correctly, too."""
    context = decimal.Context(prec=60, Emin=-999, Emax=999)
    for i in range(2000):
        x = abs(vectors.wide(vectors.word(2, i))) if i % 2 else abs(value(vectors.word(3, i) & 0x7F7FFFFF))
        if x and not nearest(Fraction(context.ln(decimal.Decimal(x))), functions.log(x)):
            problems.append(f"log {x.hex()}")
        y = math.copysign(x, 1 - i % 3)
        if -103.0 < y < 88.0 and not nearest(Fraction(context.exp(decimal.Decimal(y))), functions.exp(y)):
            problems.append(f"exp {y.hex()}")


def check_twice_rounded(problems):
    for a, b, c, expected in FUSED:
        a, b, c = value(a), value(b), value(c)
        if bits(floats.fma(a, b, c)) != expected or bits(floats.round32(a * b + c)) == expected:
            problems.append(f"fma {a.hex()} {b.hex()} {c.hex()}")
    for name, cases in HARD.items():
        for case in cases.split():
            argument, expected = (int(w, 16) for w in case.split(":"))
            if bits(functions.VALUES[name](value(argument))) != expected:
                problems.append(f"{name} {argument:08x}")


PHILOX = (((0, 0), (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
          ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 4, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
          ((0xA4093822, 0x299F31D0), (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
           (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)))


def main():
    problems = []
    check_arithmetic(problems)
    check_decimal(problems)
    check_twice_rounded(problems)
    problems += [f"philox {key}" for key, counter, words in PHILOX if philox.words(key, counter) != words]
    for problem in problems[:20]:
        print(problem)
    print(f"{len(problems)} found")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
