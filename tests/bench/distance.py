#!/usr/bin/env python3
"""How far made pictures of `shapes` are from real ones, without a network that somebody trained: the kernel distance of KID
(Binkowski et al. 2018; cubic polynomial kernel, unbiased) in fixed features.

  .deps/venv/bin/python tests/bench/distance.py --count 1000 one.npz other.npz

Features of a picture: its colours averaged over 8x8 places, and the magnitude of each colour's gradient averaged over the same
places; each feature is standardised by the mean and deviation that it has in real pictures. Prints one JSON object: for each
file `distance` (all pictures) and `range`, its 5 % and 95 % quantiles over subsets of half of the pictures; `floor`, the same of
other real pictures; `pairs`, the differences of one file to the other, file by file in twos, over the same subsets.
"""
import argparse
import json
import os
import sys

import numpy as np

REFERENCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "reference")
PLACES = 8


def real_pictures(first, count):
    """Of the data set with its default keys, as bytes."""
    sys.path[:0] = [os.path.join(REFERENCE, "training"), REFERENCE]
    import data
    shapes = data.Shapes({"side": 32, "count": 65536, "seed": 0})
    return np.stack([shapes._picture([int(v) for v in w]) for w in shapes.stream.bits(range(first, first + count), 10)])


def averaged(values):
    n, height, width, channels = values.shape
    return values.reshape(n, PLACES, height // PLACES, PLACES, width // PLACES, channels).mean(axis=(2, 4)).reshape(n, -1)


def features(pictures):
    x = pictures.astype(np.float64) / 127.5 - 1
    down, right = np.diff(x, axis=1, append=x[:, -1:]), np.diff(x, axis=2, append=x[:, :, -1:])
    return np.concatenate([averaged(x), averaged(np.sqrt(down ** 2 + right ** 2))], axis=1)


def kernel(a, b):
    return (a @ b.T / a.shape[1] + 1) ** 3


class Distance:
    """To these real features; kernels are computed once, subsets choose rows and columns."""

    def __init__(self, real, made):
        self.real, self.made, self.cross = kernel(real, real), kernel(made, made), kernel(real, made)

    def of(self, chosen):
        n, grid = len(chosen), np.ix_(chosen, chosen)

        def apart(k):
            return (k[grid].sum() - np.trace(k[grid])) / (n * (n - 1))
        return apart(self.real) + apart(self.made) - 2 * self.cross[grid].mean()


def quantiles(values):
    return [float(v) for v in np.quantile(values, (0.05, 0.95))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--count", type=int, default=1000, help="real pictures, and made ones of each file")
    parser.add_argument("--subsets", type=int, default=200)
    args = parser.parse_args()
    pictures = real_pictures(0, 2 * args.count)
    real, more = features(pictures[:args.count]), features(pictures[args.count:])
    mean, deviation = real.mean(axis=0), real.std(axis=0) + 1e-6
    random, everything = np.random.default_rng(1), np.arange(args.count)
    subsets = [random.permutation(args.count)[:args.count // 2] for _ in range(args.subsets)]

    def measured(raw):
        distance = Distance((real - mean) / deviation, (raw - mean) / deviation)
        return float(distance.of(everything)), np.array([distance.of(s) for s in subsets])

    found, drawn = {}, []
    for path in args.files:
        value, values = measured(features(np.load(path)["arr_0"][:args.count]))
        found[path] = {"distance": value, "range": quantiles(values)}
        drawn.append(values)
    value, values = measured(more)
    pairs = [{"range": quantiles(b - a)} for a, b in zip(drawn[::2], drawn[1::2])]
    print(json.dumps({"files": found, "floor": {"distance": value, "range": quantiles(values)}, "pairs": pairs}))


if __name__ == "__main__":
    main()
