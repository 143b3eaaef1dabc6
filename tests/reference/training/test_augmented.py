"""Runs of the program whose pictures are flipped and cropped, recomputed from the pages.

    test_augmented.py PROGRAM RECIPES              two steps of each of two golden recipes with both keys
    test_augmented.py PROGRAM RECIPES --break RULE     one of them with a broken rule (breaks.py)
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def recomputed(program, recipe, crop, *rule):
    """The exit code of train.py."""
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        subprocess.run([program, "train", recipe, "--run", run, "--quiet", "--set", "run.steps=2", "--set",
                        "data.flip=true", "--set", f"data.crop={crop}", "--set", "samples.count=0", "--set", "batch.lanes=2"], check=True,
                       stdout=subprocess.DEVNULL)
        return subprocess.run([sys.executable, "-B", os.path.join(HERE, "train.py"), os.path.join(run, "recipe.toml"),
                               os.path.join(run, "ledger.jsonl"), "--steps", "2", *rule], check=False).returncode


def main(program, recipes, *rule):
    grey, colour = (os.path.join(recipes, name + ".toml") for name in ("flow", "r1-gan"))
    if rule:
        return recomputed(program, grey, 4, *rule)
    return recomputed(program, grey, 27) or recomputed(program, colour, 3)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
