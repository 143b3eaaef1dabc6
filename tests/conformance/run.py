"""Runs the conformance program and compares what it prints with docs/conformance.json.

run.py JSON PROGRAM [ARGUMENT]...         on this machine
run.py JSON --cross MACHINE BUILD_FOLDER  built for another architecture, under qemu-user
"""

import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CANNOT_RUN_HERE = 4


def not_proved(why):
    print(f"NOT PROVED: {why}")
    sys.exit(77)


def build_for(machine, folder):
    """The command that runs the program built for `machine`."""
    compiler, emulator = f"{machine}-linux-gnu-g++", f"qemu-{machine}"
    for tool in (compiler, emulator):
        if not shutil.which(tool):
            not_proved(f"conformance on {machine}: no {tool} here")
    configure = ["cmake", "-G", "Ninja", "-S", os.path.join(HERE, "cross"), "-B", folder, f"-DMACHINE={machine}"]
    if shutil.which("ccache"):
        configure.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    for command in (configure, ["cmake", "--build", folder]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return [emulator, os.path.join(folder, "bin", "conformance")]


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
        command = build_for(*command[1:])
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode == CANNOT_RUN_HERE:
        not_proved(done.stderr.decode().strip())
    if done.returncode != 0:
        sys.exit(f"{command[0]} exited with {done.returncode}: {done.stderr.decode()}")
    with open(path, "rb") as file:
        expected = file.read()
    if done.stdout == expected:
        return
    names = different_cases(json.loads(expected), json.loads(done.stdout))
    sys.exit("\n".join([f"{len(names)} cases differ from {path}:", *names[:40]]))


if __name__ == "__main__":
    main()
