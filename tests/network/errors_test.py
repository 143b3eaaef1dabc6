"""Networks that are wrong from the start: who, where and what to do, in one line and in bounded time."""

import os
import random
import socket
import time

from cluster import PORT, Cluster, main, networks


class Addresses(Cluster):
    def test_a_port_in_use_names_its_owner(self):
        network = self.network(2)
        taken = network[0].inside(lambda: socket.create_server((networks.address(0), PORT)))
        self.addCleanup(taken.close)
        self.say(self.start(network[0], 0, 2), 6, 10, f"host0:{PORT}", f"in use by process {os.getpid()} (",
                 "set MASTER_PORT")

    def test_a_master_that_is_not_there(self):
        network = self.network(2, mtu=9000)
        cases = {"nobody": ("host0", ["host0:29500 (10.77.0.1): refused", "MASTER_ADDR"]),
                 "no name": ("nowhere", ["nowhere:29500: the name is not resolved", "MASTER_ADDR", "DNS"]),
                 "no route": ("192.0.2.7", ["192.0.2.7:29500: Network is unreachable", "MASTER_ADDR"])}
        for name, (address, words) in cases.items():
            with self.subTest(name):
                err = self.say(self.start(network[1], 1, 2, address=address, deadline=5), 6, 12,
                               "rank 1 on host1 cannot reach rank 0", *words)
                self.assertRegex(err, r"\d+ tries in \d\.\d s")
                self.assertIn("still trying", err)  # long before it gave up

    def test_a_name_server_that_does_not_answer(self):
        network = self.network(2, name_server=networks.address(1))
        network.rule = lambda packet: []
        self.say(self.start(network[0], 1, 2, address="far.example", deadline=5), 6, 12,
                 "the name server does not answer", "far.example", "DNS")

    def test_the_address_of_another_host(self):
        network = self.network(2)
        self.say(self.start(network[0], 0, 2, address="host1", deadline=3), 6, 10,
                 "not an address of this host (host0)", "MASTER_ADDR")

    def test_interfaces(self):
        network = self.network(2)
        self.say(self.start(network[0], 0, 2, LOCKSTEP_INTERFACE="eth7"), 6, 10,
                 "host0) has no network interface eth7", "lo, wire0")
        both = [self.start(network[0], 0, 2),
                self.start(network[1], 1, 2, LOCKSTEP_INTERFACE="eth7")]
        for process in both:
            self.say(process, 6, 20, "rank 1 on host1", "no network interface eth7")
        # One that exists and leads nowhere: rank 0's data port, then rank 0's port.
        both = [self.start(network[0], 0, 2), self.start(network[1], 1, 2, LOCKSTEP_INTERFACE="lo")]
        self.assertEqual([process.wait(60) for process in both], [0, 0])  # rank 1 listens to nobody
        network = self.network(3)
        three = [self.start(network[r], r, 3, **({"LOCKSTEP_INTERFACE": "lo"} if r == 1 else {})) for r in range(3)]
        for process in three:
            self.say(process, 6, 30, "rank 2 on host2", "cannot reach rank 1 on host1: 127.0.0.1:", "LOCKSTEP_INTERFACE")


class Firewalls(Cluster):
    def test_drop_at_rank_0(self):
        network = self.network(2)
        network[0].firewall(f"tcp dport {PORT} drop")
        both = self.start_all(network, 2, deadline=6)
        self.say(both[1], 6, 15, "rank 1 on host1 cannot reach rank 0", "no answer", "firewall")
        self.say(both[0], 6, 15, "rank 1 of 2 did not come to rank 0 on host0", "firewall")

    def test_reject_at_rank_0(self):
        for how in ("reject", "reject with tcp reset", "reject with icmpx type admin-prohibited"):
            with self.subTest(how):
                network = self.network(2)
                network[0].firewall(f"tcp dport {PORT} {how}")
                both = self.start_all(network, 2, deadline=6)
                self.say(both[1], 6, 15, "rank 1 on host1 cannot reach rank 0", "firewall", "still trying")
                self.say(both[0], 6, 15, "rank 1 of 2 did not come", "firewall")

    def test_between_two_others(self):
        network = self.network(3)
        for how, words, deadline, within in (("drop", "no answer", 8, 25), ("reject", "a firewall rejects it", 400, 20)):
            with self.subTest(how):
                network[1].firewall(f"ip saddr {networks.address(2)} tcp flags & (syn | ack) == syn {how}")
                for process in self.start_all(network, 3, deadline=deadline):
                    self.say(process, 6, within, "rank 2 on host2: it cannot reach rank 1 on host1: 10.77.0.2:", words,
                             "firewall")


