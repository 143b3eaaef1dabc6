"""Recipes and data that cannot be trained: one line that says where, the right exit code, no traces."""

import gzip
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import unittest

from support import RECIPE, SOURCE, Cli, main

IDX_IMAGES = b"\0\0\x08\x03"
FASHION = "/usr/share/datasets/fashion-mnist"


class Recipes(Cli):
    def refused_text(self, text):
        self.write("bad.toml", text)
        before = self.contents()
        line = self.refused(2, "train", "bad.toml")
        self.assertEqual(self.contents(), before)
        return line

    def test_each_fault_of_a_recipe_is_named_with_its_line(self):
        steps = RECIPE[:RECIPE.index("steps")].count("\n") + 1
        for old, new, where, what in (
                ("steps = 2", "steps = 2.5", steps, "'steps' in [run] must be an integer, not a float"),
                ("steps = 2", 'steps = "2"', steps, "must be an integer, not a string"),
                ("steps = 2", "steps = -1", steps, "'steps' in [run] is out of range: -1"),
                ("steps = 2", "step = 2", steps, "did you mean 'steps'?"),
                ("[batch]", "[bach]", RECIPE[:RECIPE.index("[batch]")].count("\n") + 1,
                 "did you mean 'batch'?"),
                ("steps = 2", "steps = ", steps, "expected"),
                ("steps = 2", "steps = 2\nsteps = 3", steps + 1, "steps")):
            line = self.refused_text(RECIPE.replace(old, new))
            self.assertTrue(line.startswith(f"bad.toml:{where}:"), line)
            self.assertIn(what, line)

    def test_keys_and_words_of_other_programs_are_told_ours(self):
        optimizer = "[model.optimizer]; of a GAN in [generator.optimizer] and [discriminator.optimizer]"
        for text, wanted in (
                ("[optimizer]\nlr = 1\n", f"unknown key 'optimizer' at the top level (a table of its network: {optimizer})"),
                ("epochs = 3\n", "unknown key 'epochs' at the top level (a recipe counts steps: steps in [run])"),
                ("[run]\nepochs = 3\n", "unknown key 'epochs' in [run] (a recipe counts steps: steps in [run])"),
                ("batch_size = 3\n", "(the batch is lanes x samples_per_lane in [batch])"),
                ("lr = 3\n", f"(lr in {optimizer})"), ("[model]\nlr = 3\n", f"(lr in {optimizer})"),
                ("ema = 0.9\n", f"(ema_decay in {optimizer})"),
                ("[model.optimizer]\nema = 0.9\n", "(did you mean 'ema_decay'?)"),
                ('[model]\nkind = "DiT"\n', "cannot be 'DiT' (did you mean 'dit'? it may be "),
                ('[model.optimizer]\nkind = "adam"\n', "cannot be 'adam' (did you mean 'adamw'? it may be "),
                ('[objective]\nkind = "rectified-flow"\n', "(did you mean 'flow'? it may be "),
                ('[objective]\nkind = "WGAN-GP"\n', "(did you mean 'wasserstein-gan'? it may be "),
                ('[objective]\nkind = "xyzzy"\n', "cannot be 'xyzzy' (it may be "),
                ('[model.optimizer]\nschedule = "cosine"\n', "must be given (schedule = \"cosine\" needs it)"),
                ('[model.optimizer]\nlr_scaling = "linear"\n', "must be given (lr_scaling = \"linear\" needs it)")):
            self.assertIn(wanted, self.refused_text(text))

    def test_other_files_than_recipes_and_runs_say_what_they_are(self):
        self.once("runs", "train", "tiny.toml", "--quiet")
        self.ok("pack", "images", "images.h5")
        self.write("images.npz", b"PK\x03\x04")
        self.write("images.npy", b"\x93NUMPY\x01\x00")
        shutil.copy(self.path("images.h5"), self.path("renamed.toml"))
        last = "runs/tiny/checkpoints/step-00000002.h5"
        before = self.contents()
        for name, wanted in (("images.h5", "is a data file, no recipe (name it in a recipe: path in [data])"),
                             ("renamed.toml", "is a data file, no recipe"),
                             ("images.npz", "is a file of arrays, no recipe (`lockstep pack images.npz data.h5`"),
                             ("images.npy", "is a file of arrays, no recipe"),
                             (last, "is a checkpoint, no recipe (give its run's folder;"),
                             ("runs/tiny/ledger.jsonl", "is a ledger or a trace, no recipe (give the run's folder)")):
            self.assertIn(f"{name} {wanted}", self.refused(2, "train", name))
        for command, *more in (["verify"], ["sample"], ["export", "out/"], ["replay"], ["trace", "out.jsonl"], ["rounding"], ["report"]):
            for name, what in (("images.h5", "a data file"), ("images.npz", "a file of arrays"),
                               ("runs/tiny/ledger.jsonl", "a ledger or a trace"),
                               ("tiny.toml", "a recipe")):
                self.assertIn(f"{name} is {what}, no run and no checkpoint (", self.refused(2, command, name, *more))
        for command in (["doctor"], ["check", "--recipe"], ["fingerprint", "--recipe"]):
            self.assertIn("images.h5 is a data file, no recipe", self.refused(2, *command, "images.h5"))
        self.assertIn(f"--from: {last} is a checkpoint", self.refused(2, "train", "tiny.toml", "--from", last, "--run", "new"))
        self.assertIn("there is no runs/tiny@2 (give its folder, runs/tiny; a new run from that step: `lockstep train RECIPE --from runs/tiny@2 --run NEW`)",
                      self.refused(2, "train", "runs/tiny@2"))
        self.assertIn("`lockstep train tiny.toml` trains it; then give the run's folder",
                      self.refused(2, "sample", "tiny.toml"))
        self.assertEqual(self.contents(), before)

    def test_a_recipe_or_run_that_is_not_there_is_said_so_with_the_nearest_name(self):
        self.once("runs", "train", "tiny.toml", "--quiet")
        before = self.contents()
        wanted = "give a recipe (a TOML file), or the folder of a run)"
        for name, near in (("runs/tinny", "runs/tiny"), ("runs/tinny/", "runs/tiny"), ("tiny.tml", "tiny.toml"),
                           ("tiny", "tiny.toml")):
            self.assertIn(f"there is no {name.rstrip('/')} (did you mean '{near}'? {wanted}", self.refused(2, "train", name))
        for name in ("runs/nowhere", "nowhere/at/all", "images.toml"):
            self.assertIn(f"there is no {name} ({wanted}", self.refused(2, "train", name))
        self.assertEqual(self.contents(), before)

    def test_a_checkpoint_is_known_under_any_name_and_of_any_size(self):
        channels = ("--set", "model.channels=[64, 64]")  # its format lies amid the tensors
        self.once("runs", "train", "tiny.toml", "--quiet", *channels)
        with open(self.path("runs/tiny/checkpoints/step-00000002.h5"), "rb") as file:
            at = file.read().find(b"lockstep checkpoint")
            self.assertTrue(65536 < at < file.tell() - 65536, at)
        for tail in ("", ".sha256"):
            shutil.copy(self.path(f"runs/tiny/checkpoints/step-00000002.h5{tail}"), self.path(f"best.h5{tail}"))
        self.assertIn("best.h5 is a checkpoint, no recipe", self.refused(2, "train", "best.h5"))
        self.assertIn("best.h5 is a checkpoint (", self.refused(2, "train", "tiny.toml", "--weights", "best.h5", "--run", "new", *channels))
        self.assertIn('"kind":"checkpoint"', self.ok("inspect", "best.h5", "--json").replace(" ", ""))

    def test_a_run_whose_name_has_an_at_sign_is_a_parent(self):
        self.ok("train", "tiny.toml", "--run", "run@5", "--quiet")
        for source in ("run@5", "run@5@2"):
            self.ok("train", "tiny.toml", "--from", source, "--run", f"of-{source}", "--quiet")
        self.assertIn("there is no run", self.refused(2, "train", "tiny.toml", "--from", "run@2", "--run", "new"))
        self.ok("train", "tiny.toml", "--run", "a", "--quiet")
        for _ in range(2):  # a run named after what it starts from goes on by the same command
            self.ok("train", "tiny.toml", "--from", "a@2", "--run", "a@2", "--quiet")
        self.ok("train", "tiny.toml", "--from", "a@2", "--run", "b", "--quiet")
        self.assertEqual(self.read("b/ledger.jsonl"), self.read("a@2/ledger.jsonl"))

    def test_a_runs_own_recipe_says_that_it_makes_another_run(self):
        self.ok("train", "tiny.toml", "--run", "kept", "--quiet")
        said = self.run_it("train", "kept/recipe.toml", "--quiet").stderr
        self.assertIn("kept/recipe.toml is the recipe of the run kept, and runs/tiny is another: `lockstep train kept` goes on", said)
        for run in ("kept", "new"):
            self.assertNotIn("is another", self.run_it("train", "kept/recipe.toml", "--run", run, "--quiet").stderr)
        for said in (["kept is a run, and more is another: `lockstep train kept` goes on with that one"], []):  # at its start alone
            lines = self.run_it("train", "kept", "--run", "more", "--quiet").stderr.splitlines()
            self.assertEqual(lines, [f"warning: {line}" for line in said])

    def test_json_is_named(self):
        self.write("tiny.json", '{"run": {"steps": 2}}')
        self.assertIn("this looks like JSON; a recipe is TOML", self.refused(2, "train", "tiny.json"))

    def test_a_key_that_stands_twice_is_called_that(self):
        self.write("twice.toml", "[data]\nflip = true\nflip = true\n")
        self.assertIn("it stands in the file twice: write both into one", self.refused(2, "train", "twice.toml"))

    def test_one_that_says_nothing_trains_nothing(self):
        for text in ("", "# nothing\n"):  # as a full disk or an interrupted copy leaves one
            self.write("empty.toml", text)
            self.write("more.toml", 'extends = "empty.toml"\n[run]\nname = "more"\n')
            for recipe in ("empty.toml", "more.toml"):
                self.assertIn("empty.toml: this recipe says nothing", self.refused(2, "train", recipe))

    def test_an_unterminated_string_and_bytes_that_are_no_text_are_refused(self):
        self.refused_text(RECIPE + 'x = "')
        self.refused_text(RECIPE.encode() + b"\xff\xfe\0")

    def test_extends_takes_what_is_not_given(self):
        self.write("child.toml", 'extends = "tiny.toml"\n[run]\nname = "child"\nseed = 9\n')
        child = json.loads(self.ok("train", "child.toml", "--dry-run", "--json"))
        same = json.loads(self.ok("train", "tiny.toml", "--dry-run", "--json", "--set", "run.seed=9",
                                  "--set", "run.name=child"))
        self.assertEqual(child, same)

    def test_extends_that_goes_nowhere_or_in_a_circle_is_refused(self):
        self.assertIn("gone.toml", self.refused_text('extends = "gone.toml"\n'))
        self.assertIn("circle", self.refused_text('extends = "bad.toml"\n'))
        for i in range(70):
            self.write(f"many-{i}.toml", f'extends = "many-{i + 1}.toml"\n' if i < 69 else 'extends = "tiny.toml"\n')
        self.assertIn("more than 64 recipes extend each other", self.refused(2, "train", "many-0.toml", "--dry-run"))
        self.ok("train", "many-20.toml", "--dry-run")

    def test_an_extended_recipe_of_another_kind_loses_its_keys(self):
        self.write("sgd.toml", 'extends = "tiny.toml"\n[model.optimizer]\nkind = "sgd"\nlr = 0.5\n')
        self.write("adamw.toml", 'extends = "sgd.toml"\n[model.optimizer]\nkind = "adamw"\nbeta1 = 0.5\n')
        self.write("again.toml", 'extends = "adamw.toml"\n[model.optimizer]\nkind = "sgd"\n')
        again = json.loads(self.ok("train", "again.toml", "--dry-run", "--json"))["recipe"]
        self.assertIn("lr = 0.5\n", again)
        self.assertNotIn("beta1", again)

    def test_relative_data_lies_beside_its_recipe_and_a_run_finds_it_from_anywhere(self):
        os.mkdir(self.path("sub"))
        for name in ("tiny.toml", "images"):
            os.rename(self.path(name), self.path("sub", name))
        self.ok("train", "sub/tiny.toml", "--quiet", "--run", "run")
        images = os.path.realpath(self.path("sub/images"))
        self.assertIn(f'path = "{images}"\n', self.read("run/recipe.toml").decode())
        self.ok("replay", "run", "--quiet")
        self.refused(3, "train", "sub/tiny.toml", "--quiet", "--set", "data.path=images")  # the shell's folder
        self.ok("train", "sub/tiny.toml", "--quiet", "--run", "run", "--set", "data.path=sub/images")

    def test_only_a_file_extends(self):
        self.assertIn("only a recipe file can extend another", self.refused(2, "train", "tiny.toml", "--set", "extends=x"))

    def test_steps_beyond_the_horizon_are_warned_of(self):
        beyond = ["train", "tiny.toml", "--set", "model.optimizer.schedule=cosine", "--set", "model.optimizer.horizon=1"]
        said = "[model.optimizer]: the learning rate is 0 from step 1 on: horizon is 1, and run.steps is 2"
        self.assertIn(f"# warning     {said}\n", self.ok(*beyond, "--dry-run"))
        self.assertEqual(json.loads(self.ok(*beyond, "--dry-run", "--json"))["warnings"], [said])
        result = self.run_it(*beyond, "--quiet", "--run", "beyond")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count(said), 1)
        self.assertEqual(json.loads(self.ok("train", "tiny.toml", "--dry-run", "--json"))["warnings"], [])

    def warned(self, steps, *settings):
        words = [word for setting in (f"run.steps={steps}", *settings) for word in ("--set", setting)]
        return json.loads(self.ok("train", "tiny.toml", *words, "--dry-run", "--json"))["warnings"]

    def test_an_average_of_first_weights_and_a_warm_up_without_end_are_warned_of(self):
        decay = "model.optimizer.ema_decay="
        said = ("[model.optimizer]: after 2000 steps the average, which samples and `eval` take, still has 82 % of the first weights: "
                "take a smaller ema_decay than 0.9999, or ema_warmup = true")
        self.assertEqual(self.warned(2000, decay + "0.9999"), [said])
        for steps, *settings in ((2000, decay + "0.999"), (20000, decay + "0.9999"), (99, decay + "0.9999"),
                                 (2000, decay + "0.9999", "model.optimizer.ema_warmup=true"), (0, decay + "0.9999")):
            self.assertEqual(self.warned(steps, *settings), [], (steps, settings))
        said = "[model.optimizer]: the learning rate never reaches lr: warmup is 201, and run.steps is 200"
        self.assertEqual(self.warned(200, "model.optimizer.warmup=201"), [said])
        self.assertEqual(self.warned(200, "model.optimizer.warmup=200"), [])

    def test_no_steps_are_no_generator(self):
        self.assertEqual(self.warned(0), [])

    def test_a_missing_recipe_is_named(self):
        self.assertIn("gone.toml", self.refused(2, "train", "gone.toml"))
        self.refused(2, "train", ".")

    def test_overrides_that_do_not_fit_are_named(self):
        for override in ("run.steps", "run.steps=x", "run.steps=-1", "batch.lanes=0", "nothing=1",
                         "model.optimizer.lr=nan", "objective.kind=gann"):
            self.assertIn(override.split("=", maxsplit=1)[0],
                          self.refused(2, "train", "tiny.toml", "--set", override))


    def test_values_that_do_not_fit_each_other_name_their_table_and_leave_nothing_behind(self):
        before = self.contents()
        for override, what in (("model.channels=[]", "[model]: channels:"),
                               ("model.heads=3", "[model]: heads:"),
                               ("model.attention_levels=[5]", "[model]: attention_levels:"),
                               ("objective.sampler_steps=11", "[objective]: sampler_steps:")):
            line = self.refused(2, "train", "tiny.toml", "--set", override)
            self.assertTrue(line.startswith(what), line)
        self.assertEqual(self.contents(), before)


    def test_a_penalty_that_batch_norm_does_not_allow_is_refused_and_leaves_nothing_behind(self):
        before = self.contents()
        line = self.refused(2, "train", os.path.join(SOURCE, "recipes/golden/dcgan.toml"), "--run", "run",
                            "--set", "objective.r1=0.5")
        self.assertTrue(line.startswith("[objective]: r1: the discriminator has batch norm"), line)
        self.assertIn('discriminator.norm = "none"', line)
        self.assertEqual(self.contents(), before)


    def test_batch_norm_of_one_value_is_refused_and_leaves_nothing_behind(self):
        before = self.contents()
        line = self.refused(2, "train", os.path.join(SOURCE, "recipes/golden/toy-gan.toml"), "--run", "run",
                            "--set", "batch.lanes=1", "--set", "batch.samples_per_lane=1")
        self.assertIn("[batch]: batch norm of one value a channel: generator/", line)
        self.assertEqual(self.contents(), before)


