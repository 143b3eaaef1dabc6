"""Runs by several processes: the same bytes for every number of ranks, whoever is killed or stopped;
launchers' variables, secrets and their mistakes."""

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from support import PROGRAM, SOURCE, main
from toy import MANY, TRAIN, Toy, read_proc

sys.path.insert(0, os.path.join(SOURCE, "tests/support"))
from ports import free_port  # noqa: E402


class Ranks(Toy):
    def ranks_of(self, process, count):
        """Process ids, by rank."""
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            pids = [int(pid) for pid in file.read().split()]
        self.assertEqual(len(pids), count)
        return pids

    def test_any_number_of_them_gives_the_same_files(self):
        expected = self.alone()
        for ranks in (2, 3, 6):
            out = self.ok(*TRAIN, "--run", f"by{ranks}", "--ranks", str(ranks))
            self.assertEqual(out.count("\n"), 1, out)  # rank 0 reports, nobody else
            self.assertEqual(self.evidence(f"by{ranks}"), expected)
        self.assertEqual(len([n for n in self.contents("by3") if n.startswith("environment/")]), 3)

    def test_each_may_have_one_value_of_batch_norm(self):
        one = ["--set", "batch.lanes=2", "--set", "batch.samples_per_lane=1"]
        self.ok(*TRAIN, *one, "--run", "run", "--ranks", "2")
        self.assertEqual(self.evidence("run"), self.alone(*one))

    def test_their_exchange_is_logged_and_changes_no_bit(self):
        self.ok(*TRAIN, "--run", "run", "--ranks", "3", "--exchange-log", "logs/run")
        self.assertEqual(self.evidence("run"), self.alone())
        self.assertEqual(sorted(os.listdir(self.path("logs/run"))), ["rank-0.jsonl", "rank-1.jsonl", "rank-2.jsonl"])
        logs = [[json.loads(line) for line in self.read(f"logs/run/rank-{rank}.jsonl").splitlines()] for rank in range(3)]
        operations = [[(line["step"], line["operation"], line["about"]) for line in log] for log in logs]
        self.assertEqual(operations[0], operations[1])  # collective: the same ones in the same order
        self.assertEqual(operations[0], operations[2])
        self.assertEqual({line[0] for line in operations[0]} - {0}, set(range(1, 41)))
        self.assertTrue(any(operation == "all_to_all" and about.startswith("partials of ") for _, operation, about in operations[0]))
        for lines in zip(*logs, strict=True):
            for rank, line in enumerate(lines):
                self.assertEqual((line["rank"], line["ranks"]), (rank, 3))
                self.assertLessEqual(line["waited"], line["seconds"] + 1e-9)
                self.assertNotIn("error", line)
                self.assertEqual(line["memory"], "host")
                if line["operation"] == "all_to_all":  # what one sends, the other receives
                    self.assertEqual(line["from"], [other["to"][rank] for other in lines])
                    self.assertEqual(line["bytes_sent"], sum(line["to"]) - line["to"][rank])

    def test_what_a_step_sends_is_told_before(self):
        """But for digests and what ranks agree on, some percent of it here: the networks are small."""
        recipe = os.path.join(SOURCE, "recipes/golden/toy-gan.toml")
        for ranks in ("2", "3"):
            for shard in ("none", "optimizer"):
                train = ["train", recipe, "--set", "run.steps=3", "--ranks", ranks, "--shard", shard]
                told = json.loads(self.ok(*train, "--dry-run", "--json"))["sent_bytes_per_step"]
                log = f"log-{ranks}-{shard}"
                self.ok(*train, "--run", f"run-{ranks}-{shard}", "--exchange-log", log, "--quiet")
                lines = [json.loads(line) for line in self.read(log, "rank-0.jsonl").splitlines()]
                sent = sum(line["bytes_sent"] for line in lines if line["step"] == 3)
                self.assertLess(told, sent)
                self.assertGreater(told, 0.95 * sent)
        self.assertEqual(json.loads(self.ok("train", recipe, "--dry-run", "--json"))["sent_bytes_per_step"], 0)

    def test_each_ones_work_is_in_metrics_and_on_the_page(self):
        self.ok(*TRAIN, "--run", "run", "--ranks", "3")
        last = json.loads(self.read("run/metrics.jsonl").splitlines()[-1])["ranks"]
        self.assertEqual(len(last), 3)
        for rank in last:
            self.assertGreater(rank["computing"], 0)
            self.assertGreater(rank["waiting"], 0)
            self.assertGreater(rank["samples_per_second"], 0)
            self.assertGreater(rank["peak_bytes"], 1 << 20)
        slowest = min(range(3), key=lambda rank: last[rank]["samples_per_second"])
        self.ok("report", "run")
        self.assertIn(f"The slowest is rank {slowest}: the others wait for it.", self.read("run/report.html").decode())

    def test_a_monitor_stops_all_of_them_at_the_same_step_with_7(self):
        result = self.run_it(*TRAIN, "--run", "run", "--ranks", "3", "--set", "monitor.loss_limit=1e-3",
                             "--set", "monitor.loss_steps=15")
        self.assertEqual(result.returncode, 7, result.stderr)
        said = sorted(line for line in result.stderr.splitlines() if "divergence: the loss of the generator" in line
                      and line.startswith("lockstep: "))
        self.assertEqual([line[:len("lockstep: rank 0: step 15")] for line in said],
                         [f"lockstep: rank {rank}: step 15" for rank in range(3)])
        self.assertEqual(self.read("run/ledger.jsonl").count(b"\n"), 1 + 15)
        self.assertEqual(sorted(os.listdir(self.path("run/checkpoints"))),
                         ["step-00000010.h5", "step-00000010.h5.sha256"])
        self.ok("verify", "run")

    def test_a_killed_rank_stops_all_by_name_and_others_take_the_run_up(self):
        expected = self.alone(*MANY)
        for victim, ranks, at in ((1, 3, 5), (0, 2, 15), (1, 2, 25)):
            process = self.start(*TRAIN, *MANY, "--run", "run", "--ranks", str(ranks))
            self.wait_for_step(at)
            os.kill(self.ranks_of(process, ranks)[victim], signal.SIGKILL)
            _, err = process.communicate(timeout=200)
            self.assertEqual(process.returncode, 6, err)
            self.assertIn(f"rank {victim} was killed by signal 9", err)
            self.assertRegex(err, rf"lockstep: rank \d: .*rank {victim}\b")
        self.ok(*TRAIN, *MANY, "--run", "run", "--ranks", "4")
        self.assertEqual(self.evidence("run"), expected)

    def test_a_killed_command_takes_its_ranks_with_it(self):
        process = self.start(*TRAIN, "--set", "run.steps=1000000", "--run", "run", "--ranks", "3")
        self.wait_for_step(5)
        self.assertEqual(len(self.rank_processes("RANK")), 3)
        process.kill()
        process.communicate(timeout=200)
        deadline = time.monotonic() + 120
        while self.rank_processes("RANK"):
            self.assertLess(time.monotonic(), deadline, "ranks outlive the command that started them")
            time.sleep(0.01)
        self.ok(*TRAIN, "--run", "run", "--set", f"run.steps={self.lines() + 5}")

    def test_a_rank_killed_before_all_have_met_is_named_at_once(self):
        for victim, ranks in ((0, 2), (1, 3)):
            process = self.start(*TRAIN, "--json", "--run", "run", "--ranks", str(ranks), LOCKSTEP_DEADLINE="1000")
            while victim not in (found := self.rank_processes("RANK")):
                self.assertIsNone(process.poll())
                time.sleep(0.001)
            os.kill(found[victim], signal.SIGKILL)
            out, err = process.communicate(timeout=200)  # half a deadline is longer
            self.assertEqual(process.returncode, 6, err)
            self.assertEqual(json.loads(out)["error"]["code"], 6)  # by the launcher where rank 0 cannot
            self.assertIn(f"warning: rank {victim} was killed by signal 9", err)
            for rank in set(range(ranks)) - {victim}:
                self.assertIn(f"lockstep: rank {rank}: rank {victim} was killed by signal 9 before all ranks had met",
                              err)
            self.assertFalse(os.path.exists(self.path("run")))

    def test_a_rank_that_waits_for_others_can_be_stopped(self):
        self.ok(*TRAIN, "--set", "run.steps=2", "--run", "done")
        train, replay = [*TRAIN[:-1], "--json", "--run", "run"], ["replay", "done", "--json"]
        for rank, command in ((0, train), (1, train), (0, replay), (1, replay)):
            process = self.start(*command, RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                                 MASTER_PORT=str(free_port()), LOCKSTEP_SECRET_FILE=self.secret(),
                                 LOCKSTEP_DEADLINE="1000")
            if command is train:
                self.assertIn(f"rank {rank} of 2", process.stderr.readline())
            else:
                self.wait_for_handler(process, signal.SIGTERM)
            process.terminate()
            out, err = process.communicate(timeout=200)
            self.assertEqual(process.returncode, 75, err)
            named = f"rank {rank}: " if command is train else ""
            self.assertIn(f"{named}stopped by a signal before all ranks had met", err)
            self.assertEqual(json.loads(out)["error"]["code"] if rank == 0 else out, 75 if rank == 0 else "")

    def wait_for_handler(self, process, number):
        while not int(re.search(rb"(?m)^SigCgt:\s*([0-9a-f]+)", read_proc(process.pid, "status"))[1], 16) >> (number - 1) & 1:
            self.assertIsNone(process.poll())
            time.sleep(0.005)

    def test_check_can_be_stopped_before_its_ranks_have_met(self):
        for signals in ([signal.SIGTERM], [signal.SIGINT, signal.SIGINT]):
            process = self.start("check", "--ranks", "2", "--json")
            while not self.rank_processes("RANK"):
                self.assertIsNone(process.poll())
                time.sleep(0.001)
            for number in signals:
                process.send_signal(number)
            out, err = process.communicate(timeout=200)
            self.assertEqual((process.returncode, json.loads(out)["error"]["code"]), (75, 75), err)

    def test_one_object_is_printed_for_all_ranks_and_attempts(self):
        process = self.start(*TRAIN, "--json", "--set", "run.steps=400", "--run", "run", "--ranks", "3", "--max-restarts", "1")
        self.wait_for_step(3)
        self.kill_rank("RANK", 1)
        out, err = process.communicate(timeout=300)
        self.assertEqual((process.returncode, json.loads(out)["steps"]), (0, 400), err)

    def test_nobody_listens_once_all_have_met(self):
        process = self.start(*TRAIN, "--run", "run", "--ranks", "3", "--set", "run.steps=100000")
        self.wait_for_step(1)
        ranks = self.ranks_of(process, 3)
        with socket.create_server(("127.0.0.1", 0)) as server:  # is seen, so others would be
            self.assertIn(server.getsockname()[1], self.ports(os.getpid(), "0A"))
            for pid in (process.pid, *ranks):
                self.assertEqual(self.ports(pid, "0A"), set())
        # Nor do connections keep anybody from listening.
        connected = set().union(*(self.ports(pid, "01") for pid in ranks))
        self.assertGreaterEqual(len(connected), 6)
        for port in connected:
            socket.create_server(("127.0.0.1", port)).close()
        process.terminate()
        process.communicate(timeout=200)

    @staticmethod
    def ports(pid, state):
        """The TCP ports of a process's sockets that listen (0A), or are connected (01)."""
        inodes = {}
        for table in ("tcp", "tcp6"):
            for line in read_proc(pid, f"net/{table}").decode().splitlines()[1:]:
                words = line.split()
                if words[3] == state:
                    inodes[f"socket:[{words[9]}]"] = int(words[1].split(":")[1], 16)
        held = set()
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed by now
                held.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        return {port for inode, port in inodes.items() if inode in held}

    def test_a_stopped_rank_leads_all_to_save_at_the_same_step(self):
        expected = self.alone(*MANY)
        for who in ("the command", "one rank"):
            process = self.start(*TRAIN, *MANY, "--run", "run", "--ranks", "2")
            self.wait_for_step(5 if who == "the command" else 20)
            os.kill(process.pid if who == "the command" else self.ranks_of(process, 2)[1], signal.SIGTERM)
            out, err = process.communicate(timeout=200)
            self.assertEqual((process.returncode, err), (75, ""), out)
            self.ok("verify", "run")
        self.ok(*TRAIN, *MANY, "--run", "run")
        self.assertEqual(self.evidence("run"), expected)

    def by_hand(self, rank, **more):
        port = more.pop("port", "29517")
        return self.start(*TRAIN, "--run", "run", RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                          MASTER_PORT=port, **more)

    def test_launchers_variables_are_understood_and_secrets_are_proved(self):
        self.write("secret", b"0123456789abcdef" * 2)
        self.write("other", b"fedcba9876543210" * 2)
        for name in ("secret", "other"):
            os.chmod(self.path(name), 0o600)
        port = str(free_port())
        mine = {"LOCKSTEP_SECRET_FILE": self.path("secret"), "port": port}
        both = [self.by_hand(0, **mine), self.by_hand(1, **mine)]
        for process in both:
            _, err = process.communicate(timeout=200)
            self.assertEqual(process.returncode, 0, err)
        self.assertEqual(self.evidence("run"), self.alone())
        stranger = {**mine, "LOCKSTEP_SECRET_FILE": self.path("other")}
        both = [self.by_hand(1, **stranger), self.by_hand(0, **mine)]
        _, err = both[0].communicate(timeout=200)
        self.assertEqual(both[0].returncode, 6, err)
        self.assertIn("secret", err)
        both[1].kill()
        both[1].communicate()

    def test_a_secret_may_come_through_a_pipe_bit_by_bit(self):
        self.secret("mine")
        piped = ["bash", "-c", 'LOCKSTEP_SECRET_FILE=<(head -c 16 mine; sleep 1; tail -c +17 mine) exec "$0" "$@"',
                 PROGRAM, *TRAIN, "--run", "run", "--quiet"]
        read = ["sh", "-c", 'LOCKSTEP_SECRET_FILE=mine exec "$0" "$@"', PROGRAM, *TRAIN, "--run", "run", "--quiet"]
        for result in self.as_ranks(piped, read):
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.evidence("run"), self.alone())

    def test_a_signal_ends_the_wait_for_a_secret(self):
        os.mkfifo(self.path("pipe"), 0o600)
        writer = os.open(self.path("pipe"), os.O_RDWR)  # who never writes
        self.addCleanup(os.close, writer)
        rank = self.by_hand(0, LOCKSTEP_SECRET_FILE=self.path("pipe"), port=str(free_port()))
        time.sleep(1)
        rank.terminate()
        _, err = rank.communicate(timeout=60)
        self.assertEqual(rank.returncode, 75, err)
        self.assertIn("stopped by a signal before the secret was read (nothing was begun)", err)

    def test_nobody_ends_before_the_result_is_shown(self):
        """A launcher that sees one rank end with an error ends the others: torchrun at once, by SIGTERM."""
        no_such_gpu = ["sh", "-c", 'exec "$0" "$@" --device cuda:99']
        self.shown_first(1, r"\(native\) give other bits on rank 1", "check", ONEDNN_MAX_CPU_ISA="SSE41")
        self.shown_first(4, r"(?m)^FAIL  rank 1 +on \S+: device: cuda:99: ", "doctor", before=no_such_gpu)
        self.ok(*TRAIN, "--run", "run")
        subprocess.run([sys.executable, os.path.join(SOURCE, "tests/style/wrong_machine.py"), self.path("run"), "33"],
                       check=True)
        self.shown_first(1, "FAIL: step 33", "replay", "run", "--from", "31", "--quiet")

    def shown_first(self, code, text, *arguments, before=(), **of_rank_1):
        """Two ranks, and nobody reads what rank 0 shows: rank 1 must wait, then end with that code."""
        variables = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()),
                     "LOCKSTEP_SECRET_FILE": self.secret()}
        reads, writes = os.pipe()
        fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writes, bytes(fcntl.fcntl(writes, fcntl.F_GETPIPE_SZ)))
        zero = subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=writes,
                                stderr=subprocess.PIPE, text=True, env={**os.environ, **variables, "RANK": "0"})
        self.addCleanup(self.end, zero)
        os.close(writes)
        one = self.launch(before, PROGRAM, *arguments, **variables, RANK="1", **of_rank_1)
        deadline = time.monotonic() + 20
        while b"pipe" not in read_proc(zero.pid, "wchan") and time.monotonic() < deadline:  # it cannot go on
            time.sleep(0.01)
        with self.assertRaises(subprocess.TimeoutExpired, msg="rank 1 did not wait"):
            one.wait(timeout=1)
        with open(reads, encoding="utf-8") as file:
            self.assertRegex(file.read(), text)
        out, err = one.communicate(timeout=200)
        self.assertEqual((one.returncode, out), (code, ""), err)
        zero.communicate(timeout=200)
        self.assertEqual(zero.returncode, code)

    def test_a_doctor_that_comes_late_finds_rank_0_at_its_port(self):
        port = free_port()
        variables = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                     "LOCKSTEP_SECRET_FILE": self.secret()}
        zero = self.start("doctor", RANK="0", **variables)
        deadline = time.monotonic() + 60
        while port not in self.ports(zero.pid, "0A"):
            self.assertLess(time.monotonic(), deadline, "rank 0 does not listen")
            time.sleep(0.01)
        one = self.start("doctor", RANK="1", **variables)
        for process in (zero, one):
            out, err = process.communicate(timeout=200)
            self.assertEqual((process.returncode, err), (0, ""), out)

    def test_the_reason_why_a_replay_ends_reaches_all(self):
        self.ok("train", "tiny.toml", "--run", "run", "--quiet")
        variables = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()),
                     "LOCKSTEP_SECRET_FILE": self.secret()}
        zero = self.start("replay", "run", "--quiet", RANK="0", **variables)
        one = self.start("replay", "run", "--quiet", "--data", "none", RANK="1", **variables)
        reason = self.ended(one)
        self.assertIn("none", reason)
        self.assertTrue(reason.startswith("rank 1: "), reason)
        reason = reason.removeprefix("rank 1: ")
        self.assertRegex(self.ended(zero), rf"the group was stopped: rank 1 on \S+: {re.escape(reason)}")

    def ended(self, process):
        """What it said of its error."""
        _, err = process.communicate(timeout=200)
        self.assertNotEqual(process.returncode, 0, err)
        return err.strip().removeprefix("lockstep: ")

    def test_who_they_are_by_hand_is_said_with_both_variables(self):
        process = self.start(*TRAIN[:-1], "--run", "run", RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                             MASTER_PORT=str(free_port()), LOCKSTEP_SECRET_FILE=self.secret(), LOCKSTEP_DEADLINE="1000")
        self.assertEqual(process.stderr.readline(), "rank 0 of 2 from RANK and WORLD_SIZE\n")

    def test_an_error_file_that_nobody_reads_is_not_waited_for(self):
        command = [PROGRAM, "train", "tiny.toml", "--set", "data.path=gone"]
        rank = {"RANK": "0", "WORLD_SIZE": "1", "TORCHELASTIC_ERROR_FILE": self.path("file")}
        alone = {**rank, "TORCHELASTIC_RUN_ID": "none"}
        for left in ({"TORCHELASTIC_ERROR_FILE": self.path("file")}, rank):  # in a shell, or for another launcher
            self.refused(3, *command[1:], **left)
            self.assertFalse(os.path.exists(self.path("file")))
        self.assertIn("gone", self.refused(3, *command[1:], **alone))
        self.assertIn("gone", json.loads(self.read("file"))["message"]["message"])
        self.write("file", b"a user's")
        self.refused(3, *command[1:], **alone)
        self.assertEqual(self.read("file"), b"a user's")
        os.mkfifo(self.path("fifo"))
        result = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                env={**os.environ, **alone, "TORCHELASTIC_ERROR_FILE": self.path("fifo")}, timeout=300,
                                check=False)
        self.assertIn("gone", self.one_line(3, result))

    def test_one_whose_own_folder_is_further_than_rank_0s_is_told_of(self):
        """They have moved, and share no folder."""
        self.ok(*TRAIN, "--set", "run.steps=20", "--run", "there")
        both = [[PROGRAM, *TRAIN, "--set", "run.steps=30", "--run", run] for run in ("here", "there")]
        said = "rank 1 sees a checkpoint of step 20 of this run, and rank 0 goes on from step "
        self.assertIn(said + "0: if they share no folder, start rank 0 where the run was", self.told(both, said))
        shutil.rmtree(self.path("here"))
        # A damaged file is passed over: nobody is further.
        self.ok(*TRAIN, "--set", "run.steps=20", "--run", "here")
        damaged = bytearray(self.read("here/checkpoints/step-00000020.h5"))
        damaged[len(damaged) // 2] ^= 1
        self.write("here/checkpoints/step-00000020.h5", bytes(damaged))
        self.assertEqual(self.told([both[0], both[0]], "sees a checkpoint"), "")
        shutil.rmtree(self.path("here"))
        self.ok(*TRAIN, "--set", "run.steps=10", "--set", "run.seed=5", "--run", "there2")  # another run
        self.assertEqual(self.told([both[0], [*both[1][:-1], "there2"]], "sees a checkpoint"), "")
        self.assertEqual(self.told([both[0], both[0]], "sees a checkpoint"), "")

    def told(self, commands, said):
        results = self.as_ranks(*commands)
        for result in results:
            self.assertEqual(result.returncode, 0, result.stderr)
        lines = [line for line in results[0].stderr.splitlines() if said in line]
        self.assertIn("".join(lines), self.read("here/log.txt").decode())
        return "".join(lines)

    def test_an_interface_may_have_an_address_of_the_6th_version(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("NOT PROVED: interfaces with an IPv6 address: this machine has none")
        among = {"WORLD_SIZE": "2", "MASTER_ADDR": "::1", "MASTER_PORT": str(free_port()), "LOCKSTEP_INTERFACE": "lo",
                 "LOCKSTEP_SECRET_FILE": self.secret(), "LOCKSTEP_DEADLINE": "30"}
        for process in [self.start(*TRAIN, "--run", "run", RANK=str(rank), **among) for rank in range(2)]:
            _, err = process.communicate(timeout=200)
            self.assertEqual(process.returncode, 0, err)

    def test_mistakes_are_one_line(self):
        self.assertIn("WORLD_SIZE", self.refused(2, *TRAIN, RANK="0"))
        self.assertIn("LOCKSTEP_SECRET_FILE", self.refused(2, *TRAIN, RANK="0", WORLD_SIZE="2",
                                                           MASTER_ADDR="127.0.0.1", MASTER_PORT="29518"))
        self.write("open", b"x" * 32)
        os.chmod(self.path("open"), 0o644)
        self.assertIn("others may read", self.refused(
            2, *TRAIN, RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="29518",
            LOCKSTEP_SECRET_FILE=self.path("open")))
        self.assertIn("LOCKSTEP_SECRET_FILE is empty", self.refused(
            2, *TRAIN, RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="29518", LOCKSTEP_SECRET_FILE=""))
        for length in (0, 1, 31, 4097):
            self.write("secret", b"x" * length)
            os.chmod(self.path("secret"), 0o600)
            self.assertIn(f"a secret has 32 to 4096 bytes, not {length}", self.refused(
                2, *TRAIN, RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="29518",
                LOCKSTEP_SECRET_FILE=self.path("secret")))
        self.assertIn("6 lanes", self.refused(2, *TRAIN, "--ranks", "7"))
        for inside in ("new", "new/log", "./new/../new/checkpoints"):  # which a run would take for another's files
            self.assertIn("lies in the run's folder, new", self.refused(2, *TRAIN, "--run", "new", "--exchange-log", inside))
            self.assertFalse(os.path.exists(self.path("new")))
        for name in ("LOCKSTEP_DEADLINE", "LOCKSTEP_TRANSPORT", "LOCKSTEP_ISA"):
            self.assertIn(name, self.refused(2, *TRAIN, "--ranks", "2", **{name: "abc"}))
        self.assertIn("--ranks", self.refused(2, *TRAIN, "--ranks", "2", RANK="0", WORLD_SIZE="2",
                                              MASTER_ADDR="127.0.0.1"))


main()
