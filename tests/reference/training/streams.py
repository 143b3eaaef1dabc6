"""Philox4x32-10 over whole arrays, and draws from a named stream (docs/numerics.md, *Philox*)."""
import numpy as np

import elementary
import philox  # keys of streams, and the scalar generator that the tests compare with

TWO_PI = np.float32(float.fromhex("0x1.921fb6p+2"))
MASK = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def _words(key, counter):
    """Four arrays of words from a counter of four arrays."""
    k0, k1 = key
    c0, c1, c2, c3 = (np.asarray(c, np.uint64) for c in counter)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1 = (b >> HALF) ^ c1 ^ np.uint64(k0), b & MASK
        c2, c3 = (a >> HALF) ^ c3 ^ np.uint64(k1), a & MASK
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


class Stream:
    """The random numbers of one name; a draw is addressed by position and micro."""

    def __init__(self, seed, name):
        self.key = philox.stream_key(seed, name)

    def bits(self, positions, n, micro=0):
        """[len(positions)][n] words."""
        positions = np.asarray(positions, np.uint64)[:, None]
        blocks = np.arange((n + 3) // 4, dtype=np.uint64)[None, :]
        counter = np.broadcast_arrays(positions & MASK, positions >> HALF, blocks, np.uint64(micro))
        return np.stack(_words(self.key, counter), axis=2).reshape(len(positions), -1)[:, :n]

    def uniform(self, positions, n, micro=0):
        return _uniform(self.bits(positions, n, micro))

    def mask(self, positions, n, rate, kept):
        return np.where(self.uniform(positions, n) < rate, np.float32(0.0), kept)

    def normal(self, positions, n, micro=0):
        drawn = _uniform(self.bits(positions, n + n % 2, micro))
        u, w = drawn[:, 0::2], drawn[:, 1::2]
        r = np.sqrt(np.float32(-2.0) * elementary.log(np.float32(1.0) - u))
        a = w * TWO_PI
        pairs = np.stack([r * elementary.cos(a), r * elementary.sin(a)], axis=2)
        return pairs.reshape(len(drawn), -1)[:, :n]

    def below(self, positions, bound, word):
        return (self.bits(positions, 4)[:, word] * np.uint64(bound) >> HALF).astype(np.int64)


def _uniform(words):
    return (words >> np.uint64(8)).astype(np.float32) * np.float32(2.0 ** -24)
