"""What a machine can do to a run: full disks, files in the way, instruction sets, divergence. Each
ends in one line and the right exit code, and nothing that was saved is lost."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import unittest

from support import PROGRAM, Cli, main, not_beside_sanitizers

EVERY_STEP = ["--quiet", "--set", "run.steps=8", "--set", "checkpoint.every=1", "--set",
              "checkpoint.keep_last=3", "--set", "samples.every=2", "--set", "samples.count=2"]


def can_mount():
    probe = ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]
    try:
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


class FullDisk(Cli):
    def setUp(self):
        super().setUp()
        self.once("undisturbed", "train", "tiny.toml", *EVERY_STEP, "--run", "undisturbed")
        self.whole = self.evidence("undisturbed")

    @unittest.skipUnless(can_mount(), "NOT PROVED: a tmpfs may not be mounted here")
    def test_the_same_command_finishes_with_the_same_bytes_once_there_is_space(self):
        # In a mount namespace of its own: nothing stays mounted, whatever happens.
        train = " ".join([PROGRAM, "train", "tiny.toml", *EVERY_STEP, "--run disk/run"])
        for size in ("8k", "16k", "100k", "250k"):
            os.makedirs(self.path("disk"), exist_ok=True)
            script = (f"mount -t tmpfs -o size={size} none disk && {train} 2>message; echo $? >code;"
                      f"cp -r disk/run after; mount -o remount,size=64m disk;"
                      f"{PROGRAM} verify disk/run >verified; echo $? >>code;"
                      f"{train}; echo $? >>code; cp -r disk/run finished")
            subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=self.folder, timeout=300,
                           capture_output=True, check=True)
            message, codes = self.read("message").decode(), self.read("code").decode().split()
            self.assertEqual(codes[0], "4", size + message)
            self.assertEqual(message.count("\n"), 1, message)
            self.assertRegex(message, r"lockstep: cannot write disk/run/\S+: No space left on device")
            self.assertFalse([name for name in self.contents("after") if name.endswith(".tmp")])
            if "ledger.jsonl" in self.contents("after"):
                self.assertEqual(codes[1], "0", self.read("verified"))
            self.assertEqual(codes[2], "0")
            self.assertEqual(self.evidence("finished"), self.whole, size)
            shutil.rmtree(self.path("after"))
            shutil.rmtree(self.path("finished"))

    def test_the_same_holds_for_a_limit_on_the_size_of_files(self):
        for limit in (2000, 20000, 60000):
            def set_limit(limit=limit):
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # as in a shell; Python ignores it
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            command = [PROGRAM, "train", "tiny.toml", *EVERY_STEP, "--run", "limited"]
            result = subprocess.run(command, cwd=self.folder, text=True, capture_output=True,
                                    timeout=300, preexec_fn=set_limit, check=False)
            # An attempt that saved nothing has left steps in the ledger.
            result.stderr = re.sub(r"^warning: there is no checkpoint: .*\n", "", result.stderr)
            self.assertIn("limited/", self.one_line(4, result))
        self.ok(*command[1:])
        self.assertEqual(self.evidence("limited"), self.whole)


@not_beside_sanitizers
class Limits(Cli):
    """Few processes, little memory for threads, few open files, no standard streams: as `ulimit` and a shell set them."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)
        self.once("undisturbed", "train", "tiny.toml", "--quiet", "--run", "undisturbed")
        self.whole = self.evidence("undisturbed")

    def limited(self, limits, *arguments):
        """As another user if this is root, whom no number of processes limits."""
        other = 61000 + os.getpid() % 4000 if os.getuid() == 0 and resource.RLIMIT_NPROC in limits else None

        def before():
            for limit, value in limits.items():
                resource.setrlimit(limit, (value, value))
            if other:
                os.setgroups([])
                os.setgid(other)
                os.setuid(other)
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, text=True, capture_output=True, timeout=300,
                              stdin=subprocess.DEVNULL, preexec_fn=before, check=False)

    def expect_4_then_the_same(self, what, limits, *arguments):
        result = self.limited(limits, "train", "tiny.toml", "--quiet", *arguments, "--run", "limited")
        self.assertEqual(result.returncode, 4, (limits, arguments, result.stderr))
        self.assertRegex(result.stderr, what)
        for line in result.stderr.splitlines():
            self.assertRegex(line, "^(lockstep|warning): ")
            self.assertNotIn("killed by signal", line)
        self.ok("train", "tiny.toml", "--quiet", "--run", "limited")
        self.assertEqual(self.evidence("limited"), self.whole)
        shutil.rmtree(self.path("limited"))
        return result.stderr.splitlines()

    def test_many_more_threads_than_cpus_are_told_of(self):
        one = {min(os.sched_getaffinity(0))}
        for threads, told in (8, False), (9, True):
            result = subprocess.run([PROGRAM, "train", "tiny.toml", "--threads", str(threads)], cwd=self.folder, capture_output=True, text=True,
                                    check=False, preexec_fn=lambda: os.sched_setaffinity(0, one))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual("--threads 9: a rank may use 1 CPU here" in result.stderr, told, result.stderr)

    def test_threads_that_do_not_start_are_4(self):
        lines = self.expect_4_then_the_same("cannot start a thread", {resource.RLIMIT_AS: 8 << 30}, "--threads", "4096")
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("--threads", lines[0])

    def test_little_address_space_is_4(self):
        """From the least with which the libraries can be loaded, until it works twice."""
        def ends(mebibytes, *arguments):
            return self.limited({resource.RLIMIT_AS: mebibytes << 20}, *arguments)
        low, high = 0, 4096
        if ends(high, "help").returncode != 0:
            self.skipTest("NOT PROVED: this build needs more than 4 GiB of address space")
        while high - low > 1:
            middle = (low + high) // 2
            result = ends(middle, "help")
            if result.returncode not in (0, 127):  # 127: the loader's, which has words of its own
                self.one_line(4, result)
            low, high = (low, middle) if result.returncode == 0 else (middle, high)
        ended = []
        while ended[-2:] != [0, 0]:
            self.assertLess(len(ended), 500)
            result = ends(high + 4 * len(ended), "train", "tiny.toml", "--quiet", "--threads", "1", "--run", "limited")
            ended.append(result.returncode)
            if result.returncode != 0:
                self.one_line(4, result)
        self.assertGreater(len(ended), 12)
        self.assertEqual(self.evidence("limited"), self.whole)

    def test_few_processes_are_4(self):
        try:
            self.assertEqual(self.limited({resource.RLIMIT_NPROC: 1000}, "-V").returncode, 0)
        except PermissionError:  # below a folder of root's, say
            self.skipTest("NOT PROVED: another user cannot run this build")
        for most in (1, 2, 3, 8):
            self.expect_4_then_the_same("cannot start a thread", {resource.RLIMIT_NPROC: most}, "--threads", "64")
        for most in (1, 2, 4, 7):
            self.expect_4_then_the_same("cannot start", {resource.RLIMIT_NPROC: most}, "--ranks", "2")

    def test_few_open_files_are_4_in_one_line_that_says_how_many_will_do(self):
        """From the least with which the system can load the program at all, until it works: every limit, and of ranks some."""
        for ranks, stride in (("1", 1), ("2", 3)):
            least = 0
            for most in range(4, 65, stride):
                result = self.limited({resource.RLIMIT_NOFILE: most}, "train", "tiny.toml", "--quiet", "--ranks", ranks, "--run", "few")
                if result.returncode == 0:
                    break
                line = self.one_line(4, result)
                self.assertRegex(line, r"^too few open files are allowed: .*\(raise the limit: ulimit -n \d+\)$", most)
                least = int(line.rstrip(")").split()[-1])
                self.assertFalse(os.path.exists(self.path("few")))
            if ranks == "1":
                self.assertEqual(most, least)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(self.evidence("few"), self.whole)
            shutil.rmtree(self.path("few"))

    def test_few_open_files_are_4_for_every_command(self):
        for command in (["verify", "undisturbed"], ["sample", "undisturbed"], ["replay", "undisturbed", "--ranks", "2"],
                        ["report", "undisturbed"], ["doctor"], ["check", "--ranks", "2"], ["fingerprint"],
                        ["diff", "undisturbed", "undisturbed"], ["trace", "undisturbed", "t.jsonl"]):
            for most in (4, 6, 12) if command[0] == "verify" else (6,):
                self.assertIn("too few open files", self.one_line(4, self.limited({resource.RLIMIT_NOFILE: most}, *command)), command)
        self.assertEqual(self.limited({resource.RLIMIT_NOFILE: 4}, "help").returncode, 0)

    def test_files_that_its_parent_left_open_count(self):
        held = [os.open("/dev/null", os.O_RDONLY) for _ in range(60)]
        self.addCleanup(lambda: [os.close(fd) for fd in held])
        result = subprocess.run([PROGRAM, "train", "tiny.toml", "--run", "few"], cwd=self.folder, text=True, capture_output=True,
                                pass_fds=held, timeout=300, check=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (max(held) + 6, max(held) + 6)))
        self.assertIn("too few open files", self.one_line(4, result))

    def test_closed_standard_streams_become_no_file_of_the_run(self):
        for ranks in ("1", "2"):
            for closed in ("<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"):
                command = [PROGRAM, "train", "tiny.toml", "--ranks", ranks, "--run", "closed"]
                result = subprocess.run(["bash", "-c", f'exec "$@" {closed}', "bash", *command], cwd=self.folder,
                                        text=True, capture_output=True, timeout=300, check=False)
                self.assertEqual(result.returncode, 0, closed + result.stderr)
                self.assertEqual("ledger" in result.stdout, ">&-" not in closed.replace("2>&-", ""), closed)
                self.assertEqual(self.evidence("closed"), self.whole, closed)
                shutil.rmtree(self.path("closed"))


