"""Runs of the program on fields and signals that NumPy saved, recomputed from the pages: ledgers, and samples of fields.

    test_floats.py PROGRAM RECIPES                 two steps of golden recipes with such data, and samples
    test_floats.py PROGRAM RECIPES --break RULE    the steps with signals, with a broken rule (breaks.py)
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = ["--set", "run.steps=2", "--set", "samples.count=0", "--set", "batch.lanes=2"]


def packed(program, folder, kind, values):
    """The changes of a recipe that say so."""
    arrays, pack = (os.path.join(folder, kind + end) for end in (".npz", ".h5"))
    np.savez(arrays, x=values, labels=np.arange(len(values)) % 3)
    subprocess.run([program, "pack", arrays, pack, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return ["--set", f"data.kind={kind}", "--set", f"data.path={pack}", "--set", "data.classes=3"]


def recomputed(program, folder, recipe, changes, *rule):
    """The exit code of train.py."""
    run = os.path.join(folder, "run-" + os.path.basename(recipe))
    subprocess.run([program, "train", recipe, "--run", run, "--quiet", *STEPS, *changes], check=True,
                   stdout=subprocess.DEVNULL)
    return subprocess.run([sys.executable, "-B", os.path.join(HERE, "train.py"), os.path.join(run, "recipe.toml"),
                           os.path.join(run, "ledger.jsonl"), "--steps", "2", *rule], check=False).returncode


def main(program, recipes, *rule):
    random = np.random.default_rng(5)
    denoiser, generator = (os.path.join(recipes, name + ".toml") for name in ("ddpm", "toy-gan"))
    with tempfile.TemporaryDirectory() as folder:
        signals = packed(program, folder, "signals", random.standard_normal((40, 9)).astype(">f4"))
        failed = recomputed(program, folder, generator, signals, *rule)
        if failed or rule:
            return failed
        fields = packed(program, folder, "fields", 2 * random.standard_normal((40, 16, 12, 2)))  # binary64
        moved = ["--set", "data.flip=true", "--set", "data.crop=3", "--set", "data.holdout=5"]
        return (recomputed(program, folder, denoiser, fields + moved)
                or subprocess.run([sys.executable, "-B", os.path.join(HERE, "test_sampling.py"), program, denoiser,
                                   "--steps", "2", *fields], check=False).returncode)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
