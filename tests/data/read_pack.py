"""Reads a packed data file with h5py and prints its attributes and its images in hexadecimal."""
import sys

import h5py

with h5py.File(sys.argv[1], "r") as f:
    for name in ("format", "version", "content_hash", "stamp"):
        value = f.attrs[name]
        print(value.decode() if isinstance(value, bytes) else value)
    images = f["images"]
    print(*images.shape, images.dtype)
    print(images[...].tobytes().hex())
