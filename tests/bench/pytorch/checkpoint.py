#!/usr/bin/env python3
"""Saves and loads one state, of the shapes on standard input (JSON), in one of PyTorch's ways.

  tests/bench/pytorch/checkpoint.py torch.save FOLDER < shapes.json

Prints one JSON line: seconds that the trainer is blocked, until the state is durable (fsync of files and folder), and to
load it into tensors that are there. What was loaded is compared with what was saved.
"""
import argparse
import json
import os
import sys
import time

import torch


class Clock:
    def __init__(self):
        self.start = time.perf_counter()

    def seconds(self):
        return time.perf_counter() - self.start


def make_durable(path):
    """The file or the files of the folder, and the folder above."""
    paths = [os.path.join(path, name) for name in os.listdir(path)] if os.path.isdir(path) else []
    for each in [*paths, path, os.path.dirname(path)]:
        handle = os.open(each, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


def with_torch(folder, state, into):
    path, clock = os.path.join(folder, "state.pt"), Clock()
    torch.save(state, path)
    blocked = clock.seconds()
    make_durable(path)
    durable, clock = clock.seconds(), Clock()
    for name, tensor in torch.load(path, weights_only=True, mmap=True).items():
        into[name].copy_(tensor)
    return blocked, durable, clock.seconds()


def with_safetensors(folder, state, into):
    from safetensors.torch import load_file, save_file
    path, clock = os.path.join(folder, "state.safetensors"), Clock()
    save_file(state, path)
    blocked = clock.seconds()
    make_durable(path)
    durable, clock = clock.seconds(), Clock()
    for name, tensor in load_file(path).items():
        into[name].copy_(tensor)
    return blocked, durable, clock.seconds()


def with_dcp(folder, state, into, asynchronous=False):
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    path = os.path.join(folder, "dcp")
    writer = dcp.FileSystemWriter(path, sync_files=True)
    clock = Clock()
    if asynchronous:
        pending = dcp.async_save(state, storage_writer=writer)
        blocked = clock.seconds()
        pending.result()
    else:
        dcp.save(state, storage_writer=writer)
        blocked = clock.seconds()
    make_durable(path)
    durable, clock = clock.seconds(), Clock()
    dcp.load(into, storage_reader=dcp.FileSystemReader(path))
    return blocked, durable, clock.seconds()


WAYS = {"torch.save": with_torch, "safetensors": with_safetensors, "dcp": with_dcp,
        "dcp-async": lambda *args: with_dcp(*args, asynchronous=True)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("folder")
    args = parser.parse_args()
    torch.manual_seed(1)
    shapes = json.load(sys.stdin)
    state = {f"tensor{i:04}": torch.randn(shape) for i, shape in enumerate(shapes)}
    into = {name: torch.zeros_like(tensor) for name, tensor in state.items()}
    blocked, durable, load = WAYS[args.way](args.folder, state, into)
    if not all(torch.equal(into[name], tensor) for name, tensor in state.items()):
        sys.exit("the state that was loaded is not the one that was saved")
    print(json.dumps({"bytes": sum(tensor.nbytes for tensor in state.values()), "blocked": blocked, "durable": durable,
                      "load": load}), flush=True)
    os._exit(0)  # Gloo's threads sometimes hang at the interpreter's exit


if __name__ == "__main__":
    main()
