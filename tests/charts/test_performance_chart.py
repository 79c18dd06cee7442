"""Performances of a tournament as a figure: which players, in which order, and where marks are."""

from __future__ import annotations

import io
import itertools
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from equipoise.analysis.performance.chart import (
    MOST_ROWS,
    SHOWN_ROWS,
    listed,
    new_groups,
    performance_figure,
    rating_range,
    rating_text,
)
from equipoise.charts import theme
from equipoise.data.tournament import PerformanceSeries


def performances(ppr: list[float], **columns: Any) -> PerformanceSeries:
    """Return players with these PPR, NaN for the rest that is not given."""
    count = len(ppr)
    found: dict[str, Any] = {
        name: np.array(columns.pop(name, [np.nan] * count), dtype=np.float64)
        for name in ("error", "tpr", "rating", "lower", "upper")
    }
    for name, value in (("points", 4.5), ("games", 9.0)):
        found[name] = np.array(columns.pop(name, [value] * count), dtype=np.float64)
    names = columns.pop("names", [f"player {number}" for number in range(count)])
    return PerformanceSeries(names=tuple(names), ppr=np.array(ppr, float), **found, **columns)


def field(count: int, seed: int = 0) -> PerformanceSeries:
    """Return players with everything, of whom the first was never beaten, the second never won."""
    rng = np.random.default_rng(seed)
    ppr = rng.normal(2700, 100, count)
    error = np.full(count, 200.0)
    lower, upper = np.full((2, count), np.nan)
    lower[0], ppr[0] = 2900, np.nan
    if count > 1:
        upper[1], ppr[1] = 2500, np.nan
    return performances(
        ppr.tolist(),
        error=error,
        tpr=ppr + 20,
        rating=np.where(rng.random(count) < 0.1, np.nan, ppr - 30),
        lower=lower,
        upper=upper,
    )


NAN = float("nan")


def test_the_list_is_by_performance_and_bounds_stand_where_they_are() -> None:
    """2700 bounded below, 2500 to 2700 by its middle, and last who has nothing; ties by TPR."""
    series = performances(
        [2650, NAN, NAN, NAN, 2610, 2610],
        lower=[NAN, 2700, 2500, NAN, NAN, NAN],
        upper=[NAN, NAN, 2700, NAN, NAN, NAN],
        tpr=[2600, NAN, 2600, 2900, 2500, 2550],
    )
    assert listed(series).tolist() == [1, 0, 5, 4, 2, 3]
    texts = [rating_text(series, row) for row in range(4)]
    assert texts == ["2650", "at least 2700", "2500 to 2700", ""]


def test_classes_come_one_after_the_other_where_performance_is_within_them() -> None:
    group = np.array([1, 0, 1, 0, 1])
    ppr = [2900.0, 2500.0, 2800.0, 2600.0, 2700.0]
    within = performances(ppr, group=group)
    rows = listed(within)
    assert rows.tolist() == [3, 1, 0, 2, 4]
    assert new_groups(within, rows).tolist() == [False, False, True, False, False]
    across = performances(ppr)
    assert listed(across).tolist() == [0, 2, 4, 3, 1]
    alone = performances(ppr, group=np.arange(5))
    for series in (across, alone):
        assert not new_groups(series, listed(series)).any()


def test_more_than_a_hundred_players_become_the_first_fifty() -> None:
    assert len(listed(field(MOST_ROWS))) == MOST_ROWS
    crowd = field(MOST_ROWS + 1)
    rows = listed(crowd)
    assert len(rows) == SHOWN_ROWS
    best = np.sort(np.where(np.isnan(crowd.ppr), crowd.lower, crowd.ppr))[::-1]
    assert np.array_equal(np.fmax(crowd.ppr, crowd.lower)[rows], best[~np.isnan(best)][:SHOWN_ROWS])


def test_the_range_has_every_rating_but_not_every_interval() -> None:
    """Ratings from 2500 to 3000 take 500: intervals add at most 375 to an end, the edge 3 %."""
    series = performances([2500, 3000], error=[5000, 100])
    low, high = rating_range(series, listed(series))
    assert (low, high) == (2500 - 375 - 37.5, 3000 + 375 + 37.5)
    series = performances([2500, 3000], error=[100, 100])
    assert rating_range(series, listed(series)) == (2400 - 21, 3100 + 21)
    wide = performances([2000, NAN], error=[NAN, NAN], lower=[NAN, 2900], tpr=[1500, NAN])
    low, high = rating_range(wide, listed(wide))
    assert low < 1500
    assert high > 2900
    low, high = rating_range(performances([NAN]), np.array([0]))
    assert low < high


