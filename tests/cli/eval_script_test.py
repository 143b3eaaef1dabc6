"""lockstep eval with a TorchScript network of features: what it is given, its values against NumPy's, what is refused.

usage: eval_script_test.py PROGRAM SOURCE   (by a Python with numpy; PYTHONPATH: torch)

LibTorch rounds as the machine likes, so values are compared by a tolerance."""

import hashlib
import json
import os
import sys

import numpy

from support import SOURCE, Cli, main

sys.path[:0] = [os.path.join(SOURCE, "tests/reference", folder) for folder in ("training", "")]
import evaluation
import philox
import torch
from data import Shapes, from_bytes

COUNT, SEED = 40, 23  # the seed of the recipe: `lockstep sample` then shows the samples that are evaluated


class Pooled(torch.nn.Module):
    """Means of the quarters of each colour, and their squares: 24 features."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        means = torch.nn.functional.avg_pool2d(x, 6)
        return torch.cat([means, means * means], dim=1)


class Broken(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(7, 7)


class Infinite(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.avg_pool2d(x, 6).flatten(1) / 0.0


class Integers(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.flatten(1).long()


def pooled(pictures):
    """[n][12][12][3] in [-1, 1]"""
    means = pictures.reshape(-1, 2, 6, 2, 6, 3).mean(axis=(2, 4)).transpose(0, 3, 1, 2)
    return numpy.concatenate([means, means * means], axis=1).reshape(len(pictures), -1)


class EvalScript(Cli):
    def setUp(self):
        super().setUp()
        self.ok("train", os.path.join(SOURCE, "recipes/golden/dit.toml"), "--run", "made", "--quiet",
                "--set", "run.steps=5", "--set", "samples.count=0")
        for module in (Pooled(), Broken(), Infinite(), Integers()):
            torch.jit.script(module).save(self.path(type(module).__name__.lower() + ".pt"))

    def evaluated(self, network, *more):
        return ("eval", "made", "--features", network, "--samples", str(COUNT), "--seed", str(SEED), "--quiet", *more)

    def test_values_are_those_of_its_features(self):
        told = json.loads(self.ok(*self.evaluated("pooled.pt", "--json")))
        digest = hashlib.sha256(self.read("pooled.pt")).hexdigest()
        self.assertEqual(told["features"], {"network": "TorchScript", "hash": digest, "width": 24})
        self.assertIs(told["portable"], False)
        self.ok("sample", "made", "--count", str(COUNT), "--out", "x.npz")
        data = Shapes({"side": 12, "count": 65536, "seed": 0})
        taken = numpy.array([philox.sample(SEED, data.count, d, "evaluation/data") for d in range(COUNT)])
        expected = evaluation.distances(pooled(data.samples(taken)),
                                        pooled(from_bytes(numpy.load(self.path("x.npz"))["arr_0"])))
        for key, value in expected.items():
            self.assertAlmostEqual(told[key], value, delta=1e-5 * abs(value) + 1e-6, msg=key)

    def test_pictures_of_a_file(self):
        self.ok("sample", "made", "--count", str(COUNT), "--out", "x.npz")
        pixels = numpy.random.default_rng(3).integers(0, 256, (64, 12, 12, 3), dtype=numpy.uint8)
        numpy.save(self.path("data.npy"), pixels)
        self.ok("pack", "data.npy", "data.h5")
        told = json.loads(self.ok("eval", "x.npz", "--features", "pooled.pt", "--seed", str(SEED), "--quiet", "--json",
                                  "--data", "data.h5"))
        self.assertEqual((told["samples"], told["portable"]), (COUNT, False))
        taken = [philox.sample(SEED, 64, d, "evaluation/data") for d in range(COUNT)]
        expected = evaluation.distances(pooled(from_bytes(pixels[taken])),
                                        pooled(from_bytes(numpy.load(self.path("x.npz"))["arr_0"])))
        for key, value in expected.items():
            self.assertAlmostEqual(told[key], value, delta=1e-5 * abs(value) + 1e-6, msg=key)

    def test_people_are_told_that_the_values_are_this_machines(self):
        lines = self.ok(*self.evaluated("pooled.pt")).splitlines()
        self.assertIn("(features: TorchScript ", lines[1])
        self.assertEqual(lines[-1], "native: these values are this machine's")

    def test_features_that_are_not_finite_are_7(self):
        self.assertIn("features that are not finite", self.refused(7, *self.evaluated("infinite.pt")))

    def test_what_is_no_network_of_features_is_refused(self):
        self.write("text.pt", "no network")
        for line, network in (("text.pt: LibTorch does not load it", "text.pt"),
                              ("broken.pt fails on pictures of 3 x 12 x 12: ", "broken.pt"),
                              ("integers.pt gives no tensor of 32-bit floats with a row a picture", "integers.pt")):
            self.assertIn(line, self.refused(2, *self.evaluated(network)))
        self.assertIn("there is no missing.pt", self.refused(2, *self.evaluated("missing.pt")))
        self.assertIn("pooled.pt: its hash is", self.refused(2, *self.evaluated("pooled.pt", "--features-hash", "0" * 8)))


if __name__ == "__main__":
    main()
