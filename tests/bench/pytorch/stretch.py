"""Seconds of one run of what a GPU does behind the host, as tests/bench/stretch.h measures ours."""
import statistics
import time

STRETCH = 0.02  # seconds at least: a wait is less than a percent of it
STRETCHES, WARM_UP = 7, 2


def seconds_of_run(run, wait, clock=time.perf_counter):
    """The median of some stretches: many runs between two waits."""
    def stretch(runs):
        start = clock()
        for _ in range(runs):
            run()
        wait()
        return clock() - start

    wait()
    for _ in range(WARM_UP):
        stretch(1)
    runs = 1
    while stretch(runs) < STRETCH:
        runs *= 2
    return statistics.median(stretch(runs) / runs for _ in range(STRETCHES))
