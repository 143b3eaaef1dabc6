"""lockstep eval with pictures of a file, of any program: the values of the run that made them; what is no such file.

The values of a run are recomputed from the pages by tests/reference/training/test_evaluation.py.
"""

import hashlib
import json
import os
import shutil
import struct
import zipfile

from support import SOURCE, Cli, main

PICTURES, SEED = 160, 5
VALUES = ("frechet_distance", "kernel_distance", "precision", "recall", "density", "coverage")


def array(shape, values, kind="|u1"):
    """What numpy.save writes."""
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    head = head.ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + values


class EvalPictures(Cli):
    def setUp(self):
        super().setUp()
        for name, count in (("images", PICTURES), ("more", PICTURES + 1)):
            pixels = b"".join(hashlib.sha256(bytes([i % 256, i // 256, k])).digest() for i in range(count) for k in range(2))
            self.write(name, b"\0\0\x08\x03" + struct.pack(">III", count, 8, 8) + pixels)
        self.write("labels", b"\0\0\x08\x01" + struct.pack(">I", PICTURES) + bytes(i % 4 for i in range(PICTURES)))
        self.ok("train", os.path.join(SOURCE, "recipes/golden/classifier.toml"), "--run", "judge", "--quiet",
                "--set", "run.steps=2", "--set", "data.kind=images", "--set", "data.path=images",
                "--set", "data.labels=labels", "--set", "data.classes=4")

    def made(self):
        self.ok("train", "tiny.toml", "--run", "run", "--quiet", "--set", f"run.seed={SEED}")
        self.ok("sample", "run", "--count", "128", "--out", "made.npz")
        with zipfile.ZipFile(self.path("made.npz")) as file:
            return file.read("arr_0.npy")[128:]  # after NumPy's header

    def judged(self, source, *more):
        return json.loads(self.ok("eval", source, "--features", "judge", "--seed", str(SEED), "--quiet", "--json", *more))

    def test_values_are_those_of_the_run_that_made_them(self):
        pixels = self.made()
        of_run = self.judged("run", "--samples", "96")
        of_file = self.judged("made.npz", "--samples", "96", "--data", "images")
        self.assertEqual(list(of_file), ["pictures", "data", "samples", "seed", "portable", "features", *VALUES])
        self.assertEqual([of_file[key] for key in ("features", *VALUES)], [of_run[key] for key in ("features", *VALUES)])
        self.assertEqual(of_file["pictures"], hashlib.sha256(self.read("made.npz")).hexdigest())
        self.assertEqual((of_file["samples"], of_file["portable"]), (96, True))
        # Of other programs: compressed, under another name, without channels, or an array alone.
        with zipfile.ZipFile(self.path("other.npz"), "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("images.npy", array((128, 8, 8), pixels))
        self.write("other.npy", array((128, 8, 8, 1), pixels))
        for name in ("other.npz", "other.npy"):
            said = self.judged(name, "--samples", "96", "--data", "images", "--threads", "1")
            self.assertEqual([said[key] for key in VALUES], [of_run[key] for key in VALUES], name)
        # A pack of a folder of pictures: here the one that `sample` makes.
        self.ok("sample", "run", "--count", "128", "--out", "made/")
        self.ok("pack", "made", "made.h5", "--quiet")
        said = self.judged("made.h5", "--samples", "96", "--data", "images")
        self.assertEqual([said[key] for key in VALUES], [of_run[key] for key in VALUES])
        self.assertEqual(said["pictures"], hashlib.sha256(self.read("made.h5")).hexdigest())
        self.assertEqual(self.refused(2, "eval", "made", "--features", "judge", "--data", "images"),
                         "made is a folder of pictures, no run (`lockstep pack made pictures.h5` makes a file of them; give that)")
        os.makedirs(self.path("classes/one"))
        shutil.copy(self.path("made/sample-00000000.png"), self.path("classes/one/a.png"))
        self.assertIn("classes is a folder of pictures, no run", self.refused(2, "eval", "classes", "--features", "judge", "--data", "images"))
        self.ok("pack", "made", "shards", "--shard-size", "64K", "--quiet")
        self.assertEqual(self.refused(2, "eval", "shards", "--features", "judge", "--data", "images"),
                         "shards is a folder of shards, no run (`lockstep pack shards pictures.h5` makes one file of them; give that)")
        self.write("cut.h5", self.read("made.h5")[:-1])
        self.assertIn("cut.h5: the file has", self.refused(3, "eval", "cut.h5", "--features", "judge", "--data", "images"))
        # All of them, where there are fewer than are usual.
        self.assertEqual(self.judged("made.npz", "--data", "images"),
                         self.judged("made.npz", "--data", "images", "--samples", "128"))
        self.assertNotEqual(self.judged("made.npz", "--data", "images")["kernel_distance"], of_run["kernel_distance"])

    def test_data_need_no_labels_nor_those_of_the_classifier(self):
        self.made()
        shutil.rmtree(self.path("judge"))
        for name, labels in (("own", self.read("labels")[8:]), ("other", bytes([200] * PICTURES))):
            self.write(f"{name}-images-idx3-ubyte", self.read("images"))
            self.write(f"{name}-labels-idx1-ubyte", b"\0\0\x08\x01" + struct.pack(">I", PICTURES) + labels)
        self.ok("pack", "images", "plain.h5")
        self.ok("pack", "other-images-idx3-ubyte", "other.h5")
        self.ok("train", os.path.join(SOURCE, "recipes/golden/classifier.toml"), "--run", "judge", "--quiet", "--set", "run.steps=2",
                "--set", "data.kind=images", "--set", "data.path=own-images-idx3-ubyte", "--set", "data.classes=4")
        with_labels = self.judged("made.npz", "--data", "own-images-idx3-ubyte")
        for data in ("plain.h5", "other.h5"):
            said = self.judged("made.npz", "--data", data)
            self.assertEqual([said[key] for key in VALUES], [with_labels[key] for key in VALUES], data)
        self.assertIn("without labels", self.refused(3, "eval", "judge", "--data", "plain.h5"))

    def test_a_checkpoint_alone_does_not_say_where_its_data_lie(self):
        self.made()
        for tail in ("", ".sha256"):
            os.replace(self.path(f"run/checkpoints/step-00000002.h5{tail}"), self.path(f"alone.h5{tail}"))
        line = self.one_line(2, self.run_it("eval", "alone.h5", "--features", "judge", "--samples", "96"))
        self.assertIn("alone.h5 does not say where its data lie; by the default of data.path there are others", line)
        self.assertIn("give them by --data: their content hash begins with ", line)
        self.judged("alone.h5", "--samples", "96", "--data", "images")

    def test_the_line_names_the_file_by_its_hash(self):
        self.made()
        line = self.ok("eval", "made.npz", "--features", "judge", "--data", "images", "--quiet").splitlines()[0]
        digest = hashlib.sha256(self.read("made.npz")).hexdigest()
        self.assertRegex(line, f"^made.npz: sha256 {digest[:12]}, 128 samples against as many of the data [0-9a-f]{{12}}$")

    def test_what_does_not_fit_is_refused(self):
        pixels = bytes(range(256)) * 8
        whole = array((32, 8, 8), pixels)
        for name, content in (("a.npy", whole), ("cut.npy", whole[:-1]), ("long.npy", whole + b"\0"), ("head.npy", whole[:40]),
                              ("floats.npy", array((8, 8, 8), bytes(8 * 8 * 8 * 4), "<f4")), ("flat.npy", array((32, 64), pixels)),
                              ("channels.npy", array((16, 8, 8, 2), pixels)), ("empty.npy", array((0, 8, 8), b"")),
                              ("wide.npy", array((16, 8, 16), pixels)), ("text.npz", b"no pictures"),
                              ("other.npy", self.read("images"))):
            self.write(name, content)
        with zipfile.ZipFile(self.path("a.npz"), "w") as file:
            file.writestr("arr_0.npy", whole)
        self.write("cut.npz", self.read("a.npz")[:-30])
        with zipfile.ZipFile(self.path("named.npz"), "w") as file:
            file.writestr("pixels.npy", whole)
        asked, judge = ("--quiet", "--data", "images"), ("--features", "judge")
        for name, line in (("cut.npy", "fewer values than its header says"), ("long.npy", "more values than its header says"),
                           ("head.npy", "its header is cut off"), ("floats.npy", "its values are floats, and judge knows pictures (save pictures as uint8)"),
                           ("flat.npy", "[32, 64] is no shape of pictures"), ("channels.npy", "2"), ("empty.npy", "0"),
                           ("text.npz", "it is no array of NumPy's"), ("other.npy", "it is no array of NumPy's"),
                           ("cut.npz", ""), ("named.npz", "no array of it is called images, x or arr_0")):
            said = self.refused(3, "eval", name, *judge, *asked)
            self.assertIn(name, said)
            self.assertIn(line, said)
        for line, *arguments in (
                ("--features is missing", "a.npy", *asked),
                ("--data is missing: a.npy names no data", "a.npy", *judge),
                ("there is no missing.npz (give a file of pictures", "missing.npz", *judge, *asked),
                ("judge classifies pictures of 8 x 8 x 1 values, and samples have 8 x 16 x 1", "wide.npy", *judge, *asked),
                ("--samples 33: a.npy has 32 pictures", "a.npy", *judge, *asked, "--samples", "33"),
                ("--samples 10: the covariance of 10 features needs more", "a.npy", *judge, *asked, "--samples", "10"),
                ("judge: its hash is", "a.npy", *judge, *asked, "--features-hash", "00000000")):
            self.assertIn(line, self.refused(2, "eval", *arguments))
        self.assertIn("labels", self.refused(3, "eval", "a.npy", *judge, "--quiet", "--data", "more"))

    def test_data_that_a_recipe_makes_need_no_path(self):
        self.ok("train", os.path.join(SOURCE, "recipes/golden/classifier.toml"), "--run", "toy", "--quiet",
                "--set", "run.steps=2")
        self.write("a.npy", array((16, 11, 11, 3), bytes(i * 37 % 251 for i in range(16 * 11 * 11 * 3))))
        asked = ("eval", "a.npy", "--features", "toy", "--quiet")
        self.assertIn("16 samples against as many of the data", self.ok(*asked))
        self.assertIn("--data: the recipe makes its data", self.refused(2, *asked, "--data", "images"))


if __name__ == "__main__":
    main()
