"""lockstep sample: grids, folders of pictures and NumPy arrays hold the same samples, by any sampler.

usage: sample_test.py PROGRAM SOURCE   (by a Python with numpy)
"""

import hashlib
import json
import os
import re
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


class Sampling(Cli):
    def sample(self, out, *arguments):
        return self.ok("sample", "run", "--out", out, *arguments)

    def grid(self, name, columns):
        """Its images, [n][height][width]."""
        picture, texts = pixels(self.read(name))
        rows = (picture.shape[0] - GAP) // (8 + GAP)
        tiles = [picture[GAP + y * 10:GAP + y * 10 + 8, GAP + x * 10:GAP + x * 10 + 8]
                 for y in range(rows) for x in range(columns)]
        return numpy.array(tiles), texts


class Sample(Sampling):
    def setUp(self):
        super().setUp()
        self.once("run", "train", "tiny.toml", "--run", "run", "--quiet")

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
        for source, said in (("long@9", "there are those of steps "), ("long@x", "after '@' comes the number of a step"),
                             ("none@1", "none")):
            self.assertIn(said, self.refused(2, "sample", source))

    def test_of_another_seed_have_its_noise_and_say_so(self):
        self.ok("train", "tiny.toml", "--from", "run", "--run", "five", "--quiet", "--set", "run.seed=5", "--set",
                "run.from.optimizer=anew", "--set", "run.steps=0")  # the same weights
        self.sample("of-run.npz", "--count", "3")
        self.sample("asked.npz", "--count", "3", "--seed", "5")
        self.ok("sample", "five", "--out", "of-five.npz", "--count", "3")
        read = {}
        for name in ("of-run", "asked", "of-five"):
            with numpy.load(self.path(f"{name}.npz")) as archive:
                read[name] = archive["arr_0"].tobytes(), archive["provenance.txt"]
        self.assertEqual(read["asked"][0], read["of-five"][0])
        self.assertNotEqual(read["asked"][0], read["of-run"][0])
        self.assertEqual([b"\nseed: 5\n" in read[name][1] for name in read], [False, True, False])
        seed = re.search(r"(?m)^seed = (\d+)$", self.read("run/recipe.toml").decode())
        self.sample("same.npz", "--count", "3", "--seed", seed[1] if seed else "0")
        self.assertEqual(self.read("same.npz"), self.read("of-run.npz"))

    def test_a_folder_has_samples_of_one_state(self):
        self.ok("train", "tiny.toml", "--run", "long", "--quiet", "--set", "run.steps=4", "--set", "checkpoint.every=1")
        ask = ("sample", "long@3", "--out", "mine/")
        self.ok(*ask, "--count", "4")
        self.ok(*ask, "--count", "2", "--first", "4")
        for other in ("long@4", "run"):
            said = self.refused(2, "sample", other, "--out", "mine/", "--count", "2")
            self.assertRegex(said, r"mine/ has pictures that are not made alike: sample-00000002.png is of step 3 of recipe "
                                   r"[0-9a-f]{12} ")
        self.ok(*ask, "--count", "1", "--weights", "trained")  # as all of a run without an average
        self.assertEqual(len(os.listdir(self.path("mine"))), 6)
        self.ok("sample", "long@4", "--out", "mine/", "--count", "6")  # in the place of all
        self.write("mine/sample-00000005.png", self.read("mine/sample-00000005.png")[:-20])
        self.assertIn("sample-00000005.png is none of lockstep", self.refused(2, "sample", "long@4", "--out", "mine/", "--count", "5"))

    def test_other_files_of_a_folder_are_nothing_to_it(self):
        os.mkdir(self.path("own"))
        names = ("notes.png", ".x", "README.md", "x1y.png", "sample-.png", "sample-1.png", "sample-99999999999999999999.png", "7")
        for name in names:
            self.write("own/" + name, b"mine")
        self.ok("sample", "run", "--out", "own/", "--count", "1")
        self.assertEqual(set(os.listdir(self.path("own"))), {*names, "sample-00000000.png"})
        self.assertEqual({self.read("own/" + name) for name in names}, {b"mine"})

    def test_what_it_cannot_do_is_refused(self):
        for out in ("a.jpg", "-", "a", "a.PNG", "run"):
            self.assertIn("name.npz", self.refused(2, "sample", "run", "--out", out))
            self.assertEqual(os.path.exists(self.path(out)), out == "run")
        self.assertIn("--columns", self.refused(2, "sample", "run", "--out", "a.npz", "--columns", "8"))
        self.assertIn("--columns", self.refused(2, "sample", "run", "--out", "a/", "--columns", "8"))
        self.assertIn("too large", self.refused(2, "sample", "run", "--count", "1048576", "--columns", "1"))
        self.assertIn("--sampler-steps: 11 of 10 timesteps", self.refused(2, "sample", "run", "--sampler-steps", "11"))
        self.assertIn("--guidance: the data have no classes (leave it out)", self.refused(2, "sample", "run", "--guidance", "2"))
        self.assertIn("every timestep",
                      self.refused(2, "sample", "run", "--sampler", "ancestral", "--sampler-steps", "5"))
        self.ok("train", TOY, "--run", "toy", "--set", "run.steps=1", "--quiet")
        for option in (["--sampler", "ddim"], ["--sampler-steps", "5"]):
            self.assertIn("objective.kind is gan", self.refused(2, "sample", "toy", *option))

    def test_its_report_as_json(self):
        self.assertEqual(set(json.loads(self.sample("a.png", "--json"))), {"out", "step", "sha256"})
        self.assertEqual(json.loads(self.sample("a/", "--count", "3", "--json")),
                         {"out": "a/", "step": 2, "files": 3})


