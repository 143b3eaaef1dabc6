"""The golden bytes from CUDA's kernels, in a grid that the host emulates (tests/support/gpu).

Usage: gpu_test.py PROGRAM GPU_PROGRAM RECIPE
GPU_PROGRAM is the program on that GPU. A run begins there, goes on on the CPU, and ends there; it is replayed there.
"""

import os
import sys
import tempfile

import golden


def main():
    cpu, gpu, name = golden.Program(sys.argv[1]), golden.Program(sys.argv[2]), sys.argv[3]
    with tempfile.TemporaryDirectory(prefix="lockstep-gpu-") as folder:
        run = os.path.join(folder, "run")
        golden.train(gpu, name, run, "--set", "samples.count=0", steps=1)
        golden.train(cpu, name, run, "--set", "samples.count=0", steps=2)
        golden.train(gpu, name, run, "--set", "samples.count=0", "--ranks", 2, steps=3)
        gpu.ok("replay", run, "--from", 1, "--to", 2, "--quiet")
    print(f"{name} on an emulated GPU, the CPU and the GPU again: every byte is the golden one")


if __name__ == "__main__":
    main()
