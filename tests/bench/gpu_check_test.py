"""tools/gpu-check on an emulated GPU, on one with a broken kernel, and without any.

usage: gpu_check_test.py BINARIES [unittest's arguments]
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARIES = os.path.abspath(sys.argv.pop(1))


def binary(name):
    return os.path.join(BINARIES, name)


class GpuCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpu-check-test-")
        self.addCleanup(folder.cleanup)
        self.out = os.path.join(folder.name, "found.json")

    def check(self, program, *words):
        """Exit code, what it printed, the JSON, the page."""
        done = subprocess.run([os.path.join(TOP, "tools/gpu-check"), "--program", binary(program), "--out", self.out, *words],
                              capture_output=True, text=True)
        with open(self.out, encoding="utf-8") as file:
            found = json.load(file)
        with open(self.out[:-5] + ".md", encoding="utf-8") as file:
            return done.returncode, done.stdout + done.stderr, found, file.read()

    def test_an_emulated_gpu_holds(self):
        code, said, found, page = self.check("lockstep_gpu", "--conformance", binary("conformance_gpu"), "--golden",
                                             "classifier,r1-gan", "--steps", "2", "--quick")
        self.assertEqual(code, 0, said)
        results = {(row["part"], row["check"]): row["result"] for row in found["checks"]}
        self.assertEqual([name for name, result in results.items() if result == "FAILS"], [])
        for name in (("kernels", "docs/conformance.json"), ("golden", "classifier"), ("golden", "r1-gan, moving"),
                     ("native", "float32"), ("native", "tf32"), ("native", "bfloat16"), ("ranks", "Gloo, ranks that share the GPUs"),
                     ("speed", "steps of a U-Net")):
            self.assertEqual(results[name], "holds", said)
        self.assertEqual(results["ranks", "NCCL"], "not done")
        self.assertIn("| golden | r1-gan, moving | holds: GPU, CPU, GPU |", page)

    def test_a_broken_kernel_is_seen_everywhere(self):
        code, said, found, _ = self.check("lockstep_broken_fma_order", "--device", "cpu", "--conformance", binary("conformance_broken"),
                                          "--golden", "classifier", "--only", "kernels", "--only", "golden")
        self.assertEqual(code, 1, said)
        failed = {row["check"]: row["detail"] for row in found["checks"] if row["result"] == "FAILS"}
        self.assertEqual(set(failed), {"doctor", "docs/conformance.json", "classifier", "classifier, moving"})
        self.assertIn("cases differ", failed["docs/conformance.json"])

    def test_an_error_of_cuda_fails(self):
        folder = os.path.dirname(self.out)
        bench = os.path.join(folder, "gpu_bench")
        with open(bench, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\necho 'CUDA: a copy: unspecified launch failure' >&2\nexit 4\n")
        os.chmod(bench, 0o755)
        code, said, found, _ = self.check("lockstep_gpu", "--binaries", folder, "--only", "speed", "--quick")
        self.assertEqual(code, 1, said)
        self.assertEqual([row["check"] for row in found["checks"] if row["result"] == "FAILS"], ["gpu_bench"])

    @unittest.skipUnless(os.path.exists(binary("ptx/lockstep")), "no nvcc")
    def test_without_libtorch_for_cuda_native_numerics_are_not_done(self):
        code, said, found, _ = self.check("ptx/lockstep", "--only", "native")
        self.assertEqual(code, 0, said)
        rows = {row["check"]: row["result"] for row in found["checks"] if row["part"] == "native"}
        self.assertEqual(rows, dict.fromkeys(("float32", "tf32", "bfloat16"), "not done"))

    def test_without_a_gpu_it_says_so(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("here is a GPU")
        code, said, found, page = self.check("lockstep")
        self.assertEqual(code, 4, said)
        self.assertEqual([row["result"] for row in found["checks"]], ["not done"])
        self.assertIn("no driver", said + page)


if __name__ == "__main__":
    unittest.main()
