"""A step that does not fit into memory is refused before it starts, or takes fewer lanes at once: the same bytes."""

import json
import os
import re
import resource
import shlex
import subprocess

from support import PROGRAM, SOURCE, Cli, main, not_beside_sanitizers

RECIPE = os.path.join(SOURCE, "recipes/fashion-mnist-ddpm.toml")
# 8 lanes of 16 samples: about 300 MiB at once, 65 one by one.
FEW = ["--set", "run.steps=1", "--set", "samples.count=0", "--set", "batch.samples_per_lane=16", "--threads", "1"]
MIB = 1 << 20


@not_beside_sanitizers
class Memory(Cli):
    def limited(self, space, *arguments):
        """The program with an address space of so many bytes."""
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, text=True, capture_output=True, timeout=300,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (space, space)))

    def space_for(self, mib):
        """The address space that leaves so many MiB to the step, the program having taken its own."""
        wide = 1200 * MIB  # less than a GiB is left, so that it is said in MiB
        text = self.limited(wide, "train", RECIPE, *FEW, "--dry-run").stdout
        left = re.search(r"\(ulimit -v\) leaves ([0-9.]+) MiB", text)
        self.assertTrue(left, text)
        return wide + int((mib - float(left[1])) * MIB)

    def peak(self, *arguments):
        """What the command had in memory at most, in bytes."""
        process = subprocess.Popen([PROGRAM, *arguments, "--quiet"], cwd=self.folder, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss * 1024

    def steps(self, *arguments):
        """Of a dry run: bytes of a step by lanes at once."""
        report = json.loads(self.ok("train", *arguments, "--dry-run", "--json"))
        return {row["lanes_at_once"]: row["step_bytes"] for row in report["memory"]}

    def test_the_dry_run_says_what_a_step_takes(self):
        steps = self.steps(RECIPE, *FEW)
        self.assertEqual(list(steps), [8, 4, 2, 1])
        one = self.peak("train", RECIPE, *FEW, "--run", "one", "--lanes-at-once", "1")
        all_ = self.peak("train", RECIPE, *FEW, "--run", "all")
        # What the program takes anyhow drops out of the difference. Not exact: malloc loses a few parts of 100, and
        # kernels have scratch memory.
        self.assertLess(abs((all_ - one) / (steps[8] - steps[1]) - 1), 0.2)
        self.assertEqual(self.evidence("one"), self.evidence("all"))
        self.assertLess(self.peak("replay", "all", "--threads", "1", "--lanes-at-once", "1"), 0.7 * all_)

    def test_the_last_checkpoint_is_counted_whatever_the_others(self):
        large = [os.path.join(SOURCE, "recipes/golden/toy-gan.toml"), "--set", "batch.lanes=1", "--set", "generator.hidden=1024",
                 "--set", "samples.count=0"]
        for every, least in ((0, 2), (100, 2.2)):  # beside no step, or beside passes
            report = json.loads(self.ok("train", *large, "--set", f"checkpoint.every={every}", "--dry-run", "--json"))
            self.assertGreater(report["memory"][0]["step_bytes"], least * report["state_bytes"])

    def test_fewer_lanes_are_taken_where_all_do_not_fit(self):
        self.ok("train", RECIPE, *FEW, "--run", "all")
        space = self.space_for(400)  # 8 lanes want 471 with what is allowed for, 4 want 314
        result = self.limited(space, "train", RECIPE, *FEW, "--run", "some")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"[124] lanes? of 8 at once: 8 lanes at once need \d\d\d\.\d MiB \(state .*\), "
                                        r"and the address space \(ulimit -v\) leaves \d+\.\d MiB")
        self.assertEqual(self.evidence("some"), self.evidence("all"))
        self.assertEqual(self.limited(space, "replay", "all", "--threads", "1").returncode, 0)
        # Asked for, they are refused, and nothing is left behind.
        for command in (["train", RECIPE, *FEW, "--run", "none"], ["replay", "all", "--threads", "1"]):
            line = self.one_line(4, self.limited(space, *command, "--lanes-at-once", "8", "--quiet"))
            self.assertIn("8 lanes at once need ", line)
            self.assertIn("lower --lanes-at-once", line)
        self.assertFalse(os.path.exists(self.path("none")))

    def test_a_model_larger_than_memory_is_4_and_still_described(self):
        large = [RECIPE, *FEW, "--set", "model.channels=[128, 128]", "--set", "model.attention_levels=[1]"]
        space = self.space_for(250)
        line = self.one_line(4, self.limited(space, "train", *large, "--run", "large"))
        self.assertRegex(line, r"needs? \d+\.\d MiB \(state .*\), libraries and allocators up to \d+\.\d MiB more, "
                               r"and .* leaves .* \(raise that limit, use more machines")
        self.assertFalse(os.path.exists(self.path("large")))
        result = self.limited(space, "train", *large, "--dry-run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(", too much here\n# here ", result.stdout)

    def test_a_tensor_that_no_plan_holds_is_4_with_its_size(self):
        line = self.refused(4, "train", RECIPE, "--dry-run", "--set", "batch.lanes=16", "--set",
                            "batch.samples_per_lane=65536", "--set", "model.channels=[1024, 1024]", "--set", "model.attention_levels=[]")
        self.assertRegex(line, r"^step 1: one tensor alone needs \d+\.\d TiB of memory, more than fits into this process \(lower "
                               r"--lanes-at-once, batch\.samples_per_lane or the model's size\)$")

    def test_a_dry_run_of_some_lanes_at_once_is_of_these(self):
        self.assertEqual(list(self.steps(RECIPE, *FEW, "--lanes-at-once", "3")), [3])

    def test_a_limit_on_files_is_named(self):
        script = f'ulimit -f 1000; exec {shlex.quote(PROGRAM)} train {RECIPE} --run small'
        result = subprocess.run(["bash", "-c", script], cwd=self.folder, text=True, capture_output=True, timeout=300)
        self.assertRegex(self.one_line(4, result), r"File too large \(allow larger files: ulimit -f\)$")

    def test_more_than_a_tensor_can_hold_is_2(self):
        line = self.refused(2, "train", "tiny.toml", "--dry-run", "--set", "model.channels=[65536, 65536]")
        self.assertIn("38654705664 elements", line)


if __name__ == "__main__":
    main()
