"""Limits on seconds follow the machine's pace, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from trials import pace
from trials.pace import allow, measure_pace, stopwatch


def clock_of(*steps: float) -> Callable[[], float]:
    """Return a clock whose readings differ by these steps."""
    at, left = 0.0, iter(steps)

    def read() -> float:
        nonlocal at
        at += next(left)
        return at

    return read


def test_a_slow_machine_is_given_longer() -> None:
    """Ten times as slow at the loop, ten times as long for the work."""
    ten = 10 * pace._REFERENCE
    assert measure_pace(clock_of(0.0, ten)) == pytest.approx(10.0)
    with stopwatch(clock_of(0.0, ten, 0.0, 30.0, 0.0, ten)) as watch:
        pass
    assert watch.seconds == pytest.approx(3.0)


@pytest.mark.parametrize("before", [True, False])
def test_the_slower_of_two_paces_counts(before: bool) -> None:
    """Whether the machine became busy during the work or ceased to be."""
    paces = (4.0, 1.0) if before else (1.0, 4.0)
    one, other = (factor * pace._REFERENCE for factor in paces)
    with stopwatch(clock_of(0.0, one, 0.0, 8.0, 0.0, other)) as watch:
        pass
    assert watch.seconds == pytest.approx(2.0)


def test_a_quick_machine_is_given_no_less() -> None:
    assert measure_pace(clock_of(0.0, pace._REFERENCE / 100)) == 1.0


def test_what_is_slow_by_itself_is_seen() -> None:
    """The pace does not hide it: only the loop counts, not the work."""
    with stopwatch(time.process_time) as watch:
        for _ in range(20):
            pace._loop()
    assert watch.seconds > 5 * pace._REFERENCE


def test_limits_that_tests_set_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "measure_pace", lambda: 10.0)
    assert allow(3.0) == 30.0
