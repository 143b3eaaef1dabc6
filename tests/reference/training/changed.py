"""Golden recipes with changes, for tests."""
import os
import tempfile

from trainer import Trainer


def started(folder, name, *changes):
    """A trainer of the folder's recipe; in its text each (old, new) is replaced."""
    with open(os.path.join(folder, name + ".toml"), encoding="utf-8") as file:
        text = file.read()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        return Trainer(file.name, 1)
