"""Dropout: masks are the samples', so neither ranks nor portions change them; pictures are made without it.

usage: dropout_test.py PROGRAM SOURCE"""

import zipfile

from support import Cli, main

DROPS = ("--set", "model.dropout=0.3")


class Dropout(Cli):
    def ledger(self, name, *arguments):
        self.ok("train", "tiny.toml", "--run", name, "--quiet", *arguments)
        return self.read(f"{name}/ledger.jsonl")

    def test_ranks_portions_and_witnesses_draw_the_same_masks(self):
        one = self.ledger("one", *DROPS)
        self.assertNotEqual(one, self.ledger("none"))
        self.assertEqual(one, self.ledger("portions", *DROPS, "--lanes-at-once", "1"))
        self.assertEqual(one, self.ledger("ranks", *DROPS, "--ranks", "2", "--set", "evidence.witness_rate=1"))
        self.ok("replay", "one", "--quiet")

    def test_no_dropout_is_the_recipe_as_before(self):
        self.assertEqual(self.ledger("none"), self.ledger("zero", "--set", "model.dropout=0"))

    def test_pictures_are_made_without_it(self):
        self.ledger("parent")
        self.ok("export", "parent", "w.safetensors", "--weights", "trained")
        pictures = []
        for name, more in (("with", DROPS), ("without", ())):
            self.ledger(name, *more, "--weights", "w.safetensors")
            self.ok("sample", f"{name}/checkpoints/step-00000000.h5", "--out", f"{name}.npz", "--count", "2")
            with zipfile.ZipFile(self.path(f"{name}.npz")) as file:
                pictures.append(file.read("arr_0.npy"))
        self.assertEqual(*pictures)


if __name__ == "__main__":
    main()
