"""A player's ratings as they were and by a plan, in letters."""

from __future__ import annotations

import numpy as np

from equipoise.charts.canvas import COLOURS, UNICODE, Canvas, Glyphs, Row, Span, ruler, with_heights
from equipoise.charts.scale import round_numbers
from equipoise.data.incentives import Incentive

_LEAST_COLUMNS, _LEAST_ROWS = 20, 3
#: Rows of the key and of the axis.
_OVERHEAD = 3
#: Rating points: within less, every trifle would look like a change.
_LEAST_RANGE = 20.0
#: Ratings from here on are written with a power of ten.
_LARGE = 1e6


def incentive_rows(
    one: Incentive,
    *,
    columns: int = 80,
    rows: int = 24,
    coloured: bool = True,
    glyphs: Glyphs = UNICODE,
) -> list[Row]:
    """Return the lines of a chart of one player under one system.

    columns, rows : of the whole chart
    coloured : whether colours will be seen; where not, lines are drawn in capital letters
    """
    lines = np.array([[one.before, *one.honest], [one.before, *one.planned]])
    edge = max(0.05 * np.ptp(lines), (_LEAST_RANGE - np.ptp(lines)) / 2)
    low, high = lines.min() - edge, lines.max() + edge
    height = max(rows - _OVERHEAD, _LEAST_ROWS)
    ticks = round_numbers(low, high, max(height // 3, 2)) + 0.0
    names = [_points(tick) for tick in ticks.tolist()]
    indent = max(map(len, names)) + 2
    canvas = Canvas(max(columns - indent, _LEAST_COLUMNS), height)
    place = np.linspace(0.0, 1.0, lines.shape[1])
    for number in (0, 1):
        y = (lines[number] - low) / (high - low)
        if glyphs.braille and coloured:
            canvas.line(place, y, COLOURS[number])
            continue
        within = (np.arange(canvas.columns) + 0.5) / canvas.columns
        for across, up in zip(within.tolist(), np.interp(within, place, y).tolist(), strict=True):
            canvas.write(across, up, "AB"[number], COLOURS[number])
    width = indent - 2
    padded = [f"{name:>{width}}" for name in names]
    chart = with_heights(canvas.spans(), padded, (ticks - low) / (high - low), glyphs)
    played = round_numbers(0, len(one.honest), max(canvas.columns // 10, 2))
    axis = ruler(
        canvas.columns,
        [f"{at:.0f}" for at in played],
        played / len(one.honest),
        glyphs,
        indent,
    )
    return [_key(one, coloured and glyphs.braille), *chart, *axis]


def _key(one: Incentive, coloured: bool) -> Row:
    """Return what the lines are, and where they end."""
    letters = ("", "") if coloured else ("A ", "B ")
    return [
        Span(f"{letters[0]}as it was {_points(one.honest[-1])}", COLOURS[0]),
        Span("   ", ""),
        Span(f"{letters[1]}by plan {_points(one.planned[-1])}", COLOURS[1]),
    ]


def _points(value: float) -> str:
    """Return rating points; a rating may have run away."""
    return f"{value:.0f}" if abs(value) < _LARGE else f"{value:.2e}"
