"""Networks that fail under way: nobody goes on alone, all end in bounded time and say who was lost, and
the run that is taken up again has the undisturbed run's bytes. What the wire damages is never applied."""

import random
import time

from cluster import PORT, Cluster, main, networks

DEADLINE = 6
SENDS = (1).to_bytes(8, "little")  # Gloo's SEND_UNBOUND_BUFFER


class Wire(Cluster):
    def take_up(self, network, ranks, expected):
        """The same command again, on a network that works."""
        network.rule = networks.cut()
        before = time.monotonic()
        for process in self.start_all(network, ranks, deadline=30):
            self.ended(process, 0, 120)
        self.assertEqual(self.evidence("run"), expected)
        return time.monotonic() - before

    def disturb(self, network, ranks, step, rule):
        """Standard errors of ranks that all end with 6 soon after `rule` has come into force."""
        processes = self.start_all(network, ranks, deadline=DEADLINE)
        self.wait_for_step(step)
        network.rule, struck = rule, time.monotonic()
        said = [self.ended(process, 6, 100) for process in processes]
        self.assertLess(time.monotonic() - struck, 120)
        return said


class Partitions(Wire):
    def test_full_ones(self):
        expected = self.alone()
        network = self.network(3)
        said = self.disturb(network, 3, 5, networks.apart([0, 1], [2]))
        for err in said[:2]:
            self.assertIn("rank 2 on host2 was lost: no sign of life", err)
        self.assertIn("rank 0 on host0 was lost: no sign of life", said[2])
        said = self.disturb(self.repaired(network), 3, 15, networks.apart([0], [1, 2]))
        self.assertRegex(said[0], "rank [12] on host[12] was lost")
        self.take_up(network, 2, expected)

    def repaired(self, network):
        network.rule = networks.cut()
        return network

    def test_between_two_that_both_reach_rank_0(self):
        expected = self.alone()
        network = self.network(3)
        for err in self.disturb(network, 3, 5, networks.apart([1], [2])):
            self.assertRegex(err, "rank [12] on host[12]: .*rank [12]")
        self.take_up(network, 3, expected)

    def test_one_way(self):
        expected = self.alone()
        network = self.network(2)
        for number, way in enumerate(((0, 1), (1, 0))):
            said = self.disturb(self.repaired(network), 2, 5 + 10 * number, networks.cut(way))
            self.assertRegex("".join(said), "rank [01] on host[01] was lost: no sign of life")
        self.take_up(network, 2, expected)

    def test_flapping(self):
        expected = self.alone()
        network = self.network(3)
        begin = time.monotonic()
        network.rule = lambda packet: [] if packet.target == 2 and (time.monotonic() - begin) % 0.5 < 0.2 else [0]
        for process in self.start_all(network, 3, deadline=30):  # each pause is far below the deadline
            self.ended(process, 0, 300)
        self.assertEqual(self.evidence("run"), expected)


class Damage(Wire):
    def test_loss_repeats_and_disorder_only_take_time(self):
        expected = self.alone()
        network = self.network(3)
        network.rule = networks.rough(1, lose=0.02, repeat=0.02, delay=0.003)
        for process in self.start_all(network, 3, deadline=30):
            self.ended(process, 0, 300)
        self.assertEqual(self.evidence("run"), expected)

    def test_flips_that_tcp_sees_only_take_time(self):
        expected = self.alone()
        network, draw = self.network(2), random.Random(2)
        flipped = []
        def rule(packet):
            if len(packet.payload()) and draw.random() < 0.02:
                data = bytearray(packet.data)
                data[draw.choice(packet.payload())] ^= 1 << draw.randrange(8)
                packet.data = bytes(data)
                flipped.append(1)
            return [0]
        network.rule = rule
        for process in self.start_all(network, 2, deadline=30):
            self.ended(process, 0, 300)
        self.assertGreater(len(flipped), 3)
        self.assertEqual(self.evidence("run"), expected)

    def test_flips_that_tcp_does_not_see_are_never_applied(self):
        expected = self.alone()
        network, draw = self.network(2), random.Random(3)
        for attempt in range(8):
            network.rule = networks.cut()
            passes, changed = draw.randrange(40), []
            def rule(packet):
                nonlocal passes
                at = packet.payload()
                # Every second time the number of a message, in what Gloo puts before it (pair.h, Op).
                if attempt % 2:
                    at = at[16:24] if len(at) >= 48 and packet.data[at[8]:at[16]] == SENDS else at[:0]
                if len(at) and PORT not in packet.ports() and not changed:
                    passes -= 1
                    if passes < 0:
                        packet.flip(draw.choice(at), 1 << draw.randrange(8))
                        changed.append(1)
                return [0]
            processes = self.start_all(network, 2, deadline=DEADLINE)
            self.wait_for_step(4 * attempt)
            network.rule = rule
            codes = [process.wait(100) for process in processes]
            said = [process.communicate()[1] for process in processes]
            self.assertTrue(changed, "no packet was changed")
            for code, err in zip(codes, said):
                self.assertIn(code, (0, 1, 6), err)
                if code:
                    self.assertRegex(err, "lockstep: .*rank [01]")
        self.take_up(network, 2, expected)


main()
