"""The tools that compare: replay, diff, trace, bisect and check, as their users call them."""

import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import zlib

from forger import rechained
from support import PROGRAM, SOURCE, Cli, main

GAN = os.path.join(SOURCE, "recipes/golden/toy-gan.toml")
SMALL = ["--set", "generator.hidden=16", "--set", "discriminator.hidden=16", "--threads", "1", "--quiet"]
# Several samples a lane: with one, LibTorch does not ask oneDNN.
NATIVE = ["--set", "run.numerics=native", "--set", "batch.samples_per_lane=4"]
# oneDNN's kernels without AVX: other bits than those of any CPU on which the tests run (FMA is required).
OTHER = {"ONEDNN_MAX_CPU_ISA": "SSE41"}


class Prove(Cli):
    def train(self, name, *more, recipe="tiny.toml", **environment):
        return self.once(name, "train", recipe, "--run", name, *more, "--quiet", **environment)

    def gan(self, name, *more):
        """Twelve steps, checkpoints at 5, 10 and 12."""
        self.once(name, "train", GAN, "--run", name, "--set", "run.steps=12", "--set", "checkpoint.every=5",
                  "--set", "checkpoint.keep_last=0", *SMALL, *more)

    def report(self, code, *arguments, **environment):
        result = self.run_it(*arguments, "--json", **environment)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return json.loads(result.stdout)

    def flip(self, *names, at, by=1):
        content = bytearray(self.read(*names))
        content[at] ^= by
        self.write(os.path.join(*names), bytes(content))


