"""Readers of a run's files. The formats are in docs/ledger.md and docs/checkpoint.md."""
import dataclasses
import hashlib
import json
import pathlib

import numpy


@dataclasses.dataclass
class Ledger:
    """header: the first line; steps: a dict a step, as docs/ledger.md names its keys."""

    header: dict
    steps: list

    def losses(self, phase):
        """[steps], binary32; 'nan' and 'inf' are values."""
        return numpy.array([float(step["loss"][phase]) for step in self.steps], numpy.float32)


@dataclasses.dataclass
class Checkpoint:
    """tensors: by the names of docs/checkpoint.md, "model/param/input.weight". meta: the file's attributes."""

    step: int
    samples: int
    recipe: str
    sample_shape: tuple
    tensors: dict
    meta: dict

    def role(self, role, what="param"):
        """The tensors of a network by path, in Lockstep's layout (docs/networks.md): PyTorch's is that of `lockstep export`.
        what: param, buffer, ema, or a slot of the optimiser. KeyError: the checkpoint has no such tensors."""
        prefix = f"{role}/{what}/"
        found = {name[len(prefix):]: value for name, value in self.tensors.items() if name.startswith(prefix)}
        if not found:
            kinds = sorted({"/".join(name.split("/")[:2]) for name in self.tensors})
            raise KeyError(f"there is no {role}/{what}, but {', '.join(kinds)}")
        return found


def read_ledger(run):
    """run: a run's folder or a ledger file. ValueError names the first line whose chain does not hold."""
    path = pathlib.Path(run)
    path = path / "ledger.jsonl" if path.is_dir() else path
    text = path.read_bytes()
    if not text.endswith(b"\n"):  # cut off in the middle of a write, by a kill
        text = text[:text.rfind(b"\n") + 1]
    lines, chain = [], bytes(32)
    for number, line in enumerate(text.splitlines(), 1):
        body, _, _ = line.rpartition(b',"chain":')
        chain = hashlib.sha256(chain + body).digest()
        values = json.loads(line)
        if values["chain"] != chain.hex():
            raise ValueError(f"{path}, line {number}: its chain does not follow from the lines before")
        lines.append(values)
    if not lines:
        raise ValueError(f"{path}: no ledger")
    return Ledger(lines[0], lines[1:])


def read_checkpoint(path):
    """path: a checkpoint, "RUN@STEP", or a run's folder, whose newest one is read. All tensors, in memory. `lockstep verify`
    says whether the file is whole."""
    import h5py
    run, at, step = str(path).rpartition("@")
    path = pathlib.Path(path)
    if at and step.isascii() and step.isdigit() and not path.exists():
        path = pathlib.Path(run, "checkpoints", f"step-{int(step):08}.h5")
    if path.is_dir():
        found = sorted(path.glob("checkpoints/step-*.h5"))
        if not found:
            raise FileNotFoundError(f"{path} has no checkpoints")
        path = found[-1]
    tensors = {}
    with h5py.File(path) as file:
        def take(name, item):
            if isinstance(item, h5py.Dataset):
                tensors[name] = item[()]
        file["state"].visititems(take)
        meta = {name: value.decode() if isinstance(value, bytes) else value.item() for name, value in file.attrs.items()}
        recipe = bytes(file["recipe"][()]).decode()
        shape = tuple(int(size) for size in file["sample_shape"][()])
    return Checkpoint(meta["step"], meta["samples"], recipe, shape, tensors, meta)


def read_metrics(run):
    """Arrays by name: "step", "loss.denoise", "gradient_norm.denoise", "seconds", … Of a step that was computed more than
    once, after a kill, the last line counts. A value that a step lacks is nan."""
    path = pathlib.Path(run)
    path = path / "metrics.jsonl" if path.is_dir() else path
    steps = {}
    for line in path.read_text().splitlines():
        try:
            values = json.loads(line)
        except ValueError:
            continue  # cut off by a kill
        if "step" in values:
            steps[values["step"]] = dict(_flat(values))
    names = list(dict.fromkeys(name for values in steps.values() for name in values))
    return {name: numpy.array([steps[step].get(name, numpy.nan) for step in sorted(steps)]) for name in names}


def _flat(values, prefix=""):
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, (int, float)):
            yield prefix + name, value
        elif value in ("nan", "inf", "-inf"):
            yield prefix + name, float(value)
