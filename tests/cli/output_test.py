"""What commands print: all of it or an error, one line whatever stands in it, and JSON in one form."""

import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import time

from support import PROGRAM, Cli, main

FORGERY = "x\n\x1b[2Krun: the evidence holds"
SHOWN = "x\\x0a\\x1b[2Krun: the evidence holds"


class Output(Cli):
    def setUp(self):
        super().setUp()
        self.once("runs", "train", "tiny.toml", "--quiet")

    def to(self, name, *arguments):
        with open(name, "wb") as out:
            return subprocess.run([PROGRAM, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=subprocess.PIPE, text=True, timeout=300)


class Full(Output):
    def test_a_result_that_cannot_be_written_is_4(self):
        self.ok("trace", "runs/tiny", "trace.jsonl", "--quiet")
        self.write("facts.json", self.ok("fingerprint", "--json"))
        commands = [["--help"], ["-V"], ["help", "train"], ["completion", "bash"], ["man"], ["train", "--help-recipe"],
                    ["train", "tiny.toml", "--dry-run"], ["train", "tiny.toml", "--quiet", "--run", "other"],
                    ["verify", "runs/tiny"], ["replay", "runs/tiny", "--quiet"], ["report", "runs/tiny"],
                    ["inspect", "runs/tiny"], ["diff", "runs/tiny", "runs/tiny"], ["fingerprint"], ["keygen", "key"],
                    ["pack", "images", "images.h5"], ["sample", "runs/tiny", "--count", "1"], ["doctor"],
                    ["trace", "runs/tiny", "again.jsonl", "--quiet"], ["bisect", "trace.jsonl", "trace.jsonl"],
                    ["export", "runs/tiny", "exported.safetensors", "--role", "model"], ["check", "facts.json", "facts.json"],
                    ["rounding", "runs/tiny"]]
        # eval needs a classifier, and prints by the same function.
        known = set(re.findall(r"^  ([a-z]+)  ", self.ok("--help"), re.M))
        self.assertEqual(known - {command[0] for command in commands} - {"eval"}, set())
        for command in commands:
            line = self.one_line(4, self.with_stdout(self.to("/dev/full", *command)))
            self.assertIn("standard output: No space left on device", line)
        for command in ("verify", "replay", "inspect"):
            self.assertEqual(self.to("/dev/full", command, "runs/tiny", "--json", *self.quiet(command)).returncode, 4)

    @staticmethod
    def quiet(command):
        return ["--quiet"] if command == "replay" else []

    @staticmethod
    def with_stdout(result):
        result.stdout = ""
        return result

    def test_what_was_computed_stays(self):
        self.to("/dev/full", "train", "tiny.toml", "--quiet", "--run", "other")
        self.assertEqual(self.evidence("other"), self.evidence("runs/tiny"))
        for name, command in (("some.png", ["sample", "runs/tiny", "--count", "1", "--out"]), ("some.h5", ["pack", "images"]),
                              ("some.safetensors", ["export", "runs/tiny", "--role", "model"])):
            self.to("/dev/full", *command, f"full-{name}")
            self.ok(*command, name)
            self.assertEqual(self.read(f"full-{name}"), self.read(name))

    def test_a_reader_that_is_gone_is_no_error(self):
        for handler in (signal.SIG_DFL, signal.SIG_IGN):
            process = subprocess.Popen([PROGRAM, "inspect", "runs/tiny/recipe.toml"], cwd=self.folder,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, restore_signals=False,
                                       preexec_fn=lambda: signal.signal(signal.SIGPIPE, handler))
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            process.stderr.close()
            self.assertEqual(process.wait(), 0)

    def test_a_slow_reader_of_a_pipe_on_which_nobody_waits_gets_all(self):
        reads, writes = os.pipe()
        fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
        os.set_blocking(writes, False)
        process = subprocess.Popen([PROGRAM, "man"], stdin=subprocess.DEVNULL, stdout=writes, stderr=subprocess.PIPE)
        os.close(writes)
        time.sleep(0.5)
        with open(reads, encoding="utf-8") as file:
            text = file.read()
        _, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, err, text), (0, b"", self.ok("man")))

    def test_training_goes_on_without_a_reader_of_its_progress(self):
        process = subprocess.Popen([PROGRAM, "train", "tiny.toml", "--run", "unread"], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(process.wait(), 0)
        self.assertEqual(self.evidence("unread"), self.evidence("runs/tiny"))


class Foreign(Output):
    """Names and facts of others are shown in the line in which they are named."""

    def said(self, code, *arguments):
        result = self.run_it(*arguments)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        for line in result.stdout.splitlines() + result.stderr.splitlines():
            self.assertTrue(line.isprintable(), line)
            self.assertNotEqual(line, "run: the evidence holds")
        return result.stdout + result.stderr

    def test_names_of_files(self):
        self.write(os.path.join("runs/tiny/checkpoints", FORGERY), "")
        self.assertIn("/" + SHOWN, self.said(5, "verify", "runs/tiny"))
        self.said(2, "verify", FORGERY)
        self.said(2, "inspect", FORGERY)
        self.said(2, "train", FORGERY)
        self.said(125, "diff", FORGERY, "runs/tiny")

    def test_names_that_are_no_utf8(self):
        open(os.fsencode(self.path("runs/tiny/checkpoints")) + b"/\xff\xfe.h5", "wb").close()
        self.assertIn("/\\xff\\xfe.h5", self.said(5, "verify", "runs/tiny"))
        result = self.run_it("verify", "runs/tiny", "--json")
        self.assertEqual((result.returncode, result.stderr), (5, ""))
        self.assertIn("\ufffd\ufffd.h5", json.loads(result.stdout)["findings"][0]["what"])

    def test_facts_of_reports(self):
        facts = json.loads(self.ok("fingerprint", "--json"))
        self.write("a.json", json.dumps(facts))
        self.write("b.json", json.dumps({**facts, FORGERY: FORGERY, "cpu": FORGERY}))
        self.assertIn(SHOWN, self.said(0, "check", "a.json", "b.json"))
        self.assertIn(SHOWN, self.said(1, "diff", "a.json", "b.json"))
        self.assertIn(SHOWN, self.said(0, "inspect", "b.json"))

    def test_modules_of_traces(self):
        self.ok("trace", "runs/tiny", "a.jsonl", "--quiet")
        lines = self.read("a.jsonl").decode().splitlines()
        odd = json.loads(lines[5])
        odd.update({"module": FORGERY, "out": ["0" * 64]})
        self.write("b.jsonl", "\n".join([*lines[:5], json.dumps(odd), *lines[6:]]) + "\n")
        self.assertIn(SHOWN, self.said(1, "bisect", "a.jsonl", "b.jsonl"))

    def test_what_the_log_says(self):
        self.ok("train", "tiny.toml", "--quiet", "--run", FORGERY, "--set", "samples.count=1")
        with open(self.path(FORGERY, "log.txt"), encoding="utf-8") as file:
            self.assertTrue(all(line.isprintable() for line in file.read().splitlines()))


class Json(Output):
    def object(self, code, *arguments):
        result = self.run_it(*arguments, "--json")
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertEqual(result.stdout.count("\n"), 1, result.stdout)
        self.assertTrue(result.stdout.startswith("{") and result.stdout.endswith("}\n"))
        return json.loads(result.stdout), result.stderr

    def test_is_one_object_in_one_line(self):
        for command in (["train", "tiny.toml", "--dry-run"], ["verify", "runs/tiny"], ["inspect", "runs/tiny"],
                        ["inspect", "tiny.toml"], ["fingerprint"], ["doctor"], ["diff", "runs/tiny", "runs/tiny"],
                        ["replay", "runs/tiny", "--quiet"], ["keygen", "key"], ["pack", "images", "images.h5"],
                        ["sample", "runs/tiny", "--count", "1"], ["check"]):
            _, err = self.object(0, *command)
            self.assertEqual(err, "")

    def test_so_is_an_error(self):
        for code, command in ((2, ["verify", "nothing"]), (2, ["train", "tiny.toml", "--rnu", "x"]),
                              (2, ["inspect", "images"]), (125, ["diff", "runs/tiny", "tiny.toml"]),
                              (3, ["train", "tiny.toml", "--set", "data.path=nowhere"]),
                              (2, ["train", "tiny.toml", "--ranks", "2", "--set", "run.steps=x"])):
            out, err = self.object(code, *command)
            error = out["error"]
            self.assertEqual(error["code"], code)
            hint = f" ({error['hint']})" if error["hint"] else ""
            self.assertEqual(err, f"lockstep: {error['message']}{hint}\n")

    def test_of_several_ranks_one_speaks(self):
        out, _ = self.object(3, "train", "tiny.toml", "--run", "other", "--ranks", "2", "--quiet", "--set",
                             "data.path=nowhere")
        self.assertIn("rank 0: ", out["error"]["message"])


class Inspect(Output):
    def seen(self, *arguments):
        return json.loads(self.ok("inspect", *arguments, "--json"))

    def test_shows_what_a_picture_says_of_itself(self):
        self.ok("sample", "runs/tiny", "--count", "2", "--columns", "2", "--out", "two.png")
        run, picture = self.seen("runs/tiny"), self.seen("two.png")
        self.assertEqual((picture["kind"], picture["channels"]), ("picture", 1))
        provenance = picture["provenance"]
        self.assertEqual((provenance["recipe"], provenance["step"]), (run["recipe"], "2"))
        self.assertEqual(provenance["state"], run["ledger"]["state"])
        text = self.ok("inspect", "two.png")
        self.assertIn(f"  recipe  {run['recipe']}\n", text)

    def test_shows_sidecars_statements_traces_and_fingerprints(self):
        self.ok("keygen", "key")
        self.ok("train", "tiny.toml", "--quiet", "--run", "signed", "--sign", "key")
        self.ok("trace", "runs/tiny", "trace.jsonl", "--quiet")
        checkpoint = "signed/checkpoints/step-00000002.h5"
        sidecar, statement = self.seen(checkpoint + ".sha256"), self.seen(checkpoint + ".sig")
        self.assertEqual(sidecar["bytes"], os.path.getsize(self.path(checkpoint)))
        self.assertEqual((statement["kind"], statement["step"], statement["checkpoint"]),
                         ("statement", 2, sidecar["root"]))
        self.assertEqual(self.seen("trace.jsonl")["kind"], "trace")
        self.assertEqual(self.seen("runs/tiny/ledger.jsonl")["kind"], "ledger")
        self.assertIn("cpu", self.seen("runs/tiny/environment/attempt-001-rank-0.json")["facts"])

    def test_calls_no_evidence_what_is_none(self):
        self.ok("replay", "runs/tiny", "--quiet")
        self.ok("report", "runs/tiny")
        for name in ("metrics.jsonl", "replays.jsonl", "log.txt", "report.html"):
            self.assertIn(f"runs/tiny/{name} is text for people and their tools, not evidence",
                          self.refused(2, "inspect", f"runs/tiny/{name}"))
        self.ok("train", "tiny.toml", "--run", "runs/told", "--quiet", "--tensorboard", "--exchange-log", "log")
        self.assertIn("log/rank-0.jsonl is text for people", self.refused(2, "inspect", "log/rank-0.jsonl"))
        folder = "runs/told/tensorboard"
        (name,) = os.listdir(self.path(folder))
        self.assertIn(f"{folder}/{name} is for TensorBoard", self.refused(2, "inspect", f"{folder}/{name}"))

    def test_calls_foreign_what_is_foreign(self):
        for name in ("images", "support.py"):
            self.write("support.py", "")
            self.assertIn(f"{name} is not a file that lockstep writes", self.refused(2, "inspect", name))
        self.write("no.png", "GIF89a")
        self.assertIn("no.png", self.refused(5, "inspect", "no.png"))


class Columns(Output):
    def test_of_differences_never_touch(self):
        self.ok("train", "tiny.toml", "--quiet", "--run", "other", "--set", "run.seed=7")
        lines = self.run_it("diff", "runs/tiny/checkpoints/step-00000002.h5",
                            "other/checkpoints/step-00000002.h5").stdout.splitlines()
        table = [line for line in lines if line.startswith("  ") and "/" in line]
        self.assertGreater(len(table), 5)
        for line in table:
            self.assertRegex(line, r"^ +2  +\d+ of \d+  +\d+  +\S+  \S+$")


class Progress(Cli):
    """Of replay: its cost first, then how far it is, then the verdict."""

    COST = r"needs (\d+) steps, about [\d.hms ]+ at the pace of the first"
    LINE = r"\d+ of \d+ steps agree with the ledger, about [\d.hms ]+ left"

    def setUp(self):
        super().setUp()
        self.once("runs", "train", "tiny.toml", "--quiet", "--set", "run.steps=30", "--set", "checkpoint.every=10", "--set",
                  "checkpoint.keep_last=0")

    def test_in_a_log(self):
        for window, steps in (((), "30"), (("--from", "25", "--to", "28"), "8"), (("--from", "11", "--to", "21"), "11"),
                              (("--spot", "2", "--spot-steps", "30"), "30")):
            result = self.run_it("replay", "runs/tiny", *window)
            cost, *lines = result.stderr.splitlines()
            self.assertRegex(cost, f"^{self.COST}$")
            self.assertEqual(cost.split()[1], steps)
            self.assertLess(len(lines), 5)
            for line in lines:  # one every ten seconds
                self.assertRegex(line, f"^{self.LINE}$")
            self.assertTrue(result.stdout.startswith("PASS"))

    def test_on_a_terminal_is_one_line(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        # More than the terminal keeps for us is never written: thirty lines.
        done = subprocess.run([PROGRAM, "replay", "runs/tiny"], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=300,
                              env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        text = b""
        while True:
            try:
                text += os.read(ours, 65536)
            except OSError:  # all is read
                break
        self.assertRegex(text.decode(), f"^{self.COST}\r\n(?:(?:{self.LINE}\x1b\\[K\r)+\x1b\\[K)?$")
        self.assertTrue(done.stdout.startswith("PASS"))

    def test_quiet_says_nothing(self):
        self.assertEqual(self.run_it("replay", "runs/tiny", "--quiet").stderr, "")


if __name__ == "__main__":
    main()
