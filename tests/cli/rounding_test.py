"""lockstep rounding: what 12 bits do to a step's operands, against the same of a checkpoint's weights in NumPy.

usage: rounding_test.py PROGRAM SOURCE   (by a Python with numpy and h5py)
"""

import json
import os

import h5py
import numpy

from support import SOURCE, Cli, main

DDPM = os.path.join(SOURCE, "recipes/golden/integer-ddpm.toml")
SNGAN = os.path.join(SOURCE, "recipes/golden/integer-sngan.toml")


def rounded(weights):
    """The share of values that become 0, and the relative error, of one group."""
    x = weights.astype(numpy.float64).ravel()
    unit = 2.0 ** (numpy.floor(numpy.log2(numpy.abs(x).max())) - 10)
    q = numpy.clip(numpy.rint(x / unit), -2047, 2047)
    return (q[x != 0] == 0).mean(), numpy.sqrt(((x - q * unit) ** 2).sum() / (x**2).sum())


class Rounding(Cli):
    def train(self, recipe, *more):
        self.ok("train", recipe, "--run", "run", "--quiet", "--set", "run.steps=3", "--set", "checkpoint.every=1",
                "--set", "samples.count=0", *more)

    def operands(self, step):
        said = json.loads(self.ok("rounding", "run", "--step", step, "--json"))
        self.assertEqual(said["step"], int(step))
        return said["operands"]

    def test_weights_lose_what_numpy_says(self):
        self.train(DDPM)
        operands = self.operands("3")
        weights = [one for one in operands if one["operand"] == "w"]
        self.assertGreater(len(weights), 20)
        with h5py.File(os.path.join(self.folder, "run/checkpoints/step-00000002.h5")) as file:
            for one in weights:
                role, path = one["module"].split("/")
                zeros, error = rounded(file[f"state/{role}/param/{path}.weight"][...])
                self.assertAlmostEqual(one["zeros"], zeros, places=12)
                self.assertAlmostEqual(one["error"], error, places=12)
        for one in operands:
            self.assertLess(one["error"], 0.02, one)
            self.assertGreater(one["error"], 0, one)
        self.assertEqual({one["operand"] for one in operands}, {"x", "w", "dy"})
        self.assertTrue(all(one["backward"] == (one["operand"] == "dy") for one in operands))

    def test_narrow_layers_are_left_out(self):
        self.train(SNGAN)
        modules = {one["module"] for one in self.operands("1")}
        self.assertIn("discriminator/conv2", modules)
        self.assertNotIn("discriminator/conv0", modules)  # 3 channels
        self.assertNotIn("discriminator/output", modules)

    def test_float_runs_can_be_looked_at(self):
        self.train(DDPM, "--set", "run.products=float")
        self.assertGreater(len(self.operands("1")), 40)
        table = self.ok("rounding", "run", "--step", "1")
        self.assertIn("become 0", table.splitlines()[0])
        self.assertIn("operands of layers that are wide enough", table.splitlines()[-1])

    def test_a_step_that_was_not_trained(self):
        self.train(DDPM)
        self.assertIn("the ledger has steps 1 to 3", self.refused(2, "rounding", "run", "--step", "4"))


if __name__ == "__main__":
    main()
