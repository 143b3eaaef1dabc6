"""tools/gallery trains, scores and draws; docs/gallery.md has what it names; with Long: a recipe trained anew gives the page's bits.

usage: gallery_test.py BINARIES [unittest's arguments]
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

from programs import TOP
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import unproved  # noqa: E402

BINARIES = sys.argv[1]
DOCS = os.path.join(TOP, "docs")
RECIPE = "fashion-mnist-dcgan"
JUDGE = "fashion-mnist-classifier"


def made(work, *words):
    """The page's text."""
    subprocess.run([os.path.join(TOP, "tools/gallery"), "--program", os.path.join(BINARIES, "lockstep"), "--only", RECIPE,
                    "--runs", os.path.join(work, "runs"), "--page", work, *words], check=True, stderr=subprocess.PIPE)
    return content(work, "gallery.md").decode()


def content(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def rows(page, minutes):
    """Cells of the lines about this test's recipes; the times are those of a machine."""
    cells = {line.split(" | ")[0].strip("| `"): line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")}
    return {name: row[:minutes] + row[minutes + 1:] for name, row in cells.items() if name in (RECIPE, JUDGE)}


class Trial(unittest.TestCase):
    def test_trial(self):
        with tempfile.TemporaryDirectory(prefix="lockstep-gallery-") as work:
            page = made(work, "--trial")
            self.assertEqual([len(row) for row in rows(page, 4).values()], [10, 6])
            self.assertIn(f"![Samples of {RECIPE} after its last step](gallery/{RECIPE}.png)", page)
            self.assertTrue(content(work, "gallery", f"{RECIPE}.png").startswith(b"\x89PNG"))
            drawing = content(work, "gallery", f"{RECIPE}.svg").decode()
            self.assertEqual(drawing.count('class="title"'), 2)  # a chart of each network's loss
            self.assertNotIn("<script", drawing)


class Page(unittest.TestCase):
    def test_has_what_it_names(self):
        page = content(DOCS, "gallery.md").decode()
        files = re.findall(r"\]\((gallery/[^)]*)\)", page)
        self.assertEqual(sorted(files), sorted(f"gallery/{name}" for name in os.listdir(os.path.join(DOCS, "gallery"))))
        for name in re.findall(r"^## (.*)$", page, re.MULTILINE):
            self.assertTrue(os.path.exists(os.path.join(TOP, "recipes", name + ".toml")), name)


class Long(unittest.TestCase):
    """Some ten minutes of one core."""

    def test_same_bits_as_the_page(self):
        with tempfile.TemporaryDirectory(prefix="lockstep-gallery-") as work:
            page = made(work)
            self.assertEqual(rows(page, 4), rows(content(DOCS, "gallery.md").decode(), 4))
            for name in (f"{RECIPE}.png", f"{RECIPE}.svg"):
                self.assertEqual(content(work, "gallery", name), content(DOCS, "gallery", name))


if __name__ == "__main__":
    unproved.main(sys.argv[2:])
