"""Runs the real program as a user does, and looks at what a run leaves behind."""

import os
import signal
import subprocess
import time

TIMEOUT = 3600  # seconds; against hangs only


class Program:
    """One lockstep executable. Nothing of the test's own environment can choose an instruction set.

    `through`: a command that runs the command behind it, elsewhere."""

    timeout = TIMEOUT

    def __init__(self, path, through=()):
        self.path, self.through = os.path.abspath(path), through
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSTEP_")}

    def start(self, *arguments, environment=None, **popen):
        return subprocess.Popen([*self.through, self.path, *map(str, arguments)],
                                env=self.environment if environment is None else environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, errors="replace", **popen)

    def run(self, *arguments, **popen):
        """(exit code, standard output, standard error)"""
        process = self.start(*arguments, **popen)
        try:
            out, err = process.communicate(timeout=self.timeout)
        finally:
            process.kill()  # does nothing to one that has ended
        return process.returncode, out, err

    def ok(self, *arguments, **popen):
        """Standard output and error of a call that must succeed."""
        code, out, err = self.run(*arguments, **popen)
        if code != 0:
            raise AssertionError(f"{arguments}: exit {code}\n{out}{err}")
        return out + err


def evidence(run):
    """What must be byte-identical everywhere: {path in the run: bytes}."""
    found = {"ledger.jsonl": None}
    for folder in ("checkpoints", "samples"):
        if os.path.isdir(os.path.join(run, folder)):
            found.update((f"{folder}/{name}", None) for name in os.listdir(os.path.join(run, folder)))
    for path in found:
        with open(os.path.join(run, path), "rb") as file:
            found[path] = file.read()
    return found


def steps_done(run):
    """Steps that all attempts together have done so far, recomputed ones too."""
    try:
        with open(os.path.join(run, "metrics.jsonl"), "rb") as file:
            return file.read().count(b"\n")
    except FileNotFoundError:
        return 0


def stop_after(process, run, steps, seconds, number):
    """Sends signal `number` once this attempt has done `steps` steps and `seconds` have passed.

    Returns (exit code, standard output, standard error); the process may have ended by itself."""
    target, deadline = steps_done(run) + steps, time.monotonic() + TIMEOUT
    while process.poll() is None and steps_done(run) < target and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(seconds)
    process.send_signal(number)
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    return process.returncode, out, err


def was_killed(code):
    return code == -signal.SIGKILL
