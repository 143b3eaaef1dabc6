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


def runs(process):
    """One that has ended may still have a number, until its parent asks."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


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

    def stand_in(self, name, script):
        """A folder with a program of that name."""
        folder = os.path.dirname(self.out)
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n" + script)
        os.chmod(path, 0o755)
        return folder

    def failing(self, found):
        return {row["check"] for row in found["checks"] if row["result"] == "FAILS"}

    def test_an_error_of_cuda_fails(self):
        for name in ("lockstep", "conformance_cuda", "gpu_bench"):
            folder = self.stand_in(name, "echo 'CUDA: a copy: unspecified launch failure' >&2; exit 4\n")
        code, said, found, _ = self.check(os.path.join(folder, "lockstep"), "--only", "kernels", "--only", "golden", "--only", "speed",
                                          "--golden", "wgan", "--quick")
        self.assertEqual(code, 1, said)  # and the others are tried all the same
        self.assertEqual(self.failing(found), {"fingerprint", "doctor", "docs/conformance.json", "wgan", "wgan, moving", "gpu_bench",
                                               "steps of a U-Net"})

    def test_what_hangs_loses_no_other(self):
        self.stand_in("lockstep", "echo 'CUDA: the GPU: unknown error' >&2; exit 4\n")
        folder = self.stand_in("gpu_bench", f"""
            echo '{{"kernel": "one", "shape": "1", "bytes": 1, "seconds": 1}}'
            echo '{{"half'
            sleep 1000 & echo $! >{self.out}.pid; wait""")
        code, said, found, page = self.check(os.path.join(folder, "lockstep"), "--only", "speed", "--quick", "--seconds", "6")
        self.assertEqual(code, 1, said)
        self.assertIn("gpu_bench", self.failing(found))
        self.assertEqual([row["kernel"] for row in found["speed"]], ["one"])
        left = {row["check"]: row["detail"] for row in found["checks"] if row["result"] == "not done"}
        self.assertEqual(left["steps of a U-Net"], "no time left of 6 s")
        self.assertIn("no time left", page)
        with open(self.out + ".pid", encoding="ascii") as file:
            self.assertFalse(runs(int(file.read())), "what it started uses the GPU beside the others")

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
