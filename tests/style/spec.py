"""include/lockstep/numerics/spec: what host and device code share. Its headers include each other and
a few headers of plain types; every function is marked for both, and has a copy in each translation
unit; nothing of std but types of integers; no array that device code cannot index.

usage: spec.py ROOT
"""
import re
import sys
from pathlib import Path

from common import code_only, line_of, report, sources

FOLDER = "lockstep/numerics/spec/"
FREESTANDING = {"cstddef", "cstdint"}
STD = re.compile(r"\bstd::(?!u?int(?:8|16|32|64)_t\b|size_t\b)\w+")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)
# Lines of the preprocessor with what they continue on, and macros that stand alone.
BLANK = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|\bLOCKSTEP_FMA_(?:BEGIN|END)\b", re.MULTILINE)
SCOPE = re.compile(r"^(?:namespace|struct|class|union|enum|template\s*<[^{}]*>\s*(?:struct|class|union))\b")


def declarations(code):
    """(position, text up to `{` or `;`, whether it is a type's member) outside bodies of functions."""
    found, scopes, start, at = [], [], 0, 0
    while at < len(code):
        if code[at] in "{;}":
            text = code[start:at].strip()
            first = start + len(code[start:at]) - len(code[start:at].lstrip())
            if code[at] == "{" and SCOPE.match(text):
                scopes.append(not text.startswith("namespace"))
            elif code[at] == "}":
                if scopes:
                    scopes.pop()
            elif text:
                found.append((first, text, any(scopes)))
                depth = 0
                while code[at] != ";" or depth:  # a body, or an initializer up to its `;`
                    depth += {"{": 1, "}": -1}.get(code[at], 0)
                    if depth == 0 and code[at] == "}" and is_function(text):
                        break
                    at += 1
            start = at + 1
        at += 1
    return found


def is_function(text):
    return "(" in text.split("=")[0] or "operator" in text


def problems(root):
    root, found = Path(root), []
    for path in sources(root, "include/" + FOLDER):
        text = path.read_text()
        code = code_only(text)

        def say(position, what):
            found.append(f"{path.relative_to(root)}:{line_of(text, position)}: {what}")

        for match in INCLUDE.finditer(code):
            name = match.group(1)
            if not name.startswith(FOLDER) and name not in FREESTANDING:
                say(match.start(), f"includes {name}: device code cannot")
        for match in STD.finditer(code):
            say(match.start(), f"{match.group(0)}: device code cannot use it")
        blank = BLANK.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), code)
        for position, declared, member in declarations(blank):
            if is_function(declared):
                if not re.search(r"\bLOCKSTEP_HD(?:_RARE)?\b", declared):
                    say(position, "a function without LOCKSTEP_HD")
                elif not member and not re.search(r"\bLOCKSTEP_HD_RARE\b|\bstatic\b", declared):
                    say(position, "a function that translation units share: make it static")
            elif not member and re.search(r"\bconstexpr\b[^=(]*\[", declared):
                say(position, "an array that device code cannot index: put it into a function")
    return found


if __name__ == "__main__":
    report(problems(sys.argv[1]))
