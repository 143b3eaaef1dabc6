"""A program whose libraries are loaded once (warm_start.cpp): short commands are forked from there."""

import array
import os
import signal
import socket
import struct
import subprocess
import tempfile
import threading

started = {}  # by program


def run(program, arguments, folder, environment):
    """As subprocess.run gives it; standard input is empty. A start of its own where no library is beside the program
    (another build), or another thread's command is under way."""
    library = os.path.join(os.path.dirname(program), "../tests/support/libwarm_start.so")
    if os.path.exists(library):
        ours = started.get(program)
        if ours is None or ours.environment != environment:
            ours = started[program] = _Program(program, library, environment)
        if ours.free.acquire(blocking=False):
            try:
                return ours.run(arguments, folder)
            finally:
                ours.free.release()
    return cold(program, arguments, folder, environment)


def cold(program, arguments, folder, environment):
    """As a user starts it."""
    return subprocess.run([program, *arguments], cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=3600, check=False)


class _Program:
    def __init__(self, program, library, environment):
        self.program, self.environment = program, environment
        self.free = threading.Lock()
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(3600)
        with theirs:
            variables = {**environment, "LD_PRELOAD": library, "WARM_START": str(theirs.fileno())}
            self.process = subprocess.Popen([program], env=variables, pass_fds=[theirs.fileno()],
                                            stdin=subprocess.DEVNULL, start_new_session=True)

    def run(self, arguments, folder):
        words = [self.program, *map(str, arguments)]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, open(os.devnull, "rb") as empty:
            here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            files = array.array("i", [here, empty.fileno(), out.fileno(), err.fileno()])
            try:
                self.socket.sendmsg([b"".join(os.fsencode(word) + b"\0" for word in words)],
                                    [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
                status, = struct.unpack("i", self.socket.recv(4))
            except BaseException:
                os.killpg(self.process.pid, signal.SIGKILL)  # with what hangs
                raise
            finally:
                os.close(here)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode())
        return subprocess.CompletedProcess(words, os.waitstatus_to_exitcode(status), *texts)
