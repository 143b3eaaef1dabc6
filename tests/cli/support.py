"""What the tests of the command line share: a folder with a tiny recipe and images, and the program.

Programs are called as: TEST PROGRAM SOURCE_FOLDER [unittest's arguments]
"""

import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
sys.path.insert(0, os.path.join(SOURCE, "tests/support"))
import unproved  # noqa: E402
import warm  # noqa: E402
from ports import free_port  # noqa: E402

# GCC's sanitizers (CMakePresets.json) want to be loaded first, and files and memory of their own.
SANITIZED = "ASAN_OPTIONS" in os.environ
not_beside_sanitizers = unittest.skipIf(SANITIZED, "NOT PROVED: not beside a sanitizer")

RECIPE = """\
[run]
name = "tiny"
steps = 2
[batch]
lanes = 2
samples_per_lane = 1
[data]
path = "images"
[objective]
timesteps = 10
sampler_steps = 2
[model]
channels = [8, 8]
blocks = 1
attention_levels = [1]
heads = 2
groups = 4
embedding = 8
[samples]
count = 0
"""


# Of this process. All its tests have the same folder in turn: a run notes where its data lie.
TOP = tempfile.TemporaryDirectory(prefix="lockstep-cli-")
os.chmod(TOP.name, 0o711)  # some tests call the program as another user


class Cli(unittest.TestCase):
    program = PROGRAM
    made = {}  # by `once`: what was printed
    keys = {}  # of all tests, so that they can share what they sign

    def setUp(self):
        self.folder = os.path.join(TOP.name, "test")
        os.mkdir(self.folder, 0o700)
        self.addCleanup(self.remove, self.folder)
        self.write("tiny.toml", RECIPE)
        pixels = bytes(i * 37 % 256 for i in range(16 * 8 * 8))
        self.write("images", b"\0\0\x08\x03" + struct.pack(">III", 16, 8, 8) + pixels)

    @staticmethod
    def remove(folder):
        """Its name is free, whatever may still write to it."""
        with tempfile.TemporaryDirectory(dir=TOP.name) as away:
            os.rename(folder, os.path.join(away, "test"))

    def write(self, name, content):
        content = content.encode() if isinstance(content, str) else content
        with open(self.path(name), "wb") as file:
            file.write(content)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def read(self, *names):
        with open(self.path(*names), "rb") as file:
            return file.read()

    def run_it(self, *arguments, **environment):
        computes = not self.COMPUTE.isdisjoint(arguments) and "--dry-run" not in arguments
        return self.call_it(arguments, environment, computes)

    # These start as users start them, each with addresses of its own.
    COMPUTE = {"train", "replay", "sample", "eval", "bisect", "check", "doctor", "fingerprint"}

    def call_it(self, arguments, environment, computes):
        variables = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSTEP_")}
        variables.update(environment)
        # What begins others of its kind learns its command from /proc, which knows that of the first process.
        own = computes or environment or SANITIZED or not {"--ranks", "--container", "bisect"}.isdisjoint(arguments)
        return (warm.cold if own else warm.run)(self.program, arguments, self.folder, variables)

    def ok(self, *arguments, **environment):
        result = self.run_it(*arguments, **environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def secret(self, name="secret", content=None):
        self.write(name, content or os.urandom(32))
        os.chmod(self.path(name), 0o600)
        return self.path(name)

    def as_ranks(self, *commands):
        """What each of these commands does, together: one rank each."""
        among = {"WORLD_SIZE": str(len(commands)), "LOCAL_WORLD_SIZE": str(len(commands)), "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": str(free_port()), "LOCKSTEP_SECRET_FILE": self.secret()}
        outer = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSTEP_")}
        ranks = [subprocess.Popen(command, cwd=self.folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env={**outer, **among, "RANK": str(rank), "LOCAL_RANK": str(rank)})
                 for rank, command in enumerate(commands)]
        results = []
        for rank in ranks:
            self.addCleanup(rank.kill)  # does nothing to one that has ended
        for rank in ranks:
            out, err = rank.communicate(timeout=120)
            results.append(subprocess.CompletedProcess(rank.args, rank.returncode, out, err))
        return results

    def once(self, folders, *arguments, **environment):
        """`ok` of a command that makes this folder, or these; a copy where a test has made them before, beside the same files."""
        folders = [folders] if isinstance(folders, str) else folders
        if os.path.exists(self.path(folders[0])):
            return self.ok(*arguments, **environment)
        files = sorted(entry.name for entry in os.scandir(self.folder) if entry.is_file())
        same = repr((folders, arguments, sorted(environment.items()), [(name, self.read(name)) for name in files]))
        made = os.path.join(TOP.name, f"made-{hashlib.sha256(same.encode()).hexdigest()}")
        if same not in self.made:
            self.made[same] = self.ok(*arguments, **environment)
            for folder in folders:
                shutil.copytree(self.path(folder), os.path.join(made, folder))
        else:
            for folder in folders:
                shutil.copytree(os.path.join(made, folder), self.path(folder))
        return self.made[same]

    def put_key(self):
        """A pair of keys: key and key.pub."""
        if not self.keys:
            self.ok("keygen", "key")
            self.keys.update((name, self.read(name)) for name in ("key", "key.pub"))
        for name, content in self.keys.items():
            self.write(name, content)
            os.chmod(self.path(name), 0o600)

    def refused(self, code, *arguments, **environment):
        """The error's line, without the program's name."""
        return self.one_line(code, self.call_it(arguments, environment, computes=False))

    def one_line(self, code, result):
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("lockstep: "), lines[0])
        return lines[0].removeprefix("lockstep: ")

    def contents(self, *names):
        """Every file below, as {path: SHA-256}."""
        top, found = self.path(*names), {}
        for folder, _, files in os.walk(top):
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, top)] = hashlib.sha256(file.read()).hexdigest()
        return found

    def bodies(self, run):
        """The ledger's lines of steps, up to their chains."""
        return [line[:line.rindex(b',"chain"')] for line in self.read(run, "ledger.jsonl").splitlines()[1:]]

    def forge(self, run, bodies):
        """Writes a ledger of these lines: consistent in itself."""
        head = self.read(run, "ledger.jsonl").splitlines()[0]
        chain, out = bytes.fromhex(json.loads(head)["chain"]), [head]
        for body in bodies:
            chain = hashlib.sha256(chain + body).digest()
            out.append(body + b',"chain":"' + chain.hex().encode() + b'"}')
        self.write(f"{run}/ledger.jsonl", b"\n".join(out) + b"\n")

    def evidence(self, run):
        """The part of a run folder that is the same on every machine."""
        return {name: digest for name, digest in self.contents(run).items()
                if name in ("recipe.toml", "ledger.jsonl")
                or name.startswith(("checkpoints/", "samples/"))}


def main():
    unproved.main(sys.argv[3:])
