"""The wheel on bare systems: in root file systems made of Debian's smallest set of packages.

usage: systems_test.py CASE, where CASE is
  bookworm  Debian 12 with Python and no compiler: pip installs the wheel and PyTorch (gigabytes), and `lockstep` trains
  bullseye  Debian 11, whose glibc 2.31 and libstdc++ of GCC 10 are older than those of the machine that built the program
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from wheel_test import SOURCE, build, golden

BUILD = os.path.join(SOURCE, "build")
MIRROR = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {0} main"
UNSHARE, MOUNT, CHROOT, BASH = map(shutil.which, ("unshare", "mount", "chroot", "bash"))  # where a test's PATH is another
RECIPE = "share/lockstep/recipes/golden/toy-gan.toml"


def skip(why):
    print(f"NOT PROVED: the wheel on another system: {why}")
    sys.exit(golden.SKIPPED)


class Root:
    """A root file system in `folder`, with `packages` and what they need."""

    def __init__(self, folder, suite, packages):
        self.folder = folder
        if os.getuid() != 0 or subprocess.run([UNSHARE, "--mount", "true"], capture_output=True, check=False).returncode != 0:
            skip("cannot mount file systems here")
        if shutil.which("mmdebstrap") is None:
            skip("no mmdebstrap (run tools/bootstrap --tests)")
        made = subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=essential", f"--include={','.join(packages)}",
                               suite, folder, MIRROR.format(suite)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            skip(f"mmdebstrap: {made.stderr.strip().splitlines()[-1]}")

    def through(self, *mounts):
        """The beginning of a command that runs the rest in it, and sees there what `mounts` (PATH, PLACE) name."""
        binds = [("/proc", "/proc"), ("/dev", "/dev"), ("/dev/shm", "/dev/shm"), *mounts]
        for _, place in binds:
            os.makedirs(self.folder + place, exist_ok=True)
        script = "".join(f"{MOUNT} --bind '{path}' '{self.folder}{place}' && " for path, place in binds)
        return [UNSHARE, "--mount", BASH, "-c", f'{script}exec {CHROOT} {self.folder} "$@"', "in"]

    def run(self, *command, **environment):
        done = subprocess.run([*self.through(), *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              env={"PATH": "/usr/bin:/bin:/usr/sbin", **environment})
        assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout


def trains(program, recipe, folder):
    """Golden bytes by one rank and by two, and their evidence; `folder` is the same path here and there."""
    assert "self_test" in program.ok("fingerprint")
    for ranks in (1, 2):
        run = os.path.join(folder, str(ranks))
        program.ok("train", recipe, "--run", run, "--ranks", ranks, "--quiet")
        golden.require("toy-gan", run)
        assert "the evidence holds: 300 steps" in program.ok("verify", run)
        assert "PASS: steps 201 to 300" in program.ok("replay", run, "--from", 201, "--quiet")


def bookworm(folder, wheel):
    root = Root(os.path.join(folder, "root"), "bookworm", ["python3-venv", "ca-certificates", "libstdc++6"])
    for path in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt"):  # the way to PyPI
        if os.path.exists(path):
            shutil.copy(path, root.folder + path)
    assert subprocess.run([*root.through(), "sh", "-c", "command -v gcc cc c++ ld"], capture_output=True,
                          check=False).returncode != 0, "a compiler in a bare system"
    shutil.copy(wheel, os.path.join(root.folder, "root"))
    reach = {name: value for name, value in os.environ.items() if re.search("_proxy$|_CERT$|^PIP_INDEX", name, re.IGNORECASE)}
    root.run("python3", "-m", "venv", "/environment")
    root.run("/environment/bin/pip", "install", "--no-cache-dir", f"/root/{os.path.basename(wheel)}", **reach)
    runs = os.path.join(folder, "runs")
    os.mkdir(runs)
    program = golden.Program("/environment/bin/lockstep", root.through((runs, runs)))
    program.environment = {"PATH": "/environment/bin"}
    trains(program, f"/environment/{RECIPE}", runs)
    print("pip installed", root.run("/environment/bin/pip", "freeze").replace("\n", " "))


def bullseye(folder, wheel):
    root = Root(os.path.join(folder, "root"), "bullseye", ["libstdc++6", "libgcc-s1"])
    site = os.path.join(folder, "site")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site, wheel], check=True)
    mounts = [(os.path.realpath(os.path.join(SOURCE, ".deps", "libtorch", name)), f"/site/{name}") for name in ("torch", "nvidia")]
    for name in ("torch", "nvidia"):
        os.mkdir(os.path.join(site, name))
    runs = os.path.join(folder, "runs")
    os.mkdir(runs)
    program = golden.Program("/site/lockstep/bin/lockstep", root.through((site, "/site"), *mounts, (runs, runs)))
    trains(program, f"/site/{RECIPE}", runs)
    print(root.run("ldd", "--version").splitlines()[0])


def main():
    wheel = build()
    with tempfile.TemporaryDirectory(prefix="wheel-", dir=BUILD) as folder:
        {"bookworm": bookworm, "bullseye": bullseye}[sys.argv[1]](folder, wheel)


if __name__ == "__main__":
    main()
