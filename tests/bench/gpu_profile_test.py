"""gpu_profile.py reads what the interpreter of PTX counts, and its bounds follow from it.

usage: gpu_profile_test.py PROGRAM [unittest's arguments]
"""
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout

import gpu_profile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import unproved  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(sys.argv.pop(1))


def printed(path):
    sys.argv[1:] = [path]
    with io.StringIO() as out, redirect_stdout(out):
        gpu_profile.main()
        return out.getvalue()


class GpuProfile(unittest.TestCase):
    def test_a_step_is_counted(self):
        with tempfile.TemporaryDirectory(prefix="gpu-profile-") as folder:
            path = os.path.join(folder, "profile.jsonl")
            subprocess.run([PROGRAM, "train", os.path.join(TOP, "recipes/golden/classifier.toml"), "--run", os.path.join(folder, "run"),
                            "--quiet", "--device", "cuda", "--set", "run.steps=1"],
                           check=True, env={**os.environ, "LOCKSTEP_PTX_PROFILE": path}, stdout=subprocess.DEVNULL)
            with open(path, encoding="utf-8") as file:
                kernels = [json.loads(line) for line in file]
            page = printed(path)
        self.assertIn("FloatKernel", page)
        self.assertIn("UpdateKernel", page)
        products = [k for k in kernels if "FloatKernel" in k["kernel"]]
        self.assertGreater(sum(k["fma"] for k in products), 0)
        for kernel in products:
            self.assertLess(kernel["fma"], kernel["instructions"])
            self.assertEqual(kernel["wavefronts"], kernel["least"], "a float tile meets a bank twice")
        activated = [k for k in kernels if "GroupNorm" in k["kernel"]]
        self.assertGreater(sum(k["fma"] for k in activated), 0)
        self.assertLess(sum(k["binary64"] for k in activated), sum(k["instructions"] for k in activated) / 500,
                        "exp in binary64: GPUs for graphics have 1/64 of it")

    def test_the_slowest_unit_is_the_bound(self):
        one = {"kernel": "_Z1kv", "launches": 1, "blocks": 1, "instructions": 0, "fma": 0, "binary64": 0, "mma": 0, "barriers": 0,
               "shared": 0, "wavefronts": 0, "least": 0, "global": 0, "sectors": 0, "bytes": 0, "warps": 1, "clocks": 0, "longest": 0,
               "shared_bytes": 0}
        for gpu in gpu_profile.GPUS.values():
            clocks = 1e-3 * gpu.clock * gpu.multiprocessors
            for field, count in (("sectors", 1e-3 * gpu.bytes / 32), ("wavefronts", clocks), ("binary64", clocks * gpu.binary64)):
                self.assertAlmostEqual(max(gpu_profile.seconds({**one, field: count}, gpu).values()), 1e-3, msg=field)
            # Few blocks take as long as the longest; of many, as many run at once as a multiprocessor holds: 16 of four warps. Each
            # launch comes to that.
            clocks = 1e-3 * gpu.clock
            self.assertAlmostEqual(gpu_profile.seconds({**one, "longest": clocks}, gpu)["latency"], 1e-3 + gpu_profile.LAUNCH)
            blocks = 1000 * gpu.multiprocessors
            many = {**one, "blocks": blocks, "warps": 4 * blocks, "longest": 1, "clocks": clocks * gpu.multiprocessors * gpu.warps / 4}
            self.assertAlmostEqual(gpu_profile.seconds(many, gpu)["latency"], 1e-3 + gpu_profile.LAUNCH)
            self.assertAlmostEqual(gpu_profile.seconds({**one, "launches": 1000}, gpu)["latency"], 1000 * gpu_profile.LAUNCH)


if __name__ == "__main__":
    unproved.main(sys.argv[1:])
