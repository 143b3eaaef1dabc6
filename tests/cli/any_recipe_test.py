"""Recipes that nobody chose (any_recipe.py), each trained as it is and as other machines would: every file is the same.

usage: any_recipe_test.py PROGRAM SOURCE OTHER SEED RECIPES Cpu|Gpu   (by a Python with numpy)
OTHER: the program that is to give the same; for Gpu one beside interpreted GPUs. SEED: a number, or `any`.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import any_recipe
import numpy
from support import PROGRAM, Cli, main

OTHER, SEED, RECIPES = sys.argv[3:6]
del sys.argv[3:6]
SEED = random.SystemRandom().randrange(10**9) if SEED == "any" else int(SEED)


class Any(Cli):
    interpreted = False

    def each(self, body):
        """Calls it with random numbers and each recipe, which has been trained as `run`."""
        for number in range(int(RECIPES)):
            r = random.Random(SEED + number)
            tables, shape = any_recipe.drawn(r, os.path.isdir("/usr/share/datasets/fashion-mnist"), self.interpreted)
            text = any_recipe.text(tables)
            with self.subTest(seed=SEED + number, recipe=text):
                self.write("any.toml", text)
                if shape:
                    self.pack(r, shape)
                begun = time.monotonic()
                self.ok("train", "any.toml", "--run", "run", "--threads", "1", "--quiet")
                self.took = time.monotonic() - begun
                body(r, tables)
            for name in os.listdir(self.folder):
                if os.path.isdir(self.path(name)):
                    shutil.rmtree(self.path(name))
                elif name.startswith("own"):
                    os.remove(self.path(name))

    def pack(self, r, shape):
        values = numpy.random.default_rng(r.randrange(2**32)).standard_normal(shape, numpy.float32)
        numpy.savez(self.path("own.npz"), x=values, labels=numpy.arange(shape[0]) % any_recipe.CLASSES)
        pack = "pack", "own.npz", "--quiet"
        if r.random() < 0.5:
            self.ok(*pack, "own", "--shard-size", "64K")
        else:
            self.ok(*pack, "own.h5")
            os.rename(self.path("own.h5"), self.path("own"))

    def by_other(self, *arguments, **environment):
        self.program = OTHER
        try:
            self.ok(*arguments, **environment)
        finally:
            self.program = PROGRAM

    def same(self, run, *how, **environment):
        with self.subTest(how=how, environment=environment):
            self.by_other("train", "any.toml", "--run", run, "--quiet", *how, **environment)
            self.assertEqual(self.evidence(run), self.evidence("run"))

    def has_files_of_run(self, run, but=()):
        """It may have more: checkpoints where it ended."""
        found = self.evidence(run)
        for name, digest in self.evidence("run").items():
            if name not in but:
                self.assertEqual(found[name], digest, name)

    def goes_on(self, r, how, **environment):
        """A run that starts from this one."""
        train = ("train", "any.toml", "--quiet", "--from", "run@2", "--set", f"run.seed={r.randint(0, 9)}", "--set", "run.steps=2")
        self.ok(*train, "--run", "child", "--threads", "1")
        with self.subTest("child", how=how, environment=environment):
            self.by_other(*train, "--run", "other-child", *how, **environment)
            self.assertEqual(self.evidence("other-child"), self.evidence("child"))

    def looks(self, r, tables, how, **environment):
        """What other commands make of the run."""
        step = "--step", str(r.randint(1, tables["run"]["steps"]))
        commands = [("one.jsonl", "trace", "run", "one.jsonl", "--quiet", *step)]
        if tables["objective"]["kind"] != "classifier":
            commands.append(("one.npz", "sample", "run", "--out", "one.npz", *any_recipe.pictures(r, tables)))
        for made, *command in commands:
            with self.subTest(command=command, how=how, environment=environment):
                self.ok(*command, "--threads", "1")
                ours = self.read(made)
                self.by_other(*command, *how, **environment)
                lines = int(made.endswith(".jsonl"))  # of a trace the first one says what the machine is
                self.assertTrue(self.read(made).split(b"\n")[lines:] == ours.split(b"\n")[lines:])

    def ranks(self, r, tables, most):
        ranks = r.randint(1, min(most, tables["batch"]["lanes"]))
        shard = r.choice(("none", "optimizer"))
        at_once = ("--lanes-at-once", str(r.randint(1, 3))) if r.random() < 0.3 else ()
        return "--ranks", str(ranks), "--shard", shard, *at_once


class Cpu(Any):
    def test_other_ranks_threads_and_instructions(self):
        here = [isa for isa in ("scalar", "avx2", "avx512", "neon") if self.run_it("fingerprint", LOCKSTEP_ISA=isa).returncode == 0]

        def other(r, tables):
            isa = {} if "numerics" in tables["run"] else {"LOCKSTEP_ISA": r.choice(here)}
            threads = "--threads", str(r.randint(1, 3))
            self.same("other", *self.ranks(r, tables, 5), *threads, **isa)
            self.ok("verify", "other")
            self.ok("replay", "run", "--quiet")
            self.goes_on(r, (*self.ranks(r, tables, 3), *threads), **isa)
            self.looks(r, tables, threads, **isa)

        self.each(other)

    def test_two_attempts(self):
        def two(r, tables):
            cut = f"run.steps={r.randint(1, tables['run']['steps'] - 1)}"
            self.ok("train", "any.toml", "--run", "two", "--quiet", "--set", cut, "--set", "samples.count=0", *self.ranks(r, tables, 3))
            self.ok("train", "any.toml", "--run", "two", "--quiet", *self.ranks(r, tables, 3))
            self.has_files_of_run("two", but=("recipe.toml",))  # that of the first attempt

        self.each(two)

    def test_stopped_anywhere(self):
        def stopped(r, tables):
            train = "train", "any.toml", "--run", "stopped", "--quiet"
            how = r.choice((signal.SIGTERM, signal.SIGKILL))
            with subprocess.Popen([PROGRAM, *train, *self.ranks(r, tables, 3)], cwd=self.folder, stderr=subprocess.PIPE) as process:
                time.sleep(r.uniform(0, 1.2 * self.took))
                process.send_signal(how)
                process.communicate()  # its ranks have ended, too
            self.assertIn(process.returncode, (0, 75, -how))
            self.ok(*train, *self.ranks(r, tables, 3))
            self.has_files_of_run("stopped")

        self.each(stopped)


class Gpu(Any):
    interpreted = True

    def test_kernels_that_are_interpreted(self):
        def on_gpu(r, tables):
            how = self.ranks(r, tables, 2)
            nccl = {"LOCKSTEP_TRANSPORT": "nccl"} if how[1] == "2" and r.random() < 0.5 else {}
            self.same("gpu", "--device", "cuda", *how, **nccl)
            self.goes_on(r, ("--device", "cuda"))
            self.looks(r, tables, ("--device", "cuda"))

        self.each(on_gpu)


if __name__ == "__main__":
    main()
