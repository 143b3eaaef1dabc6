"""Shows that every defence has a test which fails without it.

tests/mutants/*.toml hold one [[mutant]] a defence:
  row     row of docs/faults.md
  name    what is taken away, in a few words
  file    source file
  old     its text, exactly once in that file
  new     the text without the defence
  target  program that is built, or several
  test    its command line; {bin} is the folder of programs, {source} the sources
          (GoogleTest: --gtest_filter is enough)

Usage: mutants.py check SOURCE           every text is where the tables say
       mutants.py run SOURCE [WORD...]   in a copy of the sources: each test passes, then fails with its
                                         mutant; prints a table. WORD: only mutants with it in row,
                                         name or target
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

KEYS = {"row", "name", "file", "old", "new", "target", "test"}
TIMEOUT = 900  # seconds a test; against hangs: a mutant that hangs is killed, too


def read(source):
    found = []
    for table in sorted(Path(source, "tests/mutants").glob("*.toml")):
        for mutant in tomllib.loads(table.read_text(encoding="utf-8"))["mutant"]:
            if set(mutant) != KEYS:
                sys.exit(f"{table.name}: {mutant.get('name')}: has {sorted(mutant)}, not {sorted(KEYS)}")
            found.append(mutant)
    return found


def check(source, mutants):
    """What does not hold, in lines."""
    problems = []
    for mutant in mutants:
        path = Path(source, mutant["file"])
        times = path.read_text(encoding="utf-8").count(mutant["old"]) if path.exists() else 0
        if times != 1:
            problems.append(f"{mutant['name']}: its text stands {times} times in {mutant['file']}")
        if mutant["old"] == mutant["new"]:
            problems.append(f"{mutant['name']}: changes nothing")
    return problems


def copy_of(source, folder):
    """The files that git knows of (or all but the build), and the dependencies as a link."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=source,
                           capture_output=True, text=True, check=False)
    copy = Path(folder, "source")
    if names.returncode == 0:
        for name in filter(None, names.stdout.split("\0")):
            if Path(source, name).is_file() and name != ".deps":
                Path(copy, name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(Path(source, name), Path(copy, name))
    else:
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("build", ".deps", "runs", "data"))
    os.symlink(Path(source, ".deps").resolve(), copy / ".deps")
    return copy


class Build:
    def __init__(self, source, folder):
        self.source = copy_of(source, folder)
        self.folder = self.source / "build/release"
        if wrong := self.call("cmake", "--preset", "release"):
            sys.exit(wrong)

    def call(self, *command):
        """What went wrong; empty if nothing did."""
        result = subprocess.run(command, cwd=self.source, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            return ""
        return f"{' '.join(command)}\n{result.stdout[-3000:]}{result.stderr[-3000:]}"

    def build(self, target):
        return self.call("ninja", "-C", str(self.folder), "-j2", *target.split(), "faulty_calls")

    def passes(self, mutant):
        test = mutant["test"].format(bin=self.folder / "bin", source=self.source,
                                     library=self.folder / "tests/support/libfaulty_calls.so")
        try:
            result = subprocess.run(shlex.split(test), cwd=self.folder, capture_output=True, text=True,
                                    errors="replace", timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            return False, "it hung"
        out = result.stdout + result.stderr
        if "0 tests from 0" in out or "Ran 0 tests" in out:
            sys.exit(f"{mutant['name']}: no test matches {test}")
        failed = [line for line in out.splitlines()
                  if line.startswith(("[  FAILED  ]", "FAIL: ", "ERROR: ", "AssertionError"))]
        return result.returncode == 0, failed[0] if failed else f"exit code {result.returncode}"


def run(source, mutants):
    survivors, seconds = [], time.monotonic()
    print("| row | defence taken away | result | found by |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="lockstep-mutants-") as folder:
        build = Build(source, folder)
        whole = set()
        for mutant in sorted(mutants, key=lambda m: m["target"]):
            if mutant["test"] not in whole:
                if wrong := build.build(mutant["target"]):
                    sys.exit(wrong)
                passed, why = build.passes(mutant)
                if not passed:
                    sys.exit(f"without any mutant, {mutant['test']} fails: {why}")
                whole.add(mutant["test"])
            path = build.source / mutant["file"]
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(mutant["old"], mutant["new"]), encoding="utf-8")
            if wrong := build.build(mutant["target"]):
                print(wrong, file=sys.stderr)
                passed, why = True, "it does not build"  # so nothing was shown
            else:
                passed, why = build.passes(mutant)
            path.write_text(text, encoding="utf-8")
            if passed:
                survivors.append(mutant["name"])
            print(f"| {mutant['row']} | {mutant['name']} | {'NOT SHOWN' if passed else 'killed'} | "
                  f"{mutant['target']}: {why} |", flush=True)
    print(f"{len(mutants) - len(survivors)} of {len(mutants)} mutants killed "
          f"in {time.monotonic() - seconds:.0f} s")
    return survivors


def main():
    command, source, words = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
    mutants = read(source)
    problems = check(source, mutants)
    if problems:
        sys.exit("\n".join(problems))
    if command == "run":
        chosen = [m for m in mutants if not words
                  or any(w in f"{m['row']} {m['name']} {m['target']}" for w in words)]
        sys.exit(bool(run(source, chosen)))
    print(f"{len(mutants)} mutants fit the sources")


if __name__ == "__main__":
    main()
