"""Runs by several processes: the same bytes for every number of ranks, whoever is killed or stopped;
launchers' variables, secrets and their mistakes."""

import os
import signal

from support import main
from toy import TRAIN, Toy


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
        expected = self.alone()
        for victim, ranks, at in ((1, 3, 5), (0, 2, 15), (1, 2, 25)):
            process = self.start(*TRAIN, "--run", "run", "--ranks", str(ranks))
            self.wait_for_step(at)
            os.kill(self.ranks_of(process, ranks)[victim], signal.SIGKILL)
            _, err = process.communicate(timeout=200)
            self.assertEqual(process.returncode, 6, err)
            self.assertIn(f"rank {victim} was killed by signal 9", err)
            self.assertRegex(err, rf"lockstep: rank \d: .*rank {victim}\b")
        self.ok(*TRAIN, "--run", "run", "--ranks", "4")
        self.assertEqual(self.evidence("run"), expected)

    def test_a_stopped_rank_leads_all_to_save_at_the_same_step(self):
        expected = self.alone()
        for who in ("the command", "one rank"):
            process = self.start(*TRAIN, "--run", "run", "--ranks", "2")
            self.wait_for_step(5 if who == "the command" else 20)
            os.kill(process.pid if who == "the command" else self.ranks_of(process, 2)[1], signal.SIGTERM)
            out, err = process.communicate(timeout=200)
            self.assertEqual((process.returncode, err), (75, ""), out)
            self.ok("verify", "run")
        self.ok(*TRAIN, "--run", "run")
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
        port = str(20000 + os.getpid() % 10000)
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

    def test_mistakes_are_one_line(self):
        self.assertIn("WORLD_SIZE", self.refused(2, *TRAIN, RANK="0"))
        self.assertIn("LOCKSTEP_SECRET_FILE", self.refused(2, *TRAIN, RANK="0", WORLD_SIZE="2",
                                                           MASTER_ADDR="127.0.0.1", MASTER_PORT="29518"))
        self.write("open", b"x" * 32)
        os.chmod(self.path("open"), 0o644)
        self.assertIn("others may read", self.refused(
            2, *TRAIN, RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="29518",
            LOCKSTEP_SECRET_FILE=self.path("open")))
        self.assertIn("6 lanes", self.refused(2, *TRAIN, "--ranks", "7"))
        self.assertIn("--ranks", self.refused(2, *TRAIN, "--ranks", "2", RANK="0", WORLD_SIZE="2",
                                              MASTER_ADDR="127.0.0.1"))


main()
