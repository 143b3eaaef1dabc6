"""Replay agrees with an honest ledger and names the step of a lie, even of a well-chained one.

Usage: replay_test.py PROGRAM RECIPE
"""

import hashlib
import json
import os
import sys
import tempfile

import golden

TO_CHAIN = b',"chain":'


def rechained(lines):
    """The lines with the chain that docs/ledger.md prescribes: what somebody who lies would write."""
    chain, out = bytes(32), []
    for line in lines:
        text = line[:line.index(TO_CHAIN)]
        chain = hashlib.sha256(chain + text).digest()
        out.append(text + TO_CHAIN + b'"' + chain.hex().encode() + b'"}\n')
    return out


def replay(program, run, first, last):
    code, out, err = program.run("replay", run, "--from", first, "--to", last, "--json", "--quiet")
    assert out, f"exit {code}\n{err}"
    return code, json.loads(out)


def main():
    program, name = golden.Program(sys.argv[1]), sys.argv[2]
    every = golden.steps_of(name) // 3  # steps between checkpoints
    first, wrong, last = every + 2, every + 4, every + 6
    with tempfile.TemporaryDirectory(prefix="lockstep-replay-") as folder:
        run = os.path.join(folder, "run")
        golden.train(program, name, run, steps=last)
        code, said = replay(program, run, first, last)
        del said["machine"]
        with open(os.path.join(run, "ledger.jsonl"), encoding="ascii") as file:
            assert said.pop("chain") == json.loads(file.readlines()[-1])["chain"], said
        saved = sum(step % every == 0 or step == last for step in range(every + 1, last + 1))
        assert code == 0 and said == {"agrees": True, "windows": [{"started": every, "from": first, "to": last}],
                                      "compared": last - every, "checkpoints": saved, "steps": last}, said
        code, said = replay(program, run, 1, 3)
        assert code == 0 and said["windows"][0]["started"] == 0, said

        ledger = os.path.join(run, "ledger.jsonl")
        with open(ledger, "rb") as file:
            lines = file.readlines()
        assert rechained(lines) == lines, "docs/ledger.md's chain is not the program's"
        honest = json.loads(lines[wrong])["state"]
        lie = honest[:-1] + ("0" if honest[-1] != "0" else "1")
        lines[wrong] = lines[wrong].replace(honest.encode(), lie.encode())
        with open(ledger, "wb") as file:
            file.writelines(rechained(lines))

        code, said = replay(program, run, first, last)
        assert code == 1 and not said["agrees"] and said["first_difference"] == wrong, said
        assert "state" in said["what"], said
        code, out, _ = program.run("replay", run, "--from", first, "--to", last)
        assert code == 1 and f"FAIL: step {wrong}:" in out, out
        code, said = replay(program, run, first, wrong - 1)
        assert code == 0, said
    print(f"{name}: the window agrees, and the lie at step {wrong} is named")


if __name__ == "__main__":
    main()
