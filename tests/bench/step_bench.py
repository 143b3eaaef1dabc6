#!/usr/bin/env python3
"""Training steps a second, against another program or another setting, interleaved in one run; for questions that
tools/bench does not ask.

  tests/bench/step_bench.py --threads 2 --reps 5 \
      --other 'PYTHONPATH=.deps/bench tests/bench/pytorch/train.py tests/bench/unet.toml --steps 8 --threads 2'
  tests/bench/step_bench.py --threads 1 --reps 5 --ranks 2 --variant evidence.witness_rate=0.25

The other program prints a JSON line with `steps_per_s` last. With --ranks our program
runs also as that many processes of --threads threads, against --other-ranks; with --variant also with a changed key,
against itself (on as many ranks as there are). Each repetition runs all, in random order; ratios are taken inside a
repetition, because machines drift: of the median step, and for --variant of the mean one, since not every step has
a witness. Prints one JSON line.
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


def lockstep(args, ranks, settings=()):
    """Steps a second of our program by its median and by its mean step, first steps left out."""
    folder = tempfile.mkdtemp()
    try:
        command = [args.lockstep, "train", args.recipe, "--run", folder, "--threads", str(args.threads), "--quiet"]
        command += ["--ranks", str(ranks)] if ranks > 1 else []
        for setting in [*args.set, *settings]:
            command += ["--set", setting]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "metrics.jsonl")) as file:
            seconds = [json.loads(line)["seconds"] for line in file][WARM_UP:]
        return 1 / statistics.median(seconds), 1 / statistics.mean(seconds)
    finally:
        shutil.rmtree(folder)


def other(command):
    out = subprocess.run(command, shell=True, check=True, stdout=subprocess.PIPE, text=True).stdout
    return (json.loads([line for line in out.splitlines() if line.startswith("{")][-1])["steps_per_s"],)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lockstep", default=os.path.join(TOP, "build/release/bin/lockstep"))
    parser.add_argument("--recipe", default=os.path.join(TOP, "tests/bench/unet.toml"))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the recipe, always")
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--other", help="shell command whose last JSON line has steps_per_s")
    parser.add_argument("--other-ranks", help="the same, as many processes as --ranks")
    parser.add_argument("--variant", action="append", default=[], metavar="KEY=VALUE")
    args = parser.parse_args()
    programs, pairs = {"lockstep": lambda: lockstep(args, 1)}, []
    if args.other:
        programs["other"] = lambda: other(args.other)
        pairs.append(("lockstep", "other"))
    if args.ranks > 1:
        programs["lockstep_ranks"] = lambda: lockstep(args, args.ranks)
        pairs.append(("lockstep_ranks", "lockstep"))
    if args.other_ranks:
        programs["other_ranks"] = lambda: other(args.other_ranks)
        pairs.append(("lockstep_ranks", "other_ranks"))
    plain = "lockstep_ranks" if args.ranks > 1 else "lockstep"
    for setting in args.variant:
        programs[setting] = lambda setting=setting: lockstep(args, args.ranks, [setting])
        pairs.append((setting, plain))

    speeds = {name: [] for name in programs}
    for rep in range(args.reps):
        for name in random.sample(list(programs), len(programs)):
            speeds[name].append(programs[name]())
        print(f"repetition {rep}: " + ", ".join(f"{name} {speeds[name][-1][0]:.3f}" for name in programs) + " steps/s",
              file=sys.stderr)
    ratios = {}
    for one, base in pairs:
        which = 1 if one in args.variant else 0
        each = [a[which] / b[which] for a, b in zip(speeds[one], speeds[base])]
        ratios[f"{one} / {base}"] = {"median": statistics.median(each), "min": min(each), "max": max(each)}
    print(json.dumps({"threads": args.threads, "ranks": args.ranks, "reps": args.reps,
                      "steps_per_s": {name: statistics.median(s[0] for s in speeds[name]) for name in programs}, "ratios": ratios}))


if __name__ == "__main__":
    main()
