"""The golden bytes by any number of ranks, however they are started, and whoever takes a run up.

Usage: world_test.py PROGRAM BY_THREADS WAY [all]   (by a Python with numpy, for torchrun)

WAY is `threads` (of one process, BY_THREADS), `ranks` (--ranks), `torchrun`, `mpirun` or `srun`: all but the first are
processes over Gloo. A combination is a recipe, a number of ranks, a way, what ranks share and whether the run changes
hands: it is then stopped at three steps, and other numbers of ranks go on. Without `all`, those of a choice in which
every two values of different axes meet (but see `possible` and `pairs`), each for STEPS, or for the recipe's first third,
to its first checkpoint; with it, all of this way, whole.
"""

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time

import golden

import launchers
from ports import free_port
from slurm import Unavailable

RANKS = (1, 2, 3, 4, 5, 8)
LAUNCHERS = {"torchrun": launchers.Torchrun, "mpirun": launchers.Mpirun, "srun": launchers.Srun}
# --shard. Where the world changes, the second and the fourth attempt share nothing.
SHARD = ("none", "optimizer")
# Lanes of the golden recipes: no rank can have less than one.
LANES = {name: golden.lanes_of(name) for name in golden.NAMES}
STEPS = 8
# Quick ones, for their first third.
LONGER = ("wgan", "dit")
# How many ranks a launcher starts changes nothing in how it starts them.
FEW_RANKS = (2, 5)
AXES = (tuple(LANES), RANKS, ("threads", "ranks", *LAUNCHERS), SHARD, ("one world", "four worlds"))


def possible(whole):
    """To a launcher, each attempt is a start like any other: without `all`, only other ways change hands or have all RANKS."""
    rows = [row for row in itertools.product(*AXES) if row[1] <= LANES[row[0]]]
    return rows if whole else [row for row in rows if row[2] not in LAUNCHERS or (row[1] in FEW_RANKS and row[4] == "one world")]


def attempts(row, end):
    """(ranks, shard, last step) of each attempt: one world, or four, changing at three steps."""
    name, ranks, _, shard, change = row
    if change == "one world":
        return [(ranks, shard, end)]
    worlds = [n for n in RANKS if n <= LANES[name]]
    start = worlds.index(ranks)
    return [(worlds[(start + i) % len(worlds)], "none" if i % 2 else shard, end * (i + 1) // 4) for i in range(4)]


def pairs(row):
    """A recipe meets the ranks of each attempt. A launcher sees no recipe: what it starts is what `ranks` starts."""
    recipe, way = (0, row[0]), (2, row[2])
    met = set(itertools.combinations(enumerate(row), 2)) | {(recipe, (1, ranks)) for ranks, _, _ in attempts(row, 4)}
    return met - ({(recipe, way)} if row[2] in LAUNCHERS else set())


def pairwise(rows):
    """A choice of rows in which every pair of values meets that meets in any row."""
    missing, chosen = set().union(*map(pairs, rows)), []
    while missing:
        best = max(rows, key=lambda row: len(pairs(row) & missing))  # the first of equals
        chosen.append(best)
        missing -= pairs(best)
    assert set().union(*map(pairs, chosen)) == set().union(*map(pairs, rows))
    return chosen


class Ranks:
    """One way to start ranks."""

    def __init__(self, program, by_threads, way, folder):
        self.program, self.by_threads = golden.Program(program), os.path.abspath(by_threads)
        self.way, self.folder = way, folder
        self.launcher = None
        if way in LAUNCHERS:
            os.mkdir(os.path.join(folder, "launcher"))
            self.launcher = LAUNCHERS[way](os.path.join(folder, "launcher"))
        self.secret = os.path.join(folder, "secret")
        with open(os.open(self.secret, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(os.urandom(32))

    def stop(self):
        if self.launcher:
            self.launcher.stop()

    def start(self, ranks, recipe, run, shard, overrides):
        """The command and what its environment has beyond ours."""
        if self.way == "threads":
            return [self.by_threads, recipe, run, str(ranks), shard, *overrides], {}
        command = [self.program.path, "train", recipe, "--run", run, "--threads", "1", "--shard", shard,
                   *itertools.chain.from_iterable(("--set", override) for override in overrides)]
        if self.way == "ranks":
            return [*command, "--ranks", str(ranks)], {}
        return [*self.launcher.command(ranks), *command], {
            "LOCKSTEP_PORT": str(free_port()), "LOCKSTEP_SECRET_FILE": self.secret, **self.launcher.environment}

    def attempt(self, number, ranks, shard, last, row, run, pictures):
        """Trains until step `last`, with pictures then or without."""
        overrides = [f"run.steps={last}", *([] if pictures else ["samples.count=0"])]
        command, environment = self.start(ranks, golden.recipe(row[0]), run, shard, overrides)
        process = subprocess.Popen(command, env={**self.program.environment, **environment}, cwd=self.folder, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            said, _ = process.communicate(timeout=900)
        finally:
            if process.poll() is None:  # hangs; launchers end their ranks if they are asked to
                process.terminate()
        assert process.returncode == 0, f"{row}: {command}: exit {process.returncode}\n{said}"
        # The control: there were as many ranks, and this launcher had started them.
        there = [f for f in os.listdir(os.path.join(run, "environment")) if f.startswith(f"attempt-{number:03}-")]
        assert len(there) == ranks, f"{row}: {ranks} ranks, but {there}\n{said}"
        if self.launcher and ranks > 1:
            for rank in range(ranks):
                assert f"rank {rank} of {ranks} from {self.launcher.name} ({self.launcher.rank}, " in said, said

    def train(self, row, whole):
        name = row[0]
        first = golden.checkpoints_of(name)[0] if name in LONGER else STEPS
        end = golden.steps_of(name) if whole else first
        run = os.path.join(self.folder, "run")
        ends = []
        for number, (ranks, shard, last) in enumerate(attempts(row, end), start=1):
            self.attempt(number, ranks, shard, last, row, run, pictures=whole and last == end)
            ends.append(last)
        for last in ends:
            golden.drop_end(name, run, last)
        golden.require(name, run, None if whole else end)
        shutil.rmtree(run)


def main():
    program, by_threads, way = sys.argv[1:4]
    whole, began = sys.argv[4:] == ["all"], time.monotonic()
    rows = [row for row in (possible(whole) if whole else pairwise(possible(whole))) if row[2] == way]
    assert rows, f"no way {way}"
    with tempfile.TemporaryDirectory(prefix="lockstep-world-") as folder:
        try:
            ranks = Ranks(program, by_threads, way, folder)
        except Unavailable as why:
            print(f"NOT PROVED: the golden bytes by ranks under {way}: {why}")
            sys.exit(golden.SKIPPED)
        try:
            for row in rows:
                since = time.monotonic()
                ranks.train(row, whole)
                print(f"same: {', '.join(map(str, row))}: {time.monotonic() - since:.1f} s", flush=True)
        finally:
            ranks.stop()
    print(f"{way}: {len(rows)} runs, {sum(len(attempts(row, 4)) for row in rows)} worlds, every byte is the golden one: "
          f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
