"""Philox4x32-10, its draws, and the order of samples."""
import functools
import hashlib

import floats
import functions

ROUNDS = 8  # of the permutation of samples
_MASK = 0xFFFFFFFF
_TWO_PI = float.fromhex("0x1.921fb6p+2")


def words(key, counter):
    """Four words from a key of two and a counter of four."""
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & _MASK, (a >> 32) ^ c3 ^ k1, a & _MASK
        k0, k1 = (k0 + 0x9E3779B9) & _MASK, (k1 + 0xBB67AE85) & _MASK
    return c0, c1, c2, c3


@functools.lru_cache(None)
def stream_key(seed, stream):
    digest = hashlib.sha256(seed.to_bytes(8, "little") + stream.encode()).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")


def bits(key, position, micro, n):
    out = []
    for block in range((n + 3) // 4):
        out += words(key, (position & _MASK, position >> 32, block, micro))
    return out[:n]


def uniform(u):
    return (u >> 8) * 2.0 ** -24


def mask(key, position, micro, n, rate, kept):
    return [0.0 if uniform(u) < rate else kept for u in bits(key, position, micro, n)]


def normal(key, position, micro, n):
    drawn = bits(key, position, micro, n + n % 2)
    out = []
    for u, w in zip(drawn[0::2], drawn[1::2]):
        r = floats.sqrt(floats.mul(-2.0, functions.log(floats.sub(1.0, uniform(u)))))
        a = floats.mul(uniform(w), _TWO_PI)
        out += [floats.mul(r, functions.cos(a)), floats.mul(r, functions.sin(a))]
    return out[:n]


def below(key, position, micro, word, bound):
    return bits(key, position, micro, 4)[word] * bound >> 32


def sample(seed, n, draw, stream="data/order"):
    """The index of the sample that a draw takes from a data set of n."""
    epoch, x = divmod(draw, n)
    return permuted(stream_key(seed, stream), n, epoch, x)


def permuted(key, n, epoch, x):
    """Element x of the permutation of 0 … n - 1."""
    if n == 1:
        return 0
    total_bits = max(2, (n - 1).bit_length())
    low = (total_bits + 1) // 2
    high = total_bits - low
    while True:
        upper, lower = x >> low, x & ((1 << low) - 1)
        for r in range(ROUNDS):
            value = words(key, (lower if r % 2 == 0 else upper, epoch & _MASK, epoch >> 32, r))[0]
            if r % 2 == 0:
                upper ^= value & ((1 << high) - 1)
            else:
                lower ^= value & ((1 << low) - 1)
        x = (upper << low) + lower
        if x < n:
            return x
