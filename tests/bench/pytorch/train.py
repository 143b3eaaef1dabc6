#!/usr/bin/env python3
"""Training steps of a recipe's networks in plain PyTorch: the other side of tools/bench.

  tests/bench/pytorch/train.py tests/bench/unet.toml --steps 8 --threads 2 --channels-last --compile
  tests/bench/pytorch/train.py tests/bench/dcgan.toml tests/bench/dit.toml --describe

Batch, networks, loss, optimiser and averages are those of the recipe; a key that is not followed here is refused. AdamW is
PyTorch's fused one, its fastest. With --ranks N: DistributedDataParallel over Gloo, each rank with its share of the batch.
Prints one JSON line: steps a second (of the median step), seconds of each step after the warm-up, peak memory of the process
and of these steps.
--describe prints the networks' tensors, one line for each of some recipes. --losses FILE writes the loss of each step, of
the warm-up's too, as a JSON list.
--samples FOLDER: pictures by the averaged weights, each --samples-every steps, step-NNNNNNNN.npz as `lockstep sample`
writes them, always of the same noise and in the arithmetic of the training. First weights, data and noise are drawn from
the recipe's run.seed.
"""
import argparse
import json
import os
import statistics
import sys
import time

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    try:
        import tomli as tomllib
    except ModuleNotFoundError:
        print(f"Python {sys.version.split()[0]} has no tomllib (pip install tomli)", file=sys.stderr)
        sys.exit(4)

import torch

import diffusion
import gan

KINDS = {**dict.fromkeys(diffusion.PROCESSES, diffusion.Diffusion), **dict.fromkeys(gan.LOSSES, gan.Gan)}


def peak_bytes():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def forget_peak():
    """From here on the peak is that of what follows."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:  # a sandbox that has none: then it is the peak of all
        pass


def prepare_gpu(args):
    """The same bits each time, as far as PyTorch can; with --free as fast as it can."""
    if not torch.cuda.is_available():
        print("this PyTorch has no GPU", file=sys.stderr)
        sys.exit(4)
    torch.use_deterministic_algorithms(not args.free)
    torch.utils.deterministic.fill_uninitialized_memory = False  # nobody reads it, and it takes time
    torch.backends.cudnn.benchmark = args.free
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = args.tf32


def trainer_of(path, args, rank=0):
    with open(path, "rb") as file:
        recipe = tomllib.load(file)
    if args.data:
        recipe["data"]["path"] = args.data
    kind = recipe["objective"]["kind"]
    if kind not in KINDS:
        sys.exit(f"train.py: objective.kind = {kind!r}: PyTorch's side knows {', '.join(KINDS)}")
    return KINDS[kind](recipe, args, rank)


def described(trainer):
    shapes = {f"{role}/param/{name}": list(tensor.shape)
              for role, network in trainer.networks().items() for name, tensor in network.named_parameters()}
    return {"batch": trainer.batch, "torch": torch.__version__, "tensors": shapes}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", nargs="+")
    parser.add_argument("--steps", type=int, default=8, help="after the warm-up")
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--bf16", action="store_true", help="autocast")
    parser.add_argument("--device", default="cpu", help="cuda: deterministic algorithms unless --free, without a GPU exit code 4")
    parser.add_argument("--tf32", action="store_true", help="of a GPU")
    parser.add_argument("--free", action="store_true", help="of a GPU: any algorithms, chosen by their speed")
    parser.add_argument("--data", metavar="FOLDER", help="in place of the recipe's data.path")
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--describe", action="store_true")
    parser.add_argument("--losses", metavar="FILE")
    parser.add_argument("--samples", metavar="FOLDER")
    parser.add_argument("--samples-every", type=int, default=500, metavar="STEPS")
    parser.add_argument("--count", type=int, default=1000, help="pictures of each of these steps")
    args = parser.parse_args()
    if args.ranks and "RANK" not in os.environ:
        os.execv(sys.executable, [sys.executable, "-m", "torch.distributed.run", "--standalone",
                                  f"--nproc_per_node={args.ranks}", *sys.argv])
    torch.set_num_threads(args.threads)
    if args.describe:
        for path in args.recipe:
            print(json.dumps(described(trainer_of(path, args))))
        return
    if len(args.recipe) > 1:
        parser.error("one recipe, unless it is to --describe them")
    if args.device != "cpu":
        prepare_gpu(args)
    rank = 0
    if args.ranks:
        torch.distributed.init_process_group("gloo")
        rank = torch.distributed.get_rank()
    with torch.device(args.device):  # not while it trains: it would take time in each of PyTorch's calls
        trainer = trainer_of(args.recipe[0], args, rank)
    losses = [trainer.step() for _ in range(args.warm_up)]
    whole, seconds = peak_bytes(), []
    forget_peak()
    for _ in range(args.steps):
        start = time.perf_counter()
        losses.append(trainer.step())
        seconds.append(time.perf_counter() - start)
        if args.samples and len(losses) % args.samples_every == 0:
            trainer.write_samples(os.path.join(args.samples, f"step-{len(losses):08d}.npz"), args.count)
    if rank == 0 and args.losses:
        with open(args.losses, "w") as file:
            json.dump(losses, file)
    if rank == 0:
        print(json.dumps({"steps_per_s": 1 / statistics.median(seconds) if seconds else 0, "seconds": seconds,
                          "peak_bytes": max(whole, peak_bytes()), "peak_of_steps_bytes": peak_bytes(),
                          "torch": torch.__version__, "isa": torch.backends.cpu.get_cpu_capability()}), flush=True)
    if args.ranks:
        torch.distributed.barrier()
        os._exit(0)  # Gloo's threads sometimes hang at the interpreter's exit


if __name__ == "__main__":
    main()
