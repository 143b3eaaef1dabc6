"""Losses on held-out samples: the same bits on any ranks and portions, replayed, and in everything that shows losses."""

import json
import os
import re
import shutil
import struct

from support import SOURCE, Cli, main

HELD = ("--set", "data.holdout=5", "--set", "run.validate_every=2", "--set", "run.steps=6", "--set", "batch.lanes=6",
        "--set", "model.optimizer.ema_decay=0.5", "--set", "model.optimizer.lr=0.01")
TRAIN = ("train", "tiny.toml", "--quiet", "--threads", "1", *HELD)


def binary32(text):
    """The value that the shortest text stands for."""
    return struct.unpack("f", struct.pack("f", float(text)))[0]


class Validation(Cli):
    def losses(self, run):
        """By step, as the ledger writes them."""
        found = {}
        for line in self.read(run, "ledger.jsonl").decode().splitlines()[1:]:
            said = re.search(r'"validation":("nan"|[^,]+),', line)
            if said:
                found[json.loads(line)["step"]] = said[1]
        return found

    def test_are_the_same_on_any_ranks_and_portions_and_are_replayed(self):
        self.ok(*TRAIN, "--run", "alone")
        self.assertEqual(list(self.losses("alone")), [2, 4, 6])
        self.assertEqual(len(set(self.losses("alone").values())), 3)
        expected = self.evidence("alone")
        for name, options in (("by2", ("--ranks", "2")), ("by6", ("--ranks", "6")),  # more ranks than samples
                              ("portions", ("--lanes-at-once", "2")), ("divided", ("--ranks", "3", "--shard", "optimizer"))):
            self.ok(*TRAIN, "--run", name, *options)
            self.assertEqual(self.evidence(name), expected, name)
        self.ok("verify", "by2")
        self.ok("replay", "by2")
        self.ok(*TRAIN, "--run", "by2", "--set", "run.steps=8")  # goes on from step 6
        self.assertEqual(list(self.losses("by2")), [2, 4, 6, 8])
        self.ok("trace", "by2", "trace.jsonl", "--step", "4")

    def test_that_was_changed_is_found_by_replay(self):
        self.ok(*TRAIN, "--run", "run", "--set", "evidence.commit_every=0")
        plain = ("train", "tiny.toml", "--quiet", *HELD, "--set", "run.validate_every=0")
        self.ok(*plain, "--run", "plain")
        self.assertEqual(self.losses("plain"), {})
        states = [[json.loads(line)["state"] for line in self.read(run, "ledger.jsonl").splitlines()[1:]]
                  for run in ("run", "plain")]
        self.assertEqual(*states)  # measuring changes no state
        shutil.rmtree(self.path("run/checkpoints"))  # which have the chains that the ledger had
        honest = self.bodies("run")
        self.forge("run", [re.sub(rb'"validation":[^,]+,', b"", body) for body in honest])
        said = self.run_it("verify", "run")
        self.assertEqual(said.returncode, 1, said.stdout)
        self.assertIn("it has no loss on held-out samples", said.stdout)
        self.forge("run", [re.sub(rb'"validation":[^,]+,', b'"validation":0.125,', body) for body in honest])
        self.assertEqual(self.run_it("verify", "run").returncode, 0)
        said = self.run_it("replay", "run", "--quiet")
        self.assertEqual(said.returncode, 1, said.stdout)
        self.assertIn("loss on held-out samples", said.stdout)

    def test_stand_in_metrics_report_inspect_and_log(self):
        self.ok("train", "tiny.toml", *HELD, "--run", "run")
        lines = [json.loads(line) for line in self.read("run/metrics.jsonl").splitlines()]
        for line in lines:
            said = self.losses("run").get(line["step"])
            self.assertEqual(line.get("validation"), None if said is None else binary32(said))
        self.assertEqual(json.loads(self.ok("inspect", "run/ledger.jsonl", "--json"))["validation"],
                         binary32(self.losses("run")[6]))
        self.assertIn(b"step 4: loss on held-out samples", self.read("run/log.txt"))
        self.ok("report", "run")
        self.assertIn(b"loss on held-out samples", self.read("run/report.html"))

    def test_that_leave_less_than_a_batch_are_warned_of(self):
        most = ["train", "tiny.toml", "--set", "data.holdout=15"]
        line = "[data]: holdout keeps 15 of 16 samples: training draws from 1, less than a batch of 2"
        self.assertEqual(json.loads(self.ok(*most, "--dry-run", "--json"))["warnings"], [line])
        self.assertEqual(self.run_it(*most, "--quiet", "--run", "most").stderr, f"warning: {line}\n")
        self.assertNotIn("warning", self.ok("train", "tiny.toml", "--set", "data.holdout=14", "--dry-run"))
        for lanes, lines in ((17, ["[data]: training draws from 16, less than a batch of 17"]), (16, [])):
            said = self.ok("train", "tiny.toml", "--set", f"batch.lanes={lanes}", "--dry-run", "--json")
            self.assertEqual(json.loads(said)["warnings"], lines)

    def test_say_what_to_do_where_they_cannot_be(self):
        refused = lambda *changes, recipe="tiny.toml": self.refused(  # noqa: E731
            2, "train", recipe, "--run", "run", *(w for c in changes for w in ("--set", c)))
        self.assertIn("none are held out (set data.holdout", refused("run.validate_every=1"))
        self.assertIn("holdout: 16 of 16 samples: none is left to train (set data.holdout below 16)",
                      refused("data.holdout=16"))
        gan = os.path.join(SOURCE, "recipes/golden/toy-gan.toml")
        self.assertIn("validate_every in [run] is of diffusion models: kind in [objective] is gan",
                      refused("run.validate_every=1", "data.holdout=3", recipe=gan))
        self.assertFalse(os.path.exists(self.path("run")))


if __name__ == "__main__":
    main()
