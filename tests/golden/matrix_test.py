"""The golden bytes, whatever the threads, the instruction set and the surroundings.

Usage: matrix_test.py PROGRAM RECIPE CASE, where CASE is
  again          twice in a row, in two folders
  threads-N      with N threads
  isa-NAME       with LOCKSTEP_ISA=NAME; exit code 77 where the CPU lacks it
  surroundings   another locale, time zone, umask and working folder, no HOME
"""

import os
import platform
import sys
import tempfile

import golden

# What the kernels of an instruction set need, as Linux spells it in /proc/cpuinfo.
CPU_FLAGS = {
    "scalar": {"fma"},
    "avx2": {"avx2", "fma"},
    "avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"},
}


def missing(isa):
    """What this CPU lacks for the instruction set, asked of the system and not of our program."""
    if platform.machine() != "x86_64":
        return set() if isa == "scalar" else {isa}
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        flags = next(line for line in file if line.startswith("flags")).split()
    return CPU_FLAGS[isa] - set(flags)


def with_isa(program, name, run, isa):
    program.environment["LOCKSTEP_ISA"] = isa
    lacks = missing(isa)
    if not lacks:
        return golden.train(program, name, run)
    code, _, err = program.run("train", golden.recipe(name), "--run", run)
    assert code == 4 and isa in err, f"{isa} should be refused here with exit code 4: {code}\n{err}"
    print(f"NOT PROVED here: {isa} (this CPU lacks {' '.join(sorted(lacks))})")
    sys.exit(golden.SKIPPED)


def elsewhere(program, name, run):
    environment = {k: v for k, v in program.environment.items() if k != "HOME"}
    environment.update(LC_ALL="tr_TR.UTF-8", LANG="de_DE.UTF-8", TZ="Pacific/Apia", COLUMNS="20")
    working = os.path.join(os.path.dirname(run), "a folder")
    os.mkdir(working)
    program.ok("train", golden.recipe(name), "--run", "../run", cwd=working,
               environment=environment, umask=0o077)
    golden.require(name, run)


def main():
    program, name, case = golden.Program(sys.argv[1]), sys.argv[2], sys.argv[3]
    with tempfile.TemporaryDirectory(prefix="lockstep-matrix-") as folder:
        run = os.path.join(folder, "run")
        kind, _, value = case.partition("-")
        if case == "again":
            golden.train(program, name, run)
            golden.train(program, name, run + "-again")
        elif kind == "threads":
            golden.train(program, name, run, "--threads", value)
        elif kind == "isa":
            with_isa(program, name, run, value)
        elif case == "surroundings":
            elsewhere(program, name, run)
        else:
            sys.exit(f"unknown case {case}")
    print(f"{name}, {case}: every byte is the golden one")


if __name__ == "__main__":
    main()
