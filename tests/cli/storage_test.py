"""Storage that fails and things that are planted: the real program, with real system calls that
fail (tests/support/faulty_calls.cpp), two writers, links, foreign files.

Usage: storage_test.py PROGRAM SOURCE_FOLDER FAULTY_CALLS_LIBRARY STRIDE [unittest's arguments]
Of the many opens, writes and reads only every STRIDE-th fails, one a run; of what is made durable every third of that.
"""

import contextlib
import errno
import itertools
import os
import re
import resource
import shutil
import socket
import stat
import subprocess
import sys
import time

LIBRARY, STRIDE = sys.argv.pop(3), int(sys.argv.pop(3))

from support import PROGRAM, SOURCE, Cli, main, not_beside_sanitizers  # noqa: E402
from toy import TRAIN as TOY, Toy  # noqa: E402

sys.path.insert(0, os.path.join(SOURCE, "tests/support"))
from ports import free_port  # noqa: E402

STEPS = ["--quiet", "--set", "run.steps=2", "--set", "checkpoint.every=1", "--set",
         "checkpoint.keep_last=1", "--set", "samples.every=2", "--set", "samples.count=2"]
TRAIN = ["train", "tiny.toml", *STEPS]
BEGIN = [*TRAIN, "--set", "run.steps=1"]
SIGNED = [*TRAIN, "--sign", "key"]
QUICK = [*TOY, "--set", "run.steps=400"]


def each_call(test, run, stride=1):
    """(at, run(at, mark)) for the first call that can fail, the next one (or every stride-th), and so on; at last, when none did,
    (None, result). A call that failed leaves the file `mark`."""
    mark = test.path("mark")
    for at in itertools.count(1, stride):
        result = run(at, mark)
        if not os.path.exists(mark):
            yield None, result
            return
        os.remove(mark)
        yield at, result


