"""The state's digest, its leaves, and the tree of SHA-256, after docs/checkpoint.md."""
import functools
import hashlib
import struct

import chains

TILE = 16384
BLOCK = 65536
SHIFT = 4  # words between the keys of a and of b
_MASK32 = (1 << 32) - 1
_MASK64 = (1 << 64) - 1


def u64(value):
    return struct.pack("<Q", value)


def text(value):
    """A text in hashed form: its length, then its bytes."""
    return u64(len(value.encode())) + value.encode()


@functools.lru_cache(None)
def leaf_keys():
    """The words k, and c_a, c_b."""
    def digest(i):
        return hashlib.sha256(b"lockstep leaf keys 0" + u64(i)).digest()
    words = [word for i in range(513) for word in struct.unpack("<8I", digest(i))]
    return words, [c | 1 for c in struct.unpack("<2Q", digest(513)[:16])]


def length_of(tile):
    """The length n in the leaf: without the padding."""
    return len(tile)


def leaf(tile):
    """The two words of a tile of bytes."""
    keys, lengths = leaf_keys()
    padded = tile + bytes(-len(tile) % 8)
    x = struct.unpack(f"<{len(padded) // 4}I", padded)
    return [(length_of(tile) * c + sum(((x[i] + keys[i + shift]) & _MASK32) * ((x[i + 1] + keys[i + 1 + shift]) & _MASK32)
                                       for i in range(0, len(x), 2))) & _MASK64
            for c, shift in zip(lengths, (0, SHIFT))]


def tiles(content):
    return [content[i:i + TILE] for i in range(0, len(content), TILE)]


def leaves(content):
    """a, b of each tile of a tensor's bytes."""
    return [word for tile in tiles(content) for word in leaf(tile)]


def hash_tree(content):
    """The root over bytes, as in a checkpoint's sidecar."""
    hashed = [hashlib.sha256(b"\0" + content[i:i + BLOCK]).digest() for i in range(0, len(content), BLOCK)]
    top = chains.tree(hashed, lambda a, b: hashlib.sha256(b"\1" + a + b).digest()) if hashed else b""
    return hashlib.sha256(b"\2" + u64(BLOCK) + u64(len(content)) + top).digest()


def content_of(values):
    """A tensor's bytes."""
    return struct.pack(f"<{len(values)}f", *values)


def heading(name, shape):
    return text(name) + u64(len(shape)) + b"".join(u64(size) for size in shape)


def tensor_digest(name, shape, values):
    """Name: without /state/."""
    words = leaves(content_of(values))
    return hashlib.sha256(heading(name, shape) + b"".join(u64(w) for w in words)).digest()


def state_digest(step, samples, digests):
    """From the digests of the tensors, in the order of the state."""
    return hashlib.sha256(text("lockstep state 0") + u64(step) + u64(samples) + u64(len(digests)) +
                          b"".join(digests)).digest()


def commit(step, samples, tensors):
    """tensors: (name, shape, values), in the order of the state."""
    return hashlib.sha256(
        text("lockstep commit 0") + u64(step) + u64(samples) + u64(len(tensors)) +
        b"".join(hashlib.sha256(heading(name, shape)).digest() + hash_tree(content_of(values))
                 for name, shape, values in tensors)).digest()
