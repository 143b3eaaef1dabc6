"""What the plug-in's machine code does (liblockstep_cuda.so): it rounds every operation on floats as IEEE 754 says, with
subnormals; it has no atomic operations; it keeps its values in registers; and its main loops are as docs/cuda.md says.

usage: sass_test.py NVCC CUOBJDUMP NVDISASM LIBRARY [-- unittest's arguments]

PTX says the same already (nvcc_test.py); this is what ptxas made of it. No instruction divides, takes a root, or divides
integers: ptxas writes sequences that begin with an approximation (MUFU) and end with the correctly rounded result, some
of them with steps that flush subnormals where none can be. Each has a mark of its own, so per kernel the counts must agree:

  integers        I2F.RP, MUFU.RCP, F2I.FTZ: the divisor is a float of an integer
  x / y           MUFU.RCP, FCHK, which asks whether the fast way is exact
  1 / x           MUFU.RCP, FADD.FTZ (a change of sign), and else a call of rcp_rn
  the root of x   MUFU.RSQ, two FMUL.FTZ, and else a call of sqrt_rn
  f64 x / y       MUFU.RCP64H, and else a call of div_rn_f64

An approximation of any other kind has no such mark. What ptxas calls are routines of its own; their names say that they
round to the nearest (rn) and do not flush (noftz).
"""
import functools
import os
import re
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import loops
import registers
import sass
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import unproved  # noqa: E402

ROUTINES = {"__cuda_sm20_div_s64", "__cuda_sm20_div_u64", "__cuda_sm20_rem_s64", "__cuda_sm20_rem_u64",
            "__cuda_sm20_div_rn_f64_full", "__cuda_sm20_rcp_rn_f32_slowpath", "__cuda_sm20_sqrt_rn_f32_slowpath",
            "__cuda_sm3x_div_rn_noftz_f32_slowpath",
            "__cuda_sm70_shflsync_down_p"}  # a shuffle whose warp ptxas does not know to be together
# On floats to the nearest, or exact. FCHK and what follows MUFU are counted. U: of values that a warp has in common.
FLOATS = re.compile(r"U?(FADD|FMUL|FFMA|DADD|DMUL|DFMA|FSEL|FMNMX(\.NAN)?|FCHK|F(SETP|SET)(\.BF)?\.\w+\.(AND|OR|XOR)|DSETP\.\w+\.(AND|OR|XOR)"
                    r"|I2FP?(\.\w+)*|F2I(\.[SU]\d+)?(\.F64)?\.TRUNC(\.NTZ)?|F2F\.(F32\.F64|F64\.F32))$")
ROUNDS_UP = re.compile(r"U?I2F(\.U32)?\.RP$")
COUNTED = {"MUFU.RCP", "MUFU.RCP64H", "MUFU.RSQ", "FADD.FTZ", "FMUL.FTZ", "F2I.FTZ.U32.TRUNC.NTZ"}
CONSTANT = re.compile(r"R\d+, -RZ, RZ, ")  # HFMA2 as a way to write a constant
INTEGERS = "IMMA.16832.S8.S8"
SUSPECT = re.compile(r"U?(MUFU|[FDH](ADD|MUL|FMA|SET|MNMX|SEL|CHK|SWZ)|FFMA|F2[FI]|I2F|\w*MMA)|.*\.FTZ")
suspect = functools.cache(SUSPECT.match)  # millions of instructions have few names
ATOMIC = re.compile(r"(RED|ATOM)")
LOCAL = re.compile(r"(LDL|STL)")

# They walk over a binary tree, and keep its open nodes on a stack that an index reads: its bytes, as the source has them. What
# else the compiler puts there are registers it has not (spills).
STACKS = {"merge_moments": 48 * 12, "tree_sum": 48 * 4, "LaneTrees": 48 * 4, "tree_sum_nodes": 64 * 4, "SealedSumKernel": 64 * 4}
WITH_STACK = re.compile(rf"({'|'.join(STACKS)})\b")


