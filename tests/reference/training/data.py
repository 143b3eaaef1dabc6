"""Data sets, their content hashes, and batches (docs/training.md, *Data* and *A step*)."""
import gzip
import os
from dataclasses import dataclass

import h5py
import numpy as np

import host
import philox
from digests import hash_tree, u64
from fused import fma
from hashes import sha256
from labels import condition_rows, labelled_hash
from recipe import shortest
from streams import Stream


def from_bytes(pixels):
    return fma(pixels.astype(np.float32), np.float32(float.fromhex("0x1.010102p-7")), np.float32(-1.0))


def read_idx(path, name, dimensions):
    """The bytes of an IDX file, in its shape. In a folder the file has a name, plain or gzipped."""
    if os.path.isdir(path):
        names = (os.path.join(path, name + end) for end in ("", ".gz"))
        path = next(name for name in names if os.path.exists(name))
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        content = file.read()
    assert content[:4] == bytes((0, 0, 8, dimensions)), f"an IDX file of bytes in {dimensions} dimensions"
    sizes = np.frombuffer(content, ">u4", dimensions, 4).tolist()
    return np.frombuffer(content, np.uint8, -1, 4 + 4 * dimensions).reshape(sizes)


class Images:
    """Grey pictures of an IDX file, and with classes the labels of another."""

    def __init__(self, path, labels_path, classes):
        self.pixels = read_idx(path, "train-images-idx3-ubyte", 3)[..., None]
        self.count, self.shape = len(self.pixels), self.pixels.shape[1:]
        if classes:
            beside = path if os.path.isdir(path) else os.path.dirname(path) or "."
            self.stored_labels = read_idx(labels_path or beside, "train-labels-idx1-ubyte", 1)
            assert len(self.stored_labels) == self.count, "a label a picture"
            wrong = np.flatnonzero(self.stored_labels >= classes)
            if len(wrong):
                raise ValueError(f"sample {wrong[0]} has the label {self.stored_labels[wrong[0]]} of {classes} classes")

    def content_hash(self):
        return sha256(b"lockstep images 1\n", u64(self.count), *map(u64, self.shape),
                      hash_tree(self.pixels.tobytes())).hex()

    def samples(self, indices):
        return from_bytes(self.pixels[indices])

    def labels(self, indices):
        return self.stored_labels[indices]


class Arrays:
    """Fields or signals of a pack, float by float, and with classes its labels."""

    def __init__(self, path, kind, classes):
        with h5py.File(path) as file:
            self.kind, self.values = kind, file[kind][...]
            self.stored_labels = file["labels"][...] if classes else None
        assert self.values.dtype == np.float32, "binary32"
        self.count, self.shape = len(self.values), self.values.shape[1:]

    def content_hash(self):
        sizes = self.shape if self.kind == "fields" else (1, *self.shape, 1)
        return sha256(f"lockstep {self.kind} 1\n".encode(), u64(self.count), *map(u64, sizes),
                      hash_tree(self.values.astype("<f4").tobytes())).hex()

    def samples(self, indices):
        return self.values[indices]

    def labels(self, indices):
        return self.stored_labels[indices]


class Mixture:
    """Points of Gaussians on a ring."""

    shape = (2,)
    stored_labels = None

    def __init__(self, table):
        self.table = table
        self.count, self.kinds = table["count"], table["modes"]
        self.stream = Stream(table["seed"], "data/mixture")

    def content_hash(self):
        t = self.table
        floats = {name: shortest(t[name], repr(t[name])) for name in ("radius", "stddev")}
        return sha256(f"lockstep mixture 1\nmodes = {t['modes']}\nradius = {floats['radius']}\n"
                      f"stddev = {floats['stddev']}\ncount = {t['count']}\nseed = {t['seed']}\n".encode()).hex()

    def samples(self, indices):
        modes, radius = self.table["modes"], self.table["radius"]
        angles = [float.fromhex("0x1.921fb54442d18p+2") * int(k) / modes for k in self.labels(indices)]
        centres = np.array([[radius * host.cos(a), radius * host.sin(a)] for a in angles]).astype(np.float32)
        return fma(np.float32(self.table["stddev"]), self.stream.normal(indices, 2), centres)

    def labels(self, indices):
        return self.stream.below(indices, self.kinds, 2)


