"""The performances of a tournament as a figure."""

from __future__ import annotations

import io
import itertools
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from charts.performances_by_hand import field, performances
from equipoise.analysis.performance.chart import listed, performance_figure
from equipoise.charts import theme
from equipoise.data.tournament import PerformanceSeries

NAN = float("nan")


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
