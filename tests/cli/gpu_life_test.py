"""A run's life on an interpreted GPU: it is killed and taken up, makes pictures and evaluates between captured steps, starts another run,
is signed and replayed. Its files are those of a CPU."""

import json
import os
import re
import shutil
import signal

from support import SOURCE, main
from toy import Toy


def golden(name):
    return os.path.join(SOURCE, f"recipes/golden/{name}.toml")


# A step with a witness is not captured.
SMALL = ("train", golden("toy-gan"), "--quiet", "--set", "evidence.witness_rate=0", "--set", "generator.hidden=32",
         "--set", "discriminator.hidden=32", "--set", "checkpoint.every=2")
GPU = ("--device", "cuda")


class GpuLife(Toy):
    def parent(self):
        """On the CPU, with pictures and a signature."""
        if not os.path.exists(self.path("key")):
            self.ok("keygen", "key")
        self.once("parent", *SMALL, "--run", "parent", *self.pictures(), "--sign", "key")
        return self.evidence("parent")

    @staticmethod
    def pictures():
        return ("--set", "run.steps=6", "--set", "samples.every=2", "--set", "samples.count=8")

    def captured(self, run):
        log = self.read(f"{run}/log.txt").decode()
        self.assertIn("are captured", log)
        self.assertNotIn("not captured", log)

    def test_pictures_and_signatures_are_those_of_the_cpu(self):
        expected = self.parent()
        self.ok(*SMALL, *GPU, "--run", "run", *self.pictures(), "--sign", "key")
        self.assertEqual(self.evidence("run"), expected)
        self.captured("run")
        for folder in ("samples", "checkpoints"):
            names = sorted(os.listdir(self.path("run", folder)))
            self.assertEqual(names, sorted(os.listdir(self.path("parent", folder))))
            for name in names:
                self.assertEqual(self.read("run", folder, name), self.read("parent", folder, name), name)

    def test_evaluations_between_captured_steps_are_those_of_the_cpu(self):
        self.ok("train", golden("classifier"), "--run", "judge", "--quiet", "--set", "run.steps=2", "--set", "data.shapes.side=16",
                "--set", "samples.count=0")
        sets = ("run.steps=4", "samples.count=0", "evidence.witness_rate=0", "evaluation.every=2", "evaluation.samples=20",
                'evaluation.features="judge"')
        words = ("train", golden("wgan"), "--quiet", *(word for one in sets for word in ("--set", one)))
        self.ok(*words, "--run", "cpu")
        self.ok(*words, *GPU, "--run", "gpu")
        self.captured("gpu")
        self.assertEqual(self.read("gpu/ledger.jsonl"), self.read("cpu/ledger.jsonl"))
        found = [json.loads(line) for line in self.read("gpu/ledger.jsonl").splitlines()[1:]]
        self.assertEqual([line["step"] for line in found if "evaluation" in line], [2, 4])
        said = self.ok("eval", "gpu@4", *GPU, "--features", "judge", "--samples", "20", "--json", "--quiet")
        self.assertEqual(json.loads(said)["frechet_distance"], found[-1]["evaluation"]["frechet_distance"])
        # The classifier is opened before memory is planned.
        self.assertIn("PASS: steps 4 to 4", self.ok("replay", "gpu", *GPU, "--from", "4", "--quiet"))

    def test_one_that_is_killed_is_taken_up(self):
        long = ("--set", "run.steps=40", "--set", "samples.count=0")
        self.ok(*SMALL, *long, "--run", "alone")
        process = self.start(*SMALL, *long, *GPU, "--run", "run")
        self.wait_for_step(7)
        process.kill()
        process.communicate()
        self.assertLess(self.lines("run"), 41)
        self.ok(*SMALL, *long, *GPU, "--run", "run")
        self.assertEqual(self.evidence("run"), self.evidence("alone"))
        self.captured("run")

    def test_ranks_that_remain_go_on(self):
        long = ("--set", "run.steps=40", "--set", "samples.count=0")
        self.ok(*SMALL, *long, "--run", "alone")
        process = self.start(*SMALL, *long, *GPU, "--run", "run", "--ranks", "2", "--max-restarts", "1", LOCKSTEP_DEADLINE="60")
        self.wait_for_step(5)
        os.kill(self.rank_processes("RANK")[1], signal.SIGKILL)
        _, err = process.communicate(timeout=3600)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("restart 1 of 1, with 1 rank from the last checkpoint: rank 1 was killed by signal 9", err)
        self.assertEqual(self.evidence("run"), self.evidence("alone"))

    def test_another_run_starts_from_it_on_two_gpus(self):
        self.parent()
        child = (*SMALL, "--set", "run.steps=3", "--set", "samples.count=0", "--from", "parent@4")
        self.ok(*child, "--run", "cpu")
        self.ok(*child, *GPU, "--run", "gpu", "--ranks", "2", "--shard", "optimizer")
        self.assertEqual(self.evidence("gpu"), self.evidence("cpu"))
        self.captured("gpu")
        # It goes on without the parent.
        shutil.move(self.path("parent"), self.path("elsewhere"))
        self.ok("train", "gpu", "--quiet", *GPU, "--set", "run.steps=4")
        self.ok("train", "cpu", "--quiet", "--set", "run.steps=4")
        self.assertEqual(self.evidence("gpu"), self.evidence("cpu"))

    def test_it_is_looked_at_there(self):
        self.parent()
        for words in (("--ranks", "2"), ("--spot", "2"), ("--from", "3", "--to", "5")):
            self.assertIn("PASS: steps ", self.ok("replay", "parent", *GPU, *words))
        for place, words in (("gpu", GPU), ("cpu", ())):
            self.ok("sample", "parent", *words, "--out", f"{place}.npz", "--count", "5")
            self.ok("trace", "parent", *words, f"{place}.jsonl", "--step", "3", "--quiet")
        self.assertEqual(self.read("gpu.npz"), self.read("cpu.npz"))
        self.assertIn("operations agree", self.ok("bisect", "gpu.jsonl", "cpu.jsonl"))
        self.assertEqual(self.ok("rounding", "parent", *GPU, "--quiet"), self.ok("rounding", "parent", "--quiet"))
        said = self.ok("doctor", golden("toy-gan"), *GPU)
        self.assertRegex(said, r"(?m)^ok +memory .*the GPU's memory leaves 4\.0 GiB")
        self.assertFalse(re.search("^FAIL", said, re.MULTILINE), said)


if __name__ == "__main__":
    main()
