"""against_pytorch.py trains both programs, scores both by one judge, and goes on where it was; its judgement; PyTorch's noise
schedules. The numbers of the trial are of tiny networks and mean nothing.

usage: against_pytorch_test.py BINARIES [unittest's arguments]   (PYTHONPATH: a PyTorch)

That of the tests cannot train: it lacks what its optimizers import.
"""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

import torch

from against_pytorch import judged
from programs import PYTORCH, TOP

sys.path.insert(0, PYTORCH)
import diffusion
import training
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import unproved  # noqa: E402

BINARIES = sys.argv[1]
TRAINS = unittest.skipUnless(os.path.exists(os.path.join(TOP, ".deps/bench/VERSION")),
                             "NOT PROVED: training in PyTorch (tools/bootstrap --bench)")


class AgainstPyTorch(unittest.TestCase):
    def run_in(self, work):
        command = [sys.executable, os.path.join(TOP, "tests/bench/against_pytorch.py"), "--tiny", "--seeds", "1,2", "--binaries", BINARIES,
                   "--work", work]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)  # of four steps either may be better
        with open(os.path.join(work, "against-pytorch.json")) as file:
            return done.stdout, json.load(file)

    @TRAINS
    def test_tiny(self):
        with tempfile.TemporaryDirectory(prefix="lockstep-quality-") as work:
            text, numbers = self.run_in(work)
            again, _ = self.run_in(work)
        self.assertEqual(text.splitlines()[4:], again.splitlines()[4:])
        for name in ("DDPM, 4 steps:", "DiT, flow, 4 steps:", "SNGAN, 4 steps:", "| Frechet distance | PyTorch | "):
            self.assertIn(name, text)
        for model in ("ddpm", "dit", "sngan"):
            scores = numbers[model]
            self.assertEqual("loss" in scores, model != "sngan")
            for values in scores.values():
                self.assertEqual({program: len(each) for program, each in values.items()}, {"lockstep": 2, "pytorch": 2})
            self.assertLess(numbers["real"]["frechet_distance"], min(min(each) for each in scores["frechet_distance"].values()))

    def test_judgement(self):
        self.assertEqual(judged([1.0, 2.0, 3.0], [1.1, 2.1, 3.1], True)[2], "within the spread")
        self.assertEqual(judged([1.0, 1.1, 1.2], [2.0, 2.1, 2.2], True)[2], "Lockstep is better")
        self.assertEqual(judged([1.0, 1.1, 1.2], [2.0, 2.1, 2.2], False)[2], "PyTorch is better")
        difference, limit, _ = judged([1.0, 2.0, 3.0], [1.0, 3.0, 5.0], True)
        self.assertEqual(difference, -1)
        self.assertAlmostEqual(limit, 2.776 * math.sqrt(2.5 * 2 / 3))

    def test_schedules(self):
        """Of docs/numerics.md, written a second time."""
        linear, cosine = diffusion.Ddpm({}), diffusion.Ddpm({"schedule": "cosine", "prediction": "v", "timesteps": 100})
        self.assertAlmostEqual(linear.kept[0].item(), 1 - 1e-4)
        self.assertAlmostEqual(linear.kept[-1].item(), math.prod(1 - (1e-4 + 0.0199 * t / 999) for t in range(1000)))
        self.assertAlmostEqual(cosine.kept[49].item(), (math.cos((0.508 / 1.008) * math.pi / 2) / math.cos(0.008 / 1.008 * math.pi / 2)) ** 2)
        self.assertEqual([training.learning_rate({"lr": 1.0, "warmup": 2, "schedule": "cosine", "horizon": 6}, t) for t in (1, 2, 6)],
                         [0.5, 1.0, 0.0])
        self.assertAlmostEqual(training.learning_rate({"lr": 1.0, "warmup": 2, "schedule": "cosine", "horizon": 6}, 4), 0.5)

    def test_samplers_find_the_data(self):
        """A network that knows the one picture there is leads each sampler to it."""
        picture, start = torch.full((2, 1, 4, 4), 0.25), torch.randn(2, 1, 4, 4, generator=torch.Generator().manual_seed(1))
        for prediction in ("epsilon", "v", "x0"):
            process = diffusion.Ddpm({"prediction": prediction, "schedule": "cosine", "sampler_steps": 7})

            def knows(x, t):
                signal, spread = (diffusion.column(values[t]) for values in (process.signal, process.spread))
                epsilon = (x - signal * picture) / spread
                return {"epsilon": epsilon, "v": signal * epsilon - spread * picture, "x0": picture}[process.prediction]

            self.assertTrue(torch.allclose(process.sample(knows, start), picture, atol=1e-3), prediction)
        flow = diffusion.Flow({"sampler_steps": 5})
        self.assertTrue(torch.allclose(flow.sample(lambda x, told: (x - picture) / diffusion.column(told / 1000), start), picture, atol=1e-5))
        told = flow.noisy(picture, start, torch.Generator().manual_seed(1))[1]
        self.assertTrue(((told >= 0) & (told < 1000)).all())

    def test_unknown_keys(self):
        for table in ({"weighting": "min-snr"}, {"sampler": "ancestral"}):
            with self.assertRaisesRegex(SystemExit, f"objective.{next(iter(table))} = "):
                training.only("objective", table, diffusion.Ddpm.KEYS, diffusion.Ddpm.FIXED)

    @TRAINS
    def test_averages(self):
        """They begin with the first weights, as ours do."""
        network = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.ones_(network.weight)
        update = training.Update("model", network, {"lr": 0.5, "ema_decay": 0.75})
        update.step(network(torch.ones(1, 1)).sum())  # AdamW's first step: the weight becomes 1 - lr
        update.follow()
        with update.best() as best:
            self.assertAlmostEqual(best.weight.item(), 0.75 * 1 + 0.25 * 0.5, places=5)


if __name__ == "__main__":
    unproved.main(sys.argv[2:])
