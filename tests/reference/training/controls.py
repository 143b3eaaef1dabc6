"""Negative controls that share what is unbroken, such as a run of the program."""
import os
import sys
import traceback


def add_arguments(parser, rules):
    parser.add_argument("--break", dest="alone", nargs="+", default=[], choices=sorted(rules))
    parser.add_argument("--controls", nargs="+", default=[], choices=sorted(rules))


def exit_code(options, unbroken, seen):
    """0 if each broken rule is seen and, without --break, `unbroken()`. Controls are first: they find what a fresh process has."""
    failed = [rule for rule in options.alone + options.controls if not in_a_child(rule, seen)]
    for rule in failed:
        print(f"{rule}: not as it must be")
    return 0 if (options.alone or unbroken()) and not failed else 1


def in_a_child(rule, seen):
    """Whether seen(rule): a rule stays broken in its process."""
    print(f"with a broken rule, {rule}:", flush=True)
    child = os.fork()
    if child == 0:
        as_it_must = False
        try:
            as_it_must = seen(rule)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0 if as_it_must else 1)  # the parent has the folder of the run
    return os.waitpid(child, 0)[1] == 0
