"""What others do with a run's files: h5py reads its checkpoints, a checkpoint alone gives the same
pictures, verify speaks in words and in JSON."""

import json
import os
import shutil
import struct
import zlib

import h5py
import numpy

from forger import sidecar
from support import Cli, main

LAST = "runs/tiny/checkpoints/step-00000002.h5"


def pixels(png):
    """Rows of an 8-bit grey PNG without filters."""
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        if kind == b"IDAT":
            data += body
        at += length + 12
    rows = numpy.frombuffer(zlib.decompress(data), numpy.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()  # filter none
    return rows[:, 1:]


class Checkpoints(Cli):
    def setUp(self):
        super().setUp()
        self.once("runs", "train", "tiny.toml", "--quiet", "--set", "samples.count=4", "--set",
                  "samples.columns=4")

    def test_h5py_reads_names_shapes_and_values(self):
        seen = json.loads(self.ok("inspect", LAST, "--json"))
        raw = self.read(LAST)
        with h5py.File(self.path(LAST), "r") as file:
            tensors = {}
            file["state"].visititems(
                lambda name, item: tensors.update({name: item}) if isinstance(item, h5py.Dataset)
                else None)
            self.assertEqual({name: list(item.shape) for name, item in tensors.items()},
                             seen["tensors"])
            self.assertEqual(sum(item.size for item in tensors.values()) * 4, seen["bytes"])
            for name, item in tensors.items():
                self.assertEqual(item.dtype, numpy.dtype("<f4"), name)
                values = item[()]
                self.assertTrue(numpy.isfinite(values).all(), name)
                start = item.id.get_offset()
                self.assertEqual(values.tobytes(), raw[start:start + item.nbytes], name)
            for name in ("recipe", "data", "chain", "state"):
                value = file.attrs[name]
                self.assertEqual(value.decode() if isinstance(value, bytes) else value, seen[name])
            for name in ("step", "samples"):
                self.assertEqual(int(file.attrs[name]), seen[name])
            self.assertIn("[objective]", bytes(file["recipe"][()]).decode())

    def test_a_checkpoint_alone_gives_the_runs_own_picture(self):
        own = self.read("runs/tiny/samples/step-00000002.png")
        os.makedirs(self.path("elsewhere"))
        for name in (LAST, LAST + ".sha256"):
            shutil.copy(self.path(name), self.path("elsewhere"))
        shutil.rmtree(self.path("runs"))
        os.remove(self.path("images"))
        self.ok("sample", "elsewhere/step-00000002.h5", "--count", "4", "--columns", "4", "--out",
                "again.png", "--threads", "3")
        self.assertEqual(self.read("again.png"), own)
        self.assertIn("this checkpoint alone: its bytes match its SHA-256 tree",
                      self.ok("verify", "elsewhere/step-00000002.h5"))

    def test_a_checkpoint_is_named_by_its_step_too(self):
        self.ok("train", "tiny.toml", "--quiet")
        self.assertIn("this checkpoint alone", self.ok("verify", "runs/tiny@2"))
        self.assertIn("no checkpoint of step 7 (there are those of steps 2)", self.refused(2, "verify", "runs/tiny@7"))

    def test_a_sample_depends_on_its_number_and_not_on_how_many_there_are(self):
        self.ok("sample", "runs/tiny", "--count", "4", "--columns", "4", "--out", "row.png")
        row = pixels(self.read("row.png"))
        for number in range(4):
            self.ok("sample", "runs/tiny", "--first", str(number), "--count", "1", "--columns", "1",
                    "--out", "one.png")
            one = pixels(self.read("one.png"))
            height, width = one.shape
            step = (row.shape[1] - width) // 3  # grids may have borders
            self.assertTrue((row[:height, number * step:number * step + width] == one).all(), number)

    def test_a_lone_checkpoint_with_another_state_than_it_names_is_not_sampled_from(self):
        """Made to fit itself, sidecar too: by its tensors, or by the digest that it names."""
        os.makedirs(self.path("elsewhere"))
        alone, whole = "elsewhere/step-00000002.h5", self.read(LAST)

        def forged(change):
            self.write(alone, whole)
            with h5py.File(self.path(alone), "r+") as file:
                change(file)
            self.assertEqual(len(self.read(alone)), len(whole))
            self.assertNotEqual(self.read(alone), whole)
            return self.read(alone)

        def tensor(file):
            file["state/model/param"].visititems(lambda _, item: item.write_direct(item[()] + 1)
                                               if isinstance(item, h5py.Dataset) else None)

        for change in (tensor, lambda file: file.attrs.modify("state", numpy.bytes_(b"0" * 64))):
            made = forged(change)
            self.write(alone + ".sha256", sidecar(made))
            line = self.refused(5, "sample", alone, "--out", "no.png")
            self.assertEqual(line, alone + ": its tensors are not the state that it names")
            self.assertFalse(os.path.exists(self.path("no.png")))
            result = self.run_it("verify", alone)
            self.assertEqual((result.returncode, result.stdout.splitlines()[0]), (1, "disagrees: " + line))
        self.write(alone, whole)
        self.write(alone + ".sha256", sidecar(whole))
        self.ok("sample", alone, "--out", "yes.png")

    def test_a_damaged_checkpoint_is_not_sampled_from(self):
        damaged = bytearray(self.read(LAST))
        damaged[1000] ^= 1
        self.write(LAST, bytes(damaged))
        for code, command in ((5, ["sample", "runs/tiny", "--out", "no.png"]), (5, ["inspect", LAST]), (5, ["export", "runs/tiny", "no"]),
                              (5, ["export", LAST, "no.safetensors", "--role", "model"]), (5, ["eval", "runs/tiny", "--features", "runs/tiny"]),
                              (125, ["diff", LAST, LAST])):
            self.assertIn("step-00000002.h5, bytes", self.refused(code, *command))
        self.assertEqual([name for name in os.listdir(self.path(".")) if name.startswith("no")], [])

    def test_one_that_was_cut_to_nothing_is_said_in_a_short_line(self):
        """All its tensors are damaged then."""
        self.write(LAST, "")
        line = self.refused(5, "sample", "runs/tiny", "--out", "no.png")
        self.assertLess(len(line), 600)
        self.assertRegex(line, r"\((/\S+, ){3}/\S+ and \d+ more\)")


class Pictures(Cli):
    """A run's picture says what training writes, and nothing else."""

    NAME = "runs/tiny/samples/step-00000002.png"

    def setUp(self):
        super().setUp()
        self.once("runs", "train", "tiny.toml", "--quiet", "--set", "samples.count=4")
        self.whole = self.read(self.NAME)

    def rewritten(self, change):
        """The picture with other texts, each with the CRC that fits it."""
        at, before, texts, behind = 8, self.whole[:8], [], b""
        while at < len(self.whole):
            size, kind = struct.unpack(">I4s", self.whole[at:at + 8])
            chunk = self.whole[at:at + size + 12]
            at += size + 12
            if kind == b"tEXt":
                texts.append(chunk[8:-4])
            elif texts:
                behind += chunk
            else:
                before += chunk
        made = b"".join(struct.pack(">I", len(text)) + b"tEXt" + text + struct.pack(">I", zlib.crc32(b"tEXt" + text))
                        for text in change(texts))
        self.write(self.NAME, before + made + behind)

    def test_other_texts_are_found(self):
        self.rewritten(lambda texts: texts)
        self.assertEqual(self.read(self.NAME), self.whole)  # the control
        for code, change in ((5, lambda texts: [*texts, texts[1]]),
                             (1, lambda texts: [*texts, b"author\0somebody"]),
                             (1, lambda texts: [text for text in texts if not text.startswith(b"samples")]),
                             (1, lambda texts: texts[::-1]),
                             (1, lambda texts: [*texts, b"sampler\0ddpm"]),
                             (1, lambda texts: [text.replace(b"0 to 3", b"00 to 3") for text in texts])):
            self.rewritten(change)
            self.assertNotEqual(self.read(self.NAME), self.whole)
            result = self.run_it("verify", "runs/tiny")
            self.assertEqual(result.returncode, code, result.stdout)
            self.assertIn(self.NAME, result.stdout)


class Verify(Cli):
    def verified(self, code, path):
        """Findings, the same in words and in JSON."""
        words = self.run_it("verify", path)
        report = self.run_it("verify", path, "--json")
        self.assertEqual((words.returncode, report.returncode), (code, code), words.stdout)
        self.assertEqual(words.stderr + report.stderr, "")
        findings = json.loads(report.stdout)["findings"]
        self.assertEqual(json.loads(report.stdout)["ok"], code == 0)
        said = [one["kind"] + ": " + one["what"] for one in findings]
        if code != 0:
            self.assertEqual([line for line in words.stdout.splitlines() if not line.startswith("note: ")], said)
        return said

    def test_says_what_and_where_and_ends_with_the_documented_codes(self):
        self.ok("train", "tiny.toml", "--quiet", "--set", "checkpoint.every=1")
        self.assertEqual(self.verified(0, "runs/tiny"), [])
        self.assertEqual(self.verified(0, LAST), [])
        whole = self.read(LAST)

        damaged = bytearray(whole)
        damaged[-5] ^= 16
        self.write(LAST, bytes(damaged))
        for path in ("runs/tiny", LAST):
            (finding,) = self.verified(5, path)
            self.assertIn("damaged: " + LAST + ", bytes", finding)

        first = LAST.replace("2.h5", "1.h5")
        for tail in ("", ".sha256"):
            shutil.copy(self.path(first + tail), self.path(LAST + tail))
        for path in ("runs/tiny", LAST):
            (finding,) = self.verified(1, path)
            self.assertEqual(finding, "disagrees: " + LAST + ": its name does not match its step, 1")

        os.remove(self.path(LAST + ".sha256"))
        self.assertIn("is missing", self.verified(5, LAST)[0])

    def test_a_missing_ledger_or_recipe_is_5(self):
        self.ok("train", "tiny.toml", "--quiet")
        os.remove(self.path("runs/tiny/ledger.jsonl"))
        self.assertEqual(self.verified(5, "runs/tiny"), ["damaged: runs/tiny/ledger.jsonl is missing"])

    def test_what_is_no_evidence_is_2(self):
        for path in ("tiny.toml", "nothing", "."):
            self.refused(2, "verify", path)
            if path != "tiny.toml":
                self.refused(2, "inspect", path)


class PutBack(Cli):
    """Older evidence that is whole: only what was kept elsewhere tells."""

    def train(self, steps):
        return json.loads(self.ok("train", "tiny.toml", "--quiet", "--json", "--set", f"run.steps={steps}"))["chain"]

    def test_a_run_put_back_is_found_by_a_chain_that_was_kept(self):
        old = self.train(1)
        shutil.copytree(self.path("runs/tiny"), self.path("old"))
        new = self.train(2)
        for chain in (old, new):
            self.ok("verify", "runs/tiny", "--chain", chain)
        self.ok("verify", "old", "--chain", old)
        self.ok("verify", "old")
        result = self.run_it("verify", "old", "--chain", new)
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn(f"no line has the chain {new[:12]}: it was rolled back", result.stdout)
        self.ok("verify", LAST, "--chain", new)
        self.assertEqual(self.run_it("verify", LAST, "--chain", old).returncode, 5)
        self.assertIn("64 hexadecimal digits", self.refused(2, "verify", "old", "--chain", "abc"))


if __name__ == "__main__":
    main()