@not_beside_sanitizers
class FailingCalls(Cli):
    def setUp(self):
        super().setUp()
        self.put_key()
        self.once("undisturbed", *SIGNED, "--run", "undisturbed")
        self.whole = self.evidence("undisturbed")

    def faulty(self, *arguments, **settings):
        return self.run_it(*arguments, LD_PRELOAD=LIBRARY, FAULT_UNDER="bad-disk",
                           **{f"FAULT_{key}": str(value) for key, value in settings.items()})

    def test_short_and_interrupted_calls_change_nothing(self):
        result = self.faulty(*SIGNED, "--run", "bad-disk", SHORT=1)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.evidence("bad-disk"), self.whole)

    def test_the_ledger_is_durable_before_a_checkpoint_that_refers_to_it(self):
        self.faulty(*SIGNED, "--run", "bad-disk", LOG=self.path("log"))
        # A checkpoint is written beside the next steps: of the ledger's lines (one write a step, the header is
        # published before) those up to its own step must be durable, later ones need not be.
        checkpoints, written, durable = 0, 0, 0
        for line in self.read("log").decode().splitlines():
            verb, path = line.split(" ", 1)
            if path.endswith("ledger.jsonl"):
                written += verb == "write"
                durable = written if verb == "fsync" else durable
            elif verb == "rename" and path.endswith(".h5"):
                checkpoints += 1
                step = int(re.search(r"step-(\d+)\.h5$", path)[1])
                self.assertGreaterEqual(durable, step, line)
        self.assertEqual(checkpoints, 2)

    def test_the_ledger_is_durable_when_a_monitor_ends_the_run(self):
        result = self.faulty(*SIGNED, "--run", "bad-disk", "--set", "checkpoint.every=0", "--set", "monitor.loss_limit=1e-6",
                             LOG=self.path("log"))
        self.assertEqual(result.returncode, 7, result.stderr)
        events = [line.split(" ", 1) for line in self.read("log").decode().splitlines()]
        self.assertEqual([verb for verb, path in events if path.endswith("ledger.jsonl")][-2:], ["write", "fsync"])

    def test_a_log_that_cannot_be_written_stops_nothing(self):
        """Whichever line: those from before there was a run's folder, or a later one."""
        for ranks in ("1", "2"):
            for at in (1, 2, 3):
                mark = self.path(f"mark-{ranks}-{at}")
                result = self.run_it(*TRAIN, "--run", "run", "--ranks", ranks, LD_PRELOAD=LIBRARY, FAULT_UNDER="run/log.txt",
                                     FAULT_CALL="write", FAULT_AT=str(at), FAULT_ERRNO=str(errno.ENOSPC), FAULT_MARK=mark)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue(os.path.exists(mark) or at > 1)
                shutil.rmtree(self.path("run"))

    def test_a_full_disk_leaves_no_half_line(self):
        """In a file system of 3 MiB, which something else fills."""
        os.mkdir(self.path("small"))
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", self.path("small")],
                                               capture_output=True, check=False).returncode != 0:
            self.skipTest("NOT PROVED: what a full disk leaves: it takes root to mount one")
        self.addCleanup(subprocess.run, ["umount", "-l", self.path("small")], check=False)
        command = [*QUICK, "--set", "run.steps=100000", "--set", "checkpoint.every=100000", "--set", "samples.count=0", "--run", "small/run"]
        process = subprocess.Popen([PROGRAM, *command], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        while process.poll() is None and not os.path.exists(self.path("small/run/metrics.jsonl")):
            time.sleep(0.01)
        with contextlib.suppress(OSError), open(self.path("small/rest"), "wb", buffering=0) as rest:
            while True:
                rest.write(bytes(1000))
        _, err = process.communicate()
        self.assertEqual(process.returncode, 4, err)
        self.assertIn("No space left on device", err)
        self.assertTrue(self.read("small/run/ledger.jsonl").endswith(b"\n"))
        self.assertIn("the evidence holds", self.ok("verify", "small/run"))

    def every_call(self, verb, *errors, stride=1):
        """The n-th call fails, for every n (or every stride-th) until there is none: one line, exit code 4, what was
        saved holds, and the same command ends the run with the same bytes."""
        last = runs = 0

        def run(at, mark):
            # log.txt is for people: what it cannot write must not stop a run.
            return self.faulty(*SIGNED, "--run", "bad-disk", CALL=verb, AT=at, MARK=mark,
                               ERRNO=errors[at % len(errors)], NOT="log.txt")

        for at, result in each_call(self, run, stride):
            if at is None:
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                break
            last = at
            line = self.one_line(4, result)
            self.assertIn(os.strerror(errors[at % len(errors)]), line, f"{verb} {at}")
            runs += 1
            if runs % 4 == 0 and "ledger.jsonl" in self.contents("bad-disk"):
                self.ok("verify", "bad-disk")
            self.ok(*SIGNED, "--run", "bad-disk")
            self.assertEqual(self.evidence("bad-disk"), self.whole, f"{verb} {at}")
            shutil.rmtree(self.path("bad-disk"))
        shutil.rmtree(self.path("bad-disk"))
        return last

    def test_every_open(self):
        self.assertGreater(self.every_call("open", errno.EMFILE, errno.EIO, stride=STRIDE), 30)

    def test_every_write(self):
        self.assertGreater(self.every_call("write", errno.EIO, errno.ENOSPC, errno.EDQUOT, stride=STRIDE), 10)

    def test_every_read(self):
        self.assertGreater(self.every_call("read", errno.EIO, stride=7 * STRIDE), 3)

    def test_every_fsync(self):
        self.assertGreater(self.every_call("fsync", errno.EIO, errno.ENOSPC, stride=(STRIDE + 2) // 3), 20)

    def test_every_rename(self):
        self.assertGreater(self.every_call("rename", errno.EIO, errno.ENOSPC), 6)

    def test_every_mkdir(self):
        self.assertEqual(self.every_call("mkdir", errno.EIO, errno.ENOSPC), 4)

    def test_every_list(self):
        self.assertGreater(self.every_call("list", errno.EIO), 2)

    def test_what_verify_cannot_read_is_4(self):
        """With a key, too: a disk's error is no forgery."""
        shutil.copytree(self.path("undisturbed"), self.path("bad-disk"))
        for more in ([], ["--key", "key.pub"]):
            for call in ("open", "read", "list"):
                def run(at, mark, more=more, call=call):
                    return self.faulty("verify", "bad-disk", *more, CALL=call, AT=at, ERRNO=errno.EIO, MARK=mark)

                failed = 0
                for at, result in each_call(self, run):
                    self.assertEqual(result.returncode, 4 if at else 0, (call, at, result.stdout, result.stderr))
                    if at:
                        self.assertIn(os.strerror(errno.EIO), result.stdout + result.stderr, (call, at))
                        failed += 1
                self.assertGreater(failed, 0, call)


@not_beside_sanitizers
class Slow(Toy):
    """No deadline counts while a rank opens files or makes them durable."""

    def slow(self, under, call="open", **more):
        return {"LD_PRELOAD": LIBRARY, "FAULT_CALL": call, "FAULT_SECONDS": "8", "FAULT_UNDER": under, **more}

    def wait_for(self, *path):
        for _ in range(6000):
            if os.path.exists(self.path(*path)):
                return
            time.sleep(0.01)
        self.fail(f"no {path} in time")

    def test_rank_0_may_read_a_checkpoint_for_long(self):
        for run in ("run", "alone"):
            self.ok(*BEGIN, "--run", run)
        self.ok(*TRAIN, "--run", "alone")
        self.ok(*TRAIN, "--run", "run", "--ranks", "2", LOCKSTEP_DEADLINE="6", **self.slow("run/checkpoints/step-00000001.h5"))
        self.assertEqual(self.evidence("run"), self.evidence("alone"))

    def test_a_rank_may_read_its_data_for_long(self):
        self.ok(*TRAIN, "--run", "alone")
        for command in ([*TRAIN, "--run", "run"], ["replay", "run", "--quiet"]):
            among = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()),
                     "LOCKSTEP_SECRET_FILE": self.secret(), "LOCKSTEP_DEADLINE": "6"}
            ranks = [self.start(*command, RANK=str(rank), **among, **slow) for rank, slow in enumerate(({}, self.slow("images")))]
            for rank in ranks:
                _, err = rank.communicate()
                self.assertEqual(rank.returncode, 0, err)
        self.assertEqual(self.evidence("run"), self.evidence("alone"))

    def test_what_fails_meanwhile_is_told_by_the_rank_that_it_fails_on(self):
        self.ok(*BEGIN, "--run", "run")
        self.write("run/ledger.jsonl", b"")
        result = self.run_it(*TRAIN, "--run", "run", "--ranks", "2", LOCKSTEP_DEADLINE="6", **self.slow("run/ledger.jsonl"))
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("lockstep: rank 0: run/ledger.jsonl", result.stderr)

    def test_rank_0_may_make_files_durable_for_long(self):
        begin = [*BEGIN, "--set", "samples.every=1", "--run"]
        self.ok(*begin, "alone")
        began = time.monotonic()
        slow = {run: self.start(*begin, run, "--ranks", "2", LOCKSTEP_DEADLINE="6",
                                **self.slow(under, "fsync", FAULT_NOT="ledger.jsonl.lockstep.tmp"))
                for run, under in (("first", "first/environment/"), ("second", "second/ledger.jsonl"), ("third", "third/samples/"))}
        for run, process in slow.items():
            _, err = process.communicate()
            self.assertEqual(process.returncode, 0, err)
            self.assertGreater(time.monotonic() - began, 8)
            self.assertEqual(self.evidence(run), self.evidence("alone"))

    def test_rank_0_may_save_for_long_before_an_evaluation(self):
        """Which needs what is saved: the others must not begin it meanwhile."""
        golden = os.path.join(SOURCE, "recipes/golden/")
        small = ["--quiet", "--threads", "1", "--set", "samples.count=0", "--set", "data.shapes.side=12"]
        self.ok("train", golden + "classifier.toml", "--run", "judge", *small, "--set", "run.steps=1")
        train = ["train", golden + "dit.toml", *small, "--set", "run.steps=3", "--set", "evaluation.every=2",
                 "--set", "evaluation.samples=16", "--set", 'evaluation.features="judge"', "--run"]
        self.ok(*train, "alone")
        slow = {run: self.start(*train, run, "--ranks", "2", LOCKSTEP_DEADLINE="6",
                                **self.slow(under, "fsync", FAULT_SECONDS="2", FAULT_NOT="ledger.jsonl.lockstep.tmp"))
                for run, under in (("ledger", "ledger/ledger.jsonl"), ("file", "file/checkpoints/"))}
        for run, process in slow.items():
            _, err = process.communicate()
            self.assertEqual(process.returncode, 0, err)
            self.assertEqual(self.evidence(run), self.evidence("alone"))

    def saving(self):
        """Two ranks, of which rank 0 saves step 10 for 7 seconds."""
        process = self.start(*QUICK, "--run", "run", "--ranks", "2", LOCKSTEP_DEADLINE="6",
                             **self.slow("step-00000010.h5.lockstep.tmp", "fsync", FAULT_SECONDS="7"))
        self.wait_for("run/checkpoints/step-00000010.h5.lockstep.tmp")
        return process

    def test_rank_0_ends_its_checkpoint_where_another_rank_is_lost(self):
        process = self.saving()
        self.kill_rank("RANK", 1)
        _, err = process.communicate()
        self.assertEqual(process.returncode, 6, err)
        self.assertNotIn("had not ended", err)
        self.assertTrue(os.path.exists(self.path("run/checkpoints/step-00000010.h5")))
        self.ok("verify", "run")

    def test_the_others_hear_what_fails_while_rank_0_saves(self):
        process = self.saving()
        shutil.copy(self.path("run/ledger.jsonl"), self.path("copy"))
        os.rename(self.path("copy"), self.path("run/ledger.jsonl"))
        _, err = process.communicate()
        self.assertEqual(process.returncode, 4, err)
        self.assertNotIn("had not ended", err)
        self.assertRegex(err, "lockstep: rank 0: run/ledger.jsonl was replaced")
        self.assertRegex(err, "lockstep: rank 1: .*run/ledger.jsonl was replaced")

    def test_a_save_that_failed_ends_the_run_before_the_next(self):
        mark = self.path("mark")
        result = self.run_it(*QUICK, "--set", "checkpoint.every=100", "--run", "run", LD_PRELOAD=LIBRARY, FAULT_CALL="fsync",
                             FAULT_UNDER="step-00000100.h5.lockstep.tmp", FAULT_AT="1", FAULT_ERRNO=str(errno.ENOSPC), FAULT_MARK=mark)
        self.assertIn("step-00000100.h5.lockstep.tmp: No space left", self.one_line(4, result))
        self.assertLess(self.lines(), 200)


@not_beside_sanitizers
class Retired(Cli):
    """Beside a run that trains and keeps one checkpoint: at every call of a reader it goes, and a newer one is there."""

    STEPS = ["--quiet", "--set", "run.steps=3", "--set", "checkpoint.every=1", "--set", "checkpoint.keep_last=0", "--set",
             "samples.every=3", "--set", "samples.count=2"]

    def setUp(self):
        super().setUp()
        self.once("whole", "train", "tiny.toml", *self.STEPS, "--run", "whole")

    def live(self):
        shutil.rmtree(self.path("live"), ignore_errors=True)
        shutil.copytree(self.path("whole"), self.path("live"))
        for step, folder in ((2, "checkpoints"), (3, "checkpoints.after")):
            os.makedirs(self.path("live", folder), exist_ok=True)
            for name in os.listdir(self.path("whole/checkpoints")):
                here = self.path("live", folder, name)
                if f"{step:08}" in name:
                    shutil.copy(self.path("whole/checkpoints", name), here)
                elif os.path.exists(here):
                    os.remove(here)

    def at_every_call(self, *command):
        """What it prints, each time; it always ends with 0."""
        said = []
        for verb in ("inspect", "open", "list"):
            def run(at, mark, verb=verb):
                self.live()
                return self.run_it(*command, LD_PRELOAD=LIBRARY, FAULT_UNDER="live/checkpoints", FAULT_CALL=verb,
                                   FAULT_AT=str(at), FAULT_MARK=mark, FAULT_SWAP=self.path("live/checkpoints"))

            before = len(said)
            for at, result in each_call(self, run):
                self.assertEqual((result.returncode, result.stderr), (0, ""), (command, verb, at, result.stdout))
                if at:
                    said.append(result.stdout)
            self.assertGreater(len(said), before, f"{command} never calls {verb}")
        return said

    def test_sample_takes_the_newer_one(self):
        said = self.at_every_call("sample", "live", "--count", "1", "--out", "out.png", "--threads", "1")
        self.assertGreater(len(said), 4)
        self.assertEqual({line.split(", ")[0] for line in said}, {"out.png: 1 sample of step 3"})

    def test_verify_finds_no_damage(self):
        said = self.at_every_call("verify", "live")
        self.assertTrue(all("the evidence holds: 3 steps" in text for text in said), said)
        self.assertTrue(any("step-00000002.h5 was removed meanwhile" in text for text in said), said)

    def test_diff_passes_over_it(self):
        self.assertEqual({text.splitlines()[-1] for text in self.at_every_call("diff", "whole", "live")}, {"same"})

    def test_report_shows_no_damage(self):
        self.assertEqual(set(self.at_every_call("report", "live", "--out", "page.html")), {"page.html: the evidence holds\n"})

    def test_replay_begins_earlier(self):
        said = self.at_every_call("replay", "live", "--from", "3", "--quiet", "--threads", "1")
        self.assertTrue(all("PASS: steps 3 to 3" in text for text in said), said)


class Planted(Cli):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("elsewhere"))
        self.write("victim", "precious")

    def expect_untouched(self):
        self.assertEqual(self.read("victim"), b"precious")
        self.assertEqual(os.listdir(self.path("elsewhere")), [])

    def test_a_link_in_the_place_of_a_folder_of_the_run_is_4(self):
        for name in ("checkpoints", "samples", "environment"):
            os.makedirs(self.path("run"))
            os.symlink(self.path("elsewhere"), self.path("run", name))
            line = self.refused(4, *TRAIN, "--run", "run")
            self.assertIn(f"run/{name} is a symbolic link", line)
            self.expect_untouched()
            shutil.rmtree(self.path("run"))

    def test_a_link_in_the_place_of_a_file_of_the_run_is_refused_and_not_followed(self):
        for plant, name, code, says in (
                (os.symlink, "recipe.toml", 4, "is a symbolic link"), (os.link, "recipe.toml", 0, "written anew"),
                (os.symlink, "ledger.jsonl", 4, "is a symbolic link"), (os.link, "ledger.jsonl", 5, "has no first line"),
                (os.symlink, "metrics.jsonl", 4, "is a symbolic link"), (os.link, "metrics.jsonl", 4, "has a second name"),
                (os.symlink, "log.txt", 4, "is a symbolic link"), (os.link, "log.txt", 4, "has a second name")):
            with self.subTest(name=name, plant=plant.__name__):
                self.once("run", *BEGIN, "--run", "run")
                os.remove(self.path("run", name))
                plant(self.path("victim"), self.path("run", name))
                result = self.run_it(*TRAIN, "--run", "run")
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                self.assertIn(f"run/{name}", result.stderr)
                self.assertIn(says, result.stderr)
                self.expect_untouched()
                shutil.rmtree(self.path("run"))

    def test_links_at_the_names_of_what_is_published_are_replaced(self):
        for command in (BEGIN, TRAIN):
            self.ok(*command, "--run", "undisturbed")
        for plant in (os.symlink, os.link):
            self.once("run", *BEGIN, "--run", "run")
            for name in ("checkpoints/step-00000002.h5.lockstep.tmp", "checkpoints/step-00000002.h5.sha256",
                         "samples/step-00000002.png", "ledger.jsonl.lockstep.tmp"):
                plant(self.path("victim"), self.path("run", name))
            self.ok(*TRAIN, "--run", "run")
            self.expect_untouched()
            self.assertEqual(self.evidence("run"), self.evidence("undisturbed"))
            shutil.rmtree(self.path("run"))

    def test_a_checkpoint_that_is_a_link_is_not_opened(self):
        self.once("run", *TRAIN, "--run", "run")
        name = "run/checkpoints/step-00000002.h5"
        os.rename(self.path(name), self.path("moved"))
        os.symlink(self.path("moved"), self.path(name))
        self.assertIn(name, self.refused(4, *TRAIN, "--set", "run.steps=3", "--run", "run"))

    def test_the_run_folder_itself_may_be_a_link_of_the_users(self):
        os.symlink(self.path("elsewhere"), self.path("run"))
        self.ok(*TRAIN, "--run", "run")
        self.assertIn("ledger.jsonl", os.listdir(self.path("elsewhere")))

    def test_a_fifo_is_not_waited_for(self):
        self.once("run", *TRAIN, "--run", "run")
        shutil.copytree(self.path("run"), self.path("again"))
        for name in ("ledger.jsonl", "recipe.toml", "metrics.jsonl"):
            os.remove(self.path("run", name))
            os.mkfifo(self.path("run", name))
            self.assertIn(name, self.refused(4, *TRAIN, "--set", "run.steps=3", "--run", "run"))
            shutil.copy(self.path("again", name), self.path("run", name + "-"))
            os.rename(self.path("run", name + "-"), self.path("run", name))


