"""`lockstep eval` and the ledger's evaluation against what checkpoints give by the pages alone: features, distances and
accuracy, every bit.

    test_evaluation.py PROGRAM RECIPES [--break RULE]    RECIPES: the golden ones' folder. With a broken rule of the
                                                         reference: 0 if the value that it decides differs
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import evaluation
import h5py
import ledger
import philox
from data import from_bytes, open_data
from hashes import commit_digest
from recipe import Recipe
from sampling import Checkpoint
from state import State

COUNT, STEPS, SEED = 72, 30, 23  # SEED: also of the run, so that `lockstep sample` shows the samples that are evaluated


def biased():
    """Covariances are divided by N."""
    evaluation.degrees = lambda count: count


def with_itself():
    """The kernel's sums have the pairs of a sample with itself."""
    evaluation.own_pairs = lambda k: evaluation.tree_sum(evaluation.running_sum(k.T))


def rotated_plainly():
    """Rotations by sine and cosine, which round otherwise."""
    evaluation.turned = lambda g, k, s, u: (np.sqrt(1 - s * s) * g - s * k, s * g + np.sqrt(1 - s * s) * k)


def nearest_is_itself():
    """A sample counts as its own neighbour."""
    radii = evaluation.radii
    evaluation.radii = lambda x, k: radii(x, k - 1)


BREAKS = {"biased": (biased, "frechet_distance"), "with-itself": (with_itself, "kernel_distance"),
          "rotated-plainly": (rotated_plainly, "frechet_distance"), "nearest-is-itself": (nearest_is_itself, "precision")}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def read_lines(path):
    with open(path, encoding="ascii") as file:
        return file.read().splitlines()


class Classifier:
    def __init__(self, path):
        self.path, self.of = path, Checkpoint(path)
        *self.before, self.last = self.of.network.stages

    def features(self, samples):
        for stage in self.before:
            samples, _ = stage.forward(self.of.pass_of(None), samples)
        return samples

    def logits(self, samples):
        return self.last.forward(self.of.pass_of(None), self.features(samples))[0]

    def hash(self):
        """Over the recipe id and the SHA-256 tree of the state."""
        with h5py.File(self.path) as file:
            names = [name for name, _ in State(self.of.recipe, {self.of.role: self.of.network}).tensors()]
            commit = commit_digest([(name, file["state/" + name][...]) for name in names], int(file.attrs["step"]),
                                   int(file.attrs["samples"]))
            recipe = self.of.recipe.id(int(file.attrs["semantics"]))
        return hashlib.sha256(b"lockstep features 1\n" + bytes.fromhex(recipe) + bytes.fromhex(commit)).hexdigest()


def taken(recipe):
    """The data's samples of the evaluation, and their labels."""
    data = open_data(recipe)
    indices = np.array([philox.sample(SEED, data.count, d, "evaluation/data") for d in range(COUNT)])
    return data.samples(indices), data.labels(indices)


def said_and_right(options, folder):
    """What the program says of a run and of a classifier, and what the pages say."""
    judge, made, archive = (os.path.join(folder, name) for name in ("judge", "made", "samples.npz"))
    evaluated = (f"every={STEPS}", f"samples={COUNT}", f"seed={SEED}", f'features="{judge}"')
    for recipe, trained, more in (("classifier", judge, ()), ("dit", made, evaluated)):
        run(options.program, "train", os.path.join(options.recipes, recipe + ".toml"), "--run", trained, "--quiet", "--set",
            f"run.steps={STEPS}", "--set", "data.shapes.side=12", "--set", "samples.count=0",
            *(word for change in more for word in ("--set", "evaluation." + change)))
    asked = ("--samples", str(COUNT), "--seed", str(SEED), "--json", "--quiet")
    said = json.loads(run(options.program, "eval", made, "--features", judge, *asked))
    said["right"] = json.loads(run(options.program, "eval", judge, *asked))["right"]
    run(options.program, "sample", made, "--count", str(COUNT), "--out", archive)
    classifier = Classifier(os.path.join(judge, "checkpoints", f"step-{STEPS:08}.h5"))
    real, labels = taken(classifier.of.recipe)
    with np.load(archive) as file:
        x, y = classifier.features(real), classifier.features(from_bytes(file["arr_0"]))
    best = np.sort(logits := classifier.logits(real), axis=1)
    alone = (best[:, -1] > best[:, -2]) & (logits.argmax(axis=1) == labels)
    right = {**evaluation.distances(x, y), "right": int(alone.sum()), "hash": classifier.hash()}
    said.update(recorded(made, said, right))
    return said, right, (x, y)


def recorded(made, said, right):
    """The ledger's recipe id and last line, with what this reference would write there."""
    head, *_, before, last = read_lines(os.path.join(made, "ledger.jsonl"))
    right["id"] = Recipe.read(os.path.join(made, "recipe.toml")).id(json.loads(head)["semantics"])
    entry = json.loads(last)
    right["last line"], _ = ledger.line(
        bytes.fromhex(json.loads(before)["chain"]), entry["step"], entry["samples"],
        [(phase, np.float32(loss)) for phase, loss in entry["loss"].items()], None, entry["before"], entry["state"],
        entry.get("commit"), [(key, float(right[key])) for key in entry["evaluation"]])
    return {"id": json.loads(head)["recipe"], "last line": last}


def by_lapack(x, y):
    """The Frechet distance with NumPy's own means, covariances and eigenvalues: equal but for rounding."""
    c, d = np.cov(x.T.astype(np.float64)), np.cov(y.T.astype(np.float64))
    values, vectors = np.linalg.eigh(c)
    s = (vectors * np.sqrt(values.clip(0))) @ vectors.T
    m = x.astype(np.float64).mean(axis=0) - y.astype(np.float64).mean(axis=0)
    return m @ m + np.trace(c) + np.trace(d) - 2 * np.sqrt(np.linalg.eigvalsh(s @ d @ s).clip(0)).sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("recipes")
    parser.add_argument("--break", dest="rule", choices=sorted(BREAKS))
    options = parser.parse_args()
    if options.rule:
        BREAKS[options.rule][0]()
    with tempfile.TemporaryDirectory() as folder:
        said, right, features = said_and_right(options, folder)
    said["hash"] = said["features"]["hash"]
    differing = [key for key, value in right.items() if said[key] != value]
    for key, value in right.items():
        print(f"{key}: {said[key]}{f', not {value}' if key in differing else ''}")
    if options.rule:
        return 0 if differing and differing[0] == BREAKS[options.rule][1] else 1
    near = abs(by_lapack(*features) / said["frechet_distance"] - 1) < 1e-9
    return 1 if differing or not near else 0


if __name__ == "__main__":
    sys.exit(main())
