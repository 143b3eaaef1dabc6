"""A run with native numerics stays on its kind of device, whatever its kernels give in the fingerprint.

Usage: native_device_test.py PROGRAM FAR_PROGRAM
FAR_PROGRAM is the program on another device (tests/support/far_device), where LibTorch's kernels give the CPU's bits.
"""

import os
import sys
import tempfile

import golden

NATIVE = ("--set", "run.numerics=native", "--quiet")


def main():
    cpu, far = golden.Program(sys.argv[1]), golden.Program(sys.argv[2])
    for first, other, said in ((far, cpu, ", and this is cpu"), (cpu, far, "it was trained last on cpu, and this is ")):
        with tempfile.TemporaryDirectory(prefix="lockstep-device-") as folder:
            run = os.path.join(folder, "run")
            first.ok("train", golden.recipe("toy-gan"), "--run", run, "--set", "run.steps=2", *NATIVE)
            before = golden.evidence(run)
            on = ("train", golden.recipe("toy-gan"), "--run", run, "--set", "run.steps=4", *NATIVE)
            code, _, said_now = other.run(*on)
            assert code == 4 and said in said_now, said_now
            assert golden.evidence(run) == before, "a refusal changed the run"
            code, _, said_now = other.run("replay", run)
            assert code == 0 and said in said_now, said_now
            first.ok(*on)


if __name__ == "__main__":
    main()
