"""Steps of a golden recipe with other options: every field of the program's ledger against the pages.

    test_options.py PROGRAM RECIPE --steps N --set KEY=VALUE …    exit code 0 if all fields are equal
        [--break RULE]    a broken rule of the reference: 0 if a step's loss, held-out loss or state is the first to differ,
                          or what breaks.py says of the rule
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import breaks
import option_breaks
from train import as_it_must, compare, read_ledger
from trainer import Trainer


def main():
    rules = option_breaks.BREAKS | {rule: one.apply for rule, one in breaks.BREAKS.items()}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("recipe")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--break", dest="rule", choices=sorted(rules))
    options = parser.parse_args()
    if options.rule:
        rules[options.rule]()
    changes = [word for change in options.set for word in ("--set", change)]
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        subprocess.run([options.program, "train", options.recipe, "--run", run, "--set", f"run.steps={options.steps}",
                        "--set", "samples.count=0", *changes, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        lines = read_ledger(os.path.join(run, "ledger.jsonl"))
        trainer = Trainer(os.path.join(run, "recipe.toml"), json.loads(lines[0])["semantics"])
        found = compare(trainer, lines, options.steps, stop=True)
    if options.rule in breaks.BREAKS:
        return 0 if as_it_must(options.rule, found) else 1
    if options.rule:
        return 0 if found and found[0][0] > 0 and found[0][1][0] in ("loss", "validation", "state") else 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
