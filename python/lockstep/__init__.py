"""Reads what Lockstep writes: ledger, checkpoint, metrics. Needs NumPy and h5py alone; lockstep.networks needs torch.

    run = lockstep.read_ledger("runs/a")
    state = lockstep.read_checkpoint("runs/a/checkpoints/step-00000500.h5")
    curves = lockstep.read_metrics("runs/a")

To check a run, use the program: `lockstep verify`. These readers check the ledger's chain and no more."""
import importlib

__all__ = ["Checkpoint", "Ledger", "read_checkpoint", "read_ledger", "read_metrics"]


def __getattr__(name):  # only who reads needs NumPy and h5py
    if name == "networks":  # only who computes needs torch
        return importlib.import_module("lockstep.networks")
    if name not in __all__:
        raise AttributeError(f"module 'lockstep' has no attribute {name!r}")
    return getattr(importlib.import_module("lockstep.readers"), name)
