"""Drawings: everything lies within them, they stretch, and extremes are kept."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from equipoise.messages.matches import MeanPoint, RatingTimeline
from equipoise.web.page.figures import (
    Column,
    Mark,
    columns_chart,
    drift_chart,
    intervals,
    thinned,
    timeline_chart,
)


def places(drawing: Markup) -> list[float]:
    """Return all percentages of a drawing, which must be well formed."""
    ElementTree.fromstring(str(drawing))
    return [float(one) for one in re.findall(r'"(-?[\d.]+)%"', drawing)]


def timeline(ratings: list[float], times: list[float] | None) -> RatingTimeline:
    count = len(ratings)
    return RatingTimeline(
        player="<x>",
        matches=[str(at) for at in range(count)],
        times=times,
        ratings=ratings,
        deviations=[50.0] * count,
        changes=[0.0] * count,
        ranks=[1] * count,
        teams=[2] * count,
        performances=[None] * count,
        left_out=0,
    )


@pytest.mark.parametrize(
    "times", [None, [0.0, 10.0, 20.0], [5.0, 5.0, 5.0], [0.0, 1e9, 2e9]], ids=str
)
def test_a_course_is_drawn_with_or_without_times(times: list[float] | None) -> None:
    drawing = timeline_chart(timeline([1500.0, 1600.0, 1400.0], times), "Rating of <x>", [])
    assert all(0 <= one <= 100 for one in places(drawing))
    assert "Rating of &lt;x&gt;" in drawing
    points = re.search(r'points="([^"]+)"', drawing)
    assert points is not None
    for pair in points[1].split():
        x, y = map(float, pair.split(","))
        assert 0 <= x <= 1000
        assert 0 <= y <= 280


def test_thinning_keeps_ends_and_extremes() -> None:
    """However long the timeline, its highest and lowest rating are seen."""
    values = [float((at * 7919) % 1000) for at in range(5_000)]
    values[1234], values[4321] = -500.0, 5_000.0
    kept = thinned(values, 400)
    assert len(kept) <= 402
    assert {0, 1234, 4321, 4999} <= set(kept)
    assert kept == sorted(kept)
    assert thinned(values[:10], 400) == list(range(10))


def test_intervals_are_on_one_scale_and_absent_where_unknown() -> None:
    found = intervals([(1500.0, 50.0), (1700.0, 10.0), (1600.0, None)])
    assert found[2] is None
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].low < found[1].low < found[1].high
    assert all(0 <= one <= 100 for one in [*places(found[0].svg), *places(found[1].svg)])
    assert intervals([(1500.0, None)]) == [None]
    assert intervals([(1500.0, 0.0)])[0] is not None


@pytest.mark.parametrize("values", [[3.0, 0.0, 7.0], [0.0], [1e9, 1.0]], ids=str)
def test_columns_stay_within_their_chart(values: list[float]) -> None:
    columns = [Column(value, "<b>") for value in values]
    drawing = columns_chart("Matches", columns, [(0.0, "a"), (1.0, "b")], Mark(0.5, "median"))
    assert all(0 <= one <= 100 for one in places(drawing))
    assert "<b>" not in drawing


def test_drift_is_drawn_by_time_and_by_number() -> None:
    for start in (1_700_000_000, None):
        points = [
            MeanPoint(
                None if start is None else start + 604_800 * at,
                at,
                5,
                1500.0 + at,
                1450.0,
                1550.0,
            )
            for at in range(4)
        ]
        assert all(0 <= one <= 100 for one in places(drift_chart("Drift", points)))
