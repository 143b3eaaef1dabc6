"""What the pages say is what the program does.

usage: docs.py ROOT LOCKSTEP          checks
       docs.py ROOT LOCKSTEP --renew  writes the commands' real output into the pages

Links and their anchors lead somewhere; a table's rows have the cells of its head; no line of prose is long; docs/cli.md has every command, option and exit code of the program, and no
other; docs/checkpoint.md has the constants of the sources, docs/training.md what a recipe's id leaves out; each ```console
block of a page is run in a fresh folder and prints what stands there.
"""
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from common import report

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
import warm  # noqa: E402

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
# A page that shows what a command or an option that is none is told.
REFUSED = re.compile(r"^\$ lockstep .*\nlockstep: .*(?:there is no command|has no option) .*$", re.MULTILINE)
LONGEST = 140  # characters of a line of prose
EVERYWHERE = {"--help"}  # of every command; said once


def pages(root):
    return [p for p in [root / "README.md", root / "CONTRIBUTING.md", *sorted(Path(root, "docs").glob("*.md"))] if p.exists()]


def anchors_of(page):
    """Of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(root):
    found = []
    for page in pages(root):
        for target, anchor in re.findall(r"\]\(([^)#\s]*[./][^)#\s]*|)(?:#([^)\s]*))?\)", page.read_text()):
            there = page.parent / target if target else page
            if re.match(r"\w+:", target):
                continue
            if not there.exists():
                found.append(f"{page.relative_to(root)}: the link {target} leads nowhere")
            elif anchor and there.suffix == ".md" and anchor not in anchors_of(there):
                found.append(f"{page.relative_to(root)}: {target or page.name} has no heading #{anchor}")
    return found


def tables(root):
    """A | in a cell that is not escaped makes two of it, in code, too."""
    found = []
    for page in pages(root):
        width, code = None, False
        for number, line in enumerate(page.read_text().splitlines(), 1):
            code ^= line.startswith("```")
            cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") and not code else None
            if cells and width and cells != width:
                found.append(f"{page.relative_to(root)}:{number}: {cells - 1} cells, the table's head has {width - 1}")
            width = cells and (width or cells)
    return found


def long_lines(root):
    """Lines of prose: no table, no code, no picture."""
    found = []
    for page in pages(root):
        code = False
        for number, line in enumerate(page.read_text().splitlines(), 1):
            code ^= line.startswith("```")
            if len(line) > LONGEST and not code and not line.startswith(("|", "    ", "![", "```")):
                found.append(f"{page.relative_to(root)}:{number}: {len(line)} characters, at most {LONGEST}")
    return found


def told(lockstep, *command):
    done = warm.run(lockstep, command, "/", dict(os.environ))
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


@functools.cache  # the pages call a command often
def help_of(lockstep, *command):
    return told(lockstep, *command, "--help")


def commands(root, lockstep):
    page, found = (root / "docs/cli.md").read_text(), []
    real = re.findall(r"^  (\w+)  +\w", help_of(lockstep).split("Exit codes:")[0], re.MULTILINE)
    sections = dict(re.findall(r"^## `lockstep (\w+)[^`\n]*`$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    if sorted(real) != sorted(sections):
        found.append(f"docs/cli.md: has sections for {sorted(sections)}, the program has {sorted(real)}")
    for name in set(real) & set(sections):
        listed = help_of(lockstep, name).split("Options:")[1].split("Example:")[0]
        has = set(re.findall(r"^  (?:-\w, )?(--[a-z][\w-]*)", listed, re.MULTILINE)) - EVERYWHERE
        table = set(re.findall(r"^\| `(--[a-z][\w-]*)", sections[name], re.MULTILINE))
        if has != table:
            found.append(f"docs/cli.md, {name}: options {sorted(table)}, the program has {sorted(has)}")
    for page in pages(root):
        text = REFUSED.sub("", page.read_text())
        for name, rest in re.findall(r"^\s*(?:\$ )?lockstep (\w+)([^\n|>;#]*)", text, re.MULTILINE):
            if name not in real:
                found.append(f"{page.relative_to(root)}: there is no command {name}")
                continue
            known = set(OPTION.findall(help_of(lockstep, name)))
            for option in OPTION.findall(rest):
                if option not in known:
                    found.append(f"{page.relative_to(root)}: lockstep {name} has no {option}")
    return found


def exit_codes(root):
    header = (root / "include/lockstep/core/error.h").read_text()
    enum = re.search(r"enum class Code : int \{(.*?)\};", header, re.DOTALL).group(1)
    real = re.findall(r"= (\d+)", enum)
    said = re.findall(r"^\| (\d+) \|", (root / "docs/cli.md").read_text(), re.MULTILINE)
    return [] if real == said else [f"docs/cli.md: exit codes {said}, core/error.h has {real}"]


def constants(root):
    """Numbers and words of docs/checkpoint.md against the sources that define them."""
    def source(path, pattern):
        match = re.search(pattern, (root / path).read_text())
        return match.group(1) if match else f"(no {pattern} in {path})"

    wanted = {
        "format": source("src/checkpoint/checkpoint.cpp", r'kFormat = "([^"]+)"'),
        "alignment": source("src/hdf5/canonical.cpp", r"kAlignment = (\d+)"),
        "metadata block": source("src/hdf5/canonical.cpp", r"kMetadataBlock = (\d+)"),
        "sidecar": source("src/checkpoint/sidecar.cpp", r'"(lockstep-sha256-tree \d+) leaf='),
        "statement": source("src/checkpoint/statement.cpp", r'"(lockstep statement \d+)'),
        "block": str(int(source("include/lockstep/hash/merkle.h", r"kBlockBytes = (\d+) \* 1024")) * 1024),
        "tile": str(int(source("include/lockstep/hash/leaf.h", r"kTileBytes = (\d+) \* 1024")) * 1024),
        "state root": source("src/state/digest.cpp", r'"(lockstep state \d+)'),
    }
    for name in re.findall(r'\{"(\w+)", ', re.search(
            r"attributes_of\(.*?\n\}", (root / "src/checkpoint/checkpoint.cpp").read_text(), re.DOTALL).group(0)):
        wanted["attribute " + name] = f"| `{name}` |"
    page = (root / "docs/checkpoint.md").read_text()
    return [f"docs/checkpoint.md: does not name the {name} of the sources, {text}"
            for name, text in wanted.items() if text not in page]


def left_out(root):
    """docs/training.md names each key that the recipe's id has only where it is set: who computes an id needs them all."""
    page = (root / "docs/training.md").read_text()
    said = page[page.index("The canonical text has"):page.index("| value | form |")]
    keys = {key for path in [*(root / "src").rglob("*.cpp"), *(root / "include").rglob("*.h")]
            for key in re.findall(r"bits_unless\(o\.([\w.]+),", path.read_text())}
    assert len(keys) > 15, keys
    return [f"docs/training.md: does not say when the recipe's id leaves out {key}" for key in sorted(keys)
            if not re.search(rf"`(\w+\.)*{key.rpartition('.')[2]}`", said)]


