"""Signals and a second writer: a run stops between steps, saved, and the same command ends it with
the bytes of a run that nobody disturbed."""

import json
import os
import re
import signal
import subprocess
import time

from support import PROGRAM, Cli, main

STEPS = 400
TRAIN = ["train", "tiny.toml", "--quiet", "--json", "--set", f"run.steps={STEPS}", "--set",
         "checkpoint.every=100"]


class Signals(Cli):
    def start(self, *arguments):
        process = subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process

    def wait_for_step(self, run, step):
        """Until the ledger has this step (or the run is over)."""
        deadline = time.monotonic() + 120
        ledger = self.path(run, "ledger.jsonl")
        while time.monotonic() < deadline:
            if os.path.exists(ledger) and self.read(run, "ledger.jsonl").count(b"\n") > step:
                return
            time.sleep(0.005)
        self.fail("no step in time")

    def stopped(self, process, run):
        """The step at which it stopped, and all that must hold then."""
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 75, out + err)
        self.assertEqual(err, "")
        report = json.loads(out)
        self.assertTrue(report["preempted"])
        step = report["steps"]
        self.assertLess(step, STEPS)
        self.assertIn(f"checkpoints/step-{step:08}.h5", self.contents(run))
        self.assertEqual(self.read(run, "ledger.jsonl").count(b"\n"), step + 1)
        self.ok("verify", run)
        return step

    def test_stop_between_steps_with_a_checkpoint_there_and_continue_to_the_same_bytes(self):
        self.ok(*TRAIN, "--run", "undisturbed")
        at = []
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start(*TRAIN, "--run", "run")
            self.wait_for_step("run", at[-1] + 7 if at else 7)
            process.send_signal(number)
            at.append(self.stopped(process, "run"))
        self.assertGreater(at[1], at[0])
        ended = json.loads(self.ok(*TRAIN, "--run", "run"))
        self.assertEqual((ended["first"], ended["steps"], ended["preempted"]), (at[1], STEPS, False))
        self.assertEqual(self.evidence("run"), self.evidence("undisturbed"))

    def test_one_writer_a_folder(self):
        process = self.start(*TRAIN, "--run", "run")
        self.wait_for_step("run", 1)
        process.send_signal(signal.SIGSTOP)  # so that it is there for as long as this takes
        before = self.contents("run")
        line = self.refused(2, *TRAIN, "--run", "run")
        self.assertTrue(re.match("another process is writing to run", line), line)
        self.assertEqual(self.contents("run"), before)
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGTERM)
        self.stopped(process, "run")

    def test_a_finished_run_says_so_and_stays_as_it_is(self):
        short = ["train", "tiny.toml", "--quiet", "--json"]
        first = json.loads(self.ok(*short))
        before = self.evidence("runs/tiny")
        again = json.loads(self.ok(*short))
        self.assertEqual((again["first"], again["chain"]), (2, first["chain"]))
        self.assertEqual(self.evidence("runs/tiny"), before)


if __name__ == "__main__":
    main()
