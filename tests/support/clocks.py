"""Another clock for a program, by faketime."""

import shutil
import subprocess


def faketime_library():
    """What the command preloads; a clock that jumps needs its settings, which the command lacks. None: there is none.

    The command fails where a process of its number has left a file in /dev/shm; the next one has another number."""
    if not shutil.which("faketime"):
        return None
    for _ in range(100):
        said = subprocess.run(["faketime", "2020-01-01 00:00:00", "printenv", "LD_PRELOAD"], capture_output=True, text=True)
        if said.returncode == 0:
            return said.stdout.strip()
    raise RuntimeError(f"faketime: {said.stderr}")