class Replay(Prove):
    def test_spots_say_what_they_cover_and_repeat_by_their_seed(self):
        self.gan("run")
        first = self.report(0, "replay", "run", "--spot", "2", "--spot-steps", "2", "--quiet")
        again = self.report(0, "replay", "run", "--spot", "2", "--spot-steps", "2", "--seed", str(first["seed"]))
        self.assertEqual(first, again)
        recomputed = set()
        for window in first["windows"]:
            self.assertEqual(window["started"], (window["from"] - 1) // 5 * 5)
            recomputed |= set(range(window["started"] + 1, window["to"] + 1))
        self.assertEqual(first["compared"], len(recomputed))
        self.assertEqual(first["steps"], 12)
        draws = {json.dumps(self.report(0, "replay", "run", "--spot", "2", "--spot-steps", "1", "--seed", str(seed))
                            ["windows"]) for seed in range(8)}
        self.assertGreater(len(draws), 3)
        for draw in draws:  # what people take is among them
            self.assertEqual(json.loads(draw)[-1]["to"], 12)

    def test_spots_that_meet_become_one_window(self):
        self.gan("run")
        report = self.report(0, "replay", "run", "--spot", "50", "--spot-steps", "3", "--seed", "1")
        self.assertEqual([(w["from"], w["to"]) for w in report["windows"]], [(1, 12)])
        self.assertIn("12 of 12 steps (100.0 %) were recomputed and agree, the last ones among them; drawn with --seed 1\n",
                      self.ok("replay", "run", "--spot", "50", "--spot-steps", "3", "--seed", "1", "--quiet"))

    def test_compares_checkpoints_with_what_it_recomputes(self):
        """That another state is found is tests/cli/sign_test.py's."""
        self.gan("run")
        for saved, *words in ((3,), (0, "--from", "6", "--to", "9"), (1, "--from", "6", "--to", "10"), (3, "--ranks", "2")):
            self.assertEqual(self.report(0, "replay", "run", *words)["checkpoints"], saved, words)

    def test_a_run_is_verified_as_one_whatever_else_lies_in_its_folder(self):
        """A data set's folder is known by its index: beside a ledger it is none."""
        self.gan("run")
        with open(self.path("d-images-idx3-ubyte"), "wb") as file:
            file.write(b"\0\0\x08\x03" + struct.pack(">III", 4, 2, 2) + bytes(16))
        self.ok("pack", "d-images-idx3-ubyte", "shards", "--shard-size", "64K", "--no-labels")
        self.assertEqual(json.loads(self.ok("verify", "shards", "--json"))["images"], 4)
        for name in os.listdir(self.path("shards")):
            shutil.copy(self.path("shards", name), self.path("run", name))
        result = self.run_it("verify", "run", "--quiet")
        self.assertEqual((result.returncode, result.stdout.splitlines()[0]), (5, "foreign: run/shards.index: it is not a file of this run, "
                         "nothing vouches for it (move it away)"))
        self.assertEqual(json.loads(self.ok("inspect", "run", "--json"))["kind"], "run")
        self.flip("run", "ledger.jsonl", at=700)
        self.assertEqual(self.run_it("verify", "run", "--quiet").returncode, 5)

    def test_where_a_run_began_is_recomputed(self):
        """Its first state is that of recipe and seed: here lines of another seed stand under the recipe."""
        self.gan("run")
        self.gan("other", "--set", "run.seed=4242")
        self.assertEqual(self.run_it("verify", "run", "--quiet").returncode, 0)
        mine, others = (self.read(name, "ledger.jsonl").decode().splitlines(keepends=True) for name in ("run", "other"))
        for keep in (True, False):
            if not keep:
                shutil.rmtree(self.path("run/checkpoints"))
            self.write("run/ledger.jsonl", "".join(rechained([mine[0], *others[1:]])))
            said = self.run_it("verify", "run", "--quiet")
            self.assertEqual(said.returncode, 1, said.stdout)
            self.assertIn("disagrees: run/ledger.jsonl: step 1 did not start from the state that recipe and seed make\n", said.stdout)
        self.train("pictures")
        shutil.rmtree(self.path("pictures/checkpoints"))
        os.rename(self.path("images"), self.path("moved"))
        told = "note: the state that step 1 starts from is not compared with that of recipe and seed (--data)\n"
        self.assertIn(told, self.ok("verify", "pictures", "--quiet"))
        self.assertNotIn(told, self.ok("verify", "pictures", "--quiet", "--data", "moved"))

    def test_nothing_is_not_the_same(self):
        self.gan("a")
        shutil.copytree(self.path("a"), self.path("b"))
        shutil.rmtree(self.path("b/checkpoints"))
        with open(self.path("a/ledger.jsonl"), encoding="ascii") as file:
            self.write("b/ledger.jsonl", file.readline())
        for command in (("diff", "a", "b"), ("diff", "a/ledger.jsonl", "b/ledger.jsonl"), ("bisect", "a", "b")):
            self.assertEqual(self.refused(125, *command), "no step is in both ledgers: one of them ends before step 1 (train it further)")

    def test_any_number_of_ranks(self):
        self.gan("run", "--ranks", "3")
        for ranks in ("2", "5"):  # alone: the other tests
            self.assertIn("PASS", self.ok("replay", "run", "--ranks", ranks, "--quiet"))
        self.assertIn("give --seed", self.refused(2, "replay", "run", "--ranks", "2", "--spot", "1"))

    def test_ranks_whose_copies_of_the_run_differ_take_what_all_have(self):
        """As they may see them of a run that is trained meanwhile, which gets lines and loses checkpoints."""
        self.gan("whole")
        shutil.copytree(self.path("whole"), self.path("less"))
        os.remove(self.path("less/checkpoints/step-00000010.h5"))
        os.remove(self.path("less/checkpoints/step-00000012.h5"))
        lines = self.read("whole/ledger.jsonl").splitlines(keepends=True)
        self.write("less/ledger.jsonl", b"".join(lines[:-1]))  # 11 steps
        for first, second in (("whole", "less"), ("less", "whole")):
            for words, said in ((["--from", "11"], "PASS: steps 11 to 11 recomputed from step 5"),
                                (["--spot", "3", "--seed", "1"], "of 11 steps")):
                results = self.as_ranks(*([PROGRAM, "replay", run, *words, "--quiet"] for run in (first, second)))
                for result in results:
                    self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(said, results[0].stdout)
                less, whole = (0, 1) if first == "less" else (1, 0)
                self.assertIn(f"note: rank {less} sees the ledger up to step 11, rank {whole} up to 12: what only some see is not "
                              "replayed\n", results[0].stdout)
            for result in self.as_ranks(*([PROGRAM, "replay", run, "--to", "12", "--quiet"] for run in (first, second))):
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(f"the ledger has steps 1 to 11 (rank {less} sees", result.stderr)

    def test_ranks_with_other_ledgers_are_told_so(self):
        self.train("a", *NATIVE)
        self.train("b", *NATIVE, **OTHER)
        for result in self.as_ranks(*([PROGRAM, "replay", run, "--quiet"] for run in ("a", "b"))):
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("up to step 2 rank 1 has another ledger than rank 0 (give all ranks the same run)", result.stderr)

    def test_ranks_that_were_asked_for_other_things_are_told_so(self):
        self.gan("run")
        asked = ["replay", "run", "--quiet"]
        for other, said in ((["train", "run", "--quiet"], "command: rank 0 on .* has 'replay', rank 1 on .* has 'train'"),
                            ([*asked, "--to", "5"], "--to: rank 0 on .* has '0', rank 1 on .* has '5'"),
                            ([*asked, "--spot", "1", "--seed", "2"], "--spot: rank 0 on .* has '0', rank 1 on .* has '1'")):
            for result in self.as_ranks([PROGRAM, *asked], [PROGRAM, *other]):
                self.assertEqual(result.returncode, 6, result.stderr)
                self.assertRegex(result.stderr, "the ranks do not belong together: " + said)

    def test_ranks_are_named_in_their_errors(self):
        self.gan("run")
        os.rename(self.path("run", "ledger.jsonl"), self.path("elsewhere"))
        told = self.run_it("replay", "run", "--ranks", "2", "--quiet").stderr.splitlines()
        said = "run has checkpoints but no ledger.jsonl (restore it from a copy)"
        self.assertEqual(len(told), 2)
        for rank, line in enumerate(sorted(told)):  # its own, or that it heard of the other's
            self.assertTrue(line.startswith(f"lockstep: rank {rank}: ") and line.endswith(said), line)

    def test_windows_that_are_none(self):
        self.gan("run")
        for window in (["--from", "0"], ["--from", "13"], ["--to", "13"], ["--from", "5", "--to", "4"]):
            self.refused(2, "replay", "run", *window)
        self.refused(2, "replay", "run", "--to", "-1")
        self.refused(2, "replay", "run", "--spot", "1", "--from", "2")

    def test_a_failure_names_tensor_and_element(self):
        self.train("run", "--set", "run.steps=3", *NATIVE)
        before = self.contents("run")
        failed = self.run_it("replay", "run", "--quiet", **OTHER)
        self.assertEqual(failed.returncode, 1, failed.stdout)
        self.assertIn("conv2d gives other bits here than where it was trained last", failed.stderr)
        self.assertRegex(failed.stdout, r"^FAIL: step \d: its .* is not what the ledger says\n"
                                        r"checkpoint of step 3: \d+ tensors differ, first model/\S+, element \d+: "
                                        r"\S+ here, \S+ there; \d+ of its \d+ elements, at most \d+ ulp\n$")
        after = self.contents("run")
        del after["replays.jsonl"]
        self.assertEqual(after, before)

    def test_a_signal_ends_the_way_to_the_tensor_and_keeps_the_verdict(self):
        self.train("run", "--set", "run.steps=100", "--set", "checkpoint.every=0", "--threads", "1", *NATIVE)
        process = subprocess.Popen([PROGRAM, "replay", "run", "--threads", "1"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, **OTHER})
        for line in process.stderr:
            if "going on to step 100" in line:
                break
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, err)
        self.assertRegex(out, r"^FAIL: step \d+: its .* is not what the ledger says\n$")
        self.assertIn("cannot tell which tensor differs: stopped by a signal", err)

    def test_what_the_run_has_no_use_for_is_2(self):
        self.gan("a")
        no_data = "--data: the recipe makes its data, which lie nowhere (leave it out)"
        self.assertEqual(self.refused(2, "replay", "a", "--data", "."), no_data)
        self.assertEqual(self.refused(2, "verify", "a", "--data", "."), no_data)
        self.assertEqual(self.refused(2, "trace", "a", "trace.jsonl", "--data", "."), no_data)
        self.assertEqual(self.refused(2, "replay", "a", "--features", "a"),
                         "--features: the run has no evaluations (leave it out)")

    def test_a_window_over_checkpoints_begins_before_its_first_step(self):
        self.gan("run")
        report = self.report(0, "replay", "run", "--from", "9", "--to", "12")
        self.assertEqual(report["windows"], [{"started": 5, "from": 9, "to": 12}])
        self.assertEqual(report["compared"], 7)

    def test_of_other_data_is_refused(self):
        self.train("run")
        shutil.copy(self.path("images"), self.path("other"))
        self.flip("other", at=-1)
        self.assertIn("other is not the run's", self.refused(3, "replay", "run", "--data", "other"))
        self.assertIn("other is not the run's", self.refused(3, "verify", "run", "--data", "other"))
        self.assertIn("nowhere", self.refused(3, "verify", "run", "--data", "nowhere"))
        self.ok("verify", "run", "--data", "images")
        shutil.move(self.path("other"), self.path("images"))  # what lies there now is told, and no finding
        self.assertRegex(self.ok("verify", "run"), r"note: the data set \S*images is not the run's: .* is not compared \(--data\)")
        shutil.copy(self.path("images"), self.path("other"))
        self.flip("images", at=-1)
        self.train("held", "--set", "data.holdout=3")
        self.write("fewer", b"\0\0\x08\x03\0\0\0\2\0\0\0\x08\0\0\0\x08" + bytes(2 * 64))
        self.assertIn("fewer is not the run's", self.refused(3, "replay", "held", "--data", "fewer"))

    def test_a_stop_is_no_difference(self):
        self.gan("run", "--set", "run.steps=400")
        for ranks in ("1", "2"):
            process = subprocess.Popen([PROGRAM, "replay", "run", "--ranks", ranks], cwd=self.folder, text=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            for line in process.stderr:
                if "needs" in line:  # after the first step
                    break
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 75, out + err)
            self.assertIn("replaying run was stopped by a signal", err)
        self.assertFalse(os.path.exists(self.path("run", "replays.jsonl")))

    def test_is_noted_beside_the_run(self):
        self.gan("run")
        self.ok("replay", "run", "--from", "11", "--quiet")
        self.ok("replay", "run", "--spot", "1", "--quiet")
        notes = [json.loads(line) for line in self.read("run", "replays.jsonl").splitlines()]
        self.assertEqual([note["agrees"] for note in notes], [True, True])
        self.assertEqual(notes[0]["windows"], [{"started": 10, "from": 11, "to": 12}])
        self.assertEqual([notes[0]["machine"][name] for name in ("ranks", "device")], [1, "cpu"])
        self.ok("verify", "run")


