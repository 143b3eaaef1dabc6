"""Fast leaf hashes of arrays, and a state's digests made from them (docs/checkpoint.md, *The state's digest*)."""
import hashlib

import numpy as np

import digests

TILE_WORDS = digests.TILE // 4
KEYS, (C_A, C_B) = np.array(digests.leaf_keys()[0], np.uint32), digests.leaf_keys()[1]


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def _nh(tiles, first):
    """The NH sum of rows of words, keys from `first` on, modulo 2^64. Integer sums: any order works."""
    keyed = tiles + KEYS[first:first + tiles.shape[1]]  # uint32 wraps
    products = keyed[:, 0::2].astype(np.uint64) * keyed[:, 1::2].astype(np.uint64)
    return np.add.reduce(products, axis=1, dtype=np.uint64)


def leaves(tensor):
    """The bytes a, b, a, b, … of a tensor's tiles."""
    words = np.ascontiguousarray(tensor, "<f4").reshape(-1).view("<u4")
    full = len(words) // TILE_WORDS
    groups = [words[:full * TILE_WORDS].reshape(full, TILE_WORDS)]
    rest = words[full * TILE_WORDS:]
    if len(rest):
        groups.append(np.append(rest, np.zeros(len(rest) % 2, "<u4"))[None])
    out = []
    for tiles, size in zip(groups, (4 * TILE_WORDS, 4 * len(rest))):
        a = _nh(tiles, 0) + np.uint64(size * C_A % 2 ** 64)
        b = _nh(tiles, digests.SHIFT) + np.uint64(size * C_B % 2 ** 64)
        out.append(np.stack([a, b], axis=1).astype("<u8").tobytes())
    return b"".join(out)


def state_digest(tensors, step, samples):
    """`tensors`: (name, array) in the order of the state."""
    of_tensors = [sha256(digests.heading(name, tensor.shape), leaves(tensor)) for name, tensor in tensors]
    return digests.state_digest(step, samples, of_tensors).hex()


def commit_digest(tensors, step, samples):
    flat = [(name, tensor.shape, tensor.reshape(-1).tolist()) for name, tensor in tensors]
    return digests.commit(step, samples, flat).hex()
