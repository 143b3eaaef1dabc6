"""One rank is not like the others: another recipe, data set, instruction set or clock, or slow. Refused by name, or the
same bytes."""

import glob
import os
import shutil
import signal
import sys
import threading
import time

from support import SOURCE, main, not_beside_sanitizers
from toy import TRAIN, Toy

sys.path.insert(0, os.path.join(SOURCE, "tests/support"))
from clocks import faketime_library  # noqa: E402
from ports import free_port  # noqa: E402


class OddRank(Toy):
    def pair(self, arguments, odd_arguments=(), odd_folder=None, code=0, **odd_variables):
        """Two ranks by hand, the second one different; what both say."""
        common = {"LOCKSTEP_SECRET_FILE": self.secret(), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                  "MASTER_PORT": str(free_port()), "LOCKSTEP_DEADLINE": "20"}
        processes = [self.start(*arguments, RANK="0", **common)]
        here, self.folder = self.folder, odd_folder or self.folder
        processes.append(self.start(*arguments, *odd_arguments, **{**common, "RANK": "1", **odd_variables}))
        self.folder = here
        said = []
        for process in processes:
            out, err = process.communicate(timeout=300)
            self.assertEqual(process.returncode, code, out + err)
            said.append(err)
        return said

    def test_the_key_that_differs_is_named_on_both(self):
        for key, mine, theirs in (("generator.optimizer.lr", "0.001", "0.002"), ("run.seed", "11", "12"),
                                  ("run.steps", "40", "50"), ("evidence.witness_rate", "0.25", "0.5"),
                                  ("monitor.every", "10", "20"), ("checkpoint.every", "10", "20")):
            for err in self.pair([*TRAIN, "--run", "run", "--set", f"{key}={mine}"], ["--set", f"{key}={theirs}"], code=6):
                self.assertRegex(err, rf"the ranks do not belong together: .*{key}: rank 0 on \S+ has '{mine}', "
                                      rf"rank 1 on \S+ has '{theirs}'")
        self.assertFalse(os.path.exists(self.path("run")))

    def test_each_computes_as_many_lanes_at_once_as_it_likes(self):
        self.ok(*TRAIN, "--run", "alone")
        self.pair([*TRAIN, "--run", "run"], ["--lanes-at-once", "1"])
        self.assertEqual(self.evidence("run"), self.evidence("alone"))

    def test_other_data_is_found_before_the_first_step_and_the_sample_is_named(self):
        other = self.path("other")
        os.mkdir(other)
        shutil.copy(self.path("tiny.toml"), other)
        whole = self.read("images")  # IDX: 16 bytes, then 16 images of 8 x 8
        one, two = bytearray(whole), bytearray(whole)
        one[-1] ^= 1
        two[16 + 3 * 64] ^= 128
        two[-1] ^= 1
        fewer = bytearray(whole[:-64])
        fewer[7] = 15
        hashes = r"rank 1 has [0-9a-f]{12}, rank 0 has [0-9a-f]{12}"
        train = ["train", "tiny.toml", "--quiet", "--threads", "1", "--run", "run"]
        for images, where in ((one, rf" in sample 15, {hashes}"), (two, rf" in sample 3 and 1 more, {hashes}"),
                              (fewer, ", rank 1 has 15 samples of 64 values, rank 0 has 16 samples of 64 values")):
            with open(os.path.join(other, "images"), "wb") as file:
                file.write(images)
            for err in self.pair(train, odd_folder=other, code=3):
                self.assertRegex(err, f"the data set differs{where}")
            self.assertFalse(os.path.exists(self.path("run")))

    def test_a_label_that_differs_names_its_sample(self):
        other = self.path("other")
        os.mkdir(other)
        shutil.copy(self.path("tiny.toml"), other)
        shutil.copy(self.path("images"), other)
        for folder, changed in (("", 7), ("other", 8)):
            labels = bytes(7 if i == 5 else changed if i == 11 else 0 for i in range(16))
            with open(os.path.join(self.path(folder), "labels"), "wb") as file:
                file.write(b"\0\0\x08\x01\0\0\0\x10" + labels)
        train = ["train", "tiny.toml", "--quiet", "--threads", "1", "--run", "run", "--set", "data.classes=10", "--set",
                 "data.labels=labels"]
        for err in self.pair(train, odd_folder=other, code=3):
            self.assertRegex(err, "the data set differs in sample 11, rank 1 has [0-9a-f]{12}, rank 0 has")
        self.assertFalse(os.path.exists(self.path("run")))

    def test_another_instruction_set_is_reported_and_changes_no_bit(self):
        err, _ = self.pair([*TRAIN, "--run", "run"], LOCKSTEP_ISA="scalar")
        self.assertRegex(err, r"warning: the ranks differ: isa: rank \d on \S+ has '[\w-]+', rank \d on \S+ has '[\w-]+'")
        self.assertEqual(self.evidence("run"), self.alone())

    @not_beside_sanitizers
    def test_another_clock_changes_no_bit(self):
        preload = faketime_library()
        if preload is None:
            self.skipTest("NOT PROVED: ranks with other clocks (no faketime)")
        expected = self.alone()
        for number, clock in enumerate(("-10y", "+10y")):
            self.pair([*TRAIN, "--run", f"run{number}"], LD_PRELOAD=preload, FAKETIME=clock, DONT_FAKE_MONOTONIC="1")
            self.assertEqual(self.evidence(f"run{number}"), expected)

    def test_another_transport_is_refused(self):
        for err in self.pair([*TRAIN, "--run", "run"], code=6, LOCKSTEP_TRANSPORT="nccl"):
            self.assertRegex(err, r"transport: rank 0 on \S+ has 'gloo', rank 1 on \S+ has 'nccl'")
        self.assertIn(" is not a transport (give gloo or nccl)", self.refused(2, *TRAIN, RANK="0", WORLD_SIZE="2",
                                                              MASTER_ADDR="127.0.0.1", LOCKSTEP_TRANSPORT="mpi",
                                                              LOCKSTEP_SECRET_FILE=self.secret()))

    def test_nccl_needs_a_gpu_for_every_rank(self):
        gpus = len(glob.glob("/dev/nvidia[0-9]*"))
        process = self.start(*TRAIN, "--run", "run", "--ranks", "2", LOCKSTEP_TRANSPORT="nccl", LOCKSTEP_DEADLINE="20")
        out, err = process.communicate(timeout=300)
        if gpus < 2:  # NCCL takes no device twice
            self.assertEqual(process.returncode, 6 if gpus else 4, out + err)
            if gpus == 0:
                self.assertRegex(err, r"lockstep: rank \d: the transport 'nccl' cannot run here: (no CUDA device: .*|there is no NVIDIA driver here) \(every")
            self.skipTest(f"NOT PROVED: bytes over NCCL ({gpus} GPUs)")
        self.assertEqual((process.returncode, err), (0, ""), out)
        self.assertEqual(self.evidence("run"), self.alone())

    def test_a_slow_rank_is_waited_for_and_named(self):
        recipe = os.path.join(SOURCE, "recipes/golden/ddpm.toml")
        process = self.start("train", recipe, "--run", "run", "--quiet", "--ranks", "3", LOCKSTEP_DEADLINE="120")
        self.wait_for_step(1)
        over, lines = threading.Event(), []

        def stutter():  # stopped for so much of the time that a fast machine, too, needs its 5 s of a rank; never for long
            while not over.is_set():
                slow = self.rank_processes("RANK").get(1)
                for number, seconds in ((signal.SIGSTOP, 0.9), (signal.SIGCONT, 0.1)):
                    try:
                        if slow:
                            os.kill(slow, number)
                    except ProcessLookupError:
                        pass
                    time.sleep(seconds)

        thread = threading.Thread(target=stutter)
        thread.start()
        for line in process.stderr:
            lines.append(line)
            if "is slow" in line:  # the other steps run free
                over.set()
        process.communicate(timeout=3600)
        over.set()
        thread.join()
        err = "".join(lines)
        self.assertEqual(process.returncode, 0, err)
        self.assertRegex(err, r"rank 1 is slow: in the last \d+ steps it computed [\d.]+ times as long per lane")
        with open(os.path.join(SOURCE, "tests/golden/ddpm.ledger.jsonl"), "rb") as golden:
            self.assertEqual(self.read("run/ledger.jsonl"), golden.read())


main()
