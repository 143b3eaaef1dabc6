"""Storage that fails and things that are planted: the real program, with real system calls that
fail (tests/support/faulty_calls.cpp), two writers, links, foreign files.

Usage: storage_test.py PROGRAM SOURCE_FOLDER FAULTY_CALLS_LIBRARY STRIDE [unittest's arguments]
Of the many opens, writes and reads only every STRIDE-th fails, one a run.
"""

import errno
import os
import shutil
import subprocess
import sys

LIBRARY, STRIDE = sys.argv.pop(3), int(sys.argv.pop(3))

from support import PROGRAM, Cli, main  # noqa: E402

STEPS = ["--quiet", "--set", "run.steps=2", "--set", "checkpoint.every=1", "--set",
         "checkpoint.keep_last=1", "--set", "samples.every=2", "--set", "samples.count=2"]
TRAIN = ["train", "tiny.toml", *STEPS]
SIGNED = [*TRAIN, "--sign", "key"]


class FailingCalls(Cli):
    def setUp(self):
        super().setUp()
        self.ok("keygen", "key")
        self.ok(*SIGNED, "--run", "undisturbed")
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
        checkpoints, unsynced = 0, False
        for line in self.read("log").decode().splitlines():
            verb, path = line.split(" ", 1)
            if path.endswith("ledger.jsonl"):
                unsynced = verb == "write"
            elif verb == "rename" and path.endswith(".h5"):
                checkpoints += 1
                self.assertFalse(unsynced, line)
        self.assertEqual(checkpoints, 2)

    def every_call(self, verb, *errors, stride=1):
        """The n-th call fails, for every n (or every stride-th) until there is none: one line, exit code 4, what was
        saved holds, and the same command ends the run with the same bytes."""
        at, runs, mark = 1, 0, self.path("mark")
        while True:
            # log.txt is for people: what it cannot write must not stop a run.
            result = self.faulty(*SIGNED, "--run", "bad-disk", CALL=verb, AT=at, MARK=mark,
                                 ERRNO=errors[at % len(errors)], NOT="log.txt")
            if not os.path.exists(mark):
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                break
            os.remove(mark)
            line = self.one_line(4, result)
            self.assertIn(os.strerror(errors[at % len(errors)]), line, f"{verb} {at}")
            runs += 1
            if runs % 4 == 0 and "ledger.jsonl" in self.contents("bad-disk"):
                self.ok("verify", "bad-disk")
            self.ok(*SIGNED, "--run", "bad-disk")
            self.assertEqual(self.evidence("bad-disk"), self.whole, f"{verb} {at}")
            shutil.rmtree(self.path("bad-disk"))
            at += stride
        shutil.rmtree(self.path("bad-disk"))
        return at - stride

    def test_every_open(self):
        self.assertGreater(self.every_call("open", errno.EMFILE, errno.EIO, stride=STRIDE), 30)

    def test_every_write(self):
        self.assertGreater(self.every_call("write", errno.EIO, errno.ENOSPC, errno.EDQUOT, stride=STRIDE), 10)

    def test_every_read(self):
        self.assertGreater(self.every_call("read", errno.EIO, stride=7 * STRIDE), 3)

    def test_every_fsync(self):
        self.assertGreater(self.every_call("fsync", errno.EIO, errno.ENOSPC), 20)

    def test_every_rename(self):
        self.assertGreater(self.every_call("rename", errno.EIO, errno.ENOSPC), 6)

    def test_every_mkdir(self):
        self.assertEqual(self.every_call("mkdir", errno.EIO, errno.ENOSPC), 4)

    def test_every_list(self):
        self.assertGreater(self.every_call("list", errno.EIO), 2)


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
        for name, code in (("recipe.toml", 4), ("ledger.jsonl", 5), ("metrics.jsonl", 4),
                           ("log.txt", 4)):
            for plant in (os.symlink, os.link):
                os.makedirs(self.path("run"))
                plant(self.path("victim"), self.path("run", name))
                result = self.run_it(*TRAIN, "--run", "run")
                self.assertNotEqual(result.returncode, 0, name)
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                self.assertIn(f"run/{name}", result.stderr + f"run/{name}" * (code == 5))
                self.expect_untouched()
                shutil.rmtree(self.path("run"))

    def test_links_at_the_names_of_what_is_published_are_replaced(self):
        self.ok(*TRAIN, "--run", "undisturbed")
        for plant in (os.symlink, os.link):
            os.makedirs(self.path("run/checkpoints"))
            os.makedirs(self.path("run/samples"))
            for name in ("checkpoints/step-00000002.h5.tmp", "checkpoints/step-00000002.h5.sha256",
                         "samples/step-00000002.png", "ledger.jsonl.tmp"):
                plant(self.path("victim"), self.path("run", name))
            self.ok(*TRAIN, "--run", "run")
            self.expect_untouched()
            self.assertEqual(self.evidence("run"), self.evidence("undisturbed"))
            shutil.rmtree(self.path("run"))

    def test_a_checkpoint_that_is_a_link_is_not_opened(self):
        self.ok(*TRAIN, "--run", "run")
        name = "run/checkpoints/step-00000002.h5"
        os.rename(self.path(name), self.path("moved"))
        os.symlink(self.path("moved"), self.path(name))
        self.assertIn(name, self.refused(4, *TRAIN, "--set", "run.steps=3", "--run", "run"))

    def test_the_run_folder_itself_may_be_a_link_of_the_users(self):
        os.symlink(self.path("elsewhere"), self.path("run"))
        self.ok(*TRAIN, "--run", "run")
        self.assertIn("ledger.jsonl", os.listdir(self.path("elsewhere")))

    def test_a_fifo_is_not_waited_for(self):
        self.ok(*TRAIN, "--run", "run")
        for name in ("ledger.jsonl", "recipe.toml", "metrics.jsonl"):
            os.remove(self.path("run", name))
            os.mkfifo(self.path("run", name))
            self.assertIn(name, self.refused(4, *TRAIN, "--set", "run.steps=3", "--run", "run"))
            self.ok(*TRAIN, "--run", "again")
            shutil.copy(self.path("again", name), self.path("run", name + "-"))
            os.rename(self.path("run", name + "-"), self.path("run", name))


