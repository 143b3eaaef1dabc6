"""The tiles of products keep their sums in registers: no compiler may store them to the stack and load them in the loop.

Usage: spills.py OBJECT [--but FUNCTION] INSTRUCTION…
  OBJECT is an object file, INSTRUCTION that of a product, such as vpdpwssd. A function with FUNCTION in its name may
  spill: more sums than registers.

A loop is what lies between a backward jump and its target; it is looked at if it has one of the instructions at least
eight times. GCC 12 spills with intrinsics where it does not with the same instructions written out, and loses half of
the speed: src/numerics/cpu/integer_simd.cpp.
"""

import argparse
import re
import shutil
import subprocess
import sys

LINE = re.compile(r"^\s+([0-9a-f]+):\s+(\S+)\s*(.*)$")
VECTOR_ON_STACK = re.compile(r"\(%r[sb]p.*%[xyz]mm|%[xyz]mm.*\(%r[sb]p")


def jumps_back(address, text):
    found = re.match(r"j\w+ +([0-9a-f]+) ", text)
    return found is not None and int(found[1], 16) < address


def loops(listing):
    """(function, instructions) of every innermost backward jump inside a function."""
    function, lines = "", []
    for line in listing.splitlines():
        if line.endswith(">:"):
            function, lines = line.split("<", 1)[1][:-2], []
        elif found := LINE.match(line):
            address, name, operands = int(found[1], 16), found[2], found[3]
            lines.append((address, f"{name} {operands}"))
            target = re.match(r"([0-9a-f]+) ", operands)
            if name.startswith("j") and target and lines[0][0] <= int(target[1], 16) < address:
                body = [text for at, text in lines if at >= int(target[1], 16)]
                if not any(jumps_back(at, text) and at >= int(target[1], 16) for at, text in lines[:-1]):
                    yield function, body


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("object")
    parser.add_argument("--but", default="none")
    parser.add_argument("instructions", nargs="+")
    args = parser.parse_args()
    if not shutil.which("objdump"):
        print("NOT PROVED: no objdump here")
        sys.exit(77)
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-C", args.object], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    hot, spilled = 0, []
    for function, body in loops(listing):
        products = sum(text.split()[0] in args.instructions for text in body)
        if products < 8:
            continue
        hot += 1
        stack = [text for text in body if VECTOR_ON_STACK.search(text)]
        if stack and args.but not in function:
            spilled.append(f"{function}: {len(stack)} of {len(body)} instructions move vectors to or from the stack")
    print(f"{hot} loops of products, {len(spilled)} spill")
    print("\n".join(spilled))
    if hot == 0:
        sys.exit(f"no loop with {' or '.join(args.instructions)}: nothing was looked at")
    sys.exit(1 if spilled else 0)


if __name__ == "__main__":
    main()
