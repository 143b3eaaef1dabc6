"""A golden recipe with AVX-512 kernels on an emulated CPU that has them: emulated_test.py PROGRAM RECIPE [WORD...].

  debian13   the program that tools/debian13 builds, with its libraries; PROGRAM is not used then
  N          only the first N steps: their lines of the ledger
"""

import hashlib
import os
import re
import sys
import tempfile

import debian13
import golden

sys.path.insert(0, os.path.join(golden.SOURCE, "tests"))
from support import bochs  # noqa: E402

DATA = "usr/share/datasets/fashion-mnist"


def files(program, name, libraries):
    data = {f"{DATA}/{entry}": f"/{DATA}/{entry}" for entry in os.listdir(f"/{DATA}")}
    return {"lockstep": program, "recipe.toml": golden.recipe(name), **libraries, **data}


def run(program, name, libraries, steps):
    """Trains there and requires the golden bytes."""
    some, compared = "", "checkpoints samples ledger.jsonl"
    if steps:
        some, compared = f"--set run.steps={steps}", "ledger.jsonl"
    train = (f"export LOCKSTEP_ISA=avx512; /lockstep train /recipe.toml --run /tmp/run --quiet {some}"
             f" && cd /tmp/run && /busybox find {compared} -type f"
             " | /busybox sort | /busybox xargs /busybox sha256sum")
    with tempfile.TemporaryDirectory(prefix="lockstep-bochs-") as machine:
        status, printed = bochs.run(golden.SOURCE, files(program, name, libraries), f"({train})", machine,
                                    megabytes=2048, timeout=7200)
    lines = sorted(line for line in printed.decode(errors="replace").splitlines() if re.match(r"[0-9a-f]{64}  ", line))
    if status != 0 or lines != sorted(expected(name, steps).splitlines()):
        raise golden.Differs(f"exit {status}, not the golden bytes:\n{printed.decode(errors='replace')}")


def expected(name, steps):
    ledger, sums = golden.lines(name), ""
    if steps:
        ledger = b"".join(ledger.splitlines(keepends=True)[:1 + steps])
    else:
        with open(golden.sums_path(name), encoding="ascii") as file:
            sums = file.read()
    return sums + f"{hashlib.sha256(ledger).hexdigest()}  ledger.jsonl\n"


def main():
    program, name, *words = sys.argv[1:]
    steps = next((int(word) for word in words if word.isdecimal()), 0)
    if lacks := bochs.missing(golden.SOURCE):
        print(f"NOT PROVED: golden {name} with AVX-512 under emulation: no {', '.join(lacks)} here")
        sys.exit(golden.SKIPPED)
    if "debian13" in words:
        debian13.build()
        run(debian13.PROGRAM, name, bochs.libraries(debian13.PROGRAM, debian13.THROUGH, debian13.ROOT), steps)
    else:
        run(program, name, bochs.libraries(program), steps)


if __name__ == "__main__":
    main()
