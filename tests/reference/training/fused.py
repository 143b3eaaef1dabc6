"""fma of binary32 arrays, rounded once, and blocked chains over all outputs at once (numerics.md, *Dot products*).

A product of two binary32 numbers is exact in binary64. Adding the third rounds to 53 bits and then to 24: wrong only if
the 53-bit sum is inexact and the midpoint of two binary32 numbers. For numbers that are normal in binary32, the lowest
29 bits show these midpoints. Below 2^-126 they do not; these sums are checked one by one. A doubtful sum is computed
again and rounded to odd; rounding that once more is right (Boldo and Melquiond).
"""
import numpy as np

BLOCK = 512
CHUNK = 1 << 15  # outputs at a time: a chain's data stay in the cache

_LOW = np.uint64((1 << 29) - 1)
_MIDDLE = np.uint64(1 << 28)
_TINY = 2.0 ** -126

multiply = np.multiply  # of binary32 numbers held in binary64: exact


def round_to_odd(a, b):
    """a + b of binary64 numbers; if inexact, the neighbour whose last bit is set."""
    s = a + b
    t = s - a
    lost = (a - (s - t)) + (b - t)
    bits = s.view(np.uint64)
    even = (lost != 0) & (bits & np.uint64(1) == 0)
    return np.where(even, np.nextafter(s, np.where(lost > 0, np.inf, -np.inf)), s)


def repaired(product, addend):
    """The sums that are in doubt, rounded once."""
    return round_to_odd(product, addend).astype(np.float32)


def fma(a, b, c):
    """a*b + c, element by element, with broadcasting."""
    product = multiply(np.asarray(a, np.float32).astype(np.float64), np.asarray(b, np.float32).astype(np.float64))
    addend = np.asarray(c, np.float32).astype(np.float64)
    product, addend = np.broadcast_arrays(product, addend)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        total = product + addend
        result = total.astype(np.float32)
        doubt = (total.view(np.uint64) & _LOW) == _MIDDLE
        doubt |= (np.abs(total) < _TINY) & (total != 0)
        if doubt.any():
            result[doubt] = repaired(product[doubt], addend[doubt])
    return result


def _may_be_tiny(u, v):
    """Can a sum of products of elements of u and v have bits below those of binary32?"""
    smallest = 1.0
    for x in (u, v):
        magnitudes = np.abs(x)
        magnitudes[magnitudes == 0] = np.inf
        smallest *= magnitudes.min(initial=np.inf)
    return smallest < 2.0 ** -100  # the last bits of two factors lie 46 below; 2^-149 is binary32's last


class _Chain:
    """Accumulators of a shape; buffers are made once."""

    def __init__(self, shape, tiny):
        self.product, self.total, self.acc = (np.empty(shape) for _ in range(3))
        self.rounded = np.empty(shape, np.float32)
        self.low, self.doubt = np.empty(shape, np.uint64), np.empty(shape, bool)
        self.tiny = tiny

    def run(self, u, v):
        """acc = fma(u[k], v[k], acc) from +0 for all k; u[k] * v[k] broadcasts to the shape."""
        product, total, acc, rounded = self.product, self.total, self.acc, self.rounded
        low, doubt, bits = self.low, self.doubt, self.total.view(np.uint64)
        acc[...] = 0.0
        for k in range(len(u)):
            multiply(u[k], v[k], out=product)
            np.add(product, acc, out=total)
            rounded[...] = total
            np.bitwise_and(bits, _LOW, out=low)
            np.equal(low, _MIDDLE, out=doubt)
            if self.tiny:
                doubt |= (np.abs(total) < _TINY) & (total != 0)
            if np.count_nonzero(doubt):  # quicker than any()
                rounded[doubt] = repaired(product[doubt], acc[doubt])
            acc[...] = rounded
        return rounded


def _pieces(count, step):
    return [slice(i, min(count, i + step)) for i in range(0, count, step)]


def _outer_block(u, v):
    """[Z][I][J] = chain over k of u[k][z][i] * v[k][z][j], one block."""
    _, z, i = u.shape
    j = v.shape[2]
    out = np.empty((z, i, j), np.float32)
    tiny = _may_be_tiny(u, v)
    j_step = min(j, CHUNK)
    i_step = max(1, min(i, CHUNK // j_step))
    z_step = max(1, CHUNK // (j_step * i_step))
    chain = None  # all pieces of one shape share its buffers
    for zs in _pieces(z, z_step):
        for i_s in _pieces(i, i_step):
            for js in _pieces(j, j_step):
                part = out[zs, i_s, js]
                if chain is None or chain.rounded.shape != part.shape:
                    chain = _Chain(part.shape, tiny)
                out[zs, i_s, js] = chain.run(u[:, zs, i_s, None], v[:, zs, None, js])
    return out


def _blocked(length, block_values):
    """Block 0, then + block 1, …; `block_values(first, blocks, size)` gives [blocks][…]."""
    full = length // BLOCK
    values = list(block_values(0, full, BLOCK)) if full else []
    if length % BLOCK:
        values += list(block_values(full * BLOCK, 1, length % BLOCK))
    result = values[0]
    for value in values[1:]:
        result = result + value
    return result


def outer_chain(u, v):
    """[Z][I][J] = the blocked chain over k of u[k][z][i] * v[k][z][j], of binary32 arrays [K][Z][I] and [K][Z][J]."""
    length, z, i = u.shape
    j = v.shape[2]
    if length == 0:
        return np.zeros((z, i, j), np.float32)
    if j < i:  # long rows are faster; the order of factors does not matter
        return np.ascontiguousarray(outer_chain(v, u).transpose(0, 2, 1))

    def blocks(first, count, size):  # side by side
        def side(x):
            part = x[first:first + count * size].reshape(count, size, z, -1).astype(np.float64)
            return np.ascontiguousarray(part.transpose(1, 0, 2, 3)).reshape(size, count * z, -1)
        return _outer_block(side(u), side(v)).reshape(count, z, i, j)
    return _blocked(length, blocks)


def chain_products(u, v):
    """The blocked chain over the first dimension of u*v."""
    shape = u.shape[1:]
    if len(u) == 0:
        return np.zeros(shape, np.float32)

    def blocks(first, count, size):
        def side(x):
            part = x[first:first + count * size].reshape(count, size, -1).astype(np.float64)
            return np.ascontiguousarray(part.transpose(1, 0, 2))
        a, b = side(u), side(v)
        return _Chain(a.shape[1:], _may_be_tiny(a, b)).run(a, b).reshape(count, *shape)
    return _blocked(len(u), blocks)


def chain_values(u):
    """The blocked chain over the first dimension of u."""
    shape = u.shape[1:]
    if len(u) == 0:
        return np.zeros(shape, np.float32)

    def blocks(first, count, size):
        part = u[first:first + count * size].reshape(count, size, -1)
        acc = np.zeros((count, part.shape[2]), np.float32)
        for k in range(size):
            acc += part[:, k]
        return acc.reshape(count, *shape)
    return _blocked(len(u), blocks)


def matmul(a, b):
    """c[z][i][j] = chain over k of a[z][i][k] * b[z][k][j]; two dimensions: one z."""
    if a.ndim == 2:
        return matmul(a[None], b[None])[0]
    return outer_chain(np.ascontiguousarray(a.transpose(2, 0, 1)), np.ascontiguousarray(b.transpose(1, 0, 2)))
