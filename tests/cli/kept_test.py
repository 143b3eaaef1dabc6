"""What is not a run's own is left as it is, and what a run lost is not made up."""

import os
import shutil

from support import Cli, main

TRAIN = ["train", "tiny.toml", "--quiet"]


class Kept(Cli):
    def setUp(self):
        super().setUp()
        self.once("run", *TRAIN, "--run", "run")

    def test_a_run_that_lost_its_ledger_gets_no_new_one(self):
        os.remove(self.path("run/ledger.jsonl"))
        before = self.contents()
        for command in ([*TRAIN, "--run", "run"], ["train", "run", "--quiet", "--set", "run.steps=5"]):
            self.assertIn("run has checkpoints but no ledger.jsonl", self.refused(5, *command))
            self.assertEqual(self.contents(), before)
        for command in (["sample", "run", "--count", "1", "--out", "a.png"], ["export", "run", "a.safetensors"], ["replay", "run"],
                        ["trace", "run", "a.jsonl", "--step", "1"]):
            self.assertIn("run has checkpoints but no ledger.jsonl (restore it from a copy)", self.refused(5, *command))

    def test_a_start_that_is_refused_removes_nothing(self):
        self.ok(*TRAIN, "--run", "part")
        os.mkdir(self.path("archive"))
        os.rename(self.path("part/checkpoints/step-00000002.h5"), self.path("archive/step-00000002.h5"))  # and back, before long
        before = self.contents()
        self.assertIn("is a run of another recipe", self.refused(2, *TRAIN, "--run", "part", "--set", "run.seed=5"))
        other = bytearray(self.read("images"))
        other[-1] ^= 1
        self.write("other", bytes(other))
        before = self.contents()
        for command in ([*TRAIN, "--run", "part"], ["train", "part", "--quiet"]):
            self.assertIn("the data set is not the one of part", self.refused(3, *command, "--set", "data.path=other", "--set", "run.steps=9"))
            self.assertEqual(self.contents(), before)
        os.makedirs(self.path("strange/checkpoints"))
        self.write("strange/checkpoints/step-00000005.h5.sha256", b"a user's")
        self.assertIn("strange is no run, but has", self.refused(2, *TRAIN, "--run", "strange"))
        self.assertEqual(self.read("strange/checkpoints/step-00000005.h5.sha256"), b"a user's")
        shutil.rmtree(self.path("strange"))
        self.assertEqual(self.contents(), before)
        self.ok(*TRAIN, "--run", "part")  # of a step that is saved anew
        self.assertIn("removed part/checkpoints/step-00000002.h5.sha256: its checkpoint is not there", self.read("part/log.txt").decode())

    def test_a_lost_or_changed_recipe_is_written_anew_from_its_own_alone(self):
        text = self.read("run", "recipe.toml").decode()
        for change in (lambda: self.write("run/recipe.toml", text.replace("\nsteps = 2\n", "\nsteps = 9\n")),
                       lambda: os.remove(self.path("run/recipe.toml"))):
            change()
            before = self.contents()
            for command in (["train", "run"], ["replay", "run"], ["sample", "run"], ["inspect", "run"], ["verify", "run", "--json"],
                            ["train", "tiny.toml", "--run", "run", "--set", "run.seed=5"],
                            ["train", "tiny.toml", "--run", "new", "--from", "run"]):
                result = self.run_it(*command)
                self.assertEqual(result.returncode, 5, result.stderr)
                self.assertIn("run/recipe.toml", result.stdout + result.stderr)
            self.assertEqual(self.contents(), before)
            said = self.run_it(*TRAIN, "--run", "run")
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertIn("written anew, because the ledger is of the given recipe", said.stderr)
            self.assertEqual(self.read("run", "recipe.toml").decode(), text)
            self.ok("verify", "run")

    def test_without_checkpoints_all_steps_are_recomputed_and_that_is_told(self):
        train = ("train", "tiny.toml", "--run", "part", "--set", "run.steps=4", "--set", "checkpoint.every=2")
        self.ok(*train)
        whole = self.evidence("part")
        shutil.rmtree(self.path("part", "checkpoints"))
        result = self.run_it(*train)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("there is no checkpoint: all 4 steps are recomputed", result.stderr)
        self.assertEqual(self.evidence("part"), whole)

    def test_a_damaged_checkpoint_can_be_done_without(self):
        self.ok(*TRAIN, "--run", "part", "--set", "run.steps=6", "--set", "checkpoint.every=2")
        name = self.path("part", "checkpoints", "step-00000004.h5")
        with open(name, "r+b") as file:
            file.seek(-9, os.SEEK_END)
            file.write(b"damaged!!")
        line = self.refused(5, "replay", "part", "--from", "5", "--to", "6")
        self.assertIn("or remove it with its .sha256: then steps are computed from the one before", line)
        os.remove(name)
        os.remove(name + ".sha256")
        self.ok("replay", "part", "--from", "5", "--to", "6", "--quiet")

    def test_a_folder_that_is_no_run_is_no_place_for_one(self):
        for name in ("samples/notes.txt", "checkpoints/x", "features/x", "environment/x", "log.txt", "metrics.jsonl",
                     "replays.jsonl", "cat.png", "of/mine/deep"):
            os.makedirs(os.path.dirname(self.path("mine", name)))
            self.write(f"mine/{name}", "mine")
            before = self.contents(), sorted(os.listdir(self.path("mine")))
            first = "of" if name.startswith("of/") else name
            self.assertIn(f"mine is no run, but has mine/{first} (give a new or an empty folder, or a run's, with --run)",
                          self.refused(2, *TRAIN, "--run", "mine"))
            self.assertEqual((self.contents(), sorted(os.listdir(self.path("mine")))), before)
            shutil.rmtree(self.path("mine"))
        os.makedirs(self.path("mine/samples"))  # nothing is lost there
        self.write("mine/.keep", "mine")
        self.ok(*TRAIN, "--run", "mine")
        self.assertEqual(self.read("mine/.keep"), b"mine")
        self.write("mine/notes.txt", "mine")  # of a run: anything may lie beside it
        self.ok(*TRAIN, "--run", "mine", "--set", "run.steps=3")

    def test_a_file_is_no_place_for_a_run(self):
        self.write("mine", "mine")
        self.write("runs", "mine")
        before = self.contents()
        hint = " (give a new folder, or a run's, with --run)"
        for more in ([], ["--ranks", "2"], ["--dry-run"]):
            self.assertEqual(self.refused(2, *TRAIN, *more, "--run", "mine"), "mine is no folder, and a run has one" + hint)
            self.assertEqual(self.refused(2, *TRAIN, *more, "--run", "mine/run"), "mine is no folder, and mine/run would lie in it" + hint)
            self.assertEqual(self.refused(2, *TRAIN, *more), "runs is no folder, and runs/tiny would lie in it" + hint)
        self.assertEqual(self.contents(), before)

    def test_a_file_in_tmp_stays(self):
        os.rename(self.path("images"), self.path("d.h5.tmp"))
        self.write("p.png.tmp", "mine")
        before = self.contents()
        self.ok("pack", "d.h5.tmp", "d.h5")
        self.ok("sample", "run", "--count", "1", "--out", "p.png")
        self.assertEqual(self.contents(), {**before, **{name: self.contents()[name] for name in ("d.h5", "p.png")}})

    def test_a_file_in_tmp_stays_in_a_runs_folder_too(self):
        mine = ("recipe.toml.tmp", "ledger.jsonl.tmp", "environment/attempt-001-rank-0.json.tmp", "notes.tmp")
        for name in mine:
            self.write(f"run/{name}", "mine")
        self.ok(*TRAIN, "--run", "run", "--set", "run.steps=3")
        self.assertEqual([self.read("run", name) for name in mine], [b"mine"] * len(mine))

    def test_a_run_that_has_only_its_recipe_keeps_its_names(self):
        os.makedirs(self.path("half"))
        shutil.copy(self.path("run/recipe.toml"), self.path("half"))
        before = self.contents("half")
        for command in (["sample", "run", "--count", "1", "--out", "half/checkpoints/foo.png"],
                        ["trace", "run", "half/ledger.jsonl", "--quiet"]):
            self.assertIn("a name that the run half keeps for itself", self.refused(2, *command))
        self.assertEqual(self.contents("half"), before)
        os.makedirs(self.path("own/checkpoints"))  # a recipe of one's own makes no run
        shutil.copy(self.path("tiny.toml"), self.path("own/recipe.toml"))
        self.ok("sample", "run", "--count", "1", "--out", "own/checkpoints/foo.png")


if __name__ == "__main__":
    main()
