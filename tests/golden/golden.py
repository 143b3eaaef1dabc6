"""The golden runs: recipes/golden/*.toml and the bytes that they must give on every machine.

tests/golden/<name>.ledger.jsonl is the whole ledger; <name>.sha256 lists the checkpoints, their
sidecars and the pictures, as sha256sum does. tools/golden writes both.
"""

import hashlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))

from lockstep_cli import Program, evidence  # noqa: E402,F401

with open(os.path.join(HERE, "names.txt"), encoding="utf-8") as names:  # new ones stand at its end: see matrix_test's `mixed`
    NAMES = tuple(names.read().split())
SKIPPED = 77  # CTest's SKIP_RETURN_CODE


class Differs(AssertionError):
    """Bits that are not the golden ones."""


def recipe(name):
    return os.path.join(SOURCE, "recipes", "golden", f"{name}.toml")


def ledger_path(name):
    return os.path.join(HERE, f"{name}.ledger.jsonl")


def sums_path(name):
    return os.path.join(HERE, f"{name}.sha256")


def sums_of(files):
    """The lines of <name>.sha256 for a run's evidence."""
    return "".join(f"{hashlib.sha256(content).hexdigest()}  {path}\n"
                   for path, content in sorted(files.items()) if path != "ledger.jsonl")


def lines(name, steps=None):
    """The golden ledger's bytes, or those of its first steps."""
    with open(ledger_path(name), "rb") as file:
        all_lines = file.readlines()
    return b"".join(all_lines if steps is None else all_lines[:1 + steps])


def lanes_of(name):
    import tomllib  # of Python 3.11: machines with a GPU may have an older one
    with open(recipe(name), "rb") as file:
        return tomllib.load(file)["batch"]["lanes"]


def steps_of(name):
    return lines(name).count(b"\n") - 1


def require_ledger(name, run, steps=None):
    """The run's ledger is the golden one, or its first steps; otherwise names the first difference."""
    with open(os.path.join(run, "ledger.jsonl"), "rb") as file:
        found = file.read()
    expected = lines(name, steps)
    if found == expected:
        return
    pairs = list(zip(found.splitlines(), expected.splitlines()))
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs))
    if at < len(pairs):
        raise Differs(f"{name}: the ledger differs first at line {at + 1} (step {at}):\n"
                      f"  found    {pairs[at][0].decode()}\n  expected {pairs[at][1].decode()}")
    raise Differs(f"{name}: the ledger ends after {at} equal lines: {len(found)} bytes, "
                  f"expected {len(expected)}")


def sums(name):
    with open(sums_path(name), encoding="ascii") as file:
        return file.read().splitlines()


def step_of(path):
    """checkpoints/step-00000040.h5 is of step 40."""
    return int(path.rpartition("step-")[2].partition(".")[0])


def checkpoints_of(name):
    """The steps that have one."""
    return sorted(step_of(line) for line in sums(name) if line.endswith(".h5"))


def drop_end(name, run, step):
    """Removes what a shorter run saved as its last: it stays (keep_last is 0), and no straight run saves it."""
    if step not in checkpoints_of(name):
        for suffix in ("", ".sha256"):
            os.remove(os.path.join(run, "checkpoints", f"step-{step:08}.h5{suffix}"))


def require(name, run, steps=None):
    """Ledger, every checkpoint and sidecar, every picture: exactly the golden ones, and no others.

    With `steps`, of a run that ended there and made no pictures."""
    require_ledger(name, run, steps)
    expected = {line for line in sums(name)
                if steps is None or "checkpoints/" in line and step_of(line) <= steps}
    found = set(sums_of(evidence(run)).splitlines())
    if found != expected:
        raise Differs(f"{name}: only here: {sorted(found - expected)}\n"
                      f"only golden: {sorted(expected - found)}")


def train(program, name, run, *arguments, steps=None, **popen):
    """Trains the golden recipe, all of it or its first steps, and requires the golden bytes."""
    shorter = () if steps is None else ("--set", f"run.steps={steps}")
    program.ok("train", recipe(name), "--run", run, "--quiet", *shorter, *arguments, **popen)
    if steps is None:
        require(name, run)
    else:
        require_ledger(name, run, steps)
