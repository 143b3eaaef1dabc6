"""What this CPU has of the instruction sets that kernels are written for."""

import platform

# What the kernels of an instruction set need, as Linux spells it in /proc/cpuinfo.
CPU_FLAGS = {
    "scalar": {"fma"},
    "avx2": {"avx2", "fma"},
    "avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"},
    "avx512-vnni": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx512_vnni"},
}


def missing(isa):
    """What this CPU lacks for the instruction set, asked of the system and not of our program."""
    if platform.machine() != "x86_64":
        return set() if isa == "scalar" else {isa}
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        flags = next(line for line in file if line.startswith("flags")).split()
    return CPU_FLAGS[isa] - set(flags)
