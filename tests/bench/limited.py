"""Programs that a check runs, with a limit of time. Nothing of one that hangs is left: it would keep the GPU. What is left is where
it was."""
import contextlib
import ctypes
import glob
import os
import shutil
import signal
import subprocess
import time


class CannotDo(Exception):
    """Why a check was not made."""


class Failed(AssertionError):
    """A program that ended with an error, and what it had printed."""

    def __init__(self, name, done):
        super().__init__(f"{name}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        self.printed = done.stdout


def dies_with_us():
    """For Popen's preexec_fn: where we are killed, it is too, and does not keep the GPU (prctl(2), PR_SET_PDEATHSIG). Ranks that it
    has started hear of that by themselves."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def session_of(process):
    """It and all that it started, that runs. Ranks have process groups of their own, but are of its session."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            with open(path, encoding="utf-8", errors="replace") as file:
                session = file.read().rpartition(")")[2].split()[3]
            if int(session) == process.pid:
                found.append(int(path.split("/")[2]))
    return sorted(found)


def end(process):
    """Kills it with all that it started."""
    process.kill()
    for one in session_of(process):
        with contextlib.suppress(OSError):
            os.kill(one, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # a driver that hangs may keep it for ever
        process.wait(timeout=5)


def text_of(path):
    try:
        with open(path, "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "unknown"


def where_it_is(process, debugger, debugger_seconds=30):
    """What its processes do, for a person: of each thread its state, what it waits for in the kernel, clocks of user and system;
    where there is a debugger, and one is wanted, the calls it is in."""
    debugger = next((found for name in ("cuda-gdb", "gdb") if debugger and (found := shutil.which(name))), None)
    lines, until = [], time.monotonic() + debugger_seconds
    for one in session_of(process):
        lines.append(f"process {one}: {text_of(f'/proc/{one}/cmdline')}")
        for thread in sorted(glob.glob(f"/proc/{one}/task/[0-9]*"), key=lambda path: int(path.rpartition("/")[2])):
            stat = text_of(f"{thread}/stat").rpartition(")")[2].split()
            clocks = f"state {stat[0]}, clocks {stat[11]} {stat[12]}" if len(stat) > 12 else "ended"
            lines.append(f"  thread {thread.rpartition('/')[2]} {text_of(f'{thread}/comm')}: {clocks}, {text_of(f'{thread}/wchan')}")
        if debugger is None:
            continue
        asked = subprocess.Popen([debugger, "-batch", "-nx", "-p", str(one), "-ex", "thread apply all backtrace 16"], text=True,
                                 errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            lines.append(asked.communicate(timeout=max(1, until - time.monotonic()))[0][-20000:])
        except subprocess.TimeoutExpired:
            asked.kill()  # and not waited for: a driver that hangs may keep it for ever
            lines.append(f"  {debugger} was not done in time")
    return "\n".join(lines) + "\n"


def log_of_run(command):
    """The end of the log and of the ledger that the command's run folder has."""
    words, text = list(map(str, command)), ""
    if "--run" not in words[:-1]:
        return text
    for name in ("log.txt", "ledger.jsonl"):
        with contextlib.suppress(OSError):
            with open(os.path.join(words[words.index("--run") + 1], name), encoding="utf-8", errors="replace") as file:
                text += f"-- {name}\n{file.read()[-3000:]}\n"
    return text


def finish(process, seconds, given=None, debugger=True):
    """Standard output and error of a process that begins a session (start_new_session), when it has ended. debugger: where it has
    not, one looks at it, which takes time."""
    try:
        return process.communicate(given, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        try:
            error.where = where_it_is(process, debugger) + log_of_run(error.cmd)
        finally:  # a signal may come meanwhile
            end(process)
        error.printed = (error.output or b"").decode(errors="replace")
        raise
    except BaseException:
        end(process)
        raise
