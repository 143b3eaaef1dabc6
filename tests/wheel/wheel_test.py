"""The wheel of tools/wheel: what is in it, what it asks of a system, and that it runs beside the PyTorch that pip installed.

usage: wheel_test.py PROGRAM [unittest's arguments], where PROGRAM is the one that was built for this machine alone
"""

import ast
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import unproved  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCE, "tests", "golden"))

import golden  # noqa: E402

PROGRAM = sys.argv[1]  # of systems_test.py: a case
TORCH = os.path.join(SOURCE, ".deps", "torchrun")  # a site-packages with PyTorch
NEWEST = {"GLIBC": [2, 28], "GLIBCXX": [3, 4, 25], "CXXABI": [1, 3, 11], "GCC": [7, 0, 0]}  # of manylinux_2_28
SYSTEM = {f"lib{name}" for name in ("c.so.6", "m.so.6", "dl.so.2", "pthread.so.0", "stdc++.so.6", "gcc_s.so.1")} | {"ld-linux-x86-64.so.2"}
# Of tools/gpu-check, with what makes them short where there is a GPU.
HELPERS = {"conformance_cuda": (), "functions_cuda": ("--every", "1048576"), "gpu_bench": ("--quick",)}
PYTORCH = {"libtorch_cpu.so", "libc10.so", "libnccl.so.2"}


