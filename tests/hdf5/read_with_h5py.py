"""Canonical files seen from outside: read_with_h5py.py <hdf5_sample>

h5py brings its own, newer HDF5. It must read our file, and write the same bytes when it is told the
same things; and our bytes must not depend on time, umask, folder, locale or stale memory.
"""
import os
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5p, h5s, h5t

SPECS = [  # path, type, shape: those of some_file.h
    ("/state/model/conv.weight", "<f4", (32, 3, 5, 7)),
    ("/state/model/conv.bias", "<f4", (32,)),
    ("/state/cursor", "<i8", ()),
    ("/state/optimizer/step", "<i8", (2,)),
    ("/images", "u1", (3, 28, 28, 1)),
] + [(f"/many/tensor{20 - i}", "<f4", (1000 + i,)) for i in range(20)]
ATTRIBUTES = {"format": b"lockstep test", "step": 500}
TYPES = {"<f4": h5t.IEEE_F32LE, "<i8": h5t.STD_I64LE, "u1": h5t.STD_U8LE}


def data_bytes(index, spec):
    count = int(np.prod(spec[2], dtype=np.int64)) * np.dtype(spec[1]).itemsize
    return bytes((31 * index + i) % 251 for i in range(count))


def check_reading(path):
    with h5py.File(path, "r") as file:
        assert set(file.attrs) == set(ATTRIBUTES), dict(file.attrs)
        for name, value in ATTRIBUTES.items():
            assert file.attrs[name] == value, name
        found = []
        file.visititems(lambda name, item: found.append("/" + name) if isinstance(item, h5py.Dataset) else None)
        assert sorted(found) == sorted(spec[0] for spec in SPECS), found
        for index, spec in enumerate(SPECS):
            dataset = file[spec[0]]
            assert dataset.dtype == np.dtype(spec[1]) and dataset.shape == spec[2], spec
            assert np.asarray(dataset[()]).tobytes() == data_bytes(index, spec), spec
            assert dataset.id.get_offset() % 4096 == 0 or dataset.nbytes < 4096, spec


def creation_list(kind, has_links):
    plist = h5p.create(kind)
    plist.set_obj_track_times(False)
    if has_links:
        plist.set_link_creation_order(h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED)
    return plist


def write_with_h5py(path):
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_libver_bounds(h5f.LIBVER_V18, h5f.LIBVER_V18)
    access.set_alignment(4096, 4096)
    access.set_fclose_degree(h5f.CLOSE_STRONG)
    file = h5f.create(path.encode(), h5f.ACC_TRUNC, creation_list(h5p.FILE_CREATE, True), access)
    group_list = creation_list(h5p.GROUP_CREATE, True)
    dataset_list = creation_list(h5p.DATASET_CREATE, False)
    dataset_list.set_layout(h5d.CONTIGUOUS)
    dataset_list.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    dataset_list.set_fill_time(h5d.FILL_TIME_NEVER)
    groups = {}
    for index, spec in enumerate(SPECS):
        parent, prefix = file, ""
        *names, leaf = spec[0][1:].split("/")
        for name in names:
            prefix += "/" + name
            if prefix not in groups:
                groups[prefix] = h5g.create(parent, name.encode(), gcpl=group_list)
            parent = groups[prefix]
        space = h5s.create_simple(spec[2]) if spec[2] else h5s.create(h5s.SCALAR)
        dataset = h5d.create(parent, leaf.encode(), TYPES[spec[1]], space, dataset_list)
        array = np.frombuffer(data_bytes(index, spec), dtype=spec[1]).reshape(spec[2])
        dataset.write(h5s.ALL, h5s.ALL, array, TYPES[spec[1]])
    for name, value in ATTRIBUTES.items():
        if isinstance(value, bytes):
            kind = h5t.C_S1.copy()
            kind.set_size(len(value))
            kind.set_strpad(h5t.STR_NULLPAD)
            value = np.array(value, dtype=f"S{len(value)}")
        else:
            kind, value = h5t.STD_I64LE, np.array(value, dtype="<i8")
        h5a.create(file, name.encode(), kind, h5s.create(h5s.SCALAR)).write(value, kind)
    del groups, parent, dataset
    file.close()


def main():
    sample = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("a.h5", "b.h5", "other/c.h5", "h5py.h5")]
        os.mkdir(os.path.join(folder, "other"))
        subprocess.run([sample, paths[0]], check=True)
        check_reading(paths[0])
        time.sleep(1.1)  # object times have seconds
        subprocess.run([sample, paths[1]], check=True,
                       env=dict(os.environ, MALLOC_PERTURB_="173", TZ="Asia/Tokyo", LC_ALL="tr_TR.UTF-8"))
        subprocess.run([sample, "c.h5"], check=True, cwd=os.path.join(folder, "other"),
                       env={"MALLOC_PERTURB_": "1"}, preexec_fn=lambda: os.umask(0o077))
        # What the environment may tell HDF5 has no part in the bytes.
        paths.append(os.path.join(folder, "environment.h5"))
        subprocess.run([sample, paths[-1]], check=True, env={
            "HDF5_DRIVER": "family", "HDF5_VOL_CONNECTOR": "nonsense", "HDF5_USE_FILE_LOCKING": "nonsense",
            "HDF5_PLUGIN_PATH": folder, "HDF5_PLUGIN_PRELOAD": folder, "HDF5_EXTFILE_PREFIX": folder,
            "HDF5_VDS_PREFIX": folder, "HDF5_EXT_PREFIX": folder})
        write_with_h5py(paths[3])
        first = open(paths[0], "rb").read()
        for path in paths[1:]:
            other = open(path, "rb").read()
            differing = [i for i, (a, b) in enumerate(zip(first, other)) if a != b]
            assert first == other, f"{path}: {len(first)} and {len(other)} bytes, differ at {differing[:16]}"
    print("read by and equal to HDF5", h5py.version.hdf5_version)


main()