class Native(Prove):
    def test_any_number_of_ranks_and_threads_gives_the_same_files(self):
        self.train("a", *NATIVE)
        for number, more in enumerate((["--ranks", "2"], ["--threads", "3"])):
            self.train(f"b{number}", *NATIVE, *more)
            self.assertEqual(self.evidence("a"), self.evidence(f"b{number}"))
        self.train("portable")
        self.assertNotEqual(self.read("a", "ledger.jsonl"), self.read("portable", "ledger.jsonl"))

    def test_pictures_do_not_depend_on_how_many_are_made(self):
        self.train("a", *NATIVE, "--set", "samples.count=0")
        for name, count in (("4", "4"), ("2", "2")):
            self.ok("sample", "a", "--count", count, "--columns", "1", "--out", f"{name}.png")
        shutil.copy(self.path("2.png"), self.path("again.png"))
        self.ok("sample", "a", "--count", "2", "--columns", "1", "--out", "again.png", "--threads", "3")
        self.assertEqual(self.read("again.png"), self.read("2.png"))

    def test_a_setting_that_contradicts_is_named(self):
        for name, value in (("MKL_CBWR", "OFF"), ("NVIDIA_TF32_OVERRIDE", "1"),
                            ("CUBLAS_WORKSPACE_CONFIG", ":0:0"), ("ONEDNN_DEFAULT_FPMATH_MODE", "BF16"),
                            ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True, backend : cudaMallocAsync"),
                            ("PYTORCH_NO_CUDA_MEMORY_CACHING", "0"), ("CUBLAS_EMULATE_SINGLE_PRECISION", "1"),
                            ("CUDNN_CONV_WSCAP_DBG", "64"), ("CUDNN_ERRATA_JSON_FILE", "errata.json"), ("PYTORCH_TUNABLEOP_ENABLED", "1"),
                            ("TORCH_BLAS_PREFER_CUBLASLT", "1"), ("TORCH_CUDNN_V8_API_DISABLED", "1"), ("CUBLASLT_WORKSPACE_SIZE", "32")):
            line = self.refused(4, "train", "tiny.toml", *NATIVE, "--quiet", **{name: value})
            self.assertIn(f"{name}={value}", line)
            self.ok("train", "tiny.toml", "--run", f"portable-{name}", "--quiet", **{name: value})
        self.assertFalse(os.path.exists(self.path("runs")))

    def test_fresh_memory_can_be_filled(self):
        self.train("a", *NATIVE)
        said = self.run_it("train", "tiny.toml", "--run", "b", *NATIVE, LOCKSTEP_FILL_MEMORY="1")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("LibTorch fills fresh memory with NaNs", said.stderr)
        self.assertEqual(self.evidence("a"), self.evidence("b"))

    def test_a_run_goes_on_with_the_libraries_of_its_last_attempt(self):
        self.train("run", *NATIVE, "--set", "run.steps=1")
        facts = json.loads(self.read("run/environment/attempt-001-rank-0.json"))
        for name in ("libtorch", "mkl", "onednn"):
            self.write("run/environment/attempt-001-rank-0.json", json.dumps({**facts, name: "another"}))
            line = self.refused(4, "train", "tiny.toml", *NATIVE, "--run", "run", "--quiet")
            self.assertIn(f"it was trained last with {name} another, and this has {facts[name]}", line)
        self.write("run/environment/attempt-001-rank-0.json", json.dumps({**facts, "cuda": "12.8"}))  # which a CPU does not use
        self.ok("train", "tiny.toml", *NATIVE, "--run", "run", "--quiet")
        self.ok("train", "tiny.toml", "--run", "portable", "--quiet", "--set", "run.steps=1")
        self.write("portable/environment/attempt-001-rank-0.json", json.dumps({**facts, "libtorch": "2.10.0"}))
        self.ok("train", "tiny.toml", "--run", "portable", "--quiet")

    def test_tf32_and_the_setting_that_forbids_it(self):
        tf32 = (*NATIVE, "--set", "run.precision=tf32", "--quiet")
        line = self.refused(4, "train", "tiny.toml", *tf32, NVIDIA_TF32_OVERRIDE="0")
        self.assertIn("NVIDIA_TF32_OVERRIDE=0: native numerics need TF32", line)
        self.assertIn("leave it unset, or set it to 1", line)
        self.assertFalse(os.path.exists(self.path("runs")))
        self.ok("train", "tiny.toml", *tf32, "--run", "allowed", NVIDIA_TF32_OVERRIDE="1")
        self.ok("train", "tiny.toml", *tf32, "--run", "unset")
        with open(self.path("unset", "environment", "attempt-001-rank-0.json")) as file:
            self.assertNotIn("env.NVIDIA_TF32_OVERRIDE", json.load(file))

    def test_kernels_are_tried_in_the_recipes_precision(self):
        rounded = (*NATIVE, "--set", "run.precision=bfloat16")
        self.train("a", *rounded)
        with open(self.path("a", "recipe.toml")) as file:
            self.assertIn('precision = "bfloat16"', file.read())
        own = "a/environment/attempt-001-rank-0.json"
        self.write("same.json", self.ok("fingerprint", "--json", "--recipe", "a/recipe.toml"))
        report = self.report(0, "check", own, "same.json", "--recipe", "a/recipe.toml")
        self.assertTrue(report["native_tried"])
        self.write("float32.json", self.ok("fingerprint", "--json"))
        report = self.report(0, "check", own, "float32.json", "--recipe", "a/recipe.toml")
        self.assertFalse(report["native_tried"])
        here = json.loads(self.read("same.json"))["native.conv2d_bfloat16"]
        # oneDNN multiplies bfloat16 where the CPU has AVX-512; elsewhere LibTorch's own kernels do.
        for other, named in ((OTHER, "_bfloat16"), ({"ATEN_CPU_CAPABILITY": "default"}, "libtorch_cpu")):
            facts = self.ok("fingerprint", "--json", "--recipe", "a/recipe.toml", **other)
            if json.loads(facts)["native.conv2d_bfloat16"] != here:
                break
        self.write("other.json", facts)
        report = self.report(1, "check", own, "other.json", "--recipe", "a/recipe.toml")
        self.assertIn("conv2d_bfloat16", report["findings"][0]["sentence"])
        line = self.refused(4, "train", "tiny.toml", *rounded, "--run", "a", "--set", "run.steps=5", "--quiet", **other)
        self.assertIn(named, line)

    def test_resuming_where_kernels_give_other_bits_is_refused(self):
        self.train("a", *NATIVE, "--set", "run.steps=1")
        before = self.contents("a")
        line = self.refused(4, "train", "tiny.toml", *NATIVE, "--run", "a", "--quiet", **OTHER)
        self.assertIn("conv2d", line)
        after = self.contents("a")
        for each in (before, after):
            each.pop("recipe.toml")  # run.steps, which cannot change bits
            each.pop("log.txt")  # it says why
        self.assertEqual(after, before)
        self.assertIn(b"conv2d", self.read("a/log.txt"))
        self.train("a", *NATIVE)

    def test_a_damaged_environment_stops_neither_training_nor_replay(self):
        """It is no evidence."""
        self.train("a", *NATIVE, "--set", "run.steps=1")
        self.write("a/environment/attempt-001-rank-0.json", "{")
        resumed = self.run_it("train", "tiny.toml", *NATIVE, "--run", "a", "--quiet")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertIn("attempt-001-rank-0.json", resumed.stderr)
        self.ok("replay", "a", "--quiet")
        self.train("b", "--set", "run.steps=1")
        self.write("b/environment/attempt-001-rank-0.json", "{")
        resumed = self.run_it("train", "tiny.toml", "--run", "b", "--quiet")
        self.assertEqual((resumed.returncode, resumed.stderr), (0, ""))  # nothing that matters to a portable run

    def test_ranks_whose_kernels_give_other_bits_do_not_train(self):
        """Every rank but rank 0 gets another setting from this wrapper."""
        for setting, named in (("ONEDNN_MAX_CPU_ISA=SSE41", "native.conv2d"), ("ATEN_CPU_CAPABILITY=default", "libtorch_cpu: ")):
            self.write("lockstep", f"#!/bin/sh\n[ \"$RANK\" = 0 ] || export {setting}\nexec {PROGRAM} \"$@\"\n")
            os.chmod(self.path("lockstep"), 0o755)
            results = self.as_ranks(*[[self.path("lockstep"), "train", "tiny.toml", *NATIVE, "--run", "a", "--quiet"]] * 2)
            for result in results:
                self.assertEqual(result.returncode, 6, result.stderr)
            self.assertIn(named, results[0].stderr)


