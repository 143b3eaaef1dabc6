"""The command `lockstep` of the wheel: the program beside this file, with the LibTorch that pip has installed."""
import importlib.metadata
import importlib.util
import os
import sys

LIBTORCH = "2.11.0"  # the version that the program was linked with
ENVIRONMENT = 4  # the program's exit code for what the machine lacks


def give_up(problem, hint):
    print(f"lockstep: {problem} ({hint})", file=sys.stderr)
    sys.exit(ENVIRONMENT)


def torch_folder():
    """Where `import torch` would find it; PyTorch itself is not loaded."""
    hint = f"pip install torch=={LIBTORCH}, for {sys.executable}"
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        give_up("PyTorch is not installed, and its LibTorch is needed", hint)
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        version = "of unknown version"
    if version.split("+")[0] != LIBTORCH:
        give_up(f"PyTorch {version} is installed, and LibTorch {LIBTORCH} is needed", hint)
    return spec.submodule_search_locations[0]


def main():
    program = os.path.realpath(os.path.join(os.path.dirname(__file__), "bin", "lockstep"))
    if not os.path.exists(program):
        give_up(f"there is no {program}", "this is the source: tools/build lockstep makes build/release/bin/lockstep")
    torch = torch_folder()
    expected = os.path.join(os.path.dirname(program), "..", "..", "torch")  # where the program looks
    if not (os.path.exists(expected) and os.path.samefile(expected, torch)):
        # PyTorch lies in another site-packages: --system-site-packages or --user, say.
        folders = [os.path.join(os.path.dirname(torch), name) for name in ("torch/lib", "nvidia/cu13/lib", "nvidia/nccl/lib")]
        before = os.environ.get("LD_LIBRARY_PATH")
        os.environ["LD_LIBRARY_PATH"] = ":".join(folders + [before] * bool(before))
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
