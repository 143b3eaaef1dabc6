#!/usr/bin/env python3
"""Is what Lockstep trains as good as what PyTorch trains: the same model, the same number of steps, several seeds of each?

  tests/bench/against_pytorch.py                        DDPM, DiT with rectified flow and SNGAN; seeds 1, 2, 3: two hours of one core
  tests/bench/against_pytorch.py --model dit --budget 2 --seeds 1,2,3,4,5
  tests/bench/against_pytorch.py --tiny                 a trial of this program, no use

The recipes are recipes/fashion-mnist-*.toml with fewer steps; warm-up and horizon of the schedules follow. Both programs train
what the recipe resolves to, on one thread, and make pictures by the averaged weights. Random numbers are each program's own, so
seeds are not paired. One judge for both: `lockstep eval PICTURES.npz` in the features of recipes/fashion-mnist-classifier.toml.
A difference of means is judged against the spread of the seeds by Student's t, two sides, 95 %: one comparison in twenty of
equal programs is beyond it. Prints Markdown; exit code 1: a Frechet distance of Lockstep is worse beyond the spread.
Runs and pictures stay in --work, so what was interrupted goes on. --json FILE: the numbers.
"""
import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys

import contest
import machine
from page import table
from programs import TOP, Programs

DATA = "/usr/share/datasets/fashion-mnist"
HELD_OUT = os.path.join(DATA, "t10k-images-idx3-ubyte.gz")
MODELS = {  # steps; the key that a schedule's end has, and those of warm-ups with their part of the steps; other settings
    "ddpm": (1000, ["model.optimizer.horizon"], {"model.optimizer.warmup": 20}, ["objective.sampler_steps=25"]),
    "dit": (2000, ["model.optimizer.horizon"], {"model.optimizer.warmup": 20}, ["objective.sampler_steps=25"]),
    "sngan": (1500, ["generator.optimizer.horizon"], {"discriminator.optimizer.warmup": 30}, [])}
NAMES = {"ddpm": "DDPM", "dit": "DiT, flow", "sngan": "SNGAN"}
PROGRAMS = {"lockstep": "Lockstep", "pytorch": "PyTorch"}
SCORES = {  # of eval's report, and the loss: name, digits, whether less is better
    "frechet_distance": ("Frechet distance", 2, True), "kernel_distance": ("kernel distance", 1, True),
    "precision": ("precision", 3, False), "recall": ("recall", 3, False), "density": ("density", 3, False),
    "coverage": ("coverage", 3, False), "loss": ("training loss, last fifth", 5, True)}
STUDENT = {2: 4.303, 4: 2.776, 6: 2.447, 8: 2.306, 10: 2.228, 12: 2.179, 14: 2.145, 16: 2.120, 18: 2.101}  # by degrees of freedom
TINY = {"ddpm": ["model.channels=[8,8]", "model.attention_levels=[1]", "model.embedding=8", "batch.samples_per_lane=1"],
        "dit": ["model.width=8", "model.depth=1", "model.heads=2", "model.embedding=8", "batch.samples_per_lane=1"],
        "sngan": ["generator.channels=[8,8]", "discriminator.channels=[8,8]", "batch.samples_per_lane=2"],
        "classifier": ["run.steps=4", "model.channels=[8,8]", "model.features=8", "model.optimizer.horizon=4", "model.optimizer.warmup=0",
                       "batch.samples_per_lane=1"]}


def set_all(settings):
    return [word for setting in settings for word in ("--set", setting)]


