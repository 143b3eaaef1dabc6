"""Native numerics: the same files for any number of ranks and threads, on this machine; others than portable ones.

Usage: native_test.py PROGRAM [PRECISION | all]
With a precision: for two recipes, and other bits than float32's. tf32 gives float32's on a CPU, and has float32's ways. With `all`:
every recipe in every way.
"""

import json
import os
import sys
import tempfile

import golden
from golden import evidence

WAYS = {"one rank": (), "three threads": ("--threads", 3), "two ranks": ("--ranks", 2),
        "three ranks that divide the optimiser": ("--ranks", 3, "--shard", "optimizer"), "five ranks": ("--ranks", 5)}
# `resumed` has threads, and ranks that divide. The recipes have all layers.
FEW_WAYS = ("one rank", "five ranks")
FEW = ("ddpm", "toy-gan", "dcgan", "dit")


def entries(files):
    """Of a ledger, but for its first line, which names the recipe, and for the chain over it."""
    lines = [json.loads(line) for line in files["ledger.jsonl"].splitlines()[1:]]
    return [{key: value for key, value in line.items() if key not in ("chain", "recipe")} for line in lines]


def main():
    program = golden.Program(sys.argv[1])
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    precision = "float32" if word in ("", "all") else word
    for name in golden.NAMES if precision == "float32" else ("ddpm", "dit"):
        if name.startswith("integer"):  # refused with native numerics
            continue
        with tempfile.TemporaryDirectory(prefix="lockstep-native-") as folder:
            def train(way, steps, *more, settings=("run.numerics=native", f"run.precision={precision}")):
                run = os.path.join(folder, way)
                program.ok("train", golden.recipe(name), "--run", run, "--set", f"run.steps={steps}", "--quiet",
                           *(word for setting in settings for word in ("--set", setting)), *more)
                return evidence(run)

            expected = train("expected", 6)
            few = FEW_WAYS if name in FEW and precision != "tf32" else ()
            ways = WAYS if word == "all" else few
            for way in ways:
                assert train(way, 6, *WAYS[way]) == expected, f"{name}, {way}: other bytes"
            # Begun in one way and resumed in another. For recipes whose layers are in FEW, too, that is all.
            train("resumed", 3, "--ranks", 3, "--shard", "optimizer")
            resumed = train("resumed", 6, "--threads", 3)
            assert expected == {path: resumed.get(path) for path in expected}, f"{name}, resumed: other bytes"
            assert entries({"ledger.jsonl": golden.lines(name, 6)}) != entries(expected)  # portable numerics
            if precision != "float32":
                float32 = entries(train("float32", 6, settings=("run.numerics=native",)))
                assert (entries(expected) == float32) == (precision == "tf32"), f"{name}: {precision} and float32"
        print(f"{name}, {precision}: the same bytes in {len(ways)} other ways and resumed")


if __name__ == "__main__":
    main()
