"""A golden run that is killed, stopped and damaged on its way ends in the same bytes.

Usage: kill_test.py PROGRAM RECIPE CASE [KILLS [SEED]], where CASE is
  kill       SIGKILL at KILLS random moments and one SIGTERM, other threads each time; the seed is
             printed, give it to have the same choices again (not the same moments: those are the
             machine's)
  damage     the newest checkpoint is damaged: the one before is taken, with a warning
  finished   the command on a finished run says so and changes nothing
"""

import os
import random
import shutil
import signal
import sys
import tempfile

import golden
from lockstep_cli import stop_after, was_killed

PREEMPTED = 75


def attempt(program, name, run, threads):
    return program.start("train", golden.recipe(name), "--run", run, "--threads", threads)


def stop_gently(program, name, run, choice):
    """SIGTERM: exit code 75, and a checkpoint as of a straight run that ends at that step.

    The run may have come to its end before the signal came: then it begins anew."""
    for _ in range(10):
        steps = choice.randint(1, 8)
        code, out, err = stop_after(attempt(program, name, run, choice.randint(1, 3)), run, steps,
                                    0, signal.SIGTERM)
        if code != 0:
            break
        shutil.rmtree(run)
    assert code == PREEMPTED and "saved" in out, f"SIGTERM: exit {code}\n{out}{err}"
    checkpoints = sorted(p for p in golden.evidence(run) if p.endswith(".h5"))
    at = int(checkpoints[-1].split("-")[1].split(".")[0])
    straight = f"{run}-until-{at}"
    golden.train(program, name, straight, steps=at)
    for path in (checkpoints[-1], checkpoints[-1] + ".sha256"):
        if golden.evidence(run)[path] != golden.evidence(straight)[path]:
            raise golden.Differs(f"{path}, saved on SIGTERM, is not that of a straight run")
    print(f"SIGTERM: saved at step {at}")


def kill_and_resume(program, name, run, kills, choice):
    """The program's own errors raise AssertionError, other bytes golden.Differs."""
    gentle_at = choice.randint(1, kills - 1) if kills > 1 else -1
    killed = 0
    for number in range(kills):
        if number == gentle_at:
            stop_gently(program, name, run, choice)
        # A third of a run at most, so that there is something left to kill; sometimes before
        # the first step.
        steps = choice.choice([0, choice.randint(1, golden.steps_of(name) // 3)])
        seconds = choice.uniform(0, 0.5 if steps == 0 else 0.03)
        threads = choice.randint(1, 3)
        code, out, err = stop_after(attempt(program, name, run, threads), run, steps, seconds,
                                    signal.SIGKILL)
        assert was_killed(code) or code == 0, f"exit {code}\n{out}{err}"
        killed += was_killed(code)
        print(f"kill {number + 1}: after {steps} steps and {seconds:.3f} s with {threads} threads"
              + ("" if was_killed(code) else ", but the run had ended"))
    assert killed > 0, "every run had ended before its kill"
    golden.train(program, name, run, "--threads", choice.randint(1, 3))


def damage(program, name, run):
    every = golden.steps_of(name) // 3
    golden.train(program, name, run, "--set", "samples.count=0", steps=2 * every)
    newest = os.path.join(run, "checkpoints", f"step-{2 * every:08}.h5")
    with open(newest, "r+b") as file:
        file.seek(os.path.getsize(newest) // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0x10]))
    said = program.ok("train", golden.recipe(name), "--run", run)
    for word in ("warning", os.path.basename(newest), f"continuing at step {every}"):
        assert word in said, f"'{word}' is missing from\n{said}"
    golden.require(name, run)


def state_of_files(run):
    return {path: os.stat(os.path.join(run, path)).st_mtime_ns for path in golden.evidence(run)}


def finished(program, name, run):
    golden.train(program, name, run)
    before = state_of_files(run)
    said = program.ok("train", golden.recipe(name), "--run", run)
    assert f"all {golden.steps_of(name)} steps are done" in said, said
    assert state_of_files(run) == before, "a finished run was written to"
    golden.require(name, run)


def main():
    program, name, case = golden.Program(sys.argv[1]), sys.argv[2], sys.argv[3]
    with tempfile.TemporaryDirectory(prefix="lockstep-kill-") as folder:
        run = os.path.join(folder, "run")
        if case == "kill":
            seed = int(sys.argv[5]) if len(sys.argv) > 5 else random.randrange(10**9)
            print(f"seed {seed}", flush=True)
            kill_and_resume(program, name, run, int(sys.argv[4]), random.Random(seed))
        elif case == "damage":
            damage(program, name, run)
        elif case == "finished":
            finished(program, name, run)
        else:
            sys.exit(f"unknown case {case}")
    print(f"{name}, {case}: every byte is the golden one")


if __name__ == "__main__":
    main()
