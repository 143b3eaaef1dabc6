"""Reads a packed data file with h5py and prints its attributes and its contents in hexadecimal."""
import sys

import h5py

with h5py.File(sys.argv[1], "r") as f:
    assert set(f) == {1: {"images"}, 2: {"images", "labels"}, 3: {"images", "labels", "classes"}}[int(f.attrs["version"])]
    for name in [n for n in ("format", "version", "content_hash", "labelled_hash", "stamp") if n in f.attrs]:
        value = f.attrs[name]
        print(value.decode() if isinstance(value, bytes) else value)
    for name in f:
        print(*f[name].shape, f[name].dtype)
        print(f[name][...].tobytes().hex())
