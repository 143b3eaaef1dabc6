"""Recipes that nobody chose (any_recipe.py), each trained as it is and as other machines would: every file is the same.

usage: any_recipe_test.py PROGRAM SOURCE OTHER SEED RECIPES Cpu|Gpu
OTHER: the program that is to give the same; for Gpu one beside interpreted GPUs. SEED: a number, or `any`.
"""

import os
import random
import shutil
import sys

import any_recipe
from support import PROGRAM, Cli, main

OTHER, SEED, RECIPES = sys.argv[3:6]
del sys.argv[3:6]
SEED = random.SystemRandom().randrange(10**9) if SEED == "any" else int(SEED)


class Any(Cli):
    native = True

    def each(self, body):
        """Calls it with random numbers and each recipe, which has been trained as `run`."""
        for number in range(int(RECIPES)):
            r = random.Random(SEED + number)
            tables = any_recipe.drawn(r, os.path.isdir("/usr/share/datasets/fashion-mnist"), self.native)
            text = any_recipe.text(tables)
            with self.subTest(seed=SEED + number, recipe=text):
                self.write("any.toml", text)
                self.ok("train", "any.toml", "--run", "run", "--threads", "1", "--quiet")
                body(r, tables)
            for name in os.listdir(self.folder):
                if os.path.isdir(self.path(name)):
                    shutil.rmtree(self.path(name))

    def same(self, run, *how, **environment):
        with self.subTest(how=how, environment=environment):
            self.program = OTHER
            try:
                self.ok("train", "any.toml", "--run", run, "--quiet", *how, **environment)
            finally:
                self.program = PROGRAM
            self.assertEqual(self.evidence(run), self.evidence("run"))

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
            self.same("other", *self.ranks(r, tables, 5), "--threads", str(r.randint(1, 3)), **isa)
            self.ok("verify", "other")
            self.ok("replay", "run", "--quiet")

        self.each(other)

    def test_two_attempts(self):
        def two(r, tables):
            cut = f"run.steps={r.randint(1, tables['run']['steps'] - 1)}"
            self.ok("train", "any.toml", "--run", "two", "--quiet", "--set", cut, "--set", "samples.count=0", *self.ranks(r, tables, 3))
            self.ok("train", "any.toml", "--run", "two", "--quiet", *self.ranks(r, tables, 3))
            found = self.evidence("two")
            for name, digest in self.evidence("run").items():
                if name != "recipe.toml":  # that of the first attempt
                    self.assertEqual(found[name], digest, name)

        self.each(two)


class Gpu(Any):
    native = False  # there are no CUDA kernels of LibTorch

    def test_kernels_that_are_interpreted(self):
        def on_gpu(r, tables):
            how = self.ranks(r, tables, 2)
            nccl = {"LOCKSTEP_TRANSPORT": "nccl"} if how[1] == "2" and r.random() < 0.5 else {}
            self.same("gpu", "--device", "cuda", *how, **nccl)

        self.each(on_gpu)


if __name__ == "__main__":
    main()
