"""Native numerics: the same files for any number of ranks and threads, on this machine; others than portable ones.

Usage: native_test.py PROGRAM
"""

import os
import sys
import tempfile

import golden
from golden import evidence

WAYS = {"one rank": (), "three threads": ("--threads", 3), "two ranks": ("--ranks", 2),
        "three ranks that divide the optimiser": ("--ranks", 3, "--shard", "optimizer"), "five ranks": ("--ranks", 5)}


def main():
    program = golden.Program(sys.argv[1])
    for name in golden.NAMES:
        if name.startswith("integer"):  # refused with native numerics
            continue
        with tempfile.TemporaryDirectory(prefix="lockstep-native-") as folder:
            def train(way, steps, *more, native=True):
                run = os.path.join(folder, way)
                program.ok("train", golden.recipe(name), "--run", run, "--set", f"run.steps={steps}", "--quiet",
                           *(("--set", "run.numerics=native") if native else ()), *more)
                return evidence(run)

            expected = train("expected", 6)
            for way, more in WAYS.items():
                assert train(way, 6, *more) == expected, f"{name}, {way}: other bytes"
            train("resumed", 3, "--ranks", 3)
            assert train("resumed", 6, "--ranks", 2)["ledger.jsonl"] == expected["ledger.jsonl"], f"{name}, resumed"
            assert train("portable", 6, native=False)["ledger.jsonl"] != expected["ledger.jsonl"]
        print(f"{name}: the same bytes in {len(WAYS)} ways and resumed")


if __name__ == "__main__":
    main()
