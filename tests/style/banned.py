"""Calls whose result depends on the library, the locale, the environment or the time, outside the
places that exist for them.

usage: banned.py ROOT
"""
import re
import sys
from pathlib import Path

from common import code_only, line_of, report, sources

MATH = ("exp|exp2|expm1|log|log2|log10|log1p|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|pow|sqrt|cbrt|hypot|"
        "erf|erfc|tgamma|lgamma|fma|fmod|remainder|floor|ceil|round|trunc|rint|nearbyint|lround|lrint|ldexp|frexp|modf")

# What, in which files it may stand (prefixes), why not elsewhere.
RULES = [
    (r"std::random\w*|std::mt19937\w*|std::default_random_engine|(?<![\w:.>])(?:std::)?s?rand\s*\(", (),
     "randomness is Philox of numerics/philox.h"),
    (r"std::\w+_distribution", (), "distributions differ between standard libraries"),
    (r"std::(?:shuffle|sample)\b", (), "shuffles differ between standard libraries"),
    (r"\bunordered_(?:multi)?(?:map|set)\b", (), "the order of hash tables is the library's"),
    (r"\bgetenv\s*\(|\benviron\b", ("tools/lockstep/environment.cpp", "tools/lockstep/launch.cpp",
                                    "tools/lockstep/child.cpp", "src/comm/", "src/fingerprint/"),
     "no bit may depend on the environment"),
    (rf"(?:std|(?<![\w>]))::(?:{MATH})[fl]?\b", (), "libm's results depend on its version and the CPU: use numerics"),
    (r"#\s*include\s*<(?:cmath|math\.h|complex|random|tgmath\.h)>", (), "libm's results depend on its version and the CPU"),
    (r"\bsystem_clock\b|(?<![\w:.>])(?:std::)?time\s*\(|\bgettimeofday\b|\bclock_gettime\b|\bsteady_clock\b|\bstrftime\b",
     ("src/core/clock.cpp", "tools/old_system/"), "time is core/clock.h"),
    (r"\bsetlocale\b|\blocale::global\b|\bimbue\b", (), "the locale is not ours"),
    (r"\bsto(?:d|f|ld|i|l|ll|ul|ull)\s*\(|\bstrto(?:d|f|ld|l|ll|ul|ull)\s*\(|\bato(?:f|i|l|ll)\s*\(|\bs?scanf\s*\(", (),
     "reads by the locale: use core/text.h or from_chars"),
    (r"\bv?[fsd]?n?printf\s*\(", (), "writes by the locale: use core/text.h or to_chars"),
    (r"\bstd::cout\b", (), "results are printed by tools/lockstep/output.h, which escapes and checks"),
    (r"#\s*pragma\s+omp\b", (), "OpenMP's reductions have no order: use Cpu::parallel_for of numerics/cpu.h"),
    (r"-ffast-math|\bfast-math\b|#\s*pragma\s+STDC\s+FP_CONTRACT", (), "contraction is part of the arithmetic"),
]
TEST_RULES = [(r"std::random_device|(?<![\w:.>])(?:std::)?s?rand\s*\(", (), "a test that fails must fail again")]
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XXX)\b")


def search(root, paths, rules):
    found = []
    for path in paths:
        name, text = str(path.relative_to(root)), path.read_text()
        code = code_only(text)
        for pattern, homes, why in rules:
            if name.startswith(tuple(homes)):
                continue
            for match in re.finditer(pattern, code):
                found.append(f"{name}:{line_of(text, match.start())}: {match.group(0).strip()}: {why}")
        for match in UNFINISHED.finditer(text):
            found.append(f"{name}:{line_of(text, match.start())}: {match.group(0)}: finish it or file an issue")
    return found


def problems(root):
    root = Path(root)
    return search(root, sources(root), RULES) + search(root, sources(root, "tests"), TEST_RULES)


if __name__ == "__main__":
    report(problems(sys.argv[1]))
