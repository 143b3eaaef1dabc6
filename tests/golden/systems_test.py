"""The golden bytes on two distributions, by each instruction set that the CPU has, by one rank and by three.

Usage: systems_test.py PROGRAM [RECIPE...]

PROGRAM is this machine's; the other one is built by tools/debian13, with Debian 13's compiler and libraries. Prints a
table for docs/evidence.md.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile

import debian13
import golden
import instruction_sets

RANKS = (1, 3)


def programs(path):
    """{system: program}"""
    here = platform.freedesktop_os_release()
    return {f"{here['ID'].capitalize()} {here['VERSION_ID']}": golden.Program(path),
            "Debian 13": golden.Program(debian13.PROGRAM, debian13.THROUGH)}


def cell(program, name, isa, ranks):
    """Trains and requires the golden bytes, unless this CPU lacks the instruction set."""
    if instruction_sets.missing(isa):
        return "not this CPU"
    program.environment["LOCKSTEP_ISA"] = isa
    with tempfile.TemporaryDirectory(prefix="lockstep-systems-") as folder:
        run = os.path.join(folder, "run")
        golden.train(program, name, run, "--ranks", ranks)
        there = [f for f in os.listdir(os.path.join(run, "environment")) if f.startswith("attempt-001-")]
        assert len(there) == ranks, there
        for path in there:  # the control: that instruction set
            with open(os.path.join(run, "environment", path), encoding="utf-8") as file:
                assert json.load(file)["isa"] == isa, path
    return "same"


def hashes(name):
    """Of the ledger and of the last checkpoint, which all runs have alike."""
    ledger = hashlib.sha256(golden.lines(name)).hexdigest()
    checkpoint = max(line.split()[::-1] for line in golden.sums(name) if line.endswith(".h5"))[1]
    return ledger[:16], checkpoint[:16]


def commit():
    try:
        return subprocess.run(["git", "-C", golden.SOURCE, "describe", "--always", "--dirty"], check=True,
                              capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def main():
    names = sys.argv[2:] or golden.NAMES
    versions = debian13.build()
    systems = programs(sys.argv[1])
    for system, program in systems.items():
        print(f"{system}:", " ".join(program.ok("fingerprint").split()))
    compilers = [json.loads(program.ok("fingerprint", "--json"))["compiler"] for program in systems.values()]
    assert len(set(compilers)) == len(systems), f"not programs of different compilers: {compilers}"
    columns = [(system, isa) for system in systems for isa in instruction_sets.CPU_FLAGS]
    table = ["| recipe | ledger | last checkpoint | ranks | " + " | ".join(f"{s}, {isa}" for s, isa in columns) + " |",
             "| --- " * (4 + len(columns)) + "|"]
    for name in names:
        for ranks in RANKS:
            cells = [cell(systems[system], name, isa, ranks) for system, isa in columns]
            first = (name, *hashes(name)) if ranks == RANKS[0] else ("", "", "")
            table.append("| " + " | ".join((*first, str(ranks), *cells)) + " |")
            print(table[-1], flush=True)
    print(f"commit {commit()}; {versions}", *table, sep="\n")


if __name__ == "__main__":
    main()
