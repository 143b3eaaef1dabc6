"""lockstep eval: the same bits by any threads and instructions; what does not fit is refused in one line.

Values are recomputed from the pages by tests/reference/training/test_evaluation.py.
"""

import json
import os
import shutil

from support import SOURCE, Cli, main

EVALUATED = ("--samples", "64", "--quiet", "--json")


def golden(name):
    return os.path.join(SOURCE, f"recipes/golden/{name}.toml")


class Eval(Cli):
    def train(self, recipe, run, *changes):
        sets = [word for change in ("run.steps=5", "samples.count=0", *changes) for word in ("--set", change)]
        self.once(run, "train", golden(recipe), "--run", run, "--quiet", *sets)

    def both(self):
        """A classifier and what makes samples, of the same pictures."""
        self.train("classifier", "judge", "data.shapes.side=12")
        self.train("dit", "made")

    def test_values_are_the_same_by_any_threads_and_instructions(self):
        self.both()
        asked = ("eval", "made", "--features", "judge", *EVALUATED)
        said = self.ok(*asked)
        self.assertEqual(self.ok(*asked, "--threads", "1"), said)
        self.assertEqual(self.ok(*asked, "--threads", "3"), said)
        for isa in ("scalar", "avx2", "avx512"):
            result = self.run_it(*asked, LOCKSTEP_ISA=isa)
            if result.returncode != 4:  # this CPU lacks it
                self.assertEqual(result.stdout, said, isa)
        checkpoint = "checkpoints/step-00000005.h5"
        self.assertEqual(self.ok("eval", f"made/{checkpoint}", "--features", f"judge/{checkpoint}", *EVALUATED), said)
        self.assertNotEqual(self.ok(*asked, "--seed", "1"), said)

    def test_json_has_its_documented_keys(self):
        self.both()
        said = json.loads(self.ok("eval", "made", "--features", "judge", *EVALUATED))
        self.assertEqual(list(said), ["step", "recipe", "state", "data", "samples", "seed", "portable", "features",
                                      "frechet_distance", "kernel_distance", "precision", "recall", "density", "coverage"])
        self.assertEqual(list(said["features"]), ["network", "hash", "width", "step"])
        self.assertEqual((said["samples"], said["seed"], said["portable"]), (64, 0, True))
        said = json.loads(self.ok("eval", "judge", *EVALUATED))
        self.assertEqual(list(said)[-2:], ["right", "accuracy"])
        self.assertEqual(said["accuracy"], said["right"] / 64)

    def test_every_line_names_features_samples_and_seed(self):
        self.both()
        told = self.ok("eval", "made", "--features", "judge", "--samples", "64", "--seed", "3", "--quiet").splitlines()
        self.assertEqual(len(told), 7)
        for line in told[1:]:
            self.assertRegex(line, r"\(features: lockstep classifier [0-9a-f]{12}, 64 samples, seed 3\)$")

    def test_a_pinned_classifier(self):
        self.both()
        asked = ("eval", "made", "--features", "judge", *EVALUATED)
        digest = json.loads(self.ok(*asked))["features"]["hash"]
        for given in (digest, digest[:8]):
            self.ok(*asked, "--features-hash", given)
        other = "0" * 8 if digest[:8] != "0" * 8 else "1" * 8
        self.assertIn(f"judge: its hash is {digest}, not {other}", self.refused(2, *asked[:4], "--features-hash", other))
        self.assertIn("give 8 to 64 digits of a hash", self.refused(2, *asked[:4], "--features-hash", "judge"))

    def test_what_does_not_fit_is_refused(self):
        self.both()
        self.train("classifier", "other")
        self.ok("train", golden("toy-gan"), "--run", "points", "--quiet", "--set", "run.steps=2")
        for code, line, *arguments in (
                (2, "--features is missing: distances need a classifier's features", "made"),
                (2, "made is no classifier: objective.kind is flow", "made", "--features", "made"),
                (2, "--features is for what makes samples: judge is a classifier", "judge", "--features", "judge"),
                (2, "other classifies pictures of 11 x 11 x 3 values, and samples have 12 x 12 x 3",
                 "made", "--features", "other"),
                (2, "judge classifies pictures of 12 x 12 x 3 values, and samples have 2", "points", "--features", "judge"),
                (2, "--samples 10: the covariance of 10 features needs more (ask for at least 11,",
                 "made", "--features", "judge", "--samples", "10"),
                (2, "--samples 70000: the data have 65536 samples", "made", "--features", "judge", "--samples", "70000"),
                (2, "--samples 70000: the data have 65536 samples", "judge", "--samples", "70000")):
            self.assertIn(line, self.refused(code, "eval", *arguments))
        self.ok("pack", "images", "images.h5")
        self.assertIn("judge classifies pictures of 12 x 12 x 3 values, and samples have 8 x 8 x 1", self.refused(2, "eval", "images.h5", "--features", "judge"))
        self.assertIn("judge makes no samples: objective.kind is classifier", self.refused(2, "sample", "judge"))

    def test_data_of_another_hash_are_taken_only_on_purpose(self):
        labels = bytes(i % 4 for i in range(16))
        self.write("labels", b"\0\0\x08\x01\0\0\0\x10" + labels)
        pictures = self.read("images")
        self.write("more", pictures[:-1] + b"\0")
        self.ok("train", golden("classifier"), "--run", "judge", "--quiet", "--set", "run.steps=2",
                "--set", "data.kind=images", "--set", "data.path=images", "--set", "data.labels=labels",
                "--set", "data.classes=4")
        asked = ("eval", "judge", "--quiet", "--json")
        first = json.loads(self.ok(*asked))
        self.assertEqual(first["samples"], 16)
        self.assertNotEqual(json.loads(self.ok(*asked, "--data", "more"))["data"], first["data"])
        self.write("images", pictures[:-1] + b"\0")
        self.assertIn("the data are not those of the run", self.refused(3, *asked[:3]))

    def test_data_that_moved_and_classes_of_other_proportions_are_told(self):
        for name, labels in (("even", [i % 2 for i in range(16)]), ("odd", [int(i > 12) for i in range(16)])):
            self.write(name, b"\0\0\x08\x01\0\0\0\x10" + bytes(labels))
            if name == "even":
                self.train("classifier", "judge", "data.kind=images", "data.path=images", "data.labels=even", "data.classes=2")
            self.ok("train", "tiny.toml", "--run", f"of-{name}", "--quiet", "--set", f"data.labels={name}", "--set",
                    "data.classes=2")
            result = self.run_it("eval", f"of-{name}", "--features", "judge", "--quiet", *EVALUATED)
            self.assertEqual("makes as many samples of each class, and the data have 3 to 13 of one" in result.stderr,
                             name == "odd", result.stderr)
        os.remove(self.path("images"))
        self.assertIn("say where with --data PATH", self.refused(3, "eval", "of-even", "--features", "judge", *EVALUATED))

    def test_what_training_keeps_back_has_an_accuracy_of_its_own(self):
        self.write("labels", b"\0\0\x08\x01\0\0\0\x10" + bytes(i % 4 for i in range(16)))
        self.train("classifier", "judge", "data.kind=images", "data.path=images", "data.labels=labels", "data.classes=4",
                   "data.holdout=6")
        said = json.loads(self.ok("eval", "judge", "--quiet", "--json"))
        kept = said["held_out"]
        self.assertEqual((kept["samples"], kept["accuracy"]), (6, kept["right"] / 6))
        self.assertIn(f"of those held out {kept['right'] / 6}: {kept['right']} of 6 samples\n", self.ok("eval", "judge", "--quiet"))
        self.assertLessEqual(kept["right"], said["right"])  # they are among all
        shutil.copy(self.path("images"), self.path("moved"))
        self.assertEqual(json.loads(self.ok("eval", "judge", "--quiet", "--json", "--data", "moved")), said)
        pictures = self.read("images")
        self.write("others", pictures[:-1] + bytes([pictures[-1] ^ 1]))
        self.assertNotIn("held_out", json.loads(self.ok("eval", "judge", "--quiet", "--json", "--data", "others")))

    def test_what_training_keeps_back_is_no_part_of_other_data(self):
        self.write("labels", b"\0\0\x08\x01\0\0\0\x10" + bytes(i % 4 for i in range(16)))
        pictures = self.read("images")
        self.write("few", pictures[:7] + b"\x03" + pictures[8:16] + pictures[16:16 + 3 * (len(pictures) - 16) // 16])
        self.write("few-labels", b"\0\0\x08\x01\0\0\0\3\0\1\2")
        self.ok("pack", "images", "images.h5", "--labels", "labels")
        self.ok("pack", "few", "few.h5", "--labels", "few-labels")
        self.ok("train", golden("classifier"), "--run", "judge", "--quiet", "--set", "run.steps=2", "--set", "data.kind=images",
                "--set", "data.path=images.h5", "--set", "data.classes=4", "--set", "data.holdout=4")
        result = self.run_it("eval", "judge", "--quiet", "--json", "--data", "few.h5")
        self.assertEqual((result.returncode, json.loads(result.stdout)["samples"]), (0, 3))
        self.assertEqual(result.stderr, "warning: 1 class of 4 has no sample in these data, the first: 3; if a folder was missing when "
                         "they were packed, others have its number: pack them with --classes\n")
        shutil.copy(self.path("images.h5"), self.path("moved.h5"))
        for more in ((), ("--data", "moved.h5")):
            self.assertEqual(self.run_it("eval", "judge", "--quiet", *more).stderr, "")

    def test_a_classifier_of_native_numerics_has_no_portable_features(self):
        self.both()
        self.train("classifier", "native", "data.shapes.side=12", "run.numerics=native")
        self.assertIn("native: run.numerics is native, so its features are bits of one machine",
                      self.refused(2, "eval", "made", "--features", "native", "--quiet"))
        self.train("dit", "natively", "run.numerics=native")
        said = json.loads(self.ok("eval", "natively", "--features", "judge", *EVALUATED))
        self.assertEqual(said["portable"], False)


if __name__ == "__main__":
    main()
