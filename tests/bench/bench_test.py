"""tools/bench writes its sections of a page and nothing else of it. The numbers are of tiny networks and mean nothing.

usage: bench_test.py BINARIES [unittest's arguments]
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import page
import same_network
from bench import PARTS
from parts import scaling
from programs import TOP
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import unproved  # noqa: E402

BINARIES = sys.argv[1]
SECTION = re.compile(r"^<!-- tools/bench --only (\w+) -->\n(.*?)^<!-- end of \1 -->$", re.MULTILINE | re.DOTALL)


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-bench-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(os.path.join(TOP, "docs/benchmarks.md")) as file:
            self.before = file.read()
        with open(self.path("page.md"), "w") as file:
            file.write(self.before)

    def path(self, name):
        return os.path.join(self.folder, name)

    def bench(self, *parts):
        """The page afterwards, and the numbers."""
        subprocess.run([sys.executable, os.path.join(TOP, "tests/bench/bench.py"), "--tiny", "--binaries", BINARIES,
                        "--page", self.path("page.md"), "--json", self.path("bench.json"), "--work", self.path("work"),
                        *(f"--only={part}" for part in parts)], check=True, stderr=subprocess.PIPE)
        with open(self.path("page.md")) as text, open(self.path("bench.json")) as numbers:
            return text.read(), json.load(numbers)

    def written(self, *parts):
        """Runs these parts: the page then differs in their sections only. Sections and numbers."""
        before = dict(SECTION.findall(self.before))
        after, numbers = self.bench(*parts)
        sections = dict(SECTION.findall(after))
        self.assertEqual(SECTION.sub("", after), SECTION.sub("", self.before))
        self.assertEqual(sorted(before), sorted(sections))
        self.assertEqual(sorted(numbers), sorted(parts))
        for part, body in sections.items():
            with self.subTest(part):
                if part not in parts:
                    self.assertEqual(body, before[part])
                    continue
                self.assertRegex(body, rf"`tools/bench --only {part} --tiny`, \d{{4}}-\d\d-\d\d, commit \w+")
                self.assertNotIn("failed", body)
                for line in body.splitlines():
                    self.assertTrue(len(line) <= 140 or line.startswith("|"), line)
        return sections

    def test_parts_write_their_own_sections(self):
        sections = self.written("step", "kernels")
        for setting in ("1 thread", "2 ranks of 1 thread"):
            self.assertRegex(sections["step"], rf"\*\*DCGAN, {setting}\*\*\n\n.*\n.*\n\| Lockstep, float \| [\d.]+ \| 1.00 \|")
        self.assertIn("### Transformer blocks (DiT)\n\nnot measured", sections["step"])
        self.assertRegex(sections["kernels"], r"\| conv n64 side7 in64 out64 k3 stride1 pad1 weight_grad \| \d+ \|")

    def test_every_part(self):
        self.assertEqual(sorted(PARTS), sorted(self.written(*PARTS)))

    def test_other_networks_are_seen(self):
        ours = {"a/param/conv.weight": [3, 3, 8, 16], "a/param/line.weight": [8, 16]}
        theirs = {"a/param/conv.weight": [16, 8, 3, 3], "a/param/line.weight": [16, 8, 1, 1]}
        self.assertEqual(same_network.differences(ours, theirs), [])
        self.assertEqual(len(same_network.differences(ours, {**theirs, "a/param/conv.weight": [8, 16, 3, 3]})), 1)
        self.assertEqual(len(same_network.differences(ours, {**theirs, "a/param/line.bias": [16]})), 1)
        del theirs["a/param/line.weight"]
        self.assertEqual(len(same_network.differences(ours, theirs)), 1)

    def test_numbers(self):
        self.assertEqual(page.spread([3.0, 1.0, 2.0]), "2.00 (1.00 to 3.00)")
        self.assertAlmostEqual(scaling.slope([1, 2, 3], [5, 7, 9]), 2)
        with self.assertRaises(SystemExit):
            page.replace("a page without sections", "step", "")


if __name__ == "__main__":
    unproved.main(sys.argv[2:])
