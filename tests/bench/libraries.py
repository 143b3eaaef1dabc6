"""Which libraries of PyTorch a program is to find that was built elsewhere: those of this Python, if they are of its version."""
import glob
import importlib.metadata
import importlib.util
import os
import runpy

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIBTORCH = runpy.run_path(os.path.join(TOP, "python/lockstep/__main__.py"))["LIBTORCH"]


def of_pytorch():
    """Their folders, for LD_LIBRARY_PATH, and what they are. Others than LIBTORCH's would be loaded before the program's own: none."""
    found = importlib.util.find_spec("torch")
    if found is None:
        return [], "this Python has no PyTorch"
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        version = "of unknown version"
    if version.split("+")[0] != LIBTORCH:
        return [], f"PyTorch {version} of this Python is not used: lockstep needs {LIBTORCH}"
    folders = []
    for package, below in (("torch", "lib"), ("nvidia", "*/lib")):
        found = importlib.util.find_spec(package)
        for folder in found.submodule_search_locations if found else []:
            folders += sorted(glob.glob(os.path.join(folder, below)))
    return folders, f"PyTorch {version}"
