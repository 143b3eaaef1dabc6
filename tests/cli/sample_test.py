"""lockstep sample: grids, folders of pictures and NumPy arrays hold the same samples, by any sampler.

usage: sample_test.py PROGRAM SOURCE   (by a Python with numpy)
"""

import hashlib
import json
import os
import struct
import zipfile
import zlib

import numpy

from support import SOURCE, Cli, main

TOY = os.path.join(SOURCE, "recipes/golden/toy-gan.toml")
GAP = 2


def pixels(png):
    """Of a PNG as lockstep writes it, [height][width]; and its texts."""
    at, texts, stream = 8, {}, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        data = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", data[:8])
        elif kind == b"tEXt":
            key, value = data.decode().split("\0")
            texts[key] = value
        elif kind == b"IDAT":
            stream += data
        at += length + 12
    return numpy.frombuffer(zlib.decompress(stream), numpy.uint8).reshape(height, width + 1)[:, 1:], texts


class Sample(Cli):
    def setUp(self):
        super().setUp()
        self.ok("train", "tiny.toml", "--run", "run", "--quiet")

    def sample(self, out, *arguments):
        return self.ok("sample", "run", "--out", out, *arguments)

    def grid(self, name, columns):
        """Its images, [n][height][width]."""
        picture, texts = pixels(self.read(name))
        rows = (picture.shape[0] - GAP) // (8 + GAP)
        tiles = [picture[GAP + y * 10:GAP + y * 10 + 8, GAP + x * 10:GAP + x * 10 + 8]
                 for y in range(rows) for x in range(columns)]
        return numpy.array(tiles), texts

    def test_every_form_has_the_same_samples(self):
        arguments = ["--first", "60", "--count", "70"]  # more than are made at once
        self.sample("a.png", *arguments, "--columns", "10")
        said = self.sample("a.npz", *arguments)
        self.assertEqual(said, f"a.npz: 70 samples of step 2, sha256 {hashlib.sha256(self.read('a.npz')).hexdigest()}\n")
        self.assertEqual(self.sample("new/a/", *arguments),
                         "new/a/: 70 samples of step 2, sample-00000060.png to sample-00000129.png\n")
        images, texts = self.grid("a.png", 10)
        with numpy.load(self.path("a.npz")) as archive:
            array = archive["arr_0"]
            said = dict(line.split(": ", 1) for line in archive["provenance.txt"].decode().splitlines())
        self.assertEqual((array.dtype, array.shape), (numpy.uint8, (70, 8, 8, 1)))
        self.assertTrue((array[..., 0] == images).all())
        self.assertEqual(said, texts)
        self.assertEqual(texts["samples"], "60 to 129")
        self.assertEqual(sorted(os.listdir(self.path("new/a"))), [f"sample-{i:08}.png" for i in range(60, 130)])
        for i in range(70):
            image, own = pixels(self.read(f"new/a/sample-{60 + i:08}.png"))
            self.assertTrue((image == images[i]).all(), i)
            self.assertEqual(own, {**texts, "samples": f"{60 + i} to {60 + i}"})

    def test_an_array_has_the_same_bytes_again_and_is_a_sound_zip_file(self):
        self.sample("a.npz", "--count", "3")
        self.sample("b.npz", "--count", "3")
        self.assertEqual(self.read("a.npz"), self.read("b.npz"))
        with zipfile.ZipFile(self.path("a.npz")) as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual({entry.date_time for entry in archive.infolist()}, {(1980, 1, 1, 0, 0, 0)})

    def test_an_array_is_inspected(self):
        self.sample("a.npz", "--first", "7", "--count", "3")
        said = json.loads(self.ok("inspect", "a.npz", "--json"))
        self.assertEqual(said["kind"], "samples")
        self.assertEqual(said["arrays"], {"arr_0": {"type": "uint8", "shape": [3, 8, 8, 1]}})
        self.sample("a.png", "--first", "7", "--count", "3")
        self.assertEqual(said["provenance"], pixels(self.read("a.png"))[1])
        text = self.ok("inspect", "a.npz")
        self.assertIn("  arr_0\n    type  uint8\n    shape  [3,8,8,1]\n", text)
        self.assertIn("  step  2\n", text)
        whole = self.read("a.npz")
        self.write("b.npz", whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
        self.assertIn("b.npz: byte ", self.refused(5, "inspect", "b.npz"))
        numpy.savez(self.path("c.npz"), numpy.zeros(3))
        self.assertIn("made by another program", self.refused(5, "inspect", "c.npz"))

    def test_points_become_an_array_of_floats(self):
        self.ok("train", TOY, "--run", "toy", "--set", "run.steps=1", "--quiet")
        self.ok("sample", "toy", "--count", "100", "--out", "points.npz")
        self.ok("sample", "toy", "--count", "5", "--first", "70", "--out", "few.npz")
        with numpy.load(self.path("points.npz")) as points, numpy.load(self.path("few.npz")) as few:
            self.assertEqual((points["arr_0"].dtype, points["arr_0"].shape), (numpy.float32, (100, 2)))
            self.assertTrue((points["arr_0"][70:75] == few["arr_0"]).all())
        self.assertIn("points", self.refused(2, "sample", "toy", "--out", "points/"))
        self.assertFalse(os.path.exists(self.path("points")))

    def test_another_sampler_is_recorded(self):
        def digest(*arguments):
            self.sample("a.png", *arguments)
            return hashlib.sha256(self.read("a.png")).hexdigest(), pixels(self.read("a.png"))[1].get("sampler")

        own, said = digest()
        self.assertIsNone(said)
        self.assertEqual(digest("--sampler", "ddim", "--sampler-steps", "2"), (own, None))  # the recipe's
        more, ancestral = digest("--sampler-steps", "5"), digest("--sampler", "ancestral")
        self.assertEqual((more[1], ancestral[1]), ("ddim, 5 steps", "ancestral"))
        self.assertEqual(len({own, more[0], ancestral[0]}), 3)
        recipes = {pixels(self.read("a.png"))[1]["recipe"]}
        self.sample("b.png")
        self.assertEqual({pixels(self.read("b.png"))[1]["recipe"]}, recipes)
        # What a run of that recipe would have sampled.
        self.ok("train", "tiny.toml", "--run", "five", "--set", "objective.sampler_steps=5", "--quiet")
        self.ok("sample", "five", "--out", "five.npz", "--count", "4")
        self.sample("more.npz", "--count", "4", "--sampler-steps", "5")
        with numpy.load(self.path("five.npz")) as five, numpy.load(self.path("more.npz")) as here:
            self.assertTrue((five["arr_0"] == here["arr_0"]).all())

    def test_a_run_is_sampled_at_any_step_that_it_saved(self):
        self.ok("train", "tiny.toml", "--run", "long", "--quiet", "--set", "run.steps=4", "--set", "checkpoint.every=1")
        self.assertIn(" of step 3, ", self.ok("sample", "long@3", "--out", "run.png"))
        self.ok("sample", "long/checkpoints/step-00000003.h5", "--out", "file.png")
        self.assertEqual(self.read("run.png"), self.read("file.png"))
        for source, said in (("long@9", "there are those of steps "), ("long@x", "after '@' comes a step"),
                             ("none@1", "none")):
            self.assertIn(said, self.refused(2, "sample", source))

    def test_what_it_cannot_do_is_refused(self):
        for out in ("a.jpg", "-", "a", "a.PNG", "run"):
            self.assertIn("name.npz", self.refused(2, "sample", "run", "--out", out))
            self.assertEqual(os.path.exists(self.path(out)), out == "run")
        self.assertIn("--columns", self.refused(2, "sample", "run", "--out", "a.npz", "--columns", "8"))
        self.assertIn("--columns", self.refused(2, "sample", "run", "--out", "a/", "--columns", "8"))
        self.assertIn("too large", self.refused(2, "sample", "run", "--count", "1048576", "--columns", "1"))
        self.assertIn("11 of 10", self.refused(2, "sample", "run", "--sampler-steps", "11"))
        self.assertIn("every timestep",
                      self.refused(2, "sample", "run", "--sampler", "ancestral", "--sampler-steps", "5"))
        self.ok("train", TOY, "--run", "toy", "--set", "run.steps=1", "--quiet")
        for option in (["--sampler", "ddim"], ["--sampler-steps", "5"]):
            self.assertIn("objective.kind is gan", self.refused(2, "sample", "toy", *option))

    def test_its_report_as_json(self):
        self.assertEqual(set(json.loads(self.sample("a.png", "--json"))), {"out", "step", "sha256"})
        self.assertEqual(json.loads(self.sample("a/", "--count", "3", "--json")),
                         {"out": "a/", "step": 2, "files": 3})


if __name__ == "__main__":
    main()