def gallery(root, lockstep):
    """Pictures of recipes: of that recipe as it is now, after its last step (tools/gallery)."""
    found = []
    for image in sorted((root / "docs/gallery").glob("*.png")):
        shown = json.loads(told(lockstep, "inspect", image, "--json"))["provenance"]
        recipe = json.loads(told(lockstep, "train", root / "recipes" / f"{image.stem}.toml", "--dry-run", "--json"))
        steps = re.search(r"^steps = (\d+)$", recipe["recipe"], re.MULTILINE).group(1)
        real, said = (recipe["id"], steps), (shown["recipe"], shown["step"])
        if real != said:
            found.append(f"{image.relative_to(root)}: of recipe and step {said}, the recipe has {real}")
    return found


def play(block, folder, environment):
    """[(command, output)] of a console block's lines that begin with `$ `."""
    played, status = [], 0
    for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        done = subprocess.run(["bash", "-c", f"(exit {status})\n{command}"], cwd=folder, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        status = done.returncode
        played.append((command, done.stdout))
    return played


def stories(root, lockstep, renew=False):
    root, found = Path(root).resolve(), []
    for page in pages(root):
        text = page.read_text()
        if not BLOCK.search(text):
            continue
        with tempfile.TemporaryDirectory(prefix="lockstep-docs-") as folder:
            for shared in ("recipes", "tests"):
                Path(folder, shared).symlink_to(root / shared)
            Path(folder, "bin").mkdir()
            Path(folder, "bin/lockstep").symlink_to(lockstep)
            environment = dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}", LC_ALL="C")
            for block in BLOCK.findall(text):
                played = play(block, folder, environment)
                real = "".join(f"$ {command}\n{output}" for command, output in played)
                if real == block:
                    continue
                if renew:
                    page.write_text(page.read_text().replace(block, real))
                    continue
                command = next((c for c, out in played if f"$ {c}\n{out}" not in block), played[0][0])
                found.append(f"{page.relative_to(root)}: `{command}` prints {dict(played)[command]!r} now "
                             "(docs.py ROOT LOCKSTEP --renew writes it)")
    return found


def problems(root, lockstep):
    root = Path(root)
    return (links(root) + tables(root) + long_lines(root) + commands(root, lockstep) + exit_codes(root) + constants(root) + left_out(root) +
            gallery(root, lockstep) + stories(root, lockstep))


if __name__ == "__main__":
    if sys.argv[3:] == ["--renew"]:
        stories(sys.argv[1], sys.argv[2], renew=True)
    report(problems(sys.argv[1], sys.argv[2]))
