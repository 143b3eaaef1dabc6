"""The command line as its users meet it: exit codes, one clear line an error, JSON that parses."""

import glob
import hashlib
import json
import os
import re
import struct
import unittest

from support import PROGRAM, RECIPE, SOURCE, Cli, main

COMMANDS = ["train", "sample", "verify", "replay", "diff", "bisect", "trace", "inspect", "pack", "fingerprint"]


GPU_PROGRAM = os.path.join(os.path.dirname(PROGRAM), "ptx/lockstep")
PYTORCH = os.path.join(SOURCE, ".deps/torchrun/torch/lib")  # its libtorch_cuda.so is a stand-in, which can be loaded and no more


class Loads(Cli):
    def loaded(self, numerics, *words, **environment):
        """A training's exit code, and the names and paths of libraries that it looks for, found or not, beside a PyTorch for CUDA."""
        out = self.path(f"{numerics}-loaded")
        done = self.run_it("train", "tiny.toml", "--quiet", "--run", numerics, "--set", f"run.numerics={numerics}", *words,
                           LD_DEBUG="files", LD_DEBUG_OUTPUT=out, LD_LIBRARY_PATH=PYTORCH, **environment)
        said = b"".join(self.read(path) for path in glob.glob(f"{out}.*")).decode()
        return done.returncode, " ".join(re.findall(r"(?:file=|calling init: )(\S+)", said))

    def test_a_run_on_a_cpu_loads_no_library_of_gpus(self):
        for numerics in ("portable", "native"):
            with self.subTest(numerics):
                code, loaded = self.loaded(numerics)
                self.assertEqual(code, 0)
                self.assertIn("libtorch_cpu.so", loaded)  # the control
                for name in ("liblockstep_nccl", "libnccl", "liblockstep_cuda", "libtorch_cuda"):
                    self.assertNotIn(name, loaded)

    @unittest.skipUnless(os.path.exists(GPU_PROGRAM), "NOT PROVED: no interpreted GPU")
    def test_on_a_gpu_native_numerics_alone_load_libtorch_for_cuda(self):
        self.program = GPU_PROGRAM
        code, loaded = self.loaded("portable", "--device", "cuda", KERNELS_ARE_KNOWN="1")
        self.assertEqual(code, 0)
        self.assertIn("liblockstep_cuda.so", loaded)
        self.assertNotIn("libtorch_cuda", loaded)
        code, loaded = self.loaded("native", "--device", "cuda", KERNELS_ARE_KNOWN="1")
        self.assertNotEqual(code, 0)  # nothing is in it that computes
        self.assertIn(f"{PYTORCH}/libtorch_cuda.so", loaded)


class Help(Cli):
    def test_names_every_command(self):
        text = self.ok("--help")
        for command in COMMANDS:
            self.assertIn(command, text)

    def test_of_every_command_has_an_example(self):
        for command in COMMANDS:
            self.assertIn(f"Example: lockstep {command}", self.ok(command, "--help"))

    def test_shows_defaults(self):
        for command, defaults in (("sample", ("[samples.png]", "--count N [64]", "grid [8]")),
                                  ("replay", ("--from STEP [1]", "--to STEP [0]")),
                                  ("train", ("[runs/<run.name>]", "--threads N [0]"))):
            text = self.ok(command, "--help")
            for default in defaults:
                self.assertIn(default, text)

    def test_lists_the_keys_of_recipes(self):
        with open(os.path.join(SOURCE, "docs/recipes.md"), encoding="utf-8") as file:
            self.assertEqual(self.ok("train", "--help-recipe"), file.read())

    def test_version(self):
        self.assertRegex(self.ok("--version"), r"^\d+\.\d+\.\d+")


class Usage(Cli):
    def test_unknown_isa(self):
        self.assertIn("nonsense", self.refused(2, "fingerprint", LOCKSTEP_ISA="nonsense"))

    def test_missing_files(self):
        for command in (["train"], ["sample"], ["verify"], ["replay"], ["inspect"]):
            self.assertIn("none", self.refused(2, *command, "none"))


class Recipes(Cli):
    def test_an_unknown_key_is_named_with_line_and_nearest(self):
        self.write("typo.toml", RECIPE + "[model.optimizer]\nlrr = 1e-3\n")
        line = RECIPE.count("\n") + 2
        self.assertEqual(
            self.refused(2, "train", "typo.toml"),
            f"typo.toml:{line}: unknown key 'lrr' in [model.optimizer] (did you mean 'lr'?)")

    def test_an_override_that_does_not_fit_is_named(self):
        self.assertEqual(
            self.refused(2, "train", "tiny.toml", "--set", "run.sed=2", "--dry-run"),
            "--set run.sed: unknown key 'sed' in [run] (did you mean 'seed'?)")

    def test_a_refused_recipe_leaves_nothing_behind(self):
        before = self.contents()
        self.refused(2, "train", "tiny.toml", "--set", "run.seed=x")
        self.assertEqual(self.contents(), before)


