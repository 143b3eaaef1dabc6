"""Runs that go on: by their own recipe, with other settings, from another run's state."""

import hashlib
import json
import os
import re
import signal
import subprocess
import time

from support import PROGRAM, SOURCE, Cli, main

TOY = os.path.join(SOURCE, "recipes/golden/toy-gan.toml")
SMALL = ["--set", "generator.hidden=8", "--set", "discriminator.hidden=8", "--set", "samples.count=0"]


class GoesOn(Cli):
    def train(self, *arguments):
        return self.ok("train", *arguments, "--quiet", "--threads", "1")

    def checkpoints(self, run="run"):
        return sorted(int(name[5:13]) for name in os.listdir(self.path(run, "checkpoints")) if name.endswith(".h5"))

    def test_another_recipe_of_a_run_needs_a_run_of_its_own(self):
        self.train(TOY, "--run", "run", *SMALL, "--set", "run.steps=1")
        line = self.refused(2, "train", "run", "--set", "generator.optimizer.lr=1e-5", "--quiet")
        self.assertIn("run is a run of another recipe: generator.optimizer.lr", line)
        self.assertIn("train RECIPE --from run --run NEW", line)

    def test_by_the_runs_own_recipe(self):
        self.train(TOY, "--run", "run", *SMALL, "--set", "run.steps=4")
        self.assertIn("run: 4 steps", self.train("run"))
        self.assertIn("run/: 6 steps", self.train("run/", "--set", "run.steps=6"))
        self.assertIn("steps = 6", self.read("run", "recipe.toml").decode())
        self.assertIn("hidden = 8", self.read("run", "recipe.toml").decode())

    def test_a_changed_recipe_of_a_run_is_refused(self):
        self.train(TOY, "--run", "run", *SMALL, "--set", "run.steps=1")
        text = self.read("run", "recipe.toml").replace(b"steps = 1", b"steps = 2")
        self.write("run/recipe.toml", text)
        self.assertIn("SHA-256", self.refused(5, "train", "run"))
        self.assertIn("it has no recipe.toml", self.refused(2, "train", "."))

    def test_a_run_of_other_arithmetic_is_125_and_is_not_called_damaged(self):
        self.train(TOY, "--run", "run", *SMALL, "--set", "run.steps=1")
        name, _, body = self.read("run", "recipe.toml").split(b"\n", 2)
        stated = re.match(rb"# semantics (\d+)\n", body)
        self.assertIsNotNone(stated)
        body = b"# semantics %d\n" % (int(stated[1]) + 1) + body[stated.end():]
        self.write("run/recipe.toml", b"\n".join([name, b"# sha256 " + hashlib.sha256(body).hexdigest().encode(), body]))
        before = self.contents("run")
        for command in (["train", "run"], ["train", TOY, "--run", "run", *SMALL], ["replay", "run"], ["verify", "run"]):
            self.assertIn(f"made with semantics {int(stated[1]) + 1}, this program has {int(stated[1])}", self.refused(125, *command))
        self.assertEqual(self.contents("run"), before)

    def test_never_with_fewer_steps_than_are_done(self):
        self.train(TOY, "--run", "run", *SMALL, "--set", "run.steps=5")
        self.assertIn("run: 5 steps", self.train(TOY, "--run", "run", *SMALL, "--set", "run.steps=3"))
        self.assertIn("steps = 5", self.read("run", "recipe.toml").decode())
        self.assertTrue(self.read("run", "log.txt").decode().endswith("the run already has 5 steps\n"))
        self.ok("verify", "run")

    def test_of_no_steps_holds_and_goes_on(self):
        self.ok("train", "tiny.toml", "--run", "run", "--quiet", "--set", "run.steps=0")
        self.assertFalse(os.path.exists(self.path("run/samples")))
        self.ok("verify", "run")
        self.ok("train", "tiny.toml", "--run", "run", "--quiet")
        self.ok("verify", "run")
        self.ok("train", "tiny.toml", "--run", "whole", "--quiet")
        self.assertEqual(self.evidence("run"), self.evidence("whole"))

    def test_another_schedule_removes_no_checkpoint(self):
        """Saved every 2 steps, continued without that: F1 of the practitioner's table."""
        self.train(TOY, "--run", "run", *SMALL, "--set", "run.steps=6", "--set", "checkpoint.every=2")
        self.assertEqual(self.checkpoints(), [2, 4, 6])
        self.train(TOY, "--run", "run", *SMALL, "--set", "run.steps=7")
        self.assertEqual(self.checkpoints(), [2, 4, 6, 7])
        self.train("run", "--set", "run.steps=8", "--set", "checkpoint.keep_last=2")
        self.assertEqual(self.checkpoints(), [7, 8])
        log = self.read("run", "log.txt").decode()
        for step in (2, 4, 6):
            self.assertIn(f"step-0000000{step}.h5: checkpoint.keep_last is 2", log)

    def stopped(self, *arguments, lines):
        """A training that a signal stops when its metrics have more lines: what it said."""
        process = subprocess.Popen([PROGRAM, "train", *arguments, "--quiet", "--threads", "1"], cwd=self.folder, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        metrics, until = self.path("run/metrics.jsonl"), time.monotonic() + 60
        while not os.path.exists(metrics) or self.read(metrics).count(b"\n") <= lines:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, said)
        return said

    def test_what_a_start_withdraws_by_a_left_out_set_is_told(self):
        run = [TOY, "--run", "run", *SMALL]
        self.stopped(*run, "--set", "run.steps=100000", "--set", "checkpoint.every=5", "--set", "checkpoint.keep_last=0", lines=20)
        due = [step for step in self.checkpoints() if step % 5 == 0]
        self.assertGreater(len(due), 3)
        fewer = ("checkpoint.keep_last was 0 in this run, and is 1: checkpoints that it was to keep go when the next one is due "
                 "(--set checkpoint.keep_last=0 goes on as before)")
        ends = "run.steps was 100000 in this run, and is 99999: it ends earlier (--set run.steps=100000 goes on as before)"
        again = [*run, "--set", "checkpoint.keep_last=1", "--set", "checkpoint.every=50000", "--set", "run.steps=99999"]
        self.assertEqual(json.loads(self.ok("train", *again, "--dry-run", "--json"))["warnings"], [ends, fewer])
        said = self.stopped(*again, lines=self.read("run/metrics.jsonl").count(b"\n") + 3)  # by who reads that
        self.assertTrue(said.startswith(f"warning: {ends}\nwarning: {fewer}\n"), said)
        *kept, last = self.checkpoints()
        self.assertEqual(kept, due)
        self.train(*run, "--set", f"run.steps={last + 1}", "--set", "checkpoint.keep_last=1")
        self.assertEqual(self.checkpoints(), [last + 1])  # as was wanted

    def test_a_start_that_keeps_fewer_leaves_what_a_finished_run_had(self):
        run = [TOY, "--run", "run", *SMALL]
        self.train(*run, "--set", "run.steps=20", "--set", "checkpoint.every=5", "--set", "checkpoint.keep_last=0")
        due = self.checkpoints()
        self.assertGreater(len(due), 3)
        self.stopped(*run, "--set", "run.steps=100000", "--set", "checkpoint.every=50000", "--set", "checkpoint.keep_last=1", lines=23)
        self.assertEqual(self.checkpoints()[:-1], due)

    def test_one_that_is_done_and_another_recipe_withdraw_nothing(self):
        first = [TOY, "--run", "run", *SMALL]
        self.train(*first, "--set", "run.steps=8")
        self.assertEqual(self.run_it("train", *first, "--set", "run.steps=6", "--quiet").stderr, "")
        other = ["train", *first, "--set", "run.seed=99", "--dry-run", "--json"]
        self.assertIn("run is a run of another recipe, and `train` refuses that: run.seed is 99, there ",
                      json.loads(self.ok(*other))["warnings"][0])

    def test_a_start_that_keeps_fewer_marks_is_told(self):
        first = [TOY, "--run", "run", *SMALL, "--set", "checkpoint.every=1", "--set", "checkpoint.keep_last=1"]
        self.train(*first, "--set", "run.steps=6", "--set", "checkpoint.keep_every=2")
        self.assertEqual(self.checkpoints(), [2, 4, 6])
        for keep, told in ((2, False), (1, False), (4, True)):
            said = self.run_it("train", *first, "--set", "run.steps=6", "--set", f"checkpoint.keep_every={keep}", "--quiet").stderr
            self.assertEqual("checkpoint.keep_every was" in said, told, said)
        self.assertEqual(self.checkpoints(), [2, 4, 6])
        self.train(*first, "--set", "run.steps=7", "--set", "checkpoint.keep_every=4")
        self.assertEqual(self.checkpoints(), [4, 7])


