"""Arrays of floats, fields and signals: packed, trained, sampled as they are."""

import json
import os

import h5py
import numpy

from forger import npz, npz_members
from support import Cli, main

N, SIDE, LENGTH = 24, 16, 20
FIELDS = """\
[run]
name = "fields"
steps = 10
validate_every = 5
[batch]
lanes = 4
samples_per_lane = 2
[data]
kind = "fields"
path = "fields.h5"
flip = true
crop = 2
holdout = 4
[objective]
kind = "flow"
sampler_steps = 2
[model]
channels = [8, 8]
blocks = 1
attention_levels = [1]
heads = 2
groups = 4
embedding = 8
[model.optimizer]
lr = 1e-3
ema_decay = 0.9
[samples]
count = 3
every = 5
[checkpoint]
every = 5
keep_last = 0
"""
SIGNALS = """\
[run]
name = "signals"
steps = 10
[batch]
lanes = 3
samples_per_lane = 2
[data]
kind = "signals"
path = "signals.h5"
classes = 3
[objective]
kind = "gan"
[generator]
kind = "mlp-generator"
hidden = 16
[discriminator]
kind = "mlp-discriminator"
hidden = 16
[samples]
count = 5
"""


class Arrays(Cli):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(1)
        self.fields = rng.standard_normal((N, SIDE, SIDE))
        self.signals = rng.standard_normal((N, LENGTH)).astype(numpy.float32)
        self.labels = numpy.arange(N) % 3
        self.write("fields.toml", FIELDS)
        self.write("signals.toml", SIGNALS)

    def packed(self, array, *more, name="a.npy", out="a.h5"):
        """What `pack` says, and what the pack holds."""
        numpy.save(self.path(name), array)
        said = json.loads(self.ok("pack", name, out, "--quiet", "--json", *more))
        with h5py.File(self.path(out)) as file:
            key = "signals" if array.ndim == 2 else "fields"
            self.assertEqual(file[key].dtype, numpy.float32)
            self.assertEqual(file.attrs["content_hash"].decode(), said["hash"])
            return said, file[key][...]

    def pack_fields(self):
        return self.packed(self.fields, name="fields.npy", out="fields.h5")

    def pack_signals(self):
        numpy.savez(self.path("signals.npz"), x=self.signals, labels=self.labels)
        return json.loads(self.ok("pack", "signals.npz", "signals.h5", "--quiet", "--json"))


