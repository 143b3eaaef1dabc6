"""Ports for worlds that a test starts."""

import errno
import random
import socket

# The system gives ports of a range of its own to listeners and connections that ask for any: one of those may be
# taken before rank 0 listens. Each fourth of the others, because under torchrun rank 0 takes the second after its
# port; above 29500, which launchers take if they are not told.
with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as _file:
    _FIRST, _LAST = map(int, _file.read().split())
_ALL = range(29504, 65533, 4)
_PORTS = [port for port in _ALL if port + 3 < _FIRST or port > _LAST] or list(_ALL)  # the system may give all of them
_reserved = []


def free_port():
    """A port where nobody listens, and that no other process gets here while this one lives."""
    for port in random.sample(_PORTS, len(_PORTS)):
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind(f"\0lockstep-test-port-{port}")  # no file: it goes with this process
            for at in (port, port + 2):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", at))
        except OSError as error:
            name.close()
            if error.errno != errno.EADDRINUSE:
                raise
            continue
        _reserved.append(name)
        return port
    raise RuntimeError("no free port")
