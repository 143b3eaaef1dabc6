"""The golden tests can fail: programs with one wrong line each must not pass them.

Usage: negative_test.py BROKEN_PROGRAM CASE, where CASE is
  fma-order    one dot product is added in another order
  thread-sum   one sum depends on the number of threads
  restore      one tensor is not restored from a checkpoint
  host-loop    the host reads a tensor of the far device, in a backward pass
  uninitialised  the optimisers' moments are memory that nobody wrote to, filled with NaNs
"""

import os
import sys
import tempfile

import golden


def must_differ(what, check, *arguments, **named):
    """The check must find other bits; a program that only crashes is no control."""
    try:
        check(*arguments, **named)
    except golden.Differs as difference:
        print(f"{what}: caught, as it must be: {str(difference).splitlines()[0]}")
        return
    sys.exit(f"{what}: the test did not notice")


def fma_order(program, folder):
    for name in golden.NAMES:
        must_differ(f"{name}, golden", golden.train, program, name, os.path.join(folder, name),
                    steps=3)
    # The scalar kernels are whole: the matrix of instruction sets sees the difference, too.
    program.environment["LOCKSTEP_ISA"] = "scalar"
    golden.train(program, "ddpm", os.path.join(folder, "scalar"), steps=3)


def thread_sum(program, folder):
    """Batch norm in both networks: all lanes go at once, and threads share the kernels."""
    name = "dcgan"
    golden.train(program, name, os.path.join(folder, "one"), "--threads", 1, steps=3)
    for threads in (2, 7):
        must_differ(f"{name}, {threads} threads", golden.train, program, name,
                    os.path.join(folder, str(threads)), "--threads", threads, steps=3)


def restore(program, folder):
    """Straight through it is whole; resumed it must end in an error of its own or in other bytes."""
    name, run = "ddpm", os.path.join(folder, "run")
    every = golden.steps_of(name) // 3
    golden.train(program, name, run, steps=every)
    code, _, err = program.run("train", golden.recipe(name), "--run", run, "--set",
                               f"run.steps={every + 3}")
    if code == 1:
        print(f"{name}, resume: caught, as it must be, by the program: {err.strip()}")
    else:
        assert code == 0, f"exit {code}\n{err}"
        must_differ(f"{name}, resume", golden.require_ledger, name, run, every + 3)


def host_loop(program, folder):
    """The line names place and function."""
    code, _, err = program.run("train", golden.recipe("toy-gan"), "--run", os.path.join(folder, "run"))
    wanted = ("the host touched device memory", "in generator/", "backward of batch_norm; called from",
              "lockstep::lane::batch_norm")
    if code == 70 and all(text in err for text in wanted):
        print(f"toy-gan, host loop: caught, as it must be: {err.strip().splitlines()[0]}")
        return
    sys.exit(f"host loop: exit {code}, stderr:\n{err}")


def uninitialised(program, folder):
    """NaNs are in the state: the program must see them, before the first step."""
    for name in golden.NAMES:
        run = os.path.join(folder, name)
        code, _, err = program.run("train", golden.recipe(name), "--run", run, "--quiet")
        assert code == 7 and "training diverged: non-finite value" in err, f"{code}\n{err}"
        print(f"{name}: caught, as it must be: {err.strip()}")


CASES = {"fma-order": fma_order, "thread-sum": thread_sum, "restore": restore, "host-loop": host_loop,
         "uninitialised": uninitialised}


def main():
    program, case = golden.Program(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory(prefix="lockstep-negative-") as folder:
        CASES[case](program, folder)


if __name__ == "__main__":
    main()
