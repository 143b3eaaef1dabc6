"""Hosts in network namespaces of their own, joined by a wire that this process plays.

Every host has a network interface `wire0` (TUN) whose packets a thread here carries to the others: it
can lose, repeat, delay, reorder or change them, in one direction or both. Namespaces have no names and
are held by descriptors of this process only: whatever ends it, nothing is left behind.
"""

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import tempfile
import threading
import time

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWNET = 0x00020000, 0x04000000, 0x40000000
MS_REC_PRIVATE, MS_BIND = 0x4000 | 0x40000, 0x1000
TUNSETIFF, IFF_TUN_NO_PI = 0x400454CA, 0x1001
NAMESPACES = ("net", "uts", "mnt")
TCP = 6

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name, *arguments):
    if getattr(_libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def _in_thread(body):
    """Runs body in a thread, which may leave this process's namespaces."""
    result = []
    def catch():
        try:
            result.append((body(), None))
        except OSError as error:
            result.append((None, error))
    thread = threading.Thread(target=catch)
    thread.start()
    thread.join()
    value, error = result[0]
    if error:
        raise error
    return value


def lacking():
    """Why there can be no such hosts here; "" if there can."""
    try:
        Network(1).close()
        return ""
    except (OSError, subprocess.CalledProcessError) as error:
        return str(error)


class Host:
    """host0, host1, … at 10.77.0.1, 10.77.0.2, …; knows the others by name."""

    def __init__(self, number, hosts_file, resolver_file, mtu):
        self.name, self.address = f"host{number}", address(number)
        self.tun, self._held = _in_thread(lambda: self._make(hosts_file, resolver_file))
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "link", "set", "wire0", "mtu", mtu, "up")
        self.run("ip", "address", "add", self.address + "/24", "dev", "wire0")

    def _make(self, hosts_file, resolver_file):
        _call("unshare", CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS)
        _call("sethostname", self.name.encode(), len(self.name))
        _call("mount", None, b"/", None, MS_REC_PRIVATE, None)
        for source, target in ((hosts_file, "/etc/hosts"), (resolver_file, "/etc/resolv.conf")):
            _call("mount", source.encode(), os.path.realpath(target).encode(), None, MS_BIND, None)
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"wire0", IFF_TUN_NO_PI))
        return tun, {kind: os.open(f"/proc/thread-self/ns/{kind}", os.O_RDONLY) for kind in NAMESPACES}

    def command(self, arguments, folder="/"):
        inside = [f"--{ {'mnt': 'mount'}.get(kind, kind) }=/proc/{os.getpid()}/fd/{fd}"
                  for kind, fd in self._held.items()]
        return ["nsenter", *inside, f"--wd={folder}", "--", *map(str, arguments)]

    def run(self, *arguments):
        """Standard output of a command that must succeed."""
        done = subprocess.run(self.command(arguments), capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def firewall(self, *rules):
        """nftables rules on what comes in, instead of those before."""
        self.run("nft", "flush", "ruleset")
        self.run("nft", "add table inet t; add chain inet t in { type filter hook input priority 0; }")
        for rule in rules:
            self.run("nft", "add", "rule", "inet", "t", "in", rule)

    def inside(self, body):
        """What body() returns in a thread of this host: sockets it makes are this host's."""
        def enter():
            _call("setns", self._held["net"], CLONE_NEWNET)
            return body()
        return _in_thread(enter)

    def close(self):
        for fd in (self.tun, *self._held.values()):
            os.close(fd)


def address(number):
    return f"10.77.0.{number + 1}"


class Packet:
    """An IPv4 packet on its way."""

    def __init__(self, data):
        self.data = data
        self.source, self.target = data[15] - 1, data[19] - 1

    def payload(self):
        """The range of its TCP payload; empty if it has none."""
        if self.data[9] != TCP:
            return range(0)
        header = (self.data[0] & 15) * 4
        return range(header + (self.data[header + 12] >> 4) * 4, struct.unpack_from(">H", self.data, 2)[0])

    def ports(self):
        return struct.unpack_from(">HH", self.data, (self.data[0] & 15) * 4)

    def flip(self, at, bits):
        """Changes a byte and makes TCP's checksum right again (RFC 1624)."""
        changed, check = bytearray(self.data + b"\0"), (self.data[0] & 15) * 4 + 16
        word = at - (at - check) % 2  # checksums add words, counted from TCP's header
        before = struct.unpack_from(">H", changed, word)[0]
        changed[at] ^= bits
        after = struct.unpack_from(">H", changed, word)[0]
        total = (~struct.unpack_from(">H", changed, check)[0] & 0xFFFF) + (~before & 0xFFFF) + after
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        struct.pack_into(">H", changed, check, ~total & 0xFFFF)
        self.data = bytes(changed[:-1])


class Network:
    """`count` hosts. `rule(packet)` gives the delays, in seconds, with which a packet arrives: [0] at once,
    [] never, [0, 0] twice; it may change the packet. It is called by one thread."""

    def __init__(self, count, mtu=1500, name_server="127.0.0.1"):  # where none is
        self.rule, self.carried = lambda packet: [0], 0
        self._files = tempfile.TemporaryDirectory(prefix="lockstep-network-")
        hosts, resolver = (os.path.join(self._files.name, name) for name in ("hosts", "resolv.conf"))
        with open(hosts, "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n")
            file.writelines(f"{address(number)} host{number}\n" for number in range(count))
        with open(resolver, "w", encoding="ascii") as file:
            file.write(f"nameserver {name_server}\noptions timeout:30 attempts:5\n")
        self.hosts, self._ends = [], threading.Event()
        self._thread = threading.Thread(target=self._carry, daemon=True)
        try:
            for number in range(count):
                self.hosts.append(Host(number, hosts, resolver, mtu))
        except OSError:
            self.close()
            raise
        self._thread.start()

    def __getitem__(self, number):
        return self.hosts[number]

    def close(self):
        self._ends.set()
        if self._thread.is_alive():
            self._thread.join()
        for host in self.hosts:
            host.close()
        self._files.cleanup()

    def _carry(self):
        poll, waiting, order = select.poll(), [], 0
        for host in self.hosts:
            poll.register(host.tun, select.POLLIN)
        while not self._ends.is_set():
            now = time.monotonic()
            while waiting and waiting[0][0] <= now:
                self._deliver(*heapq.heappop(waiting)[2:])
            for fd, _ in poll.poll(1000 * min(0.1, waiting[0][0] - now) if waiting else 100):
                try:
                    data = os.read(fd, 65536)
                except BlockingIOError:
                    continue
                if data[0] >> 4 != 4 or not 0 < data[19] <= len(self.hosts):
                    continue
                packet = Packet(data)
                for delay in self.rule(packet):
                    if delay:
                        order += 1
                        heapq.heappush(waiting, (time.monotonic() + delay, order, packet.target, packet.data))
                    else:
                        self._deliver(packet.target, packet.data)

    def _deliver(self, target, data):
        self.carried += 1
        try:
            os.write(self.hosts[target].tun, data)
        except OSError:
            pass  # the queue is full or the interface down: a lost packet


def cut(*directions):
    """Nothing goes from a to b, for every (a, b)."""
    return lambda packet: [] if (packet.source, packet.target) in directions else [0]


def apart(some, others):
    """A partition."""
    return cut(*((a, b) for a in some for b in others), *((b, a) for a in some for b in others))


def rough(seed, lose=0.0, repeat=0.0, delay=0.0):
    """Loses and repeats that share of the packets and delays each by up to `delay` s, out of order."""
    draw = random.Random(seed)
    def rule(_):
        if draw.random() < lose:
            return []
        return [draw.uniform(0, delay) for _ in range(2 if draw.random() < repeat else 1)]
    return rule
