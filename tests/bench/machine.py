"""What a number needs beside it: machine, commit, date, command, how quiet the machine was."""
import datetime
import os
import platform
import re
import subprocess
import textwrap

# Of /proc/cpuinfo: what decides which kernels run.
FLAGS = {"avx2": "avx2", "avx512f": "avx512", "avx512_vnni": "vnni", "avx_vnni": "vnni", "avx512_bf16": "bf16",
         "amx_tile": "amx", "amx_bf16": "amx-bf16", "amx_int8": "amx-int8", "asimd": "neon"}
BUSY = 0.3  # load average from which a machine is not quiet


def cpu():
    with open("/proc/cpuinfo") as file:
        text = file.read()

    def value(key):
        match = re.search(rf"^{key}\s*: (.*)$", text, re.MULTILINE)
        return match[1].strip() if match else ""

    has = set(f"{value('flags')} {value('Features')}".split())
    flags = list(dict.fromkeys(word for flag, word in FLAGS.items() if flag in has))
    model = value("model name") or platform.machine()
    if value("cpu family"):
        model += f" (family {value('cpu family')}, model {value('model')})"
    return {"model": model, "flags": flags, "cores": len(os.sched_getaffinity(0))}


def commit(top):
    """The short hash, and whether sources differ from it; pages and their pictures are what programs write."""
    def git(*command):
        try:
            return subprocess.run(["git", "-C", top, *command], capture_output=True, text=True).stdout.strip()
        except OSError:  # there is no git
            return ""

    name = git("rev-parse", "--short", "HEAD") or "unknown"
    return name + (" with changes" if git("status", "--porcelain", "--", ".", ":!docs/*.md", ":!docs/*.png") else "")


def facts(top, command):
    load = os.getloadavg()[0]
    return {"cpu": cpu(), "commit": commit(top), "date": datetime.date.today().isoformat(), "command": command,
            "load": load, "quiet": load < BUSY}


def wrapped(text):
    return textwrap.fill(text, 138, break_long_words=False, break_on_hyphens=False)


def head(about, repetitions):
    """The lines above a table."""
    chip = about["cpu"]
    text = (f"`{about['command']}`, {about['date']}, commit {about['commit']}; {chip['model']} with {' '.join(chip['flags'])}, "
            f"{chip['cores']} cores; {repetitions} repetition{'s' if repetitions != 1 else ''}; "
            f"load average at the start {about['load']:.2f}.")
    if not about["quiet"]:
        text += " **The machine was not quiet: these numbers mean little.**"
    return wrapped(text)
