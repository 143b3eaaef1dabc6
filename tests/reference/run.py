"""A second implementation of docs/numerics.md, networks.md and the digests of checkpoint.md, written from the pages
alone, against docs/conformance.json and docs/networks.json.

    run.py FILE              recomputes every case; prints those that differ
    run.py FILE --only NAME  the cases of one operation
    run.py FILE --break RULE one broken rule: the cases named in breaks.py must differ, others not
    run.py FILE --order      checks that sample orders permute

It needs only Python's standard library and float: IEEE 754 binary64 with one rounding for + - * / and
sqrt. Everything else uses these and integers.
"""
import argparse
import json
import sys
import time

import breaks
import vectors


def run(cases, specials):
    """The cases that differ, as (operation, case)."""
    from operations import compute  # after the rule is broken: import binds names
    differing = []
    for case in cases:
        name = (case["operation"], case["case"])
        inputs = {key: vectors.make(value, specials) for key, value in case["inputs"].items()}
        parameters = {key: vectors.parameter(value) for key, value in case["parameters"].items()}
        found = vectors.differences(case, compute(*name, inputs, parameters))
        if found:
            differing.append(name)
            print(f"{name[0]}, {name[1]}: " + "; ".join(found))
    return differing


def check_order():
    import philox
    failures = 0
    for n in list(range(1, 70)) + [127, 128, 129, 1000, 4097]:
        for epoch in (0, 1, 2 ** 32):
            seen = sorted(philox.sample(7, n, epoch * n + i) for i in range(n))
            if seen != list(range(n)):
                failures += 1
                print(f"n = {n}, epoch {epoch}: not a permutation")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--only")
    parser.add_argument("--break", dest="broken", choices=sorted(breaks.BREAKS))
    parser.add_argument("--order", action="store_true")
    options = parser.parse_args()
    if options.order:
        return 1 if check_order() else 0
    with open(options.file, encoding="utf-8") as file:
        published = json.load(file)
    cases = published["cases"]
    start = time.monotonic()
    if options.broken:
        apply, must, must_not = breaks.BREAKS[options.broken]
        cases = [c for c in cases if (c["operation"], c["case"]) in (must, must_not)]
        apply()
        seen = len(cases) == 2 and run(cases, published["specials"]) == [must]
        print(f"{options.broken}: {'as it must be' if seen else 'the wrong cases differ'}")
        return 0 if seen else 1
    if options.only:
        cases = [c for c in cases if c["operation"] == options.only]
    differing = run(cases, published["specials"])
    print(f"{len(cases) - len(differing)} of {len(cases)} cases agree, {time.monotonic() - start:.0f} s")
    return 1 if differing or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