class Leftovers(Cli):
    def test_what_a_killed_attempt_left_is_swept_at_the_next(self):
        self.once("run", *TRAIN, "--run", "run")
        whole = self.contents("run")
        left = ("recipe.toml.lockstep.tmp", "ledger.jsonl.lockstep.tmp", "checkpoints/step-00000001.h5.lockstep.tmp",
                "checkpoints/step-00000001.h5.sha256", "checkpoints/step-00000001.h5.sha256.lockstep.tmp",
                "samples/step-00000002.png.lockstep.tmp", "environment/attempt-002-rank-0.json.lockstep.tmp")
        for name in left:
            self.write("run/" + name, "half")
        self.ok("verify", "run")
        self.ok(*TRAIN, "--run", "run")
        self.assertEqual(set(self.contents("run")),
                         set(whole) | {"environment/attempt-002-rank-0.json"})

    def test_a_folder_with_the_name_of_a_leftover_is_left_and_named(self):
        for command in (BEGIN, TRAIN):
            self.ok(*command, "--run", "undisturbed")
        self.once("run", *BEGIN, "--run", "run")
        left = ("checkpoints/x.lockstep.tmp", "checkpoints/step-00000400.h5.sha256", "samples/y.lockstep.tmp",
                "environment/z.lockstep.tmp")
        for name in left:
            os.makedirs(self.path("run", name))
        for _ in range(2):
            os.mkfifo(self.path("run/checkpoints/fifo.lockstep.tmp"))
            result = self.run_it(*TRAIN, "--run", "run")
            self.assertEqual(result.returncode, 0, result.stderr)
            for name in (*left, "checkpoints/fifo.lockstep.tmp"):
                self.assertIn(f"warning: run/{name} is left as it is: it is not a regular file", result.stderr)
                self.assertTrue(os.path.exists(self.path("run", name)))
            os.remove(self.path("run/checkpoints/fifo.lockstep.tmp"))  # evidence() would wait for it
            self.assertEqual(self.evidence("run"), self.evidence("undisturbed"))

    def test_a_folder_where_a_file_must_go_is_4_and_says_what_to_do(self):
        for name in ("checkpoints/step-00000002.h5.lockstep.tmp", "checkpoints/step-00000002.h5.sha256",
                     "checkpoints/step-00000002.h5", "samples/step-00000002.png", "recipe.toml.lockstep.tmp"):
            self.once("run", *BEGIN, "--run", "run")
            os.makedirs(self.path("run", name))
            result = self.run_it(*TRAIN, "--run", "run")
            last = result.stderr.splitlines()[-1]
            self.assertEqual(result.returncode, 4, result.stderr)
            self.assertIn(f"run/{name}", last)
            self.assertIn("move it away", last)
            os.rmdir(self.path("run", name))
            self.ok(*TRAIN, "--run", "run")
            self.ok("verify", "run")
            shutil.rmtree(self.path("run"))

    def test_a_file_that_is_not_of_the_run_is_5(self):
        self.once("run", *TRAIN, "--run", "run")
        for name in ("checkpoints/step-2.h5", "checkpoints/step-00000002 (copy).h5",
                     "checkpoints/notes.sha256", "samples/evil.exe"):
            self.write("run/" + name, "extra")
            result = self.run_it("verify", "run")
            self.assertEqual(result.returncode, 5, result.stdout + result.stderr)
            self.assertIn(name, result.stdout + result.stderr)
            os.remove(self.path("run", name))
        self.ok("verify", "run")


