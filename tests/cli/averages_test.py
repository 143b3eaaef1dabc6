"""Several averages of the weights: each is what it would be alone.

usage: averages_test.py PROGRAM SOURCE   (by a Python with numpy and h5py; PYTHONPATH: python)"""

import zipfile

import lockstep
from support import Cli, main

FAST = "--set", "model.optimizer.lr=0.2"  # pictures show which average made them
SETTINGS = "--set", "model.optimizer.ema_decay=0.5", "--set", "model.optimizer.more_ema_decays=[0.9, 0.25]"


class Averages(Cli):
    def setUp(self):
        super().setUp()
        self.ok("train", "tiny.toml", "--run", "run", "--quiet", *SETTINGS, *FAST)

    def tensors(self, run):
        return lockstep.read_checkpoint(self.path(run, "checkpoints/step-00000002.h5")).tensors

    def sample(self, run, *arguments):
        self.ok("sample", run, "--out", "x.npz", "--count", "2", *arguments)
        with zipfile.ZipFile(self.path("x.npz")) as file:
            return file.read("arr_0.npy")

    def test_each_is_as_it_would_be_alone(self):
        ours, samples = self.tensors("run"), set()
        for number, decay in enumerate((0.5, 0.9, 0.25), 1):
            run = f"alone{number}"
            self.ok("train", "tiny.toml", "--run", run, "--quiet", *FAST,
                    "--set", f"model.optimizer.ema_decay={decay}")
            for name, values in self.tensors(run).items():
                if name.startswith("model/ema/"):
                    name = name.replace("/ema/", "/ema/" if number == 1 else f"/ema{number}/")
                self.assertEqual(values.tobytes(), ours[name].tobytes(), name)
            samples.add(self.sample(run))
            self.assertEqual(self.sample(run), self.sample("run", "--average", str(number)))
            self.ok("export", "run", "ours.safetensors", "--average", str(number))
            self.ok("export", run, "alone.safetensors")
            ours_file, alone = (self.read(f"{name}.safetensors") for name in ("ours", "alone"))
            size = sum(values.nbytes for name, values in ours.items() if name.startswith("model/param/"))
            self.assertEqual(ours_file[-size:], alone[-size:])
        trained = self.sample("run", "--weights", "trained")
        with zipfile.ZipFile(self.path("x.npz")) as file:
            self.assertIn("weights: trained", file.read("provenance.txt").decode())
        self.ok("train", "tiny.toml", "--run", "none", "--quiet", *FAST)
        self.assertEqual(trained, self.sample("none"))
        self.assertEqual(len(samples | {trained}), 4)  # they differ, so a wrong one would show

    def test_a_run_without_one_has_its_trained_weights_alone(self):
        self.once("none", "train", "tiny.toml", "--run", "none", "--quiet", *FAST)
        for out in ("a.png", "a.npz"):
            self.ok("sample", "none", "--out", out, "--count", "2")
            self.ok("sample", "none", "--out", "b" + out[1:], "--count", "2", "--weights", "trained")
            self.assertEqual(self.read(out), self.read("b" + out[1:]))
        self.ok("export", "none", "a.safetensors")
        self.ok("export", "none", "b.safetensors", "--weights", "trained")
        self.assertEqual(self.read("a.safetensors"), self.read("b.safetensors"))
        for option in (("--weights", "average"), ("--average", "1"), ("--average", "2")):
            for command in (["export", "none", "x/"], ["sample", "none", "--out", "x.npz"]):
                self.assertEqual(self.refused(2, *command, *option), f"{' '.join(option)}: the run keeps no average (leave it "
                                 "out: the run has its trained weights alone)")

    def test_ranks_and_resuming_keep_them(self):
        before = self.read("run/ledger.jsonl")
        self.ok("train", "tiny.toml", "--run", "ranks", "--quiet", "--ranks", "2", "--shard", "optimizer", *SETTINGS,
                *FAST)
        self.ok("train", "tiny.toml", "--run", "short", "--quiet", *SETTINGS, *FAST, "--set", "run.steps=1")
        self.ok("train", "short", "--quiet", "--set", "run.steps=2")
        for run in ("ranks", "short"):
            self.assertEqual(self.read(run, "ledger.jsonl"), before)
        self.ok("verify", "run")
        self.ok("replay", "run", "--quiet")

    def test_a_new_run_begins_those_that_its_parent_lacks(self):
        self.ok("train", "tiny.toml", "--run", "one", "--quiet", "--set", "model.optimizer.ema_decay=0.5")
        said = self.run_it("train", "tiny.toml", "--from", "one", "--run", "more", *SETTINGS)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("averages that the parent does not keep start as copies of the weights", said.stderr)
        said = self.run_it("train", "tiny.toml", "--from", "run", "--run", "fewer", "--set", "model.optimizer.ema_decay=0.5")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("some of the parent's averages are not kept", said.stderr)

    def test_what_is_refused(self):
        self.assertIn("--average 4: the run keeps 3 averages",
                      self.refused(2, "sample", "run", "--out", "x.npz", "--average", "4"))
        self.assertIn("--average 4: the run keeps 3 averages", self.refused(2, "export", "run", "x/", "--average", "4"))
        for command in (["export", "run", "x/"], ["sample", "run", "--out", "x.npz"]):
            self.assertIn("--weights is trained", self.refused(2, *command, "--average", "2", "--weights", "trained"))
        self.assertIn("more_ema_decays in [model.optimizer] without ema_decay",
                      self.refused(2, "train", "tiny.toml", "--run", "new", *SETTINGS[2:],
                                   "--set", "model.optimizer.ema_decay=0"))
        self.assertIn("ema_warmup in [model.optimizer] without ema_decay",
                      self.refused(2, "train", "tiny.toml", "--run", "new", "--set", "model.optimizer.ema_warmup=true",
                                   "--set", "model.optimizer.ema_decay=0"))
        self.assertIn("must hold numbers only",
                      self.refused(2, "train", "tiny.toml", "--run", "new", *SETTINGS[:2],
                                   "--set", "model.optimizer.more_ema_decays=[0.9, 'x']"))


if __name__ == "__main__":
    main()