class Context:
    """How much is run, and with what."""

    def __init__(self, args):
        self.tiny, self.seeds = args.tiny, [int(seed) for seed in args.seeds.split(",")]
        self.programs = Programs(args.binaries, args.work)
        self.steps = {model: 4 if args.tiny else round(args.budget * steps) for model, (steps, *_) in MODELS.items()}
        self.pictures = 64 if args.tiny else 1024
        self.classifier = args.classifier or self.trained_classifier()

    def path(self, model, name):
        folder = os.path.join(self.programs.work, f"{model}-{self.steps[model]}")
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, name)

    def lockstep(self, *words):
        return self.programs.call([self.programs.binary("lockstep"), *words])

    def train(self, recipe, run, settings):
        """A finished run is left as it is."""
        contest.say(f"  {run}")
        self.lockstep("train", os.path.join(TOP, f"recipes/fashion-mnist-{recipe}.toml"), "--run", run, "--quiet", "--threads", "1",
                      *set_all(settings))

    def trained_classifier(self):
        run = os.path.join(self.programs.work, "classifier")
        self.train("classifier", run, TINY["classifier"] if self.tiny else [])
        return run

    def settings(self, model, seed):
        steps, (_, horizons, warm_ups, others) = self.steps[model], MODELS[model]
        return [f"run.seed={seed}", f"run.steps={steps}", "checkpoint.every=0", "samples.count=0", "monitor.every=0",
                *(f"{key}={steps}" for key in horizons), *(f"{key}={steps // part}" for key, part in warm_ups.items()), *others,
                *(TINY[model] if self.tiny else [])]


def lockstep(context, model, seed):
    """A run's pictures, and its losses by step."""
    run = context.path(model, f"lockstep-{seed}")
    context.train(model, run, context.settings(model, seed))
    if not os.path.exists(f"{run}.npz"):
        context.lockstep("sample", run, "--count", str(context.pictures), "--threads", "1", "--out", f"{run}.npz")
    with open(os.path.join(run, "metrics.jsonl")) as file:
        by_step = {line["step"]: line["loss"] for line in map(json.loads, file) if "loss" in line}
    return f"{run}.npz", [by_step[step].get("denoise", 0.0) for step in range(1, context.steps[model] + 1)]


def pytorch(context, model, seed):
    folder, steps = context.path(model, f"pytorch-{seed}"), context.steps[model]
    os.makedirs(folder, exist_ok=True)
    recipe, losses, pictures = (os.path.join(folder, name) for name in ("recipe.toml", "losses.json", f"step-{steps:08d}.npz"))
    if not os.path.exists(losses):  # what is written last
        contest.say(f"  {folder}")
        shown = context.lockstep("train", os.path.join(TOP, f"recipes/fashion-mnist-{model}.toml"), "--dry-run", "--json",
                                 *set_all(context.settings(model, seed)))
        with open(recipe, "w") as file:
            file.write(json.loads(shown)["recipe"])
        context.programs.pytorch("train.py", recipe, "--warm-up", 0, "--steps", steps, "--samples", folder, "--samples-every", steps,
                                 "--count", context.pictures, "--losses", losses)
    with open(losses) as file:
        return pictures, json.load(file)


TRAIN = {"lockstep": lockstep, "pytorch": pytorch}


def scored(context, pictures):
    return json.loads(context.lockstep("eval", pictures, "--features", context.classifier, "--data", DATA, "--samples",
                                       str(context.pictures), "--threads", "1", "--quiet", "--json"))


def held_out(context):
    """Pictures of the test set, as NumPy's format has them."""
    path = os.path.join(context.programs.work, f"held-out-{context.pictures}.npy")
    with gzip.open(HELD_OUT) as file:
        pixels = file.read(16 + 784 * context.pictures)[16:]
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({context.pictures}, 28, 28, 1), }}".ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + pixels)
    return path


