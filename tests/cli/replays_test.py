"""Replays that others computed, in containers, and the lines that replays leave beside a run."""

import json
import os
import re
import shutil

from prove_test import Prove
from support import PROGRAM, main


class Contained(Prove):
    """The words and codes of a container's engine: a script that runs the command here, or what a test has it do.
    Real containers: tests/containers."""

    def engine(self, does):
        self.write("podman", f"#!/bin/sh\nwhile [ \"$1\" != lockstep ]; do shift; done\nshift\n{does}\n")
        os.chmod(self.path("podman"), 0o755)
        return ["--container", "image", "--engine", self.path("podman") + " --storage-driver vfs"]

    def contained(self):
        """How many lines are noted of containers; this engine's own lockstep notes others, which a real one cannot."""
        notes = [json.loads(line) for line in self.read("run", "replays.jsonl").splitlines()]
        return sum("container" in note["machine"] for note in notes)

    def test_what_it_computed_is_shown_and_noted(self):
        self.gan("run")
        engine = self.engine(f'exec {PROGRAM} "$@"')
        report = self.report(0, "replay", "run", "--from", "11", *engine)
        self.assertEqual(report["machine"]["container"], "image")
        self.assertIn("PASS: steps 11 to 12", self.ok("replay", "run", "--from", "11", "--quiet", *engine))
        notes = [json.loads(line) for line in self.read("run", "replays.jsonl").splitlines()]
        self.assertEqual([note["machine"].get("container") for note in notes], [None, "image"] * 2)

    def test_it_sees_the_images_and_their_labels(self):
        images = os.path.realpath(self.path("x-images-idx3-ubyte"))
        labels = os.path.realpath(self.path("x-labels-idx1-ubyte"))
        os.rename(self.path("images"), images)
        self.write("x-labels-idx1-ubyte", b"\0\0\x08\x01\0\0\0\x10" + bytes(range(16)))
        run = os.path.realpath(self.path("run"))
        for classes, mounts in ((16, [run, images, labels]), (0, [run, images])):
            self.ok("train", "tiny.toml", "--quiet", "--run", "run", "--set", f"data.path={images}", "--set",
                    f"data.classes={classes}")
            engine = self.engine("exit 0")
            self.write("podman", f"#!/bin/sh\necho $* > {self.path('words')}\nexit 127\n")
            self.refused(4, "replay", "run", "--quiet", *engine)
            words = self.read("words").decode().split()
            seen = [word.split(":")[0] for at, word in enumerate(words) if words[at - 1] == "--volume"]
            self.assertEqual([os.path.realpath(path) for path in seen], mounts)
            self.assertEqual(os.path.realpath(words[words.index("--data") + 1]), images)
            shutil.rmtree(run)

    def test_a_run_that_is_not_finished_is_told(self):
        self.gan("run")
        self.assertNotIn("note:", self.ok("replay", "run", "--from", "11", "--quiet"))
        lines = self.read("run", "ledger.jsonl").splitlines(keepends=True)
        self.write("run/ledger.jsonl", b"".join(lines[:-2]))
        for file in os.listdir(self.path("run", "checkpoints")):
            if file > "step-000000010":
                os.remove(self.path("run", "checkpoints", file))
        said = self.ok("replay", "run", "--from", "9", "--quiet")
        self.assertIn("PASS: steps 9 to 10", said)
        self.assertIn("note: the run is not finished: its recipe has 12 steps\n", said)
        self.assertEqual(self.report(0, "replay", "run")["unfinished"], "the run is not finished: its recipe has 12 steps")

    def test_the_device_is_the_containers(self):
        self.gan("run")
        for device in ("cpu", "cuda:3"):
            self.refused(4, "replay", "run", "--quiet", "--device", device, *self.engine("echo $* > words; exit 127"))
            self.assertEqual(b"--device cuda:3" in self.read("words"), device != "cpu")

    def test_the_engines_words_may_hold_its_verb_and_what_comes_behind(self):
        self.gan("run")
        engine = self.engine("exit 127")
        self.write("podman", f"#!/bin/sh\necho $* > {self.path('words')}\nexit 127\n")
        for more in ("", " run --gpus all"):
            self.refused(4, "replay", "run", "--quiet", *engine[:-1], engine[-1] + more)
            self.assertRegex(self.read("words").decode(), rf"^--storage-driver vfs{more or ' run'} --rm ")

    def test_what_is_no_report_proves_nothing(self):
        self.gan("run")
        honest = f'{PROGRAM} "$@" >&2'
        for does in ("exit 0", "echo PASS", "echo '{\"agrees\":true}'", "echo '{\"agrees\":\"yes\",\"windows\":[]}'",
                     f'{PROGRAM} "$@"; exit 1', "exit 1", f"{honest} 2>/dev/null; exit 0"):
            result = self.run_it("replay", "run", "--quiet", *self.engine(does))
            self.assertEqual(result.returncode, 4, does + result.stdout + result.stderr)
            self.assertIn("did not report the replay asked for", result.stderr)
            self.assertEqual(result.stdout, "")
        self.assertEqual(self.contained(), 0)

    def test_what_was_not_asked_for_proves_nothing(self):
        command = ["replay", "run", "--from", "11", "--quiet"]
        self.gan("run")
        for wrong in (r's/"windows":\[[^]]*\]/"windows":[]/', 's/"from":11/"from":12/', 's/"to":12/"to":11/',
                      's/"started":10/"started":-1/', 's/"compared":2/"compared":-2/', 's/"compared":2/"compared":12/',
                      's/"steps":12/"steps":0/', 's/"started":10,"from":11,"to":12/"started":0,"from":1,"to":10/'):
            result = self.run_it(*command, *self.engine(f"{PROGRAM} \"$@\" | sed '{wrong}'"))
            self.assertEqual((result.returncode, result.stdout), (4, ""), wrong + result.stderr)
            self.assertIn("did not report the replay asked for", result.stderr)
            self.assertEqual(self.contained(), 0)
        self.ok(*command, *self.engine(f'{PROGRAM} "$@" | cat'))  # the control
        self.assertEqual(self.contained(), 1)

    def test_codes_of_its_own_are_no_findings(self):
        self.gan("run")
        for code, expected in (("125", 4), ("126", 4), ("127", 4), ("137", 4), ("42", 4), ("3", 3), ("5", 5),
                               ("75", 75)):
            result = self.run_it("replay", "run", "--quiet", *self.engine(f"exit {code}"))
            self.assertEqual(result.returncode, expected, code + result.stderr)
            if int(code) != expected:
                self.assertIn(f"the container ended with code {code}", result.stderr)


