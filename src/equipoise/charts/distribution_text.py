"""The ratings of a pool as a histogram in letters, for a terminal or a pipe."""

from __future__ import annotations

import numpy as np

from equipoise.charts.canvas import COLOURS, UNICODE, Canvas, Glyphs, Row, Span, ruler, with_heights
from equipoise.charts.distribution import Distribution, share_above
from equipoise.charts.labels import shortened
from equipoise.charts.scale import round_numbers
from equipoise.wording import printable

_LETTERS = 20
_LEAST_COLUMNS, _LEAST_ROWS, _MOST_ROWS = 20, 5, 14


def distribution_rows(
    found: Distribution, *, columns: int = 80, rows: int = 20, glyphs: Glyphs = UNICODE
) -> list[Row]:
    """Return the lines of a histogram, and below it a table of what a figure marks.

    columns, rows : of the chart, whose height is bounded; the table comes on top
    """
    height = min(max(rows - 2, _LEAST_ROWS), _MOST_ROWS)
    most = int(found.counts.max())
    ticks = round_numbers(0, most, max(height // 3, 2))
    heights = [f"{tick:,.0f}" for tick in ticks]
    indent = max(map(len, heights)) + 2
    width = max(columns - indent, _LEAST_COLUMNS)
    canvas = Canvas(width, height)
    _paint_bars(canvas, found, glyphs)
    low, high = float(found.edges[0]), float(found.edges[-1])
    names = round_numbers(low, high, max(width // 10, 2))
    at = (names - low) / (high - low)
    return [
        *with_heights(canvas.spans(), heights, ticks / most, glyphs),
        *ruler(width, [f"{one:.0f}" for one in names], at, glyphs, indent),
        [],
        *_table(found),
    ]


def _paint_bars(canvas: Canvas, found: Distribution, glyphs: Glyphs) -> None:
    """Fill each column up to the count of the bar that its middle lies in, in eighths of a cell."""
    middles = (np.arange(canvas.columns) + 0.5) / canvas.columns
    bar = np.minimum((middles * len(found.counts)).astype(np.int64), len(found.counts) - 1)
    heights = found.counts[bar] / found.counts.max() * canvas.rows
    parts = len(glyphs.bars) - 1
    for middle, up in zip(middles.tolist(), heights.tolist(), strict=True):
        full = int(up)
        canvas.fill(middle, 0.0, full / canvas.rows, glyphs.bars[-1], COLOURS[0])
        # One player among thousands is still to be seen.
        part = max(int((up - full) * parts), int(0 < up < 1))
        if part:
            canvas.write(middle, (full + 0.5) / canvas.rows, glyphs.bars[part], COLOURS[0])


def _table(found: Distribution) -> list[Row]:
    """Return lines that name mean, median and percentiles, then one a player."""
    marks = {f"{percent} %": at for percent, at in {**found.percentiles, 50: found.median}.items()}
    marks["median"] = marks.pop("50 %")
    words = [f"{name} {at:.0f}" for name, at in sorted(marks.items(), key=lambda mark: mark[1])]
    lines = [[Span(f"mean {found.mean:.0f}   " + "   ".join(words), "")]]
    for number, place in enumerate(found.places):
        name = shortened(printable(str(place.player)), _LETTERS)
        text = f"{name} {place.rating:.0f}, {share_above(place.above)}"
        lines.append([Span(text, COLOURS[number % len(COLOURS)])])
    return lines
