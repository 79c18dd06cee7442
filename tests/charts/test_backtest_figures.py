"""Figures of the page on a backtest: where values stand, and what noise may explain."""

from __future__ import annotations

import math

import numpy as np

from equipoise.analysis.backtest.presentation import Estimate, intervals_figure
from equipoise.charts import theme

NAN = math.nan


def row(value: float, lower: float = NAN, upper: float = NAN, label: str = "a") -> Estimate:
    return Estimate(label, f"{value:g}", value, lower, upper, 0)


def lines(figure: object) -> list[tuple[list[float], list[float], str]]:
    """Return x, y and marker of every line."""
    (axes,) = figure.axes  # type: ignore[attr-defined]
    return [
        (np.asarray(one.get_xdata()).tolist(), np.asarray(one.get_ydata()).tolist(),
         one.get_marker())
        for one in axes.lines
    ]  # fmt: skip


def test_dots_and_whiskers_stand_where_their_values_are() -> None:
    figure = intervals_figure([row(2.0, 1.0, 5.0), row(3.0, label="W" * 80)])
    _, whisker, dot, _, other = lines(figure)
    assert (whisker, dot) == (([1.0, 5.0], [0, 0], "None"), ([2.0], [0], "o"))
    assert other == ([3.0], [1], "o")
    (axes,) = figure.axes
    assert [one.get_text() for one in axes.texts] == ["2", "3"]
    long = axes.get_yticklabels()[1].get_text()
    assert long.endswith("\N{HORIZONTAL ELLIPSIS}")


def test_a_ring_is_what_noise_may_explain() -> None:
    figure = intervals_figure([row(1.0)._replace(open=True), row(2.0)])
    dots = [one for one in figure.axes[0].lines if one.get_marker() != "None"]
    assert [one.get_markerfacecolor() for one in dots] == [theme.PAGE, theme.PALETTE[0]]


def test_no_difference_is_a_line_unless_it_would_squash_the_others() -> None:
    rows = (row(2.0, 1.0, 3.0), row(4.0, 3.0, 5.0))
    assert lines(intervals_figure(rows))[0][0] == [0.0, 0.0]
    figure = intervals_figure([one._replace(value=80.0, lower=79.0, upper=81.0) for one in rows])
    assert 0.0 not in figure.axes[0].lines[0].get_xdata()
    low, high = figure.axes[0].get_xlim()
    assert not low <= 0.0 <= high


def test_systems_differ_in_colour_or_in_shape() -> None:
    """Colours begin again after the last, with other shapes."""
    rows = [row(1.0)._replace(number=number) for number in range(36)]
    dots = [one for one in intervals_figure(rows).axes[0].lines if one.get_marker() != "None"]
    assert len({(one.get_color(), one.get_marker()) for one in dots}) == 36