class Classes(Sampling):
    """A run of three classes, trained so fast that they show in its samples."""

    def setUp(self):
        super().setUp()
        self.write("labels", b"\0\0\x08\x01" + struct.pack(">I", 16) + bytes(i % 3 for i in range(16)))
        self.trains("run")

    def trains(self, run, *settings):
        settings = ("data.labels=labels", "data.classes=3", "objective.label_dropout=0.3", "objective.guidance=1.5",
                    "model.optimizer.lr=0.02", *settings)
        self.once(run, "train", "tiny.toml", "--run", run, "--quiet", *(word for key in settings for word in ("--set", key)))

    def pictures(self, name, *arguments):
        """{number: image}, and the texts of the last."""
        self.sample(f"{name}/", *arguments)
        read = {int(file[7:15]): pixels(self.read(name, file)) for file in os.listdir(self.path(name))}
        return {number: image for number, (image, _) in read.items()}, read[max(read)][1]

    def test_follow_the_samples_numbers(self):
        images, texts = self.pictures("all", "--first", "4", "--count", "20")
        self.assertEqual(set(texts), {"Software", "recipe", "step", "state", "samples"})
        self.sample("all.npz", "--first", "4", "--count", "20")
        with numpy.load(self.path("all.npz")) as archive:
            self.assertTrue((archive["arr_0"][..., 0] == [images[i] for i in range(4, 24)]).all())
            self.assertEqual((archive["arr_1"].dtype, list(archive["arr_1"])), ("<i8", [i % 3 for i in range(4, 24)]))
        said = json.loads(self.ok("inspect", "all.npz", "--json"))
        self.assertEqual(said["arrays"], {"arr_0": {"type": "uint8", "shape": [20, 8, 8, 1]},
                                          "arr_1": {"type": "int64", "shape": [20]}})
        self.assertEqual(said["provenance"], {**texts, "samples": "4 to 23"})
        for label in range(3):
            own, texts = self.pictures(str(label), "--first", "4", "--count", "20", "--class", str(label))
            self.assertEqual((texts["class"], "guidance" in texts), (str(label), False))
            same = {i for i in own if (own[i] == images[i]).all()}
            self.assertLessEqual({i for i in own if i % 3 == label}, same)
            self.assertLess(len(same), 16)  # bytes of another class may be the same, but not of all
        self.sample("own.npz", "--first", "4", "--count", "5", "--class", "2")
        with numpy.load(self.path("own.npz")) as archive:
            self.assertEqual(list(archive["arr_1"]), [2] * 5)
            self.assertTrue((archive["arr_0"][4, ..., 0] == images[8]).all())

    def test_are_rows_of_a_grid(self):
        images, _ = self.pictures("all", "--count", "17")
        self.sample("a.png", "--count", "17", "--columns", "4")  # a band of four columns, one of two
        cells, _ = self.grid("a.png", 4)
        cells = cells.reshape(6, 4, 8, 8)
        for i, image in images.items():
            row, column = i // 12 * 3 + i % 3, i % 12 // 3
            self.assertTrue((cells[row, column] == image).all(), i)
        self.assertFalse(cells[3:, 2:].any() or cells[5, 1].any())
        own, _ = self.pictures("own", "--count", "7", "--class", "1")  # of one class: row by row
        self.sample("b.png", "--count", "7", "--columns", "3", "--class", "1")
        cells, _ = self.grid("b.png", 3)
        self.assertTrue((cells[:7] == [own[i] for i in range(7)]).all())
        self.assertFalse(cells[7:].any())

    def test_are_guided_as_asked(self):
        def digest(*arguments):
            self.sample("a.png", *arguments)
            texts = pixels(self.read("a.png"))[1]
            return hashlib.sha256(self.read("a.png")).hexdigest(), texts.get("guidance"), texts.get("sampler")

        own = digest()
        self.assertEqual(own[1:], (None, None))
        self.assertEqual(digest("--guidance", "1.50"), own)  # the recipe's
        others = [digest("--guidance", scale) for scale in ("0", "1", "2.5", "1000")]
        self.assertEqual([other[1] for other in others], ["0", "1", "2.5", "1000"])
        self.assertEqual(len({own[0], *(other[0] for other in others)}), 5)
        self.assertEqual(digest("--guidance", "2.5", "--sampler", "ancestral")[1:], ("2.5", "ancestral"))
        # What a run of that recipe would have sampled, and its own pictures.
        self.trains("other", "objective.guidance=2.5", "samples.count=7", "samples.columns=2")
        self.ok("sample", "other", "--out", "other.npz", "--count", "7")
        self.sample("here.npz", "--count", "7", "--guidance", "2.5")
        with numpy.load(self.path("other.npz")) as other, numpy.load(self.path("here.npz")) as here:
            self.assertTrue((other["arr_0"] == here["arr_0"]).all())
        self.ok("sample", "other", "--out", "other.png", "--count", "7", "--columns", "2")
        self.assertEqual(self.read("other.png"), self.read("other/samples/step-00000002.png"))
        # By guidance 0 the class does not count.
        first, other = (self.pictures(f"of-{label}", "--guidance", "0", "--count", "2", "--class", label)[0]
                        for label in "02")
        self.assertTrue(all((first[i] == other[i]).all() for i in range(2)))

    def test_a_folder_that_is_made_otherwise_says_by_which_key(self):
        self.ok("sample", "run", "--out", "mine/", "--count", "2", "--guidance", "2")
        before = self.contents("mine")

        def said(*arguments, first="2"):
            line = self.refused(2, "sample", "run", "--out", "mine/", "--count", "1", "--first", first, *arguments)
            self.assertTrue(line.startswith("mine/ has pictures that are not made alike: sample-0000000"), line)
            self.assertTrue(line.endswith(" (give another folder, or remove them; `lockstep inspect` shows how it was made)"), line)
            return line.split("sample-0000000")[1].rsplit(" (", 1)[0]

        self.assertEqual(said("--guidance", "3"), "0.png: guidance is 2 there, 3 here")
        self.assertEqual(said("--guidance", "3", first="0"), "1.png: guidance is 2 there, 3 here")
        self.assertEqual(said(), "0.png: guidance is 2 there, the recipe's 1.5 here")
        self.assertEqual(said("--guidance", "2", "--seed", "5", "--sampler", "ancestral"),
                         "0.png: sampler is the recipe's ddim, 2 steps there, ancestral here; seed is the recipe's 1 there, 5 here")
        self.assertEqual(self.contents("mine"), before)

    def test_that_do_not_fit_are_refused_before_anything_is_written(self):
        self.ok("train", "tiny.toml", "--run", "plain", "--quiet")
        self.trains("whole", "objective.label_dropout=0", "objective.guidance=1")
        self.ok("train", TOY, "--run", "toy", "--set", "run.steps=1", "--quiet")
        before = self.contents()
        for out in ("a.png", "a.npz", "new/a/"):
            self.assertEqual(self.refused(2, "sample", "run", "--out", out, "--class", "3"),
                             "there is no class 3 among 3 classes (classes count from 0)")
            for run in ("plain", "toy"):
                self.assertEqual(self.refused(2, "sample", run, "--out", out, "--class", "0"),
                                 "there is no class 0 among 0 classes (the recipe does not ask for labels: "
                                 "data.classes is 0)")
            for run, why in (("plain", "guidance: the data have no classes"),
                             ("whole", "guidance: the network never sees a sample without its class")):
                self.assertIn(why, self.refused(2, "sample", run, "--out", out, "--guidance", "2"))
            self.assertIn("objective.kind is gan", self.refused(2, "sample", "toy", "--out", out, "--guidance", "2"))
        for scale in ("nan", "inf", "-1", "1e9", "1000.1", "2,5", "2.5x", " 2", "0x2", ""):
            said = self.refused(2, "sample", "run", "--guidance", scale, LC_ALL="de_DE.UTF-8", LANG="de_DE.UTF-8")
            self.assertIn("--guidance", said)
            self.assertIn("give a number from 0 to 1000" if scale else "empty", said)
        for label in ("-1", "1.0", "two", ""):
            self.assertIn("--class", self.refused(2, "sample", "run", "--class", label))
        self.assertEqual(self.contents(), before)
        self.assertFalse(os.path.exists(self.path("new")))

    def test_of_points_are_in_the_array_too(self):
        self.ok("train", TOY, "--run", "toy", "--set", "run.steps=1", "--set", "data.classes=8", "--quiet")
        self.ok("sample", "toy", "--count", "20", "--first", "3", "--out", "a.npz")
        self.ok("sample", "toy", "--count", "1", "--first", "9", "--class", "1", "--out", "b.npz")
        self.ok("sample", "toy", "--count", "1", "--first", "9", "--class", "2", "--out", "c.npz")
        with numpy.load(self.path("a.npz")) as a, numpy.load(self.path("b.npz")) as b, \
                numpy.load(self.path("c.npz")) as c:
            self.assertEqual(list(a["arr_1"]), [i % 8 for i in range(3, 23)])
            self.assertTrue((a["arr_0"][6] == b["arr_0"][0]).all())
            self.assertFalse((c["arr_0"] == b["arr_0"]).all())


if __name__ == "__main__":
    main()