class Diff(Prove):
    def test_of_the_same(self):
        self.gan("a")
        self.gan("b", "--ranks", "2")
        self.assertIn("the ledgers agree on all 12 steps", self.ok("diff", "a", "b"))
        self.assertTrue(self.ok("diff", "a@12", "b/checkpoints/step-00000012.h5").endswith("same\n"))
        self.assertEqual(self.refused(125, "diff", "a@11", "b@12"),
                         "a has no checkpoint of step 11 (there are those of steps 5, 10, 12)")
        self.assertIn("(give the run's folder alone, without @STEP)", self.refused(2, "trace", "a@12", "t.jsonl"))
        self.assertIn("(give the folder alone: --from and --to say which steps)", self.refused(2, "replay", "a@12"))
        for file in ("ledger.jsonl", "recipe.toml", "checkpoints/step-00000010.h5", "samples/step-00000012.png"):
            self.assertTrue(self.ok("diff", f"a/{file}", f"b/{file}").endswith("same\n"), file)

    def test_of_a_run_that_is_longer(self):
        self.gan("a")
        self.gan("b", "--set", "run.steps=7")
        report = self.report(0, "diff", "a", "b")
        self.assertEqual((report["same"], report["steps_compared"]), (True, 7))
        self.assertEqual([(r["name"], r["bits"]) for r in report["recipe"]], [("run.steps", False)])

    def test_of_runs_that_part_names_step_tensors_and_setting(self):
        each = ["--set", "run.steps=3", "--set", "checkpoint.every=1", "--set", "checkpoint.keep_last=0", *NATIVE]
        self.train("a", *each)
        self.train("b", *each, **OTHER)
        report = self.report(1, "diff", "a", "b")
        step = report["first_difference"]["step"]
        self.assertIn("digest", report["first_difference"]["what"])
        self.assertEqual(report["checkpoints_compared"][0], step)
        self.assertIn({"name": "env.ONEDNN_MAX_CPU_ISA", "a": "", "b": "SSE41", "bits": True}, report["environment"])
        steps = [tensor["step"] for tensor in report["tensors"]]
        self.assertEqual(steps, sorted(steps))
        for tensor in report["tensors"]:
            self.assertEqual(sum(tensor["histogram"].values()) + tensor["not_finite"], tensor["different"])
            self.assertGreater(tensor["largest_ulp"], 0)
        text = self.run_it("diff", "a", "b").stdout
        self.assertIn(f"step {step} is the first that differs", text)
        self.assertIn(report["tensors"][0]["tensor"], text)
        checkpoints = self.report(1, "diff", f"a/checkpoints/step-0000000{step}.h5",
                                  f"b/checkpoints/step-0000000{step}.h5")
        self.assertEqual([t["tensor"] for t in checkpoints["tensors"]],
                         [t["tensor"] for t in report["tensors"] if t["step"] == step])

    def test_of_other_recipes(self):
        self.gan("a")
        self.gan("b", "--set", "run.seed=7")
        report = self.report(1, "diff", "a", "b")
        self.assertEqual(report["first_difference"]["step"], 0)
        self.assertEqual(report["first_losses"], 1)
        self.assertEqual([(r["name"], r["bits"]) for r in report["recipe"]], [("run.seed", True)])
        pictures = self.report(1, "diff", "a/samples/step-00000012.png", "b/samples/step-00000012.png")
        self.assertGreater(pictures["picture"]["different"], 0)

    def test_of_other_data_names_both_and_the_first_step_that_shows_it(self):
        self.train("a", "--set", "run.steps=9")
        self.flip("images", at=-1)
        self.train("b", "--set", "run.steps=9")
        report = self.report(1, "diff", "a", "b")
        self.assertEqual([difference["name"] for difference in report["files"]], ["ledger's data"])
        losses = [[json.loads(line)["loss"] for line in self.read(f"{run}/ledger.jsonl").splitlines()[1:]] for run in "ab"]
        first = next(i for i, (a, b) in enumerate(zip(*losses)) if a != b) + 1
        self.assertEqual(report["first_losses"], first)
        self.assertIn(f"data differs; the losses differ from step {first} on", self.run_it("diff", "a", "b").stdout)
        self.ok("pack", "images", "pack.h5")
        self.assertIn("pack.h5 is a data file, and those are not compared", self.refused(125, "diff", "pack.h5", "pack.h5"))
        self.ok("sample", "a", "--count", "1", "--out", "s.npz")
        self.assertIn("s.npz is an archive of samples, and those are not compared (`cmp` compares their bytes", self.refused(125, "diff", "s.npz", "s.npz"))

    def test_of_pictures_of_another_shape(self):
        self.train("a")
        for columns in ("2", "8"):
            self.ok("sample", "a", "--count", "16", "--columns", columns, "--out", f"{columns}.png")
        report = self.report(1, "diff", "2.png", "8.png")
        self.assertEqual({"width", "height"}, {fact["name"] for fact in report["files"]} & {"width", "height"})
        self.assertNotIn("picture", report)

    def test_of_pictures_with_other_chunks(self):
        self.train("a")
        self.ok("sample", "a", "--count", "4", "--out", "a.png")
        png = self.read("a.png")

        def other(*chunks, behind=b"", cut=33):
            made = b"".join(struct.pack(">I", len(data)) + kind + data +
                            struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)
            self.write("b.png", png[:33] + made + png[cut:] + behind)
            report = self.report(1, "diff", "a.png", "b.png")
            self.assertEqual(report["picture"]["different"], 0)
            return [fact["name"] for fact in report["files"]]

        self.assertEqual(other((b"gAMA", b"\0\0\xb1\x8f")), ["gAMA"])
        self.assertIn("the pixels are the same, the chunks named above differ", self.run_it("diff", "a.png", "b.png").stdout)
        self.assertEqual(other((b"tEXt", b"step\0" b"7")), ["tEXt step"])
        self.assertEqual(other((b"tEXt", b"\0")), ["tEXt"])
        self.assertEqual(other((b"acTL", bytes(8)), (b"zTXt", b"k\0\0x")), ["acTL", "zTXt"])
        self.assertEqual(other(behind=b"more"), ["behind IEND"])
        at = png.index(b"IDAT") - 4
        packed = zlib.compress(zlib.decompress(png[at + 8:-16]))
        texts = [(b"tEXt", text) for text in self.texts(png)]
        self.assertEqual(other(*texts, (b"IDAT", packed), cut=len(png) - 12), ["IDAT"])
        self.assertEqual(self.report(0, "diff", "a.png", "a.png")["files"], [])

    @staticmethod
    def texts(png):
        at, found = 8, []
        while at < len(png):
            length = struct.unpack(">I", png[at:at + 4])[0]
            if png[at + 4:at + 8] == b"tEXt":
                found.append(png[at + 8:at + 8 + length])
            at += length + 12
        return found

    def test_of_fingerprints(self):
        self.write("a.json", self.ok("fingerprint", "--json"))
        self.write("b.json", self.ok("fingerprint", "--json", **OTHER))
        self.ok("diff", "a.json", "a.json")
        names = [e["name"] for e in self.report(1, "diff", "a.json", "b.json")["environment"]]
        self.assertIn("env.ONEDNN_MAX_CPU_ISA", names)
        self.assertIn("native.conv2d", names)

    def test_what_cannot_be_compared(self):
        self.gan("a")
        shutil.copytree(self.path("a"), self.path("b"))
        self.flip("b", "ledger.jsonl", at=700)
        for pair in (("a", "none"), ("a", "a/ledger.jsonl"), ("a/ledger.jsonl", "a/recipe.toml"), ("a", "b"),
                     ("tiny.toml", "images")):
            self.refused(125, "diff", *pair)

    def test_a_checkpoint_is_known_under_another_name(self):
        self.gan("a")
        for tail in ("", ".sha256"):
            shutil.copy(self.path(f"a/checkpoints/step-00000010.h5{tail}"), self.path(f"kept{tail}"))
        self.assertTrue(self.ok("diff", "kept", "a@10").endswith("same\n"))


