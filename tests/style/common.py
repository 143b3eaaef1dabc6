"""What the style checks share: the tree's files, C++ without comments and strings, the report."""
import re
import sys
from pathlib import Path

SOURCE_ROOTS = ("include", "src", "tools")
_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])*\'',
    re.DOTALL)


def sources(root, *roots):
    """Headers and sources below the given top folders, sorted."""
    found = []
    for top in roots or SOURCE_ROOTS:
        found += [p for p in Path(root, top).rglob("*") if p.suffix in (".h", ".cpp")]
    return sorted(found)


def code_only(text):
    """The text with comments and the insides of literals blanked; #include lines keep theirs."""
    def blank(match):
        token = match.group(0)
        line_start = text.rfind("\n", 0, match.start()) + 1
        if token.startswith('"') and text[line_start:match.start()].lstrip().startswith("#include"):
            return token
        return re.sub(r"[^\n]", " ", token)
    return _TOKEN.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def folder_of(root, path):
    """The folder of layers a file belongs to: include/lockstep/X/.., src/X/.., or tools."""
    parts = path.relative_to(root).parts
    if parts[0] == "include":
        return parts[2]
    return parts[1] if parts[0] == "src" else "tools"


def report(problems):
    for problem in problems:
        print(problem)
    print(f"{len(problems)} found")
    sys.exit(1 if problems else 0)
