"""Runs the conformance program and compares what it prints with docs/conformance.json.

run.py JSON PROGRAM [ARGUMENT]...         on this machine
run.py JSON --cross MACHINE BUILD_FOLDER  built for another architecture, under qemu-user
run.py JSON --avx512 PROGRAM              on an emulated CPU with AVX-512, under Bochs, where this one has none
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
CANNOT_RUN_HERE = 4

sys.path.insert(0, os.path.join(SOURCE, "tests"))
from support import bochs, instruction_sets  # noqa: E402


def not_proved(why):
    print(f"NOT PROVED: {why}")
    sys.exit(77)


def build_for(machine, folder):
    """The program, built for `machine`."""
    compiler = f"{machine}-linux-gnu-g++"
    if not shutil.which(compiler):
        not_proved(f"conformance on {machine}: no {compiler} here")
    configure = ["cmake", "-G", "Ninja", "-S", os.path.join(HERE, "cross"), "-B", folder, f"-DMACHINE={machine}"]
    if shutil.which("ccache"):
        configure.append("-DCMAKE_CXX_COMPILER_LAUNCHER=env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache")
    for command in (configure, ["cmake", "--build", folder, "--target", "conformance"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, "bin", "conformance")


def run(command):
    """Exit status, output."""
    done = subprocess.run(command, capture_output=True, check=False)
    # These say that a call failed, and that there is a plug-in, of another build.
    if done.returncode == CANNOT_RUN_HERE and b"CUDA: " not in done.stderr and b"is of another" not in done.stderr:
        not_proved(done.stderr.decode().strip().removeprefix("NOT PROVED: "))
    return done.returncode, done.stdout + done.stderr


def run_elsewhere(machine, folder):
    emulator = f"qemu-{machine}"
    if not shutil.which(emulator):
        not_proved(f"conformance on {machine}: no {emulator} here")
    return run([emulator, build_for(machine, folder)])


def run_avx512(program):
    if not instruction_sets.missing("avx512"):
        print("not emulated: this CPU has AVX-512, and conformance_avx512 runs on it")
        sys.exit(0)
    if lacks := bochs.missing(SOURCE):
        not_proved(f"conformance with AVX-512 under emulation: no {', '.join(lacks)} here")
    with tempfile.TemporaryDirectory(prefix="lockstep-bochs-") as machine:
        return bochs.run(SOURCE, {"conformance": program, **bochs.libraries(program)}, "/conformance --isa avx512",
                         machine)


def different_cases(expected, printed):
    """Names of the cases whose lines differ."""
    def by_name(document):
        return {(c["operation"], c["case"]): c for c in document["cases"]}

    wanted, got = by_name(expected), by_name(printed)
    return [f"{operation}, {case}" for operation, case in {**wanted, **got}
            if wanted.get((operation, case)) != got.get((operation, case))]


def main():
    path, *command = sys.argv[1:]
    if command[0] == "--cross":
        status, printed = run_elsewhere(*command[1:])
    elif command[0] == "--avx512":
        status, printed = run_avx512(*command[1:])
    else:
        status, printed = run(command)
    if status != 0:
        sys.exit(f"the conformance program exited with {status}: {printed.decode(errors='replace')}")
    with open(path, "rb") as file:
        expected = file.read()
    if printed == expected:
        return
    names = different_cases(json.loads(expected), json.loads(printed))
    sys.exit("\n".join([f"{len(names)} cases differ from {path}:", *names[:40]]))


if __name__ == "__main__":
    main()
