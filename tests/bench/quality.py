#!/usr/bin/env python3
"""Does training with integer products (run.products) lose quality, compared with what bf16 loses in PyTorch?

  tests/bench/quality.py                                DDPM and SNGAN, seeds 1, 2, 3: an hour of one core
  tests/bench/quality.py --part ddpm --steps 5000 --seeds 1,2,3,4,5
  tests/bench/quality.py --tiny                         a trial of this program: no PyTorch, no use

Runs are paired by seed: inside a program one seed means the same first weights, data and noise in every arithmetic. Both
programs train what the same recipe says, tests/bench/quality-ddpm.toml and quality-sngan.toml.
ddpm: the loss of the last fifth of the steps.
sngan: the kernel distance of 1000 made pictures to real ones (tests/bench/distance.py), by the averaged generator, at ten
points of a run. A distance goes up and down along a run, so what is compared is its mean over the last five points.
`native` and the spread of seeds show what a difference of this size means. Warm-up and horizon of the schedules follow
--steps. Prints Markdown; --json FILE: the numbers. Runs stay in --work, so what was interrupted goes on.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import contest
import machine
from programs import TOP, Programs

OURS = {"float": [], "integer": ["run.products=integer"], "native": ["run.numerics=native"]}
THEIRS = {"fp32": [], "bf16": ["--bf16"]}
NAMES = {"float": "Lockstep, float", "integer": "Lockstep, integer products", "native": "Lockstep, native",
         "fp32": "PyTorch, fp32", "bf16": "PyTorch, bf16 autocast"}
STEPS = {"ddpm": 500, "sngan": 2000}
WARM_UP = {"ddpm": 5, "sngan": 20}  # this part of the steps
POINTS = 10  # of a GAN's run, where its pictures are measured; the last half counts
PAIRS = [("integer", "float"), ("bf16", "fp32"), ("native", "float")]
TINY = {"ddpm": ["model.channels=[8,8]", "model.attention_levels=[1]", "model.embedding=8", "batch.samples_per_lane=1"],
        "sngan": ["generator.channels=[8,8]", "discriminator.channels=[8,8]", "batch.samples_per_lane=2"]}


class Context:
    """How much is run, and with what."""

    def __init__(self, args):
        self.tiny = args.tiny
        self.ours = [arithmetic for arithmetic in OURS if arithmetic != "native" or args.native]
        self.theirs = [] if args.tiny or args.no_pytorch else list(THEIRS)
        self.programs = Programs(args.binaries, args.work)
        self.steps = {part: args.steps or (4 if args.tiny else steps) for part, steps in STEPS.items()}
        self.pause = args.pause_while
        self.seeds = [1] if args.tiny else [int(seed) for seed in args.seeds.split(",")]
        self.pictures = 32 if args.tiny else 1000

    def recipe(self, part):
        return os.path.join(TOP, f"tests/bench/quality-{part}.toml")

    def folder(self, part):
        path = os.path.join(self.programs.work, f"quality-{part}-{'tiny-' if self.tiny else ''}{self.steps[part]}")
        os.makedirs(path, exist_ok=True)
        return path

    def settings(self, part, seed):
        optimizers = ["model.optimizer"] if part == "ddpm" else ["generator.optimizer", "discriminator.optimizer"]
        steps = self.steps[part]
        found = [f"run.seed={seed}", f"run.steps={steps}"]
        for optimizer in optimizers:
            found += [f"{optimizer}.horizon={steps}", f"{optimizer}.warmup={steps // WARM_UP[part]}"]
        found += [f"checkpoint.every={self.every() if part == 'sngan' else steps // 5}", "checkpoint.keep_last=0"]
        found += TINY[part] if self.tiny else []
        return [word for setting in found for word in ("--set", setting)]

    def every(self):
        """Steps between points of a GAN's run."""
        return max(self.steps["sngan"] // POINTS, 1)

    def begin(self, part, arithmetic, seed):
        while self.pause and os.path.exists(self.pause):
            time.sleep(2)
        contest.say(f"  {part}, seed {seed}: {NAMES[arithmetic]}")

    def train(self, part, arithmetic, seed):
        """The run's folder; a finished run is left as it is."""
        run = os.path.join(self.folder(part), f"lockstep-{arithmetic}-{seed}")
        extra = [word for setting in OURS[arithmetic] for word in ("--set", setting)]
        self.begin(part, arithmetic, seed)
        self.programs.call([self.programs.binary("lockstep"), "train", self.recipe(part), "--run", run, "--quiet",
                            "--threads", "1", *self.settings(part, seed), *extra])
        return run

    def train_there(self, part, arithmetic, seed, *words):
        """In PyTorch, the recipe that ours resolves to."""
        self.begin(part, arithmetic, seed)
        recipe = os.path.join(self.folder(part), f"recipe-{seed}.toml")
        shown = self.programs.call([self.programs.binary("lockstep"), "train", self.recipe(part), "--dry-run", "--json",
                                    *self.settings(part, seed)])
        with open(recipe, "w") as file:
            file.write(json.loads(shown)["recipe"])
        self.programs.pytorch("train.py", recipe, "--warm-up", 0, "--steps", self.steps[part], *THEIRS[arithmetic], *words)


def our_losses(context, arithmetic, seed):
    with open(os.path.join(context.train("ddpm", arithmetic, seed), "metrics.jsonl")) as file:
        by_step = {line["step"]: line["loss"]["denoise"] for line in map(json.loads, file) if "loss" in line}
    return [by_step[step] for step in range(1, context.steps["ddpm"] + 1)]


def their_losses(context, arithmetic, seed):
    losses = os.path.join(context.folder("ddpm"), f"pytorch-{arithmetic}-{seed}.json")
    if not os.path.exists(losses):
        context.train_there("ddpm", arithmetic, seed, "--losses", losses)
    with open(losses) as file:
        return json.load(file)


def ddpm(context):
    losses = {}
    for seed in context.seeds:
        for arithmetic in context.ours:
            losses.setdefault(arithmetic, []).append(our_losses(context, arithmetic, seed))
        for arithmetic in context.theirs:
            losses.setdefault(arithmetic, []).append(their_losses(context, arithmetic, seed))
    steps = context.steps["ddpm"]
    last = max(steps // 5, 1)
    means = {arithmetic: [statistics.mean(each[-last:]) for each in runs] for arithmetic, runs in losses.items()}
    width = max(steps // 10, 1)
    curve = {arithmetic: [statistics.mean(runs[0][i:i + width]) for i in range(0, steps, width)]
             for arithmetic, runs in losses.items()}
    return {"last": last, "means": means, "width": width, "curve": curve, "losses": losses}


def table(head, rows):
    return "\n".join(["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)])


def differences(context, means, shown, difference):
    """A table: each pair seed by seed, mean, and the mean's standard error, from the spread between seeds."""
    rows = []
    for one, other in PAIRS:
        if one in means and other in means:
            values = [difference(a, b) for a, b in zip(means[one], means[other])]
            error = shown.format(statistics.stdev(values) / len(values) ** 0.5).lstrip("+") if len(values) > 1 else "unknown"
            rows.append([f"{one} - {other}", *map(shown.format, values), shown.format(statistics.mean(values)), error])
    return table(["difference", *(f"seed {seed}" for seed in context.seeds), "mean", "standard error"], rows)


def ddpm_tables(context, raw):
    means, seeds = raw["means"], [f"seed {seed}" for seed in context.seeds]
    rows = [[NAMES[a], *(f"{value:.5f}" for value in values), f"{statistics.mean(values):.5f}"] for a, values in means.items()]
    found = [f"Mean loss of the last {raw['last']} of {context.steps['ddpm']} steps:", table(["arithmetic", *seeds, "mean"], rows)]
    found += ["Paired differences, in percent of the loss:",
              differences(context, means, "{:+.2f} %", lambda a, b: 100 * (a / b - 1))]
    rows = [[str((i + 1) * raw["width"]), *(f"{values[i]:.4f}" for values in raw["curve"].values())]
            for i in range(len(next(iter(raw["curve"].values()))))]
    found += [f"The curve of {seeds[0]}: loss averaged over {raw['width']} steps, up to this one:", table(["step", *raw["curve"]], rows)]
    return found


def our_pictures(context, arithmetic, seed):
    """Files by step."""
    run, files = context.train("sngan", arithmetic, seed), {}
    for step in points(context):
        files[step] = f"{run}-{step}.npz"
        if not os.path.exists(files[step]):
            context.programs.call([context.programs.binary("lockstep"), "sample", f"{run}@{step}", "--count", str(context.pictures),
                                   "--threads", "1", "--out", files[step]])
    return files


def their_pictures(context, arithmetic, seed):
    folder = os.path.join(context.folder("sngan"), f"pytorch-{arithmetic}-{seed}")
    os.makedirs(folder, exist_ok=True)
    files = {step: os.path.join(folder, f"step-{step:08d}.npz") for step in points(context)}
    if not all(map(os.path.exists, files.values())):
        context.train_there("sngan", arithmetic, seed, "--samples", folder, "--samples-every", context.every(),
                            "--count", context.pictures)
    return files


def points(context):
    return range(context.every(), context.steps["sngan"] + 1, context.every())


def sngan(context):
    files = {}
    for seed in context.seeds:
        for arithmetic in context.ours:
            files.setdefault(arithmetic, []).append(our_pictures(context, arithmetic, seed))
        for arithmetic in context.theirs:
            files.setdefault(arithmetic, []).append(their_pictures(context, arithmetic, seed))
    paths = [path for runs in files.values() for run in runs for path in run.values()]
    found = json.loads(context.programs.call(
        [os.path.join(TOP, ".deps/venv/bin/python"), "-B", os.path.join(TOP, "tests/bench/distance.py"),
         "--count", str(context.pictures), *paths], env=dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")))
    curves = {arithmetic: [[found["files"][path] for path in run.values()] for run in runs] for arithmetic, runs in files.items()}
    last = max(len(points(context)) // 2, 1)
    means = {arithmetic: [statistics.mean(run[-last:]) for run in runs] for arithmetic, runs in curves.items()}
    return {"pictures": context.pictures, "last": last, "means": means, "curves": curves, "floor": found["floor"]}


def sngan_tables(context, raw):
    means, curves, seeds = raw["means"], raw["curves"], [f"seed {seed}" for seed in context.seeds]
    rows = [[NAMES[a], *(f"{value:.4f}" for value in values), f"{statistics.mean(values):.4f}"] for a, values in means.items()]
    counted = ", ".join(str(step) for step in points(context)[-raw["last"]:])
    found = [f"Kernel distance of {raw['pictures']} pictures, mean of steps {counted}, less is better; {raw['floor']:.4f} between "
             "real pictures:", table(["arithmetic", *seeds, "mean"], rows)]
    found += ["Paired differences:", differences(context, means, "{:+.4f}", lambda a, b: a - b)]
    along = {a: [statistics.mean(values) for values in zip(*runs)] for a, runs in curves.items()}
    rows = [[str(step), *(f"{values[i]:.{0 if values[i] > 9 else 4}f}" for values in along.values())]
            for i, step in enumerate(points(context))]
    found += ["The curve: distance at each of these steps, mean of the seeds:", table(["step", *curves], rows)]
    return found


PARTS = {"ddpm": (ddpm, ddpm_tables), "sngan": (sngan, sngan_tables)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=PARTS, help="this one; may be repeated")
    parser.add_argument("--steps", type=int, help="of each run: 500 of ddpm, 2000 of sngan")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--native", action="store_true", help="also native numerics: other roundings of the same precision")
    parser.add_argument("--no-pytorch", action="store_true")
    parser.add_argument("--json", default=None, metavar="FILE", help="WORK/quality.json if not given")
    parser.add_argument("--pause-while", default=None, metavar="FILE", help="no run begins while this file exists")
    parser.add_argument("--tiny", action="store_true", help="a trial of this program: tiny networks of ours, four steps, one seed")
    parser.add_argument("--binaries", default=os.path.join(TOP, "build/release/bin"), metavar="FOLDER")
    parser.add_argument("--work", default=os.path.join(TOP, "build/bench/quality"), metavar="FOLDER")
    args = parser.parse_args()
    context, numbers = Context(args), {}
    if context.theirs and not os.path.exists(os.path.join(TOP, ".deps/bench/VERSION")):
        sys.exit("quality: there is no PyTorch to compare with (tools/bootstrap --bench, or --no-pytorch)")
    words = ["tests/bench/quality.py", *(["--tiny"] if args.tiny else []), *(["--steps", str(args.steps)] if args.steps else []),
             *(["--seeds", args.seeds] if args.seeds != "1,2,3" else []), *(["--native"] if args.native else []),
             *(["--no-pytorch"] if args.no_pytorch else [])]
    for part in args.part or PARTS:
        about = machine.facts(TOP, " ".join([*words, "--part", part]))
        chip = about["cpu"]
        measure, tables = PARTS[part]
        try:
            raw = measure(context)
        except subprocess.CalledProcessError as error:
            sys.exit(f"quality: {part}: exit code {error.returncode}: {(error.stderr or 'no message').strip().splitlines()[-1]}")
        numbers[part] = {"about": about, **raw}
        print(machine.wrapped(f"`{about['command']}`, {about['date']}, commit {about['commit']}; {chip['model']} with "
                              f"{' '.join(chip['flags'])}; each run on one thread."))
        print("\n" + "\n\n".join(tables(context, raw)) + "\n", flush=True)
    path = args.json or os.path.join(args.work, "quality.json")
    with open(path, "w") as file:
        json.dump(numbers, file, indent=1)
    contest.say(f"numbers in {path}")


if __name__ == "__main__":
    main()
