"""Rulesets on the same days: intervals, corrections, and the same answer from more processes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.matchmaking.arrivals import DayModel, draw_people
from equipoise.matchmaking.comparing import (
    compare,
    holm,
    interval,
    student_quantile,
    student_within,
    verdict,
)
from equipoise.matchmaking.simulation import Plan
from matchmaking.queues import ruleset

pytestmark = pytest.mark.no_kernel
SMALL = DayModel(tickets=2000)
PLANS = [
    Plan(label="narrow", ruleset=ruleset(1, 25.0)),
    Plan(label="wide", ruleset=ruleset(1, 400.0)),
    Plan(label="same", ruleset=ruleset(1, 25.0)),
]


@pytest.mark.parametrize(
    ("freedom", "expected"), [(1, 12.706), (2, 4.303), (3, 3.182), (9, 2.262), (19, 2.093)]
)
def test_quantiles_of_student_are_those_of_the_tables(freedom: int, expected: float) -> None:
    assert student_quantile(0.95, freedom) == pytest.approx(expected, abs=5e-4)
    assert student_within(student_quantile(0.95, freedom), freedom) == pytest.approx(0.95)


def test_holm_by_hand() -> None:
    """0.01 x 3, 0.02 x 2, and 0.03 not below the one before."""
    found = holm({"a": 0.02, "b": 0.01, "c": 0.03, "d": math.nan})
    assert {key: found[key] for key in "abc"} == pytest.approx({"a": 0.04, "b": 0.03, "c": 0.04})
    assert math.isnan(found["d"])


def test_interval_by_hand() -> None:
    """Mean 2, deviation 1, three days: 2 +- 4.303/sqrt(3)."""
    found = interval(np.array([1.0, 2.0, 3.0]), of=0.0)
    assert (found.mean, found.upper) == pytest.approx((2.0, 2 + 4.3027 / math.sqrt(3)), abs=1e-4)
    assert found.p == pytest.approx(1 - student_within(2 * math.sqrt(3), 2))


@pytest.mark.parametrize(("of", "p"), [(2.0, 1.0), (0.0, 0.0)])
def test_equal_days_leave_no_doubt(of: float, p: float) -> None:
    found = interval(np.array([2.0, 2.0, 2.0]), of=of)
    assert (found.lower, found.mean, found.upper, found.p) == (2.0, 2.0, 2.0, p)


def test_a_verdict_says_what_intervals_allow() -> None:
    found = compare(PLANS, SMALL, days=4)
    wide, same = verdict(found)
    assert wide.startswith("wide, compared with narrow: shorter waits by ")
    assert "; less fair by " in wide
    assert "chance may explain the difference" in same
    assert "shorter" not in same
    assert found.differences["wide"]["wait_p95"].upper < 0


def test_one_day_gives_no_verdict() -> None:
    assert list(verdict(compare(PLANS[:2], SMALL, days=1))) == [
        "wide and narrow: nothing can be said; simulate more days."
    ]


def test_days_end_when_intervals_are_narrow_enough() -> None:
    """Not before five days, and not while some interval of the verdict is wider."""
    assert compare(PLANS[:1], SMALL, days=8, precision=1.0).days == 5
    assert compare(PLANS[:1], SMALL, days=7, precision=1e-6).days == 7
    found = compare(PLANS[:1], SMALL, days=30, precision=0.05)
    wide, narrow = (
        max(
            one.upper / one.mean - 1.0
            for name in ("to_match_p50", "gave_up", "unfair")
            for one in [interval(found.values["narrow"][name][:days])]
        )
        for days in (found.days - 1, found.days)
    )
    assert wide > 0.05 >= narrow


def test_hours_of_a_trace_are_its_units() -> None:
    people = draw_people(SMALL, 3, largest=1)
    found = compare(PLANS[:2], SMALL, people=people)
    assert (found.days, found.blocks) == (1, 24)
    assert found.differences["wide"]["gave_up"].upper < 0


@pytest.mark.slow
def test_processes_change_nothing() -> None:
    one, two = (compare(PLANS, SMALL, days=3, workers=workers) for workers in (1, 2))
    for label in one.labels:
        for name, values in one.values[label].items():
            np.testing.assert_array_equal(values, two.values[label][name])
    # As text, in which NaN equals NaN and every digit counts.
    assert repr((one.first, one.differences)) == repr((two.first, two.differences))
