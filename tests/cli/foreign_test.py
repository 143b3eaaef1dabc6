"""Files by strangers at the command line: HDF5 files with sidecars that fit them, as anybody can make
for a run that is not signed, and what the environment would have HDF5 load."""

import os
import shutil
import struct
import subprocess

import h5py
import numpy

from forger import sidecar
from support import PROGRAM, Cli, main

LAST = "runs/tiny/checkpoints/step-00000002.h5"


def external_links(file):
    file["recipe"] = h5py.ExternalLink("/etc/passwd", "/")
    file["state"] = h5py.SoftLink("/elsewhere")


def external_storage(file):
    file.create_dataset("recipe", shape=(16,), dtype="u1", external=[("secret", 0, 16)])


def filters(file):
    file.create_dataset("recipe", data=numpy.zeros(4096, "u1"), chunks=(64,), compression="gzip")


def unknown_filter(file):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((4,))
    plist.set_filter(32000, h5py.h5z.FLAG_OPTIONAL)
    h5py.h5d.create(file.id, b"recipe", h5py.h5t.STD_U8LE, h5py.h5s.create_simple((8,)), plist)


def virtual(file):
    layout = h5py.VirtualLayout(shape=(16,), dtype="u1")
    layout[:] = h5py.VirtualSource("secret", "d", shape=(16,))
    file.create_virtual_dataset("recipe", layout)


def compound(file):
    file["recipe"] = numpy.zeros(4, [("a", "<f4"), ("b", "<i8")])


def huge(file):
    file.create_dataset("recipe", shape=(2**31, 2**31), dtype="<f4", chunks=(1, 2**20))


def references(file):
    file["a"] = numpy.zeros(3, "u1")
    file["recipe"] = numpy.array([file["a"].ref], h5py.ref_dtype)
    file["text"] = "of any length"


