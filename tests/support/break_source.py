"""Writes a source file with a control of broken.toml in it.

Usage: break_source.py SOURCES CONTROL OUT
"""

import sys
import tomllib
from pathlib import Path


def main(sources, name, out):
    table = Path(__file__).parent / "broken.toml"
    control = tomllib.loads(table.read_text(encoding="utf-8"))[name]
    text = Path(sources, control["file"]).read_text(encoding="utf-8")
    for change in control["change"]:
        if (times := text.count(change["old"])) != 1:
            sys.exit(f"{table.name}, {name}: a text stands {times} times in {control['file']}: {change['old']}")
        text = text.replace(change["old"], change["new"])
    Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