class Bisect(Prove):
    EACH = ["--set", "run.steps=2", *NATIVE]

    def test_names_the_first_operation_that_computes_other_bits(self):
        self.train("a", *self.EACH)
        self.train("b", *self.EACH, **OTHER)
        report = self.report(1, "bisect", "a", "b", "--env-b", "ONEDNN_MAX_CPU_ISA=SSE41")
        self.assertRegex(report["odd"]["a"], r"^model/\S+(: conv2d$|, backward of conv2d)")
        self.assertEqual(report["odd"]["a"], report["odd"]["b"])
        self.assertGreater(report["values"]["different"], 0)
        self.assertIn("env.ONEDNN_MAX_CPU_ISA: - | SSE41", report["environment"])
        text = self.run_it("bisect", "a", "b", "--env-b", "ONEDNN_MAX_CPU_ISA=SSE41").stdout
        self.assertIn("is the first operation that differs: its inputs agree, its output does not", text)

    def test_libtorchs_own_instructions(self):
        """The other variable that README's story might have been told with: each tool, one command."""
        other = {"ATEN_CPU_CAPABILITY": "default"}
        self.write("a.json", self.ok("fingerprint", "--json"))
        self.write("b.json", self.ok("fingerprint", "--json", **other))
        self.assertIn("attention", self.report(1, "check", "a.json", "b.json")["findings"][0]["sentence"])
        each = ["--set", "checkpoint.every=1", "--set", "checkpoint.keep_last=0", *self.EACH]
        self.train("a", *each)
        self.train("b", *each, **other)
        difference = self.report(1, "diff", "a", "b")
        self.assertEqual(difference["first_difference"]["step"], difference["tensors"][0]["step"])
        report = self.report(1, "bisect", "a", "b", "--env-b", "ATEN_CPU_CAPABILITY=default")
        self.assertRegex(report["odd"]["a"], r"^model\S*: \w+$")
        self.assertIn("its inputs agree, its output does not", report["odd"]["what"])
        self.assertEqual(report["not_as_ledger"], {})

    def test_a_trace_from_elsewhere(self):
        self.train("a", *self.EACH)
        self.ok("trace", "a", "there.jsonl", "--step", "1", "--quiet", **OTHER)
        report = self.report(1, "bisect", "a", "there.jsonl")
        self.assertRegex(report["odd"]["a"], "conv2d")
        self.assertNotIn("values", report)

    def test_one_run_two_ways_names_the_first_step_after_the_checkpoint_that_differs(self):
        """Step 2 is computed from step 0: step 1 is already another in the second environment."""
        self.train("a", *self.EACH)
        report = self.report(1, "bisect", "a", "a", "--step", "2", "--env-b", "ONEDNN_MAX_CPU_ISA=SSE41")
        self.assertEqual(report["step"], 1)
        self.assertIn("conv2d", report["odd"]["a"])
        self.assertEqual(report["not_as_ledger"], {"b": 1})
        self.ok("trace", "a", "there.jsonl", "--step", "2", "--quiet", **OTHER)
        self.assertIn("make the trace of that step", self.refused(125, "bisect", "a", "there.jsonl"))

    def test_a_side_that_does_not_make_its_own_ledger_again_is_named(self):
        self.train("a", *self.EACH)
        self.train("b", *self.EACH, **OTHER)
        line = self.refused(125, "bisect", "a", "b")
        self.assertIn("computed here both sides agree", line)
        self.assertIn("in which b was trained", line)
        text = self.run_it("bisect", "a", "b", "--env-a", "ONEDNN_MAX_CPU_ISA=SSE41").stdout
        self.assertIn("is not what the ledger of a says", text)
        self.assertIn("is not what the ledger of b says", text)

    def test_the_last_setting_of_a_name_counts(self):
        self.train("a", *self.EACH)
        self.report(0, "bisect", "a", "a", "--step", "1", "--env-b", "ONEDNN_MAX_CPU_ISA=SSE41",
                    "--env-b", "ONEDNN_MAX_CPU_ISA=DEFAULT")

    def test_options_that_mean_nothing_are_refused(self):
        self.train("a")
        self.ok("trace", "a", "one.jsonl", "--step", "1", "--quiet")
        for setting in ("NAME", "=value"):
            self.assertIn("NAME=VALUE", self.refused(2, "bisect", "a", "a", "--step", "1", "--env-a", setting))
        self.refused(2, "bisect", "a", "a", "--step", "-1")
        self.assertIn("`lockstep bisect` compares traces", self.refused(125, "diff", "one.jsonl", "one.jsonl"))
        self.assertIn("true wrote no trace of step 1",
                      self.refused(125, "bisect", "a", "a", "--step", "1", "--program-b", shutil.which("true")))
        self.assertIn("is a trace", self.refused(125, "bisect", "a", "one.jsonl", "--env-b", "A=b"))
        self.assertIn("has its own lockstep",
                      self.refused(125, "bisect", "a", "a", "--step", "1", "--program-a", PROGRAM, "--container-a", "i"))
        self.assertIn("not of 2", self.refused(125, "bisect", "a", "one.jsonl", "--step", "2"))
        self.assertIn("there is no operation 99999",
                      self.refused(2, "trace", "a", "x.jsonl", "--step", "1", "--values-of", "99999", "--quiet"))

    def test_of_the_same(self):
        self.train("a")
        self.train("b", "--ranks", "2")
        self.assertIn("the ledgers agree", self.ok("bisect", "a", "b"))
        self.assertRegex(self.ok("bisect", "a", "b", "--step", "2", "--env-b", "LOCKSTEP_ISA=scalar"),
                         r"step 2: all \d+ operations agree")

    def test_what_cannot_be_compared(self):
        self.train("a")
        self.train("b", "--set", "run.seed=2")
        self.refused(125, "bisect", "a", "b")
        self.assertIn("give a run's folder, or a file that `lockstep trace` made", self.refused(125, "bisect", "a", "none"))
        self.assertIn("the runs are not to be compared step by step: recipe differs", self.refused(125, "bisect", "a", "b"))
        self.refused(125, "bisect", "a", "tiny.toml")
        self.refused(125, "bisect", "a", "a", "--step", "2", "--program-b", "/nonexistent")
        self.assertEqual(self.run_it("bisect", "a", "a", "--step", "9").returncode, 125)
        self.ok("trace", "a", "one.jsonl", "--step", "1", "--quiet")
        self.ok("trace", "a", "two.jsonl", "--step", "2", "--quiet")
        self.refused(125, "bisect", "one.jsonl", "two.jsonl")


