"""Images of containers, made by tools/container.

Usage: container_test.py CASE, where CASE is
  twice              an image is built twice, the second time from nothing: the same digest and id
  golden_KIND_SUITE  the image's program trains a golden recipe, by one rank and by three, to the golden bytes
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "golden"))

import golden  # noqa: E402

BUILD = os.path.join(SOURCE, "build")


def make(kind, suite, into):
    """Builds an image and returns its name, digest and id; ends the test where that is impossible."""
    tool = [os.path.join(SOURCE, "tools", "container"), "build", kind, "--suite", suite, "--into", into]
    done = subprocess.run(tool, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode == 4:
        print(f"NOT PROVED: images of containers: {done.stderr.strip().splitlines()[-1]}")
        sys.exit(golden.SKIPPED)
    assert done.returncode == 0, done.stdout + done.stderr
    return re.fullmatch(r"(\S+) (sha256:\S+) id (\S+)", done.stdout.splitlines()[-1]).groups()


# Commands keep no cache of blobs on the machine.
APART = ["unshare", "--mount", "bash", "-c",
         'mkdir -p /var/lib/containers; mount -t tmpfs cache /var/lib/containers; exec buildah "$@"']


class Buildah:
    """The images below one folder."""

    def __init__(self, into):
        self.command = [*APART, "buildah", "--root", os.path.join(into, "storage"),
                        "--runroot", os.path.join(into, "run"), "--storage-driver", "vfs"]

    def __call__(self, *arguments):
        return subprocess.run([*self.command, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=True).stdout.strip()


def id_with(into, epoch):
    """The image's id if this were the time in it: for the control."""
    buildah = Buildah(into)
    buildah("bud", "--isolation", "chroot", "--pull-never", "--timestamp", epoch, "--tag", "localhost/control",
            "--file", os.path.join(SOURCE, "containers", "Containerfile.cpu"), os.path.join(into, "bookworm"))
    return buildah("images", "--no-trunc", "--quiet", "localhost/control").rpartition(":")[2]


def twice():
    with tempfile.TemporaryDirectory(prefix="containers-", dir=BUILD) as folder:
        first = make("cpu", "bookworm", os.path.join(folder, "first"))
        shutil.rmtree(os.path.join(folder, "first"))
        into = os.path.join(folder, "second")
        second = make("cpu", "bookworm", into)
        assert first == second, f"two builds, two images:\n  {first}\n  {second}"
        with open(os.path.join(SOURCE, "containers", "bookworm.packages"), encoding="ascii") as file:
            epoch = re.search(r"^# epoch (\d+)$", file.read(), re.MULTILINE)[1]
        assert id_with(into, epoch) == second[2], "the control's words are not those of tools/container"
        assert id_with(into, str(int(epoch) + 1)) != second[2], "the control: the id does not know the image"
    print("built twice:", *second)


def trains_golden(kind, suite):
    """In a container of the image; run's folder and recipes are where they are here."""
    into = os.path.join(BUILD, "containers")
    image, _, _ = make(kind, suite, into)
    buildah = Buildah(into)
    container = buildah("from", "--pull-never", image)
    try:
        with tempfile.TemporaryDirectory(prefix="lockstep-container-") as folder:
            mounts = [f"{path}:{path}:{mode}" for path, mode in (
                (folder, "rw"), (os.path.join(SOURCE, "recipes"), "ro"), ("/usr/share/datasets", "ro"))]
            through = [*buildah.command, "run", "--isolation", "chroot", *(f"--volume={mount}" for mount in mounts),
                       container, "--"]
            program = golden.Program("/usr/bin/lockstep", through)
            for ranks in (1, 3):
                golden.train(program, "toy-gan", os.path.join(folder, str(ranks)), "--ranks", ranks)
                golden.train(program, "ddpm", os.path.join(folder, f"ddpm-{ranks}"), "--ranks", ranks)
            code, _, err = program.run("inspect", os.path.join(folder, "nothing"))
            assert code == 2, f"the program's exit code does not come out: {code}\n{err}"
    finally:
        buildah("rm", container)
    print(f"{image}: the golden bytes")


def main():
    case, *what = sys.argv[1].split("_")
    if case == "twice":
        twice()
    else:
        trains_golden(*what)


if __name__ == "__main__":
    main()
