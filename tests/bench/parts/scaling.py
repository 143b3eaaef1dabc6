"""What a step costs against lanes, batch, width, ranks and parameters: three points each, and a slope."""
import json
import math
import os
import statistics

import contest
from machine import wrapped
from page import number, spread, table
from programs import TOP

RECIPE = "recipes/fashion-mnist-ddpm.toml"


# Whether the slope is that of logarithms or of a line, by axis.
KINDS = {"lanes, one batch": "ms a lane", "batch": "log-log", "width (first channels)": "log-log", "ranks of 1 thread": "log-log",
         "million parameters (embedding)": "ms a million"}


def axes(batch, embeddings):
    """[(point, settings, ranks)] by axis."""
    def shaped(lanes, samples):
        return [f"batch.lanes={lanes}", f"batch.samples_per_lane={samples}"]

    return {"lanes, one batch": [(n, shaped(n, batch // n), 1) for n in (batch // 16, batch // 8, batch // 2)],
            "batch": [(n, shaped(4, n // 4), 1) for n in (batch // 2, batch, 2 * batch)],
            "width (first channels)": [(c, [f"model.channels=[{c},{2 * c},{4 * c}]"], 1) for c in (8, 16, 32)],
            "ranks of 1 thread": [(n, [], n) for n in (1, 2, 4)],
            # A wider embedding has more parameters but hardly more arithmetic: what updates, averages and digests cost.
            "million parameters (embedding)": [(e, [f"model.embedding={e}"], 1) for e in embeddings]}


def measure(context):
    programs, contestants, parameters = context.programs, {}, {}
    recipe = os.path.join(TOP, RECIPE)
    chosen = axes(16, (8, 16, 32)) if context.tiny else axes(64, (128, 1024, 4096))
    for axis, points in chosen.items():
        for point, settings, ranks in points:
            settings = [*context.small("scaling"), *settings]
            contestants[axis, str(point)] = lambda s=settings, k=ranks: programs.train(recipe, s, context.steps["scaling"], 1, k)
            if "parameters" in axis:
                command = [programs.binary("lockstep"), "train", recipe, "--dry-run", "--json", *(f"--set={s}" for s in settings)]
                parameters[str(point)] = json.loads(programs.call(command))["parameters"] / 1e6
    results = contest.run(contestants, context.repetitions)
    return {"repetitions": results.repetitions, "failed": {"/".join(n): why for n, why in results.failed.items()},
            "points": {axis: [point for point, *_ in points] for axis, points in chosen.items()}, "parameters": parameters,
            "ms": {"/".join(name): [s * 1e3 for s in results.values(name, "seconds")] for name in results.given}}


def slope(xs, ys):
    """Of the line with the least squares."""
    mx, my = statistics.mean(xs), statistics.mean(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def tables(raw, head):
    rows = []
    for axis, points in raw["points"].items():
        kind = KINDS[axis]
        xs = [raw["parameters"][str(p)] if "parameters" in axis else p for p in points]
        each = [raw["ms"].get(f"{axis}/{p}") for p in points]
        if not all(each):
            rows.append([axis] + ["failed"] * 4)
            continue
        logs = kind == "log-log"
        slopes = [slope([math.log(x) for x in xs] if logs else xs, [math.log(y) for y in ys] if logs else ys) for ys in zip(*each)]
        rows.append([axis, *(f"{number(x)}: {spread(ys, lambda v: f'{v:.0f}')} ms" for x, ys in zip(xs, each)),
                     f"{kind}: {spread(slopes, lambda v: f'{v:.2f}')}"])
    said = (f"`{RECIPE}`, milliseconds of a step with one thread a process; slopes are fitted inside a repetition. log-log 1: twice the "
            "size takes twice the time; -1: twice the ranks, half the time. More ranks than cores take turns.")
    return "\n\n".join([head, wrapped(said),
                        table(["against", "first point", "second", "third", "slope"], rows)])
