"""Real launchers: torchrun, Open MPI's mpirun and Slurm's srun start ranks on this machine. The same bytes as one
process, a killed rank is named and ends the job, and what each launcher does beyond that.

usage: launchers_test.py PROGRAM SOURCE CLASS   (by a Python with numpy, for torchrun)
"""

import os
import re
import signal
import sys
import tempfile
import time
import unittest

from support import PROGRAM, SOURCE, main
from toy import STEPS, TOY, Toy

sys.path.insert(0, os.path.join(SOURCE, "tests/support"))
import launchers  # noqa: E402
from ports import free_port  # noqa: E402
from slurm import Unavailable  # noqa: E402


STOPPED = r"(\w+ \(operation \d+\): )?the group was stopped"


class Launched:
    """What holds for every launcher."""

    numbers = (2, 4)  # of ranks

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-launcher-")
        cls.addClassCleanup(folder.cleanup)
        try:
            cls.launcher = cls.kind(folder.name)
        except Unavailable as why:
            raise unittest.SkipTest(f"NOT PROVED: ranks under {cls.kind.name}: {why}") from why
        cls.addClassCleanup(cls.launcher.stop)
        cls.name, cls.rank = cls.launcher.name, cls.launcher.rank

    def train(self, ranks, *arguments, run="run", before=(), options=(), **environment):
        port = environment.pop("LOCKSTEP_PORT", str(free_port()))
        return self.launch(self.launcher.command(ranks, *options), *before, PROGRAM, *TOY, "--run", run, *arguments,
                           LOCKSTEP_SECRET_FILE=self.secret(), **({"LOCKSTEP_PORT": port} if port else {}),
                           **self.launcher.environment, **environment)

    def test_any_number_of_ranks_gives_the_same_bytes_and_says_who_it_is(self):
        expected = self.alone()
        for ranks in self.numbers:
            process = self.train(ranks, run=f"by{ranks}")
            out, err = process.communicate(timeout=300)
            self.assertEqual(process.returncode, 0, out + err)
            self.assertEqual(self.evidence(f"by{ranks}"), expected)
            for rank in range(ranks):
                self.assertEqual((out + err).count(f"rank {rank} of {ranks} from {self.name} ({self.rank}, "), 1, err)
            self.assertEqual(len(re.findall(rf"by{ranks}: {STEPS} steps, ledger", out + err)), 1)

    def test_a_killed_rank_ends_the_job_and_is_named(self):
        process = self.train(3, "--set", "run.steps=100000")
        self.wait_for_step(12)
        self.kill_rank(self.rank, 1)
        out, err = process.communicate(timeout=300)
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(out + err, rf"lockstep: rank [02]: (step \d+: )?{STOPPED}: rank 1 on \S+ was lost")
        steps = ["--set", f"run.steps={self.lines() // 10 * 10 + 20}"]
        self.ok(*TOY, "--quiet", *steps, "--run", "run", "--ranks", "2")
        self.assertEqual(self.evidence("run"), self.alone(*steps))

    def test_check_names_the_rank_whose_kernels_differ(self):
        other = f'[ "${self.rank}" = 0 ] || export ONEDNN_MAX_CPU_ISA=SSE41; exec "$0" "$@"'
        process = self.launch(self.launcher.command(2), "sh", "-c", other, PROGRAM, "check",
                              LOCKSTEP_SECRET_FILE=self.secret(), LOCKSTEP_PORT=str(free_port()),
                              **self.launcher.environment)
        out, err = process.communicate(timeout=300)
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(out + err, r"conv2d.* \(native\) give other bits on rank 1 \(\S+\) than on rank 0")
        self.assertIn("2 nodes (1 machine): portable kernels give the bits", out + err)

    def test_an_error_of_one_rank_reaches_all(self):
        self.ok(*TOY, "--quiet", "--set", "run.steps=1", "--run", "run")
        process = self.train(2, "--set", "run.seed=5")
        out, err = process.communicate(timeout=300)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("lockstep: rank 0: run is a run of another recipe: run.seed is 5, there 11", out + err)
        self.assertRegex(out + err, rf"lockstep: rank 1: {STOPPED}: rank 0 on \S+: run is a run of another")


class Torchrun(Launched, Toy):
    kind = launchers.Torchrun
    numbers = (2,)  # it starts slowly

    def test_its_summary_shows_our_message(self):
        self.ok(*TOY, "--quiet", "--set", "run.steps=1", "--run", "run")
        _, err = self.train(2, "--set", "run.seed=5").communicate(timeout=300)
        causes = err[err.index("Failures:"):]
        self.assertRegex(causes,
                         r"traceback : lockstep: rank 0: run is a run of another recipe: run.seed is 5, there 11")
        self.assertRegex(causes, rf"traceback : lockstep: rank 1: {STOPPED}: rank 0 on")

    def test_its_restarts_take_the_run_up(self):
        steps = ["--set", "run.steps=400", "--set", "checkpoint.every=100"]
        expected = self.alone(*steps)
        process = self.train(3, *steps, "--quiet", options=["--max-restarts=2"])
        for victim, at in ((2, 120), (0, 250)):
            self.wait_for_step(at)
            before = set(self.rank_processes("RANK").values())
            self.kill_rank("RANK", victim)
            self.wait_for_restart(before)
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, out + err)
        self.assertIn("was lost", err)
        self.assertEqual(self.evidence("run"), expected)

    def wait_for_restart(self, before):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            now = self.rank_processes("RANK").values()
            if len(now) == 3 and not before & set(now):
                return
            time.sleep(0.01)
        self.fail("no restart in time")

    def test_the_agents_store_keeps_its_port(self):
        for options in (["--standalone"], []):
            process = self.train(2, "--set", "run.steps=100000", options=options, LOCKSTEP_PORT="")
            self.wait_for_step(2)
            ranks = self.rank_processes("RANK")
            variables = self.variables_of(ranks[0])
            self.assertEqual(variables["TORCHELASTIC_USE_AGENT_STORE"], "True")
            self.assertIn(process.pid, listeners(int(variables["MASTER_PORT"])))
            self.assertNotIn(ranks[0], listeners(int(variables["MASTER_PORT"])))
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=120)
            os.rename(self.path("run"), self.path("run" + str(len(options))))

    def test_without_that_variable_rank_0_would_meet_the_agent(self):
        process = self.train(2, before=["env", "-u", "TORCHELASTIC_USE_AGENT_STORE"], LOCKSTEP_PORT="",
                             LOCKSTEP_DEADLINE="5")
        out, err = process.communicate(timeout=300)
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(out + err, rf"the port is in use by process {process.pid} ")


def listeners(port):
    """Process ids that listen on a TCP port of this machine, seen as root or for one's own."""
    inodes, found = set(), set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="ascii") as file:
            for line in file.read().splitlines()[1:]:
                words = line.split()
                if words[3] == "0A" and int(words[1].split(":")[1], 16) == port:
                    inodes.add(f"socket:[{words[9]}]")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{fd}") in inodes:
                    found.add(int(pid))
        except OSError:
            pass
    return found


class Mpirun(Launched, Toy):
    kind = launchers.Mpirun


class Srun(Launched, Toy):
    kind = launchers.Srun


if __name__ == "__main__":
    main()
