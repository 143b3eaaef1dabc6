"""A toy GAN that trains in a second, and what tests with several ranks share."""

import os
import signal
import subprocess
import time

from support import PROGRAM, SOURCE, Cli

STEPS = 40
TOY = ["train", os.path.join(SOURCE, "recipes/golden/toy-gan.toml"), "--threads", "1",
       "--set", f"run.steps={STEPS}", "--set", "checkpoint.every=10", "--set", "generator.hidden=16",
       "--set", "discriminator.hidden=16"]
TRAIN = [*TOY, "--quiet"]
MANY = ["--set", "run.steps=400"]  # far more than a test waits for before it strikes


def read_proc(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


class Toy(Cli):
    def setUp(self):
        super().setUp()
        self.launched = []

    def start(self, *arguments, **environment):
        return self.launch([PROGRAM], *arguments, **environment)

    def launch(self, launcher, *arguments, **environment):
        process = subprocess.Popen([*launcher, *arguments], cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **environment})
        self.addCleanup(self.end, process)
        self.launched.append(process)
        return process

    @staticmethod
    def end(process):
        """Launchers end their ranks if they are asked to."""
        if process.poll() is None:
            process.terminate()
            try:
                process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()

    def alone(self, *more):
        self.once("alone", *TRAIN, *more, "--run", "alone")
        return self.evidence("alone")

    def lines(self, run="run"):
        return self.read(run, "ledger.jsonl").count(b"\n") if os.path.exists(self.path(run, "ledger.jsonl")) else 0

    def wait_for_step(self, step, run="run"):
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            ended = self.launched and all(process.poll() is not None for process in self.launched)
            if self.lines(run) > step:
                return
            if ended:
                break
            time.sleep(0.005)
        for process in self.launched:
            process.terminate()
        self.fail("no step in time: " + "".join("".join(process.communicate()) for process in self.launched))

    def variables_of(self, pid):
        return dict(pair.split("=", 1) for pair in
                    read_proc(pid, "environ").decode(errors="replace").split("\0") if "=" in pair)

    def rank_processes(self, rank_variable):
        """{rank: process id} of the ranks that run in this test's folder, whoever started them."""
        found = {}
        for name in os.listdir("/proc"):
            try:
                here = name.isdigit() and os.path.samefile(f"/proc/{name}/exe", PROGRAM) and os.path.samefile(
                    f"/proc/{name}/cwd", self.folder)
            except OSError:
                continue
            variables = self.variables_of(name) if here else {}
            if here and rank_variable in variables and read_proc(name, "stat").split(b") ")[-1][:1] != b"Z":
                found[int(variables[rank_variable])] = int(name)
        return found

    def kill_rank(self, rank_variable, rank):
        os.kill(self.rank_processes(rank_variable)[rank], signal.SIGKILL)
