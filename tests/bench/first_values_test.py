"""PyTorch's networks begin as ours do: zeros and constants where docs/networks.json has them, elsewhere values of as wide a
spread. Only so do runs of both say something about each other.

usage: first_values_test.py (PYTHONPATH: a PyTorch)
"""
import json
import os
import struct
import sys
import unittest

import torch

from programs import TOP

sys.path.insert(0, os.path.join(TOP, "python/lockstep"))
import networks
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import unproved  # noqa: E402

def cases():
    with open(os.path.join(TOP, "docs/networks.json")) as file:
        return [case for case in json.load(file)["cases"] if case["operation"] == "first_values"]


def floats(words):
    return [struct.unpack(">f", bytes.fromhex(word))[0] for word in words]


class FirstValues(unittest.TestCase):
    def test_constants(self):
        seen = set()
        for case in cases():
            config = {"classes": 0, **case["parameters"]}
            del config["seed"]
            made = networks.make(config)
            for name, tensor in case["outputs"].items():
                if "/param/" not in name:
                    continue
                name = name.split("/")[-1]
                starts = set(floats(tensor["starts"]))
                value = made.get_parameter(name).detach()
                with self.subTest(case=case["case"], name=name):
                    self.assertEqual(value.numel(), tensor["count"])
                    if len(starts) == 1 and tensor["count"] > 1:
                        self.assertTrue((value == starts.pop()).all())
                        seen.add(case["parameters"]["kind"])
                    elif tensor["count"] > 1:
                        self.assertGreater(value.std(), 0)
        self.assertLessEqual({"unet", "dit"}, seen)

    def test_spreads(self):
        """Uniform values reach to 1 / sqrt(in), and no further; those of DCGAN are normal."""
        torch.manual_seed(1)
        unet = networks.UNet({"channels": [32, 64], "blocks": 1, "attention_levels": [1], "heads": 4, "groups": 8, "embedding": 64})
        dit = networks.Dit({"patch": 4, "width": 64, "depth": 1, "heads": 4, "mlp_ratio": 4, "embedding": 64}, classes=10)
        sngan = networks.SnganDiscriminator({"channels": [24, 48]})
        for layer, inputs in ((unet.time2, 64), (unet.down1.block0.residual.conv1, 9 * 32), (dit.block0.mlp.out, 256), (dit.classes, 10),
                              (sngan.down0, 16 * 24)):
            most = layer.weight.abs().max().item() * inputs ** 0.5
            self.assertLessEqual(most, 1.00001)
            self.assertGreater(most, 0.98)
        generator = networks.ConvGenerator({"kind": "sngan-generator", "channels": [24, 48, 96], "latent": 64})
        self.assertAlmostEqual(generator.up1.weight.std().item(), 0.02, delta=0.001)


if __name__ == "__main__":
    unproved.main(sys.argv[1:])
