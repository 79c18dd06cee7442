"""Time limits that hold on any machine: seconds are measured against the machine's pace.

A limit in a test is in seconds of the machine where it was set, when it was quiet. A slower or a
busier machine needs longer for everything, so a fixed loop is timed here and now, and how much
longer it takes is the *pace*: 1 on that machine, 10 on one that gives us a tenth.

    with stopwatch() as watch:
        work()
    assert watch.seconds < 5.0

Where only the work itself counts, `stopwatch(time.process_time)` is not disturbed by others at all.
`allow(seconds)` is for limits that a test sets for others: a setting of the service, a wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

#: Passes of the loop, and their seconds by Python 3.11 on the machine where the limits were set:
#: two virtual cores of an AMD EPYC, the quickest of 30 runs.
_PASSES = 400_000
_REFERENCE = 0.031

Clock = Callable[[], float]


@dataclass(slots=True)
class Watch:
    """What a stopwatch showed: seconds of the machine where the limits were set."""

    seconds: float = 0.0


def _loop() -> float:
    """Do a fixed piece of work: numbers, a table, memory."""
    total, seen = 0.0, {}
    for number in range(_PASSES):
        total += number * 0.5 % 7.0
        seen[number % 997] = total
    return total


def measure_pace(clock: Clock = time.perf_counter) -> float:
    """Return how many times longer work takes here and now; at least 1.

    A quicker machine gets no shorter limits: what is quick at a loop need not be quick at all.
    """
    started = clock()
    _loop()
    return max(1.0, (clock() - started) / _REFERENCE)


@contextmanager
def stopwatch(clock: Clock = time.perf_counter) -> Iterator[Watch]:
    """Measure what is done inside, at the slower of the paces before and after it."""
    watch = Watch()
    before = measure_pace(clock)
    started = clock()
    yield watch
    taken = clock() - started
    watch.seconds = taken / max(before, measure_pace(clock))


def allow(seconds: float) -> float:
    """Return the seconds of this machine, here and now, for those of a quiet one."""
    return seconds * measure_pace()