def build():
    """The wheel's path."""
    made = subprocess.run([os.path.join(SOURCE, "tools", "wheel")], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return os.path.join(SOURCE, re.search(r"^(dist/\S+\.whl): \d+ bytes$", made.stdout, re.MULTILINE)[1])


def asks_too_much(path):
    """What a program or library asks for that the oldest system has not, or that LibTorch would have to lend."""
    table = subprocess.run(["objdump", "-T", "-p", path], check=True, capture_output=True, text=True).stdout
    found = set(re.findall(r"NEEDED +(\S+)", table)) - SYSTEM - PYTORCH
    for kind, version in re.findall(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)\b", table):
        if [int(part) for part in version.split(".")] > NEWEST[kind]:
            found.add(f"{kind}_{version}")
    found |= set(re.findall(r"\*UND\*\s+\w+\s+Base\s+(_Z(?:N[KR]*)?St\w+)", table))  # of namespace std, of no version
    return sorted(found)


def imported(folder):
    """The packages of other people that Python files import."""
    names = set()
    for path in glob.glob(os.path.join(folder, "*.py")):
        with open(path, encoding="utf-8") as file:
            for node in ast.walk(ast.parse(file.read())):
                names |= {one.name for one in node.names} if isinstance(node, ast.Import) else set()
                names |= {node.module} if isinstance(node, ast.ImportFrom) else set()
    return {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"lockstep"}


class Environment:
    """A fresh virtual environment with the wheel and, unless `torch` is false, links to a PyTorch."""

    def __init__(self, folder, wheel, torch=True):
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.python = os.path.join(folder, "bin", "python")
        self.site = subprocess.run([self.python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"], check=True,
                                   capture_output=True, text=True).stdout.strip()
        subprocess.run([sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet", "--no-deps", "--no-index", wheel],
                       check=True)
        for name in os.listdir(TORCH) if torch else ():
            if name.startswith("torch-"):
                os.symlink(os.path.join(TORCH, name), os.path.join(self.site, name))
        for name in ("torch/lib", "nvidia") if torch else ():
            os.makedirs(os.path.dirname(os.path.join(self.site, name)), exist_ok=True)
            os.symlink(os.path.join(TORCH, name), os.path.join(self.site, name))
        # No compiler, nothing of the machine.
        self.environment = {"PATH": os.path.join(folder, "bin"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, *arguments, **variables):
        """(exit code, standard output, standard error) of `lockstep`"""
        done = subprocess.run(["lockstep", *map(str, arguments)], env={**self.environment, **variables}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=500)
        return done.returncode, done.stdout, done.stderr


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wheel = build()
        folder = tempfile.TemporaryDirectory(prefix="lockstep-wheel-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.environment = Environment(os.path.join(cls.folder, "environment"), cls.wheel)
        cls.bare = Environment(os.path.join(cls.folder, "bare"), cls.wheel, torch=False)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def test_its_name_says_what_it_runs_on_and_it_is_small(self):
        self.assertRegex(os.path.basename(self.wheel), r"^lockstep-[\d.]+-py3-none-manylinux_2_28_x86_64\.whl$")
        self.assertLess(os.path.getsize(self.wheel), 40 << 20)

    def test_it_holds_the_program_plugins_recipes_modules_and_licences(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = [name for name in wheel.namelist() if not name.endswith("/")]
            self.assertEqual({info.date_time for info in wheel.infolist()}, {(1980, 1, 1, 0, 0, 0)})
            version = re.match(r".*/lockstep-([\d.]+)-", self.wheel)[1]
            info = f"lockstep-{version}.dist-info"
            metadata = wheel.read(f"{info}/METADATA").decode()
            tags = wheel.read(f"{info}/WHEEL").decode()
            built_from = wheel.read("lockstep/bin/commit.txt").decode()
        self.assertEqual(subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.strip(), version)
        needs = {name: condition for name, condition in re.findall(r"^Requires-Dist: (\S+?)(?:; (.*))?$", metadata, re.MULTILINE)}
        self.assertEqual(needs, {"torch==2.11.0": "", **dict.fromkeys(("numpy", "h5py", "safetensors"), 'extra == "readers"')})
        self.assertEqual(imported(os.path.join(SOURCE, "python", "lockstep")), {"torch", "numpy", "h5py", "safetensors"})
        self.assertIn("Root-Is-Purelib: false\nTag: py3-none-manylinux_2_28_x86_64\n", tags)
        with open(os.path.join(SOURCE, "tools", "cmake", "libtorch.cmake"), encoding="utf-8") as file:
            self.assertIn("set(LOCKSTEP_LIBTORCH_VERSION 2.11.0)", file.read())
        self.assertEqual({name for name in names if name.startswith("lockstep/bin/")},
                         {f"lockstep/bin/{name}" for name in ("lockstep", *HELPERS, *(f"liblockstep_{kind}.so" for kind in ("gloo", "nccl", "cuda")))
                          if os.path.exists(os.path.join(os.path.dirname(PROGRAM), name))} | {"lockstep/bin/commit.txt"})
        git = lambda *words: subprocess.run(["git", *words], cwd=SOURCE, capture_output=True, text=True, check=False).stdout.strip()
        if git("rev-parse", "HEAD"):
            changed = " with changes" if git("status", "--porcelain", "--", ".", ":!docs/*.md", ":!docs/*.png") else ""
            self.assertEqual(built_from.strip(), git("rev-parse", "HEAD") + changed)
        share = f"lockstep-{version}.data/data/share/"
        recipes = {os.path.relpath(os.path.join(folder, name), SOURCE)
                   for folder, _, files in os.walk(os.path.join(SOURCE, "recipes")) for name in files if name.endswith(".toml")}
        pages = {name for name in os.listdir(os.path.join(SOURCE, "docs")) if name.endswith(".md")}
        self.assertEqual({name for name in names if name.endswith(".md")}, {f"{share}lockstep/docs/{page}" for page in pages})
        self.assertEqual({name for name in names if "/recipes/" in name}, {f"{share}lockstep/{recipe}" for recipe in recipes})
        rest = [name for name in names if not re.match(rf"lockstep/(bin/|\w+\.py$)|{re.escape(share)}|{re.escape(info)}/", name)]
        self.assertEqual(rest, [])
        licences = {os.path.basename(name) for name in names if "/licenses/" in name}
        self.assertLessEqual({"gloo", "libhdf5-dev", "libssl-dev", "libpng-dev", "libjpeg62-turbo-dev", "zlib1g-dev"}, licences)

    def test_it_asks_for_nothing_newer_than_glibc_2_28_and_gcc_8(self):
        folder = os.path.join(self.environment.site, "lockstep", "bin")
        for name in sorted(set(os.listdir(folder)) - {"commit.txt"}):
            self.assertEqual(asks_too_much(os.path.join(folder, name)), [], name)
        here = asks_too_much(PROGRAM)  # the control: the program for this machine does
        self.assertIn("libhdf5_serial.so.103", here)
        self.assertTrue(any(what.startswith("GLIBC_2.3") for what in here), here)
        self.assertTrue(any("filesystem" in what for what in here), here)

    def test_the_same_build_gives_the_same_bytes(self):
        def content():
            with open(self.wheel, "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()
        first = content()
        os.remove(self.wheel)
        self.assertEqual(build(), self.wheel)
        self.assertEqual(content(), first)

    def test_the_command_describes_the_machine_with_the_kernels_of_the_other_program(self):
        code, out, err = self.environment.run("fingerprint", "--json")
        self.assertEqual((code, err), (0, ""))
        other = subprocess.run([PROGRAM, "fingerprint", "--json"], capture_output=True, check=True).stdout
        self.assertEqual(json.loads(out)["self_test"], json.loads(other)["self_test"])
        self.assertNotIn("LD_LIBRARY_PATH", out)
        self.assertRegex(json.loads(out)["transport"], r"^Gloo [\d.]+$")
        _, out, _ = self.environment.run("fingerprint", "--json", LOCKSTEP_TRANSPORT="nccl")
        self.assertRegex(json.loads(out)["transport"], r"^NCCL [\d.]+$")

    def test_it_trains_a_golden_recipe_by_one_rank_and_by_two(self):
        recipe = os.path.join(self.environment.folder, "share/lockstep/recipes/golden/toy-gan.toml")
        for ranks in (1, 2):
            run = self.path(f"run-{ranks}")
            code, out, err = self.environment.run("train", recipe, "--run", run, "--ranks", ranks, "--quiet")
            self.assertEqual((code, err), (0, ""), out)
            golden.require("toy-gan", run)
            code, out, err = self.environment.run("verify", run)
            self.assertIn("the evidence holds: 300 steps", out, err)

    def test_it_finds_its_plugin_for_gpus(self):
        for environment in (self.environment.environment, None):  # None: the other program
            done = subprocess.run(["lockstep" if environment else PROGRAM, "fingerprint", "--device", "cuda"], env=environment,
                                  capture_output=True, text=True, check=False)
            self.assertIn(done.returncode, (0, 4))
            self.assertNotIn("liblockstep_cuda.so", done.stderr)

    def test_its_code_for_gpus_is_that_of_the_other_plugin(self):
        """Which tests/numerics look at. nvcc puts a hash of the source's path into names, and nothing of the build's folder."""
        code = []
        for number, folder in enumerate((os.path.join(self.environment.site, "lockstep", "bin"), os.path.dirname(PROGRAM))):
            out = self.path(f"code-{number}")
            subprocess.run(["objcopy", "-O", "binary", "--only-section=.nv_fatbin", os.path.join(folder, "liblockstep_cuda.so"), out],
                           check=True)
            with open(out, "rb") as file:
                code.append(file.read())
        self.assertGreater(len(code[1]), 1 << 20)
        self.assertTrue(code[0] == code[1], "nvcc_test and sass_test saw other machine code than the wheel's")

    def test_helpers_of_gpu_check_start_here(self):
        for name, words in HELPERS.items():
            done = subprocess.run([os.path.join(self.environment.site, "lockstep", "bin", name), *words],
                                  env=self.environment.environment, capture_output=True, text=True, check=False)
            if done.returncode != 0:  # without a GPU
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (4, "", 1), done.stderr)
                self.assertRegex(done.stderr, "CUDA driver|NVIDIA driver|no GPU")

    def test_what_gpu_check_needs_elsewhere_is_packed(self):
        file, folder, results = self.path("gpu-check.tar.gz"), self.path("gpu-check"), self.path("results")
        made = subprocess.run([os.path.join(SOURCE, "tools", "pack-gpu-check"), "--data", self.path("nothing"), file],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        subprocess.run(["tar", "-C", self.folder, "-xzf", file], check=True)
        tests = os.path.join(folder, "tests")
        packed = set(os.listdir(tests))
        programs = {name for name in packed if name.endswith("_cuda")}
        self.assertEqual(len(programs), 3)
        for name in packed:
            needed = re.findall(r"NEEDED +(\S+)", subprocess.run(["objdump", "-p", os.path.join(tests, name)], check=True,
                                                                capture_output=True, text=True).stdout)
            self.assertEqual(set(needed) - packed - SYSTEM, set(), name)
        # The command starts, and so do the programs that it runs. Without a GPU both say so.
        os.mkdir(results)
        for _ in range(2):
            done = subprocess.run([os.path.join(folder, "run"), results, "--only", "device"], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, check=False, env={**os.environ, "PYTHON": sys.executable, "PYTHONPATH": TORCH})
            self.assertIn(done.returncode, (0, 4), done.stdout + done.stderr)
            with open(os.path.join(results, "gpu-check.json"), encoding="utf-8") as found:
                rows = {row["check"]: row for row in json.load(found)["checks"]}
            self.assertNotEqual(rows["commit"]["result"], "FAILS")
            if done.returncode == 4:
                self.assertRegex(rows["fingerprint"]["detail"], "no NVIDIA driver|no GPU")
        for name in programs:
            done = subprocess.run([os.path.join(folder, "site", "lockstep", "bin", name), "--gtest_filter=-*"],
                                  env={"LD_LIBRARY_PATH": tests}, capture_output=True, text=True, check=False)
            self.assertIn(done.returncode, (0, 4), done.stderr)
        done = subprocess.run([os.path.join(folder, "run"), self.path("no", "folder")], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_python_starts_it_as_a_module_and_exit_codes_come_through(self):
        done = subprocess.run([self.environment.python, "-m", "lockstep", "inspect", self.path("nothing")],
                              env=self.environment.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"^lockstep: .*nothing")

    def test_a_pytorch_of_other_site_packages_is_used(self):
        run = self.path("elsewhere")
        code, out, err = self.bare.run("train", golden.recipe("toy-gan"), "--run", run, "--ranks", 2, "--quiet", "--set", "run.steps=20",
                                   PYTHONPATH=TORCH)
        self.assertEqual((code, err), (0, ""), out)
        golden.require_ledger("toy-gan", run, 20)

    def test_without_its_pytorch_one_line_says_what_to_do(self):
        def refused(words, **variables):
            code, out, err = self.bare.run("--version", **variables)
            self.assertEqual((code, out, err.count("\n")), (4, "", 1), err)
            self.assertIn(words, err)
            self.assertIn("pip install torch==2.11.0", err)
        refused("lockstep: PyTorch is not installed")
        os.makedirs(self.path("old", "torch"))
        with open(self.path("old", "torch", "__init__.py"), "w", encoding="ascii") as file:
            file.write("raise SystemExit('imported')\n")
        refused("lockstep: PyTorch of unknown version is installed", PYTHONPATH=self.path("old"))
        os.makedirs(self.path("old", "torch-2.10.0.dist-info"))
        with open(self.path("old", "torch-2.10.0.dist-info", "METADATA"), "w", encoding="ascii") as file:
            file.write("Metadata-Version: 2.1\nName: torch\nVersion: 2.10.0+cpu\n")
        refused("lockstep: PyTorch 2.10.0+cpu is installed, and LibTorch 2.11.0 is needed", PYTHONPATH=self.path("old"))


if __name__ == "__main__":
    del sys.argv[1]
    unproved.main(sys.argv[1:])
