"""The figures of a backtest: calibration, and values with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equipoise.charts import theme
from equipoise.charts.theme import around, shortened
from equipoise.data.backtest import Calibration
from equipoise.errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: With more lines than this, the lines of a chart cannot be distinguished.
MOST_SYSTEMS = len(theme.PALETTE)
#: Shapes of the marks, which can be distinguished without colours.
MARKS = ("o", "s", "^", "D", "v", "P")
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_LETTERS = 20
#: Points from the edge of the axes to the labels.
_LEAD = 12.0
#: Area of the largest mark, in square points, and of the smallest.
_LARGEST, _SMALLEST = 120.0, 8.0

SIZE = theme.Size(7.5, 6.0)


def calibration_figure(
    calibrations: Mapping[str, Calibration], *, title: str, subtitle: str, size: theme.Size = SIZE
) -> Figure:
    """Return the figure of the calibration of systems by label.

    A mark is as large as the share of the participations in its bin.
    Raises : InvalidParameterError   more systems than can be distinguished
    """
    require(
        1 <= len(calibrations) <= MOST_SYSTEMS, "systems", f"1 to {MOST_SYSTEMS}", len(calibrations)
    )
    with theme.style():
        figure, axes = theme.new_figure(title, subtitle, size)
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xticks(_TICKS)
        axes.set_yticks(_TICKS)
        axes.set_xlabel("expected score")
        axes.set_ylabel("observed score")
        axes.plot([0, 1], [0, 1], color=theme.MUTED, lw=1.2, ls=(0, (4, 3)), zorder=1)
        for number, calibration in enumerate(calibrations.values()):
            _draw(axes, calibration, number)
        _label(figure, axes, calibrations)
    return figure


def _draw(axes: Axes, calibration: Calibration, number: int) -> None:
    """Draw one system: a line through its bins, and a mark for each."""
    filled = calibration.participations > 0
    colour = theme.PALETTE[number]
    x, y = calibration.expected[filled], calibration.observed[filled]
    share = calibration.participations[filled] / calibration.participations.sum()
    axes.plot(x, y, color=colour, lw=1.8, zorder=3)
    areas = np.maximum(_LARGEST * share / share.max(), _SMALLEST)
    axes.scatter(
        x, y, s=areas, marker=MARKS[number], color=colour, zorder=4, linewidths=0.8,
        edgecolors=theme.PAGE,
    )  # fmt: skip


def _label(figure: Figure, axes: Axes, calibrations: Mapping[str, Calibration]) -> None:
    """Write each label beside the end of its line, without overlap."""
    texts = [
        theme.line_label(axes, f"{shortened(label, _LETTERS)}  {calibration.error:.3f}", number)
        for number, (label, calibration) in enumerate(calibrations.items())
    ]
    theme.fit_axes(figure, axes, right=_LEAD + max(map(theme.text_width, texts)))
    ends = [
        float(calibration.observed[calibration.participations > 0][-1])
        for calibration in calibrations.values()
    ]
    theme.place_labels(axes, texts, ends, _LEAD)


#: Inches: the width of a figure of intervals, its axis, and a row.
_WIDTH, _AROUND, _ROW = 4.4, 0.65, 0.34
#: Letters of a name.
_ROW_LETTERS = 18


class Estimate(NamedTuple):
    """A value with its interval.

    text : the value, written at the right
    value, lower, upper : NaN if unknown
    number : of the system, which decides its colour
    open : draw a ring instead of a dot
    """

    label: str
    text: str
    value: float
    lower: float
    upper: float
    number: int
    open: bool = False


def intervals_figure(rows: Sequence[Estimate]) -> Figure:
    """Return the figure of values and intervals, one below the other.

    A dashed line is at 0, unless it is far away.
    """
    seen = [value for row in rows for value in (row.value, row.lower, row.upper)]
    scale = around(seen, 0.0, 1.0, [0.0])
    with theme.style():
        size = theme.Size(_WIDTH, _AROUND + _ROW * len(rows))
        figure, axes = theme.new_figure("", "", size)
        axes.set_xlim(scale.low, scale.high)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        axes.ticklabel_format(axis="x", useOffset=False)
        axes.locator_params(axis="x", nbins=4)
        if scale.holds(0.0):
            axes.axvline(0.0, color=theme.MUTED, lw=1.2, ls=(0, (4, 3)), zorder=1)
        for place, row in enumerate(rows):
            look = _look(row.number)
            axes.plot([row.lower, row.upper], [place] * 2, color=look["color"], lw=2.5)
            face = theme.PAGE if row.open else look["color"]
            axes.plot(row.value, place, **{**look, "mfc": face, "mec": look["color"]}, ls="none")
        axes.set_yticks(range(len(rows)), [shortened(row.label, _ROW_LETTERS) for row in rows])
        beside = [
            axes.annotate(row.text, (1.0, place), (8, 0), ("axes fraction", "data"),
                          textcoords="offset points", va="center")
            for place, row in enumerate(rows)
        ]  # fmt: skip
        theme.fit_axes(figure, axes, right=8 + max(map(theme.text_width, beside)))
    return figure


def _look(number: int) -> dict[str, Any]:
    """Return the dots of a system; after the last colour, other shapes get the colours again."""
    colours = len(theme.PALETTE)
    return {
        "marker": MARKS[(number + number // colours) % len(MARKS)],
        "color": theme.PALETTE[number % colours],
        "ms": 7.0,
    }
