"""Runs a file's tests, and prints what skipped ones did not prove: tools/test gathers these lines."""

import sys
import unittest


def main(arguments=()):
    """arguments: unittest's."""
    result = unittest.main(argv=[sys.argv[0], *arguments], exit=False).result
    for test, reason in result.skipped:
        print(f"{test.id()}: {'' if reason.startswith('NOT PROVED') else 'NOT PROVED: '}{reason}")
    sys.exit(not result.wasSuccessful())
