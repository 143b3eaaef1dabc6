"""Programs that a check runs, with a limit of time. Nothing of one that hangs is left: it would keep the GPU."""
import contextlib
import glob
import os
import signal
import subprocess


class CannotDo(Exception):
    """Why a check was not made."""


class Failed(AssertionError):
    """A program that ended with an error, and what it had printed."""

    def __init__(self, name, done):
        super().__init__(f"{name}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        self.printed = done.stdout


def end(process):
    """Kills it with all that it started. Ranks have process groups of their own, but are of its session."""
    process.kill()
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            with open(path, encoding="utf-8", errors="replace") as file:
                session = file.read().rpartition(")")[2].split()[3]
            if int(session) == process.pid:
                os.kill(int(path.split("/")[2]), signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # a driver that hangs may keep it for ever
        process.wait(timeout=5)


def finish(process, seconds, given=None):
    """Standard output and error of a process that begins a session (start_new_session), when it has ended."""
    try:
        return process.communicate(given, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        end(process)
        error.printed = (error.output or b"").decode(errors="replace")
        raise
    except BaseException:
        end(process)
        raise