class Noted(Prove):
    """In replays.jsonl, which anybody may write to: it is no evidence."""

    def page(self):
        self.ok("report", "run")
        return re.sub(r"<(style|script|svg)\b.*?</\1>", "", self.read("run", "report.html").decode(), flags=re.DOTALL)

    def test_a_line_that_was_cut_off_spoils_no_other(self):
        self.gan("run")
        self.write("run/replays.jsonl", '{"time":"2026')
        self.ok("replay", "run", "--from", "11", "--quiet")
        lines = self.read("run", "replays.jsonl").decode().splitlines()
        self.assertEqual((len(lines), json.loads(lines[0])["agrees"]), (1, True))
        page = self.page()
        self.assertIn("Steps 11 to 12 of 12 were computed again and agreed", page)
        self.assertNotIn("cannot be read", page)
        with open(self.path("run/replays.jsonl"), "ab") as file:
            file.write(b'{"time":"2026')  # and nobody replayed since
        self.assertIn("replays.jsonl: lines that cannot be read: 1", self.page())

    def test_lines_of_another_ledger_are_left_out(self):
        self.gan("run")
        self.gan("other", "--set", "run.seed=7")
        self.ok("replay", "other", "--quiet")
        shutil.copy(self.path("other/replays.jsonl"), self.path("run/replays.jsonl"))
        page = self.page()
        self.assertIn("Not replayed yet.", page)
        self.assertIn("replays.jsonl: 1 replay is not of this ledger, and left out", page)
        self.ok("replay", "run", "--quiet")
        own = json.loads(self.read("run", "replays.jsonl").splitlines()[1])
        self.assertEqual(own.pop("chain"), json.loads(self.ok("inspect", "run", "--json"))["ledger"]["chain"])
        with open(self.path("run/replays.jsonl"), "a", encoding="utf-8") as file:
            file.write(json.dumps(own) + "\n")  # and those that do not say of which
        page = self.page()
        self.assertIn("All 12 steps were computed again and agreed.", page)
        self.assertIn("replays.jsonl: 2 replays are not of this ledger, and left out", page)

    def test_lines_of_a_ledger_that_grew_since_count(self):
        self.gan("run", "--set", "run.steps=10")
        self.ok("replay", "run", "--quiet")
        self.gan("run")
        page = self.page()
        self.assertIn("Steps 1 to 10 of 12 were computed again and agreed; 11 to 12 were not.", page)
        self.assertNotIn("not of this ledger", page)


if __name__ == "__main__":
    main()
