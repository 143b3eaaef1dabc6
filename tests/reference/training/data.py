"""Data sets, their content hashes, and batches (docs/training.md, *Data* and *A step*)."""
import gzip
import os

import numpy as np

import host
import philox
from digests import hash_tree, u64
from fused import fma
from hashes import sha256
from recipe import shortest
from streams import Stream


def from_bytes(pixels):
    return fma(pixels.astype(np.float32), np.float32(float.fromhex("0x1.010102p-7")), np.float32(-1.0))


def read(path):
    """A file, or with .gz behind its name."""
    if not os.path.exists(path):
        path += ".gz"
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return file.read()


class Images:
    """Grey pictures of an IDX file, and the labels beside it."""

    def __init__(self, path, classes):
        if os.path.isdir(path):
            path = os.path.join(path, "train-images-idx3-ubyte")
        content = read(path)
        assert content[:4] == b"\0\0\x08\x03", "an IDX file of bytes in three dimensions"
        if classes:
            text = read(path.removesuffix(".gz").replace("images-idx3", "labels-idx1"))
            assert text[:4] == b"\0\0\x08\x01", "an IDX file of bytes in one dimension"
            self.all_labels = np.frombuffer(text, np.uint8, -1, 8)
        self.count, height, width = (int(n) for n in np.frombuffer(content, ">u4", 3, 4))
        self.shape = (height, width, 1)
        self.pixels = np.frombuffer(content, np.uint8, -1, 16).reshape(self.count, *self.shape)

    def content_hash(self):
        return sha256(b"lockstep images 1\n", u64(self.count), *map(u64, self.shape),
                      hash_tree(self.pixels.tobytes())).hex()

    def hash_of_labels(self):
        return hash_tree(self.all_labels.astype("<u4").tobytes())

    def labels(self, indices):
        return self.all_labels[indices]

    def samples(self, indices):
        return from_bytes(self.pixels[indices])


class Mixture:
    """Points of Gaussians on a ring."""

    shape = (2,)

    def __init__(self, table):
        self.table = table
        self.count = table["count"]
        self.stream = Stream(table["seed"], "data/mixture")

    def content_hash(self):
        t = self.table
        floats = {name: shortest(t[name], repr(t[name])) for name in ("radius", "stddev")}
        return sha256(f"lockstep mixture 1\nmodes = {t['modes']}\nradius = {floats['radius']}\n"
                      f"stddev = {floats['stddev']}\ncount = {t['count']}\nseed = {t['seed']}\n".encode()).hex()

    def hash_of_labels(self):
        return b""

    def labels(self, indices):
        return self.stream.below(indices, self.table["modes"], 2)

    def samples(self, indices):
        modes, radius = self.table["modes"], self.table["radius"]
        angles = [float.fromhex("0x1.921fb54442d18p+2") * int(k) / modes for k in self.labels(indices)]
        centres = np.array([[radius * host.cos(a), radius * host.sin(a)] for a in angles]).astype(np.float32)
        return fma(np.float32(self.table["stddev"]), self.stream.normal(indices, 2), centres)


class Shapes:
    """Discs, squares and stripes in colour."""

    def __init__(self, table):
        self.table = table
        self.count = table["count"]
        self.shape = (table["side"], table["side"], 3)
        self.stream = Stream(table["seed"], "data/shapes")

    def content_hash(self):
        t = self.table
        return sha256(f"lockstep shapes 1\nside = {t['side']}\ncount = {t['count']}\nseed = {t['seed']}\n"
                      .encode()).hex()

    def hash_of_labels(self):
        return b""

    def labels(self, indices):
        return np.array([int(w[6]) * 3 >> 32 for w in self.stream.bits(indices, 10)])

    def samples(self, indices):
        return from_bytes(np.stack([self._picture([int(v) for v in w]) for w in self.stream.bits(indices, 10)]))

    def _picture(self, w):
        def below(word, bound):
            return w[word] * bound >> 32
        side = self.shape[0]
        y, x = np.indices((side, side))
        ground = np.array([w[c] >> 24 for c in range(3)])
        colour = np.array([(ground[c] + 96 + below(3 + c, 65)) % 256 for c in range(3)])
        kind = below(6, 3)
        if kind == 2:
            r = side // 8 + below(7, side // 8 + 1)
            t = (x, y, x + y, x - y + side)[below(8, 4)]
            inside = (t + below(9, 2 * r)) // r % 2 == 1
        else:
            r = side // 6 + below(7, side // 6 + 1)
            dx, dy = x - (r + below(8, side - 2 * r)), y - (r + below(9, side - 2 * r))
            inside = dx * dx + dy * dy <= r * r if kind == 0 else (abs(dx) <= r) & (abs(dy) <= r)
        return np.where(inside[..., None], colour, ground).astype(np.uint8)


def open_data(recipe):
    kind = recipe["data"]["kind"]
    if kind == "images":
        return Images(recipe.data_path, recipe["data"]["classes"])
    return (Mixture if kind == "mixture" else Shapes)(recipe["data." + kind])


def hash_of(recipe, data):
    """The content hash, with labels where the recipe has classes."""
    plain = data.content_hash()
    if not recipe["data"]["classes"]:
        return plain
    return sha256(b"lockstep labels 1\n", bytes.fromhex(plain), data.hash_of_labels()).hex()


def batch(recipe, data, samples):
    """The draws after the first `samples` draws, and the samples that they take."""
    size = recipe["batch"]["lanes"] * recipe["batch"]["samples_per_lane"]
    draws = list(range(samples, samples + size))
    return draws, data.samples(np.array([philox.sample(recipe.seed, data.count, d) for d in draws]))
