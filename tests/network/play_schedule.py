"""Plays one schedule of faults (schedule_test.cpp draws them): attempts that are disturbed, and a last one that is not.

usage: play_schedule.py PROGRAM SOURCE SCHEDULE
SCHEDULE is `ranks:fault:step:milliseconds:victim:cut:sharded` for each attempt, commas between, then the last one's
ranks: 3:kill:17:20:1:0:0,2
"""

import signal
import sys
import time

SCHEDULE = sys.argv.pop(3)

from cluster import TRAIN, Cluster, main, networks

DEADLINE, HOSTS = 6, 4
NAMED = "rank [0-9] on host[0-9]|rank [0-9] of [0-9] did not come"


class Attempt:
    def __init__(self, text):
        ranks, self.fault, *numbers = text.split(":")
        self.step, self.wait, victim, cut, self.sharded = map(int, numbers)
        self.ranks = int(ranks)
        self.victim = victim % self.ranks
        # A part of the ranks, neither none nor all.
        parts = range(1, max(2, 2**self.ranks - 1))
        self.seed, part = cut, parts[cut % len(parts)]
        self.cut_off = [rank for rank in range(self.ranks) if part >> rank & 1]
        self.rest = [rank for rank in range(self.ranks) if not part >> rank & 1]

    def arguments(self):
        return [*TRAIN, "--run", "run", "--shard", "optimizer" if self.sharded else "none"]

    def __str__(self):
        return f"{self.fault} with {self.ranks} ranks{', sharded' if self.sharded else ''}"


class Schedule(Cluster):
    def progress(self, step, processes):
        until = time.monotonic() + 120
        while time.monotonic() < until and any(process.poll() is None for process in processes):
            try:
                if self.read("run/ledger.jsonl").count(b"\n") > step:
                    return
            except FileNotFoundError:
                pass
            time.sleep(0.005)

    def strike(self, attempt, network, processes):
        victim, fault = processes[attempt.victim], attempt.fault
        if fault == "kill":
            victim.kill()
        elif fault == "terminate":
            victim.send_signal(signal.SIGTERM)
        elif fault == "partition":
            network.rule = networks.apart(attempt.cut_off, attempt.rest)
        elif fault == "one-way":
            network.rule = networks.cut(*((a, b) for a in attempt.cut_off for b in attempt.rest))
        elif fault == "rough":
            network.rule = networks.rough(attempt.seed, lose=0.03, repeat=0.03, delay=0.005)
        else:
            victim.send_signal(signal.SIGSTOP)
            time.sleep({"pause": 0.5, "long-pause": 1.5 * DEADLINE}[fault])
            victim.send_signal(signal.SIGCONT)

    def attempt(self, attempt, network):
        """Checks that every rank says why it ended."""
        what, network.rule = str(attempt), networks.cut()
        processes = self.start_all(network, attempt.ranks, *attempt.arguments(), deadline=DEADLINE)
        self.progress(attempt.step, processes)
        time.sleep(attempt.wait / 1000)
        self.strike(attempt, network, processes)
        struck, codes = time.monotonic(), []
        for process in processes:
            out, err = process.communicate(timeout=200)
            codes.append(process.returncode)
            killed = {"kill": -signal.SIGKILL, "terminate": -signal.SIGTERM}.get(attempt.fault, 0)  # SIGTERM: before it listens
            self.assertIn(process.returncode, (0, 6, 75, killed), what + out + err)
            if process.returncode == 6:
                self.assertRegex(err, NAMED, what)
            if attempt.fault == "kill":
                self.assertLess(time.monotonic() - struck, 120, what)
        print(f"{what}: {' '.join(map(str, sorted(codes)))}", flush=True)

    def test_ends_in_the_undisturbed_bytes(self):
        expected, network = self.alone(), self.network(HOSTS)
        *attempts, last = SCHEDULE.split(",")
        for text in attempts:
            self.attempt(Attempt(text), network)
        network.rule = networks.cut()
        for process in self.start_all(network, int(last), deadline=30):
            self.ended(process, 0, 200)
        self.assertEqual(self.evidence("run"), expected)
        self.ok("verify", "run")


main()
