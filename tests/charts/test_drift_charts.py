"""Drift as a figure."""

from __future__ import annotations

import io
import itertools
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from equipoise.analysis.audit.chart import MOST_SYSTEMS, drift_figure, drift_panels
from equipoise.charts import theme
from equipoise.data.audits import ActivityWindow, Drift
from equipoise.errors import InvalidParameterError, NotFoundError


def by_hand(
    count: int = 12,
    *,
    slope: float = 3.0,
    scales: bool = True,
    timed: bool = True,
    learns: bool = False,
    holds: bool = False,
) -> Drift:
    """Return ratings that rise by `slope` a week; scaling takes a point a player.

    A learned entry falls by two points a week, and newcomers perform 100 points below it.
    """
    at = np.arange(count)
    week = 7 * 86_400
    part = -10.0 * at if scales else np.full(count, np.nan)
    return Drift(
        system="made-up",
        window=ActivityWindow("days" if timed else "matches", 20),
        start=1400.0,
        matches=4 * (at + 1),
        times=1_700_000_000 + week * at if timed else None,
        active=np.full(count, 10),
        rating=1400 + slope * at,
        deviation=np.full(count, 90.0),
        spread=np.full(count, 120.0),
        players=np.full(count, 10),
        rating_all=1400 + slope * at,
        rated=4 * (at + 1),
        created=10 * slope * at,
        created_by_performance=part,
        by_matches=np.full(count, slope),
        by_entering=np.zeros(count),
        by_leaving=np.zeros(count),
        by_performance=part,
        by_level=np.full(count, 1.0 if holds else np.nan),
        newcomers=np.ones(count, np.int64),
        entered=1400.0 - 2 * at if learns else np.full(count, 1400.0),
        performed=1300.0 - 2 * at,
        performed_all=1300.0,
        brought=np.zeros(count),
        entry=1400.0 - 2 * at if learns else np.full(count, 1400.0),
        entry_weight=np.full(count, 10.0 if learns else np.nan),
        level=np.full(count, 1390.0 if holds else np.nan),
        target=np.full(count, 1400.0 if holds else np.nan),
        handed=10.0 * at if holds else np.full(count, np.nan),
        handed_by=(),
        receivers=(),
        receiving=0,
    )


def drawn(found: dict[str, Drift], **choices: object):  # type: ignore[no-untyped-def]
    return drift_figure(found, title="title", subtitle="subtitle", **choices)  # type: ignore[arg-type]


def svg(found: dict[str, Drift], **choices: object) -> bytes:
    file = io.BytesIO()
    theme.save(drawn(found, **choices), file, "svg")
    return file.getvalue()


MANY = {f"system {number}": by_hand(slope=number) for number in range(MOST_SYSTEMS)}


@pytest.mark.parametrize(
    "found",
    [
        {"one": by_hand()},
        {"one": by_hand(scales=False)},
        {"one": by_hand(1)},
        {"one": by_hand(2, timed=False)},
        {"one": by_hand(slope=0)},
        {"a": by_hand(), "b": by_hand(scales=False)},
        {"one": by_hand(learns=True, holds=True, scales=False)},
        {"a": by_hand(), "b": by_hand(learns=True)},
        {"$x_1$ & <b>" + "y" * 90: by_hand(), "b": by_hand(slope=-400)},
        MANY,
    ],
    ids=[
        "one",
        "no scaling",
        "one moment",
        "matches",
        "flat",
        "mixed",
        "newcomers",
        "newcomers of two",
        "odd name",
        "many",
    ],
)
@pytest.mark.parametrize(
    "size", [theme.Size(7.5, 5.6), pytest.param(theme.Size(4, 4), marks=pytest.mark.slow)]
)
def test_everything_can_be_drawn(
    found: dict[str, Drift], size: theme.Size, recwarn: pytest.WarningsRecorder
) -> None:
    recwarn.clear()
    first = svg(found, size=size)
    assert ET.fromstring(first).tag.endswith("svg")
    assert not recwarn.list


