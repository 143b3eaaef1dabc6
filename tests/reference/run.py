"""A second implementation of docs/numerics.md, written from the page alone, against docs/conformance.json.

    run.py docs/conformance.json              recomputes every case; prints those that differ
    run.py docs/conformance.json --only NAME  the cases of one operation
    run.py docs/conformance.json --break RULE one rule done wrong: the cases named in BREAKS must differ, others not
    run.py docs/conformance.json --order      checks that sample orders permute; prints keys and a few orders

Only the standard library of Python is needed, and its float: IEEE 754 binary64 with one rounding for + - * / and
sqrt. The rest is made of these and of integers. The order of samples and the keys of streams have no case in
docs/conformance.json: --order checks that orders permute and prints what other implementations can compare.
"""
import argparse
import json
import sys
import time

import chains
import floats
import vectors


def unfused():
    floats.fma = lambda a, b, c: floats.add(floats.mul(a, b), c)


def flush():
    rounded = floats.round32
    floats.round32 = lambda x: rounded(x) if abs(rounded(x)) >= 2.0 ** -126 or x != x else x * 0.0


def short_blocks():
    chains.BLOCK = 256


def one_block():
    chains.BLOCK = 1 << 30


def descending():
    dot = chains.dot
    chains.dot = lambda u, v: dot(u[::-1], v[::-1])


# A rule done wrong; (operation, case) that must differ then; one that must not.
BREAKS = {
    "unfused": (unfused, ("row_dots", "5 x 512, wide"), ("row_sums", "5 x 512, wide")),
    "flush": (flush, ("multiply", "bits"), ("add", "bits")),
    "short_blocks": (short_blocks, ("row_dots", "5 x 512, wide"), ("row_dots", "5 x 17, wide")),
    "one_block": (one_block, ("row_sums", "5 x 1100, wide"), ("row_sums", "5 x 512, wide")),
    "descending": (descending, ("row_dots", "5 x 17, wide"), ("row_dots", "5 x 1, wide")),
}


def run(cases, specials):
    """The cases that differ, as (operation, case)."""
    from operations import compute  # after a rule was broken: names are bound on import
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
    for seed in (0, 1, 2 ** 64 - 1):
        print(f"seed {seed}: key of data/order " + " ".join(f"{w:08x}" for w in philox.stream_key(seed, "data/order")))
        for n in (2, 5, 10, 60000):
            print(f"  n = {n}: " + " ".join(str(philox.sample(seed, n, d)) for d in range(min(2 * n, 20))))
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--only")
    parser.add_argument("--break", dest="broken", choices=sorted(BREAKS))
    parser.add_argument("--order", action="store_true")
    options = parser.parse_args()
    if options.order:
        return 1 if check_order() else 0
    with open(options.file, encoding="utf-8") as file:
        published = json.load(file)
    cases = published["cases"]
    start = time.monotonic()
    if options.broken:
        apply, must, must_not = BREAKS[options.broken]
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
