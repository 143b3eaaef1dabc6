"""lockstep train --tensorboard: the real package reads scalars and pictures, also of a run that went on after a kill.

usage: tensorboard_test.py PROGRAM SOURCE   (by a Python with tensorboard)
"""

import glob
import json
import os
import struct

from support import SOURCE, Cli, main
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

PICTURES = ["--set", "samples.count=4", "--set", "samples.every=2"]


class TensorBoard(Cli):
    def events(self):
        read = EventAccumulator(self.path("run/tensorboard"), size_guidance={"scalars": 0, "images": 0})
        read.Reload()
        return read

    def test_scalars_and_pictures_are_those_of_the_run(self):
        self.ok("train", "tiny.toml", "--run", "run", "--quiet", "--tensorboard", "--set", "run.steps=4", *PICTURES)
        read = self.events()
        lines = [json.loads(line) for line in self.read("run/metrics.jsonl").splitlines()]
        self.assertEqual(set(read.Tags()["scalars"]), {"loss/denoise", "gradient_norm/denoise", "learning_rate/denoise", "seconds"})
        for group in ("loss", "gradient_norm"):
            found = [(one.step, one.value) for one in read.Scalars(f"{group}/denoise")]
            self.assertEqual(found, [(line["step"], line[group]["denoise"]) for line in lines])
        pictures = read.Images("samples")
        self.assertEqual([one.step for one in pictures], [2, 4])
        for one in pictures:
            self.assertEqual(one.encoded_image_string, self.read(f"run/samples/step-0000000{one.step}.png"))
        self.assertEqual((pictures[0].width, pictures[0].height), (42, 12))  # a row of four: 2 + 4 x (8 + 2) by 2 + 8 + 2

    def test_evaluations_are_there_where_they_were_due(self):
        self.write("labels", b"\0\0\x08\x01\0\0\0\x10" + bytes(i % 4 for i in range(16)))
        self.ok("train", os.path.join(SOURCE, "recipes/golden/classifier.toml"), "--run", "judge", "--quiet",
                "--set", "run.steps=1", "--set", "data.kind=images", "--set", "data.path=images",
                "--set", "data.labels=labels", "--set", "data.classes=4")
        self.ok("train", "tiny.toml", "--run", "run", "--quiet", "--tensorboard", "--set", "run.steps=4",
                "--set", "evaluation.every=2", "--set", "evaluation.samples=12", "--set", "evaluation.features=judge")
        lines = [json.loads(line) for line in self.read("run/metrics.jsonl").splitlines()]
        values = {line["step"]: line["evaluation"] for line in lines if "evaluation" in line}
        for key in ("frechet_distance", "kernel_distance", "precision", "recall", "density", "coverage"):
            found = [(one.step, one.value) for one in self.events().Scalars(f"evaluation/{key}")]
            self.assertEqual(found, [(step, struct.unpack("f", struct.pack("f", values[step][key]))[0]) for step in (2, 4)])

    def test_steps_that_are_computed_again_count_once(self):
        self.ok("train", "tiny.toml", "--run", "run", "--quiet", "--tensorboard", "--set", "run.steps=4",
                "--set", "checkpoint.every=2", "--set", "checkpoint.keep_last=0")
        for name in os.listdir(self.path("run/checkpoints")):  # as if killed after step 4, before its checkpoint
            if "00000004" in name:
                os.remove(self.path("run/checkpoints", name))
        self.ok("train", "tiny.toml", "--run", "run", "--quiet", "--tensorboard", "--set", "run.steps=6")
        self.assertEqual([one.step for one in self.events().Scalars("loss/denoise")], [1, 2, 3, 4, 5, 6])
        self.assertEqual(len(glob.glob(self.path("run/tensorboard/*tfevents*"))), 2)

    def test_layers_are_there_where_they_were_looked_at(self):
        self.ok("train", "tiny.toml", "--run", "run", "--quiet", "--tensorboard", "--set", "run.steps=4",
                "--set", "monitor.layers_every=2")
        read, line = self.events(), json.loads(self.read("run/metrics.jsonl").splitlines()[-1])
        for group, name in (("layer_norm", "norm"), ("layer_gradient_norm", "gradient_norm"),
                            ("layer_activation_rms", "activation_rms")):
            for tensor, value in line["layers"][name].items():
                self.assertEqual([one.step for one in read.Scalars(f"{group}/{tensor}")], [2, 4])
                self.assertEqual(read.Scalars(f"{group}/{tensor}")[-1].value, value)

    def test_evidence_is_the_same_without(self):
        self.ok("train", "tiny.toml", "--run", "run", "--quiet", "--tensorboard")
        self.ok("train", "tiny.toml", "--run", "plain", "--quiet")
        self.assertEqual(self.evidence("run"), self.evidence("plain"))
        self.assertFalse(os.path.exists(self.path("plain/tensorboard")))
        self.ok("verify", "run")

    def test_the_folder_is_the_runs(self):
        os.makedirs(self.path("mine/tensorboard"))
        self.write("mine/tensorboard/events.out.tfevents.1", "mine")
        self.assertIn("mine is no run, but has mine/tensorboard/events", self.refused(2, "train", "tiny.toml", "--run", "mine", "--quiet"))
        self.ok("train", "tiny.toml", "--run", "run", "--quiet")
        self.refused(2, "sample", "run", "--out", "run/tensorboard/a.png")


if __name__ == "__main__":
    main()
