"""Who includes whom: the real #include lines against the USES lists, and these against the layers.

usage: layering.py ROOT
"""
import re
import sys
from pathlib import Path

from common import code_only, folder_of, line_of, report, sources

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

# Outside libraries and the folders that own them. LibTorch's tensors travel upward, from ops on:
# whoever uses ops, and no folder below.
OWNERS = {
    r"openssl/": {"hash"},
    r"hdf5\.h$|H5\w+\.h$": {"hdf5"},
    r"toml\+\+/": {"recipe"},
    r"CLI/": {"tools"},
    r"png\.h$|jpeglib\.h$|jerror\.h$|zlib\.h$": {"data"},
    r"hwy/": {"numerics"},
    r"gloo/": {"comm"},
    r"spdlog/|fmt/|nlohmann/": {"core"},
    r"(torch|ATen|c10)/": "ops",
}


def layers(root):
    """{folder: layer} as the top CMakeLists.txt writes them: names, then `# number`."""
    text = Path(root, "CMakeLists.txt").read_text()
    table = {}
    for names, number in re.findall(r"^[ \t]*(?:foreach\(folder)?([\w \t]*?)\)?[ \t]*# (\d+)$", text, re.MULTILINE):
        table.update({name: int(number) for name in names.split() if not name.startswith("add_")})
    return table


def uses(root):
    """{folder: folders in its USES list}."""
    table = {}
    for path in sorted(Path(root, "src").glob("*/CMakeLists.txt")):
        match = re.search(r"\bUSES\b(.*?)(?:\b(?:PUBLIC_LIBS|PRIVATE_LIBS|SOURCES|TORCH)\b|\))", path.read_text(), re.DOTALL)
        table[path.parent.name] = match.group(1).split() if match else []
    return table


def problems(root):
    root = Path(root)
    layer, allowed, found = layers(root), uses(root), []
    for folder in sorted(allowed):
        if folder not in layer:
            found.append(f"src/{folder}: not in the layers of CMakeLists.txt")
            continue
        for used in allowed[folder]:
            if layer.get(used, 99) >= layer[folder]:
                found.append(f"src/{folder}/CMakeLists.txt: USES {used}, which is not of a lower layer")
    for path in sources(root):
        text, mine = path.read_text(), folder_of(root, path)
        for match in INCLUDE.finditer(code_only(text)):
            if problem := forbidden(match.group(2), match.group(1) == '"', mine, allowed):
                found.append(f"{path.relative_to(root)}:{line_of(text, match.start())}: {problem}")
    return found


def forbidden(name, quoted, mine, allowed):
    first, _, rest = name.partition("/")
    if quoted and first == "lockstep":
        other = rest.split("/")[0]
        if mine not in ("tools", other) and other not in allowed.get(mine, []):
            return f"includes {name}, but {mine} does not use {other}"
    elif quoted and first in allowed and rest and first != mine:
        return f"includes {name}, a private header of {first}"
    for pattern, owners in OWNERS.items():
        if re.match(pattern, name):
            if owners == "ops":
                if mine not in ("ops", "tools") and "ops" not in allowed.get(mine, []):
                    return f"includes {name}: LibTorch is only for ops and the folders that use it"
            elif mine not in owners:
                return f"includes {name}, which belongs to {', '.join(sorted(owners))}"
    return None


if __name__ == "__main__":
    report(problems(sys.argv[1]))
