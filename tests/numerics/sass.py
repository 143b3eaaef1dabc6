"""Machine code of GPUs (SASS), as cuobjdump and nvdisasm show it: kernels, their instructions and loops."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple

LABEL = re.compile(r"^(\S+):$")
LINE = re.compile(r"^\s+/\*([0-9a-f]+)\*/\s+(?:@!?(?:UP|P)\w+\s+)?([A-Z][\w.]*)\s*([^;]*);")
SECTION = re.compile(r"^\.text\.(\S+):$")
OF_NVCC = re.compile(r"\$__internal_\d+_\$(__cuda_sm\w+)$")
JUMP = re.compile(r"`\((\S+)\)")

# routine: the function within the kernel that it is in, "" for the kernel itself; one of nvcc's without its number.
Instruction = namedtuple("Instruction", "address name operands routine")


class Kernel:
    def __init__(self, symbol):
        self.symbol, self.code, self.labels = symbol, [], {}

    def loops(self):
        """(first, last) address of each backward jump."""
        for one in self.code:
            target = JUMP.search(one.operands) if one.name.startswith("BRA") else None
            begin = self.labels.get(target[1]) if target else None
            if begin is not None and begin <= one.address:
                yield begin, one.address

    def innermost(self, instruction):
        """The shortest loop of those that have most of the instruction; none without it."""
        best = None
        for first, last in self.loops():
            body = [one for one in self.code if first <= one.address <= last]
            count = sum(one.name.split(".")[0] == instruction for one in body)
            if count and (best is None or (-count, len(body)) < best[0]):
                best = (-count, len(body)), body
        return best[1] if best else []


def routine(label):
    found = OF_NVCC.match(label)
    return found[1] if found else label


def kernels(listing):
    """Of a listing of nvdisasm -c."""
    kernel, inside, waiting = None, "", []
    for line in listing:
        if found := LINE.match(line):
            if kernel is None:
                continue
            address = int(found[1], 16)
            kernel.labels.update(dict.fromkeys(waiting, address))
            waiting.clear()
            kernel.code.append(Instruction(address, sys.intern(found[2]), found[3].rstrip(), inside))
        elif found := SECTION.match(line):
            if kernel:
                yield kernel
            kernel, inside = Kernel(found[1]), ""
            waiting.clear()
        elif found := LABEL.match(line):
            waiting.append(found[1])
            if found[1].startswith("$"):
                inside = routine(found[1])
    if kernel:
        yield kernel


def demangled(symbols):
    said = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True).stdout
    return dict(zip(symbols, said.replace("lockstep::numerics::cuda::", "").splitlines()))


def of_cubin(nvdisasm, path):
    """[Kernel]"""
    with subprocess.Popen([nvdisasm, "-c", "-ndf", path], stdout=subprocess.PIPE, text=True) as process:
        found = list(kernels(process.stdout))
    if process.returncode or not found:
        raise AssertionError(f"nvdisasm says nothing of {path}")
    return found


def of_library(cuobjdump, nvdisasm, path):
    """{architecture: [Kernel]} of a library's machine code."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(path, os.path.join(folder, "library.so"))
        subprocess.run([cuobjdump, "-xelf", "all", path], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for name in os.listdir(folder):
            if cubin := re.search(r"\.sm_(\w+)\.cubin$", name):
                found[cubin[1]] = of_cubin(nvdisasm, os.path.join(folder, name))
    return found
