"""Checkpoints of one state of about 500 MB: ours, torch.save, safetensors, PyTorch's distributed checkpoint (DCP)."""
import json
import os
import shutil
import tempfile

import contest
from page import ratio, spread, table
from programs import TOP

WAYS = {"torch.save": "torch.save", "safetensors": "safetensors", "DCP": "dcp", "DCP, async_save": "dcp-async"}
COLUMNS = {"blocked": "blocked, s", "durable": "durable, s", "load": "load, s", "verify": "verify, s"}


def measure(context):
    programs, shapes = context.programs, []
    recipe = os.path.join(TOP, context.checkpoint_recipe)

    def lockstep():
        with folder(programs) as at:
            found = json.loads(programs.call([programs.binary("checkpoint_bench"), recipe, at]))
        shapes[:] = found.pop("shapes")
        return found

    def other(way):
        with folder(programs) as at:
            return programs.pytorch("checkpoint.py", way, at, given=json.dumps(shapes))

    contest.say(f"  first, and not counted: {lockstep()['bytes'] / 1e6:.0f} MB")
    contestants = {"Lockstep": lockstep}
    for name, way in WAYS.items() if context.pytorch else ():
        contestants[name] = lambda w=way: other(w)
    results = contest.run(contestants, context.repetitions)
    return {"repetitions": results.repetitions, "failed": results.failed, "tensors": len(shapes), "given": results.given}


class folder:
    """A fresh one on the disk of the build, removed afterwards."""

    def __init__(self, programs):
        self.work = programs.work

    def __enter__(self):
        self.path = tempfile.mkdtemp(dir=self.work)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path)


def tables(raw, head):
    rows, base = [], raw["given"].get("Lockstep", [])
    for name, values in raw["given"].items():
        row = [name]
        for key in COLUMNS:
            row.append(spread([v[key] for v in values if key in v]))
        row.append(spread([b["durable"] / v["durable"] for b, v in zip(base, values)], ratio))
        row.append(spread([b["load"] / v["load"] for b, v in zip(base, values)], ratio))
        rows.append(row)
    rows += [[name, f"failed: {why.replace('|', '/')[:120]}"] + ["-"] * 5 for name, why in raw["failed"].items()]
    size = base[0]["bytes"] / 1e6 if base else 0
    parts = [head, f"{size:.0f} MB in {raw['tensors']} tensors, in random order in each repetition, files on one disk.",
             table(["program", *COLUMNS.values(), "our time until durable / it", "our time to load / it"], rows)]
    parts.append("Blocked is until the call returns, durable until fsync of files and folder. Files are read from the page cache.\n"
                 "Our load verifies every byte by SHA-256, and our file has been hashed when it is durable; the others do neither.")
    return "\n\n".join(parts)