class Strangers(Cluster):
    def knock(self, network, target, port):
        """Visits of all kinds from host 2; they stay."""
        draw = random.Random(port)
        hello = b"\x3c\0\0\0hLOCKSTEP\2\0\0\0" + (1).to_bytes(8, "little") + (2).to_bytes(8, "little") + bytes(32)
        said = [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x3c\0\0\0h" + bytes(60), b"\xff\xff\xff\xffh", hello[:30],
                hello + b"\x20\0\0\0p" + bytes(32),  # no proof
                *(draw.randbytes(draw.randrange(1, 300)) for _ in range(20))]
        def visit():
            for text in said:
                visitor = socket.create_connection((networks.address(target), port), timeout=5)
                self.addCleanup(visitor.close)
                visitor.sendall(text)
        network[2].inside(visit)

    def data_port(self, host):
        """The port where it listens, beside rank 0's own, while the ranks meet."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            places = [line.split()[3].split(":") for line in host.run("ss", "-Htln4").splitlines()]
            ports = {int(port) for at, port in places if at == host.address} - {PORT}
            if ports:
                return ports.pop()
        self.fail("no port for data")

    def test_on_every_port_while_ranks_meet_change_nothing(self):
        network, expected = self.network(3), self.alone()
        zero = self.start(network[0], 0, 2, deadline=30)
        until = time.monotonic() + 20
        while str(PORT) not in network[0].run("ss", "-Htln") and time.monotonic() < until:
            time.sleep(0.01)
        self.knock(network, 0, PORT)
        # Rank 1 does not get to rank 0's port for data until strangers have been there, and at its own.
        network.rule = lambda packet: (
            [] if (packet.source, packet.target) == (1, 0) and packet.ports()[1] != PORT else [0])
        one = self.start(network[1], 1, 2, deadline=30)
        for number in (0, 1):
            self.knock(network, number, self.data_port(network[number]))
        network.rule = networks.cut()
        self.say(zero, 0, 100, "does not know the run's secret, said to be rank 1", "does not speak Lockstep's protocol",
                 "claims 4294967295 bytes", "more of them are only counted")
        self.ended(one, 0, 100)
        self.assertEqual(self.evidence("run"), expected)

    def test_of_another_secret_are_named(self):
        network = self.network(2)
        self.write("other", bytes(range(1, 33)))
        os.chmod(self.path("other"), 0o600)
        both = [self.start(network[0], 0, 2, deadline=5),
                self.start(network[1], 1, 2, LOCKSTEP_SECRET_FILE=self.path("other"), deadline=5)]
        self.say(both[1], 6, 12, "rank 1 on host1, rank 0 at host0:29500", "does not know this run's secret",
                 "LOCKSTEP_SECRET_FILE")
        self.say(both[0], 6, 12, "rank 1 of 2 did not come", "1 connection(s) dropped, the last of 10.77.0.2:",
                 "said to be rank 1")


class Worlds(Cluster):
    def test_that_disagree(self):
        network = self.network(3)
        for process in (self.start(network[0], 0, 2), self.start(network[1], 1, 3)):
            self.say(process, 6, 10, "rank 1 on host1 is one of 3, rank 0 on host0 one of 2")

    def test_that_lack_ranks(self):
        network = self.network(3)
        for process in (self.start(network[0], 0, 4, deadline=4), self.start(network[2], 2, 4, deadline=4)):
            self.say(process, 6, 12, "rank 1, rank 3 of 4 did not come to rank 0 on host0 at host0:29500")


main()
