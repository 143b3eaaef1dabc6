"""What the tests of networks share: real ranks on hosts of their own."""

import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "cli")]

import networks
from support import PROGRAM, SOURCE, Cli, main  # noqa: F401 (main is for the tests)

STEPS = 40
TRAIN = ["train", os.path.join(os.path.abspath(SOURCE), "recipes/golden/toy-gan.toml"), "--quiet", "--threads", "1",
         "--set", f"run.steps={STEPS}", "--set", "checkpoint.every=10",
         "--set", "generator.hidden=16", "--set", "discriminator.hidden=16"]
PORT = 29500
WHY_NOT = networks.lacking()


class Cluster(Cli):
    """Hosts host0, host1, …; rank r runs on host r."""

    def setUp(self):
        super().setUp()
        if WHY_NOT:
            self.skipTest(f"NOT PROVED: network faults (no network namespaces here: {WHY_NOT})")
        self.write("secret", bytes(range(32)))
        os.chmod(self.path("secret"), 0o600)

    def network(self, count, **options):
        made = networks.Network(count, **options)
        self.addCleanup(made.close)
        return made

    def start(self, host, rank, world, *arguments, deadline=8, address="host0", **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSTEP_")}
        environment.update(RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR=address, MASTER_PORT=str(PORT),
                           LOCKSTEP_SECRET_FILE=self.path("secret"), LOCKSTEP_DEADLINE=str(deadline))
        environment.update(variables)
        process = subprocess.Popen(
            host.command([os.path.abspath(PROGRAM), *(arguments or [*TRAIN, "--run", "run"])], self.folder), text=True, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        process.started = time.monotonic()
        return process

    def end(self, process):
        process.kill()
        process.communicate()

    def start_all(self, network, world, *arguments, **options):
        return [self.start(network[rank], rank, world, *arguments, **options) for rank in range(world)]

    def ended(self, process, code, within):
        """Standard error of a process that ends with `code` in that time."""
        try:
            out, err = process.communicate(timeout=within + 180)
        except subprocess.TimeoutExpired:
            self.fail(f"it hangs: {process.args}")
        seconds = time.monotonic() - process.started
        self.assertEqual(process.returncode, code, out + err)
        self.assertLess(seconds, within + 120, err)  # against hangs: a slow machine takes long to start a program
        return err

    def say(self, process, code, within, *words):
        err = self.ended(process, code, within)
        for word in words:
            self.assertIn(word, err)
        return err

    def wait_for_step(self, step):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if os.path.exists(self.path("run/ledger.jsonl")) and self.read("run/ledger.jsonl").count(b"\n") > step:
                return
            time.sleep(0.005)
        self.fail("no step in time")

    def alone(self):
        """What an undisturbed run leaves."""
        self.ok(*TRAIN, "--run", "alone")
        return self.evidence("alone")
