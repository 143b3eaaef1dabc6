"""A GPU that is lost or hangs in the middle of a run: an error in one line, exit code 4, and the run goes on elsewhere to the golden bytes.

Usage: gpu_lost_test.py PROGRAM GPU_PROGRAM RECIPE
GPU_PROGRAM's GPU (tests/support/ptx) does nothing more after some kernels, anywhere in the run's preparation and first steps. Of one that
is lost each call then says so, as CUDA does after a kernel that read where nothing is; of one that hangs none does, and what waits for
it in CUDA's runtime waits for ever. The program must end all the same.
"""

import os
import random
import sys
import tempfile

import golden

STEPS = 7
KERNELS = 1200  # not fewer than those steps launch one by one
SAID = {"LOST": "illegal memory access", "HANGS": "the GPU hangs: it has not done its work in 10 s"}
DEADLINE = {"LOST": {}, "HANGS": {"LOCKSTEP_DEADLINE": "1"}}


def lose(cpu, gpu, name, folder, how, after, ranks):
    """Whether the GPU was lost before the run was done."""
    run = os.path.join(folder, f"{how}-after-{after}")
    settings = ("--set", "samples.count=0", "--set", f"run.steps={STEPS}")
    code, _, err = gpu.run("train", golden.recipe(name), "--run", run, "--quiet", *settings, "--device", "cuda", "--ranks", ranks,
                           environment={**gpu.environment, f"LOCKSTEP_PTX_{how}_AT": str(after), **DEADLINE[how]})
    lines = err.splitlines()
    if code != 0:
        assert code == 4 and len(lines) == ranks, f"exit {code} after {after} kernels:\n{err}"
        assert all("CUDA: " in line and SAID[how] in line and "`lockstep doctor" in line for line in lines), err
    golden.train(cpu, name, run, "--set", "samples.count=0", steps=STEPS)
    return code != 0


def hang_behind_many(gpu, folder):
    """A step of more launches than a driver takes before it lets the host wait (tests/support/ptx)."""
    settings = ("--set", "samples.count=0", "--set", "run.steps=1", "--set", "model.blocks=3")
    code, _, err = gpu.run("train", golden.recipe("ddpm"), "--run", os.path.join(folder, "behind-many"), "--quiet", *settings,
                           "--device", "cuda", environment={**gpu.environment, "LOCKSTEP_PTX_HANGS_AT": "300", **DEADLINE["HANGS"]})
    assert code == 4 and SAID["HANGS"] in err and len(err.splitlines()) == 1, f"exit {code}:\n{err}"


def main():
    cpu, gpu, name = golden.Program(sys.argv[1]), golden.Program(sys.argv[2]), sys.argv[3]
    seed = random.randrange(10**6)
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="lockstep-lost-") as folder:
        # The first are certain: in the preparation, and in a step.
        places = [("LOST", 50, 1), ("LOST", 900, 1), ("HANGS", 900, 1), ("HANGS", chance.randrange(KERNELS), 1),
                  *(("LOST", chance.randrange(KERNELS), 1) for _ in range(4)), ("LOST", chance.randrange(400), 2)]
        lost = [lose(cpu, gpu, name, folder, *place) for place in places]
        assert all(lost[:3]), "the GPU was not lost"
        hang_behind_many(gpu, folder)
    print(f"{name}: the GPU was lost {sum(lost)} times, and the run went on on the CPU to the golden bytes")


if __name__ == "__main__":
    main()