@pytest.mark.parametrize("found", [{"one": by_hand()}, MANY], ids=["one", "many"])
def test_labels_are_in_the_figure_and_do_not_overlap(found: dict[str, Drift]) -> None:
    figure = drawn(found)
    with theme.style():
        whole = figure.get_window_extent()
        for axes in figure.axes:
            boxes = [text.get_window_extent() for text in axes.texts[1:]]
            assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 for box in boxes)
            ordered = sorted(boxes, key=lambda box: box.y0)
            for lower, upper in itertools.pairwise(ordered):
                assert lower.y1 <= upper.y0 + 1e-6


def test_the_lines_are_the_numbers_and_the_band_is_the_spread() -> None:
    one = by_hand()
    upper, lower = drawn({"one": one}).axes
    np.testing.assert_array_equal(upper.lines[0].get_ydata(), one.rating)
    assert [len(axes.collections) for axes in (upper, lower)] == [1, 0]
    everything, performance = (line.get_ydata() for line in lower.lines)
    np.testing.assert_array_equal(everything, one.added)
    np.testing.assert_array_equal(performance, one.added_by_performance)
    low, high = upper.get_ylim()
    assert low < (one.rating - one.spread).min()
    assert high > (one.rating + one.spread).max()
    assert not drawn({"one": one}, band=False).axes[0].collections


def test_the_panels_stand_one_above_the_other_with_one_axis_of_time() -> None:
    upper, lower = drawn({"one": by_hand()}).axes
    boxes = upper.get_position(), lower.get_position()
    assert boxes[0].y0 > boxes[1].y1
    assert (boxes[0].x0, boxes[0].x1) == (boxes[1].x0, boxes[1].x1)
    assert upper.get_xlim() == lower.get_xlim()


def test_several_systems_are_compared_by_what_scaling_added() -> None:
    upper, lower = drift_panels({"a": by_hand(), "b": by_hand(scales=False)}, band=True)
    assert [line.label for line in upper.lines] == ["a", "b"]
    assert [(line.label, line.end) for line in lower.lines] == [("a", "-11.0")]
    assert "performance scaling" in lower.heading
    assert not any(len(line.spread) for line in upper.lines)


def test_systems_that_scale_nothing_are_compared_by_all_they_added() -> None:
    found = {"a": by_hand(scales=False), "b": by_hand(scales=False, slope=0)}
    _, lower = drift_panels(found, band=True)
    assert [(line.label, line.end) for line in lower.lines] == [("a", "+33.0"), ("b", "+0.0")]


def test_what_is_0_but_for_rounding_has_no_sign() -> None:
    one = replace(by_hand(slope=0), created_by_performance=np.full(12, -1e-13))
    _, lower = drift_panels({"a": one, "b": by_hand()}, band=True)
    assert lower.lines[0].end == "+0.0"


def test_moments_without_active_players_are_left_out() -> None:
    one = by_hand()
    one = replace(one, rating=np.where(np.arange(12) == 3, np.nan, one.rating))
    upper, _ = drift_panels({"a": one}, band=True)
    assert len(upper.lines[0].value) == len(upper.lines[0].spread) == 11


def test_newcomers_have_a_panel_where_the_entry_is_learned_or_the_level_held() -> None:
    assert len(drift_panels({"a": by_hand()}, band=True)) == 2
    one = by_hand(learns=True, holds=True)
    *_, newcomers = drift_panels({"a": one}, band=True)
    assert [(line.label, line.end) for line in newcomers.lines] == [
        ("entry", "1378"),
        ("first performance", "1278"),
        ("level", "1390"),
    ]
    *_, compared = drift_panels({"a": by_hand(), "b": by_hand(learns=True)}, band=True)
    assert [(line.label, line.end) for line in compared.lines] == [("a", "-122"), ("b", "-100")]
    figure = drawn({"a": one})
    boxes = [axes.get_position() for axes in figure.axes]
    assert all(upper.y0 > lower.y1 for upper, lower in itertools.pairwise(boxes))
    assert {(box.x0, box.x1) for box in boxes} == {(boxes[0].x0, boxes[0].x1)}


def test_more_systems_than_colours_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="1 to 6"):
        drawn({**MANY, "one more": by_hand()})


def test_a_system_that_rates_nothing_is_named() -> None:
    with pytest.raises(NotFoundError, match="none rates no match"):
        drawn({"none": replace(by_hand(), rated=np.zeros(12, np.int64))})