def unknown(kernel):
    """Instructions on floats, and matrices, that nothing speaks for; and sequences whose counts do not agree."""
    found, count, calls = Counter(), Counter(), Counter()
    for one in kernel.code:
        if one.routine in ROUTINES:
            continue
        if one.routine.startswith("__cuda"):
            found[one.routine] += 1
        if one.name.startswith("CALL") and (target := sass.JUMP.search(one.operands)):
            calls[sass.routine(target[1])] += 1
        if not suspect(one.name):
            continue
        name = one.name.removeprefix("U")  # of values that a warp has in common
        count["I2F.RP" if ROUNDS_UP.match(one.name) else name] += 1
        constant = one.name.startswith("HFMA2") and CONSTANT.match(one.operands)
        if not (FLOATS.match(one.name) or name in COUNTED or one.name == INTEGERS or constant):
            found[one.name] += 1
    reciprocals, roots = calls["__cuda_sm20_rcp_rn_f32_slowpath"], calls["__cuda_sm20_sqrt_rn_f32_slowpath"]
    expected = {"MUFU.RCP": count["I2F.RP"] + count["FCHK"] + reciprocals, "F2I.FTZ.U32.TRUNC.NTZ": count["I2F.RP"],
                "FADD.FTZ": reciprocals, "MUFU.RSQ": roots, "FMUL.FTZ": 2 * roots,
                "MUFU.RCP64H": calls["__cuda_sm20_div_rn_f64_full"]}
    for name, times in expected.items():
        if count[name] != times:
            found[f"{name}: {times} expected"] = count[name]
    return found


def with_name(kernel, pattern):
    return sorted(name for name in {one.name for one in kernel.code} if pattern.match(name))