class DryRun(Cli):
    def test_twice_is_the_same_and_writes_nothing(self):
        before = self.contents()
        first = self.ok("train", "tiny.toml", "--dry-run", "--json")
        self.assertEqual(self.ok("train", "tiny.toml", "--dry-run", "--json", "--threads", "2"), first)
        self.assertEqual(self.contents(), before)

    def test_its_recipe_is_the_same_recipe(self):
        first = json.loads(self.ok("train", "tiny.toml", "--dry-run", "--json"))
        self.write("canonical.toml", first["recipe"])
        self.assertEqual(json.loads(self.ok("train", "canonical.toml", "--dry-run", "--json")), first)

    def test_says_what_it_would_cost(self):
        size = json.loads(self.ok("train", "tiny.toml", "--dry-run", "--json"))
        self.assertGreater(size["parameters"], 0)
        self.assertGreaterEqual(size["state_bytes"], 12 * size["parameters"])  # AdamW: two moments
        self.assertGreater(size["flops_per_step"], 0)
        self.assertIn("# recipe id", self.ok("train", "tiny.toml", "--dry-run"))

    def test_says_how_much_making_samples_costs(self):
        words = [word for setting in ("run.steps=20", "samples.count=3", "samples.every=10", "monitor.every=5", "monitor.samples=4",
                                      "objective.timesteps=7", "objective.sampler=ancestral") for word in ("--set", setting)]
        said = json.loads(self.ok("train", "tiny.toml", "--dry-run", "--json", *words))
        self.assertEqual(said["samples_made"], 2 * 3 + 4 * 4)  # of pictures and checks
        self.assertEqual(said["passes_per_sample"], 7)
        self.assertAlmostEqual(said["flops_per_sample"], 7 * said["flops_per_step"] / 3 / 2)  # of forward and backward passes, of two
        for guidance, passes in (("1.0", 12), ("2.0", 24)):  # golden/class-ddpm has 12 timesteps
            said = json.loads(self.ok("train", os.path.join(SOURCE, "recipes/golden/class-ddpm.toml"), "--dry-run", "--json",
                                      "--set", f"objective.guidance={guidance}"))
            self.assertEqual(said["passes_per_sample"], passes)
        long = [*words, "--set", "monitor.every=1", "--set", "monitor.samples=256", "--set", "run.steps=2000"]
        self.assertRegex(self.ok("train", "tiny.toml", "--dry-run", *long),
                         r"\n#             and at least .* for 512600 samples of pictures, evaluations and monitors, "
                         r"of 7 passes of a network each\n")
        self.assertNotIn("passes of a network", self.ok("train", "tiny.toml", "--dry-run"))

    def test_says_what_the_run_draws_and_leaves(self):
        def course(**settings):
            words = [word for key, value in settings.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]
            report = json.loads(self.ok("train", "tiny.toml", "--dry-run", "--json", *words))
            self.assertEqual(report["checkpoint_bytes"], report["checkpoints_kept"] * report["state_bytes"])
            return [report[key] for key in ("samples", "epochs", "pictures", "checkpoints", "checkpoints_kept")]

        self.assertEqual(course(), [4, 0.25, 0, 1, 1])  # 2 steps of 2 of 16 pictures
        self.assertEqual(course(run__steps=25, samples__count=4, samples__every=10, checkpoint__every=4), [50, 3.125, 3, 7, 2])
        self.assertEqual(course(run__steps=25, checkpoint__every=4, checkpoint__keep_last=0)[3:], [7, 7])
        # at 4, 8, …, 24 and 25; kept 24 and 25, and of the others 8 and 16
        self.assertEqual(course(run__steps=25, checkpoint__every=4, checkpoint__keep_every=8)[3:], [7, 4])
        self.ok("train", "tiny.toml", "--quiet", "--set", "run.steps=25", "--set", "checkpoint.every=4",
                "--set", "checkpoint.keep_every=8")
        self.assertEqual(len([name for name in self.contents("runs/tiny/checkpoints") if name.endswith(".h5")]), 4)
        text = self.ok("train", "tiny.toml", "--dry-run", "--set", "run.steps=25")
        self.assertIn("# training    25 steps, 50 samples, 3.12 epochs of 16\n", text)

    def test_few_timesteps_are_enough_for_every_sampler(self):
        for sampler in ("ancestral", "ddim"):
            self.ok("train", "tiny.toml", "--dry-run", "--set", "objective.timesteps=1", "--set", f"objective.sampler={sampler}",
                    "--set", "samples.count=2", *(("--set", "objective.sampler_steps=1") if sampler == "ddim" else ()))

    def test_only_what_changes_bits_changes_the_id(self):
        def recipe_id(*overrides):
            arguments = [word for override in overrides for word in ("--set", override)]
            return json.loads(self.ok("train", "tiny.toml", "--dry-run", "--json", *arguments))["id"]
        plain = recipe_id()
        self.assertEqual(recipe_id("run.steps=7", "run.name=other", "checkpoint.every=3"), plain)
        self.assertNotEqual(recipe_id("run.seed=7"), plain)

    def test_our_recipes_resolve(self):
        paths = glob.glob(os.path.join(SOURCE, "recipes", "**", "*.toml"), recursive=True)
        self.assertGreaterEqual(len(paths), 8)
        for path in paths:
            self.ok("train", path, "--dry-run")


