#!/usr/bin/env python3
"""Training steps a second, against another program, interleaved in one run.

  tests/bench/step_bench.py --threads 2 --reps 5 \
      --other 'python train_ddpm.py --steps 8 --warmup 2 --threads 2'

The other program prints a JSON line with `steps_per_s` last (the PyTorch baseline does). Each repetition runs
both, in random order; the ratio is taken inside a repetition, because machines drift. Prints one JSON line.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WARM_UP = 2


def lockstep(args):
    """Median steps a second of our program, first steps left out."""
    folder = tempfile.mkdtemp()
    try:
        command = [args.lockstep, "train", args.recipe, "--run", folder, "--threads", str(args.threads), "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "metrics.jsonl")) as file:
            seconds = [json.loads(line)["seconds"] for line in file][WARM_UP:]
        return 1 / statistics.median(seconds)
    finally:
        shutil.rmtree(folder)


def other(args):
    out = subprocess.run(args.other, shell=True, check=True, capture_output=True, text=True).stdout
    return json.loads([line for line in out.splitlines() if line.startswith("{")][-1])["steps_per_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lockstep", default=os.path.join(TOP, "build/release/bin/lockstep"))
    parser.add_argument("--recipe", default=os.path.join(TOP, "tests/bench/unet.toml"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--other", required=True, help="shell command whose last JSON line has steps_per_s")
    args = parser.parse_args()
    mine, theirs = [], []
    for rep in range(args.reps):
        runs = [(lockstep, mine), (other, theirs)]
        random.shuffle(runs)
        for measure, results in runs:
            results.append(measure(args))
        print(f"repetition {rep}: {mine[-1]:.3f} and {theirs[-1]:.3f} steps/s", file=sys.stderr)
    ratios = [a / b for a, b in zip(mine, theirs)]
    print(json.dumps({"threads": args.threads, "reps": args.reps, "lockstep_steps_per_s": statistics.median(mine),
                      "other_steps_per_s": statistics.median(theirs), "ratio": statistics.median(ratios),
                      "ratio_min": min(ratios), "ratio_max": max(ratios)}))


if __name__ == "__main__":
    main()
