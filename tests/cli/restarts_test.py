"""--max-restarts: ranks that are killed or hang, and the ranks that remain take the run up.

usage: restarts_test.py PROGRAM SOURCE KILLS [SEED] [unittest's arguments]   KILLS at random moments
"""

import os
import random
import re
import signal
import sys
import time

from support import main
from toy import MANY, TRAIN, Toy

KILLS = int(sys.argv.pop(3))
SEED = int(sys.argv.pop(3)) if sys.argv[3:] and sys.argv[3].isdigit() else random.SystemRandom().randrange(2**32)


class Restarts(Toy):
    def train(self, ranks, restarts, *more, run="run", deadline=60):
        return self.start(*TRAIN, *more, "--run", run, "--ranks", str(ranks), "--max-restarts", str(restarts),
                          LOCKSTEP_DEADLINE=str(deadline))

    def ended(self, process, code):
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, code, out + err)
        return err

    def test_those_that_remain_go_on_to_the_same_bytes(self):
        expected = self.alone(*MANY)
        process = self.train(4, 3, *MANY)
        for victim, at in ((2, 15), (0, 25)):
            self.wait_for_step(at)
            before = self.wait_for_ranks()
            self.wait_for_line(f" rank 0 of {len(before)} from --ranks {len(before)}\n")  # its log is open
            os.kill(before[victim], signal.SIGKILL)
            self.wait_for_ranks(len(before) - 1, gone=before)
        err = self.ended(process, 0)
        self.assertIn("restart 1 of 3, with 3 ranks from the last checkpoint: rank 2 was killed by signal 9", err)
        self.assertIn("restart 2 of 3, with 2 ranks from the last checkpoint: rank 0 was killed by signal 9", err)
        log = self.read("run/log.txt").decode()
        for line in ("warning: restart 1 of 3, with 3 ranks from the last checkpoint: rank 2 was killed by signal 9\n",
                     "warning: restart 2 of 3, with 2 ranks from the last checkpoint: rank 0 was killed by signal 9\n",
                     " rank 0 of 4 from --ranks 4\n", " rank 0 of 3 from --ranks 3\n", " rank 0 of 2 from --ranks 2\n"):
            self.assertEqual(log.count(line), 1, log)
        self.assertEqual(self.evidence("run"), expected)

    def wait_for_line(self, line):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if line.encode() in self.read("run/log.txt"):
                return
            time.sleep(0.005)
        self.fail(f"no {line} in time")

    def wait_for_ranks(self, count=1, gone=None):
        """Of the attempt that runs now: none of those of an attempt before."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            ranks = self.rank_processes("RANK")
            if len(ranks) >= count and not set((gone or {}).values()) & set(ranks.values()):
                return ranks
            time.sleep(0.005)
        self.fail("no ranks in time")

    def test_gives_up_with_the_last_code(self):
        process = self.train(2, 1, "--set", "run.steps=100000")
        for at in (5, 15):
            self.wait_for_step(at)
            before = self.wait_for_ranks()
            os.kill(before[max(before)], signal.SIGKILL)
            if at == 5:
                self.wait_for_ranks(gone=before)
        err = self.ended(process, 6)
        self.assertEqual(err.count("restart"), 1, err)
        self.ok("verify", "run")

    def test_one_rank_alone_is_taken_up_too(self):
        steps = ["--set", "run.steps=1500", "--set", "checkpoint.every=500"]
        process = self.train(1, 2, *steps)
        self.wait_for_step(15)
        os.kill(self.wait_for_ranks()[0], signal.SIGKILL)
        self.assertIn("restart 1 of 2, with 1 rank from the last checkpoint", self.ended(process, 0))
        self.assertEqual(self.evidence("run"), self.alone(*steps))

    def test_what_would_fail_again_is_not_repeated(self):
        self.ok(*TRAIN, "--set", "run.steps=1", "--run", "run")
        err = self.ended(self.train(2, 3, "--set", "run.seed=5"), 2)
        self.assertIn("run.seed is 5, there 11", err)
        self.assertNotIn("restart", err)

    def test_a_hung_rank_is_named_killed_and_done_without(self):
        expected = self.alone(*MANY)
        process = self.train(3, 1, *MANY, deadline=20)
        self.wait_for_step(15)
        os.kill(self.wait_for_ranks()[1], signal.SIGSTOP)
        err = self.ended(process, 0)
        waiting = r"rank [02]: step \d+: \w+ \(operation \d+\): "
        self.assertRegex(err, waiting + r"the group was stopped: rank 1 on \S+ was lost: no sign of life for 10.0 s")
        self.assertIn("rank 1 was killed: it had not ended 10.0 s after the first that failed", err)
        self.assertIn("restart 1 of 1, with 2 ranks", err)
        self.assertEqual(self.evidence("run"), expected)

    def test_a_stop_is_obeyed_at_any_moment(self):
        expected = self.alone()
        for delay in (0, 0.001, 0.01, 0.05, 0.2):
            process = self.train(3, 1000)
            os.kill(self.wait_for_ranks(3)[2], signal.SIGKILL)
            time.sleep(delay)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=100)
            self.assertIn(process.returncode, (6, 75), out + err)
            if process.returncode == 75 and os.path.exists(self.path("run/recipe.toml")):
                self.ok("verify", "run")
        self.assertEqual(self.ended(self.train(3, 0), 0), "")
        self.assertEqual(self.evidence("run"), expected)

    def test_kills_at_random_moments(self):
        print(f"restarts_test: {KILLS} kills with seed {SEED}", flush=True)
        chance, killed, runs = random.Random(SEED), 0, 0
        expected = self.alone()
        while killed < KILLS:
            runs += 1
            self.assertLess(runs, 10 * KILLS + 10, "nobody reports the kills")
            process = self.train(chance.randint(2, 6), 1000, run=f"run{runs}")
            in_this_run = 0
            while process.poll() is None and in_this_run < 5 and killed + in_this_run < KILLS:
                time.sleep(chance.uniform(0, 1.5))
                ranks = sorted(self.rank_processes("RANK").values())
                if not ranks or process.poll() is not None:
                    continue
                try:
                    os.kill(chance.choice(ranks), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                in_this_run += 1
            out, err = process.communicate(timeout=3600)
            self.assertEqual(process.returncode, 0, f"seed {SEED}, run {runs}: {out}{err}")
            killed += len(re.findall(r"was killed by signal 9", err))  # not those that had just ended
            self.assertEqual(self.evidence(f"run{runs}"), expected, f"seed {SEED}, run {runs}")
        print(f"restarts_test: {killed} kills in {runs} runs", flush=True)


main()
