"""lockstep doctor: what it finds on a machine, and which pairs of ranks cannot talk."""

import json
import os
import socket

from cluster import PORT, Cluster, main, networks
from support import Cli


class Machine(Cli):
    def test_that_is_well(self):
        checks = {check["check"]: check for check in json.loads(self.ok("doctor", "--run", "run", "--json"))["checks"]}
        of_gpus = {name for name in checks if name.startswith(("gpu", "driver"))}  # gpus_test
        self.assertEqual(set(checks) - of_gpus, {"arithmetic", "memory", "open files", "clock", "run folder"})
        self.assertTrue(all(check["ok"] for check in checks.values()), checks)
        self.assertIn("locks work", checks["run folder"]["detail"])
        self.assertFalse(os.path.exists(self.path("run")))  # it leaves nothing
        self.assertFalse([name for name in os.listdir(self.folder) if "doctor" in name])

    def test_whose_port_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            result = self.run_it("doctor", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        self.assertEqual(result.returncode, 6, result.stdout)
        self.assertRegex(result.stdout, rf"FAIL +rank 0 +.*127.0.0.1:{port}: the port is in use by process {os.getpid()} ")

    def test_whose_folder_cannot_be_written(self):
        result = self.run_it("doctor", "--run", "/proc/self/run")
        self.assertEqual(result.returncode, 4, result.stdout)
        self.assertRegex(result.stdout, "FAIL +run folder +.*/proc")

    def test_that_a_recipe_fits(self):
        self.write("mine.toml", 'extends = "tiny.toml"\n[checkpoint]\nkeep_last = 0\nevery = 1\n')
        said = self.ok("doctor", "mine.toml", "--run", "run")
        self.assertRegex(said, r"(?m)^ok +recipe +[0-9a-f]{12}, and its data: \d+ samples$")
        self.assertRegex(said, r"(?m)^ok +run folder +.* free \(the run's checkpoints take [0-9.]+ KiB\), written")

    def test_that_a_recipe_does_not_fit(self):
        """More checkpoints than any disk has, a step that no memory has, and data that are not there."""
        for setting, check, why, code in (("[run]\nsteps = 1000000000000\n[checkpoint]\nkeep_last = 0\nevery = 1\n", "run folder",
                                           "the run's checkpoints take .* TiB, and .* are free", 4),
                                          ("[batch]\nsamples_per_lane = 65536\n[model]\nchannels = [512, 1024]\n", "memory", "a step needs at least .* leaves ", 4),
                                          ('[data]\npath = "gone"\n', "recipe", "gone", 3)):
            self.write("mine.toml", 'extends = "tiny.toml"\n' + setting)
            result = self.run_it("doctor", "mine.toml", "--run", "run")
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
            self.assertRegex(result.stdout, f"(?m)^FAIL +{check} +.*{why}")
            self.assertEqual(result.stdout.count("FAIL"), 1)

    def test_that_allows_few_files(self):
        import resource
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        self.assertRegex(self.ok("doctor"), "ok +open files +64 allowed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, hard))
        result = self.run_it("doctor")
        self.assertEqual(result.returncode, 4, result.stdout)
        self.assertRegex(result.stderr, r"^lockstep: too few open files are allowed: .*ulimit -n \d+\)$")


class Pairs(Cluster):
    def doctors(self, network, world, code, *arguments, **options):
        processes = self.start_all(network, world, "doctor", "--json", *arguments, **options)
        out, err = processes[0].communicate(timeout=100)
        self.assertEqual(processes[0].returncode, code, out + err)
        for process in processes[1:]:
            self.ended(process, code, 100)
        return {check["check"]: check for check in json.loads(out)["checks"]}

    def test_that_all_talk(self):
        network = self.network(3)
        # 25 ms from host 1 to host 2: the wire may be a little early
        network.rule = lambda packet: [0.025] if (packet.source, packet.target) == (1, 2) else [0]
        checks = self.doctors(network, 3, 0)
        self.assertTrue(all(check["ok"] for check in checks.values()), checks)
        self.assertIn("3 ranks", checks["rendezvous"]["detail"])
        trips = {pair: int(checks[pair]["detail"].split(" us")[0].split()[-1]) for pair in ("1 - 0", "2 - 0", "2 - 1")}
        self.assertGreater(trips["2 - 1"], 20000)
        self.assertLess(max(trips["1 - 0"], trips["2 - 0"]), 20000)

    def test_that_are_too_slow_for_a_step_are_told_so(self):
        """Of some 300 MB, over a wire that delays each packet; a step of tiny.toml's own network takes no time."""
        self.write("large.toml", 'extends = "tiny.toml"\n[model]\nchannels = [512, 1024]\n')
        network = self.network(2)
        network.rule = lambda packet: [0.1]
        for recipe, slow in (("tiny.toml", False), ("large.toml", True)):
            exchange = self.doctors(network, 2, 0, recipe, deadline=8)["exchange"]
            self.assertTrue(exchange["ok"])
            self.assertEqual(exchange["warning"], slow, exchange)
            self.assertRegex(exchange["detail"], "^rank 0 sends about .* a step: about .* at the pace of the slowest link")
            self.assertEqual("and the deadline is 8.0s: raise LOCKSTEP_DEADLINE" in exchange["detail"], slow, exchange)

    def test_that_cannot_talk_are_named_all_of_them(self):
        network = self.network(4)
        network[0].firewall(f"ip saddr {networks.address(2)} tcp dport != {PORT} tcp flags & (syn | ack) == syn drop")
        network[1].firewall(f"ip saddr {networks.address(3)} tcp flags & (syn | ack) == syn reject")
        checks = self.doctors(network, 4, 6, deadline=6)
        failed = {name for name, check in checks.items() if not check["ok"]}
        self.assertEqual(failed, {"2 - 0", "3 - 1"})
        self.assertRegex(checks["2 - 0"]["detail"], "rank 2 on host2 and rank 0 on host0: .*10.77.0.1:.*no answer.*firewall")
        self.assertRegex(checks["3 - 1"]["detail"], "rank 3 on host3 and rank 1 on host1: .*10.77.0.2:.*firewall rejects")

    def test_whose_rendezvous_fails(self):
        network = self.network(2)
        network[0].firewall(f"tcp dport {PORT} drop")
        checks = self.doctors(network, 2, 6, deadline=4)
        self.assertIn("rank 1 of 2 did not come", checks["rendezvous"]["detail"])

    def test_that_disagree(self):
        network = self.network(2)
        zero = self.start(network[0], 0, 2, "doctor", "tiny.toml")
        one = self.start(network[1], 1, 2, "doctor")
        out, _ = zero.communicate(timeout=60)
        self.assertEqual(zero.returncode, 6)
        self.assertRegex(out, "FAIL +rendezvous +.*the ranks do not belong together: recipe: .* more")
        self.ended(one, 6, 60)


main()
