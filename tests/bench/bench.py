#!/usr/bin/env python3
"""Writes the tables of docs/benchmarks.md: tools/bench builds what it needs and calls this.

  tools/bench                     everything: hours; the machine should do nothing else
  tools/bench --quick             two repetitions of short runs
  tools/bench --only step         one part: step, kernels, memory, checkpoint, scaling or evidence; may be repeated
  tools/bench --page out.md       another page with the same sections; --json FILE: where the numbers go

Each part measures all its contestants in turns, rewrites its own section of the page, and its own key of the JSON file.
"""
import argparse
import json
import os
import sys

import contest
import machine
import page
from parts import checkpoint, evidence, kernels, memory, scaling, step
from programs import TOP, Programs

PARTS = {"step": step, "memory": memory, "kernels": kernels, "checkpoint": checkpoint, "scaling": scaling, "evidence": evidence}


class Context:
    """How much is measured, and with what."""

    def __init__(self, args):
        self.programs = Programs(args.binaries, args.work)
        self.pytorch, self.tiny = not args.tiny, args.tiny
        self.repetitions = args.reps or (1 if args.tiny else 2 if args.quick else 5)
        few = args.quick or args.tiny
        self.steps = {"U-Net": 2, "DCGAN": 8, "scaling": 1 if args.tiny else 3} if few else {"U-Net": 6, "DCGAN": 30, "scaling": 12}
        self.kernel_seconds = 0.001 if args.tiny else 0.02 if args.quick else 0.2
        self.checkpoint_recipe = "recipes/golden/ddpm.toml" if args.tiny else "tests/bench/checkpoint.toml"
        self.evidence_recipes = (["recipes/golden/ddpm.toml"] if args.tiny else
                                 ["tests/bench/unet.toml", "recipes/fashion-mnist-ddpm.toml"])

    def small(self, model):
        """Settings that make a network tiny, for a trial of this program."""
        if not self.tiny:
            return []
        if model == "DCGAN":
            return ["generator.channels=[4,4]", "discriminator.channels=[4,4]", "generator.latent=4"]
        narrow = ["model.channels=[8,8]", "model.attention_levels=[1]", "model.blocks=1", "model.embedding=8"]
        return [*narrow, "batch.lanes=2", "batch.samples_per_lane=1"] if model == "U-Net" else narrow

    def kernel(self, name):
        return not self.tiny or " side7 " in name or " m64 " in name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two repetitions of short runs")
    parser.add_argument("--only", action="append", choices=PARTS, default=[], help="this part; may be repeated")
    parser.add_argument("--reps", type=int, help="repetitions: 5, with --quick 2")
    parser.add_argument("--page", default=os.path.join(TOP, "docs/benchmarks.md"))
    parser.add_argument("--json", default=os.path.join(TOP, "build/bench/bench.json"))
    parser.add_argument("--tiny", action="store_true", help="a trial of this program: tiny networks of ours, no PyTorch, no use")
    parser.add_argument("--binaries", default=os.path.join(TOP, "build/release/bin"), help=argparse.SUPPRESS)
    parser.add_argument("--work", default=os.path.join(TOP, "build/bench"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not args.tiny and not os.path.exists(os.path.join(TOP, ".deps/bench/VERSION")):
        sys.exit("bench: there is no PyTorch to compare with (tools/bootstrap --bench)")
    context, chosen = Context(args), args.only or list(PARTS)
    for part in chosen:
        words = ["tools/bench", "--only", part, *(["--quick"] if args.quick else []), *(["--tiny"] if args.tiny else []),
                 *(["--reps", str(args.reps)] if args.reps else [])]
        about = machine.facts(TOP, " ".join(words))
        contest.say(f"{part}: {machine.head(about, context.repetitions)}")
        if not about["quiet"]:
            contest.say(f"WARNING: load average {about['load']:.2f}: other programs run here; the numbers will mean little")
        raw = PARTS[part].measure(context)
        write(args, part, {"about": about, "raw": raw}, PARTS[part].tables(raw, machine.head(about, raw["repetitions"])))
    contest.say(f"tables in {args.page}, numbers in {args.json}")


def write(args, part, numbers, body):
    """This part's section of the page and key of the JSON file, as they are on the disk now."""
    known = {}
    if os.path.exists(args.json):
        with open(args.json) as file:
            known = json.load(file)
    known[part] = numbers
    os.makedirs(os.path.dirname(os.path.abspath(args.json)), exist_ok=True)
    for path, text in ((args.json, json.dumps(known, indent=1)), (args.page, page.replace(read(args.page), part, body))):
        with open(path + ".tmp", "w") as file:
            file.write(text)
        os.replace(path + ".tmp", path)


def read(path):
    with open(path) as file:
        return file.read()


if __name__ == "__main__":
    main()
