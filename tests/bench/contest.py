"""Runs contestants in turns. Machines drift, so each repetition runs all, in random order, and ratios are taken inside a
repetition only."""
import random
import subprocess
import sys


class Results:
    """What each contestant gave in each repetition; contestants that failed, and why."""

    def __init__(self):
        self.given, self.failed, self.repetitions = {}, {}, 0

    def values(self, name, key):
        return [value[key] for value in self.given.get(name, [])]

    def ratios(self, one, other, key):
        """Of `one` to `other`; none if one of them failed."""
        if one not in self.given or other not in self.given:
            return []
        return [a / b for a, b in zip(self.values(one, key), self.values(other, key))]


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(contestants, repetitions, seed=None):
    """contestants: functions by name, each giving a dict of numbers. One that fails is left out from then on."""
    results, order = Results(), random.Random(seed)
    results.repetitions = repetitions
    results.given = {name: [] for name in contestants}
    for repetition in range(repetitions):
        for name in order.sample(list(contestants), len(contestants)):
            if name in results.failed:
                continue
            try:
                value = contestants[name]()
            except subprocess.CalledProcessError as error:
                lines = [line for line in (error.stderr or "").splitlines() if line.strip()] or ["no message"]
                results.failed[name] = f"exit code {error.returncode}: {lines[-1][:300]}"
                results.given.pop(name)
                say(f"  {label(name)} FAILED: {results.failed[name]}")
                continue
            results.given[name].append(value)
            shown = ", ".join(f"{key} {number:.4g}" for key, number in value.items() if isinstance(number, (int, float)))
            say(f"  repetition {repetition + 1} of {repetitions}, {label(name)}: {shown}")
    return results


def label(name):
    return " / ".join(name) if isinstance(name, tuple) else name
