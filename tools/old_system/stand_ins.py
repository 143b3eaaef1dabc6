"""Libraries to link with, that have only what an older system has: those of this machine without the symbols that came later.

usage: stand_ins.py OUT LIBRARY=NEWEST[,NEWEST...]...

For each LIBRARY (a path) it writes OUT/NAME with the library's soname and the newest version of each symbol that is not
newer than NEWEST (GLIBC_2.28, say), without code. Versions never change once they are released, so a program linked with
these asks for nothing that the older system lacks; what is in headers but not in its libraries, the linker names.
"""
import re
import subprocess
import sys
from pathlib import Path

SYMBOL = re.compile(r"\s*\d+: (?P<address>\w+)\s+(?P<size>\w+) (?P<kind>FUNC|IFUNC|OBJECT|TLS) +(?:GLOBAL|WEAK|UNIQUE) +DEFAULT +"
                    r"(?P<section>\w+) (?P<name>[\w.]+)@@?(?P<version>[A-Z]+_[\d.]+)(?: .*)?")


def number(version):
    return [int(part) for part in version.split("_")[1].split(".")]


def symbols(library, newest):
    """{name: its match, of the newest version that is allowed}"""
    limits = {version.split("_")[0]: number(version) for version in newest}
    out = subprocess.run(["readelf", "--dyn-syms", "--wide", library], check=True, capture_output=True, text=True).stdout
    chosen = {}
    for found in filter(None, map(SYMBOL.fullmatch, out.splitlines())):
        limit = limits.get(found["version"].split("_")[0])
        if found["section"] == "UND" or limit is None or number(found["version"]) > limit:
            continue
        before = chosen.get(found["name"])
        if before is None or number(before["version"]) < number(found["version"]):
            chosen[found["name"]] = found
    return chosen


def assembler(chosen):
    lines = [".text"]
    lines += [f".globl {name}\n.type {name}, @function\n{name}:" for name, found in chosen.items() if found["kind"].endswith("FUNC")]
    places = {}  # names of one address stay names of one object: the program may hold it (a copy relocation)
    for name, found in chosen.items():
        if not found["kind"].endswith("FUNC"):
            places.setdefault((found["kind"], found["address"]), []).append((name, int(found["size"], 0)))
    for (kind, _), names in places.items():
        lines.append('.section .tbss,"awT",@nobits' if kind == "TLS" else ".bss")
        lines.append(".balign 32")
        lines += [f".globl {name}\n.type {name}, @{'tls_object' if kind == 'TLS' else 'object'}\n.size {name}, {size}\n{name}:"
                  for name, size in names]
        lines.append(f".skip {max(max(size for _, size in names), 1)}")
    return "\n".join(lines) + "\n"


def version_script(chosen):
    nodes = {}
    for name, found in chosen.items():
        nodes.setdefault(found["version"], []).append(name)
    return "".join(f"{node} {{ global: {'; '.join(names)}; }};\n" for node, names in nodes.items())


def main():
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for argument in sys.argv[2:]:
        library, newest = argument.split("=")
        chosen = symbols(library, newest.split(","))
        name = Path(library).name
        source, script = out / f"{name}.s", out / f"{name}.map"
        source.write_text(assembler(chosen), "ascii")
        script.write_text(version_script(chosen), "ascii")
        subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{name},--version-script,{script}", "-o", out / name, source],
                       check=True)


main()
