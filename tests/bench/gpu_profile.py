"""What kernels ask of a GPU, as the interpreter of their PTX counted it (tests/support/ptx/profile.h): the least time that each
needs on an H100, and what it is bound by.

usage: LOCKSTEP_PTX_PROFILE=FILE build/release/bin/ptx/lockstep train RECIPE --run RUN --device cuda
       gpu_profile.py FILE [ROWS]

The model is a bound, no measurement: each unit works without a pause, and no sector of memory is in a cache.
"""
import json
import re
import subprocess
import sys

MULTIPROCESSORS, CLOCK = 132, 1.7e9  # of an H100 SXM under load
BYTES = 3.0e12  # a second, of its memory
FMA, ISSUE = 4, 4  # warps' instructions a clock and multiprocessor
UNITS = {
    "fma": lambda k: k["fma"] / FMA,
    "issue": lambda k: k["instructions"] / ISSUE,
    "shared": lambda k: k["wavefronts"],
    "tensor": lambda k: k["mma"],  # one m16n8k32 of bytes
    "memory": lambda k: k["sectors"] * 32 / BYTES * CLOCK * MULTIPROCESSORS,
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


def seconds(kernel):
    return {unit: clocks(kernel) / CLOCK / MULTIPROCESSORS for unit, clocks in UNITS.items()}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        kernels = [json.loads(line) for line in file]
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    kernels.sort(key=lambda k: -max(seconds(k).values()))
    whole = sum(max(seconds(k).values()) for k in kernels)
    print(f"{sum(k['launches'] for k in kernels)} launches, at least {whole * 1e3:.3f} ms; floats' fma alone "
          f"{sum(seconds(k)['fma'] for k in kernels) * 1e3:.3f} ms")
    print("| kernel | launches | share | bound by | fma of instructions | wavefronts of the least | bytes asked of sectors |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kernel in kernels[:rows]:
        times = seconds(kernel)
        unit = max(times, key=times.get)
        print(f"| {short(kernel['kernel'])} | {kernel['launches']} | {times[unit] / whole:.1%} | {unit} "
              f"| {kernel['fma'] / kernel['instructions']:.0%} "
              f"| {kernel['wavefronts'] / max(kernel['least'], 1):.2f} "
              f"| {kernel['bytes'] / max(kernel['sectors'] * 32, 1):.2f} |")


if __name__ == "__main__":
    main()
