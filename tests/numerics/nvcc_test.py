"""The PTX in the plug-in (liblockstep_cuda.so), which drivers of newer GPUs compile: every operation on floats is one that
IEEE 754 rounds, with subnormals; nothing adds floats in an order that is not ours. And kernels take as many registers as
docs/cuda.md says. Machine code: sass_test.py. And CMake takes no nvcc of another CUDA (tools/cmake/cuda.cmake).

usage: nvcc_test.py NVCC CUOBJDUMP LIBRARY [-- unittest's arguments]
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import registers
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import unproved  # noqa: E402

# Of an instruction on f32 or f64: exact, or rounded to the nearest.
EXACT = re.compile(r"(mov|ld|st|selp|setp|set|abs|neg|min|max|copysign|testp|shfl)\b")
ROUNDED = re.compile(r"(add|sub|mul|fma|div|rcp|sqrt|cvt)\.rn\b")
CONVERTED = re.compile(r"cvt\.(f64\.f32|rzi\.[su](8|16|32|64)\.f(32|64))$")  # exact; toward zero, as C++ says
MATRICES = re.compile(r"(mma|wmma|wgmma|tcgen05)\b")  # tensor cores
INTEGERS = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"  # exact; wraps around without .satfinite
FLOATS = re.compile(r"\.((?:b|t)?f\d+(?:x\d)?|u?e\dm\d(?:x\d)?)\b")  # the types, packed ones too


def instructions(ptx):
    for line in ptx.splitlines():
        found = re.match(r"\s*(?:@!?%p\d+ )?([a-z][a-z0-9_.:]*)[\s;]", line)
        if found:
            yield found[1]


def forbidden(ptx):
    """The instructions that are not allowed, and how many of them there are."""
    found = {}
    for name in instructions(ptx):
        types = set(FLOATS.findall(name))
        allowed = types <= {"f32", "f64"} and (EXACT.match(name) or ROUNDED.match(name) or CONVERTED.match(name))
        if (re.search(r"\.(ftz|noftz|approx|sat|satfinite)\b", name) or (types and not allowed)
                or (MATRICES.match(name) and name != INTEGERS)):
            found[name] = found.get(name, 0) + 1
    return found


class Nvcc(unittest.TestCase):
    def test_every_operation_is_rounded_as_ieee_754_says(self):
        ptx = registers.listed(CUOBJDUMP, LIBRARY, "-ptx")["80"]
        self.assertGreater(len(re.findall(r"^\.visible \.entry ", ptx, re.MULTILINE)), 100)
        self.assertGreater(sum(name == "fma.rn.f32" for name in instructions(ptx)), 100)
        self.assertGreater(sum(name == INTEGERS for name in instructions(ptx)), 100)
        self.assertEqual(forbidden(ptx), {})

    def test_the_page_has_the_registers_of_hot_kernels(self):
        page = (Path(__file__).parents[2] / "docs/cuda.md").read_text(encoding="utf-8")
        self.assertEqual(page, registers.renewed(page, CUOBJDUMP, LIBRARY))

    def test_what_is_forbidden_is_seen(self):
        kernels = """
            __global__ void fast(float* x) { x[0] = x[0] / x[1] + sqrtf(x[2]); }
            __global__ void added(float* x) { atomicAdd(x, 1.0f); }
            __global__ void contracted(float* x) { x[0] = __expf(x[1]); }
            __global__ void saturated(int* x) {
              asm("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0,%1,%2,%3}, {%0,%1,%2,%3}, {%0,%1}, {%0,%1,%2,%3};"
                  : "+r"(x[0]), "+r"(x[1]), "+r"(x[2]), "+r"(x[3]));
            }
        """
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "bad.cu")
            with open(source, "w") as file:
                file.write(kernels)
            out = os.path.join(folder, "bad.ptx")
            registers.nvcc(NVCC, source, out, "-use_fast_math", "-ptx", "-arch=compute_80")
            found = " ".join(forbidden(Path(out).read_text(encoding="ascii")))
        for word in ("div.approx.ftz.f32", "sqrt.approx.ftz.f32", "ex2.approx.ftz.f32", ".add.f32", ".satfinite."):
            self.assertIn(word, found)

    def test_other_types_and_roundings_are_seen(self):
        for name in ("red.global.add.noftz.bf16x2", "red.global.add.f32", "atom.global.add.f64", "fma.rn.f16x2", "add.bf16x2",
                     "fma.rn.f32x2", "add.rz.f32x2", "add.rz.f32", "add.rn.sat.f32", "cvt.rn.bf16x2.f32", "cvt.rn.f16.f32",
                     "cvt.rna.tf32.f32", "cvt.rn.satfinite.e4m3x2.f32", "add.f32", "ex2.approx.f32"):
            self.assertEqual(forbidden(f"\t{name} \t%r1, %r2, %r3;"), {name: 1})
        for name in ("add.rn.f32", "fma.rn.f64", "cvt.f64.f32", "cvt.rn.f32.f64", "ld.global.v4.f32", "red.global.add.u32"):
            self.assertEqual(forbidden(f"\t{name} \t%r1, %r2, %r3;"), {})


class Found(unittest.TestCase):
    """By CMake, with stand-ins."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name).resolve()
        (self.top / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(some LANGUAGES NONE)\n"
                                                 f"include({Path(__file__).resolve().parents[2]}/tools/cmake/cuda.cmake)\n")
        (self.top / "path").mkdir()
        (self.top / "path/nvcc").symlink_to(self.top / "toolkit/bin/nvcc")

    def put(self, toolkit, says):
        for name in ("bin", "include"):
            (self.top / toolkit / name).mkdir(parents=True, exist_ok=True)
        (self.top / toolkit / "include/cuda_runtime.h").touch()
        program = self.top / toolkit / "bin/nvcc"
        program.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, {says}'\n")
        program.chmod(0o755)

    def configured(self):
        """The exit code, what it said, and where CUDA's headers are."""
        done = subprocess.run(["cmake", "-B", self.top / "build", self.top], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{self.top}/path:{os.environ['PATH']}"})
        headers = re.search(r"^CUDA_INCLUDE_DIR:PATH=(.*)", (self.top / "build/CMakeCache.txt").read_text(), re.MULTILINE)
        return done.returncode, " ".join(done.stderr.split()), headers and headers[1]

    def test_of_another_cuda_it_is_not_used(self):
        for says, told in (("release 12.9, V12.9.86", "release 12.9"), ("release 130.0, V130.0.1", "release 130.0"), ("", "")):
            self.put("toolkit", says)
            code, said, _ = self.configured()
            self.assertEqual(code, 0)
            self.assertIn(f"kernels for GPUs are left out: {self.top}/path/nvcc says '{told}', and CUDA 13 is needed "
                          "(run tools/bootstrap --cuda)", said)
            self.assertNotIn("NVCC:FILEPATH=/", (self.top / "build/CMakeCache.txt").read_text())
        (self.top / ".deps").symlink_to(self.top / "deps")  # as copies of the sources have it: ccache knows paths below the sources
        self.put("deps/cuda/nvidia/cu13", "release 13.0, V13.0.88")
        self.assertEqual(self.configured(), (0, "", f"{self.top}/.deps/cuda/nvidia/cu13/include"))

    def test_a_link_leads_to_its_headers(self):
        self.put("toolkit", "release 13.1, V13.1.80")
        self.assertEqual(self.configured(), (0, "", f"{self.top}/toolkit/include"))


if __name__ == "__main__":
    ours, theirs = sys.argv[1:], []
    if "--" in ours:
        ours, theirs = ours[:ours.index("--")], ours[ours.index("--") + 1:]
    NVCC, CUOBJDUMP, LIBRARY = ours
    unproved.main(theirs)
