"""The golden bytes from CUDA's kernels as nvcc compiled them: their PTX, interpreted (tests/support/ptx).

Usage: gpu_test.py PROGRAM GPU_PROGRAM RECIPE [alone | whole]
GPU_PROGRAM is the program beside a plug-in for those GPUs. A run begins on one, whose second step is captured and whose third
one is a launch of that, and it goes on on the CPU. Unless it is `alone`, it ends on two, whose memory a stand-in for NCCL reads
and writes (tests/support/nccl), and whose steps are captured, too. The CPU's step is replayed on one. `whole`: all steps and
samples on one.
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
    assert code == 4 and "and the GPU's memory leaves 4.0 GiB " in err, err
    assert not os.path.exists(run), "a folder was left behind"


def uncaptured(gpu, name, run):
    """Where CUDA loses what it captured, the run goes on call by call."""
    golden.train(gpu, name, run, "--set", "samples.count=0", steps=3,
                 environment={**gpu.environment, "LOCKSTEP_PTX_SPOILS_CAPTURES": "1"})
    with open(os.path.join(run, "log.txt"), encoding="utf-8") as log:
        assert "a step's calls are not captured" in log.read()


def whole(gpu, name):
    with tempfile.TemporaryDirectory(prefix="lockstep-gpu-") as folder:
        run = os.path.join(folder, "run")
        golden.train(gpu, name, run, steps=None)
        with open(os.path.join(run, "log.txt"), encoding="utf-8") as log:
            said = log.read()
            assert "not captured" not in said and "are captured" in said, "a step was not captured"
    print(f"{name} on a GPU whose PTX is interpreted, whole: every byte is the golden one")


def main():
    cpu, gpu, name = golden.Program(sys.argv[1]), Gpu(sys.argv[2]), sys.argv[3]
    if sys.argv[4:] == ["whole"]:
        whole(gpu, name)
        return
    with tempfile.TemporaryDirectory(prefix="lockstep-gpu-") as folder:
        run = os.path.join(folder, "run")
        golden.train(gpu, name, run, "--set", "samples.count=0", steps=3)
        golden.train(cpu, name, run, "--set", "samples.count=0", steps=4)
        if sys.argv[4:] != ["alone"]:
            golden.train(gpu, name, run, "--set", "samples.count=0", "--set", "evidence.witness_rate=0", "--ranks", 2,
                         "--shard", shard_of(name), steps=7, environment={**gpu.environment, "LOCKSTEP_TRANSPORT": "nccl"})
        with open(os.path.join(run, "log.txt"), encoding="utf-8") as log:
            assert "not captured" not in log.read(), "a step was not captured"
        if name == "dcgan":
            too_large(gpu, name, os.path.join(folder, "large"))
        if name == "toy-gan":
            uncaptured(gpu, name, os.path.join(folder, "uncaptured"))
        # From the checkpoint of step 3: before it, this GPU has computed all steps already.
        gpu.ok("replay", run, "--from", 4, "--to", 4, "--quiet")
    print(f"{name} on a GPU whose PTX is interpreted, the CPU and the GPU again: every byte is the golden one")


if __name__ == "__main__":
    main()
