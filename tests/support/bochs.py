"""Runs a program on an emulated x86-64 with AVX-512: Debian's kernel in Bochs, about 70 MIPS.

qemu-user knows no AVX-512, so this is how that code runs where the CPU has none. The machine is a CD image with
the kernel (.deps/kernel, put there by tools/bootstrap --tests) and an initial RAM disk; output comes back over its serial
port.
"""

import os
import re
import shutil
import subprocess

TOOLS = ("bochs", "grub-mkrescue", "xorriso", "cpio", "busybox")
FIRMWARE = "/usr/share/bochs"

# XSAVEC and XSAVES: Linux refuses Bochs's sizes of the compacted form, and without XSAVE there is no AVX.
GRUB = """set timeout=0
menuentry linux {
  linux /boot/vmlinuz quiet mitigations=off tsc=reliable random.trust_cpu=on clearcpuid=321,323
  initrd /boot/initrd.gz
}
"""

# LD_BIND_NOW: Bochs faults on XRSTOR of what its XSAVEC saved; the loader uses both when it binds late.
INIT = """#!/busybox sh
/busybox mount -t devtmpfs none /dev
/busybox mount -t proc none /proc
/busybox stty -F /dev/ttyS0 raw
export LD_LIBRARY_PATH=/lib LD_BIND_NOW=1
{command} > /dev/ttyS0 2>&1
echo "exit $?" > /dev/ttyS0
/busybox poweroff -f
"""

MACHINE = """display_library: term
sound: driver=dummy
speaker: enabled=0
megs: {megabytes}
cpu: model=corei7_skylake_x, count=1, ips=100000000
romimage: file={firmware}/BIOS-bochs-latest
vgaromimage: file={firmware}/VGABIOS-lgpl-latest
ata0-master: type=cdrom, path={folder}/disk.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev={folder}/serial
log: {folder}/log
panic: action=fatal
error: action=ignore
info: action=ignore
clock: sync=none
"""


def missing(source):
    """What this machine lacks to emulate, or an empty list."""
    lacks = [tool for tool in TOOLS if not shutil.which(tool)]
    return lacks + [path for path in (kernel_of(source), FIRMWARE) if not os.path.exists(path)]


def kernel_of(source):
    return os.path.join(source, ".deps", "kernel", "vmlinuz")


def libraries(program, through=(), root=""):
    """The program's libraries, by their names on the other machine.

    `through`: a command that runs the command behind it where the program belongs; `root`: its root folder here."""
    listed = subprocess.run([*through, "ldd", program], check=True, capture_output=True, text=True).stdout
    loader = re.search(r"^\s*(/\S*ld-linux\S*)", listed, re.MULTILINE)[1]
    found = re.findall(r"(\S+) => (/\S+)", listed)
    names = {loader.lstrip("/"): loader, **{f"lib/{name}": path for name, path in found}}
    return {name: root + path if os.path.isfile(root + path) else path for name, path in names.items()}


def run(source, files, command, folder, megabytes=512, timeout=3600):
    """Copies `files` (name on the machine -> path here) to its root folder and runs `command` there.

    Returns the exit status and everything printed. Programs find their libraries in /lib. `folder` holds the
    machine's parts, the log among them.
    """
    root, boot = os.path.join(folder, "root"), os.path.join(folder, "disk", "boot")
    os.makedirs(os.path.join(boot, "grub"))
    for directory in ("dev", "proc", "tmp"):
        os.makedirs(os.path.join(root, directory))
    shutil.copy(shutil.which("busybox"), os.path.join(root, "busybox"))
    for name, path in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
        shutil.copy(path, os.path.join(root, name))
    write(os.path.join(root, "init"), INIT.format(command=command), 0o755)
    names = subprocess.run(["find", "."], cwd=root, check=True, capture_output=True).stdout
    with open(os.path.join(boot, "initrd.gz"), "wb") as file:
        archive = subprocess.Popen(["cpio", "--quiet", "-o", "-H", "newc"], cwd=root, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        packer = subprocess.Popen(["gzip", "-1"], stdin=archive.stdout, stdout=file)
        archive.stdin.write(names)
        archive.stdin.close()
        if archive.wait() or packer.wait():
            raise RuntimeError("cannot pack the initial RAM disk")
    shutil.copy(kernel_of(source), os.path.join(boot, "vmlinuz"))
    write(os.path.join(boot, "grub", "grub.cfg"), GRUB)
    subprocess.run(["grub-mkrescue", "-o", os.path.join(folder, "disk.iso"), os.path.join(folder, "disk")],
                   check=True, capture_output=True)
    write(os.path.join(folder, "bochsrc"), MACHINE.format(folder=folder, firmware=FIRMWARE, megabytes=megabytes))
    write(os.path.join(folder, "commands"), "c\n")  # Debian's Bochs waits in its debugger
    subprocess.run(["bochs", "-q", "-f", os.path.join(folder, "bochsrc"), "-rc", os.path.join(folder, "commands")],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env={**os.environ, "TERM": "vt100"}, timeout=timeout, check=False)
    with open(os.path.join(folder, "serial"), "rb") as file:
        printed, _, status = file.read().rpartition(b"exit ")
    if not status.strip().isdigit():
        raise RuntimeError(f"the emulated machine stopped early: see {folder}/log")
    return int(status), printed


def write(path, text, mode=0o644):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, mode)