def measure(context, model):
    """Of each score the values of each program, a seed each."""
    found = {}
    for seed in context.seeds:
        for program, train in TRAIN.items():
            pictures, losses = train(context, model, seed)
            scores = scored(context, pictures)
            if model != "sngan":  # a GAN's says nothing
                scores["loss"] = statistics.mean(losses[-max(len(losses) // 5, 1):])
            for score in SCORES:
                if score in scores:
                    found.setdefault(score, {}).setdefault(program, []).append(scores[score])
    return found


def judged(ours, theirs, less_is_better):
    """Difference of means; how large it may be by the seeds alone; in words."""
    count = len(ours)
    difference = statistics.mean(ours) - statistics.mean(theirs)
    pooled = (statistics.variance(ours) + statistics.variance(theirs)) / 2
    limit = STUDENT[2 * count - 2] * (2 * pooled / count) ** 0.5
    if abs(difference) <= limit:
        return difference, limit, "within the spread"
    return difference, limit, f"{PROGRAMS['lockstep' if (difference < 0) == less_is_better else 'pytorch']} is better"


def tables(context, found, real):
    """Markdown of a model: the scores, then the judgements."""
    rows, judgements = [], []
    for score, values in found.items():
        name, digits, less = SCORES[score]
        for program, each in values.items():
            rows.append([name, PROGRAMS[program], *(f"{value:.{digits}f}" for value in each), f"{statistics.mean(each):.{digits}f}",
                         f"{statistics.stdev(each):.{digits}f}"])
        difference, limit, words = judged(values["lockstep"], values["pytorch"], less)
        judgements.append([name, f"{difference:+.{digits}f}", f"{limit:.{digits}f}", words,
                           f"{real[score]:.{digits}f}" if score in real else ""])
    return [table(["score", "program", *(f"seed {seed}" for seed in context.seeds), "mean", "deviation"], rows),
            table(["score", "difference of means", "95 % by the seeds alone", "judgement", "real pictures"], judgements)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", choices=MODELS, help="this one; may be repeated")
    parser.add_argument("--seeds", default="1,2,3", help="2 to 10 of them")
    parser.add_argument("--budget", type=float, default=1.0, metavar="FACTOR", help="times the steps: 1000 of ddpm, 2000 of dit, 1500 of sngan")
    parser.add_argument("--classifier", metavar="RUN", help="a finished run whose features are compared; trained if not given")
    parser.add_argument("--json", default=None, metavar="FILE", help="WORK/against-pytorch.json if not given")
    parser.add_argument("--tiny", action="store_true", help="a trial of this program: tiny networks, four steps")
    parser.add_argument("--binaries", default=os.path.join(TOP, "build/release/bin"), metavar="FOLDER")
    parser.add_argument("--work", default=os.path.join(TOP, "build/bench/against-pytorch"), metavar="FOLDER")
    args = parser.parse_args()
    if 2 * len(args.seeds.split(",")) - 2 not in STUDENT:
        parser.error("--seeds: 2 to 10 of them")
    if not os.path.exists(os.path.join(TOP, ".deps/bench/VERSION")):
        print("NOT PROVED: quality against PyTorch: there is no PyTorch to compare with (tools/bootstrap --bench)")
        sys.exit(77)
    words = ["tests/bench/against_pytorch.py", *(["--tiny"] if args.tiny else []), *(f"--model {model}" for model in args.model or []),
             *([f"--seeds {args.seeds}"] if args.seeds != "1,2,3" else []), *([f"--budget {args.budget:g}"] if args.budget != 1 else [])]
    about = machine.facts(TOP, " ".join(words))
    try:
        context = Context(args)
        real = scored(context, held_out(context))
        numbers, worse = {"about": about, "features": real["features"], "real": {score: real[score] for score in SCORES if score in real}}, []
        print(machine.wrapped(f"`{about['command']}`, {about['date']}, commit {about['commit']}; {about['cpu']['model']} with "
                              f"{' '.join(about['cpu']['flags'])}; each run on one thread. {context.pictures} pictures of each run, "
                              f"in the features of the classifier {real['features']['hash'][:12]}."))
        for model in args.model or MODELS:
            numbers[model] = found = measure(context, model)
            print("\n" + "\n\n".join([f"{NAMES[model]}, {context.steps[model]} steps:", *tables(context, found, real)]), flush=True)
            if judged(*found["frechet_distance"].values(), True)[2] == "PyTorch is better":
                worse.append(NAMES[model])
    except subprocess.CalledProcessError as error:
        sys.exit(f"against_pytorch: exit code {error.returncode}: {(error.stderr or 'no message').strip().splitlines()[-1]}")
    path = args.json or os.path.join(args.work, "against-pytorch.json")
    with open(path, "w") as file:
        json.dump(numbers, file, indent=1)
    contest.say(f"numbers in {path}")
    if worse:
        sys.exit(f"against_pytorch: worse than PyTorch beyond the spread of seeds: {', '.join(worse)}")


if __name__ == "__main__":
    main()
