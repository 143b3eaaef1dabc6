"""Trains a recipe from docs/ alone and compares every field of every step with its ledger.

    train.py RECIPE LEDGER [--steps N]              exit code 0 if all fields of the first N steps, or of the recipe's, are equal, else 1
    train.py RECIPE LEDGER --steps N --break RULE   one broken rule: 0 if the right field is the first to differ

It needs Python 3.11 and NumPy. Scalar computations (host scalars, schedules, hashes of bytes) come from ../. NumPy
adds, multiplies, divides, takes roots and converts, element by element; none of its sums, matrix products or functions
touches floats, except integers that binary64 holds exactly (integer_arrays), so neither its version nor the machine can
change a bit.

    recipe, data, labels, streams      what is trained, on what, with which random numbers
    fused, elementary, trees, lanes    exactly rounded fma, chains and functions over whole arrays; sums over the batch
    convolution_arrays, norms_arrays   operations with gradients
    integer_arrays, linear_arrays      integer products; the products of linear layers, of both kinds
    layers, attention, class_layers, networks, gan_networks, unet, dit, cnn, spectral    networks, their tensors, both ways
    gan, denoise, ddpm, flow, edm, classifier, optimizers, trainer     losses and phases, updates, a step
    state, hashes, ledger              digests and the ledger's lines
    sampling, test_sampling            samples from a checkpoint, against those of the program
    evaluation, test_evaluation        distances of features, against those of the program
    breaks, sample_breaks, controls    negative controls; those that share a run of the program
    test_floats                        steps and samples of fields and signals, against those of the program
    test_options, option_breaks        steps of a recipe with other options, against those of the program
    test_arrays, test_gradients, test_classes, changed    arrays against the exact scalar arithmetic of ../, gradients
                                       against finite differences, conditions; recipes with changes for them
"""
import argparse
import json
import os
import sys
import tomllib
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]  # ../ has the scalar arithmetic

import breaks  # noqa: E402
from trainer import Trainer  # noqa: E402

FIELDS = ("recipe", "data", "semantics", "step", "samples", "before", "loss", "validation", "state", "commit", "chain")


def read_ledger(path):
    with open(path, encoding="ascii") as file:
        return file.read().splitlines()


def differing(ours, published):
    """The fields that differ, in the order of FIELDS; numbers compare as they are printed."""
    a, b = (json.loads(line, parse_float=str, parse_int=str) for line in (ours, published))
    found = [field for field in FIELDS if a.get(field) != b.get(field)]
    return found if found or ours == published else ["text"]


def compare(trainer, lines, steps, stop):
    """[(step, fields)] of all lines that differ; step 0 is the header. With `stop` no step is taken after the first."""
    found = []

    def look(step, ours, note):
        fields = differing(ours, lines[step])
        print(f"step {step}: {'differing: ' + ', '.join(fields) if fields else 'equal'}{note}", flush=True)
        if fields:
            found.append((step, fields))
            print(f"  ours:   {ours}\n  ledger: {lines[step]}")
    look(0, trainer.header, "")
    for step in range(1, steps + 1):
        if found and stop:
            break
        start = time.monotonic()
        line = trainer.step()
        look(step, line, f", {time.monotonic() - start:.2f} s")
    return found


def as_it_must(rule, found):
    if not found:
        print("nothing differs")
        return False
    step, fields = found[0]
    expected = breaks.BREAKS[rule]
    seen = step > 0 and fields[0] in expected.first
    if expected.only:
        seen = seen and all(set(fields) <= set(expected.only) for _, fields in found)
    print(f"{rule}: {fields[0]} of step {step} is the first to differ, "
          + ("as it must be" if seen else f"not {' or '.join(expected.first)} (alone: {bool(expected.only)})"))
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recipe")
    parser.add_argument("ledger")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--break", dest="rule", choices=sorted(breaks.BREAKS))
    options = parser.parse_args()
    lines = read_ledger(options.ledger)
    steps = options.steps
    if steps is None:
        with open(options.recipe, "rb") as file:
            steps = tomllib.load(file)["run"]["steps"]
    if not 0 < steps < len(lines):
        parser.error(f"the ledger has {len(lines) - 1} steps")
    if options.rule:
        breaks.BREAKS[options.rule].apply()
    trainer = Trainer(options.recipe, json.loads(lines[0])["semantics"])
    rule = breaks.BREAKS.get(options.rule)
    if rule and not rule.concerns(trainer.recipe):
        parser.error(f"{options.rule} changes nothing of this recipe")
    stop = not rule or not rule.only
    found = compare(trainer, lines, steps, stop)
    if options.rule:
        return 0 if as_it_must(options.rule, found) else 1
    if found:
        print(f"{found[0][1][0]} of step {found[0][0]} differs")
        return 1
    print(f"all fields of {steps} steps are equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