class FromAnotherRun(Cli):
    def setUp(self):
        super().setUp()
        self.once("parent", "train", TOY, "--run", "parent", *SMALL, "--set", "run.steps=6", "--set", "checkpoint.every=3",
                  "--quiet")
        self.child = ["train", TOY, *SMALL, "--set", "generator.optimizer.lr=2e-4", "--set", "run.steps=3", "--quiet"]

    def test_carries_the_parents_evidence(self):
        self.ok(*self.child, "--from", "parent@3", "--run", "child")
        parent = json.loads(self.ok("inspect", "parent", "--json"))
        header = json.loads(self.read("child", "ledger.jsonl").splitlines()[0])
        self.assertEqual(header["from"]["recipe"], parent["recipe"])
        self.assertEqual(header["from"]["step"], 3)
        recipe = self.read("child", "recipe.toml").decode()
        self.assertIn(f'state = "{header["from"]["state"]}"', recipe)
        self.assertIn("updates = 3", recipe)
        self.assertIn("step 0 is the state of parent@3", self.ok("verify", "child", "--parent", "parent"))
        self.assertIn("step 0 is the state of parent@3",
                      self.ok("replay", "child", "--parent", "parent", "--quiet"))
        note = self.ok("verify", "child")
        self.assertIn("note: the run starts from step 3 of recipe " + parent["recipe"][:12], note)

    def test_same_bytes_by_ranks_and_again(self):
        self.ok(*self.child, "--from", "parent", "--run", "one", "--threads", "1")
        self.ok(*self.child, "--from", "parent@6", "--run", "three", "--ranks", "3", "--shard", "optimizer")
        self.assertEqual(self.evidence("one"), self.evidence("three"))
        self.ok(*self.child, "--from", "parent", "--run", "some", "--set", "run.steps=1")
        self.ok(*self.child, "--from", "parent", "--run", "some")  # the same command continues
        self.assertEqual(self.read("one", "ledger.jsonl"), self.read("some", "ledger.jsonl"))
        os.rename(self.path("parent"), self.path("elsewhere"))
        self.ok(*self.child, "--from", "parent", "--run", "some", "--set", "run.steps=4")
        self.ok("train", "one", "--set", "run.steps=4", "--quiet")
        self.assertEqual(self.read("one", "ledger.jsonl"), self.read("some", "ledger.jsonl"))

    def test_frozen_weights(self):
        frozen = [*self.child, "--set", "discriminator.weights=frozen"]
        self.assertIn("[discriminator]: its weights are frozen, but the run does not start from another run",
                      self.refused(2, *frozen, "--run", "none"))
        self.assertFalse(os.path.exists(self.path("none")))
        both = ["--set", "generator.weights=frozen", "--set", "discriminator.weights=frozen"]
        self.assertIn("nothing is trained", self.refused(2, "train", TOY, *both, "--from", "parent", "--run", "none"))
        self.assertIn("is no SHA-256", self.refused(2, *frozen, "--set", "discriminator.root=x", "--from", "parent",
                                                    "--run", "none"))
        self.ok(*frozen, "--from", "parent", "--run", "one")
        self.ok(*frozen, "--from", "parent", "--run", "three", "--ranks", "3", "--shard", "optimizer")
        self.assertEqual(self.evidence("one"), self.evidence("three"))
        self.assertNotIn("discriminator.optimizer", self.read("one", "recipe.toml").decode())
        self.assertIn("the evidence holds", self.ok("verify", "one", "--parent", "parent"))
        os.rename(self.path("parent"), self.path("elsewhere"))
        self.ok(*frozen, "--from", "parent", "--run", "one", "--set", "run.steps=4")  # its root stands in the run
        self.ok("train", TOY, *SMALL, "--from", "elsewhere", "--run", "two", "--set", "run.steps=1", "--quiet")
        os.rename(self.path("elsewhere"), self.path("gone"))
        self.assertIn("another recipe", self.refused(2, "train", TOY, *SMALL, "--set", "discriminator.weights=frozen",
                                                   "--from", "elsewhere", "--run", "two"))

    def test_signed_from_its_first_state_on(self):
        self.ok("keygen", "key")
        self.ok(*self.child, "--from", "parent", "--run", "child", "--sign", "key")
        self.ok("verify", "child", "--key", "key.pub")
        self.assertTrue(os.path.exists(self.path("child/checkpoints/step-00000000.h5.sig")))

    def test_tells_of_held_out_samples_that_the_parent_learnt_from(self):
        self.ok("train", "tiny.toml", "--run", "held", "--quiet", "--set", "data.holdout=4")
        said = "the parent learnt from some of the samples that are held out now"
        for run, changes, told in (("same", ("data.holdout=4",), False), ("fewer", ("data.holdout=2",), False),
                                   ("more", ("data.holdout=5",), True), ("none", ("run.seed=3",), False),
                                   ("other", ("data.holdout=4", "run.seed=3"), True)):
            self.ok("train", "tiny.toml", "--from", "held", "--run", run, "--quiet", "--set", "run.from.optimizer=anew",
                    *(word for change in changes for word in ("--set", change)))
            self.assertEqual(said in self.read(run, "log.txt").decode(), told, run)

    def test_tells_of_another_target(self):
        self.ok("train", "tiny.toml", "--run", "noise", "--quiet")
        for run, changes, told in (
                ("same", ("objective.kind=ddpm",), ""), ("v", ("objective.prediction=v",), 'objective.prediction is "v", in the parent "epsilon"'),
                ("flow", ("objective.kind=flow", "objective.sampler=euler"), 'objective.kind is "flow", in the parent "ddpm"')):
            self.ok("train", "tiny.toml", "--from", "noise", "--run", run, "--quiet",
                    *(word for change in changes for word in ("--set", change)))
            log = self.read(run, "log.txt").decode()
            self.assertEqual("its networks learnt another target" in log, told != "", run)
            self.assertIn(told, log)

    def test_says_where_it_starts(self):
        self.ok(*self.child, "--from", "parent@3", "--run", "child")
        self.assertIn("starts from parent@3, after 3 updates", self.read("child", "log.txt").decode())
        self.assertEqual(json.loads(self.ok("inspect", "child", "--json"))["ledger"]["from"]["step"], 3)

    def test_a_recipe_that_names_its_parent_takes_no_other(self):
        self.ok(*self.child, "--from", "parent@3", "--run", "child")
        self.ok("train", TOY, "--run", "other", *SMALL, "--set", "run.steps=3", "--set", "run.seed=12", "--quiet")
        ids = {run: json.loads(self.ok("inspect", run, "--json"))["recipe"][:12] for run in ("parent", "other")}
        again = ["train", "child/recipe.toml", "--run", "new", "--quiet"]
        for run, step in (("other", 3), ("parent", 6)):
            self.assertIn(f"the recipe starts from step 3 of recipe {ids['parent']}, not from {run}@{step} "
                          f"(recipe {ids[run]})", self.refused(2, *again, "--from", f"{run}@{step}"))
            self.assertFalse(os.path.exists(self.path("new")))
        self.ok(*again, "--from", "parent@3")
        self.assertEqual(self.read("new", "ledger.jsonl"), self.read("child", "ledger.jsonl"))

    def without_checkpoint(self, step):
        for tail in ("", ".sha256"):
            os.remove(self.path(f"parent/checkpoints/step-{step:08}.h5{tail}"))

    def test_a_parent_whose_checkpoint_is_gone_is_compared_by_its_ledger(self):
        self.ok(*self.child, "--from", "parent@3", "--run", "child")
        self.without_checkpoint(3)
        said = "note: step 0 has the digest that the ledger of parent@3 has there\n"
        self.assertIn(said, self.ok("verify", "child", "--parent", "parent"))
        self.assertIn(said, self.ok("replay", "child", "--parent", "parent", "--quiet"))

    def test_a_parent_that_cannot_be_compared_is_no_agreement(self):
        """Slots that began anew are not those of the ledger's digest."""
        self.ok(*self.child, "--set", "run.from.optimizer=anew", "--from", "parent", "--run", "child")
        self.ok("verify", "child", "--parent", "parent")
        self.without_checkpoint(6)
        said = "step 0 cannot be compared with parent@6: its checkpoint is gone"
        self.assertIn(said, self.refused(4, "replay", "child", "--parent", "parent", "--quiet"))
        self.assertFalse(os.path.exists(self.path("child/replays.jsonl")))
        result = self.run_it("verify", "child", "--parent", "parent", "--json")
        self.assertEqual(result.returncode, 4, result.stdout + result.stderr)
        self.assertEqual([one["kind"] for one in json.loads(result.stdout)["findings"]], ["unreadable"])
        self.assertIn(said, result.stdout)

    def test_begins_anew(self):
        anew = ["--set", "run.from.optimizer=anew", "--set", "generator.optimizer.warmup=2"]
        self.assertIn("but the run does not start from another run", self.refused(2, *self.child, *anew, "--run", "child"))
        self.assertFalse(os.path.exists(self.path("child")))
        self.ok(*self.child, *anew, "--from", "parent@3", "--run", "child", "--set", "run.steps=2")
        self.assertIn("starts from parent@3, after 3 updates; optimisers and schedules begin anew",
                      self.read("child", "log.txt").decode())
        rates = [json.loads(line)["learning_rate"]["generator"] for line in
                 self.read("child", "metrics.jsonl").splitlines()]
        self.assertEqual(rates, [1e-4, 2e-4])
        os.rename(self.path("parent"), self.path("elsewhere"))
        self.ok(*self.child, *anew, "--from", "parent@3", "--run", "child")
        other = self.run_it(*self.child, *anew[2:], "--from", "parent@3", "--run", "child")
        self.assertEqual(other.returncode, 2)
        self.assertIn("another recipe: run.from.optimizer is absent, there \"anew\"", other.stderr)
        self.ok("verify", "child", "--parent", "elsewhere")

    def test_its_recipe_is_written_anew_by_its_own_command(self):
        command = [*self.child, "--from", "parent@3", "--run", "child"]
        self.ok(*command)
        text = self.read("child", "recipe.toml")
        for damage in (lambda: self.write("child/recipe.toml", text + b"# more\n"),
                       lambda: os.remove(self.path("child/recipe.toml"))):
            damage()
            self.assertIn("recipe.toml", self.refused(5, *self.child, "--run", "child"))
            self.ok(*command)
            self.assertEqual(self.read("child", "recipe.toml"), text)

    def test_a_first_state_that_is_damaged_is_5_and_its_own_command_brings_it_back(self):
        command = [*self.child, "--from", "parent@3", "--run", "child"]
        self.ok(*command, "--set", "run.steps=0")
        whole = self.evidence("child")
        name = "child/checkpoints/step-00000000.h5"
        damaged = bytearray(self.read(name))
        damaged[len(damaged) // 2] ^= 1
        self.write(name, bytes(damaged))
        self.assertIn("checkpoints has no whole checkpoint",
                      self.run_it("train", "child", "--set", "run.steps=1", "--quiet").stderr.splitlines()[-1])
        self.assertEqual(self.run_it("train", "child", "--set", "run.steps=1", "--quiet").returncode, 5)
        other = self.run_it(*self.child, "--from", "parent@6", "--run", "child")
        self.assertEqual(other.returncode, 2, other.stderr)
        self.assertEqual(self.run_it(*command, "--set", "run.steps=0").returncode, 0)
        self.assertEqual(self.evidence("child"), whole)

    def test_its_first_state_has_a_number(self):
        self.ok(*self.child, "--from", "parent", "--run", "child")
        self.ok("sample", "child@0", "--count", "1", "--out", "first.png")
        self.assertIn("child@0 is what that run itself starts from",
                      self.refused(2, *self.child, "--from", "child@0", "--run", "grandchild"))

    def test_refusals(self):
        for code, arguments, words in (
                (2, ["--from", "parent@4"], "there are those of steps 3, 6"),
                (2, ["--from", "parent@x"], "after '@' comes the number of a step"),
                (2, ["--from", "nowhere"], "there is no nowhere"),
                (2, ["--from", ""], "it is empty"),
                (2, ["--from", "@3"], "names no run"),
                (2, ["--from", "parent", "--set", "generator.hidden=16"], "does not fit this recipe")):
            self.assertIn(words, self.refused(code, *self.child, *arguments, "--run", "child"))
            self.assertFalse(os.path.exists(self.path("child")))
        self.assertIn("needs a folder of its own", self.refused(2, *self.child, "--from", "parent", "--run", "parent"))
        other = self.path("parent/checkpoints/step-00000006.h5")
        with open(other, "r+b") as file:
            file.seek(5000)
            file.write(b"\xff")
        self.assertIn("step-00000006.h5", self.refused(5, *self.child, "--from", "parent", "--run", "child"))


if __name__ == "__main__":
    main()
