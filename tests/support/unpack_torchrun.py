"""Makes a folder from which the real torchrun runs, out of PyTorch's wheel and the LibTorch beside it. PyTorch trains
with it, too: its CPU libraries are the wheel's own. torch.compile needs the packages that tools/bootstrap adds.

usage: unpack_torchrun.py WHEEL LIBTORCH OUT

torchrun is Python, but imports all of PyTorch, whose CUDA build wants gigabytes of NVIDIA's libraries
that nothing here calls. Instead of them come small ones that have the names the linker asks for, and no
content. Run it with OUT as PYTHONPATH: python -m torch.distributed.run.
"""

import os
import subprocess
import sys
import tempfile
import zipfile

WHEEL, LIBTORCH, OUT = (os.path.realpath(path) for path in sys.argv[1:])
LIB = os.path.join(OUT, "torch/lib")
KEPT = ["torch/lib/libtorch_python.so", "torch/lib/libtorch.so", "torch/lib/libshm.so", "torch/lib/libc10_cuda.so",
        "torch/bin/torch_shm_manager"]
EMPTY = ["libtorch_global_deps.so", "libcudnn.so.9", "libcufile.so.0"]


def symbols(path, which):
    """Names without versions; of the undefined ones only those that must be found."""
    out = subprocess.run(["nm", "-D", which, path], check=True, capture_output=True, text=True).stdout
    return {words[-1].split("@")[0] for words in map(str.split, out.splitlines()) if words[-2] != "w"}


def stand_ins():
    """Assembler for what libtorch_python.so wants from the CUDA libraries: type information and tables are
    read while it loads, functions give the address of zeros."""
    have = set()
    for folder in (LIB, f"{LIBTORCH}/nvidia/cu13/lib"):
        for name in os.listdir(folder):
            if ".so" in name:
                have |= symbols(os.path.join(folder, name), "--defined-only")
    out = subprocess.run(["ldd", f"{LIB}/libshm.so"], check=True, capture_output=True, text=True).stdout
    for word in out.split():
        if word.startswith("/") and os.path.exists(word):
            have |= symbols(word, "--defined-only")
    text = ".bss\nzeros: .skip 4096\n"
    for name in sorted(symbols(f"{LIB}/libtorch_python.so", "--undefined-only") - have):
        if name.startswith("_ZTV"):
            text += f".data\n.globl {name}\n{name}: .skip 512\n"
        elif name.startswith("_ZTI"):
            text += f'.data\n1: .asciz "{name[4:]}"\n.balign 8\n.globl {name}\n{name}: .quad 0, 1b, 0, 0\n'
        elif not name.startswith(("Py", "_Py")):
            text += f".text\n.globl {name}\n.type {name}, @function\n{name}: leaq zeros(%rip), %rax\nret\n"
    return text


def link(name, source=""):
    with tempfile.NamedTemporaryFile("w", suffix=".s") as file:
        file.write(source)
        file.flush()
        subprocess.run(["gcc", "-shared", "-nostdlib", "-z", "noexecstack", f"-Wl,-soname,{name}", "-o",
                        os.path.join(LIB, name), file.name], check=True)


with zipfile.ZipFile(WHEEL) as wheel:
    wheel.extractall(OUT, [name for name in wheel.namelist() if name in KEPT or name.startswith("torch/_C.cpython")
                           or name.startswith(("torch/", "torchgen/", "functorch/")) and name.endswith((".py", ".jinja"))])
os.mkdir(os.path.join(OUT, "nvidia"))
links = {f"torch/lib/{name}": f"torch/lib/{name}" for name in os.listdir(f"{LIBTORCH}/torch/lib")}
for link_name, target in {**links, "nvidia/cu13": "nvidia/cu13", "torch/include": "torch/include"}.items():
    path = os.path.join(OUT, link_name)
    os.symlink(os.path.relpath(os.path.join(LIBTORCH, target), os.path.dirname(path)), path)
link("libtorch_cuda.so", stand_ins())
for name in EMPTY:
    link(name)
