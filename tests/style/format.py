"""Every source is as clang-format writes it. Versions differ, so only with the one of Debian 12.

usage: format.py ROOT
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

from common import report, sources

VERSION = "14."


def problems(root):
    root = Path(root)
    paths = [str(p) for p in sources(root, "include", "src", "tools", "tests")]
    out = subprocess.run(["clang-format", "--dry-run", "--Werror", "--ferror-limit=1", *paths],
                         capture_output=True, text=True, cwd=root).stderr
    names = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", out, re.MULTILINE)))
    return [f"{Path(name).relative_to(root)}: not formatted: clang-format -i {name}" for name in names]


def available():
    if not shutil.which("clang-format"):
        return False
    out = subprocess.run(["clang-format", "--version"], capture_output=True, text=True).stdout
    return f"version {VERSION}" in out


if __name__ == "__main__":
    if not available():
        print(f"NOT PROVED: there is no clang-format {VERSION}x here")
        sys.exit(77)  # skipped
    report(problems(sys.argv[1]))
