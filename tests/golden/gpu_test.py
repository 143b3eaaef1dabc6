"""The golden bytes from CUDA's kernels as nvcc compiled them: their PTX, interpreted (tests/support/ptx).

Usage: gpu_test.py PROGRAM GPU_PROGRAM RECIPE
GPU_PROGRAM is the program beside a plug-in for those GPUs. A run begins on one, goes on on the CPU, and ends on two, whose
memory a stand-in for NCCL reads and writes (tests/support/nccl); it is replayed there.
"""

import os
import sys
import tempfile

import golden


class Gpu(golden.Program):
    def start(self, command, *arguments, **popen):
        return super().start(command, *arguments, "--device", "cuda", **popen)


def shard_of(name):
    return "optimizer" if name in ("sngan", "class-ddpm", "dit") else "none"


def too_large(gpu, name, run):
    """A step that the GPU's memory does not hold is refused with numbers; nothing is written."""
    code, _, err = gpu.run("train", golden.recipe(name), "--run", run, "--quiet", "--set", "batch.samples_per_lane=65536")
    assert code == 4 and "and the GPU's memory leaves " in err, err
    assert not os.path.exists(run), "a folder was left behind"


def main():
    cpu, gpu, name = golden.Program(sys.argv[1]), Gpu(sys.argv[2]), sys.argv[3]
    with tempfile.TemporaryDirectory(prefix="lockstep-gpu-") as folder:
        run = os.path.join(folder, "run")
        golden.train(gpu, name, run, "--set", "samples.count=0", steps=1)
        golden.train(cpu, name, run, "--set", "samples.count=0", steps=2)
        golden.train(gpu, name, run, "--set", "samples.count=0", "--ranks", 2, "--shard", shard_of(name), steps=3,
                     environment={**gpu.environment, "LOCKSTEP_TRANSPORT": "nccl"})
        if name in ("ddpm", "dcgan"):
            too_large(gpu, name, os.path.join(folder, "large"))
        gpu.ok("replay", run, "--from", 1, "--to", 2, "--quiet")
    print(f"{name} on a GPU whose PTX is interpreted, the CPU and the GPU again: every byte is the golden one")


if __name__ == "__main__":
    main()
