"""Fast leaf hashes, SHA-256 trees, and the digests of a state (docs/checkpoint.md, *The state's digest*)."""
import hashlib

import numpy as np

from trees import tree

TILE_WORDS = 4096  # 16384 bytes
LEAF_BYTES = 65536


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def u64(n):
    return int(n).to_bytes(8, "little")


def text(s):
    """A text inside a hash: its length, then its bytes."""
    return u64(len(s.encode())) + s.encode()


def _leaf_keys():
    blocks = [sha256(b"lockstep leaf keys 0", u64(i)) for i in range(514)]
    words = np.frombuffer(b"".join(blocks[:513]), "<u4")
    constants = np.frombuffer(blocks[513][:16], "<u8") | np.uint64(1)
    return words, int(constants[0]), int(constants[1])


KEYS, C_A, C_B = _leaf_keys()


def _nh(tiles, first):
    """The NH sum of rows of words, keys from `first` on, modulo 2^64. Of integers: any order of adding will do."""
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
        b = _nh(tiles, 4) + np.uint64(size * C_B % 2 ** 64)
        out.append(np.stack([a, b], axis=1).astype("<u8").tobytes())
    return b"".join(out)


def hash_tree_root(data):
    """The root over blocks of 65536 bytes, as of a checkpoint's sidecar."""
    blocks = [sha256(b"\0", data[i:i + LEAF_BYTES]) for i in range(0, len(data), LEAF_BYTES)]
    top = tree(blocks, lambda left, right: sha256(b"\1", left, right))
    return sha256(b"\2", u64(LEAF_BYTES), u64(len(data)), top)


def _heading(name, tensor):
    return text(name) + u64(tensor.ndim) + b"".join(map(u64, tensor.shape))


def state_digest(tensors, step, samples):
    """`tensors`: (name, array) in the order of the state."""
    digests = [sha256(_heading(name, tensor), leaves(tensor)) for name, tensor in tensors]
    return sha256(text("lockstep state 0"), u64(step), u64(samples), u64(len(digests)), *digests).hex()


def commit_digest(tensors, step, samples):
    parts = []
    for name, tensor in tensors:
        data = np.ascontiguousarray(tensor, "<f4").tobytes()
        parts += [sha256(_heading(name, tensor)), hash_tree_root(data)]
    return sha256(text("lockstep commit 0"), u64(step), u64(samples), u64(len(tensors)), *parts).hex()
