"""The program that tools/debian13 builds, for tests that run it there."""

import os
import subprocess
import sys

import golden

TOOL = os.path.join(golden.SOURCE, "tools", "debian13")
THROUGH = (TOOL,)
ROOT = os.path.realpath(os.path.join(golden.SOURCE, ".deps", "debian13"))
PROGRAM = os.path.join(golden.SOURCE, "build", "debian13", "bin", "lockstep")


def build():
    """Builds it if need be and returns the line of its versions; ends the test where that is impossible."""
    done = subprocess.run(THROUGH, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode == 4:
        print(f"NOT PROVED: the golden bytes on Debian 13: {done.stderr.strip().splitlines()[-1]}")
        sys.exit(golden.SKIPPED)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(line for line in done.stdout.splitlines() if line.startswith("debian13: Debian "))
