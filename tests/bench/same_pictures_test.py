"""From the same weights and the same noise PyTorch's networks and samplers make the pictures that ours make: bytes differ by
rounding at most. So a difference of scores in against_pytorch.py is one of training.

usage: same_pictures_test.py BINARIES [unittest's arguments]   (PYTHONPATH: a PyTorch with safetensors and NumPy)
"""
import importlib
import os
import sys
import tempfile
import tomllib
import unittest

from against_pytorch import TINY
from programs import PYTORCH, TOP, Programs
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import unproved  # noqa: E402

COUNT = 2
QUICK = ["model.optimizer.ema_decay=0.5", "model.optimizer.lr=0.01", "model.optimizer.warmup=1"]  # that the weights matter
STARTS = {"ddpm": "ddpm/sample-start", "flow": "flow/sample-start", "hinge-gan": "gan/sample-latent"}


def reference(name):
    """A module of tests/reference, where another networks.py lies."""
    folder = os.path.join(TOP, "tests/reference")
    sys.path.append(folder)
    return importlib.import_module(name)


@unittest.skipUnless(os.path.exists(os.path.join(TOP, ".deps/bench/VERSION")),
                     "NOT PROVED: the same pictures by PyTorch (tools/bootstrap --bench)")
class SamePictures(unittest.TestCase):
    def compare(self, model, *settings):
        import numpy
        import torch
        sys.path.insert(0, PYTORCH)
        import diffusion
        from training import networks
        philox = reference("philox")
        with tempfile.TemporaryDirectory(prefix="lockstep-quality-") as work:
            programs, run = Programs(sys.argv[1], work), os.path.join(work, "run")

            def lockstep(*words):
                return programs.call([programs.binary("lockstep"), *words])

            words = ["run.steps=20", "samples.count=0", "monitor.every=0", *settings]
            lockstep("train", os.path.join(TOP, f"recipes/fashion-mnist-{model}.toml"), "--run", run, "--quiet", "--threads", "1",
                     *(f"--set={word}" for word in words))
            lockstep("sample", run, "--count", str(COUNT), "--threads", "1", "--out", os.path.join(work, "ours.npz"))
            lockstep("export", run, os.path.join(work, "exported/"))
            with open(os.path.join(run, "recipe.toml"), "rb") as file:
                recipe = tomllib.load(file)
            with numpy.load(os.path.join(work, "ours.npz")) as archive:
                ours = archive["arr_0"]
            network = networks.load(os.path.join(work, "exported"), "generator" if model == "sngan" else "model")
        objective, classes = recipe["objective"], recipe["data"].get("classes", 0)
        shape = (recipe["generator"]["latent"],) if model == "sngan" else (1, 28, 28)
        key = philox.stream_key(recipe["run"]["seed"], STARTS[objective["kind"]])
        start = torch.tensor([philox.normal(key, i, 0, torch.Size(shape).numel()) for i in range(COUNT)]).view(COUNT, *shape)
        with torch.no_grad():
            if model == "sngan":
                made = network(start)
            else:
                made = diffusion.sampled(network, objective, start, torch.eye(classes)[:COUNT] if classes else None)
        pixels = (made.clamp(-1, 1) * 127.5 + 128).clamp(max=255).to(torch.uint8).permute(0, 2, 3, 1).numpy()
        self.assertGreater(len(numpy.unique(ours)), 20)
        self.assertLessEqual(numpy.abs(pixels.astype(int) - ours.astype(int)).max(), 1)

    def test_ddpm(self):
        self.compare("ddpm", "objective.sampler_steps=7", *QUICK, *TINY["ddpm"])

    def test_dit(self):
        self.compare("dit", "objective.sampler_steps=5", *QUICK, *TINY["dit"])

    def test_sngan(self):
        self.compare("sngan", "generator.optimizer.ema_decay=0.5", "generator.optimizer.lr=0.01", "batch.samples_per_lane=1")


if __name__ == "__main__":
    unproved.main(sys.argv[2:])
