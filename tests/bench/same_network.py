#!/usr/bin/env python3
"""Whether PyTorch's networks are ours: tensor by tensor, by the names and shapes of docs/networks.md, and the batch.

  tests/bench/same_network.py BINARIES PYTHONPATH RECIPE...
"""
import json
import os
import subprocess
import sys
import tempfile

from programs import PYTORCH, Programs


def shape_there(shape):
    """Our [kh, kw, in, out] and [in, out] as PyTorch has them."""
    return [shape[3], shape[2], shape[0], shape[1]] if len(shape) == 4 else list(reversed(shape))


def differences(ours, theirs):
    """Lines; a linear layer may be a convolution of 1x1 there."""
    found = [f"{name}: only in {'Lockstep' if name in ours else 'PyTorch'}" for name in sorted(ours.keys() ^ theirs.keys())]
    for name in sorted(ours.keys() & theirs.keys()):
        want, has = shape_there(ours[name]), theirs[name]
        if has != want and has != want + [1, 1]:
            found.append(f"{name}: {ours[name]} in Lockstep, {theirs[name]} in PyTorch")
    return found


def count(tensors):
    total = 0
    for shape in tensors.values():
        numbers = 1
        for size in shape:
            numbers *= size
        total += numbers
    return total


def compare(programs, recipe, described):
    """Exits with what differs; else a sentence."""
    ours = programs.tensors(recipe)
    batch = programs.settings_of(recipe)["recipe"]
    sizes = dict(line.split(" = ") for line in batch.splitlines() if line.startswith(("lanes = ", "samples_per_lane = ")))
    whole = int(sizes["lanes"]) * int(sizes["samples_per_lane"])
    name = os.path.relpath(recipe)
    found = differences(ours, described["tensors"])
    if whole != described["batch"]:
        found.append(f"batch: {whole} in Lockstep, {described['batch']} in PyTorch")
    if found or count(ours) != count(described["tensors"]):
        sys.exit(f"{name}: the networks are not the same:\n" + "\n".join(found[:20]))
    return (f"`{name}`: {count(ours)} parameters in Lockstep and {count(described['tensors'])} in PyTorch, "
            f"in the same {len(ours)} tensors; batch {whole}.")


def main():
    binaries, path, *recipes = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        programs = Programs(binaries, work)
        resolved = [os.path.join(work, f"{number}.toml") for number in range(len(recipes))]
        for name, recipe in zip(resolved, recipes):
            with open(name, "w") as file:
                file.write(programs.settings_of(recipe)["recipe"])
        described = subprocess.run([sys.executable, os.path.join(PYTORCH, "train.py"), *resolved, "--describe"], check=True,
                                   capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=path)).stdout
        for recipe, line in zip(recipes, described.splitlines()[-len(recipes):], strict=True):
            print(compare(programs, recipe, json.loads(line)))


if __name__ == "__main__":
    main()
