"""Every kernel of the plug-in is launched by what tools/gpu-check runs, on a GPU of 132 multiprocessors: else one would first be
tried on hardware in somebody's run. In the interpreted PTX, which computes what the CPU does there.

usage: launched_test.py FOLDER   (build/release/bin/ptx)
"""
import json
import os
import re
import subprocess
import sys
import tempfile

# Those whose shapes are the same in every run. Random ones would launch others each time.
RUNS = (("lockstep", "fingerprint", "--device", "cuda"),
        ("conformance_cuda",),
        ("numerics_test_cuda", "--gtest_filter=*GpuItems*"),
        ("numerics_matrix_test_cuda", "--gtest_filter=Gpu*:IntegerTiles.*"))


def kernels(plugin):
    with open(plugin, "rb") as file:
        return {name.decode() for name in re.findall(rb"\.entry (\w+)\(", file.read())}


def launched(folder, program, *arguments, known=""):
    with tempfile.NamedTemporaryFile("r") as profile:
        environment = {**os.environ, "LOCKSTEP_PTX_LAUNCHED": profile.name, "KERNELS_ARE_KNOWN": known}
        subprocess.run([os.path.join(folder, program), *arguments], check=True, stdout=subprocess.DEVNULL, timeout=3000, env=environment)
        return {json.loads(line)["kernel"] for line in profile}


def main(folder):
    found = kernels(os.path.join(folder, "liblockstep_cuda.so"))
    each = {run: launched(folder, *run) for run in RUNS}
    assert len(found) > 100, "this is not the plug-in's PTX"
    missing = sorted(found.difference(*each.values()))
    assert not missing, f"{len(missing)} of {len(found)} kernels are never launched:\n" + "\n".join(missing)
    assert found.difference(*(each[run] for run in RUNS[:-1])), "the profile names kernels that nobody launched"
    # Hundreds of starts in other tests are told what the self-test gives (tests/support/gpu/known_kernels.cpp).
    told = launched(folder, *RUNS[0], known="1")
    assert len(told) < len(each[RUNS[0]]) / 4, "KERNELS_ARE_KNOWN: a start computes the self-test all the same"
    print(f"{len(found)} kernels")


if __name__ == "__main__":
    main(*sys.argv[1:])
