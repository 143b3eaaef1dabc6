"""Samples of the program against those that the checkpoint gives by the pages alone, byte for byte.

    test_sampling.py PROGRAM RECIPE --steps N [--set KEY=VALUE …]    trains N steps; exit code 0 if all samples are equal
        [--first I] [--count N]                                      which samples
        [--class C] [--sampler NAME] [--sampler-steps N] [--guidance S]    what is asked for, of program and reference
        [--controls RULE …]                                          broken rules of the reference, too: 0 if a sample differs
                                                                     with each; with --break, these alone
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import controls
import sample_breaks
import sampling

ASKED = {"sampler": str, "sampler_steps": int, "guidance": float}  # options that are keys of [objective], too


def given(options, *names):
    """Options of the program."""
    return [word for name in names if (value := getattr(options, name)) is not None
            for word in (f"--{name.replace('_', '-')}", str(value))]


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def samples_of_program(options, folder):
    """The checkpoint's path, and the archive's array."""
    trained, archive = os.path.join(folder, "run"), os.path.join(folder, "samples.npz")
    changes = [word for change in options.set for word in ("--set", change)]
    run(options.program, "train", options.recipe, "--run", trained, "--set", f"run.steps={options.steps}", "--set",
        "samples.count=0", *changes, "--quiet")
    run(options.program, "sample", trained, "--out", archive, *given(options, "first", "count", "class", *ASKED))
    with np.load(archive) as file:
        return os.path.join(trained, "checkpoints", f"step-{options.steps:08}.h5"), file["arr_0"]


def samples_of_reference(options, checkpoint):
    asked = {key: value for key in ASKED if (value := getattr(options, key)) is not None}
    numbers = list(range(options.first, options.first + options.count))
    opened = sampling.Checkpoint(checkpoint, **asked)
    values = sampling.samples(opened, numbers, getattr(options, "class"))
    return sampling.to_bytes(values) if opened.recipe["data"]["kind"] in ("images", "shapes") else values


def differ(options, checkpoint, theirs):
    ours = samples_of_reference(options, checkpoint)
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, (ours.shape, theirs.shape)
    words = {1: np.uint8, 4: np.uint32}[ours.itemsize]
    differing = (ours.view(words) != theirs.view(words)).reshape(len(ours), -1).sum(axis=1)
    print(f"{ours[0].size} values a sample, {len(np.unique(theirs))} of them unlike; differing: {differing.tolist()}")
    return bool(differing.any())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("recipe")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--class", type=int)
    for key, kind in ASKED.items():
        parser.add_argument(f"--{key.replace('_', '-')}", type=kind)
    controls.add_arguments(parser, sample_breaks.BREAKS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint, theirs = samples_of_program(options, folder)

        def seen(rule):
            sample_breaks.BREAKS[rule]()
            return differ(options, checkpoint, theirs)
        return controls.exit_code(options, lambda: not differ(options, checkpoint, theirs), seen)


if __name__ == "__main__":
    sys.exit(main())
