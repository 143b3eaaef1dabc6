"""Peak memory (RSS) of training, ours and PyTorch's."""
import contest
from page import ratio, spread, table
from parts import step

MIB = 1 << 20
ONE_LANE = "Lockstep, float, one lane at once"


def measure(context):
    contestants, programs, notes = {}, context.programs, []
    for model in step.RECIPES:
        recipe, small = step.recipe_of(model), context.small(model)
        known, unknown = step.ours(context, recipe)
        notes += [note for note in unknown if note not in notes]

        def lockstep(settings, extra=(), recipe=recipe, small=small):
            run = programs.train(recipe, [*settings, *small], 1, extra=extra)["peak_bytes"]
            idle = programs.train(recipe, [*settings, *small], 0, extra=extra)["peak_bytes"]
            return {"process": run / MIB, "steps": run / MIB, "idle": idle / MIB}

        def pytorch(flags, recipe=recipe):
            run = programs.pytorch("train.py", recipe, "--steps", 1, *flags)
            idle = programs.pytorch("train.py", recipe, "--steps", 0, "--warm-up", 0, *flags)["peak_bytes"]
            return {"process": run["peak_bytes"] / MIB, "steps": run["peak_of_steps_bytes"] / MIB, "idle": idle / MIB}

        for name, settings in known.items():
            contestants[model, name] = lambda s=settings, f=lockstep: f(s)
        if model == "U-Net":  # batch norm needs all lanes
            contestants[model, ONE_LANE] = lambda s=known[step.FLOAT], f=lockstep: f(s, ("--lanes-at-once", "1"))
        for name, flags in step.PYTORCH.items() if context.pytorch else ():
            contestants[model, name] = lambda f=flags, g=pytorch: g(f)
    results = contest.run(contestants, min(context.repetitions, 3))
    return {"notes": notes, "repetitions": results.repetitions, "failed": {"/".join(n): why for n, why in results.failed.items()},
            "mib": {"/".join(name): values for name, values in results.given.items()}}


def tables(raw, head):
    parts = list(raw["notes"])
    for model in step.RECIPES:
        rows = []
        base = raw["mib"].get(f"{model}/{step.FLOAT}", [])
        for name in [step.FLOAT, ONE_LANE, step.INTEGER, step.NATIVE, *step.PYTORCH]:
            values = raw["mib"].get(f"{model}/{name}")
            if values is None:
                why = raw["failed"].get(f"{model}/{name}")
                rows += [[name, f"failed: {why.replace('|', '/')[:120]}", "-", "-", "-"]] if why else []
                continue
            mib = lambda key: spread([v[key] for v in values], lambda x: f"{x:.0f}")
            rows.append([name, mib("process"), mib("steps"), mib("idle"),
                         spread([b["process"] / v["steps"] for b, v in zip(base, values)], ratio)])
        parts += [head, f"**{model}, 1 thread**", table(
            ["program", "peak of the process, MiB", "peak after the warm-up, MiB", "without a step, MiB",
             "Lockstep, float, relative to it"], rows)]
    parts.append("A ratio is our whole process against the other after its warm-up, so that what compiling took does not count.")
    return "\n\n".join(parts)
