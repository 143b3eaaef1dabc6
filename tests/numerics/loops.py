"""The tables of docs/cuda.md: what the main loops of the plug-in's products do (liblockstep_cuda.so).

usage: loops.py PAGE CUOBJDUMP NVDISASM LIBRARY   writes them into the page; sass_test.py checks them
"""
import math
import re
import sys
from collections import Counter

import sass
from registers import TILES, float_k, float_sums, put, rewrite

ARCHITECTURE = "80"
FLOATS = re.compile(r"FloatKernel<Tile<(\d+, \d+)>, (\w+), (\w+), \w+>")
INTEGERS = re.compile(r"IntegerKernel<IntegerTile<(\d+, \d+), \d+, \d+, \w+>, true, (\w+), (\w+), \w+>")
OTHERS = {"LDSM": r"LDSM", "PRMT": r"PRMT", "LDGSTS": r"LDGSTS"}


def found(kernels, pattern, product):
    """{(tile, left, right): instructions of the main loop}"""
    names = sass.demangled([kernel.symbol for kernel in kernels])
    return {which.groups(): [one.name for one in kernel.innermost(product)]
            for kernel in kernels if (which := pattern.search(names[kernel.symbol]))}


def heads(*names):
    return ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]


def of_floats(kernels):
    loops = found(kernels, FLOATS, "FFMA")
    for which, body in loops.items():
        count, k, (down, across) = Counter(body), float_k(which[0]), float_sums(which[0])
        loads = (k * across // 4, k) if down == 2 else (k * (down + across) // 4, 0)
        if (count["FFMA"], count["LDS.128"], count["LDS.64"]) != (k * down * across, *loads):
            raise AssertionError(f"the loop of {which} has {count}")
    lines = heads("left operand", "right operand", *(tile.replace(", ", " x ") for tile in TILES))
    for left, right in sorted({which[1:] for which in loops}):
        whole = [(len(loops[tile, left, right]), float_k(tile) * math.prod(float_sums(tile))) for tile in TILES]
        lines.append(f"| {left} | {right} | " + " | ".join(f"{n}: {100 * sums // n} %" for n, sums in whole) + " |")
    return lines


def of_integers(kernels):
    lines = heads("left operand", "right operand", "tile", "IMMA", *OTHERS, "all")
    loops = found(kernels, INTEGERS, "IMMA")
    for tile, left, right in sorted(loops, key=lambda which: (which[1:], which[0])):
        body = loops[tile, left, right]
        cells = [sum(re.match(start, name) is not None for name in body) for start in ("IMMA", *OTHERS.values())]
        lines.append(f"| {left} | {right} | {tile.replace(', ', ' x ')} | {' | '.join(map(str, cells))} | {len(body)} |")
    return lines


def renewed(page, kernels):
    return put(page, "loops", "\n".join([*of_floats(kernels), "", *of_integers(kernels)]) + "\n")


def main():
    path, cuobjdump, nvdisasm, library = sys.argv[1:]
    kernels = sass.of_library(cuobjdump, nvdisasm, library)[ARCHITECTURE]
    rewrite(path, lambda page: renewed(page, kernels))


if __name__ == "__main__":
    main()
