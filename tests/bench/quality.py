#!/usr/bin/env python3
"""Does training with integer products (run.products) lose quality, compared with what bf16 loses in PyTorch?

  tests/bench/quality.py                                DDPM and SNGAN, seeds 1, 2, 3: a quarter of an hour of one core
  tests/bench/quality.py --part ddpm --steps 5000 --seeds 1,2,3,4,5
  tests/bench/quality.py --tiny                         a trial of this program: no PyTorch, no use

Runs are paired by seed: inside a program one seed means the same first weights, data and noise in every arithmetic.
ddpm: the loss of the last fifth of the steps, tests/bench/quality-ddpm.toml, ours and PyTorch's from the same recipe.
sngan: the kernel distance of 1000 made pictures to real ones (tests/bench/distance.py), ours alone.
`native` and the other rows beside the question show what a difference of this size means. Warm-up and horizon of the
schedules follow --steps. Prints Markdown; --json FILE: the numbers. Runs stay in --work, so what was interrupted goes on.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import contest
import machine
from programs import TOP, Programs

OURS = {"float": [], "integer": ["run.products=integer"], "native": ["run.numerics=native"]}
THEIRS = {"fp32": [], "bf16": ["--bf16"]}
NAMES = {"float": "Lockstep, float", "integer": "Lockstep, integer products", "native": "Lockstep, native",
         "fp32": "PyTorch, fp32", "bf16": "PyTorch, bf16 autocast"}
PAIRS = [("integer", "float"), ("bf16", "fp32"), ("native", "float")]
TINY = {"ddpm": ["model.channels=[8,8]", "model.attention_levels=[1]", "model.embedding=8", "batch.samples_per_lane=1"],
        "sngan": ["generator.channels=[8,8]", "discriminator.channels=[8,8]", "batch.samples_per_lane=2"]}


class Context:
    """How much is run, and with what."""

    def __init__(self, args):
        self.tiny, self.pytorch, self.native = args.tiny, not args.tiny and not args.no_pytorch, args.native
        self.programs = Programs(args.binaries, args.work)
        self.steps = args.steps or (4 if args.tiny else 500)
        self.seeds = [1] if args.tiny else [int(seed) for seed in args.seeds.split(",")]
        self.pictures = 32 if args.tiny else 1000

    def recipe(self, part):
        return os.path.join(TOP, f"tests/bench/quality-{part}.toml")

    def folder(self, part):
        path = os.path.join(self.programs.work, f"quality-{part}-{'tiny-' if self.tiny else ''}{self.steps}")
        os.makedirs(path, exist_ok=True)
        return path

    def settings(self, part, seed):
        optimizers = ["model.optimizer"] if part == "ddpm" else ["generator.optimizer", "discriminator.optimizer"]
        found = [f"run.seed={seed}", f"run.steps={self.steps}"]
        for optimizer in optimizers:
            found += [f"{optimizer}.horizon={self.steps}", f"{optimizer}.warmup={self.steps // 5}"]
        if part == "sngan":
            found.append(f"checkpoint.every={self.steps // 2}")
        found += TINY[part] if self.tiny else []
        return [word for setting in found for word in ("--set", setting)]

    def train(self, part, arithmetic, seed):
        """The run's folder; a finished run is left as it is."""
        run = os.path.join(self.folder(part), f"lockstep-{arithmetic}-{seed}")
        extra = [word for setting in OURS[arithmetic] for word in ("--set", setting)]
        contest.say(f"  {part}, seed {seed}: {NAMES[arithmetic]}")
        self.programs.call([self.programs.binary("lockstep"), "train", self.recipe(part), "--run", run, "--quiet",
                            "--threads", "1", *self.settings(part, seed), *extra])
        return run


def our_losses(context, arithmetic, seed):
    with open(os.path.join(context.train("ddpm", arithmetic, seed), "metrics.jsonl")) as file:
        by_step = {line["step"]: line["loss"]["denoise"] for line in map(json.loads, file)}
    return [by_step[step] for step in range(1, context.steps + 1)]


def their_losses(context, arithmetic, seed):
    """Of the recipe that ours resolves to."""
    recipe = os.path.join(context.folder("ddpm"), f"recipe-{seed}.toml")
    losses = os.path.join(context.folder("ddpm"), f"pytorch-{arithmetic}-{seed}.json")
    if not os.path.exists(losses):
        contest.say(f"  ddpm, seed {seed}: {NAMES[arithmetic]}")
        shown = context.programs.call([context.programs.binary("lockstep"), "train", context.recipe("ddpm"), "--dry-run", "--json",
                                       *context.settings("ddpm", seed)])
        with open(recipe, "w") as file:
            file.write(json.loads(shown)["recipe"])
        context.programs.pytorch("train.py", recipe, "--warm-up", 0, "--steps", context.steps, "--losses", losses, *THEIRS[arithmetic])
    with open(losses) as file:
        return json.load(file)


