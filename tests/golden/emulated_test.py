"""A golden recipe with AVX-512 kernels on an emulated CPU that has them: emulated_test.py PROGRAM RECIPE."""

import hashlib
import os
import re
import sys
import tempfile

import golden

sys.path.insert(0, os.path.join(golden.SOURCE, "tests"))
from support import bochs  # noqa: E402

DATA = "usr/share/datasets/fashion-mnist"


def files(program, name):
    data = {f"{DATA}/{entry}": f"/{DATA}/{entry}" for entry in os.listdir(f"/{DATA}")}
    return {"lockstep": program, "recipe.toml": golden.recipe(name), **bochs.libraries(program), **data}


def expected(name):
    with open(golden.sums_path(name), encoding="ascii") as file:
        sums = file.read()
    return sums + f"{hashlib.sha256(golden.lines(name)).hexdigest()}  ledger.jsonl\n"


def main():
    program, name = sys.argv[1:]
    if lacks := bochs.missing(golden.SOURCE):
        print(f"NOT PROVED: golden {name} with AVX-512 under emulation: no {', '.join(lacks)} here")
        sys.exit(golden.SKIPPED)
    train = ("export LOCKSTEP_ISA=avx512; /lockstep train /recipe.toml --run /tmp/run --quiet"
             " && cd /tmp/run && /busybox find checkpoints samples ledger.jsonl -type f"
             " | /busybox sort | /busybox xargs /busybox sha256sum")
    with tempfile.TemporaryDirectory(prefix="lockstep-bochs-") as machine:
        status, printed = bochs.run(golden.SOURCE, files(program, name), f"({train})", machine, megabytes=2048)
    lines = sorted(line for line in printed.decode(errors="replace").splitlines() if re.match(r"[0-9a-f]{64}  ", line))
    if status != 0 or lines != sorted(expected(name).splitlines()):
        sys.exit(f"exit {status}, not the golden bytes:\n{printed.decode(errors='replace')}")


if __name__ == "__main__":
    main()
