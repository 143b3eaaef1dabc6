#!/usr/bin/env python3
"""How far made pictures of 28x28 are from those of Fashion-MNIST, without a network that somebody trained: the kernel distance
of KID (Binkowski et al. 2018; cubic polynomial kernel, unbiased) in fixed features.

  .deps/venv/bin/python tests/bench/distance.py --count 1000 one.npz other.npz

Features of a picture: its values averaged over 7x7 places, and the magnitude of its gradient averaged over the same places; each
feature is standardised by the mean and deviation that it has in real pictures. Prints one JSON object: `files`, the distance of
each; `floor`, that of other real pictures.
"""
import argparse
import gzip
import json

import numpy as np

REAL = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"
PLACES = 7


def real_pictures(count):
    with gzip.open(REAL) as file:
        return np.frombuffer(file.read(16 + 784 * count), np.uint8, offset=16).reshape(-1, 28, 28, 1)


def averaged(values):
    n, height, width, channels = values.shape
    return values.reshape(n, PLACES, height // PLACES, PLACES, width // PLACES, channels).mean(axis=(2, 4)).reshape(n, -1)


def features(pictures):
    x = pictures.astype(np.float64) / 127.5 - 1
    down, right = np.diff(x, axis=1, append=x[:, -1:]), np.diff(x, axis=2, append=x[:, :, -1:])
    return np.concatenate([averaged(x), averaged(np.sqrt(down ** 2 + right ** 2))], axis=1)


def kernel(a, b):
    return (a @ b.T / a.shape[1] + 1) ** 3


def apart(k):
    """The mean over pairs of different pictures."""
    return (k.sum() - np.trace(k)) / (len(k) * (len(k) - 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--count", type=int, default=1000, help="real pictures, and made ones of each file")
    args = parser.parse_args()
    pictures = real_pictures(2 * args.count)
    real, more = features(pictures[:args.count]), features(pictures[args.count:])
    mean, deviation = real.mean(axis=0), real.std(axis=0) + 1e-6
    real = (real - mean) / deviation
    among_real = apart(kernel(real, real))

    def distance(raw):
        made = (raw - mean) / deviation
        return float(among_real + apart(kernel(made, made)) - 2 * kernel(real, made).mean())

    found = {path: distance(features(np.load(path)["arr_0"][:args.count])) for path in args.files}
    print(json.dumps({"files": found, "floor": distance(more)}))


if __name__ == "__main__":
    main()