class Sass(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.code = sass.of_library(CUOBJDUMP, NVDISASM, LIBRARY)
        cls.names = sass.demangled([kernel.symbol for kernels in cls.code.values() for kernel in kernels])

    def of_all(self, look):
        """{(architecture, kernel): what `look` finds}, of those where it finds something."""
        return {(architecture, self.names[kernel.symbol][:200]): found for architecture, kernels in self.code.items()
                for kernel in kernels if (found := look(kernel))}

    def test_every_kernel_is_looked_at(self):
        self.assertEqual(sorted(self.code), sorted(registers.ARCHITECTURES))
        for kernels in self.code.values():
            names = Counter()
            for name, times in Counter(one.name for kernel in kernels for one in kernel.code).items():
                names[name.split(".")[0]] += times
            self.assertGreater(len(kernels), 150)
            for name in ("FFMA", "DFMA", "IMMA", "LDS", "LDGSTS", "MUFU"):
                self.assertGreater(names[name], 50, name)

    def test_every_operation_is_rounded_as_ieee_754_says(self):
        self.assertEqual(self.of_all(unknown), {})

    def test_nothing_is_atomic(self):
        self.assertEqual(self.of_all(lambda kernel: with_name(kernel, ATOMIC)), {})

    def test_values_stay_in_registers(self):
        found = self.of_all(lambda kernel: with_name(kernel, LOCAL))
        self.assertTrue(found)
        self.assertEqual({kernel: names for kernel, names in found.items() if not WITH_STACK.search(kernel[1])}, {})

    def test_stacks_hold_what_the_source_keeps_there(self):
        found, kernels = {}, set()
        for architecture, usage in registers.listed(CUOBJDUMP, LIBRARY, "-res-usage").items():
            for symbol, stack in registers.stacks(usage).items():
                kernel = WITH_STACK.search(self.names[symbol][:200])
                if kernel:
                    kernels.add(kernel[1])
                if stack != (STACKS[kernel[1]] if kernel else 0):
                    found[architecture, self.names[symbol][:200]] = stack
        self.assertEqual(found, {})
        self.assertEqual(kernels, set(STACKS))

    def test_the_page_has_the_main_loops(self):
        page = (Path(__file__).parents[2] / "docs/cuda.md").read_text(encoding="utf-8")
        self.assertEqual(page, loops.renewed(page, self.code[loops.ARCHITECTURE]))


class Controls(unittest.TestCase):
    """What is forbidden is seen."""

    def all_compiled(self, source, *flags):
        with tempfile.TemporaryDirectory() as folder:
            source_path, out = os.path.join(folder, "bad.cu"), os.path.join(folder, "bad.cubin")
            with open(source_path, "w") as file:
                file.write(source)
            registers.nvcc(NVCC, source_path, out, "-cubin", "-arch=sm_80", *flags)
            return sass.of_cubin(NVDISASM, out)

    def compiled(self, source, *flags):
        kernel, = self.all_compiled(source, *flags)
        return kernel

    def each_compiled(self, *bodies):
        """(what it does, its kernel), by one call of nvcc: most of a small file's time is its start."""
        source = "\n".join('extern "C" __global__ void k%d(float* x) { %s; }' % one for one in enumerate(bodies))
        found = {kernel.symbol: kernel for kernel in self.all_compiled(source)}
        self.assertEqual(sorted(found), sorted(f"k{n}" for n in range(len(bodies))))
        return [(body, found[f"k{n}"]) for n, body in enumerate(bodies)]

    def test_fast_division_and_roots(self):
        source = "__global__ void k(float* x) { x[0] = x[1] / x[2]; x[3] = 1 / x[4]; x[5] = sqrtf(x[6]); }"
        self.assertEqual(unknown(self.compiled(source)), {})
        for flags, seen in ((["-use_fast_math"], "MUFU.RCP: 0"), (["-prec-div=false"], "MUFU.RCP: 0"),
                            (["-prec-sqrt=false"], "MUFU.SQRT"), (["-ftz=true"], "FTZ")):
            with self.subTest(flags):
                self.assertIn(seen, " ".join(unknown(self.compiled(source, *flags))))

    def test_sums_that_flush_subnormals(self):
        source = "__global__ void k(float* x) { x[0] = x[1] + x[2]; x[3] = x[4] * x[5]; }"
        self.assertEqual(unknown(self.compiled(source)), {})
        self.assertEqual(set(unknown(self.compiled(source, "-ftz=true"))), {"FADD.FTZ: 0 expected", "FMUL.FTZ: 0 expected"})

    def test_approximate_functions(self):
        calls = "__expf(*x)", "__logf(*x)", "__sinf(*x)", "__frcp_rz(*x)", "__fadd_rd(*x, 1)", "rsqrtf(*x)", "__fdividef(1, *x)"
        for call, kernel in self.each_compiled(*(f"*x = {call}" for call in calls)):
            with self.subTest(call):
                self.assertTrue(unknown(kernel))

    def test_halves(self):
        source = "#include <cuda_fp16.h>\n__global__ void k(__half2* x) { x[0] = __hadd2(x[1], x[2]); }"
        self.assertTrue(unknown(self.compiled(source)))

    def test_atomic_sums(self):
        for _, kernel in self.each_compiled("atomicAdd(x, 1.0f)", "x[1] = atomicAdd(x, 1.0f)"):
            self.assertTrue(with_name(kernel, ATOMIC))

    def test_a_spill_and_a_stack(self):
        sums = "__global__ void k(float* x, int n) { float s[64]; %s for (int i = 0; i < 64; ++i) x[i] = s[i]; }"
        fill = "for (int i = 0; i < 64; ++i) s[i] = x[i]; __syncthreads();"
        self.assertEqual(with_name(self.compiled(sums % fill), LOCAL), [])
        self.assertTrue(with_name(self.compiled(sums % fill, "-maxrregcount=32"), LOCAL))
        self.assertTrue(with_name(self.compiled(sums % (fill + "x[99] = s[n];")), LOCAL))

    def test_a_spill_beside_a_stack(self):
        source = ("__global__ void k(float* x, int n) { float s[64]; float a[48]; for (int i = 0; i < 48; ++i) a[i] = x[i];"
                  " for (int i = 0; i < 64; ++i) s[i] = x[64 + i]; __syncthreads();"
                  " for (int i = 0; i < 48; ++i) x[i] = a[i] + s[(n + i) % 64]; }")
        sizes = []
        for flags in ((), ("-maxrregcount=32",)):
            with tempfile.TemporaryDirectory() as folder:
                path, out = os.path.join(folder, "bad.cu"), os.path.join(folder, "bad.cubin")
                with open(path, "w") as file:
                    file.write(source)
                registers.nvcc(NVCC, path, out, "-cubin", "-arch=sm_80", *flags)
                sizes += registers.stacks(registers.usage_of(CUOBJDUMP, out)).values()
        self.assertEqual(sizes[0], 64 * 4)
        self.assertGreater(sizes[1], 64 * 4)


if __name__ == "__main__":
    ours, theirs = sys.argv[1:], []
    if "--" in ours:
        ours, theirs = ours[:ours.index("--")], ours[ours.index("--") + 1:]
    NVCC, CUOBJDUMP, NVDISASM, LIBRARY = ours
    unproved.main(theirs)
