"""Nobody reads memory that nobody wrote, in native numerics: the same files where fresh memory is full of NaNs.

Usage: native_filled_test.py PROGRAM FILLED_PROGRAM
LibTorch's own filling of such memory is off (ops::prepare_native), so it hides nothing; with LOCKSTEP_FILL_MEMORY=1 it is on, and changes
nothing either: so tools/gpu-check asks a GPU.
"""

import os
import sys
import tempfile

import golden


def main():
    programs = {"plain": golden.Program(sys.argv[1]), "filled": golden.Program(sys.argv[2]), "by LibTorch": golden.Program(sys.argv[1])}
    programs["by LibTorch"].environment = {**programs["plain"].environment, "LOCKSTEP_FILL_MEMORY": "1"}
    for name, precision in (("ddpm", "float32"), ("ddpm", "bfloat16"), ("dit", "bfloat16"), ("dcgan", "float32")):
        with tempfile.TemporaryDirectory(prefix="lockstep-filled-") as folder:
            found = {}
            for which, program in programs.items():
                run = os.path.join(folder, which)
                program.ok("train", golden.recipe(name), "--run", run, "--quiet", "--set", "run.steps=3", "--set",
                           "run.numerics=native", "--set", f"run.precision={precision}")
                found[which] = golden.evidence(run)
            assert found["plain"] == found["filled"] == found["by LibTorch"], f"{name}, {precision}: memory is read before it is written"
        print(f"{name}, {precision}: the same bytes in memory full of NaNs")


if __name__ == "__main__":
    main()