class Data(Cli):
    def test_missing_is_3(self):
        line = self.refused(3, "train", "tiny.toml", "--set", "data.path=nowhere", "--dry-run")
        self.assertIn("nowhere", line)
        self.refused(3, "train", "tiny.toml", "--set", "data.path=nowhere", "--quiet")

    def test_truncated_is_3(self):
        self.write("short", b"\0\0\x08\x03" + struct.pack(">III", 16, 8, 8) + b"too short")
        self.assertIn("short", self.refused(3, "pack", "short", "out.h5"))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out.h5")))

    def test_sizes_that_overflow_are_3(self):
        self.write("huge", b"\0\0\x08\x03" + struct.pack(">III", 2**32 - 1, 2**32 - 1, 2**32 - 1))
        self.assertIn("huge", self.refused(3, "pack", "huge", "out.h5"))

    def test_a_pack_holds_the_same_images(self):
        packed = json.loads(self.ok("pack", "images", "images.h5", "--json"))
        self.assertEqual((packed["images"], packed["height"], packed["width"]), (16, 8, 8))
        seen = json.loads(self.ok("inspect", "images.h5", "--json"))
        self.assertEqual((seen["kind"], seen["hash"]), ("data", packed["hash"]))
        self.assertEqual(self.ok("train", "tiny.toml", "--dry-run", "--json", "--set",
                                 "data.path=images.h5").count("parameters"), 1)


class Machine(Cli):
    def test_the_fingerprint_is_json_and_passes_its_self_test_with_every_isa(self):
        facts = json.loads(self.ok("fingerprint", "--json"))
        scalar = json.loads(self.ok("fingerprint", "--json", LOCKSTEP_ISA="scalar"))
        self.assertEqual(scalar["isa"], "scalar")
        self.assertEqual(scalar["env.LOCKSTEP_ISA"], "scalar")
        self.assertEqual(facts["self_test"], scalar["self_test"])


class Runs(Cli):
    def test_train_verify_replay_sample_and_inspect_a_tiny_run(self):
        trained = json.loads(self.ok("train", "tiny.toml", "--json", "--quiet"))
        self.assertEqual((trained["run"], trained["steps"]), ("runs/tiny", 2))
        before = self.contents()
        verified = json.loads(self.ok("verify", "runs/tiny", "--json"))
        self.assertTrue(verified["ok"])
        self.assertEqual(verified["chain"], trained["chain"])
        self.assertTrue(json.loads(self.ok("replay", "runs/tiny", "--json", "--quiet"))["agrees"])
        run = json.loads(self.ok("inspect", "runs/tiny", "--json"))
        self.assertEqual(json.loads(self.ok("inspect", "runs/tiny@2", "--json"))["step"], 2)
        self.assertIn("runs/tiny has no checkpoint of step 1 (there are those of steps 2)", self.refused(2, "inspect", "runs/tiny@1"))
        self.assertEqual(run["ledger"]["chain"], trained["chain"])
        for name in ("recipe.toml", "ledger.jsonl", "checkpoints/step-00000002.h5"):
            json.loads(self.ok("inspect", "runs/tiny/" + name, "--json"))
        os.remove(self.path("runs", "tiny", "replays.jsonl"))  # replay's note
        self.assertEqual(self.contents(), before)

        checkpoint = "runs/tiny/checkpoints/step-00000002.h5"
        of_run = self.sampled("runs/tiny", "a.png")
        self.assertEqual(self.sampled(checkpoint, "b.png"), of_run)

    def sampled(self, source, out):
        report = json.loads(self.ok("sample", source, "--count", "2", "--out", out, "--json"))
        with open(os.path.join(self.folder, out), "rb") as file:
            self.assertEqual(hashlib.sha256(file.read()).hexdigest(), report["sha256"])
        return report["sha256"]

    def test_a_damaged_recipe_of_a_run_is_5(self):
        self.ok("train", "tiny.toml", "--quiet")
        path = os.path.join(self.folder, "runs/tiny/recipe.toml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("lanes = 2", "lanes = 3"))
        self.assertIn("recipe.toml", self.refused(5, "inspect", "runs/tiny"))
        result = self.run_it("verify", "runs/tiny")
        self.assertEqual(result.returncode, 5)
        self.assertIn("recipe.toml", result.stdout + result.stderr)


if __name__ == "__main__":
    main()
