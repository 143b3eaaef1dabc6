"""The golden bytes, whatever the threads, the instruction set and the surroundings.

Usage: matrix_test.py PROGRAM RECIPE CASE, where CASE is
  mixed          one run whose steps are shared by SETTINGS: each has its own instruction set, threads and lanes at once
  again          twice in a row, in two folders
  threads-N      with N threads
  portions-N     with N lanes at once, and half of the steps with all
  isa-NAME       with LOCKSTEP_ISA=NAME; exit code 77 where the CPU lacks it
  surroundings   another locale, time zone, umask, number of threads and working folder, no HOME,
                 memory disturbed by MALLOC_PERTURB_, other kernels for LibTorch
  clock          ten years early, ten years late, and jumping back while it runs (faketime)
"""

import itertools
import json
import os
import shutil
import sys
import tempfile
import time

import golden
from clocks import faketime_library
from instruction_sets import missing

# Instruction set (None: the best of this machine), threads and lanes at once (0: all).
SETTINGS = (("scalar", 1, 1), ("avx2", 2, 3), (None, 7, 0))


def with_isa(program, name, run, isa):
    program.environment["LOCKSTEP_ISA"] = isa
    lacks = missing(isa)
    if not lacks:
        # One by one, integer products take minutes.
        slow = isa == "scalar" and name == "integer-ddpm"
        return golden.train(program, name, run, steps=golden.steps_of(name) // 4 if slow else None)
    code, _, err = program.run("train", golden.recipe(name), "--run", run)
    assert code == 4 and isa in err, f"{isa} should be refused here with exit code 4: {code}\n{err}"
    print(f"NOT PROVED here: {isa} (this CPU lacks {' '.join(sorted(lacks))})")
    sys.exit(golden.SKIPPED)


def mixed(program, name, run):
    """Each setting goes on where another stopped. The recipe decides which comes last and makes the pictures.

    Scalar steps take ten times as long as others: there are few of them here, and more in `isa-scalar`."""
    first, steps = golden.NAMES.index(name) % len(SETTINGS), golden.steps_of(name)
    settings = [s for s in SETTINGS[first:] + SETTINGS[:first] if s[0] is None or not missing(s[0])]
    few = max(3, steps // 15)
    many = (steps - few) // (len(settings) - 1)
    shares = [few if isa == "scalar" else many for isa, _, _ in settings]
    ends = [*itertools.accumulate(shares[:-1]), steps]
    for (isa, threads, lanes), end in zip(settings, ends):
        print(f"until step {end}: {isa or 'best'} kernels, {threads} threads, {lanes or 'all'} lanes at once", flush=True)
        shorter = () if end == steps else ("--set", "samples.count=0", "--set", f"run.steps={end}")
        chosen = {} if isa is None else {"LOCKSTEP_ISA": isa}
        program.ok("train", golden.recipe(name), "--run", run, "--quiet", "--threads", threads, "--lanes-at-once", lanes,
                   *shorter, environment={**program.environment, **chosen})
        golden.require_ledger(name, run, end)
    for end in ends:
        golden.drop_end(name, run, end)
    golden.require(name, run)


def portions(program, name, run, lanes):
    """Begun with all lanes at once, continued with `lanes` of them."""
    half = golden.steps_of(name) // 2
    golden.train(program, name, run, "--set", "samples.count=0", steps=half)
    program.ok("train", golden.recipe(name), "--run", run, "--quiet", "--lanes-at-once", lanes)
    golden.drop_end(name, run, half)
    golden.require(name, run)


def elsewhere(program, name, run):
    environment = {k: v for k, v in program.environment.items() if k != "HOME"}
    environment.update(LC_ALL="tr_TR.UTF-8", LANG="de_DE.UTF-8", TZ="Pacific/Apia", COLUMNS="20",
                       MALLOC_PERTURB_="165", MALLOC_ARENA_MAX="1",
                       # LibTorch's kernels compute other bits under these.
                       ONEDNN_MAX_CPU_ISA="SSE41", ATEN_CPU_CAPABILITY="default", MKL_CBWR="COMPATIBLE")
    working = os.path.join(os.path.dirname(run), "a folder")
    os.mkdir(working)
    program.ok("train", golden.recipe(name), "--run", "../run", "--threads", 3, cwd=working,
               environment=environment, umask=0o077)
    golden.require(name, run)


def clock(program, name, run):
    """Stopped half-way under one clock and continued under another, years before."""
    preload, half = faketime_library(), golden.steps_of(name) // 2
    if preload is None:
        print("NOT PROVED here: other clocks (no faketime)")
        sys.exit(golden.SKIPPED)
    year_of = {"-10y": -10, "+10y": 10}
    for first, second in (("+10y", "-10y"), ("-10y", "+10y i0.001")):
        folder = run + first
        program.environment.update(LD_PRELOAD=preload, FAKETIME=first, DONT_FAKE_MONOTONIC="1")
        golden.train(program, name, folder, "--set", "samples.count=0", steps=half)
        shown = os.path.join(folder, "metrics.jsonl")
        with open(shown, encoding="ascii") as file:  # the control: the program sees that clock
            seen = json.loads(file.readline())["time"]
        years = (seen - time.time()) / (365.25 * 86400)
        assert abs(years - year_of[first]) < 1, f"faketime did not work: {years} years"
        shutil.rmtree(os.path.join(folder, "samples"), ignore_errors=True)
        # The monotonic clock jumps and crawls, too.
        program.environment.update(FAKETIME=second)
        del program.environment["DONT_FAKE_MONOTONIC"]
        program.ok("train", golden.recipe(name), "--run", folder, "--quiet")
        golden.drop_end(name, folder, half)
        golden.require(name, folder)


def main():
    program, name, case = golden.Program(sys.argv[1]), sys.argv[2], sys.argv[3]
    with tempfile.TemporaryDirectory(prefix="lockstep-matrix-") as folder:
        run = os.path.join(folder, "run")
        kind, _, value = case.partition("-")
        if case == "mixed":
            mixed(program, name, run)
        elif case == "again":
            golden.train(program, name, run)
            golden.train(program, name, run + "-again")
        elif kind == "threads":
            golden.train(program, name, run, "--threads", value)
        elif kind == "portions":
            portions(program, name, run, value)
        elif kind == "isa":
            with_isa(program, name, run, value)
        elif case == "clock":
            clock(program, name, run)
        elif case == "surroundings":
            elsewhere(program, name, run)
        else:
            sys.exit(f"unknown case {case}")
    print(f"{name}, {case}: every byte is the golden one")


if __name__ == "__main__":
    main()
