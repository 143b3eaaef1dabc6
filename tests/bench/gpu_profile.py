"""What kernels ask of a GPU, as the interpreter of their PTX counted it (tests/support/ptx/profile.h): the least time that each
needs on a GPU, and what it is bound by.

usage: LOCKSTEP_PTX_PROFILE=FILE build/release/bin/ptx/lockstep train RECIPE --run RUN --device cuda
       gpu_profile.py [--gpu h100 | rtx4090] [--rows N] FILE

The model is a bound, no measurement: each unit works without a pause, and no sector of memory is in a cache. Beside the units there is
the way from a launch to the end of its last block (clock.h), which is the bound of kernels of few threads. A launch waits for the one before.
Products are cut for an H100.
"""
import argparse
import collections
import json
import re
import subprocess

# Multiprocessors, their clock under load, bytes a second of memory; of a multiprocessor, warps' instructions on binary64 a clock,
# clocks of an m16n8k32 of bytes, warps, and bytes of shared memory (NVIDIA: H100 and Ada architecture white papers). mma.sync has 5/8 of
# what wgmma reaches on an H100, which the papers count.
Gpu = collections.namedtuple("Gpu", "multiprocessors clock bytes binary64 mma warps shared")
GPUS = {"h100": Gpu(132, 1.7e9, 3.0e12, 2, 1.6, 64, 227 << 10), "rtx4090": Gpu(128, 2.5e9, 0.9e12, 1 / 16, 4, 48, 99 << 10)}
FMA, ISSUE = 4, 4  # warps' instructions a clock and multiprocessor
LAUNCH = 1.3e-6  # seconds from a kernel's end to the next one's first instruction, in a graph
BLOCKS = 32  # of a multiprocessor


def resident(kernel, gpu):
    """Blocks of a multiprocessor, if registers do not matter."""
    blocks = max(kernel["blocks"], 1)
    return max(min(BLOCKS, gpu.warps * blocks / max(kernel["warps"], 1), gpu.shared * blocks / max(kernel["shared_bytes"], 1)), 1)


UNITS = {  # clocks of all multiprocessors together
    "fma": lambda k, gpu: k["fma"] / FMA,
    "binary64": lambda k, gpu: k["binary64"] / gpu.binary64,
    "issue": lambda k, gpu: k["instructions"] / ISSUE,
    "shared": lambda k, gpu: k["wavefronts"],
    "tensor": lambda k, gpu: k["mma"] * gpu.mma,
    "memory": lambda k, gpu: k["sectors"] * 32 / gpu.bytes * gpu.clock * gpu.multiprocessors,
    "latency": lambda k, gpu: (max(k["longest"] * gpu.multiprocessors, k["clocks"] / resident(k, gpu)) +
                               k["launches"] * LAUNCH * gpu.clock * gpu.multiprocessors),
}


def short(name):
    plain = subprocess.run(["c++filt"], input=name, capture_output=True, text=True).stdout.strip()
    plain = plain.replace("lockstep::numerics::cuda::", "").replace("lockstep::numerics::", "")
    inside = re.search(r"Device<Gpu>::(\w+)\(", plain)
    kind = re.match(r"void run<(\w+)", plain)
    tile = re.search(r"Tile<(\d+), (\d+)>, (\w+), (\w+)", plain)
    words = [kind[1] if kind else plain[:40]]
    if inside:
        words.append(inside[1])
    if tile:
        words.append(f"{tile[1]}x{tile[2]} {tile[3]} {tile[4]}")
    return " ".join(words)


def seconds(kernel, gpu):
    return {unit: clocks(kernel, gpu) / gpu.clock / gpu.multiprocessors for unit, clocks in UNITS.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--gpu", choices=GPUS, default="h100")
    parser.add_argument("--rows", type=int, default=30)
    parser.add_argument("file")
    options = parser.parse_args()
    gpu = GPUS[options.gpu]
    with open(options.file, encoding="utf-8") as file:
        kernels = [json.loads(line) for line in file]
    kernels.sort(key=lambda k: -max(seconds(k, gpu).values()))
    whole = sum(max(seconds(k, gpu).values()) for k in kernels)
    alone = {unit: sum(seconds(k, gpu)[unit] for k in kernels) * 1e3 for unit in ("fma", "binary64")}
    units = sum(max(time for unit, time in seconds(k, gpu).items() if unit != "latency") for k in kernels) * 1e3
    print(f"{sum(k['launches'] for k in kernels)} launches, at least {whole * 1e3:.3f} ms; units alone {units:.3f} ms, floats' fma alone {alone['fma']:.3f} ms, "
          f"binary64 alone {alone['binary64']:.3f} ms")
    print("| kernel | launches | share | bound by | fma of instructions | wavefronts of the least | bytes asked of sectors |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kernel in kernels[:options.rows]:
        times = seconds(kernel, gpu)
        unit = max(times, key=times.get)
        print(f"| {short(kernel['kernel'])} | {kernel['launches']} | {times[unit] / whole:.1%} | {unit} "
              f"| {kernel['fma'] / kernel['instructions']:.0%} "
              f"| {kernel['wavefronts'] / max(kernel['least'], 1):.2f} "
              f"| {kernel['bytes'] / max(kernel['sectors'] * 32, 1):.2f} |")


if __name__ == "__main__":
    main()
