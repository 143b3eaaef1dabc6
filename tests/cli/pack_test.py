"""`lockstep pack`: data sets as others write them. What is packed is compared with this file's own arithmetic."""

import json
import os
import shutil
import subprocess
import tarfile
import unittest
import zlib
from fractions import Fraction

import h5py
import numpy

from pictures import chunk, exif, jpeg, png, samples
from support import PROGRAM, SOURCE, Cli, main, not_beside_sanitizers


def resized(picture, width, height):
    """docs/data.md, "How pictures are resized", in fractions."""
    h, w, channels = picture.shape
    scale = min(Fraction(w, width), Fraction(h, height))

    def axis(old, made):
        left = (old - made * scale) / 2 // 1
        weights = numpy.full((made, old), Fraction(0))
        for i in range(made):
            if scale >= 1:
                begin, end = left + i * scale, left + (i + 1) * scale
                for p in range(old):
                    weights[i, p] = max(Fraction(0), min(end, p + 1) - max(begin, p)) / scale
            else:
                at = left + (i + Fraction(1, 2)) * scale - Fraction(1, 2)
                p = at // 1
                for pixel, weight in ((p, 1 - (at - p)), (p + 1, at - p)):
                    weights[i, min(max(pixel, 0), old - 1)] += weight
        return weights

    down, across = axis(h, height), axis(w, width)
    planes = [down @ picture[:, :, c].astype(object) @ across.T for c in range(channels)]
    return numpy.stack([numpy.vectorize(lambda v: (2 * v + 1) // 2)(plane) for plane in planes], -1).astype(numpy.uint8)


class Pack(Cli):
    def folder_of(self, files):
        for name, content in files.items():
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            self.write(name, content)

    def packed(self, *arguments, out="out.h5"):
        """What the command reports, and the pictures and labels that it wrote."""
        said = json.loads(self.ok("pack", *arguments[:1], out, *arguments[1:], "--json"))
        with h5py.File(self.path(out)) as file:
            return said, file["images"][:], file["labels"][:].tolist() if "labels" in file else None

    def refused_pack(self, *arguments, code=3):
        before = self.contents()
        line = self.refused(code, "pack", *arguments[:1], "out.h5", *arguments[1:])
        self.assertEqual(self.contents(), before)
        return line


class PictureFolder(Pack):
    def test_without_folders_has_no_labels_and_the_order_of_names(self):
        values = {name: samples(3 * 4 * 5, i) for i, name in enumerate(("B.png", "a.PNG", "a10.png", "a9.png"))}
        self.folder_of({f"d/{name}": png(4, 5, v) for name, v in values.items()})
        self.folder_of({"d/.hidden.png": b"", "d/.git/x.png": b""})
        said, images, labels = self.packed("d")
        self.assertEqual((said["images"], said["height"], said["width"], said["channels"]), (4, 5, 4, 3))
        self.assertEqual(set(said), {"out", "images", "height", "width", "channels", "hash"})
        self.assertIsNone(labels)
        for i, name in enumerate(sorted(values)):
            self.assertEqual(images[i].ravel().tolist(), values[name], name)
        self.packed("d", out="again.h5")
        self.assertEqual(self.read("again.h5"), self.read("out.h5"))

    def test_of_folders_are_classes_in_the_order_of_their_names(self):
        self.folder_of({f"d/{name}": png(8, 8, samples(64, i, 255), colour=0) for i, name in enumerate(
            ("dog/1.png", "dog/old/2.png", "cat/9.png", "dog-like/1.png"))})
        os.makedirs(self.path("d/empty"))
        said, images, labels = self.packed("d")
        self.assertEqual(said["classes"], ["cat", "dog", "dog-like"])
        self.assertEqual(said["labels"], "d")
        self.assertEqual(labels, [0, 2, 1, 1])  # the order of paths: "dog-" is before "dog/"
        self.assertEqual(images[0].ravel().tolist(), samples(64, 2))
        text = self.ok("pack", "d", "text.h5")
        self.assertIn(f"; with the labels of d {said['labelled_hash']}\nclass 0: cat, 1 image\nclass 1: dog, 2 images\n", text)
        self.assertEqual(self.read("text.h5"), self.read("out.h5"))
        self.assertEqual(self.run_it("pack", "d", "text.h5", "--quiet").stderr,
                         "warning: d/empty has no pictures: it is no class\n")
        self.ok("train", "tiny.toml", "--quiet", "--set", "data.path=out.h5", "--set", "data.classes=3", "--run", "run")
        ledger = json.loads(self.ok("inspect", "run/ledger.jsonl", "--json"))
        self.assertEqual((ledger["data"], ledger["steps"]), (said["labelled_hash"], 2))
        alone = self.packed("d", "--no-labels", out="alone.h5")
        self.assertIsNone(alone[2])
        self.assertNotIn("classes", alone[0])
        self.write("mine", b"\0\0\x08\x01\0\0\0\4\3\2\1\0")
        self.assertEqual(self.packed("d", "--labels", "mine", out="mine.h5")[2], [3, 2, 1, 0])

    def test_that_has_changed_replaces_its_pack_and_says_which_data_are_gone(self):
        self.folder_of({f"d/{name}.png": png(8, 8, samples(64, i), colour=0) for i, name in enumerate("ab")})
        first = self.packed("d")[0]
        self.assertNotIn("replaced", self.packed("d")[0])  # the same data
        self.folder_of({"d/c.png": png(8, 8, samples(64, 9), colour=0)})
        more = self.packed("d")[0]
        self.assertEqual(more["replaced"], first["hash"])
        os.remove(self.path("d/c.png"))
        self.assertTrue(self.ok("pack", "d", "out.h5", "--quiet").endswith(
            f"\nthe former data hash {more['hash']} is replaced by {first['hash']}: runs of the former data will refuse these\n"))
        self.write("mine", b"\0\0\x08\x01\0\0\0\2\1\0")
        labelled = self.packed("d", "--labels", "mine")[0]
        self.assertNotIn("replaced", labelled)  # who reads no labels has the same data
        self.assertEqual(self.packed("d")[0]["replaced"], labelled["labelled_hash"])

    def test_of_some_classes_keeps_the_numbers_of_all_by_their_names(self):
        self.folder_of({f"{name}.png": png(8, 8, samples(64, i), colour=0) for i, name in enumerate(
            ("all/disc/1", "all/square/2", "all/stripes/3", "held/disc/4", "held/stripes/5"))})
        names = ["disc", "square", "stripes"]
        said, _, labels = self.packed("held", "--classes", ",".join(names))
        self.assertEqual((said["classes"], labels), (names, [0, 2]))
        self.assertEqual(self.packed("held", out="shifted.h5")[2], [0, 1])
        self.assertIn("\nclass 1: square, 0 images\nclass 2: stripes, 1 image\n", self.ok("pack", "held", "out.h5", "--classes", ",".join(names)))
        self.packed("all", out="a.h5")
        self.packed("all", "--classes", ",".join(names), out="b.h5")
        self.assertEqual(self.read("a.h5"), self.read("b.h5"))
        self.assertEqual(self.packed("all", "--classes", "stripes,disc,square")[2], [1, 2, 0])
        os.remove(self.path("out.h5"))
        self.assertEqual(self.refused_pack("all", "--classes", "disc,stripes", code=2),
                         "all/square is none of the classes disc,stripes (add it to --classes, where its place is its number, or move "
                         "it away)")
        self.assertIn("held/disc has no folders with pictures", self.refused_pack("held/disc", "--classes", "a", code=2))
        self.assertIn("--classes is of folders of pictures: images is none", self.refused_pack("images", "--classes", "a", code=2))
        for text, what in (("a,,b", "has an empty name"), ("a,b,a", "has a twice"), (",", "has an empty name"),
                           ("a, b", "has a space beside a comma: the name would be ' b'")):
            self.assertIn(f"'{text}' {what}", self.refused_pack("all", "--classes", text, code=2))
        for other in (("--no-labels",), ("--labels", "images")):
            self.assertIn(f"--classes and {other[0]} contradict", self.refused_pack("all", "--classes", "a", *other, code=2))

    def test_names_the_classes_of_packs_shards_and_runs(self):
        self.folder_of({f"{name}.png": png(8, 8, samples(64, i), colour=0) for i, name in enumerate(
            ("d/disc/1", "d/square/2", "d/the stripes/3"))})
        names = ["disc", "square", "the stripes"]
        said = self.packed("d", "--classes", ",".join([*names, "none"]))[0]
        with h5py.File(self.path("out.h5")) as file:
            self.assertEqual((file.attrs["version"], bytes(file["classes"]).decode().splitlines()), (3, [*names, "none"]))
        self.ok("pack", "d", "shards", "--shard-size", "64K", "--classes", ",".join([*names, "none"]))
        self.assertEqual(self.packed("out.h5", out="again.h5")[0]["classes"], [*names, "none"])
        self.assertEqual(self.packed("shards", out="of-shards.h5")[0]["labelled_hash"], said["labelled_hash"])
        for pack in ("again.h5", "of-shards.h5"):
            self.assertEqual(self.read(pack), self.read("out.h5"), pack)
        self.packed("d", out="three.h5")
        for source, wanted in (("out.h5", [*names, "none"]), ("shards", [*names, "none"]), ("three.h5", names)):
            seen = json.loads(self.ok("inspect", source, "--json"))
            self.assertEqual((seen["classes"], seen["class_names"]), ([1, 1, 1], wanted))
            self.assertIn('class_names  ["disc","square"', self.ok("inspect", source))
        self.write("mine", b"\0\0\x08\x01\0\0\0\3\2\1\0")  # whose labels are not those of the names
        self.assertNotIn("classes", self.packed("out.h5", "--labels", "mine", out="mine.h5")[0])
        self.assertNotIn("classes", self.packed("out.h5", "--no-labels", out="alone.h5")[0])
        train = ("train", "tiny.toml", "--quiet", "--run", "run", "--set", "run.steps=2")
        for data, classes, wanted in (("three.h5", 4, names), ("shards", 4, [*names, "none"]), ("mine.h5", 4, None), ("out.h5", 0, None)):
            with self.subTest(data=data, classes=classes):
                self.ok(*train, "--set", f"data.path={data}", "--set", f"data.classes={classes}")
                self.assertEqual(os.path.exists(self.path("run/classes.txt")), wanted is not None)
                if wanted:
                    self.assertEqual(self.read("run/classes.txt").decode().splitlines(), wanted)
                    self.assertIn("run/classes.txt is text for people", self.refused(2, "inspect", "run/classes.txt"))
                self.ok("verify", "run", "--data", data)
                shutil.rmtree(self.path("run"))

    def test_gives_the_same_run_with_and_without_names(self):
        self.folder_of({f"d/{i % 3}/{i}.png": png(8, 8, samples(64, i), colour=0) for i in range(6)})
        self.packed("d", out="named.h5")
        self.write("labels", b"\0\0\x08\x01\0\0\0\6\0\0\1\1\2\2")
        self.packed("d", "--labels", "labels", out="plain.h5")
        train = ("train", "tiny.toml", "--quiet", "--set", "data.classes=3", "--set", "run.steps=2", "--run")
        self.ok(*train, "a", "--set", "data.path=named.h5")
        self.ok(*train, "b", "--set", "data.path=plain.h5")
        for name in ("ledger.jsonl", "checkpoints/step-00000002.h5"):
            self.assertEqual(self.read("a", name), self.read("b", name), name)
        self.ok(*train, "a", "--set", "data.path=plain.h5", "--set", "run.steps=3")
        self.assertEqual(self.read("a/classes.txt"), b"0\n1\n2\n")  # the run's data have them still
        for i in range(3):
            os.rename(self.path(f"d/{i}"), self.path(f"d/number {i}"))
        self.packed("d", out="renamed.h5")
        for told in ("warning: classes are called otherwise in these data than before: a/classes.txt is written anew\n", ""):
            result = self.run_it(*train, "a", "--set", "data.path=renamed.h5", "--set", "run.steps=3")
            self.assertEqual((result.returncode, result.stderr), (0, told))
        self.assertEqual(self.read("a/classes.txt"), b"number 0\nnumber 1\nnumber 2\n")

    def test_gives_samples_of_a_class_by_its_name(self):
        self.folder_of({f"d/{name}/{i}.png": png(8, 8, samples(64, i), colour=0) for name in ("disc", "2", "star") for i in range(2)})
        self.packed("d")
        self.ok("train", os.path.join(SOURCE, "recipes/golden/dit.toml"), "--run", "run", "--quiet", "--set", "run.steps=1", "--set",
                "samples.count=0", "--set", "data.kind=images", "--set", "data.path=out.h5", "--set", "data.classes=3", "--set", "data.flip=false")
        sample = ("sample", "run", "--quiet", "--count", "2", "--sampler-steps", "2", "--class")
        for source in ("run", "run@1", "run/checkpoints/step-00000001.h5"):
            self.ok("sample", source, *sample[2:], "star", "--out", "by-name.npz")
            self.ok("sample", source, *sample[2:], "2", "--out", "by-number.npz")  # a number comes before a name
            self.assertEqual(self.read("by-name.npz"), self.read("by-number.npz"))
        self.assertEqual(self.refused(2, *sample, "moon"), "--class moon: the run has no class of that name (give its number, or a name: "
                         "'2,disc,star')")
        self.assertEqual(self.refused(2, *sample, "3"), "there is no class 3 among 3 classes (classes count from 0)")
        os.remove(self.path("run/classes.txt"))
        self.assertEqual(self.refused(2, *sample, "star"), "--class star: the run has no class of that name (give its number: the names of "
                         "the classes are not there)")

    def test_whose_name_would_break_a_line_is_refused(self):
        self.folder_of({f"d/{name}/1.png": png(8, 8, samples(64, 1), colour=0) for name in ("a", "b\nc")})
        self.assertEqual(self.refused_pack("d"),
                         "d: the name of the class 1 has a control character (give the class another name)")
        self.packed("d", "--no-labels")
        self.write("mine", b"\0\0\x08\x01\0\0\0\2\0\1")
        self.packed("d", "--labels", "mine")

    def test_judges_no_classifier_whose_classes_have_other_numbers(self):
        names = ("stripes", "disc", "square")  # which is not the order of bytes
        self.folder_of({f"d/{name}/{i}.png": png(8, 8, samples(64, 9 * i + len(name)), colour=0) for name in names for i in range(4)})
        self.folder_of({f"{top}/{name}/1.png": png(8, 8, samples(64, 5 + i), colour=0) for top, some in (
            ("held", names), ("few", names[1:]), ("more", ("a", "b", "c", *names)), ("renamed", ("stripes", "disc", "quadrangle")))
            for i, name in enumerate(some)})
        self.packed("d", "--classes", ",".join(names))
        self.ok("train", os.path.join(SOURCE, "recipes/golden/classifier.toml"), "--run", "judge", "--quiet", "--set", "run.steps=2",
                "--set", "data.kind=images", "--set", "data.path=out.h5", "--set", "data.classes=6")
        self.assertEqual(self.read("judge/classes.txt"), b"stripes\ndisc\nsquare\n")
        for top in ("held", "few", "more"):
            self.packed(top, out=f"{top}.h5")
        self.packed("held", "--classes", ",".join(names), out="alike.h5")
        self.packed("renamed", "--classes", "stripes,disc,quadrangle", out="renamed.h5")
        for source in ("judge", "judge@2", "judge/checkpoints/step-00000002.h5"):
            for held, line in (("held", "the class 0 of these data is disc, which is 1 in the run's"),
                               ("few", "the class 0 of these data is disc, which is 1 in the run's"),
                               ("more", "the class 3 of these data is disc, which is 1 in the run's")):
                self.assertEqual(self.refused(2, "eval", source, "--data", f"{held}.h5", "--quiet"),
                                 f"{line} (pack them with --classes 'stripes,disc,square')")
        missing = "warning: 3 classes of 6 have no sample in these data, the first: 3; if a folder was missing when they were packed, others " \
                  "have its number: pack them with --classes\n"
        result = self.run_it("eval", "judge", "--data", "renamed.h5", "--quiet")
        self.assertEqual((result.returncode, result.stderr), (0, "warning: the class 2 of these data is called quadrangle, and square in the "
                         "run's: see whether they are the same\n" + missing))
        alike = self.run_it("eval", "judge", "--data", "alike.h5", "--quiet", "--json")
        self.assertEqual((alike.returncode, alike.stderr), (0, missing))
        self.ok("eval", "judge", "--data", "out.h5", "--quiet")
        self.write("judge/classes.txt", "disc\n\n")
        self.assertIn("judge/classes.txt: the name of the class 1 is empty", self.refused(3, "eval", "judge", "--data", "alike.h5", "--quiet"))
        os.remove(self.path("judge/classes.txt"))
        self.ok("eval", "judge", "--data", "held.h5", "--quiet")  # nothing is known

    def test_whose_folders_are_parts_of_a_data_set_is_warned_of(self):
        self.folder_of({f"d/{name}": png(8, 8, samples(64, i, 255), colour=0) for i, name in enumerate(
            ("train/cat/1.png", "train/dog/2.png", "test/cat/3.png"))})
        said = "warning: d: its folders become classes, and train and test are rather parts of a data set: give d/train\n"
        self.assertIn(said, self.run_it("pack", "d", "out.h5").stderr)
        os.rename(self.path("d/test"), self.path("d/other"))  # one alone may be a class
        for arguments in (("d/train", "a.h5"), ("d", "b.h5", "--no-labels"), ("d", "c.h5")):
            self.assertEqual(self.run_it("pack", *arguments, "--quiet").stderr, "")

    def test_may_be_reached_by_links_that_lead_in_no_circle(self):
        self.folder_of({"there/1.png": png(1, 1, [1], colour=0)})
        os.makedirs(self.path("d/b"))
        os.symlink(self.path("there"), self.path("d/a"))
        os.symlink(self.path("d"), self.path("d/b/circle"))
        os.symlink(self.path("there/1.png"), self.path("d/b/1.png"))
        self.assertEqual(self.packed("d")[0]["classes"], ["a", "b"])
        self.assertEqual(self.run_it("pack", "d", "out.h5", "--quiet").stderr,
                         "warning: d: 1 link to a folder inside a class is not followed, such as b/circle\n")

    def test_a_class_that_a_link_does_not_reach_is_not_left_out(self):
        self.folder_of({f"d/{name}/1.png": png(1, 1, [1], colour=0) for name in ("a", "c")})
        os.symlink(self.path("unmounted/pictures"), self.path("d/b"))
        result = self.run_it("pack", "d", "out.h5")
        self.assertEqual((result.returncode, result.stderr), (
            3, "lockstep: d/b is a link, and what it names cannot be reached: No such file or directory (make it readable, or remove "
               "the link)\n"))
        self.assertFalse(os.path.exists(self.path("out.h5")))
        os.makedirs(self.path("unmounted/pictures"))
        self.write("unmounted/pictures/1.png", png(1, 1, [1], colour=0))
        self.assertEqual(self.packed("d")[0]["classes"], ["a", "b", "c"])

    def test_whose_classes_are_called_by_other_numbers_is_warned_of(self):
        self.folder_of({f"d/{name}/1.png": png(1, 1, [1], colour=0) for name in ("0", "1", "2", "10")})
        self.assertEqual(self.run_it("pack", "d", "out.h5", "--quiet").stderr,
                         "warning: the class of the folder 10 is 2: folders are numbered from 0 in byte order; --classes gives them "
                         "others\n")
        self.assertEqual(self.run_it("pack", "d", "out.h5", "--quiet", "--classes", "0,1,2,10").stderr, "")
        os.rename(self.path("d/10"), self.path("d/3"))
        self.assertEqual(self.run_it("pack", "d", "out.h5", "--quiet").stderr, "")

    def test_a_folder_that_cannot_be_listed_is_named(self):
        self.folder_of({f"d/{name}/1.png": png(1, 1, [1], colour=0) for name in ("a/deep", "b")})
        os.chmod(self.path("d/a/deep"), 0)
        self.addCleanup(os.chmod, self.path("d/a/deep"), 0o700)
        if os.access(self.path("d/a/deep"), os.R_OK):
            self.skipTest("NOT PROVED: a folder that cannot be listed is named: root lists all folders")
        self.assertEqual(self.refused_pack("d"), "cannot list d/a/deep: Permission denied (make it readable, or move it away)")

    def test_that_is_mixed_or_empty_is_refused(self):
        one = png(1, 1, [1], colour=0)
        self.folder_of({"d/a/1.png": one, "d/1.png": one, "other/read.me": "", "none/.x": ""})
        self.assertEqual(self.refused_pack("d"), "d has pictures and folders with pictures, a is one "
                                                 "(a folder for each class, or pictures alone)")
        self.assertIn("other has no pictures: read.me is none (give a folder of PNG", self.refused_pack("other"))
        self.assertIn("none is empty (", self.refused_pack("none"))
        self.assertIn("`lockstep pack` makes one", self.refused(3, "train", "tiny.toml", "--set", "data.path=d"))
        os.remove(self.path("d/1.png"))
        self.write("d/notes.txt", "")
        result = self.run_it("pack", "d", "out.h5", "--quiet")
        self.assertIn("d: 1 file is no picture by its name and is left out: notes.txt", result.stderr)
        self.assertEqual(result.returncode, 0)

    def test_differing_sizes_and_channels_name_two_files_and_the_option(self):
        self.folder_of({"d/a.png": png(2, 2, samples(12, 1)), "d/b.png": png(2, 2, samples(12, 2)),
                        "d/c.png": png(2, 3, samples(18, 3)), "e/a.png": png(2, 2, samples(12, 1)),
                        "e/b.png": png(2, 2, samples(4, 1), colour=0)})
        self.assertEqual(self.refused_pack("d"), "d/a.png is 2 wide and 2 high, d/c.png is 2 wide and 3 high "
                                                 "(pictures of a data set have one size: give it by --size)")
        self.refused_pack("d", "--skip-broken")  # they are not broken
        self.assertEqual(self.refused_pack("e"), "e/a.png is RGB, e/b.png is grey "
                                                 "(give --channels 1 for grey or --channels 3 for RGB)")
        self.assertEqual(self.packed("d", "--size", "2")[0]["images"], 3)
        _, images, _ = self.packed("e", "--channels", "3")
        self.assertEqual(images[1].ravel().tolist(), [v for v in samples(4, 1) for _ in range(3)])
        _, images, _ = self.packed("e", "--channels", "1")
        rgb = numpy.array(samples(12, 1)).reshape(4, 3)
        self.assertEqual(images[0].ravel().tolist(), ((rgb @ [19595, 38470, 7471] + 32768) // 65536).tolist())

    def test_options_that_are_none(self):
        self.folder_of({"d/a.png": png(1, 1, [1], colour=0)})
        for size in ("0", "8193", "x", "8x", "x8", "8x8x8", "-8", "8.0"):
            self.assertIn(f"'{size}' is no size such as 64 or 64x48", self.refused_pack("d", f"--size={size}", code=2))
        for channels in ("2", "0", "4"):
            self.refused_pack("d", "--channels", channels, code=2)


class Resized(Pack):
    def test_pictures_are_those_of_the_page_in_fractions(self):
        for i, (w, h, size) in enumerate((
                (12, 12, "4"), (13, 9, "4"), (9, 13, "4x3"), (7, 5, "7x5"), (8, 6, "6"), (5, 5, "16"), (3, 7, "8x8"),
                (1, 1, "3x2"), (2, 1, "1"), (10, 3, "4x9"), (17, 16, "16"), (31, 8, "5x7"))):
            channels, colour = ((1, 0), (3, 2))[i % 2]
            values = samples(w * h * channels, i)
            self.folder_of({f"d{i}/a.png": png(w, h, values, colour=colour)})
            _, images, _ = self.packed(f"d{i}", "--size", size)
            width, height = (int(side) for side in (size.split("x") * 2)[:2])
            wanted = resized(numpy.array(values).reshape(h, w, channels), width, height)
            self.assertEqual(images[0].tolist(), wanted.tolist(), (w, h, size))

    def test_a_picture_of_that_size_stays_and_a_wider_one_is_cut(self):
        values = numpy.array(samples(5 * 8, 1), numpy.uint8).reshape(5, 8)
        self.folder_of({"d/a.png": png(8, 5, values.ravel().tolist(), colour=0)})
        self.assertEqual(self.packed("d", "--size", "8x5")[1][0, :, :, 0].tolist(), values.tolist())
        self.assertEqual(self.packed("d", "--size", "5")[1][0, :, :, 0].tolist(), values[:, 1:6].tolist())

    def test_those_that_it_changes_much_are_told_of(self):
        grey = lambda w, h: png(w, h, samples(w * h, 1), colour=0)  # noqa: E731
        self.folder_of({"d/a.png": grey(8, 8), "d/b.png": grey(4, 4), "d/c.png": grey(3, 8), "d/d.png": grey(3, 9),
                        "d/e.png": grey(16, 8), "d/f.png": grey(17, 8), "d/g.png": grey(80, 8)})
        self.assertEqual(self.run_it("pack", "d", "out.h5", "--size", "8", "--quiet").stderr,
                         "warning: 2 pictures are more than doubled by --size, the first: d/c.png\n"
                         "warning: 4 pictures lose more than half by --size, the first: d/c.png\n")
        os.remove(self.path("d/c.png"))
        self.assertIn("1 picture is more than doubled by --size: d/d.png\n", self.run_it("pack", "d", "out.h5", "--size", "8").stderr)

    def test_an_idx_file_is_resized_in_the_same_way(self):
        _, before, _ = self.packed("images")
        _, after, _ = self.packed("images", "--size", "3", "--channels", "3")
        self.assertEqual(after.shape, (16, 3, 3, 3))
        grey = resized(before[5], 3, 3)
        self.assertEqual(after[5].tolist(), numpy.repeat(grey, 3, -1).tolist())


class FormsOfPng(Pack):
    def one(self, content):
        self.folder_of({"d/a.png": content})
        return self.packed("d")[1][0]

    def test_grey_of_few_bits_is_expanded(self):
        for bits in (1, 2, 4):
            most = 2**bits - 1
            values = samples(7 * 3, bits, most)
            self.assertEqual(self.one(png(7, 3, values, colour=0, bits=bits)).ravel().tolist(),
                             [v * 255 // most for v in values])

    def test_16_bits_are_rounded_to_8(self):
        values = [0, 128, 129, 257, 385, 386, 32767, 32768, 65406, 65407, 65535, 12345]
        wanted = [(255 * v + 32767) // 65535 for v in values]
        self.assertEqual(self.one(png(4, 1, values, bits=16)).ravel().tolist(), wanted)
        self.assertEqual(self.one(png(12, 1, values, colour=0, bits=16)).ravel().tolist(), wanted)

    def test_palettes_are_expanded(self):
        colours = samples(12, 5)
        for bits in (2, 8):
            picture = png(2, 2, [3, 0, 1, 2], colour=3, bits=bits, extra=[(b"PLTE", bytes(colours))])
            self.assertEqual(self.one(picture).ravel().tolist(), colours[9:] + colours[:9])

    def test_what_is_transparent_is_laid_over_white(self):
        def over(v, a):
            return (a * v + 255 * (255 - a) + 127) // 255

        values = samples(4 * 6, 3)
        self.assertEqual(self.one(png(3, 2, values, colour=6)).tolist(),
                         [[[over(v, p[3]) for v in p[:3]] for p in row]
                          for row in numpy.array(values).reshape(2, 3, 4).tolist()])
        self.assertEqual(self.one(png(3, 2, values[:12], colour=4)).ravel().tolist(),
                         [over(v, a) for v, a in zip(values[:12:2], values[1:12:2])])
        # Of a palette, of one colour, with 16 bits.
        part = png(2, 1, [0, 1], colour=3, extra=[(b"PLTE", bytes([10, 20, 30, 40, 50, 60])), (b"tRNS", b"\x80")])
        self.assertEqual(self.one(part).ravel().tolist(), [over(v, 128) for v in (10, 20, 30)] + [40, 50, 60])
        self.assertEqual(self.one(png(2, 1, [7, 8], colour=0, extra=[(b"tRNS", b"\0\7")])).ravel().tolist(), [255, 8])
        self.assertEqual(self.one(png(1, 1, [0, 0, 0, 32768], colour=6, bits=16)).ravel().tolist(), [127] * 3)

    def test_profiles_are_not_applied(self):
        plain = self.one(png(2, 2, samples(12, 1)))
        gamma = self.one(png(2, 2, samples(12, 1), extra=[(b"gAMA", b"\0\0\xb1\x8f"), (b"sRGB", b"\0")]))
        self.assertEqual(gamma.tolist(), plain.tolist())


class Jpeg(Pack):
    def one(self, content):
        self.folder_of({"d/a.jpg": content})
        return self.packed("d")[1][0]

    def test_grey_is_read_and_names_end_in_any_case(self):
        blocks = [[[0], [17], [255]], [[128], [129], [3]]]
        wanted = numpy.kron(numpy.array(blocks)[:, :, 0], numpy.ones((8, 8), int))
        self.folder_of({"d/a.jpg": jpeg(blocks), "d/b.JPEG": jpeg(blocks), "d/c.Jpg": png(24, 16, wanted.ravel().tolist(), colour=0)})
        _, images, _ = self.packed("d")
        self.assertEqual(len(images), 3)
        for image in images:
            self.assertEqual(image[:, :, 0].tolist(), wanted.tolist())

    def test_colours_are_those_of_bt_601(self):
        for y, cb, cr in ((128, 128, 128), (200, 100, 140), (60, 200, 90), (255, 0, 255)):
            wanted = [round(min(max(v, 0), 255)) for v in (
                y + 1.402 * (cr - 128), y - 0.344136286 * (cb - 128) - 0.714136286 * (cr - 128), y + 1.772 * (cb - 128))]
            self.assertEqual(self.one(jpeg([[[y, cb, cr]]]))[3, 5].tolist(), wanted)
        self.assertEqual(self.one(jpeg([[[1, 2, 3]]], adobe=0))[0, 0].tolist(), [1, 2, 3])  # RGB as it is

    def test_libjpeg_gives_the_same_without_vector_instructions(self):
        for name in ("baseline", "progressive"):  # noisy, with chroma of half the size
            with open(os.path.join(SOURCE, "tests", "fuzz", "corpus", "jpeg", name), "rb") as file:
                self.folder_of({f"d/{name}.jpg": file.read()})
        self.ok("pack", "d", "usual.h5")
        for switch in ("JSIMD_FORCENONE", "JSIMD_FORCESSE2"):
            self.ok("pack", "d", "other.h5", **{switch: "1"})
            self.assertEqual(self.read("other.h5"), self.read("usual.h5"), switch)

    def test_exif_turns_it(self):
        plain = self.one(jpeg([[[10], [20]], [[30], [40]], [[50], [60]]]))
        turned = self.one(jpeg([[[10], [20]], [[30], [40]], [[50], [60]]], exif=exif(6)))
        self.assertEqual(turned.tolist(), numpy.rot90(plain, -1).tolist())

    def test_what_cannot_be_read_is_named_and_can_be_left_out(self):
        good = jpeg([[[7], [9]]])
        self.folder_of({"c/print.jpg": jpeg([[[1, 2, 3, 4]]], adobe=0), "d/cut.jpg": good[:-3], "d/good.jpg": good,
                        "d/longer.jpg": jpeg([[[5], [6]]]) + b"more"})
        self.assertEqual(self.refused_pack("c"), "c/print.jpg: JPEG: its colours are those of print (CMYK): save it as RGB or "
                         "grey (repair or remove it; --skip-broken leaves out all such files and lists them)")
        self.assertEqual(self.refused_pack("d"), "d/cut.jpg: JPEG: Premature end of JPEG file (repair or remove it; --skip-broken "
                         "leaves out all such files and lists them; 2 files after it are not looked at yet)")
        said, images, _ = self.packed("d", "--skip-broken")
        self.assertEqual([one["file"] for one in said["left_out"]], ["d/cut.jpg"])
        self.assertEqual(images[:, 0, 0, 0].tolist(), [7, 5])


class Cifar(Pack):
    def records(self, count, label_bytes, seed):
        """Labels, and the planes of red, green and blue of each."""
        planes = numpy.array(samples(count * 3072, seed), numpy.uint8).reshape(count, 3, 32, 32)
        labels = numpy.array([[7] * (label_bytes - 1) + [(seed + i) % 10] for i in range(count)], numpy.uint8)
        content = b"".join(labels[i].tobytes() + planes[i].tobytes() for i in range(count))
        return content, planes.transpose(0, 2, 3, 1), labels[:, -1].tolist()

    def test_the_training_batches_of_cifar_10_are_packed_in_order(self):
        made = {i: self.records(3, 1, i) for i in (1, 2, 3)}
        self.folder_of({f"c/data_batch_{i}.bin": made[i][0] for i in (2, 1)})
        self.folder_of({"c/test_batch.bin": made[3][0], "c/batches.meta.txt": "airplane\n"})
        said, images, labels = self.packed("c")
        self.assertEqual((said["images"], said["height"], said["width"], said["channels"]), (6, 32, 32, 3))
        self.assertEqual(images.tolist(), numpy.concatenate([made[1][1], made[2][1]]).tolist())
        self.assertEqual(labels, made[1][2] + made[2][2])
        _, images, labels = self.packed("c/test_batch.bin", "--size", "16", out="test.h5")
        self.assertEqual((images.shape, labels), ((3, 16, 16, 3), made[3][2]))
        self.assertIsNone(self.packed("c", "--no-labels", out="alone.h5")[2])

    def test_the_fine_labels_of_cifar_100_are_read(self):
        content, pictures, labels = self.records(4, 2, 5)
        self.folder_of({"c/train.bin": content, "c/test.bin": b""})
        _, images, packed = self.packed("c")
        self.assertEqual((images.tolist(), packed), (pictures.tolist(), labels))

    def test_damage_is_named(self):
        content, _, _ = self.records(2, 1, 1)
        self.folder_of({"a/data_batch_1.bin": content[:-1], "b/data_batch_1.bin": content[:3073] + b"\x0a" + content[3074:],
                        "c/data_batch_1.bin": b""})
        self.assertEqual(self.refused_pack("a"), "a/data_batch_1.bin: 6145 bytes, not a multiple of 3073 "
                                                 "(expected the binary version of CIFAR-10)")
        self.assertIn("b/data_batch_1.bin: record 1 has the label 10 (", self.refused_pack("b"))
        self.assertIn("c/data_batch_1.bin: 0 bytes", self.refused_pack("c"))

    def test_a_tar_archive_has_to_be_unpacked(self):
        self.folder_of({"c/data_batch_1.bin": self.records(2, 1, 1)[0]})
        for name, mode in (("cifar.tar.gz", "w:gz"), ("cifar.tar", "w")):
            with tarfile.open(self.path(name), mode) as archive:
                archive.add(self.path("c"), "cifar-10-batches-bin")
            self.assertIn(f"{name}: not an IDX file, but a tar archive: unpack it by `tar -xf`, and give `lockstep pack` "
                          "the folder with its files", self.refused_pack(name))


class Arrays(Pack):
    def setUp(self):
        super().setUp()
        self.rgb = numpy.array(samples(5 * 4 * 6 * 3, 1), numpy.uint8).reshape(5, 4, 6, 3)
        self.grey = self.rgb[..., 0]

    def test_an_array_of_each_shape_is_packed(self):
        for name, array, wanted in (("rgb", self.rgb, self.rgb), ("grey", self.grey, self.grey[..., None]),
                                    ("one", self.rgb[..., :1].copy(), self.rgb[..., :1])):
            numpy.save(self.path(f"{name}.npy"), array)
            _, images, labels = self.packed(f"{name}.npy")
            self.assertEqual((images.tolist(), labels), (wanted.tolist(), None))
        with open(self.path("two.npy"), "wb") as file:
            numpy.lib.format.write_array(file, self.rgb, version=(2, 0))
        self.assertEqual(self.packed("two.npy")[1].tolist(), self.rgb.tolist())
        self.assertEqual(self.packed("grey.npy", "--size", "2", "--channels", "3")[1].shape, (5, 2, 2, 3))

    def test_labels_of_every_integer_type_lie_beside_or_in_the_archive(self):
        numpy.save(self.path("a.npy"), self.rgb)
        for kind in ("u1", "i1", "<u2", ">i2", "<i4", ">u4", "<i8", "<u8"):
            labels = numpy.array([0, 3, 1, 120, 2], kind)
            numpy.save(self.path("a-labels.npy"), labels)
            said, _, packed = self.packed("a.npy")
            self.assertEqual((said["labels"], packed), ("a-labels.npy", labels.tolist()), kind)
        for save in (numpy.savez, numpy.savez_compressed):
            for pictures, names in (("images", "labels"), ("x", "y"), ("arr_0", "arr_1"), ("x", "labels")):
                save(self.path("b.npz"), **{pictures: self.rgb, names: labels[:, None], "other": numpy.zeros(3)})
                said, images, packed = self.packed("b.npz", out="b.h5")
                self.assertEqual((images.tolist(), packed), (self.rgb.tolist(), labels.tolist()))
                self.assertEqual(said["labels"], "b.npz")
        self.assertEqual(self.read("b.h5"), self.read("out.h5"))
        self.assertIsNone(self.packed("b.npz", "--no-labels")[2])
        self.write("mine", b"\0\0\x08\x01\0\0\0\5\4\3\2\1\0")
        self.assertEqual(self.packed("b.npz", "--labels", "mine")[2], [4, 3, 2, 1, 0])
        numpy.savez(self.path("b.npz"), images=self.rgb)
        self.assertIsNone(self.packed("b.npz")[2])

    def test_samples_of_a_run_are_packed(self):
        self.ok("train", "tiny.toml", "--quiet", "--run", "run")
        self.ok("sample", "run", "--count", "4", "--out", "made.npz")
        with numpy.load(self.path("made.npz")) as made:
            self.assertEqual(self.packed("made.npz")[1].tolist(), made["arr_0"].tolist())

    def test_what_is_not_read_says_what_to_do(self):
        def line(array, **more):
            numpy.save(self.path("a.npy"), array)
            return self.refused_pack("a.npy", **more)
        self.assertEqual(line(self.rgb.transpose(0, 3, 1, 2).copy()),
                         "a.npy: [5, 3, 4, 6] has its channels before rows and columns (save numpy.transpose(…, (0, 2, 3, 1)) of it)")
        self.assertEqual(line(numpy.zeros((9, 8, 3), numpy.uint8)),
                         "a.npy: [9, 8, 3] is one picture in colours, or many grey ones that are 3 wide (save x[None] of it, all of "
                         "[1, h, w, 3], or x[..., None], all of [n, h, w, 1])")
        self.assertIn("its values are of type <i4 (expected uint8", line(self.rgb.astype("i4")))
        self.assertIn("[5, 4] is no shape of pictures (expected uint8", line(self.grey[:, :, 0].copy()))
        self.assertIn("in Fortran's order (save numpy.ascontiguousarray", line(numpy.asfortranarray(self.rgb)))
        self.assertIn("its elements are records", line(numpy.zeros(3, [("a", "u1")])))
        self.assertIn("its type is <U1", line(numpy.array(["a"])))
        self.assertIn("only 1 or 3 channels", line(numpy.zeros((2, 4, 4, 4), numpy.uint8)))
        self.assertIn("a size is zero", line(numpy.zeros((0, 4, 4), numpy.uint8)))
        numpy.savez(self.path("b.npz"), other=self.rgb)
        self.assertIn("b.npz: no array of it is called images, x or arr_0 (save the pictures by numpy.savez(…, images=…, labels=…); unpack a zip", self.refused_pack("b.npz"))
        for labels, what in ((numpy.zeros(4, "u1"), "4 labels for 5 samples"), (numpy.array([0, 1, -1, 0, 0]), "the label of sample 2 is not from 0 to 65535"),
                             (numpy.full(5, 65536), "the label of sample 0 is not"), (numpy.zeros(5), "labels of type <f8 and shape [5] (expected whole")):
            numpy.savez(self.path("b.npz"), x=self.rgb, y=labels)
            self.assertIn("b.npz: " + what, self.refused_pack("b.npz"))

    def test_damage_in_an_archive_is_found(self):
        numpy.savez_compressed(self.path("b.npz"), images=self.rgb)
        whole = self.read("b.npz")
        at = whole.index(b"PK\1\2") - 20  # in what is packed
        for broken in (whole[:-1], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:],
                       whole.replace(b"PK\1\2", b"PK\1\3"), whole[:4]):
            self.write("b.npz", broken)
            self.assertTrue(self.refused_pack("b.npz").startswith("b.npz: "))


class Broken(Pack):
    def setUp(self):
        super().setUp()
        good = self.good = png(4, 4, samples(48, 1))
        wrong = bytearray(good)
        wrong[-6] ^= 1  # IEND's CRC
        pixels = bytearray(good)
        pixels[50] ^= 1
        header = chunk(b"IHDR", b"\0\1\x86\xa0\0\1\x86\xa0\x08\2\0\0\0")
        self.broken = {"cut.png": good[:60], "half.png": good[:20], "crc.png": bytes(wrong), "pixels.png": bytes(pixels),
                       "empty.png": b"", "text.png": b"<html>", "flat.png": png(0, 4, []),
                       "huge.png": b"\x89PNG\r\n\x1a\n" + header + good[33:],
                       "bomb.png": b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", b"\0\0\xff\xff\0\0\xff\xff\x01\3\0\0\0") + good[33:],
                       "large.png": png(1, 1, [1], colour=0)[:8] + chunk(
                           b"IHDR", b"\0\0\x80\0\0\0\x80\0\x01\0\0\0\0") + chunk(b"IDAT", zlib.compress(bytes(4097 * 2**15)))
                       + chunk(b"IEND", b"")}

    def test_what_is_not_there_is_named_with_what_may_be_meant(self):
        os.mkdir(self.path("pets"))
        said = self.refused(3, "pack", "pats", "out.h5")
        self.assertIn("there is no pats (did you mean 'pets'? give the path of an IDX file, of a folder of PNG or JPEG files", said)

    def test_each_is_refused_by_name_with_what_to_do(self):
        lines = {}
        for name, content in self.broken.items():
            self.folder_of({f"{name}.d/{name}": content})
            line = lines[name] = self.refused_pack(f"{name}.d")
            self.assertTrue(line.startswith(f"{name}.d/{name}: "), line)
            self.assertTrue(line.endswith(" (repair or remove it; --skip-broken leaves out all such files and lists them)"), line)
        self.assertIn("the file is empty", lines["empty.png"])
        self.assertIn("not those of PNG or JPEG", lines["text.png"])
        self.assertIn("more than 256 MiB of samples", lines["large.png"])

    def test_files_are_left_out_on_demand_listed_and_counted(self):
        self.folder_of({f"d/{name}": content for name, content in self.broken.items()})
        self.folder_of({"d/good.png": self.good})
        os.mkfifo(self.path("d/fifo.png"))
        os.symlink("nowhere", self.path("d/dangling.png"))
        result = self.run_it("pack", "d", "out.h5", "--skip-broken")
        self.assertEqual(result.returncode, 0, result.stderr)
        names = sorted([*self.broken, "fifo.png", "dangling.png"])
        lines = [line for line in result.stderr.splitlines() if "left out" in line]
        self.assertEqual(len(lines), len(names), result.stderr)
        for name, line in zip(names, lines):
            self.assertIn(f"d/{name}", line)
        self.assertTrue(result.stdout.endswith(f"\n{len(names)} broken pictures left out\n"), result.stdout)
        said, images, _ = self.packed("d", "--skip-broken", "--quiet")
        self.assertEqual([one["file"] for one in said["left_out"]], [f"d/{name}" for name in names])
        self.assertEqual(images.ravel().tolist(), samples(48, 1))

    def test_a_class_keeps_its_number_if_none_of_its_pictures_can_be_read(self):
        self.folder_of({"d/a/1.png": b"", "d/b/1.png": self.good})
        said, _, labels = self.packed("d", "--skip-broken")
        self.assertEqual((said["classes"], labels), (["a", "b"], [1]))
        shutil.rmtree(self.path("d/b"))
        self.assertIn("d: none of 1 picture can be read: d/a/1.png: the file is empty",
                      self.refused_pack("d", "--skip-broken"))

    @unittest.skipIf(os.getuid() == 0, "NOT PROVED: root reads every file")
    def test_what_may_not_be_read(self):
        self.folder_of({"d/a.png": self.good})
        os.chmod(self.path("d/a.png"), 0)
        self.assertIn("d/a.png", self.refused_pack("d"))

    @not_beside_sanitizers
    def test_memory_is_that_of_one_picture_and_the_pack(self):
        """A header that promises much takes nothing."""
        self.folder_of({"d/huge.png": self.broken["bomb.png"]})
        line = subprocess.run(["bash", "-c", f'ulimit -v 2000000; "{PROGRAM}" pack d out.h5'], cwd=self.folder,
                              capture_output=True, text=True)
        self.assertEqual(line.returncode, 3, line.stderr)


if __name__ == "__main__":
    main()
