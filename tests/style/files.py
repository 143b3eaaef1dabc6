"""Files: short enough, listed in their CMakeLists.txt, headers that begin by saying what they are,
and the lists of folders in CONTRIBUTING.md and docs/architecture.md.

usage: files.py ROOT
"""
import re
import sys
from pathlib import Path

from common import report, sources
from layering import layers

MOST_LINES = {".cpp": 400, ".h": 200}


def lengths(root):
    found = []
    for path in sources(root, "include", "src", "tools", "tests"):
        lines = path.read_text().count("\n")
        most = MOST_LINES[".cpp" if path.name.endswith("-inl.h") else path.suffix]
        if lines > most:
            found.append(f"{path.relative_to(root)}: {lines} lines, more than {most}: one idea a file")
    return found


def listed(root):
    """Every .cpp in its folder's CMakeLists.txt and the other way round; no header without a user."""
    found = []
    for path in sources(root, "src", "tests", "tools"):
        name = path.relative_to(root)
        lists = next((p / "CMakeLists.txt" for p in path.parents if (p / "CMakeLists.txt").exists()),
                     path.parent / "CMakeLists.txt")
        if path.suffix == ".cpp":  # or in what that includes
            text = "".join(p.read_text() for p in (lists, lists.parent / "sources.cmake") if p.exists())
            if not re.search(rf"(?<![\w/]){re.escape(str(path.relative_to(lists.parent)))}(?!\w)", text):
                found.append(f"{name}: not listed in {lists.relative_to(root)}")
    for lists in [p for top in ("src", "tests", "tools") for p in sorted(Path(root, top).rglob("CMakeLists.txt"))]:
        for name in re.findall(r"(?<![\w/}.-])[\w.-]+\.cpp(?!\w)", re.sub(r"#.*", "", lists.read_text())):
            if not (lists.parent / name).exists():
                found.append(f"{lists.relative_to(root)}: lists {name}, which is not there")
    includes = set()
    for path in sources(root, "include", "src", "tools", "tests"):
        includes |= {Path(i).name for i in re.findall(r'#\s*include\s*[<"]([^>"]+)[>"]', path.read_text())}
        includes |= {Path(i).name for i in re.findall(r'#define HWY_TARGET_INCLUDE "([^"]+)"', path.read_text())}
    for path in sources(root, "include", "src", "tests", "tools"):
        if path.suffix == ".h" and path.name not in includes:
            found.append(f"{path.relative_to(root)}: nobody includes it")
    return found


def described(root):
    return [f"{path.relative_to(root)}: does not begin with a comment that says what it is"
            for path in sources(root, "include") if not path.read_text().startswith("//")]


def first_cells(path, heading):
    """The `names` in the first cells of the table below a heading of a page."""
    text = path.read_text() if path.exists() else ""
    section = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"^\| `([\w/]+?)/?` \|", section.group(1), re.MULTILINE) if section else []


def folders(root):
    found = []
    ignored = {line.strip("/\n") for line in Path(root, ".gitignore").read_text().splitlines()}
    tree = {p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith(".")} - ignored
    if (said := set(first_cells(root / "CONTRIBUTING.md", "Folders"))) != tree:
        found.append(f"CONTRIBUTING.md, Folders: says {sorted(said)}, the tree has {sorted(tree)}")
    tree = {p.parent.name for p in Path(root, "src").glob("*/CMakeLists.txt")}
    architecture = root / "docs/architecture.md"
    if (said := set(first_cells(architecture, "Layers"))) != tree:
        found.append(f"docs/architecture.md, Layers: says {sorted(said)}, src has {sorted(tree)}")
    layer = layers(root)
    order = [layer.get(name, 99) for name in first_cells(architecture, "Layers")]
    if order != sorted(order):
        found.append("docs/architecture.md, Layers: not in the order of CMakeLists.txt")
    return found


def problems(root):
    root = Path(root)
    return lengths(root) + listed(root) + described(root) + folders(root)


if __name__ == "__main__":
    report(problems(sys.argv[1]))