class Outputs(Cli):
    """What a command writes replaces a file of its kind or nothing; asked before the work begins."""

    def setUp(self):
        super().setUp()
        self.once("run", *TRAIN, "--run", "run")
        self.write("victim", "precious")
        self.writers = {".png": lambda out: ["sample", "run", "--count", "1", "--out", out],
                        ".jsonl": lambda out: ["trace", "run", out, "--quiet"],
                        ".h5": lambda out: ["pack", "images", out],
                        ".html": lambda out: ["report", "run", "--out", out],
                        "": lambda out: ["keygen", out]}

    def test_a_file_that_may_not_grow_is_4_and_nothing_is_left(self):
        for ending, command in self.writers.items():
            for again in (False, True) if ending else (False,):  # a key is not overwritten
                out = f"small{ending}"
                if again:
                    self.ok(*command(out))
                    before = self.read(out)
                there = sorted(os.listdir(self.folder))
                result = subprocess.run([PROGRAM, *command(out)], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                                        text=True, check=False, timeout=300,
                                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16)))
                self.assertIn(os.strerror(errno.EFBIG), self.one_line(4, result), out)
                self.assertEqual(sorted(os.listdir(self.folder)), there, out)
                if again:
                    self.assertEqual(self.read(out), before)

    def plant(self, name):
        """{what: path} of everything that may have a file's name and is none."""
        planted = {kind: self.path(f"{kind}{name}") for kind in ("fifo", "folder", "link", "dangling", "socket")}
        os.mkfifo(planted["fifo"])
        os.mkdir(planted["folder"])
        os.symlink(self.path("victim"), planted["link"])
        os.symlink(self.path("nowhere"), planted["dangling"])
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(planted["socket"])
        if os.getuid() == 0:
            planted["device"] = self.path(f"device{name}")
            os.mknod(planted["device"], 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        return planted

    def test_what_is_no_file_is_not_replaced(self):
        for ending, command in self.writers.items():
            for kind, path in self.plant(ending).items():
                before = os.lstat(path)
                line = self.refused(2, *command(path))
                self.assertIn(path, line)
                after = os.lstat(path)
                self.assertEqual((after.st_mode, after.st_ino), (before.st_mode, before.st_ino), kind)
                self.assertFalse(os.path.exists(path + ".lockstep.tmp"))
        self.assertEqual(self.read("victim"), b"precious")

    def test_devices_are_not_replaced(self):
        for ending, command in self.writers.items():
            for name in ("/dev/null", "/dev/full", "-"):
                self.assertIn(name, self.refused(2, *command(name)), ending)
                self.assertFalse(os.path.exists(self.path(name)) and name == "-")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode) and stat.S_ISCHR(os.stat("/dev/full").st_mode))

    def test_a_name_must_fit(self):
        for ending, command in self.writers.items():
            if ending:
                self.assertIn(ending, self.refused(2, *command("victim")))
                self.assertIn(ending, self.refused(2, *command("new.txt")))
        self.assertEqual(self.read("victim"), b"precious")

    def test_a_file_of_its_kind_or_an_empty_one_is_replaced(self):
        for ending, command in self.writers.items():
            if ending:
                self.write("old" + ending, "")
                self.ok(*command("old" + ending))
                first = self.read("old" + ending)
                self.write("old" + ending, first + b"changed")
                self.ok(*command("old" + ending))
                self.assertEqual(self.read("old" + ending), first)

    def test_a_file_of_another_kind_is_not_replaced(self):
        self.ok("pack", "images", "pack.h5")
        self.ok("sample", "run", "--count", "1", "--out", "made.png")
        photograph = b"\x89PNG\r\n\x1a\n" + bytes(25) + b"\0\0\0\x10tEXtSoftware\0gimp"
        kinds = {"a checkpoint": self.read("run/checkpoints/step-00000002.h5"), "a data file": self.read("pack.h5"),
                 "a ledger": self.read("run/ledger.jsonl"), "a picture of samples": self.read("made.png"),
                 "a picture that lockstep did not make": photograph, "a file of another kind": b"somebody's text\n"}
        own = {".h5": "a data file", ".png": "a picture of samples"}
        for ending, command in self.writers.items():
            for kind, content in kinds.items() if ending else ():
                name = "there" + ending
                self.write(name, content)
                if own.get(ending) == kind:
                    self.ok(*command(name))
                    continue
                line = self.refused(2, *command(name))
                self.assertTrue(line.startswith(f"{name} is {kind}: a "), line)
                self.assertTrue(line.endswith(" does not replace it (give another name, or remove it)"), line)
                self.assertEqual(self.read(name), content)

    def test_weights_replace_weights_alone(self):
        self.ok("export", "run", "w.safetensors")
        self.ok("export", "run", "w.safetensors")
        before = self.read("w.safetensors")
        header = b'{"__metadata__":{"format":"pt"}}'
        others = len(header).to_bytes(8, "little") + header
        os.makedirs(self.path("exported/model"))
        for name in ("w.safetensors", "exported/model/diffusion_pytorch_model.safetensors"):
            self.write(name, others)
            self.assertEqual(self.refused(2, "export", "run", name if name[0] == "w" else "exported/"),
                             f"{name} is a file of another kind: a file of weights does not replace it (give another name, or "
                             "remove it)")
            self.assertEqual(self.read(name), others)
            os.remove(self.path(name))
        self.assertEqual(os.listdir(self.path("exported/model")), [])
        self.ok("export", "run", "exported/")
        self.assertEqual(self.read("exported/model/diffusion_pytorch_model.safetensors"), before)

    def test_what_is_read_is_not_replaced(self):
        self.ok("pack", "images", "pack.h5")
        os.link(self.path("pack.h5"), self.path("other.h5"))
        for out in ("pack.h5", "other.h5", "./pack.h5"):
            self.assertIn("is the input", self.refused(2, "pack", "pack.h5", out))
        self.assertIn("keeps for itself", self.refused(2, "trace", "run", "run/ledger.jsonl"))
        self.ok("verify", "run")
        self.ok("inspect", "pack.h5")

    def test_names_that_a_run_keeps_for_itself_are_refused(self):
        os.remove(self.path("run/log.txt"))
        os.symlink("run/samples", self.path("link"))
        before = self.contents("run")
        own = [name for name in before if os.path.splitext(name)[1] in self.writers]
        self.assertGreater(len(own), 3)
        for name in (*own, "samples/new.png", "checkpoints/sub/new.h5", "log.txt", "recipe.toml.lockstep.tmp", "environment",
                     "replays.jsonl"):
            ending = os.path.splitext(name)[1]
            line = self.refused(2, *self.writers[ending if ending in self.writers else ""](os.path.join("run", name)))
            self.assertRegex(line, "a name that the run run keeps for itself|is the input|there already", name)
        for out in ("link/new.png", "run/checkpoints/../samples/new.png", "run/samples/"):
            self.assertIn("keeps for itself", self.refused(2, *self.writers[".png"](out)))
        self.assertIn("keeps for itself", self.refused(2, "train", "tiny.toml", "--quiet", "--run", "run/checkpoints/other"))
        self.assertEqual(self.contents("run"), before)
        for name in ("mine.png", "trace.jsonl", "mine/recipe.h5", "mine.html", "key"):
            os.makedirs(self.path("run/mine"), exist_ok=True)
            self.ok(*self.writers[os.path.splitext(name)[1]](os.path.join("run", name)))
        self.ok("verify", "run")

    def test_a_name_in_a_folder_of_samples_is_an_output_too(self):
        command = ["sample", "run", "--first", "7", "--count", "3", "--out", "many/"]
        self.ok(*command)
        mine = self.read("many/sample-00000008.png")
        self.write("many/sample-00000008.png", "old")
        self.assertIn("many/sample-00000008.png is a file of another kind", self.refused(2, *command))
        for kind, path in self.plant("unused").items():
            name = self.path("many/sample-00000008.png")
            os.remove(name)
            os.rename(path, name)
            self.assertIn("many/sample-00000008.png is a", self.refused(2, *command), kind)
            os.rename(name, path)
            self.write("many/sample-00000008.png", mine)
            os.rename(path, self.path("many/sample-00000010.png"))  # none of those that are written
            self.ok(*command)
            os.rename(self.path("many/sample-00000010.png"), path)
        self.assertEqual(self.read("victim"), b"precious")

    def test_values_are_an_output_too(self):
        os.mkfifo(self.path("t.jsonl.values"))
        self.assertIn("t.jsonl.values is a FIFO", self.refused(2, "trace", "run", "t.jsonl", "--values-of", "0"))
        self.assertFalse(os.path.exists(self.path("t.jsonl")))
        self.write("u.jsonl.values", "precious")  # beside no trace
        self.assertIn("u.jsonl.values is a file of another kind", self.refused(2, "trace", "run", "u.jsonl", "--values-of", "0"))
        self.assertEqual(self.read("u.jsonl.values"), b"precious")
        for number in ("0", "1"):
            self.ok("trace", "run", "w.jsonl", "--values-of", number, "--quiet")


class TwoWriters(Cli):
    def test_of_commands_started_together_one_trains_and_the_others_say_so(self):
        self.once("undisturbed", *TRAIN, "--run", "undisturbed")
        for number in range(3):
            run = f"run-{number}"
            together = [subprocess.Popen([PROGRAM, *TRAIN, "--run", run], cwd=self.folder, text=True,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE) for _ in range(4)]
            ended = [(process, *process.communicate(timeout=300)) for process in together]
            self.assertIn(0, [process.returncode for process in together])
            for process, _, err in ended:
                if process.returncode != 0:  # a late one may find the run finished
                    self.assertEqual(process.returncode, 2, err)
                    self.assertEqual(err.count("\n"), 1, err)
                    self.assertIn(f"another process is writing to {run}", err)
            self.assertEqual(self.evidence(run), self.evidence("undisturbed"))


if __name__ == "__main__":
    main()