class Leftovers(Cli):
    def test_what_a_killed_attempt_left_is_swept_at_the_next(self):
        self.ok(*TRAIN, "--run", "run")
        whole = self.contents("run")
        left = ("recipe.toml.tmp", "ledger.jsonl.tmp", "checkpoints/step-00000001.h5.tmp",
                "checkpoints/step-00000001.h5.sha256", "checkpoints/step-00000001.h5.sha256.tmp",
                "samples/step-00000002.png.tmp", "environment/attempt-002-rank-0.json.tmp")
        for name in left:
            self.write("run/" + name, "half")
        self.ok("verify", "run")
        self.ok(*TRAIN, "--run", "run")
        self.assertEqual(set(self.contents("run")),
                         set(whole) | {"environment/attempt-002-rank-0.json"})

    def test_a_file_that_is_not_of_the_run_is_5(self):
        self.ok(*TRAIN, "--run", "run")
        for name in ("checkpoints/step-2.h5", "checkpoints/step-00000002 (copy).h5",
                     "checkpoints/notes.sha256", "samples/evil.exe"):
            self.write("run/" + name, "extra")
            result = self.run_it("verify", "run")
            self.assertEqual(result.returncode, 5, result.stdout + result.stderr)
            self.assertIn(name, result.stdout + result.stderr)
            os.remove(self.path("run", name))
        self.ok("verify", "run")


class TwoWriters(Cli):
    def test_of_commands_started_together_one_trains_and_the_others_say_so(self):
        self.ok(*TRAIN, "--run", "undisturbed")
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