def drawn(series: PerformanceSeries, **choices: Any) -> Any:
    return performance_figure(series, title="title", subtitle="subtitle", **choices)


def svg(series: PerformanceSeries, **choices: Any) -> bytes:
    file = io.BytesIO()
    theme.save(drawn(series, **choices), file, "svg")
    return file.getvalue()


@pytest.mark.parametrize(("players", "width"), [(1, 7.5), (24, 4.0), (60, 7.5)])
def test_words_are_in_the_figure_and_apart(players: int, width: float) -> None:
    figure = drawn(field(players), width=width)
    axes = figure.axes[0]
    with theme.style():
        figure.draw_without_rendering()
        names = [label.get_window_extent() for label in axes.get_yticklabels()]
        numbers = [text.get_window_extent() for text in axes.texts if text.get_text()]
        whole, inner = figure.get_window_extent(), axes.get_window_extent()
        legend = figure.legends[0].get_window_extent() if figure.legends else None
    assert len(names) == players
    for box in names:
        assert whole.x0 <= box.x0 < box.x1 <= inner.x0
    for box in numbers:
        assert inner.x1 <= box.x0 < box.x1 <= whole.x1
    assert all(not (one.overlaps(other)) for i, one in enumerate(numbers) for other in numbers[:i])
    assert all(lower.y1 <= upper.y0 + 1 for upper, lower in itertools.pairwise(names))
    assert legend is None or legend.y0 >= inner.y1 - 1


def test_every_mark_is_where_the_series_says() -> None:
    series = field(10)
    axes = drawn(series).axes[0]
    rows = listed(series)
    marks = {
        line.get_marker(): line.get_xdata()
        for line in axes.lines
        if len(line.get_xdata()) == len(rows)
    }
    np.testing.assert_array_equal(marks["o"], series.ppr[rows])
    np.testing.assert_array_equal(marks["D"], series.tpr[rows])
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        series.names[row] for row in rows
    ]


def test_bounds_are_bars_with_arrows_and_long_intervals_end_in_one() -> None:
    one = performances(
        [2600, NAN, NAN, NAN],
        error=[9000, NAN, NAN, NAN],
        lower=[NAN, 2700, NAN, 2500],
        upper=[NAN, NAN, 2500, 2700],
    )
    axes = drawn(one).axes[0]
    arrows = [line.get_marker() for line in axes.lines if line.get_marker() in "<>"]
    assert sorted(arrows) == ["<", "<", ">", ">"]
    texts = [text.get_text() for text in axes.texts]
    assert {"at least 2700", "at most 2500", "2500 to 2700"} <= set(texts)


def test_the_legend_explains_only_what_there_is() -> None:
    figure = drawn(performances([2600, 2700]))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["PPR"]
    full = drawn(field(9), interval="99 %")
    texts = [text.get_text() for text in full.legends[0].get_texts()]
    assert texts == ["PPR and its 99 % interval", "TPR", "rating before"]


@pytest.mark.parametrize(
    "series",
    [
        performances([NAN]),
        performances([2600]),
        performances([2600, 2600], error=[0, 0]),
        performances([1e6, -1e6]),
        performances([2600, 2500], names=["$\\alpha & <b> \N{SNOWMAN}" + "x" * 99, ""]),
        field(101),
    ],
    ids=["nothing known", "one", "equal", "far apart", "odd names", "crowd"],
)
def test_every_kind_of_tournament_can_be_drawn(series: PerformanceSeries) -> None:
    """The file is well-formed XML, and has no clock in it."""
    chart = svg(series)
    assert ET.fromstring(chart).tag.endswith("svg")
    assert b"dc:date" not in chart


def test_more_players_than_rows_are_mentioned() -> None:
    axes = drawn(field(130)).axes[0]
    assert len(axes.get_yticks()) == 50
    assert axes.get_xlabel() == "rating  (and 80 more players)"