def ddpm(context):
    losses = {}
    for seed in context.seeds:
        for arithmetic in OURS:
            if arithmetic != "native" or context.native:
                losses.setdefault(arithmetic, []).append(our_losses(context, arithmetic, seed))
        for arithmetic in THEIRS if context.pytorch else []:
            losses.setdefault(arithmetic, []).append(their_losses(context, arithmetic, seed))
    last = max(context.steps // 5, 1)
    means = {arithmetic: [statistics.mean(each[-last:]) for each in runs] for arithmetic, runs in losses.items()}
    width = max(context.steps // 10, 1)
    curve = {arithmetic: [statistics.mean(runs[0][i:i + width]) for i in range(0, context.steps, width)]
             for arithmetic, runs in losses.items()}
    return {"last": last, "means": means, "width": width, "curve": curve, "losses": losses}


def table(head, rows):
    return "\n".join(["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)])


def percents(values):
    return [*(f"{value:+.2f} %" for value in values), f"{statistics.mean(values):+.2f} %", f"{max(map(abs, values)):.2f} %"]


def ddpm_tables(context, raw):
    means, seeds = raw["means"], [f"seed {seed}" for seed in context.seeds]
    rows = [[NAMES[a], *(f"{value:.5f}" for value in values), f"{statistics.mean(values):.5f}"] for a, values in means.items()]
    found = [f"Mean loss of the last {raw['last']} of {context.steps} steps:", table(["arithmetic", *seeds, "mean"], rows)]
    rows = [[f"{one} - {other}", *percents([100 * (a / b - 1) for a, b in zip(means[one], means[other])])]
            for one, other in PAIRS if one in means and other in means]
    found += ["Paired differences, in percent of the loss:", table(["difference", *seeds, "mean", "largest"], rows)]
    rows = [[str((i + 1) * raw["width"]), *(f"{values[i]:.4f}" for values in raw["curve"].values())]
            for i in range(len(next(iter(raw["curve"].values()))))]
    found += [f"The curve of {seeds[0]}: loss averaged over {raw['width']} steps, up to this one:", table(["step", *raw["curve"]], rows)]
    return found


def sngan(context):
    """Distances of pictures from the last checkpoint, and of float from the one in the middle."""
    files = {}
    for seed in context.seeds:
        runs = {arithmetic: context.train("sngan", arithmetic, seed) for arithmetic in ("float", "integer")}
        sources = {**runs, "middle": f"{runs['float']}@{context.steps // 2}"}
        for name, source in sources.items():
            out = os.path.join(context.folder("sngan"), f"{name}-{seed}.npz")
            context.programs.call([context.programs.binary("lockstep"), "sample", source, "--count", str(context.pictures),
                                   "--threads", "1", "--out", out])
            files.setdefault(name, []).append(out)
    paired = [path for two in zip(files["float"], files["integer"]) for path in two]
    found = json.loads(context.programs.call(
        [os.path.join(TOP, ".deps/venv/bin/python"), "-B", os.path.join(TOP, "tests/bench/distance.py"),
         "--count", str(context.pictures), *paired, *files["middle"]], env=dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")))
    values = {name: [found["files"][path] for path in paths] for name, paths in files.items()}
    return {"pictures": context.pictures, "values": values, "floor": found["floor"], "pairs": found["pairs"][:len(context.seeds)]}


def shown_range(value):
    return f"{value['range'][0]:+.3f} to {value['range'][1]:+.3f}"


def sngan_tables(context, raw):
    def cell(value):
        return f"{value['distance']:.4f} ({shown_range(value)})"

    values, seeds = raw["values"], [f"seed {seed}" for seed in context.seeds]
    names = {"float": NAMES["float"], "integer": NAMES["integer"], "middle": f"Lockstep, float, step {context.steps // 2} only"}
    rows = [[names[name], *map(cell, each), f"{statistics.mean(v['distance'] for v in each):.4f}"] for name, each in values.items()]
    rows += [["PyTorch, fp32 and bf16", *["no SNGAN there, not run"] * len(seeds), ""],
             ["other real pictures", *[cell(raw["floor"])] * len(seeds), f"{raw['floor']['distance']:.4f}"]]
    differences = [a["distance"] - b["distance"] for a, b in zip(values["integer"], values["float"])]
    row = [f"{value:+.4f} ({shown_range(pair)})" for value, pair in zip(differences, raw["pairs"])]
    row += [f"{statistics.mean(differences):+.4f}", f"{max(map(abs, differences)):.4f}"]
    return [f"Kernel distance of {raw['pictures']} pictures after {context.steps} steps, less is better; in brackets 5 % to 95 % of "
            "subsets of half of them:", table(["arithmetic", *seeds, "mean"], rows),
            "Paired differences (brackets: over the same subsets of both):",
            table(["difference", *seeds, "mean", "largest"], [["integer - float", *row]])]


PARTS = {"ddpm": (ddpm, ddpm_tables), "sngan": (sngan, sngan_tables)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=PARTS, help="this one; may be repeated")
    parser.add_argument("--steps", type=int, help="of each run: 500")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--native", action="store_true", help="ddpm also in native numerics: other roundings of the same precision")
    parser.add_argument("--no-pytorch", action="store_true")
    parser.add_argument("--json", default=None, metavar="FILE", help="WORK/quality.json if not given")
    parser.add_argument("--tiny", action="store_true", help="a trial of this program: tiny networks of ours, four steps, one seed")
    parser.add_argument("--binaries", default=os.path.join(TOP, "build/release/bin"), metavar="FOLDER")
    parser.add_argument("--work", default=os.path.join(TOP, "build/bench/quality"), metavar="FOLDER")
    args = parser.parse_args()
    context, numbers = Context(args), {}
    if context.pytorch and not os.path.exists(os.path.join(TOP, ".deps/bench/VERSION")):
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
