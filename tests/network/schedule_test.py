"""Random schedules of faults: ranks are killed, stopped, paused and cut off at random moments, and the run is
taken up again by another number of ranks. It ends in the undisturbed run's bytes; every attempt that does
not get there ends by itself, with a documented code and a reason.

usage: schedule_test.py PROGRAM SOURCE SEEDS [unittest's arguments]    the first SEEDS seeds
"""

import random
import shutil
import signal
import sys
import time

SEEDS = int(sys.argv.pop(3))

from cluster import Cluster, main, networks

DEADLINE, HOSTS, ATTEMPTS = 6, 4, 5
FAULTS = ("kill", "pause", "long pause", "terminate", "partition", "one way", "rough")
NAMED = "rank [0-9] on host[0-9]|rank [0-9] of [0-9] did not come"


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

    def strike(self, draw, network, fault, processes):
        victim, ranks = draw.choice(processes), range(len(processes))
        cut_off = draw.sample(ranks, draw.randint(1, max(1, len(ranks) - 1)))
        rest = [rank for rank in ranks if rank not in cut_off]
        if fault == "kill":
            victim.kill()
        elif fault == "terminate":
            victim.send_signal(signal.SIGTERM)
        elif fault == "partition":
            network.rule = networks.apart(cut_off, rest)
        elif fault == "one way":
            network.rule = networks.cut(*((a, b) for a in cut_off for b in rest))
        elif fault == "rough":
            network.rule = networks.rough(draw.random(), lose=0.03, repeat=0.03, delay=0.005)
        else:
            victim.send_signal(signal.SIGSTOP)
            time.sleep(0.5 if fault == "pause" else 1.5 * DEADLINE)
            victim.send_signal(signal.SIGCONT)

    def attempt(self, draw, network):
        """Its exit codes; checks that every rank says why it ended."""
        world, fault, network.rule = draw.randint(1, HOSTS), draw.choice(FAULTS), networks.cut()
        processes = self.start_all(network, world, deadline=DEADLINE)
        self.progress(draw.randrange(0, 36), processes)
        time.sleep(draw.uniform(0, 0.05))
        self.strike(draw, network, fault, processes)
        what = f"{fault} with {world} ranks"
        struck, codes = time.monotonic(), []
        for process in processes:
            out, err = process.communicate(timeout=200)
            codes.append(process.returncode)
            killed = {"kill": -signal.SIGKILL, "terminate": -signal.SIGTERM}.get(fault, 0)  # SIGTERM: before it listens
            self.assertIn(process.returncode, (0, 6, 75, killed), what + out + err)
            if process.returncode == 6:
                self.assertRegex(err, NAMED, what)
            if fault == "kill":
                self.assertLess(time.monotonic() - struck, 2 * DEADLINE, what)
        return what, codes

    def run_seed(self, seed):
        draw, network = random.Random(seed), networks.Network(HOSTS)
        try:
            story = [self.attempt(draw, network) for _ in range(ATTEMPTS)]
            network.rule = networks.cut()
            for process in self.start_all(network, draw.randint(1, HOSTS), deadline=30):
                self.ended(process, 0, 200)
        finally:
            network.close()
        return story

    def test_ends_in_the_undisturbed_bytes(self):
        expected = self.alone()
        for seed in range(SEEDS):
            with self.subTest(f"seed {seed}"):
                story = self.run_seed(seed)
                self.assertEqual(self.evidence("run"), expected, story)
                self.ok("verify", "run")
                shutil.rmtree(self.path("run"))


main()
