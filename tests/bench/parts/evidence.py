"""What evidence costs of a step."""
import os
import re

import contest
from page import spread, table
from programs import TOP

LINE = re.compile(r"^(.+?) +([\d.]+) ms +([\d.]+) % of a step$", re.MULTILINE)
THREADS = min(2, len(os.sched_getaffinity(0)))


def measure(context):
    programs = context.programs

    def costs(recipe):
        out = programs.call([programs.binary("evidence_bench"), os.path.join(TOP, recipe), str(THREADS)])
        found = {what: float(percent) for what, _, percent in LINE.findall(out)}
        step = next(float(ms) for what, ms, _ in LINE.findall(out) if what == "step")
        return {"ms": step, "state_mb": float(re.search(r"state ([\d.]+) MB", out)[1]), "percent": found}

    results = contest.run({r: lambda r=r: costs(r) for r in context.evidence_recipes}, context.repetitions)
    return {"repetitions": results.repetitions, "failed": results.failed, "given": results.given}


def tables(raw, head):
    given = {name: values for name, values in raw["given"].items() if values}
    if not given:
        return f"{head}\n\nfailed: {raw['failed']}"
    names = list(given)
    columns = [f"{THREADS} threads"] + [f"`{name}` ({given[name][0]['state_mb']:.1f} MB of state, step "
                                        f"{spread([v['ms'] for v in given[name]], lambda x: f'{x:.0f}')} ms)" for name in names]
    rows = [[what, *(spread([v["percent"][what] for v in given[name]], lambda x: f"{x:.2f}") + " %" for name in names)]
            for what in given[names[0]][0]["percent"] if what != "step"]
    return "\n\n".join([head, table(columns, rows)])
