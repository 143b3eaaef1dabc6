"""The launchers that start ranks on this machine: torchrun, Open MPI's mpirun and Slurm's srun.

Each has a name as the program's log spells it, the variable that tells a process its rank, the variables it needs,
and a command that goes before the program's own. Where it cannot run, making it raises Unavailable with the reason.
"""

import importlib.util
import os
import shutil
import sys

from ports import free_port
from slurm import Slurm, Unavailable

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Torchrun:
    name, rank = "torchrun", "RANK"

    def __init__(self, _folder):
        where = os.path.join(ROOT, ".deps/torchrun")
        if not os.path.isdir(where) or not importlib.util.find_spec("numpy"):
            raise Unavailable("no .deps/torchrun, or this Python has no numpy")
        # Not from this folder or Python's own: what lies there is not for it.
        self.environment = {"PYTHONPATH": where, "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}

    def command(self, ranks, *options):
        if not any(option.startswith(("--standalone", "--master-port")) for option in options):
            options = (f"--master-port={free_port()}", *options)
        # What follows -- is the program's: torchrun would take --run for an option of its own.
        return [sys.executable, "-m", "torch.distributed.run", "--no-python", f"--nproc-per-node={ranks}",
                *options, "--"]

    def stop(self):
        pass


class Mpirun:
    name, rank = "Open MPI", "OMPI_COMM_WORLD_RANK"

    def __init__(self, _folder):
        if not shutil.which("mpirun"):
            raise Unavailable("no mpirun")
        # Loopback only, and root, as in containers.
        self.environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                            "OMPI_MCA_oob_tcp_if_include": "lo"}

    def command(self, ranks, *options):
        return ["mpirun", "--oversubscribe", "-n", str(ranks), *options]

    def stop(self):
        pass


class Srun:
    """With a cluster of its own in `folder`."""

    name, rank = "srun", "SLURM_PROCID"

    def __init__(self, folder):
        self.slurm = Slurm(folder)
        self.environment = {"SLURM_CONF": self.slurm.path("slurm.conf")}

    def command(self, ranks, *options):
        return ["srun", "-n", str(ranks), "--overcommit", *options]

    def stop(self):
        self.slurm.stop()