class Page(Cli):
    """The examples of `train --help-recipe`, as they stand."""

    def block(self, language, heading="# Recipes"):
        text = self.ok("train", "--help-recipe").partition(f"{heading}\n")[2]
        return re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)[1]

    @unittest.skipUnless(os.path.isdir(FASHION), f"NOT PROVED: no {FASHION}")
    def test_the_recipe_can_be_trained(self):
        self.write("example.toml", self.block("toml"))
        self.ok("train", "example.toml", "--dry-run", "--set", f"data.path={FASHION}")

    def test_the_python_lines_write_a_data_set(self):
        lines = self.block("python", "## Your own pictures")
        subprocess.run([sys.executable, "-c", lines], cwd=self.folder, check=True)
        packed = json.loads(self.ok("pack", re.search(r'"(.*npz)"', lines)[1], "mine.h5", "--json"))
        seen = json.loads(self.ok("inspect", "mine.h5", "--json"))
        self.assertEqual(seen["images"], 1000)
        self.assertEqual(seen["labelled_hash"], packed["labelled_hash"])
        self.ok("train", "tiny.toml", "--dry-run", "--set", "data.path=mine.h5", "--set", "data.classes=10")


class Data(Cli):
    def test_that_is_missing_has_a_hint(self):
        for path, hint in ((FASHION + "-nowhere", "install Debian's package dataset-fashion-mnist"),
                           ("~/x", "only the shell knows ~"), ("gone", "give the path of an IDX file")):
            for command in (["train", "tiny.toml", "--set", f"data.path={path}"], ["pack", path, "out.h5"]):
                line = self.refused(3, *command)
                self.assertIn(path, line)
                self.assertIn(hint, line)

    def test_that_are_flipped_and_cropped_are_the_same_on_any_ranks_and_again(self):
        both = ("--set", "data.flip=true", "--set", "data.crop=3")
        self.ok("train", "tiny.toml", "--quiet", "--run", "plain")
        for run, more in (("one", both), ("two", (*both, "--ranks", "2")), ("flip", both[:2]), ("crop", both[2:])):
            self.ok("train", "tiny.toml", "--quiet", "--run", run, *more)
        self.ok("replay", "two")
        self.assertEqual(self.evidence("one"), self.evidence("two"))
        self.assertIn("flip = true\ncrop = 3\n", self.read("one", "recipe.toml").decode())
        self.assertNotIn("flip", self.read("plain", "recipe.toml").decode())
        ledgers = [json.loads(self.ok("inspect", f"{run}/ledger.jsonl", "--json")) for run in ("plain", "one", "flip", "crop")]
        self.assertEqual(len({ledger["data"] for ledger in ledgers}), 1)
        for key in ("recipe", "state"):
            self.assertEqual(len({ledger[key] for ledger in ledgers}), 4, key)

    def test_that_cannot_be_flipped_or_cropped_are_refused_before_a_run_begins(self):
        before = self.contents()
        self.assertEqual(self.refused(2, "train", "tiny.toml", "--quiet", "--set", "data.crop=8"),
                         "[data]: crop: 8, the pictures are 8 wide and 8 high (set data.crop below 8)")
        self.assertIn("crop", self.refused(2, "train", "tiny.toml", "--quiet", "--set", "data.crop=-1"))
        self.assertIn("flip and crop are for pictures and fields, these data are points",
                      self.refused(2, "train", os.path.join(SOURCE, "recipes/golden/toy-gan.toml"), "--quiet", "--set", "data.flip=true"))
        self.assertEqual(self.contents(), before)

    def refused_images(self, content, what):
        self.write("bad", content)
        before = self.contents()
        for command in (["pack", "bad", "out.h5"],
                        ["train", "tiny.toml", "--quiet", "--set", "data.path=bad"]):
            line = self.refused(3, *command)
            self.assertIn("bad", line)
            self.assertIn(what, line)
        self.assertEqual(self.contents(), before)

    def test_truncated_gzip(self):
        whole = gzip.compress(self.read("images"))
        self.refused_images(whole[:len(whole) // 2], "")

    def test_gzip_with_a_changed_byte(self):
        whole = bytearray(gzip.compress(self.read("images")))
        whole[-6] ^= 1  # of the CRC
        self.refused_images(bytes(whole), "")

    def test_labels_are_not_images(self):
        self.refused_images(b"\0\0\x08\x01" + struct.pack(">I", 4) + bytes(4), "labels")

    def test_sizes_that_overflow(self):
        for sizes in ((2**32 - 1, 2**32 - 1, 2**32 - 1), (2**31, 2**31, 4), (2**32 - 1, 1, 1)):
            self.refused_images(IDX_IMAGES + struct.pack(">III", *sizes) + bytes(64), "")

    def test_no_images_and_images_without_pixels(self):
        for sizes in ((0, 8, 8), (4, 0, 8)):
            self.refused_images(IDX_IMAGES + struct.pack(">III", *sizes), "")

    def test_empty_and_foreign_files(self):
        self.refused_images(b"", "")
        self.refused_images(b"\x89PNG\r\n\x1a\n", "")

    def test_a_pack_with_any_changed_byte_or_cut_short(self):
        self.ok("pack", "images", "whole.h5")
        whole = self.read("whole.h5")
        choose = random.Random(1)  # fixed, so that a failure comes back
        for at in [0, 8, len(whole) - 1] + [choose.randrange(len(whole)) for _ in range(4)]:
            damaged = bytearray(whole)
            damaged[at] ^= choose.randrange(1, 256)
            self.write("bad.h5", bytes(damaged))
            line = self.refused(3, "train", "tiny.toml", "--quiet", "--set", "data.path=bad.h5")
            self.assertIn("bad.h5", line, f"byte {at}")
        for length in (0, 4, 100, len(whole) - 1):
            self.write("bad.h5", whole[:length])
            self.refused(3, "train", "tiny.toml", "--quiet", "--set", "data.path=bad.h5")
        self.assertFalse(os.path.exists(self.path("runs")))

    def test_other_data_than_the_runs_is_3_and_the_run_stays_as_it_is(self):
        self.once("runs", "train", "tiny.toml", "--quiet")
        before = self.contents("runs")
        images = bytearray(self.read("images"))
        images[-1] ^= 1
        self.write("other", bytes(images))
        line = self.refused(3, "train", "tiny.toml", "--quiet", "--set", "data.path=other", "--set",
                            "run.steps=4")
        self.assertIn("the data set is not the one of runs/tiny", line)
        self.refused(3, "replay", "runs/tiny", "--quiet", "--data", "other")
        self.assertEqual(self.contents("runs"), before)

    def test_that_moved_are_asked_for_by_the_right_option_and_with_their_hash(self):
        self.once("runs", "train", "tiny.toml", "--quiet")
        ledger = json.loads(self.ok("inspect", "runs/tiny", "--json"))["ledger"]
        os.rename(self.path("images"), self.path("moved"))
        moved = "if the data of runs/tiny moved, say where with {}: their content hash begins with " + ledger["data"][:12]
        by_path, by_data = moved.format("--set data.path=PATH"), moved.format("--data PATH")
        self.assertIn(by_path, self.refused(3, "train", "runs/tiny", "--quiet", "--set", "run.steps=3"))
        self.assertIn(by_path, self.refused(3, "train", "tiny.toml", "--quiet", "--set", "run.steps=3"))
        self.assertIn(by_data, self.refused(3, "replay", "runs/tiny", "--quiet"))
        self.assertIn(by_data, self.refused(3, "replay", "runs/tiny", "--quiet", "--data", "nowhere"))
        self.assertNotIn("moved", self.refused(3, "train", "tiny.toml", "--quiet", "--run", "new"))
        self.ok("train", "runs/tiny", "--quiet", "--set", "run.steps=3", "--set", "data.path=moved")
        self.ok("replay", "runs/tiny", "--quiet")  # the recipe says where they are

    def test_a_pack_trains_to_the_same_ledger_as_the_idx_file(self):
        self.ok("train", "tiny.toml", "--quiet", "--run", "idx")
        self.ok("pack", "images", "images.h5")
        self.ok("train", "tiny.toml", "--quiet", "--run", "pack", "--set", "data.path=images.h5")
        self.assertEqual(self.read("pack/ledger.jsonl"), self.read("idx/ledger.jsonl"))
        self.assertEqual(self.contents("pack/checkpoints"), self.contents("idx/checkpoints"))


class Labels(Cli):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("d"))
        os.rename(self.path("images"), self.path("d/train-images-idx3-ubyte"))
        self.label("d/train-labels-idx1-ubyte", range(16))

    def label(self, name, labels):
        self.write(name, b"\0\0\x08\x01" + struct.pack(">I", len(labels)) + bytes(labels))

    def with_labels(self, *settings):
        settings = ("data.path=d", "data.classes=16", *settings)
        return ["train", "tiny.toml", "--quiet", *(word for key in settings for word in ("--set", key))]

    def test_are_packed_where_they_stand_beside_the_images(self):
        packed = json.loads(self.ok("pack", "d", "a.h5", "--json"))
        self.assertEqual(packed["labels"], "d/train-labels-idx1-ubyte")
        seen = json.loads(self.ok("inspect", "a.h5", "--json"))
        self.assertEqual((seen["hash"], seen["labelled_hash"]), (packed["hash"], packed["labelled_hash"]))
        said = self.ok("pack", "d", "again.h5")
        self.assertIn(f"; with the labels of d/train-labels-idx1-ubyte {packed['labelled_hash']}\n", said)
        self.assertEqual(self.read("again.h5"), self.read("a.h5"))
        os.remove(self.path("d/train-labels-idx1-ubyte"))
        plain = json.loads(self.ok("pack", "d", "plain.h5", "--json"))
        self.assertEqual(set(plain), {"out", "images", "height", "width", "channels", "hash"})
        self.assertEqual(plain["hash"], packed["hash"])
        self.assertNotIn("labels", self.ok("pack", "d", "plain.h5"))
        self.assertNotIn("labelled_hash", self.ok("inspect", "plain.h5", "--json"))

    def test_that_stand_elsewhere_are_packed_when_they_are_named(self):
        first = json.loads(self.ok("pack", "d", "a.h5", "--json"))
        self.label("mine", range(1, 17))
        other = json.loads(self.ok("pack", "d", "b.h5", "--labels", "mine", "--json"))
        self.assertEqual((other["labels"], other["hash"]), ("mine", first["hash"]))
        self.assertNotEqual(other["labelled_hash"], first["labelled_hash"])
        self.ok("pack", "b.h5", "c.h5", "--labels", "d/train-labels-idx1-ubyte")  # a pack with other labels
        self.assertEqual(self.read("c.h5"), self.read("a.h5"))
        self.refused(2, "pack", "d", "mine", "--labels", "mine")
        self.assertIn("contradict", self.refused(2, "pack", "d", "e.h5", "--labels", "mine", "--no-labels"))
        alone = json.loads(self.ok("pack", "d", "alone.h5", "--no-labels", "--json"))
        self.assertNotIn("labels", alone)
        self.assertEqual(alone["hash"], other["hash"])
        os.rename(self.path("mine"), self.path("mine.h5"))
        before = self.contents()
        self.assertIn("mine.h5", self.refused(2, "pack", "d", "mine.h5", "--labels", "mine.h5"))
        self.assertIn("gone", self.refused(3, "pack", "d", "e.h5", "--labels", "gone"))
        self.assertEqual(self.contents(), before)

    def test_that_are_not_balanced_are_warned_of_with_their_counts(self):
        labels = bytes([0] * 12 + [1] + [2] * 3)
        self.write("labels", b"\0\0\x08\x01" + struct.pack(">I", 16) + labels)
        train = ["train", "tiny.toml", "--set", "data.path=d", "--set", "data.labels=labels"]
        said = self.run_it(*train, "--set", "data.classes=5", "--run", "a").stderr
        self.assertIn("warning: balance: classes 3, 4 of 5 have no samples: nothing can be learnt of them", said)
        self.assertIn("warning: balance: class 0 has 12 samples, class 1 has 1: 12.0 times as many", said)
        self.assertNotIn("balance", self.run_it(*train, "--set", "data.classes=3", "--set", "monitor.warn_imbalance=12",
                                                "--run", "b").stderr)
        dry = json.loads(self.ok(*train, "--set", "data.classes=5", "--dry-run", "--json"))["warnings"]
        self.assertEqual([f"warning: {line}" for line in dry], [line for line in said.splitlines() if "balance" in line])

    def test_that_are_wrong_leave_nothing_behind(self):
        for labels, what in ((range(15), "15 labels for 16 images"), (range(17), "17 labels for 16 images")):
            self.label("d/train-labels-idx1-ubyte", labels)
            before = self.contents()
            for command in (["pack", "d", "out.h5"], self.with_labels()):
                self.assertIn(f"d/train-labels-idx1-ubyte: {what} (", self.refused(3, *command))
            self.assertEqual(self.contents(), before)
        self.label("d/train-labels-idx1-ubyte", [*range(15), 16])
        line = self.refused(3, *self.with_labels())
        self.assertIn("sample 15 has the label 16, and data.classes is 16 (set data.classes to 17 or more)", line)
        os.remove(self.path("d/train-labels-idx1-ubyte"))
        self.assertIn("no labels: train-labels-idx1-ubyte[.gz] is not beside it", self.refused(3, *self.with_labels()))
        self.refused(2, "train", "tiny.toml", "--set", "data.path=d", "--set", "data.labels=x", "--dry-run")

    def test_belong_to_the_runs_data_and_a_pack_has_the_same(self):
        self.ok(*self.with_labels(), "--run", "idx")
        packed = json.loads(self.ok("pack", "d", "a.h5", "--json"))
        self.ok(*self.with_labels("data.path=a.h5"), "--run", "pack")
        self.assertEqual(self.read("pack/ledger.jsonl"), self.read("idx/ledger.jsonl"))
        ledger = json.loads(self.ok("inspect", "idx/ledger.jsonl", "--json"))
        self.assertEqual(ledger["data"], packed["labelled_hash"])
        self.ok(*self.with_labels()[:5], "--run", "plain")  # without classes: today's
        self.assertEqual(json.loads(self.ok("inspect", "plain/ledger.jsonl", "--json"))["data"], packed["hash"])
        self.ok("replay", "idx", "--quiet", "--data", "a.h5")
        self.label("d/train-labels-idx1-ubyte", [15, *range(15)])
        self.assertIn("is not the run's", self.refused(3, "replay", "idx", "--quiet"))
        self.ok("replay", "idx", "--quiet", "--data", "a.h5")
        self.ok("replay", "plain", "--quiet")

    def test_that_changed_are_named_where_a_recipe_names_them(self):
        self.label("mine", range(16))
        self.ok(*self.with_labels("data.labels=mine"), "--run", "run")
        self.label("mine", [15, *range(15)])
        os.rename(self.path("d"), self.path("moved"))  # with the right labels; but the named ones are still there
        said = self.refused(3, "replay", "run", "--quiet", "--data", "moved")
        self.assertIn(f"the data set moved with {os.path.realpath(self.path('mine'))} is not the run's", said)
        os.remove(self.path("mine"))
        self.ok("replay", "run", "--quiet", "--data", "moved")

    def test_of_other_classes_are_no_state_to_start_from(self):
        self.ok(*self.with_labels(), "--run", "run")
        for classes in (0, 17):
            said = self.refused(2, *self.with_labels(f"data.classes={classes}"), "--from", "run", "--run", "new")
            self.assertIn("classes.weight", said)
            self.assertIn("the networks and data.classes must be the same", said)
        self.assertFalse(os.path.exists(self.path("new")))


class Pictures(Cli):
    def test_that_are_too_large_are_refused_before_training(self):
        """And not when the first is due: by then there would be steps to lose."""
        self.write("labels", b"\0\0\x08\x01" + struct.pack(">I", 16) + bytes(16))
        self.write("large", b"\0\0\x08\x03" + struct.pack(">III", 16, 28, 28) + bytes(16 * 28 * 28))
        # A column of 4096 images of 8 pixels fits, one of 28 pixels does not; so do 4096 classes.
        for settings, layout in ((["samples.columns=1"], "1 column"),
                                 (["data.labels=labels", "data.classes=4096"], "8 columns, a row a class,")):
            settings = ["samples.count=4096", *settings]
            train = ["train", "tiny.toml", "--quiet", *(word for key in settings for word in ("--set", key))]
            self.ok(*train, "--dry-run")
            for more in (["--dry-run"], ["--run", "run"], ["--run", "run", "--ranks", "2"]):
                said = self.run_it(*train, "--set", "data.path=large", *more)
                self.assertEqual(said.returncode, 2, said.stderr)
                self.assertIn(f"[samples]: a grid of 4096 samples in {layout} is too large for one picture "
                              "(use other columns, or a smaller count)\n", said.stderr)
            self.assertFalse(os.path.exists(self.path("run")))


if __name__ == "__main__":
    main()
