"""The tables of docs/cuda.md: registers of the kernels of products, as ptxas allots them.

usage: registers.py PAGE CUOBJDUMP LIBRARY   writes it into the page; nvcc_test.py checks it
"""
import math
import re
import subprocess
import sys

ARCHITECTURES = ("80", "90a", "100", "120")
SHARED = {"80": 164, "90a": 228, "100": 228, "120": 100}  # KiB of a multiprocessor (CUDA programming guide, "Compute Capabilities")
TILES = ("128, 128", "128, 64", "64, 64", "128, 32", "32, 32")
FLOATS = re.compile(r"FloatKernel<[\w:]*Tile<(\d+, \d+)>, [\w:]*?(\w+), [\w:]*?(\w+), [\w:]+>")
INTEGERS = re.compile(r"IntegerKernel<[\w:]*IntegerTile<(\d+, \d+), \d+, \d+, \w+>, true, [\w:]*?(\w+), [\w:]*?(\w+), [\w:]+>")
OTHERS = ("GroupNormKernel", "GroupNormGradKernel", "LayerNormKernel", "LayerNormInputGradKernel", "SoftmaxKernel", "SoftmaxGradKernel",
          "RoundKernel", "RoundPartKernel", "UpdateKernel", "LeafKernel", "ChainKernel")
OTHER = re.compile(rf"cuda::({'|'.join(OTHERS)})\b")
INTEGER_WARPS = {"96, 128": 8, "128, 64": 8, "32, 32": 4}


def nvcc(program, source, out, *words):
    done = subprocess.run([program, *words, source, "-o", out], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)


def usage_of(cuobjdump, file, what="-res-usage"):
    return subprocess.run([cuobjdump, what, file], capture_output=True, text=True, check=True).stdout


def listed(cuobjdump, library, what):
    """Of cuobjdump's listing its parts, by architecture."""
    text, parts = usage_of(cuobjdump, library, what), {}
    for part in re.split(r"^Fatbin \w+ code:\n=+\n", text, flags=re.MULTILINE):
        if found := re.match(r"arch = sm_(\w+)\n", part):
            parts[found[1]] = parts.get(found[1], "") + part
    return parts


def registers(usage, pattern):
    """{(tile, left, right): registers}, of kernels of one name the most"""
    usage = subprocess.run(["c++filt"], input=usage.replace(":\n", "\n"), capture_output=True, text=True, check=True).stdout
    found, kernel = {}, None
    for line in usage.splitlines():
        if line.startswith(" Function "):
            kernel = pattern.search(line)
        elif kernel and (used := re.search(r"\bREG:(\d+)", line)):
            found[kernel.groups()] = max(int(used[1]), found.get(kernel.groups(), 0))
    return found


def stacks(usage):
    """{symbol: bytes of a thread's stack}"""
    return {symbol: int(size) for symbol, size in re.findall(r"^ Function (\S+):\n.*?\bSTACK:(\d+)", usage, re.MULTILINE)}


def resident(architecture, warps, used, shared):
    """Blocks that a multiprocessor's four files of 16384 registers hold, of which a warp takes multiples of 8 a thread, and its shared
    memory, of which CUDA takes a KiB a block."""
    return min(4 * (16384 // (-(-used // 8) * 8 * 32)) // warps, SHARED[architecture] * 1024 // (shared + 1024))


def float_sums(tile):
    """Of a thread, down and across."""
    return {"128, 128": (8, 16), "32, 32": (2, 4)}.get(tile, (8, 8))


def float_k(tile):
    """Of a stage."""
    return 32 if tile == "32, 32" else 8


def float_warps(tile):
    rows, columns = map(int, tile.split(", "))
    return rows * columns // math.prod(float_sums(tile)) // 32


def float_shared(tile):
    """Bytes of a block."""
    rows, columns = map(int, tile.split(", "))
    stages = 2 if tile == "32, 32" else 3
    return stages * float_k(tile) * (rows + columns + 8) * 4 + 16


def integer_shared(tile):
    rows, columns = map(int, tile.split(", "))
    return 3 * 64 * (rows + columns) * 2


def table(usage, pattern, warps, shared):
    """usage: cuobjdump's, by architecture; warps: of a block, by tile; shared(tile): bytes of a block."""
    found = {architecture: registers(usage[architecture], pattern) for architecture in ARCHITECTURES}
    pairs = sorted({(left, right) for _, left, right in found[ARCHITECTURES[0]]})
    lines = ["| left operand | right operand | " + " | ".join(tile.replace(", ", " x ") for tile in warps) + " |",
             "| --- | --- |" + " --- |" * len(warps)]
    for left, right in pairs:
        cells = [", ".join(str(found[architecture][tile, left, right]) for architecture in ARCHITECTURES)
                 if (tile, left, right) in found[ARCHITECTURES[0]] else "–" for tile in warps]
        lines.append(f"| {left} | {right} | " + " | ".join(cells) + " |")
    def fewest(tile):
        most = {architecture: max(used for kernel, used in one.items() if kernel[0] == tile) for architecture, one in found.items()}
        return min(resident(architecture, warps[tile], used, shared(tile)) for architecture, used in most.items())

    lines.append("| blocks of a multiprocessor | | " + " | ".join(str(fewest(tile)) for tile in warps) + " |")
    return "\n".join(lines) + "\n"


def others(usage):
    """The hot kernels that are no products."""
    found = {architecture: registers(usage[architecture], OTHER) for architecture in ARCHITECTURES}
    lines = ["| kernel | registers |", "| --- | --- |"]
    for name in OTHERS:
        lines.append(f"| {name} | {', '.join(str(found[architecture][name,]) for architecture in ARCHITECTURES)} |")
    return "\n".join(lines) + "\n"


def put(page, mark, text):
    """The page with this text in the place of that mark."""
    new, times = re.subn(rf"(?<=<!-- {mark} -->\n).*?(?=<!-- end -->)", lambda _: text, page, flags=re.DOTALL)
    if times != 1:
        raise AssertionError(f"the page has no place for {mark}")
    return new


def rewrite(path, renew):
    with open(path, encoding="utf-8") as file:
        page = renew(file.read())
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


def renewed(page, cuobjdump, library):
    usage = listed(cuobjdump, library, "-res-usage")
    floats = table(usage, FLOATS, {tile: float_warps(tile) for tile in TILES}, float_shared)
    integers = table(usage, INTEGERS, INTEGER_WARPS, integer_shared)
    return put(page, "registers", f"{floats}\n{integers}\n{others(usage)}")


def main():
    path, cuobjdump, library = sys.argv[1:]
    rewrite(path, lambda page: renewed(page, cuobjdump, library))


if __name__ == "__main__":
    main()
