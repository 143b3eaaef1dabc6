"""Steps of a golden recipe with other options: every field of the program's ledger against the pages.

    test_options.py PROGRAM RECIPE --steps N --set KEY=VALUE …    exit code 0 if all fields are equal
        [--controls RULE …]    broken rules of the reference, too: 0 if with each a step's loss, held-out loss or state is the
                               first to differ, or what breaks.py says of the rule; with --break, these alone
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
import controls
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
    controls.add_arguments(parser, rules)
    options = parser.parse_args()
    changes = [word for change in options.set for word in ("--set", change)]
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        subprocess.run([options.program, "train", options.recipe, "--run", run, "--set", f"run.steps={options.steps}",
                        "--set", "samples.count=0", *changes, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        lines = read_ledger(os.path.join(run, "ledger.jsonl"))

        def differing():
            trainer = Trainer(os.path.join(run, "recipe.toml"), json.loads(lines[0])["semantics"])
            return compare(trainer, lines, options.steps, stop=True)

        def seen(rule):
            rules[rule]()
            found = differing()
            if rule in breaks.BREAKS:
                return as_it_must(rule, found)
            return bool(found) and found[0][0] > 0 and found[0][1][0] in ("loss", "validation", "state")
        return controls.exit_code(options, lambda: not differing(), seen)


if __name__ == "__main__":
    sys.exit(main())