class Check(Prove):
    def test_ranks_of_one_machine(self):
        text = self.ok("check", "--ranks", "2")
        self.assertIn("2 nodes (1 machine): portable kernels give the bits that every machine must give; "
                      "native kernels give the same bits on all", text)
        self.refused(2, "check", "--ranks", "2", "--recipe", "none.toml")

    def test_counts_machines_not_reports(self):
        facts = json.loads(self.ok("fingerprint", "--json"))
        self.write("a.json", json.dumps(facts))
        self.write("b.json", json.dumps({**facts, "host": "another"}))
        self.write("c.json", json.dumps(facts))
        self.assertIn("2 nodes (1 machine): ", self.ok("check", "a.json", "c.json"))
        self.assertIn("3 nodes (2 machines): ", self.ok("check", "a.json", "b.json", "c.json"))
        self.assertRegex(self.ok("check", "a.json"), "^1 node: portable kernels give the bits that every machine must "
                         "give; native kernels were tried, and compared with no other node's\n$")
        report = self.report(0, "check", "a.json", "b.json", "c.json")
        self.assertEqual([report["machines"], report["gpus"]], [2, 0])

    def test_tells_bits_from_names(self):
        self.write("a.json", self.ok("fingerprint", "--json"))
        self.write("b.json", self.ok("fingerprint", "--json", **OTHER))
        facts = json.loads(self.read("a.json"))
        self.write("c.json", json.dumps({**facts, "mkl": "another"}))
        self.write("native.toml", "[run]\nnumerics = \"native\"\n")
        self.assertIn("conv2d", self.report(1, "check", "a.json", "b.json")["findings"][0]["sentence"])
        self.report(0, "check", "a.json", "b.json", "--recipe", "tiny.toml")
        self.report(1, "check", "a.json", "b.json", "--recipe", "native.toml")
        self.report(0, "check", "a.json", "c.json")
        self.report(4, "check", "a.json", "c.json", "--recipe", "native.toml")

    def test_native_kernels_that_nobody_can_try_end_a_native_run_beforehand(self):
        self.write("native.toml", self.read("tiny.toml").replace(b"[run]\n", b'[run]\nnumerics = "native"\n', 1))
        report = self.report(4, "check", "--recipe", "native.toml", MKL_CBWR="OFF")
        self.assertIn("native kernels were not tried: on rank 0 (", report["findings"][0]["sentence"])
        self.report(0, "check", "--recipe", "tiny.toml", MKL_CBWR="OFF")
        result = self.run_it("doctor", "native.toml", MKL_CBWR="OFF")
        self.assertEqual(result.returncode, 4, result.stdout)
        self.assertRegex(result.stdout, "(?m)^FAIL  native +native kernels do not work here: ")
        self.assertRegex(self.ok("doctor", "native.toml"), "(?m)^ok    native +kernels of LibTorch .* work$")
        self.assertIn("leave one of them out", self.refused(2, "check", "native.json", "--device", "cuda"))

    def test_a_machine_that_computes_wrongly(self):
        facts = json.loads(self.ok("fingerprint", "--json"))
        self.write("a.json", json.dumps(facts))
        self.write("b.json", json.dumps(self.with_own_self_test({**facts, "portable.updates": "00" * 32})))
        report = self.report(1, "check", "a.json", "b.json", "--recipe", "tiny.toml")
        self.assertIn("updates (portable) is wrong on b.json", report["findings"][0]["sentence"])

    def test_of_a_runs_own_reports(self):
        self.train("a", "--ranks", "2", *NATIVE)
        reports = [f"a/environment/{name}" for name in os.listdir(self.path("a", "environment"))]
        self.assertEqual(len(reports), 2)
        self.assertTrue(self.report(0, "check", *reports)["native_tried"])

    def test_of_reports_with_and_without_native_kernels(self):
        self.train("portable")
        self.write("here.json", self.ok("fingerprint", "--json"))
        report = self.report(0, "check", "portable/environment/attempt-001-rank-0.json", "here.json")
        self.assertFalse(report["native_tried"])

    def test_a_node_whose_setting_forbids_native_kernels_is_compared(self):
        self.write("a.json", self.ok("fingerprint", "--json"))
        self.write("b.json", self.ok("fingerprint", "--json", MKL_CBWR="OFF"))
        report = self.report(0, "check", "a.json", "b.json")
        self.assertIn("MKL_CBWR=OFF", "".join(finding["sentence"] for finding in report["findings"]))

    @staticmethod
    def with_own_self_test(facts):
        kernels = [(name.removeprefix("portable."), value) for name, value in facts.items()
                   if name.startswith("portable.")]
        text = "".join(f"{name} {value}\n" for name, value in kernels)
        return {**facts, "self_test": hashlib.sha256(text.encode()).hexdigest()}

    def test_what_is_no_report(self):
        for text in ("[]", "{}", '{"a": "b"}', '{"self_test": "x"}'):
            self.write("bad.json", text)
            self.assertIn("bad.json", self.refused(2, "check", "bad.json"))
        self.refused(2, "check", "none.json")

    def test_a_report_that_does_not_hold_together_says_nothing_about_a_machine(self):
        facts = json.loads(self.ok("fingerprint", "--json"))
        without = {name: value for name, value in facts.items() if name != "portable.silu"}
        for forged, why in (({**facts, "self_test": "00" * 32}, "its self_test is not that of its kernels"),
                            ({**facts, "portable.silu": "00" * 32}, "its self_test is not that of its kernels"),
                            (without, "it has no portable.silu"),
                            (self.with_own_self_test(without), "it has no portable.silu"),
                            ({**facts, "portable.silu": "x"}, "portable.silu is not a hash"),
                            (self.with_own_self_test({**facts, "portable.new": "00" * 32}),
                             "portable.new is none of this version's kernels")):
            self.write("forged.json", json.dumps(forged))
            self.assertIn("forged.json: it is not a complete fingerprint: " + why,
                          self.refused(2, "check", "forged.json"))
        self.write("same.json", json.dumps(self.with_own_self_test(facts)))
        self.report(0, "check", "same.json")


if __name__ == "__main__":
    main()
