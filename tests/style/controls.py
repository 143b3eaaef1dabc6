"""Negative controls: each style check must report a tree that breaks its rule.

usage: controls.py ROOT COMPILER NM
"""
import subprocess
import os
import sys
import tempfile
import unittest
from pathlib import Path

import banned
import docs
import files
import format
import imports
import layering
import spec
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import unproved  # noqa: E402

ROOT, COMPILER, NM = Path(sys.argv[1]), sys.argv[2], sys.argv[3]


class Controls(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="lockstep-style-")
        self.addCleanup(held.cleanup)
        self.root = Path(held.name)
        self.write("CMakeLists.txt", (ROOT / "CMakeLists.txt").read_text())
        self.write(".gitignore", "/build/\n")
        self.write("src/core/CMakeLists.txt", "lockstep_module(core\n  USES\n  SOURCES a.cpp)\n")
        self.write("src/core/a.cpp", "")
        self.write("src/numerics/CMakeLists.txt", "lockstep_module(numerics\n  USES core\n  SOURCES)\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def reported(self, check, wanted):
        found = check(self.root)
        self.assertTrue([line for line in found if wanted in line], f"{wanted!r} is not in {found}")

    def test_layering(self):
        self.assertEqual(layering.problems(self.root), [])
        for text, wanted in {
            '#include "lockstep/numerics/tree.h"': "core does not use numerics",
            '#include "numerics/cpu/packed.h"': "a private header of numerics",
            "#include <openssl/evp.h>": "belongs to hash",
            "#  include <hdf5.h>": "belongs to hdf5",
            "#include <ATen/ATen.h>": "LibTorch is only for",
        }.items():
            self.write("src/core/a.cpp", text + "\n")
            self.reported(layering.problems, wanted)
        self.write("src/core/a.cpp", '// #include "lockstep/numerics/tree.h"\n')
        self.assertEqual(layering.problems(self.root), [])
        self.write("src/core/CMakeLists.txt", "lockstep_module(core TORCH\n  USES numerics\n  SOURCES a.cpp)\n")
        self.reported(layering.problems, "not of a lower layer")

    def test_banned(self):
        for text in ("std::mt19937 e;", "int i = rand();", "std::normal_distribution<float> d;",
                     "std::shuffle(a, b, e);", "std::unordered_map<int, int> m;", "auto* v = std::getenv(\"A\");",
                     "float y = std::exp(x);", "float y = ::sinf(x);", "float y = std::fma(a, b, c);",
                     "#include <cmath>", "auto now = std::chrono::system_clock::now();", "auto t = time(nullptr);",
                     "std::setlocale(LC_ALL, \"\");", "double d = std::stod(s);", "double d = strtod(s, &e);",
                     "std::snprintf(t, 9, \"%f\", x);", "#pragma omp parallel for", "std::cout << name;", "// TO" "DO later"):
            self.write("src/core/a.cpp", "// text\n" + text + "\n")
            self.reported(banned.problems, "src/core/a.cpp:2")
        self.write("src/core/a.cpp", '// std::shuffle(a)\n/* rand() */ auto s = "std::exp(x)"; int n = strand(1);\n')
        self.assertEqual(banned.problems(self.root), [])
        self.write("tests/core/a_test.cpp", "std::random_device device;\n")
        self.reported(banned.problems, "tests/core/a_test.cpp:1")

    def test_files(self):
        self.write("src/core/a.cpp", "\n" * 401)
        self.reported(files.lengths, "401 lines")
        self.write("src/core/b.cpp", "")
        self.reported(files.listed, "src/core/b.cpp: not listed")
        self.write("src/core/CMakeLists.txt", "lockstep_module(core\n  USES\n  SOURCES a.cpp b.cpp c.cpp)\n")
        self.reported(files.listed, "lists c.cpp, which is not there")
        self.write("src/core/b.h", "")
        self.reported(files.listed, "src/core/b.h: nobody includes it")
        self.write("include/lockstep/core/b.h", "#pragma once\n")
        self.reported(files.described, "include/lockstep/core/b.h")
        self.write("CONTRIBUTING.md", "## Folders\n| `src/` | sources |\n| `gone` | nothing |\n")
        self.reported(files.folders, "CONTRIBUTING.md, Folders")
        self.write("docs/architecture.md", "## Layers\n| `numerics` | 1 |\n| `core` | 0 |\n")
        self.reported(files.folders, "not in the order")

    def test_spec(self):
        name, good = "include/lockstep/numerics/spec/a.h", "LOCKSTEP_HD static inline float f(float x) { return x; }\n"
        for text, wanted in {
            "#include <bit>": "a.h:1: includes bit",
            '#include "lockstep/core/error.h"': "a.h:1: includes lockstep/core/error.h",
            "static inline float g(float x) { return x; }": "a.h:1: a function without LOCKSTEP_HD",
            "float g(float x);": "a.h:1: a function without LOCKSTEP_HD",
            "struct A { int f() const { return 1; } };": "a.h:1: a function without LOCKSTEP_HD",
            "LOCKSTEP_HD inline float g(float x) { return x; }": "make it static",
            "inline constexpr double kC[] = {1, 2};": "an array that device code",
            "LOCKSTEP_HD static inline int g(float x) { return std::bit_cast<int>(x); }": "std::bit_cast: device code",
        }.items():
            for source, line in ((text + "\n" + good, 1), (good + "namespace n {\n" + text + "\n}\n", 3)):
                self.write(name, source)
                self.reported(spec.problems, wanted.replace(":1:", f":{line}:"))
                self.assertEqual(len(spec.problems(self.root)), 1)
        self.write(name, "#include <cstdint>\n#define A(x) \\\n  x()\n" + good + "inline constexpr double kA = f(1);\n"
                   "template <int n>\nstruct W {\n  std::uint32_t w[n]{};\n"
                   "  LOCKSTEP_HD int g() const { if (n) { return 1; } return 2; }\n};\n"
                   "LOCKSTEP_HD static inline const double (&c())[2] {\n  static constexpr double c[] = {1, 2};\n  return c;\n}\n")
        self.assertEqual(spec.problems(self.root), [])

    def test_imports(self):
        self.write("a.cpp", "#include <math.h>\nfloat f(float x) { return expf(x); }\ndouble g(double x) { return fma(x, x, 1); }\n")
        self.write("b.cpp", "#include <stdio.h>\nvoid f(float x) { printf(\"%f\", x); }\n")
        self.write("c.cpp", "float f(float x) { return x * x + 1; }\n")
        self.write("d.cpp", "extern \"C\" int H5Fopen(), H5Fcreate();\nint f() { return H5Fopen() + H5Fcreate(); }\n")
        for name, wanted in {"a": ["expf", "fma"], "b": ["printf"], "c": [], "d": ["H5Fopen"]}.items():
            subprocess.run([COMPILER, "-O1", "-c", f"{name}.cpp", "-o", f"{name}.o"], cwd=self.root, check=True)
            found = imports.problems(NM, [str(self.root / f"{name}.o")])
            self.assertEqual(sorted(line.split()[-1] for line in found), wanted)

    def test_format(self):
        if not format.available():
            self.skipTest("NOT PROVED: no clang-format")
        self.write(".clang-format", (ROOT / ".clang-format").read_text())
        self.write("src/core/a.cpp", "int f( int  x ){return x;}\n")
        self.reported(format.problems, "src/core/a.cpp: not formatted")

    def test_docs_of_commands(self):
        self.write("lockstep", "#!/bin/sh\n[ $1 = run ] && printf 'Options:\\n  --fast  quickly\\n' && exit\n"
                   "printf 'Subcommands:\\n  run    runs\\n'\n")
        (self.root / "lockstep").chmod(0o755)
        commands = lambda root: docs.commands(root, str(root / "lockstep"))
        good = "## `lockstep run X`\n| `--fast` | quickly |\n```sh\nlockstep run --fast x\n```\n"
        self.write("docs/cli.md", good)
        self.assertEqual(commands(self.root), [])
        self.write("docs/cli.md", good.replace("| `--fast` | quickly |\n", ""))
        self.reported(commands, "docs/cli.md, run: options []")
        self.write("docs/cli.md", good.replace("--fast x", "--slow x"))
        self.reported(commands, "lockstep run has no --slow")
        self.write("docs/cli.md", good.replace("lockstep run --fast x", "$ lockstep rnu\nlockstep: there is no command 'rnu'"))
        self.assertEqual(commands(self.root), [])
        self.write("docs/cli.md", good + "## `lockstep walk`\n")
        self.reported(commands, "has sections for ['run', 'walk']")
        self.write("include/lockstep/core/error.h", "enum class Code : int {\n kOk = 0,\n kBug = 70\n};\n")
        self.write("docs/cli.md", "| 0 | done |\n")
        self.reported(docs.exit_codes, "exit codes ['0']")

    def test_docs_of_links_and_tables(self):
        good = "# A page\n## What `it` does\n[a](#what-it-does), [b](docs/b.md#b), [c](docs/b.md)\n| a | b |\n| --- | --- |\n| 1 \\| 2 | `\\|` |\n"
        self.write("README.md", good)
        self.write("docs/b.md", "# B\n")
        for problems in (docs.links, docs.tables):
            self.assertEqual(problems(self.root), [])
        self.write("README.md", good.replace("(docs/b.md)", "(docs/c.md)"))
        self.reported(docs.links, "README.md: the link docs/c.md leads nowhere")
        self.write("README.md", good.replace("b.md#b", "b.md#c"))
        self.reported(docs.links, "README.md: docs/b.md has no heading #c")
        self.write("README.md", good.replace("#what-it-does", "#it-does"))
        self.reported(docs.links, "README.md: README.md has no heading #it-does")
        self.write("README.md", good.replace("`\\|`", "`|`"))
        self.reported(docs.tables, "README.md:6: 3 cells, the table's head has 2")

    def test_docs_of_constants(self):
        page = (ROOT / "docs/checkpoint.md").read_text()
        for name in ("src/checkpoint/checkpoint.cpp", "src/checkpoint/sidecar.cpp",
                     "src/checkpoint/statement.cpp", "src/hdf5/canonical.cpp",
                     "include/lockstep/hash/merkle.h", "include/lockstep/hash/leaf.h", "src/state/digest.cpp"):
            self.write(name, (ROOT / name).read_text())
        self.write("docs/checkpoint.md", page)
        self.assertEqual(docs.constants(self.root), [])
        for was, now in {"4096": "8192", "`samples` |": "`draws` |", "checkpoint 1": "checkpoint 2",
                         "statement 1": "statement 2"}.items():
            self.write("docs/checkpoint.md", page.replace(was, now))
            self.reported(docs.constants, "docs/checkpoint.md: does not name")

    def test_docs(self):
        self.write("README.md", "[a](docs/gone.md)\n")
        self.reported(docs.links, "docs/gone.md")
        story = "```console\n$ echo 1; (exit 3)\n1\n$ echo $?\n3\n```\n"
        self.write("README.md", story)
        self.assertEqual(docs.stories(self.root, "/bin/true"), [])
        self.write("README.md", story.replace("\n1\n", "\n2\n"))
        self.reported(lambda root: docs.stories(root, "/bin/true"), "README.md: `echo 1; (exit 3)` prints")


if __name__ == "__main__":
    unproved.main()
