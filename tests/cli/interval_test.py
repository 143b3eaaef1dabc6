"""Evaluation at an interval: the ledger has the values of `lockstep eval`, the same on any ranks, and replay finds others.

tests/reference/training/test_evaluation.py recomputes them from the pages.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time

from support import PROGRAM, SOURCE, Cli, main

KEYS = ["frechet_distance", "kernel_distance", "precision", "recall", "density", "coverage"]
SAMPLES, SEED = 40, 3
COPY = "run/features/step-00000003.h5"  # of the judge


def golden(name):
    return os.path.join(SOURCE, f"recipes/golden/{name}.toml")


class Interval(Cli):
    def setUp(self):
        super().setUp()
        self.once("judge", "train", golden("classifier"), "--run", "judge", "--quiet", "--set", "run.steps=3",
                  "--set", "data.shapes.side=12", "--set", "samples.count=0")

    def words(self, *changes, recipe="dit", steps=4):
        sets = (f"run.steps={steps}", "samples.count=0", "evaluation.every=2", f"evaluation.samples={SAMPLES}",
                f"evaluation.seed={SEED}", 'evaluation.features="judge"', *changes)
        return ("train", golden(recipe), "--threads", "1", *(word for change in sets for word in ("--set", change)))

    def lines(self, run):
        return [json.loads(line) for line in self.read(run, "ledger.jsonl").splitlines()[1:]]

    def values(self, run):
        return {line["step"]: line["evaluation"] for line in self.lines(run) if "evaluation" in line}

    def train_the_judge_on(self):
        """Until it has retired the checkpoint by which runs evaluate."""
        self.ok("train", "judge", "--quiet", "--set", "run.steps=5", "--set", "checkpoint.keep_last=1")
        self.assertFalse(os.path.exists(self.path("judge/checkpoints/step-00000003.h5")))

    def damage(self, name):
        content = bytearray(self.read(name))
        content[len(content) // 2] ^= 1
        self.write(name, bytes(content))

    def test_the_ledger_has_the_values_of_eval(self):
        # Averages that are far from the weights, so that the two have different values.
        self.ok(*self.words("checkpoint.every=2", "checkpoint.keep_last=0", "model.optimizer.ema_decay=0.9",
                            "model.optimizer.lr=0.05"), "--run", "run", "--quiet")
        found = self.values("run")
        self.assertEqual(list(found), [2, 4])
        for step, values in found.items():
            self.assertEqual(list(values), KEYS)
            said = json.loads(self.ok("eval", f"run@{step}", "--features", "judge", "--samples", str(SAMPLES),
                                      "--seed", str(SEED), "--json", "--quiet"))
            self.assertEqual(values, {key: said[key] for key in KEYS})
        self.assertNotEqual(found[2], found[4])
        digest = json.loads(self.ok("eval", "run", "--features", "judge", "--samples", "20", "--json",
                                    "--quiet"))["features"]["hash"]
        self.assertIn(f'features_hash = "{digest}"', self.read("run/recipe.toml").decode())
        self.ok("verify", "run")

    def test_gans_are_evaluated(self):
        self.ok("train", golden("classifier"), "--run", "judge16", "--quiet", "--set", "run.steps=2",
                "--set", "data.shapes.side=16", "--set", "samples.count=0")
        self.ok(*self.words('evaluation.features="judge16"', recipe="wgan"), "--run", "run", "--quiet")
        said = json.loads(self.ok("eval", "run", "--features", "judge16", "--samples", str(SAMPLES), "--seed", str(SEED),
                                  "--json", "--quiet"))
        self.assertEqual(self.values("run")[4], {key: said[key] for key in KEYS})

    def test_are_the_same_on_any_ranks_and_after_a_stop(self):
        self.ok(*self.words(), "--run", "alone", "--quiet")
        expected = self.evidence("alone")
        for name, options in (("by3", ("--ranks", "3")), ("portions", ("--lanes-at-once", "1")),
                              ("divided", ("--ranks", "2", "--shard", "optimizer"))):
            self.ok(*self.words(), "--run", name, "--quiet", *options)
            self.assertEqual(self.evidence(name), expected, name)
        # What a run does that lost its last checkpoint: steps again, evaluations too, and they are compared.
        self.ok(*self.words("checkpoint.every=1", steps=3), "--run", "again", "--quiet")
        self.ok(*self.words("checkpoint.every=1"), "--run", "again", "--quiet")
        os.remove(self.path("again/checkpoints/step-00000004.h5"))
        self.ok(*self.words("checkpoint.every=1"), "--run", "again", "--quiet")
        self.assertEqual(self.read("again/ledger.jsonl"), self.read("alone/ledger.jsonl"))
        states = [line["state"] for line in self.lines("alone")]
        self.ok(*self.words("evaluation.every=0"), "--run", "plain", "--quiet")
        self.assertEqual([line["state"] for line in self.lines("plain")], states)  # it changes no state
        self.assertEqual(self.values("plain"), {})
        self.assertNotIn(b"[evaluation]", self.read("plain/recipe.toml"))

    def test_other_ranks_wait_for_a_portion_beyond_a_deadline(self):
        # Of 48 samples two ranks make 32, then one makes 16 and the other none.
        words = self.words("evaluation.samples=48", "objective.sampler_steps=1000", steps=2)
        began = time.monotonic()
        self.ok(*words, "--run", "alone", "--quiet")
        portion = (time.monotonic() - began) / 4  # at least
        deadline = max(1, int(portion))
        self.assertGreater(portion, deadline)
        self.ok(*words, "--run", "run", "--quiet", "--ranks", "2", LOCKSTEP_DEADLINE=str(deadline))
        self.assertEqual(self.evidence("run"), self.evidence("alone"))

    def test_a_signal_ends_one_and_nothing_is_lost(self):
        words = self.words("evaluation.every=3", "evaluation.samples=40", "objective.sampler_steps=500", steps=3)
        self.ok(*words, "--run", "alone", "--quiet")
        for ranks in ("1", "2"):
            process = subprocess.Popen([PROGRAM, *words, "--run", f"by{ranks}", "--ranks", ranks], cwd=self.folder, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            interim = self.path(f"by{ranks}/checkpoints/step-00000002.h5")
            while not os.path.exists(interim):
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            time.sleep(0.2)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 75, out + err)
            self.assertIn("step 3: the evaluation was stopped by a signal", err)
            self.assertEqual(len(self.lines(f"by{ranks}")), 2)
            stop = json.loads(self.read(f"by{ranks}/metrics.jsonl").splitlines()[-1])["stop"]
            self.assertEqual((stop["by"], stop["code"]), ("signal", 75))
            self.assertIn("continuing at step 2", self.run_it(*words, "--run", f"by{ranks}").stderr)
            self.assertEqual(self.evidence(f"by{ranks}"), self.evidence("alone"))
            self.assertFalse(os.path.exists(interim))

    def test_are_replayed(self):
        self.ok(*self.words(), "--run", "run", "--quiet")
        self.ok("replay", "run", "--quiet")
        self.ok("replay", "run", "--quiet", "--ranks", "3")
        shutil.move(self.path("judge"), self.path("moved"))
        self.ok("replay", "run", "--quiet")
        shutil.rmtree(self.path("run/features"))
        said = self.refused(2, "replay", "run", "--quiet")
        self.assertIn("[evaluation]: features: ", said)
        self.ok("replay", "run", "--quiet", "--features", "moved@3")
        self.assertIn("note: run/features has no copy of the classifier of [evaluation]", self.ok("verify", "run"))
        self.ok("trace", "run", "trace.jsonl", "--step", "2")
        self.ok("train", golden("classifier"), "--run", "other", "--quiet", "--set", "run.steps=2",
                "--set", "data.shapes.side=12", "--set", "samples.count=0")
        self.assertRegex(self.refused(2, "replay", "run", "--quiet", "--features", "other"),
                         "other: its hash is [0-9a-f]{64}, not [0-9a-f]{64}")
        self.forge("run", [re.sub(b'"recall":[^,]+', b'"recall":0.123', body) for body in self.bodies("run")])
        for checkpoint in os.listdir(self.path("run/checkpoints")):
            os.remove(self.path("run/checkpoints", checkpoint))
        result = self.run_it("replay", "run", "--quiet", "--features", "moved")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("recall of the samples", result.stdout)

    def test_a_window_without_them_is_replayed_without_the_classifier(self):
        self.ok(*self.words("checkpoint.every=1", "evaluation.every=3", steps=5), "--run", "run", "--quiet")
        shutil.rmtree(self.path("judge"))
        shutil.rmtree(self.path("run/features"))
        for first, last in (("1", "2"), ("4", "5")):
            for ranks in ("1", "2"):
                self.ok("replay", "run", "--quiet", "--from", first, "--to", last, "--ranks", ranks)
        for first, last in (("1", "3"), ("3", "3"), ("2", "5")):
            self.assertIn("[evaluation]: features: ", self.refused(2, "replay", "run", "--quiet", "--from", first, "--to", last))
        # A step on the way to a window is compared, too.
        for step in (3, 4):
            for tail in ("", ".sha256"):
                os.remove(self.path(f"run/checkpoints/step-0000000{step}.h5{tail}"))
        self.assertIn("[evaluation]: features: ", self.refused(2, "replay", "run", "--quiet", "--from", "4", "--to", "5"))

    def test_a_run_outlives_its_classifier(self):
        self.ok(*self.words(steps=8), "--run", "whole", "--quiet")
        self.ok(*self.words(), "--run", "run", "--quiet")
        copied = {tail: self.read(f"judge/checkpoints/step-00000003.h5{tail}") for tail in ("", ".sha256")}
        for tail, content in copied.items():
            self.assertEqual(self.read(COPY + tail), content)
        self.train_the_judge_on()
        self.ok(*self.words(steps=5), "--run", "run", "--quiet")  # the same command
        self.ok(*self.words(steps=6), "--run", "run", "--quiet", "--ranks", "2")
        self.ok("train", "run", "--quiet", "--set", "run.steps=7")
        for command in (("replay", "run", "--quiet"), ("replay", "run", "--quiet", "--ranks", "2"),
                        ("replay", "run", "--quiet", "--from", "6", "--to", "6"), ("verify", "run")):
            self.assertNotIn("no copy", self.ok(*command))
        for given in ("judge", "judge@3"):
            self.assertIn("(leave --features out: the run keeps its classifier in run/features; else ",
                          self.refused(2, "replay", "run", "--quiet", "--features", given))
        shutil.rmtree(self.path("judge"))
        self.ok(*self.words(steps=8), "--run", "run", "--quiet")
        self.ok("replay", "run", "--quiet", "--from", "7")
        self.assertEqual(self.read("run/ledger.jsonl"), self.read("whole/ledger.jsonl"))
        self.assertEqual(self.contents("run/features"), self.contents("whole/features"))
        said = json.loads(self.ok(*self.words(steps=9), "--run", "run", "--dry-run", "--json"))
        self.assertEqual(said["classifier_bytes"], json.loads(self.ok("inspect", COPY, "--json"))["bytes"])

    def test_another_classifier_is_another_recipes(self):
        self.ok(*self.words(), "--run", "run", "--quiet")
        self.ok("train", golden("classifier"), "--run", "other", "--quiet", "--set", "run.steps=2",
                "--set", "data.shapes.side=12", "--set", "samples.count=0")
        before = self.contents("run")
        self.assertIn("run is a run of another recipe: evaluation.features_hash is ",
                      self.refused(2, *self.words('evaluation.features="other"', steps=5), "--run", "run", "--quiet"))
        self.train_the_judge_on()
        self.assertIn("run is a run of another recipe: evaluation.features_hash is ",
                      self.refused(2, *self.words('evaluation.features="judge@5"', steps=5), "--run", "run", "--quiet"))
        self.assertEqual(self.contents("run"), before)
        self.ok(*self.words(), "--run", "new", "--quiet")  # by what is there now
        self.assertEqual(sorted(os.listdir(self.path("new/features"))), ["step-00000005.h5", "step-00000005.h5.sha256"])

    def test_a_lost_recipe_is_written_anew_by_the_copys_hash(self):
        self.ok(*self.words(), "--run", "run", "--quiet")
        text = self.read("run/recipe.toml")
        self.train_the_judge_on()
        os.remove(self.path("run/recipe.toml"))
        self.ok(*self.words(), "--run", "run", "--quiet")
        self.assertEqual(self.read("run/recipe.toml"), text)

    def test_a_copy_that_is_missing_or_damaged(self):
        self.ok(*self.words(), "--run", "run", "--quiet")
        whole = self.contents("run/features")
        shutil.copytree(self.path("judge"), self.path("before"))
        shutil.rmtree(self.path("run/features"))
        self.ok("train", "run", "--quiet")  # as of a version that kept none
        self.assertEqual(self.contents("run/features"), whole)
        self.damage(COPY)
        result = self.run_it("train", "run", "--quiet")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, f"{COPY}, bytes .*: written anew, from /.*/judge")
        self.assertEqual(self.contents("run/features"), whole)
        self.train_the_judge_on()

        # Another classifier's checkpoint is whole, and the hash decides.
        def replace():
            for tail in ("", ".sha256"):
                content = self.read(f"judge/checkpoints/step-00000005.h5{tail}")
                self.write(COPY + tail, content)

        for spoil, code in ((lambda: self.damage(COPY), 5), (lambda: os.remove(self.path(COPY + ".sha256")), 5), (replace, 1)):
            spoil()
            before = self.contents("run/features")
            for command in (("train", "run", "--quiet", "--set", "run.steps=5"), (*self.words(steps=5), "--run", "run", "--quiet"),
                            ("replay", "run", "--quiet")):
                line = self.refused(5, *command)
                self.assertIn(COPY, line)
                self.assertIn("(restore it from a copy, or say where the classifier lies: ", line)
            result = self.run_it("verify", "run")
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
            self.assertIn(COPY, result.stdout + result.stderr)
            self.assertEqual(self.contents("run/features"), before)
            self.ok("replay", "run", "--quiet", "--features", "before")
            self.ok("train", "run", "--quiet", "--set", "evaluation.features=before")
            self.ok("verify", "run")
            self.assertEqual(self.contents("run/features"), whole)
            self.ok("train", "run", "--quiet", "--set", "evaluation.features=judge")  # where it was
        self.write("run/features/notes.txt", "mine")
        result = self.run_it("verify", "run")
        self.assertEqual(result.returncode, 5, result.stdout)
        self.assertIn("run/features/notes.txt: it is not a file of this run", result.stdout + result.stderr)

    def test_a_ledger_without_them_is_not_the_recipes(self):
        self.ok(*self.words(), "--run", "run", "--quiet")
        self.ok(*self.words("evaluation.every=0"), "--run", "plain", "--quiet")
        self.forge("run", self.bodies("plain"))
        result = self.run_it("verify", "run")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("its distances of samples are not those of an evaluation, the recipe wants them every 2 steps",
                      result.stdout + result.stderr)

    def test_stand_in_metrics_report_inspect_log_and_dry_run(self):
        self.ok(*self.words(), "--run", "run")
        values = self.values("run")
        lines = [json.loads(line) for line in self.read("run/metrics.jsonl").splitlines()]
        self.assertEqual({line["step"]: line["evaluation"] for line in lines if "evaluation" in line}, values)
        self.assertEqual(json.loads(self.ok("inspect", "run/ledger.jsonl", "--json"))["evaluation"], values[4])
        self.assertIn(b"step 2: frechet_distance ", self.read("run/log.txt"))
        self.ok("report", "run")
        page = self.read("run/report.html")
        for title in (b"frechet distance of samples", b"recall of samples", b"coverage of samples"):
            self.assertIn(title, page)
        said = self.ok(*self.words(), "--dry-run")
        self.assertRegex(said, f"# evaluation  2 times of {SAMPLES} samples, every 2 steps, features [0-9a-f]{{12}}; "
                               r"the run's copy of that classifier takes [0-9.]+ KiB")
        self.assertEqual(json.loads(self.ok(*self.words(), "--dry-run", "--json"))["evaluations"], 2)

    def test_what_does_not_fit_is_refused_before_the_first_step(self):
        self.ok("train", golden("classifier"), "--run", "other", "--quiet", "--set", "run.steps=2")
        self.ok("train", golden("toy-gan"), "--run", "points", "--quiet", "--set", "run.steps=2")
        for line, *changes in (
                ("[evaluation]: features names no classifier", 'evaluation.features=""'),
                ("features in [evaluation] is a TorchScript file", 'evaluation.features="a.pt"'),
                ("[evaluation]: features: ", 'evaluation.features="missing"'),
                ("points is no classifier: objective.kind is gan", 'evaluation.features="points"'),
                ("other classifies pictures of 11 x 11 x 3 values, and samples have 12 x 12 x 3", 'evaluation.features="other"'),
                ("judge: its hash is", f'evaluation.features_hash="{"0" * 64}"'),
                ("'judge' in [evaluation] is no SHA-256 (leave features_hash out", 'evaluation.features_hash="judge"'),
                ("evaluation.samples = 10: the covariance of 10 features needs more", "evaluation.samples=10"),
                ("evaluation.samples = 70000: the data have 65536 samples", "evaluation.samples=70000")):
            for more in ((), ("--dry-run",)):
                self.assertIn(line, self.refused(2, *self.words(*changes), "--run", "run", *more))
        self.assertIn("every in [evaluation] is of what makes samples: kind in [objective] is classifier",
                      self.refused(2, *self.words(recipe="classifier"), "--run", "run"))
        self.assertFalse(os.path.exists(self.path("run")))


if __name__ == "__main__":
    main()
