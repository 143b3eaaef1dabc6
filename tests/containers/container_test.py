"""Images of containers, made by tools/container.

Usage: container_test.py PROGRAM CASE, where CASE is
  twice              an image is built twice, the second time from nothing: the same digest and id
  golden_KIND_SUITE  the image's program trains a golden recipe, by one rank and by three, to the golden bytes
  replay_KIND_SUITE  a run of PROGRAM by three ranks is replayed in the image by one; what was changed is found
"""

import gzip
import json
import os
import re
import shlex
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


def engine(folder, into):
    """Words for --engine: a program that is called buildah and has the image."""
    path = os.path.join(folder, "buildah")
    with open(path, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\nexec {shlex.join(Buildah(into).command)} \"$@\"\n")
    os.chmod(path, 0o755)
    return path


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def replays(kind, suite):
    image, _, _ = make(kind, suite, os.path.join(BUILD, "containers"))
    program = golden.Program(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="lockstep-container-") as folder:
        words = ["--container", image, "--engine", engine(folder, os.path.join(BUILD, "containers")), "--quiet"]
        data, run = os.path.join(folder, "data"), os.path.join(folder, "run")
        shutil.copytree("/usr/share/datasets/fashion-mnist", data)
        program.ok("train", golden.recipe("ddpm"), "--run", run, "--ranks", 3, "--set", "run.steps=12", "--set",
                   "checkpoint.every=4", "--set", "checkpoint.keep_last=0", "--set", f"data.path={data}", "--quiet")
        for window in ((1, 12), (6, 7), (9, 9), (12, 12)):
            out = program.ok("replay", run, "--from", window[0], "--to", window[1], *words)
            assert f"PASS: steps {window[0]} to {window[1]}" in out, out
        same = program.ok("bisect", run, run, "--step", 6, "--container-b", *words[1:4])
        assert re.search(r"step 6: all \d+ operations agree", same), same
        code, out, _ = program.run("replay", run, "--spot", 2, "--spot-steps", 2, "--seed", 5, *words, "--json")
        said = json.loads(out)
        assert code == 0 and said["seed"] == 5 and said["machine"]["container"] == image, said
        assert said["machine"]["system"] != system_here() or suite == "bookworm", said["machine"]

        def fails(code, place, *window):
            exit_code, out, err = program.run("replay", run, *window, *words)
            assert exit_code == code and place in out + err, f"exit {exit_code}\n{out}{err}"

        ledger = os.path.join(run, "ledger.jsonl")
        with open(ledger, "rb") as file:
            at = file.read().index(b'"step":7,')
        flip(ledger, at + 30)
        fails(5, "ledger.jsonl:8: step 7")
        flip(ledger, at + 30)
        checkpoint = os.path.join(run, "checkpoints", "step-00000008.h5")
        flip(checkpoint, os.path.getsize(checkpoint) // 2)
        fails(5, "step-00000008.h5, bytes ", "--from", 9)
        program.ok("replay", run, "--to", 8, *words)
        flip(checkpoint, os.path.getsize(checkpoint) // 2)
        images = next(name for name in os.listdir(data) if name.startswith("train-images"))
        replace_byte(os.path.join(data, images))
        fails(3, data)
    print(f"{image}: windows of a run of three ranks replayed by one; a changed ledger, checkpoint and data set found")


def replace_byte(path):
    """One pixel of an IDX file, also of a compressed one."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as file:
        content = bytearray(file.read())
    content[-1] ^= 1
    with opener(path, "wb") as file:
        file.write(content)


def system_here():
    with open("/etc/os-release", encoding="utf-8") as file:
        return re.search(r'^PRETTY_NAME="?([^"\n]*)', file.read(), re.MULTILINE)[1]


def main():
    case, *what = sys.argv[2].split("_")
    {"twice": twice, "golden": trains_golden, "replay": replays}[case](*what)


if __name__ == "__main__":
    main()