class Folders(Cli):
    def test_a_current_folder_that_is_gone_is_4(self):
        for command, code in (("verify", 4), ("diff", 125)):
            os.makedirs(self.path("gone"), exist_ok=True)
            result = subprocess.run(["sh", "-c", 'cd gone && rmdir ../gone && exec "$0" "$@"', PROGRAM, command, self.path("run"), "--json"],
                                    cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, json.loads(result.stdout)["error"]["code"]), (code, code))
            self.assertIn("the current folder is gone", self.one_line(code, result))

    def test_no_folder_for_temporary_files_is_told(self):
        self.ok("train", "tiny.toml", "--quiet", "--set", "run.steps=1", "--run", "run")
        self.assertIn("set TMPDIR to a folder that is there",
                      self.refused(125, "bisect", "run", "run", "--step", "1", TMPDIR=self.path("nowhere")))

    def test_a_recipe_that_comes_through_a_pipe_is_told_so(self):
        result = subprocess.run([PROGRAM, "train", "/dev/stdin"], cwd=self.folder, input=self.read("tiny.toml"), capture_output=True,
                                check=False)
        self.assertEqual((result.returncode, result.stderr),
                         (2, b"lockstep: the recipe /dev/stdin is not a file (write it to one)\n"))

    def test_a_doctor_that_may_not_write_leaves_nothing(self):
        os.mkdir(self.path("empty"))
        result = subprocess.run([PROGRAM, "doctor", "--run", "empty"], cwd=self.folder, capture_output=True, text=True, check=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
        self.assertEqual(result.returncode, 4, result.stdout)
        self.assertRegex(result.stdout, "(?m)^FAIL +run folder")
        self.assertEqual(os.listdir(self.path("empty")), [])

    def test_a_file_in_the_way_stays(self):
        """In place of the run's folder it is a wrong argument (2), in place of one of its folders a fault (4)."""
        self.write("file", "mine")
        for run in ("file", "file/run"):
            self.assertIn("file is no folder, and ",
                          self.refused(2, "train", "tiny.toml", "--quiet", "--run", run))
        self.assertEqual(self.read("file"), b"mine")
        for name in ("checkpoints", "samples", "environment"):
            os.makedirs(self.path("run"))
            self.write("run/" + name, "mine")
            line = self.refused(4, "train", "tiny.toml", "--quiet", "--run", "run", "--set",
                                "samples.count=1")
            self.assertIn("run/" + name, line)
            self.assertEqual(self.read("run", name), b"mine")
            shutil.rmtree(self.path("run"))

    def test_a_folder_without_permission_is_4(self):
        if os.getuid() == 0:
            # Not even root makes a folder there.
            self.assertIn("/proc/run", self.refused(4, "train", "tiny.toml", "--run", "/proc/run"))
            return
        os.makedirs(self.path("locked"))
        os.chmod(self.path("locked"), 0o555)
        self.refused(4, "train", "tiny.toml", "--quiet", "--run", "locked")
        self.refused(4, "train", "tiny.toml", "--quiet", "--run", "locked/run")
        self.assertFalse(os.listdir(self.path("locked")))

    def test_a_run_of_another_recipe_is_2_and_stays_as_it_is(self):
        self.once("runs", "train", "tiny.toml", "--quiet")
        before = self.contents("runs")
        line = self.refused(2, "train", "tiny.toml", "--quiet", "--set", "run.seed=9")
        self.assertIn("runs/tiny is a run of another recipe: run.seed is 9, there 1", line)
        self.assertEqual(self.contents("runs"), before)

    def test_a_checkpoint_of_another_recipe_is_2_and_named(self):
        self.once("runs", "train", "tiny.toml", "--quiet")
        self.ok("train", "tiny.toml", "--quiet", "--set", "run.seed=9", "--set", "run.steps=3",
                "--run", "other")
        for name in ("step-00000003.h5", "step-00000003.h5.sha256"):
            shutil.copy(self.path("other/checkpoints", name), self.path("runs/tiny/checkpoints"))
        line = self.refused(2, "train", "tiny.toml", "--quiet", "--set", "run.steps=4")
        self.assertIn("step-00000003.h5 is a checkpoint of another recipe: run.seed is 1, there 9",
                      line)

    def test_a_checkpoint_on_other_data_is_3_and_named(self):
        self.once("runs", "train", "tiny.toml", "--quiet")
        images = bytearray(self.read("images"))
        images[-1] ^= 1
        self.write("others", bytes(images))
        self.ok("train", "tiny.toml", "--quiet", "--set", "data.path=others", "--set", "run.steps=3",
                "--run", "other")
        for name in ("step-00000003.h5", "step-00000003.h5.sha256"):
            shutil.copy(self.path("other/checkpoints", name), self.path("runs/tiny/checkpoints"))
        before = self.contents("runs/tiny/checkpoints")
        line = self.refused(3, "train", "tiny.toml", "--quiet", "--set", "run.steps=4")
        self.assertIn("step-00000003.h5 is a checkpoint of a run on other data", line)
        self.assertEqual(self.contents("runs/tiny/checkpoints"), before)

    def test_a_checkpoint_under_another_steps_name_is_5_and_named(self):
        self.once("run", "train", "tiny.toml", *EVERY_STEP, "--run", "run")
        for end in ("", ".sha256"):
            shutil.copy(self.path(f"run/checkpoints/step-00000007.h5{end}"),
                        self.path(f"run/checkpoints/step-00000008.h5{end}"))
        line = self.refused(5, "train", "tiny.toml", *EVERY_STEP, "--run", "run")
        self.assertIn("step-00000008.h5 is the checkpoint of step 7, under another step's name", line)

    def test_a_damaged_checkpoint_is_passed_over_and_made_again(self):
        self.once("run", "train", "tiny.toml", *EVERY_STEP, "--run", "run")
        whole = self.evidence("run")
        name = "run/checkpoints/step-00000008.h5"
        damaged = bytearray(self.read(name))
        damaged[len(damaged) // 2] ^= 4
        self.write(name, bytes(damaged))
        result = self.run_it("train", "tiny.toml", *EVERY_STEP, "--run", "run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("step-00000008.h5, bytes", result.stderr)
        self.assertEqual(self.evidence("run"), whole)

    def test_a_damaged_ledger_is_5_and_stays_as_it_is(self):
        self.once("runs", "train", "tiny.toml", "--quiet")
        text = self.read("runs/tiny/ledger.jsonl")
        self.write("runs/tiny/ledger.jsonl", text.replace(b'"samples":2', b'"samples":3'))
        before = self.contents("runs")
        line = self.refused(5, "train", "tiny.toml", "--quiet", "--set", "run.steps=4")
        self.assertIn("ledger.jsonl:2:", line)
        self.assertEqual(self.contents("runs"), before)

    def test_a_ledger_cut_behind_its_checkpoint_is_5_and_stays_as_it_is(self):
        self.once("runs", "train", "tiny.toml", "--quiet")
        text = self.read("runs/tiny/ledger.jsonl")
        last = len(text.splitlines(keepends=True)[-1])
        for cut in (last, 10):  # between lines, and in one
            self.write("runs/tiny/ledger.jsonl", text[:-cut])
            line = self.refused(5, "train", "tiny.toml", "--quiet", "--set", "run.steps=4")
            self.assertIn("ledger.jsonl ends at step 1", line)
            self.assertEqual(self.read("runs/tiny/ledger.jsonl"), text[:-cut])


class Divergence(Cli):
    def test_a_value_that_is_not_finite_is_7_names_step_and_tensor_and_keeps_what_was_good(self):
        wild = ["train", "tiny.toml", "--quiet", "--set", "model.optimizer.kind=sgd", "--set",
                "model.optimizer.lr=1e6", "--set", "model.optimizer.clip_norm=0", "--set",
                "run.steps=20", "--set", "checkpoint.every=1"]
        line = self.refused(7, *wild)
        self.assertRegex(line, r"^step \d+: training diverged: non-finite value in model/param/\S+ ")
        step = int(line.split(":")[0].removeprefix("step "))
        self.assertGreater(step, 1)
        last = f"checkpoints/step-{step - 1:08}.h5"
        self.assertIn(last, self.contents("runs/tiny"))
        self.assertEqual(len(self.read("runs/tiny/ledger.jsonl").splitlines()), step)
        self.ok("verify", "runs/tiny")
        before = self.evidence("runs/tiny")
        self.assertEqual(self.refused(7, *wild), line)
        self.assertEqual(self.evidence("runs/tiny"), before)


class InstructionSets(Cli):
    def test_an_unknown_one_is_2_and_one_that_this_cpu_lacks_is_4(self):
        self.assertIn("nonsense", self.refused(2, "fingerprint", LOCKSTEP_ISA="nonsense"))
        missing = 0
        for isa in ("avx2", "avx512", "neon"):
            result = self.run_it("fingerprint", LOCKSTEP_ISA=isa)
            if result.returncode != 0:
                missing += 1
                self.assertIn(isa, self.one_line(4, result))
        self.assertGreater(missing, 0)  # no CPU has AVX2 and NEON

    @not_beside_sanitizers
    @unittest.skipUnless(shutil.which("qemu-x86_64"), "NOT PROVED: no qemu-x86_64 (qemu-user)")
    def test_a_cpu_without_fused_multiply_add_is_4_and_no_illegal_instruction(self):
        result = subprocess.run(["qemu-x86_64", "-cpu", "Nehalem", PROGRAM, "train", "tiny.toml"],
                                cwd=self.folder, text=True, capture_output=True, timeout=300,
                                check=False)
        self.assertIn("fused multiply-add", self.one_line(4, result))
        self.assertFalse(os.path.exists(self.path("runs")))


if __name__ == "__main__":
    main()