class Foreign(Cli):
    def setUp(self):
        super().setUp()
        self.once("runs", "train", "tiny.toml", "--quiet")
        self.whole = self.read(LAST)

    def put(self, data):
        self.write(LAST, data)
        self.write(LAST + ".sha256", sidecar(data))

    def test_a_renamed_checkpoint_is_known_by_what_it_holds(self):
        self.write("kept.h5", self.whole)
        self.assertEqual(self.refused(5, "inspect", "kept.h5"),
                         "kept.h5: its sidecar kept.h5.sha256 is missing (a checkpoint is not opened unverified)")
        self.write("kept.h5.sha256", sidecar(self.whole))
        self.assertEqual(self.ok("inspect", "kept.h5"), self.ok("inspect", LAST))
        self.assertIn("kept.h5 is a checkpoint, no recipe", self.refused(2, "train", "kept.h5"))
        for name in ("kept.h5", "kept"):  # which names no step that could be another than its own
            self.write(name, self.whole)
            self.write(name + ".sha256", sidecar(self.whole))
            self.assertIn("the evidence holds", self.ok("verify", name))

    def test_what_is_no_checkpoint_is_2(self):
        self.write("notes.txt", "hello")
        for command in (["sample"], ["eval"], ["export"], ["verify"]):
            arguments = ["notes.txt", "no.safetensors"] if command == ["export"] else ["notes.txt"]
            self.assertEqual(self.refused(2, *command, *arguments), "notes.txt is neither a run folder nor a checkpoint "
                             "(give a run folder or a step-NNNNNNNN.h5)")

    def test_symbolic_links(self):
        """Folders, data, keys and the recipe of train may be links; evidence is not opened through one."""
        for link, of in (("link", "runs/tiny"), ("tiny2.toml", "tiny.toml"), ("ledger.jsonl", "runs/tiny/ledger.jsonl"),
                         ("kept.h5", LAST), ("kept.h5.sha256", LAST + ".sha256")):
            os.symlink(of, self.path(link))
        self.ok("verify", "link")
        self.ok("keygen", "key")
        os.symlink("key", self.path("key2"))
        self.ok("train", "tiny2.toml", "--run", "signed", "--quiet", "--sign", "key2")
        for command, link in ((["inspect", "ledger.jsonl"], "ledger.jsonl"), (["inspect", "tiny2.toml"], "tiny2.toml"),
                              (["sample", "kept.h5", "--out", "no.png"], "kept.h5.sha256")):
            self.assertEqual(self.refused(4, *command), f"cannot open {link}: it is a symbolic link (give the file that it "
                             "names)")
        self.assertIn("it is a symbolic link", self.refused(125, "diff", "ledger.jsonl", "runs/tiny/ledger.jsonl"))
        self.ok("train", "tiny.toml", "--run", "other", "--quiet")
        os.rename(self.path("other/ledger.jsonl"), self.path("elsewhere"))
        os.symlink("../elsewhere", self.path("other/ledger.jsonl"))
        self.assertIn("it is a symbolic link", self.refused(4, "train", "other", "--set", "run.steps=3"))

    def refused_everywhere(self, what):
        for command in (["inspect", LAST], ["sample", LAST, "--out", "no.png"]):
            line = self.refused(5, *command)
            self.assertIn("step-00000002.h5: ", line, what)
            self.assertTrue(line.isprintable(), line)
        result = self.run_it("verify", LAST)
        self.assertEqual(result.returncode, 5, what)
        self.assertIn("step-00000002.h5: ", result.stdout)
        self.assertFalse(os.path.exists(self.path("no.png")))

    def test_a_sidecar_made_again_for_the_whole_file_is_fine(self):
        self.put(self.whole)
        self.ok("inspect", LAST)

    def test_hdf5_files_of_other_forms_are_5(self):
        self.write("secret", b"s" * 4096)
        for make in (external_links, external_storage, filters, unknown_filter, virtual, compound, huge,
                     references):
            for bounds in ("earliest", "v108", "latest") if make == external_links else ("v108",):
                with h5py.File(self.path("made"), "w", libver=bounds) as file:
                    make(file)
                    file.attrs["format"] = numpy.bytes_("lockstep checkpoint 1")
                self.put(self.read("made"))
                self.refused_everywhere(f"{make.__name__} {bounds}")

    def test_changed_metadata_is_5_although_the_sidecar_fits(self):
        for at in (0, 9, 30, 36, 44, 48, 60, 130, 400, 600, 2000):
            data = bytearray(self.whole)
            data[at] ^= 0x41
            self.put(bytes(data))
            self.assertIn("step-00000002.h5", self.refused(5, "inspect", LAST))

    def test_a_recipe_or_shape_that_is_none_is_5(self):
        shape = struct.pack("<3q", 8, 8, 1)
        for old, new in ((b"[run]", b"\x1b\xff\n[["), (shape, struct.pack("<3q", -8, 8, 1)),
                         (shape, struct.pack("<3q", 2**40, 2**40, 1))):
            self.assertIn(old, self.whole)
            self.put(self.whole.replace(old, new))
            line = self.refused(5, "sample", LAST, "--out", "no.png")
            self.assertIn("step-00000002.h5: ", line)
            self.assertTrue(line.isprintable(), line)

    def test_a_plugin_of_another_build_is_not_used(self):
        os.makedirs(self.path("bin"))
        shutil.copy(PROGRAM, self.path("bin"))
        for name, entry, command in (("cuda", "cuda_open", ["fingerprint", "--device", "cuda"]),
                                     ("gloo", "open_transport", ["train", "tiny.toml", "--ranks", "2", "--run", "of2"])):
            for text in ("int nothing;", f'const char* lockstep_{name}_interface(void) {{ return "another"; }}'):
                self.write("plugin.c", text + f"\nint lockstep_{entry}(void) {{ return *(volatile int*)0; }}\n")
                subprocess.run(["cc", "-shared", "-fPIC", "plugin.c", "-o", f"bin/liblockstep_{name}.so"], cwd=self.folder, check=True)
                done = subprocess.run([self.path("bin/lockstep"), *command], cwd=self.folder, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, check=False)
                if name == "cuda":
                    self.one_line(4, done)
                self.assertEqual(done.returncode, 4, done.stderr)
                refusal = (f" needs liblockstep_{name}.so of this build of lockstep, and that in {self.path('bin')} is of another "
                           "(install the program and its plug-ins together)\n")
                self.assertEqual(done.stderr.count(refusal), command.count("--ranks") + 1, done.stderr)

    def test_nothing_that_the_environment_names_is_loaded(self):
        self.write("plugin.c", '#include <stdio.h>\n__attribute__((constructor)) static void f(void)'
                   '{ FILE* it = fopen("loaded", "w"); if (it) fclose(it); }\n')
        os.makedirs(self.path("plugins"))
        subprocess.run(["cc", "-shared", "-fPIC", "plugin.c", "-o", "plugins/libplugin.so"],
                       cwd=self.folder, check=True)
        subprocess.run(["python3", "-c", "import ctypes; ctypes.CDLL('plugins/libplugin.so')"],
                       cwd=self.folder, check=True)
        os.remove(self.path("loaded"))  # so it would have been seen
        variables = {"HDF5_PLUGIN_PATH": self.path("plugins"), "HDF5_USE_FILE_LOCKING": "nonsense",
                     "HDF5_PLUGIN_PRELOAD": self.path("plugins"), "HDF5_DRIVER": "family",
                     "HDF5_EXTFILE_PREFIX": self.folder, "HDF5_VDS_PREFIX": self.folder}
        self.ok("train", "tiny.toml", "--quiet", "--run", "again", **variables)
        self.assertEqual(self.read("again/checkpoints/step-00000002.h5"), self.whole)
        self.ok("inspect", LAST, **variables)
        with h5py.File(self.path("made"), "w", libver="v108") as file:
            unknown_filter(file)
        self.put(self.read("made"))
        self.refused(5, "inspect", LAST, **variables)
        self.assertFalse(os.path.exists(self.path("loaded")))


