"""quality.py runs both arithmetics, pairs them, and writes its tables; rounding_curve.py shows every kind of operand. The
numbers are of tiny networks and mean nothing.

usage: quality_test.py BINARIES [unittest's arguments]
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from programs import TOP
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import unproved  # noqa: E402

BINARIES = sys.argv[1]


class Quality(unittest.TestCase):
    def test_tiny(self):
        with tempfile.TemporaryDirectory(prefix="lockstep-quality-") as work:
            command = [sys.executable, os.path.join(TOP, "tests/bench/quality.py"), "--tiny", "--binaries", BINARIES, "--work", work]
            text = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
            with open(os.path.join(work, "quality.json")) as file:
                numbers = json.load(file)
        self.assertEqual(text.count("| integer - float | "), 2)
        losses = numbers["ddpm"]["losses"]
        self.assertEqual([len(losses[a][0]) for a in ("float", "integer")], [4, 4])
        for one, other in zip(losses["float"][0], losses["integer"][0]):
            self.assertAlmostEqual(one, other, delta=0.01)  # the same draws
        self.assertNotEqual(losses["float"], losses["integer"])
        curves = numbers["sngan"]["curves"]
        self.assertEqual([len(curves[a][0]) for a in ("float", "integer")], [4, 4])
        self.assertNotEqual(curves["float"], curves["integer"])
        self.assertLess(numbers["sngan"]["floor"] + 0.5, numbers["sngan"]["means"]["float"][0])

    def test_rounding_curve(self):
        with tempfile.TemporaryDirectory(prefix="lockstep-quality-") as work:
            run = os.path.join(work, "run")
            subprocess.run([os.path.join(BINARIES, "lockstep"), "train", os.path.join(TOP, "recipes/golden/integer-sngan.toml"), "--run",
                            run, "--quiet", "--set", "run.steps=3", "--set", "samples.count=0"], check=True, stdout=subprocess.DEVNULL)
            command = [sys.executable, os.path.join(TOP, "tests/bench/rounding_curve.py"), run, "--steps", "1,3", "--binaries", BINARIES]
            lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        kinds = [tuple(line.split(" | ")[:2]) for line in lines[2:]]
        self.assertEqual(kinds, [(f"| {step}", kind) for step in (1, 3) for kind in
                                 ("activation", "weight", "gradient", "second derivative")])


if __name__ == "__main__":
    unproved.main(sys.argv[2:])
