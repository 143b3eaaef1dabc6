#!/usr/bin/env python3
"""What products of integers do to operands along a run: `lockstep rounding` at several steps, as one Markdown table.

  tests/bench/rounding_curve.py runs/mine --steps 1,1501,3000

A row is one kind of operand at one step: how many there are; the share of values that become 0 and the error relative to the
values, both as the median over operands and as the worst with its layer. Kinds: activations (x, forward), weights (w, forward),
gradients (dy, backward), and what R1 differentiates a second time. A step is computed from the nearest checkpoint before it.
"""
import argparse
import json
import os
import statistics
import time

from programs import TOP, Programs

KINDS = ["activation", "weight", "gradient", "second derivative"]


def by_kind(operands):
    """A layer's gradient comes by another product than its activation; by the same one there is only R1's."""
    forward = {one["module"]: one["op"] for one in operands if not one["backward"]}
    found = {}
    for one in operands:
        if not one["backward"]:
            kind = "weight" if one["operand"] == "w" else "activation"
        else:
            kind = "second derivative" if forward.get(one["module"]) == one["op"] else "gradient"
        found.setdefault(kind, []).append(one)
    return found


def percent(share):
    return f"{100 * share:.2f} %"


def row(step, kind, operands):
    cells = [str(step), kind, str(len(operands))]
    for key in ("zeros", "error"):
        worst = max(operands, key=lambda one: one[key])
        cells += [percent(statistics.median(one[key] for one in operands)), f"{percent(worst[key])} ({worst['module']})"]
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--steps", required=True, metavar="A,B,C")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pause-while", default=None, metavar="FILE", help="no step begins while this file exists")
    parser.add_argument("--binaries", default=os.path.join(TOP, "build/release/bin"), metavar="FOLDER")
    args = parser.parse_args()
    lockstep = Programs(args.binaries, os.path.join(TOP, "build/bench"))
    head = ["step", "operands", "number", "become 0: median", "worst", "error: median", "worst"]
    print("\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head))))
    for step in args.steps.split(","):
        while args.pause_while and os.path.exists(args.pause_while):
            time.sleep(2)
        shown = json.loads(lockstep.call([lockstep.binary("lockstep"), "rounding", args.run, "--step", step, "--json", "--quiet",
                                          "--threads", str(args.threads)]))
        found = by_kind(shown["operands"])
        for kind in KINDS:
            if kind in found:
                print("| " + " | ".join(row(step, kind, found[kind])) + " |", flush=True)


if __name__ == "__main__":
    main()