class Giants(Cli):
    """Sparse files of 3 TiB and deep JSON: nothing to make, and once the end of who reads them."""

    MOST = 1 << 20  # KiB that a command may have in memory

    def setUp(self):
        super().setUp()
        self.once("runs", "train", "tiny.toml", "--quiet", "--set", "samples.every=2", "--set", "samples.count=2")
        self.ok("trace", "runs/tiny", "trace.jsonl", "--step", "2", "--quiet")
        self.write("node.json", self.ok("fingerprint", "--json"))
        try:
            self.giant("probe")
        except OSError:
            self.skipTest("NOT PROVED: no sparse file of this size here")

    def giant(self, name, size=3 << 40):
        if os.path.exists(self.path(name)) and not os.path.exists(self.path(name + ".whole")):
            shutil.copy(self.path(name), self.path(name + ".whole"))
        with open(self.path(name), "ab") as file:
            file.truncate(size)

    def restore(self, name):
        shutil.move(self.path(name + ".whole"), self.path(name))

    def ends(self, code, *command):
        """Its output, of both streams."""
        with open(self.path("output"), "w+b") as output:
            process = subprocess.Popen([PROGRAM, *command], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=output)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        said = self.read("output").decode()
        self.assertEqual(process.returncode, code, (command, said))
        self.assertLess(usage.ru_maxrss, self.MOST, command)
        self.assertNotIn("samples_per_lane", said)
        return said

    def test_evidence_is_5_and_named(self):
        for name in ("recipe.toml", "ledger.jsonl", "checkpoints/step-00000002.h5", "checkpoints/step-00000002.h5.sha256"):
            for size in (3 << 40, 3 << 30):
                self.giant("runs/tiny/" + name, size)
                self.assertIn(name, self.ends(5, "verify", "runs/tiny"))
                if not name.endswith(".sha256"):
                    self.assertIn(name, self.ends(2 if name == "recipe.toml" else 5, "inspect", "runs/tiny/" + name))
                self.restore("runs/tiny/" + name)
        self.ends(0, "verify", "runs/tiny")

    def test_other_readers_name_it(self):
        for name, code, command in (
                ("runs/tiny/samples/step-00000002.png", 5, ["verify", "runs/tiny"]),
                ("runs/tiny/checkpoints/step-00000002.h5", 5, ["sample", "runs/tiny", "--count", "1"]),
                ("runs/tiny/ledger.jsonl", 125, ["diff", "runs/tiny", "runs/tiny"]),
                ("trace.jsonl", 125, ["bisect", "trace.jsonl", "runs/tiny"]),
                ("node.json", 2, ["check", "node.json"]), ("tiny.toml", 2, ["train", "tiny.toml"])):
            self.giant(name)
            self.assertIn(name, self.ends(code, *command))
            self.restore(name)

    def test_training_passes_over_such_a_checkpoint(self):
        self.giant("runs/tiny/checkpoints/step-00000002.h5")
        self.assertIn("trying the one before", self.ends(0, "train", "tiny.toml", "--quiet", "--set", "samples.every=2",
                                                         "--set", "samples.count=2"))

    def test_the_report_says_what_it_could_not_read(self):
        for name in ("metrics.jsonl", "replays.jsonl", "log.txt", "recipe.toml", "ledger.jsonl"):
            self.write("runs/tiny/replays.jsonl", "")
            self.giant("runs/tiny/" + name)
            self.ends(0, "report", "runs/tiny")
            self.assertIn(name, self.read("runs/tiny/report.html").decode())
            self.restore("runs/tiny/" + name)

    def test_deep_json_is_no_json(self):
        deep = "[" * 200_000 + "]" * 200_000
        self.write("runs/tiny/replays.jsonl", '{"time":' + deep + "}\n")
        self.write("runs/tiny/metrics.jsonl", '{"step":1,"stop":' + deep + "}\n")
        self.ends(0, "report", "runs/tiny")
        page = self.read("runs/tiny/report.html").decode()
        self.assertIn("replays.jsonl: lines that cannot be read: 1", page)
        self.assertIn("metrics.jsonl: lines that cannot be read: 1", page)
        lines = self.read("trace.jsonl").decode().splitlines()
        self.write("trace.jsonl", "\n".join([*lines[:-1], '{"state":' + deep + "}"]) + "\n")
        self.assertIn(f"trace.jsonl:{len(lines)}: not a line of a trace", self.ends(125, "bisect", "trace.jsonl", "runs/tiny"))
        self.write("node.json", '{"self_test":' + deep + "}")
        self.assertIn("node.json: it is not a fingerprint", self.ends(2, "check", "node.json"))


class Recipes(Cli):
    def test_a_hundred_megabytes_are_2(self):
        with open(self.path("large.toml"), "wb") as file:
            file.truncate(100_000_000)
        for command in (["train", "large.toml"], ["inspect", "large.toml"]):
            self.assertIn("large.toml", self.refused(2, *command))


if __name__ == "__main__":
    main()
