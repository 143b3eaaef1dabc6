"""Signals and a second writer: a run stops between steps, saved, and the same command ends it with
the bytes of a run that nobody disturbed."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time

from support import PROGRAM, Cli, main

STEPS = 400
TRAIN = ["train", "tiny.toml", "--quiet", "--json", "--threads", "1", "--set", f"run.steps={STEPS}", "--set",
         "checkpoint.every=100"]
FIRST = "lockstep: stopping after this step; a second Ctrl-C ends at once"
MAKING = "making 256 samples"
SLOW = ["--threads", "1", *(word for key in ("samples.count=256", "objective.timesteps=50", "objective.sampler_steps=50")
                            for word in ("--set", key))]
SECOND = "lockstep: ended at once; the same command goes on from the last checkpoint"


def setUpModule():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup's would be inherited


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
        self.assertIn(f"the run is not finished: its recipe has {STEPS} steps", self.ok("verify", run))
        return step

    def test_stop_between_steps_with_a_checkpoint_there_and_continue_to_the_same_bytes(self):
        self.ok(*TRAIN, "--run", "undisturbed")
        at = []
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGXCPU, signal.SIGINT):
            process = self.start(*TRAIN, "--run", "run")
            self.wait_for_step("run", at[-1] + 7 if at else 7)
            process.send_signal(number)
            at.append(self.stopped(process, "run"))
        self.assertGreater(at[-1], at[-2])
        ended = json.loads(self.ok(*TRAIN, "--run", "run"))
        self.assertEqual((ended["first"], ended["steps"], ended["preempted"]), (at[-1], STEPS, False))
        self.assertEqual(self.evidence("run"), self.evidence("undisturbed"))

    def test_the_chain_is_that_of_the_last_step_where_the_ledger_goes_on(self):
        train = [*TRAIN, "--set", "checkpoint.every=10", "--set", "checkpoint.keep_last=0", "--run", "run"]
        self.ok(*train, "--set", "run.steps=30")
        for name in ("step-00000030.h5", "step-00000030.h5.sha256"):  # as if killed before it was saved
            os.remove(self.path("run/checkpoints", name))
        lines = [json.loads(line) for line in self.read("run/ledger.jsonl").splitlines()]
        ended = json.loads(self.ok(*train, "--set", "run.steps=25"))
        self.assertEqual((ended["steps"], ended["chain"]), (25, lines[25]["chain"]))
        self.assertEqual(len(self.read("run/ledger.jsonl").splitlines()), 31)

    def test_bisect_ends_what_it_started_and_leaves_no_folder(self):
        self.ok(*TRAIN, "--set", "run.steps=3", "--run", "run")
        os.mkdir(self.path("temporary"))
        for number, slow in ((signal.SIGTERM, "echo > began; exec sleep 1000"), (signal.SIGINT, "echo > began; exec sleep 1000"),
                             (signal.SIGTERM, 'kill $PPID; exec sleep 1000')):
            self.write("slow", f"#!/bin/sh\n{slow}\n")
            os.chmod(self.path("slow"), 0o755)
            process = subprocess.Popen([PROGRAM, "bisect", "run", "run", "--step", "3", "--program-b", self.path("slow"), "--json"],
                                       env={**os.environ, "TMPDIR": self.path("temporary")}, cwd=self.folder, text=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            if "began" in slow:
                while not os.path.exists(self.path("began")):
                    self.assertIsNone(process.poll())
                    time.sleep(0.001)
                os.remove(self.path("began"))
                process.send_signal(number)
            out, err = process.communicate(timeout=120)
            self.assertEqual((process.returncode, json.loads(out)["error"]["code"]), (125, 125), err)  # it has no answer
            self.assertEqual(os.listdir(self.path("temporary")), [])

    def test_a_container_that_is_stopped_is_no_failure(self):
        self.ok(*TRAIN, "--set", "run.steps=3", "--run", "run")
        for engine, verb in (("podman", "run"), ("buildah", "from"), ("buildah", "run")):
            self.write(engine, f'#!/bin/sh\ncase "$1" in {verb}) echo > began; exec sleep 1000;; rm) sleep 0.3; echo > removed;; esac\n')
            os.chmod(self.path(engine), 0o755)
            process = self.start("replay", "run", "--container", "image", "--engine", self.path(engine))
            while not os.path.exists(self.path("began")):
                self.assertIsNone(process.poll())
                time.sleep(0.001)
            os.remove(self.path("began"))
            process.terminate()
            _, err = process.communicate(timeout=120)
            self.assertEqual((process.returncode, err), (75, "lockstep: the container was stopped by a signal (the same command does it)\n"))
            self.assertEqual(os.path.exists(self.path("removed")), (engine, verb) == ("buildah", "run"))

    def test_say_at_once_what_they_lead_to(self):
        loud = [word for word in TRAIN if word != "--quiet"]
        for number, ranks in ((signal.SIGTERM, "1"), (signal.SIGINT, "1"), (signal.SIGTERM, "2")):
            run = f"run-{number}-{ranks}"
            process = self.start(*loud, "--run", run, "--ranks", ranks)
            self.wait_for_step(run, 7)
            process.send_signal(number)
            _, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 75, err)
            self.assertEqual(err.splitlines().count(FIRST), 1, err)
            self.assertNotIn(SECOND, err)

    def test_a_terminal_that_goes_stops_a_run_and_nohup_keeps_it(self):
        for ranks, ends in (("1", 75), ("2", 75), ("nohup", 0)):
            command = [PROGRAM, *(word for word in TRAIN if word != "--quiet"), "--run", ranks]
            command = ["nohup", *command] if ranks == "nohup" else [*command, "--ranks", ranks]
            pid, terminal = pty.fork()
            if pid == 0:
                try:
                    os.chdir(self.folder)
                    os.execvp(command[0], command)
                finally:
                    os._exit(127)
            process = self.Left(pid)
            self.addCleanup(process.end)
            self.wait_for_step(ranks, 7)
            os.close(terminal)
            self.assertEqual(process.code(), ends)
            self.ok("verify", ranks)

    class Left:
        """A child that has lost its terminal."""

        def __init__(self, pid):
            self.pid, self.status = pid, None

        def code(self):
            _, self.status = os.waitpid(self.pid, 0)
            return os.waitstatus_to_exitcode(self.status)

        def end(self):
            if self.status is None:
                os.kill(self.pid, signal.SIGKILL)
                self.code()

    def stopped_while_it_makes(self, *train, rank=None):
        """Exit code and standard error of a run that a signal met while it made samples: all of it, or this rank."""
        process = self.start(*train)
        lines = []
        for line in process.stderr:
            lines.append(line)
            if MAKING in line:
                break
        if rank is None:
            process.send_signal(signal.SIGTERM)
        else:
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
                os.kill(int(file.read().split()[rank]), signal.SIGTERM)
        _, err = process.communicate(timeout=120)
        return process.returncode, "".join(lines) + err

    def test_samples_that_were_cut_short_are_made_at_the_next_start(self):
        train = ["train", "tiny.toml", *SLOW, "--set", "samples.every=1"]
        self.ok(*train, "--run", "undisturbed")
        made = {name for name in self.contents("undisturbed") if name.startswith("samples/")}
        self.assertEqual(made, {"samples/step-00000001.png", "samples/step-00000002.png"})
        for ranks in ("1", "2"):
            run = f"run-{ranks}"
            for step in (1, 2):  # the second is the last: its samples alone are left
                code, err = self.stopped_while_it_makes(*train, "--run", run, "--ranks", ranks)
                self.assertEqual(code, 75, err)
                self.assertIn(f"the samples of step {step} are made at the next start", err)
                self.assertIn(f"checkpoints/step-{step:08}.h5", self.contents(run))
                self.assertNotIn(f"samples/step-{step:08}.png", self.contents(run))
                self.ok("verify", run)
                if step == 1:
                    self.ok(*train, "--run", run, "--ranks", ranks)
                    self.assertEqual(self.evidence(run), self.evidence("undisturbed"))
                    os.remove(self.path(run, "samples/step-00000002.png"))
            self.ok(*train, "--run", run, "--ranks", ranks)
            self.assertEqual(self.evidence(run), self.evidence("undisturbed"))

    def test_samples_are_cut_short_by_a_signal_to_any_rank(self):
        train = ["train", "tiny.toml", *SLOW, "--run", "run", "--ranks", "2"]
        code, err = self.stopped_while_it_makes(*train, rank=1)
        self.assertEqual(code, 75, err)
        self.assertIn("the samples of step 2 are made at the next start", err)
        self.ok(*train)
        self.ok("train", "tiny.toml", *SLOW, "--run", "undisturbed")
        self.assertEqual(self.evidence("run"), self.evidence("undisturbed"))

    def test_other_ranks_wait_for_samples_beyond_a_deadline(self):
        train = ["train", "tiny.toml", *SLOW, "--set", "objective.timesteps=500", "--set", "objective.sampler_steps=500"]
        began = time.monotonic()
        self.ok(*train, "--run", "alone")
        deadline = max(2, int((time.monotonic() - began) / 3))
        self.assertGreater(time.monotonic() - began, 2 * deadline)
        self.ok(*train, "--run", "run", "--ranks", "2", LOCKSTEP_DEADLINE=str(deadline))
        self.assertEqual(self.evidence("run"), self.evidence("alone"))

    def test_sample_leaves_nothing_unfinished(self):
        self.ok("train", "tiny.toml", *SLOW, "--quiet", "--run", "run")
        before = self.contents(".")
        process = self.start("sample", "run", "--count", "100000", "--out", "samples.npz")
        while not os.path.exists(self.path("samples.npz.lockstep.tmp")):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
        self.assertEqual((process.returncode, err),
                         (75, "lockstep: making samples.npz was stopped by a signal (the same command does it)\n"))
        self.assertEqual(self.contents("."), before)

    def test_a_second_ctrl_c_ends_at_once(self):
        # Steps of seconds: only what is between them hears the first.
        for ranks in ("1", "2"):
            with self.subTest(ranks):
                process = self.start("train", "tiny.toml", "--run", f"run{ranks}", "--ranks", ranks, "--set", "run.steps=9",
                                     "--set", "batch.samples_per_lane=3000")
                self.wait_for_step(f"run{ranks}", 1)
                process.send_signal(signal.SIGINT)
                self.assertIn(FIRST + "\n", iter(process.stderr.readline, ""))
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 128 + signal.SIGINT, err)
                self.assertIn(SECOND + "\n", err)
                if ranks == "1":  # behind it perhaps that another rank is lost, before it that samples are made
                    self.assertTrue(err.endswith(SECOND + "\n"), err)
                self.ok("verify", f"run{ranks}")

    def test_a_ledger_that_another_program_touches_ends_the_run(self):
        train = [*TRAIN[:-1], "checkpoint.every=20"]  # so that many are due after step 27
        self.ok(*train, "--run", "undisturbed")
        ledger, moved = self.path("run/ledger.jsonl"), self.path("moved")

        def replaced():
            os.rename(ledger, moved)
            shutil.copy(moved, ledger)

        def cut():  # in its place, as `cp` of an older copy does
            shutil.copy(ledger, moved)
            os.truncate(ledger, 0)

        def removed():
            os.rename(ledger, moved)

        for touch, code in ((replaced, 4), (cut, 4), (removed, 4), (lambda: None, 0)):
            with self.subTest(touch.__name__):
                process = self.start(*train, "--run", "run")
                self.wait_for_step("run", 27)
                process.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, process.pid, os.WSTOPPED)
                touch()
                process.send_signal(signal.SIGCONT)
                out, err = process.communicate(timeout=120)
                self.assertEqual(process.returncode, code, err)
                if code == 4:
                    line = self.one_line(4, subprocess.CompletedProcess([], process.returncode, out, err))
                    self.assertIn("run/ledger.jsonl was replaced, removed or cut while the run wrote to it", line)
                    shutil.copy(moved, ledger)  # what a user has of it
                    self.ok("verify", "run")
                    self.ok(*train, "--run", "run")
                self.assertEqual(self.evidence("run"), self.evidence("undisturbed"))
                shutil.rmtree(self.path("run"))

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


class Ignored(Cli):
    """SIGCHLD, by who started the program: so ended children vanish unheard, unless it is set back."""

    def called(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120, check=False,
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))

    def test_ranks_are_heard_of(self):
        result = self.called("train", "tiny.toml", "--ranks", "2", "--quiet", "--run", "run")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_so_is_a_child_that_fails(self):
        self.ok("train", "tiny.toml", "--quiet", "--run", "run")
        result = self.called("bisect", "run", "run", "--step", "1", "--env-b", "LOCKSTEP_ISA=zz")
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assertIn("unknown instruction set 'zz'", result.stderr)
        self.assertIn("step 1 of run could not be computed (exit code 2, see above)", result.stderr)


if __name__ == "__main__":
    main()
