"""The table of docs/cuda.md: registers of the kernels of float products, as ptxas allots them.

usage: registers.py PAGE NVCC SOURCE INCLUDE…   writes it into the page; nvcc_test.py checks it
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ARCHITECTURES = ("80", "90a", "100")
FLAGS = ["-std=c++20", "--extended-lambda", "--expt-relaxed-constexpr", "--fmad=false", "-prec-div=true", "-prec-sqrt=true",
         "-ftz=false"]
TILES = ("128, 128", "128, 64", "64, 64", "128, 32")
KERNEL = re.compile(r"FloatKernel<[\w:]*Tile<(\d+, \d+)>, [\w:]*?(\w+), [\w:]*?(\w+), [\w:]+>")


def nvcc(program, includes, source, out, *words):
    """What it says."""
    done = subprocess.run([program, *words, *(f"-I{path}" for path in includes), source, "-o", out], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout + done.stderr


def compiled(program, includes, source, architecture):
    """What ptxas says of each kernel, and the PTX that it was given."""
    with tempfile.TemporaryDirectory() as folder:
        said = nvcc(program, includes, source, os.path.join(folder, "out.cubin"), *FLAGS, "-cubin", f"-arch=sm_{architecture}",
                    "-Xptxas", "-v", "--keep", "--keep-dir", folder)
        (ptx,) = Path(folder).glob("*.ptx")
        return said, ptx.read_text(encoding="ascii")


def machine_code(*arguments):
    return compiled(*arguments)[0]


def registers(said):
    """{(tile, left, right): registers}"""
    said = subprocess.run(["c++filt"], input=said, capture_output=True, text=True, check=True).stdout
    found, kernel = {}, None
    for line in said.splitlines():
        if "Compiling entry function" in line:
            kernel = KERNEL.search(line)
        elif kernel and (used := re.search(r"Used (\d+) registers", line)):
            found[kernel.groups()] = int(used[1])
    return found


def resident(tile, most):
    """Blocks that a multiprocessor's four files of 16384 registers hold: a warp takes multiples of 8 a thread."""
    rows, columns = map(int, tile.split(", "))
    return 4 * (16384 // (-(-most // 8) * 8 * 32)) // (rows * columns // 64 // 32)


def table(said):
    """said: what ptxas says, by architecture."""
    found = {architecture: registers(said[architecture]) for architecture in ARCHITECTURES}
    pairs = sorted({(left, right) for _, left, right in found[ARCHITECTURES[0]]})
    lines = ["| left operand | right operand | " + " | ".join(tile.replace(", ", " x ") for tile in TILES) + " |",
             "| --- | --- |" + " --- |" * len(TILES)]
    for left, right in pairs:
        cells = [", ".join(str(found[architecture][tile, left, right]) for architecture in ARCHITECTURES) for tile in TILES]
        lines.append(f"| {left} | {right} | " + " | ".join(cells) + " |")
    most = {tile: max(used for one in found.values() for kernel, used in one.items() if kernel[0] == tile) for tile in TILES}
    lines.append("| blocks of a multiprocessor | | " + " | ".join(str(resident(tile, most[tile])) for tile in TILES) + " |")
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


def renewed(page, said):
    return put(page, "registers", table(said))


def main():
    path, program, source, *includes = sys.argv[1:]
    said = {architecture: machine_code(program, includes, source, architecture) for architecture in ARCHITECTURES}
    rewrite(path, lambda page: renewed(page, said))


if __name__ == "__main__":
    main()
