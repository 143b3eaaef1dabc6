"""A training step of ours and of PyTorch's, with one thread, two threads, and two processes."""
import os

import contest
import same_network
from machine import wrapped
from page import ratio, spread, table
from programs import TOP

RECIPES = {"U-Net": "tests/bench/unet.toml", "DCGAN": "tests/bench/dcgan.toml"}
SETTINGS = {"1 thread": (1, 1), "2 threads": (2, 1), "2 ranks of 1 thread": (1, 2)}  # threads, ranks
FLOAT, INTEGER, NATIVE = "Lockstep, float", "Lockstep, integer", "Lockstep, native"
EAGER = "PyTorch, fp32 (default)"
PYTORCH = {EAGER: [],
           "PyTorch, fp32, channels-last": ["--channels-last"],
           "PyTorch, fp32, compiled, channels-last": ["--channels-last", "--compile"],
           "PyTorch, bf16 autocast, channels-last": ["--channels-last", "--bf16"],
           "PyTorch, bf16 autocast, compiled, channels-last": ["--channels-last", "--bf16", "--compile"]}


def ours(context, recipe):
    """Settings of our contestants by name; a note for each that this program does not know."""
    found, notes = {FLOAT: [], NATIVE: ["run.numerics=native"]}, []
    if context.programs.knows(recipe, "run.products=integer"):
        found = {FLOAT: ["run.products=float"], INTEGER: ["run.products=integer"], NATIVE: found[NATIVE]}
    else:
        notes.append("Lockstep, integer: not measured, this program does not know run.products.")
    return found, notes


def pytorchs(ranks):
    """Compiled networks run in one process only: DistributedDataParallel cuts their graphs anew, which takes minutes."""
    return {name: flags for name, flags in PYTORCH.items() if ranks == 1 or "--compile" not in flags}


def recipe_of(model):
    return os.path.join(TOP, RECIPES[model])


def measure(context):
    contestants, notes, programs = {}, [], context.programs
    for model in RECIPES:
        recipe, steps = recipe_of(model), context.steps[model]
        if context.pytorch:
            notes.append(same_network.compare(programs, recipe, programs.pytorch("train.py", recipe, "--describe")))
            contest.say(notes[-1])
        known, unknown = ours(context, recipe)
        notes += [note for note in unknown if note not in notes]
        for setting, (threads, ranks) in SETTINGS.items():
            if context.tiny and threads > 1:
                continue
            for name, settings in known.items():
                contestants[model, setting, name] = lambda r=recipe, s=[*settings, *context.small(model)], n=steps, t=threads, k=ranks: (
                    {"steps_per_s": 1 / programs.train(r, s, n, t, k)["seconds"]})
            for name, flags in pytorchs(ranks).items() if context.pytorch else ():
                contestants[model, setting, name] = lambda r=recipe, f=flags, n=steps, t=threads, k=ranks: speed(programs.pytorch(
                    "train.py", r, "--steps", n, "--threads", t, *f, *(["--ranks", k] if k > 1 else []), threads=t))
    for note in notes:
        contest.say(note)
    if context.pytorch:
        warm_caches(programs)
    results = contest.run(contestants, context.repetitions)
    return {"notes": notes, "repetitions": results.repetitions, "failed": {"/".join(n): why for n, why in results.failed.items()},
            "steps_per_s": {"/".join(name): results.values(name, "steps_per_s") for name in results.given}}


def speed(result):
    return {"steps_per_s": result["steps_per_s"]}


def warm_caches(programs):
    """Compiles what the repetitions use, once for all: minutes where the cache is cold. Failures show later."""
    for model in RECIPES:
        for threads, ranks in SETTINGS.values():
            for name, flags in pytorchs(ranks).items():
                if "--compile" not in flags:
                    continue
                contest.say(f"  compiling {model} for {threads} threads, {ranks} ranks: {name}")
                contest.run({name: lambda r=recipe_of(model), f=flags, t=threads, k=ranks: speed(programs.pytorch(
                    "train.py", r, "--steps", 1, "--threads", t, *f, *(["--ranks", k] if k > 1 else []), threads=t))}, 1)


def of(raw, model, setting, name):
    return raw["steps_per_s"].get(f"{model}/{setting}/{name}")


def quotients(one, other):
    return spread([a / b for a, b in zip(one, other)], ratio) if one and other else "-"


def tables(raw, head):
    names = [FLOAT, INTEGER, NATIVE, *PYTORCH]
    parts = [wrapped(note) for note in raw["notes"]]
    for model in RECIPES:
        parts.append(f"### {model}")
        for setting, (threads, ranks) in SETTINGS.items():
            rows = []
            for name in names:
                values = of(raw, model, setting, name)
                why = raw["failed"].get(f"{model}/{setting}/{name}")
                if why:
                    rows.append([name, f"failed: {why.replace('|', '/')[:120]}", "-", "-", "-"])
                if values is None:
                    continue
                rows.append([name, spread(values), quotients(of(raw, model, setting, FLOAT), values),
                             quotients(of(raw, model, setting, INTEGER), values),
                             quotients(values, of(raw, model, "1 thread", name)) if threads * ranks > 1 else "1"])
            parts += [] if not rows else [head, f"**{model}, {setting}**", table(
                ["program", "steps/s", "speed of float relative to it", "of integer", "it, relative to its 1 thread"], rows)]
    parts += ["### Transformer blocks (DiT)", "not measured"]
    return "\n\n".join(parts)