class Shapes:
    """Discs, squares and stripes in colour."""

    kinds = 3
    stored_labels = None

    def __init__(self, table):
        self.table = table
        self.count = table["count"]
        self.shape = (table["side"], table["side"], 3)
        self.stream = Stream(table["seed"], "data/shapes")

    def content_hash(self):
        t = self.table
        return sha256(f"lockstep shapes 1\nside = {t['side']}\ncount = {t['count']}\nseed = {t['seed']}\n"
                      .encode()).hex()

    def samples(self, indices):
        return from_bytes(np.stack([self._picture([int(v) for v in w]) for w in self.stream.bits(indices, 10)]))

    def labels(self, indices):
        return self.stream.bits(indices, 10)[:, 6] * np.uint64(self.kinds) >> np.uint64(32)

    def _picture(self, w):
        def below(word, bound):
            return w[word] * bound >> 32
        side = self.shape[0]
        y, x = np.indices((side, side))
        ground = np.array([w[c] >> 24 for c in range(3)])
        colour = np.array([(ground[c] + 96 + below(3 + c, 65)) % 256 for c in range(3)])
        kind = below(6, self.kinds)
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
    kind, classes = recipe["data"]["kind"], recipe.classes
    if kind == "images":
        return Images(recipe.data_path, recipe.labels_path, classes)
    if kind in ("fields", "signals"):
        return Arrays(recipe.data_path, kind, classes)
    toy = (Mixture if kind == "mixture" else Shapes)(recipe["data." + kind])
    if 0 < classes < toy.kinds:
        raise ValueError(f"{toy.kinds} kinds of samples, {classes} classes")
    return toy


def content_hash(recipe, data):
    content = data.content_hash()
    return labelled_hash(content, data.stored_labels) if recipe.classes else content


def augmented(recipe, samples, draws):
    """Each picture moved, then mirrored, by its draw. numpy's "reflect" does not repeat the border."""
    flip, crop = recipe["data"].get("flip", False), recipe["data"].get("crop", 0)
    if not flip and not crop:
        return samples
    height, width = samples.shape[1:3]
    stream = Stream(recipe.seed, "data/augment")
    flips, rows, columns = (stream.below(draws, bound, word) for word, bound in enumerate((2, 2 * crop + 1, 2 * crop + 1)))
    padded = np.pad(samples, ((0, 0), (crop, crop), (crop, crop), (0, 0)), "reflect")
    made = np.stack([padded[i, rows[i]:rows[i] + height, columns[i]:columns[i] + width] for i in range(len(draws))])
    return np.where((flip & (flips == 1))[:, None, None, None], mirrored(made), made)


def mirrored(pictures):
    return pictures[:, :, ::-1]


class Holdout:
    """Which samples are held out, and which are trained (docs/training.md, *Held-out samples*)."""

    def __init__(self, recipe, data):
        self.count, self.all = recipe["data"]["holdout"], data.count
        self.key = philox.stream_key(recipe.seed, "data/holdout")

    def held_out(self, i):
        return philox.permuted(self.key, self.all, 0, i)

    def trained(self, i):
        return philox.permuted(self.key, self.all, 0, self.count + i) if self.count else i


@dataclass
class Batch:
    draws: list
    samples: np.ndarray
    condition: np.ndarray | None  # [batch][classes], where there are classes


def batch(recipe, data, samples):
    """The draws after the first `samples` draws, and the samples that they take, with their conditions."""
    size = recipe["batch"]["lanes"] * recipe["batch"]["samples_per_lane"]
    draws = list(range(samples, samples + size))
    holdout = Holdout(recipe, data)
    taken = np.array([holdout.trained(philox.sample(recipe.seed, data.count - holdout.count, d)) for d in draws])
    condition = condition_rows(data.labels(taken), recipe.classes) if recipe.classes else None
    return Batch(draws, augmented(recipe, data.samples(taken), draws), condition)


def held_out(recipe, data):
    """All held-out samples, whose numbers stand for draws."""
    holdout = Holdout(recipe, data)
    taken = np.array([holdout.held_out(i) for i in range(holdout.count)])
    condition = condition_rows(data.labels(taken), recipe.classes) if recipe.classes else None
    return Batch(list(range(holdout.count)), data.samples(taken), condition)
