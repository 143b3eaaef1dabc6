"""A Slurm cluster of one machine, on loopback, in a folder of its own: munged, slurmctld and slurmd, started
here and stopped here. No root, no control groups, no accounting; what it starts, it ends by its process id."""

import os
import pwd
import socket
import subprocess
import time

from ports import free_port


class Unavailable(Exception):
    """Slurm cannot run here; says why."""


class Slurm:
    def __init__(self, folder):
        self.folder, self.running = folder, []
        self.variables = {**os.environ, "SLURM_CONF": self.path("slurm.conf")}
        for name in ("state", "spool"):
            os.mkdir(self.path(name))
        with open(os.open(self.path("munge.key"), os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(os.urandom(64))
        user, host = pwd.getpwuid(os.getuid()).pw_name, socket.gethostname()
        with open(self.path("slurm.conf"), "w", encoding="ascii") as file:
            file.write(f"""\
ClusterName=lockstep
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={self.path("munge.socket")}
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=5
StateSaveLocation={self.path("state")}
SlurmdSpoolDir={self.path("spool")}
SlurmctldPidFile={self.path("slurmctld.pid")}
SlurmdPidFile={self.path("slurmd.pid")}
NodeName=localhost NodeHostname={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes=localhost Default=YES MaxTime=INFINITE State=UP
""")
        try:
            # Forced: it dislikes that others may write to /tmp.
            self.start("munged", "--foreground", "--force", f"--socket={self.path('munge.socket')}",
                       f"--key-file={self.path('munge.key')}", f"--pid-file={self.path('munged.pid')}",
                       f"--seed-file={self.path('munged.seed')}", f"--log-file={self.path('munged.log')}")
            self.wait_until("munged", lambda: os.path.exists(self.path("munge.socket")))
            self.start("slurmctld", "-D")
            self.start("slurmd", "-D")
            self.wait_until("the node", lambda: "idle" in self.ask("sinfo", "-h", "-o", "%T"))
        except Unavailable:
            self.stop()
            raise

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, name, *arguments):
        with open(self.path(name + ".out"), "wb") as log:
            try:
                process = subprocess.Popen([self.program(name), *arguments], env=self.variables, cwd=self.folder,
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            except FileNotFoundError as error:
                raise Unavailable(f"{name} is not installed") from error
        self.running.append((name, process))

    @staticmethod
    def program(name):
        return next((path for path in (f"/usr/sbin/{name}", f"/usr/bin/{name}") if os.path.exists(path)), name)

    def ask(self, *command):
        return subprocess.run(command, env=self.variables, capture_output=True, text=True, check=False,
                              timeout=600).stdout

    def wait_until(self, what, ready):
        deadline = time.monotonic() + 600
        while not ready():
            for name, process in self.running:
                if process.poll() is not None:
                    raise Unavailable(f"{name} ended: {self.said(name)}")
            if time.monotonic() > deadline:
                raise Unavailable(f"{what} did not come up in 600 s: {self.said(self.running[-1][0])}")
            time.sleep(0.1)

    def said(self, name):
        with open(self.path(name + ".out"), encoding="utf-8", errors="replace") as file:
            return " | ".join(file.read().splitlines()[-4:])

    def stop(self):
        for _, process in reversed(self.running):
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
