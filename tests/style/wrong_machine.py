"""Rewrites a run's ledger as a machine would have written it that computed wrongly from one step on:
another state, and a chain that fits it. Later checkpoints and pictures are removed, as that machine's
would be others. For trying out what finds it: docs/verify.md.

usage: wrong_machine.py RUN STEP
"""
import hashlib
import json
import sys
from pathlib import Path


def wrong(digest):
    return hashlib.sha256(bytes.fromhex(digest)).hexdigest()


def rewrite(lines, first):
    chain = bytes(32)
    for number, line in enumerate(lines):
        entry = json.loads(line)
        for key in ("before", "state", "commit"):
            step = number - 1 if key == "before" else number
            if key in entry and step >= first:
                line = line.replace(f'"{key}":"{entry[key]}"', f'"{key}":"{wrong(entry[key])}"')
        text = line[:line.index(',"chain":')]
        chain = hashlib.sha256(chain + text.encode()).digest()
        yield f'{text},"chain":"{chain.hex()}"}}\n'


def main(run, first):
    ledger = run / "ledger.jsonl"
    ledger.write_text("".join(rewrite(ledger.read_text().splitlines(), first)))
    for path in [*run.glob("checkpoints/step-*"), *run.glob("samples/step-*")]:
        if int(path.name[5:13]) >= first:
            path.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), int(sys.argv[2]))