class Packs(Arrays):
    def test_hold_the_values_rounded_once(self):
        said, values = self.pack_fields()
        self.assertEqual(values.tobytes(), self.fields.astype(numpy.float32)[..., None].tobytes())
        self.assertEqual([said[key] for key in ("fields", "height", "width", "channels")], [N, SIDE, SIDE, 1])
        plain = self.read("fields.h5")
        for kind in ("<f4", ">f4", ">f8"):
            self.packed(self.fields.astype("f4").astype(kind))
            self.assertEqual(self.read("a.h5"), plain, kind)
        numpy.savez_compressed(self.path("a.npz"), arr_0=self.fields)
        self.ok("pack", "a.npz", "b.h5", "--quiet")
        self.assertEqual(self.read("b.h5"), plain)
        # To nearest, ties to even; subnormal numbers and the sign of zero stay.
        exact = numpy.array([[1 + 2 ** -24, 1 + 3 * 2 ** -24, -0.0, 2 ** -149, 1.5 * 2 ** -149, 2 ** -150 * 1.001]])
        self.assertEqual(self.packed(exact)[1].tobytes(),
                         numpy.array([[1, 1 + 2 ** -22, -0.0, 2 ** -149, 2 ** -148, 2 ** -149]], "f4").tobytes())

    def test_say_shape_labels_and_spread(self):
        several = numpy.stack([self.fields[:, :8], 3 * self.fields[:, :8] + 7], -1)
        said, values = self.packed(several)
        self.assertEqual((values.shape, said["height"], said["width"], said["channels"]), ((N, 8, SIDE, 2), 8, SIDE, 2))
        for found, channel in zip(said["channel_values"], numpy.moveaxis(values.astype(float), -1, 0), strict=True):
            self.assertEqual((found["min"], found["max"]), (channel.min(), channel.max()))
            self.assertAlmostEqual(found["mean"], channel.mean(), 9)
            self.assertAlmostEqual(found["deviation"], channel.std(), 9)
        self.assertAlmostEqual(said["values"]["deviation"], values.astype(float).std(), 9)
        result = self.run_it("pack", "a.npy", "b.h5")
        self.assertIn(f"b.h5: {N} fields of {SIDE}x8, 2 channels, content hash ", result.stdout)
        self.assertIn("channel 1: mean 6.968, deviation 3.003, from -2.745 to 18.8", result.stdout)
        self.assertIn("warning: channel 1: mean 6.968, deviation 3.003: ", result.stderr)
        self.assertIn("pack (x - mean) / deviation", result.stderr)
        self.assertNotIn("warning", self.run_it("pack", "a.npy", "c.h5", "--labels", "images", "--no-labels").stdout)
        said = self.pack_signals()
        self.assertEqual((said["signals"], said["length"], said["labels"]), (N, LENGTH, "signals.npz"))
        result = self.run_it("pack", "signals.npz", "again.h5")
        self.assertEqual(result.stderr, "")
        self.assertIn(f"{N} signals of {LENGTH} values", result.stdout)
        self.assertIn("values: mean ", result.stdout)
        seen = json.loads(self.ok("inspect", "signals.h5", "--json"))
        self.assertEqual((seen["signals"], seen["length"], seen["hash"], seen["classes"]), (N, LENGTH, said["hash"], [8, 8, 8]))

    def test_that_may_be_pictures_are_said_so(self):
        def said(array, *more):
            numpy.save(self.path("a.npy"), array)
            return self.run_it("pack", "a.npy", "a.h5", *more).stderr
        grey = numpy.random.default_rng(1).random((N, SIDE, SIDE))
        for array in (grey, numpy.stack([grey] * 3, -1)):
            self.assertIn("if these are pictures, pack them as such, saved as numpy.uint8(numpy.round(255 * x))", said(array))
        self.assertIn("all values lie within 0 and 255: if these are pictures, pack them as such, saved as numpy.uint8(numpy.round(x))",
                      said(255 * grey))
        for array in (grey - 0.1, grey * 1.1, 300 * grey, 90 * grey, numpy.stack([grey] * 2, -1), self.signals % 1):
            self.assertNotIn("pictures", said(array))
        self.assertIn("warning: all values lie within 0 and 1: if these are pictures", said(grey, "--quiet"))

    def test_in_shards_hold_the_same(self):
        big = numpy.random.default_rng(2).standard_normal((700, 10, 10, 3)).astype("f4")  # 13 slices, not whole samples
        numpy.save(self.path("big.npy"), big)
        numpy.save(self.path("big-labels.npy"), numpy.arange(700) % 5)
        one = json.loads(self.ok("pack", "big.npy", "one.h5", "--quiet", "--json"))
        said = json.loads(self.ok("pack", "big.npy", "shards", "--quiet", "--json", "--shard-size", "200K"))
        self.assertEqual({**said, "out": 0}, {**one, "out": 0, "shards": said["shards"]})
        names = sorted(name for name in os.listdir(self.path("shards")) if name.startswith("values-"))
        self.assertEqual(b"".join(self.read("shards", name) for name in names), big.tobytes())
        self.ok("pack", "one.h5", "again", "--quiet", "--shard-size", "200K")
        self.assertEqual(self.contents("again"), self.contents("shards"))
        self.ok("pack", "shards", "back.h5", "--quiet")
        self.assertEqual(self.read("back.h5"), self.read("one.h5"))
        self.assertIn("700 fields", self.ok("verify", "shards"))
        self.assertEqual(json.loads(self.ok("inspect", "shards", "--json"))["fields"], 700)

    def test_of_what_is_no_array_of_floats_are_refused(self):
        def line(array, *more):
            numpy.save(self.path("a.npy"), array, allow_pickle=True)
            return self.refused(3, "pack", "a.npy", "a.h5", *more)
        for value, word in ((numpy.nan, "nan"), (-numpy.inf, "-inf")):
            broken = self.fields.astype("f4")
            broken[5, 2, 3] = value
            self.assertIn(f"a.npy: sample 5 has {word} at [2, 3] (save finite values", line(broken))
        self.signals[7, 19] = numpy.nan
        self.assertIn("sample 7 has nan at [19]", line(self.signals.astype(">f8")))
        large = self.fields.copy()
        large[0, 0, 1] = 3.5e38
        self.assertIn("sample 0 has 3.5e+38 at [0, 1]", line(large))
        self.assertIn("its values are of type <f2 (save numpy.float32", line(self.fields.astype("f2")))
        self.assertIn("its type is <c8", line(self.fields.astype("c8")))
        self.assertIn("its values are of type <i2 (expected uint8 of", line(self.fields.astype("i2")))
        self.assertIn("in Fortran's order", line(numpy.asfortranarray(self.fields)))
        self.assertIn("its elements are records", line(numpy.zeros(3, [("a", "f4")])))
        self.assertIn("its type is |O (save an array of uint8 (pictures) or float32", line(numpy.array([[None]])))
        for shape in ((5,), (5, 2, 2, 2, 2), ()):
            self.assertIn("is no shape of fields or signals (expected uint8 of", line(numpy.zeros(shape)))
        self.assertIn("[5, 2, 8, 9] has its channels before rows and columns", line(numpy.zeros((5, 2, 8, 9))))
        self.assertIn("a size is zero", line(numpy.zeros((0, 5))))
        self.assertIn("more than 1024 channels", line(numpy.zeros((1, 1, 1, 1025))))
        numpy.savez(self.path("b.npz"), x=broken)
        self.assertIn("b.npz: sample 5 has -inf", self.refused(3, "pack", "b.npz", "b.h5"))
        numpy.save(self.path("a.npy"), self.fields)
        for form in (("--size", "8"), ("--channels", "3")):
            self.assertIn("--size and --channels are of pictures, and these are fields",
                          self.refused(2, "pack", "a.npy", "a.h5", *form))
        self.assertFalse(os.path.exists(self.path("a.h5")))

    def test_of_labels_longer_than_they_say_are_refused_unread(self):
        numpy.save(self.path("f.npy"), self.fields)
        numpy.save(self.path("f-labels.npy"), numpy.arange(N) % 3)
        os.truncate(self.path("f-labels.npy"), 64 << 30)  # more than this machine has
        self.assertIn("f-labels.npy: ", self.refused(3, "pack", "f.npy", "f.h5"))

    def test_that_were_changed_are_refused(self):
        self.pack_fields()
        whole = self.read("fields.h5")
        at = whole.index(numpy.float32(self.fields[3, 4, 5]).tobytes())
        self.write("fields.h5", whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        self.assertIn("the fields have the content hash", self.refused(3, "inspect", "fields.h5"))
        self.write("fields.h5", whole[:-1])
        self.assertIn("truncated or damaged", self.refused(3, "inspect", "fields.h5"))


class Runs(Arrays):
    def train(self, recipe, run, *more):
        self.ok("train", recipe, "--threads", "1", "--quiet", "--run", run, *more)
        return {name: found for name, found in self.evidence(run).items() if name != "recipe.toml"}

    def arrays(self, *names):
        with numpy.load(self.path(*names)) as file:
            return {name: file[name] for name in file.files}

    def test_of_fields_are_the_same_on_any_ranks_and_in_portions(self):
        self.pack_fields()
        self.ok("pack", "fields.npy", "shards", "--quiet", "--shard-size", "64K")
        expected = self.train("fields.toml", "by1")
        self.assertIn("samples/step-00000010.npz", expected)
        self.assertIn("samples/step-00000010.png", expected)
        self.assertEqual(self.train("fields.toml", "by3", "--ranks", "3"), expected)
        self.assertEqual(self.train("fields.toml", "portions", "--lanes-at-once", "1"), expected)
        self.assertEqual(self.train("fields.toml", "sharded", "--set", "data.path=shards"), expected)
        for command in (("verify", "by3"), ("replay", "by1", "--ranks", "2"), ("replay", "sharded"), ("report", "by1")):
            self.ok(*command)
        self.assertIn("black is -3 and white 3", self.read("by1", "report.html").decode())
        self.assertIn(b'"validation":', self.read("by1", "ledger.jsonl"))
        # Samples: values as they are; a picture maps -3 to 3.
        self.ok("sample", "by1", "--count", "3", "--out", "a.npz")
        made = self.arrays("a.npz")["arr_0"]
        self.assertEqual((made.dtype, made.shape), (numpy.float32, (3, SIDE, SIDE, 1)))
        self.assertEqual(made.tobytes(), self.arrays("by1", "samples", "step-00000010.npz")["arr_0"].tobytes())
        self.assertEqual(self.read("a.npz"), self.read("by1", "samples", "step-00000010.npz"))
        self.assertGreater(abs(made).max(), 1)  # nothing is clipped
        self.ok("sample", "by1", "--count", "3", "--columns", "8", "--out", "a.png")
        self.assertEqual(self.read("a.png"), self.read("by1", "samples", "step-00000010.png"))
        self.ok("sample", "by1", "--count", "1", "--out", "folder/")
        self.ok("export", "by1", "exported/")
        self.ok("sample", "by1", "--count", "2", "--out", "folder.npz")
        # A changed archive is found.
        path = self.path("by1", "samples", "step-00000010.npz")
        whole = self.read(path)
        self.write(path, whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
        self.assertNotEqual(self.run_it("verify", "by1").returncode, 0)
        (arr, values), (text, said) = members = npz_members(whole)
        self.assertEqual((arr, text, npz(members)), ("arr_0.npy", "provenance.txt", whole))
        cut = said.index(b"\n") + 1
        for forged in ([(text, said)], [*members, ("evil.npy", values)], [*members, ("../evil.sh", b"")], members[::-1],
                       [(arr, values), ("a.txt", said[:cut]), (text, said[cut:])], [(arr, values.replace(b"<f4", b"<i4")), (text, said)]):
            self.write(path, npz(forged))
            self.assertRegex(self.run_it("verify", "by1").stdout, r"step-00000010\.npz: (its members are not those|arr_0\.npy: )")
        two = npz_members(self.read("folder.npz"))[0][1]
        self.write(path, npz([(arr, two), (text, said)]))
        self.assertIn("step-00000010.npz: its samples are not those that it names", self.run_it("verify", "by1").stdout)
        self.write(path, self.read("by1", "samples", "step-00000005.npz"))
        self.assertIn("its name does not match its step", self.run_it("verify", "by1").stdout)

    def test_of_ddpm_do_not_clip(self):
        self.packed(3 * self.fields, name="fields.npy", out="fields.h5")
        self.train("fields.toml", "run", "--set", "objective.kind=ddpm", "--set", "objective.timesteps=10", "--set", "run.validate_every=0")
        self.assertGreater(abs(self.arrays("run", "samples", "step-00000010.npz")["arr_0"]).max(), 1.5)
        self.ok("export", "run", "exported/")
        self.assertIs(json.loads(self.read("exported", "scheduler", "scheduler_config.json"))["clip_sample"], False)

    def test_of_two_channels_make_no_picture(self):
        self.packed(numpy.stack([self.fields, -self.fields], -1), name="fields.npy", out="fields.h5")
        found = self.train("fields.toml", "run")
        self.assertIn("samples/step-00000010.npz", found)
        self.assertNotIn("samples/step-00000010.png", found)
        self.ok("verify", "run")
        self.assertIn("have 2 channels: only 1 or 3 make a picture (--out with a name in .npz)",
                      self.refused(2, "sample", "run", "--out", "a.png"))
        self.ok("sample", "run", "--count", "2", "--out", "a.npz")

    def test_of_signals_with_labels(self):
        self.pack_signals()
        expected = self.train("signals.toml", "run")
        self.assertEqual(self.train("signals.toml", "by3", "--ranks", "3"), expected)
        self.assertEqual(sorted(os.listdir(self.path("run", "samples"))), ["step-00000010.npz"])
        made = self.arrays("run", "samples", "step-00000010.npz")
        self.assertEqual((made["arr_0"].shape, made["arr_1"].tolist()), ((5, LENGTH), [0, 1, 2, 0, 1]))
        for command in ("verify", "replay", "report", "inspect"):
            self.ok(command, "run")
        for out in ("a.png", "folder/"):
            self.assertIn("samples of this run are signals: they make no picture (--out with a name in .npz)",
                          self.refused(2, "sample", "run", "--out", out))
        self.assertIn("flip and crop are for pictures and fields, these data are signals",
                      self.refused(2, "train", "signals.toml", "--run", "no", "--set", "data.flip=true"))
        self.assertIn("--features", self.refused(2, "eval", "run"))

    def test_of_other_data_than_the_recipe_says_are_refused(self):
        self.pack_fields()
        self.pack_signals()
        for recipe, data, line in (
                ("fields.toml", "signals.h5", 'signals.h5 holds signals, and data.kind is fields (set data.kind to "signals"'),
                ("tiny.toml", "fields.h5", "fields.h5 holds fields, and data.kind is images"),
                ("fields.toml", "images", "images holds images, and data.kind is fields")):
            self.assertIn(line, self.refused(3, "train", recipe, "--run", "no", "--set", f"data.path={data}"))
        self.write("none.toml", FIELDS.replace('path = "fields.h5"\n', ""))
        self.assertIn('kind = "fields" needs one', self.refused(2, "train", "none.toml", "--run", "no"))
        self.assertFalse(os.path.exists(self.path("no")))

    def test_are_evaluated_by_a_classifier_of_fields(self):
        numpy.savez(self.path("fields.npz"), x=self.fields, labels=self.labels)
        self.ok("pack", "fields.npz", "fields.h5", "--quiet")
        self.train("fields.toml", "run")
        self.write("judge.toml", FIELDS.split("[objective]")[0].replace("holdout = 4\n", "classes = 3\n").replace("validate_every = 5\n", "")
                   + '[objective]\nkind = "classifier"\n[model]\nkind = "cnn"\nchannels = [8]\ngroups = 4\nfeatures = 4\n')
        self.train("judge.toml", "judge")
        self.assertIn("accuracy", self.ok("eval", "judge"))
        self.assertIn("distance", self.ok("eval", "run", "--features", "judge", "--samples", "20"))


if __name__ == "__main__":
    main()
