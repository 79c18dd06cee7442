"""Ratings over time in letters, for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats
from equipoise.charts.canvas import COLOURS, UNICODE, Canvas, Glyphs, Row, Span, ruler, with_heights
from equipoise.charts.labels import shortened, spread_out
from equipoise.charts.rating_series import (
    BAND,
    Along,
    RatingSeries,
    line_of,
    outside,
    positions,
    visible_range,
)
from equipoise.charts.scale import round_moments, round_numbers
from equipoise.wording import printable

#: Letters of a name beside its line.
_LETTERS = 20
_LEAST_COLUMNS, _LEAST_ROWS = 20, 5


class _Scale(NamedTuple):
    """From places and ratings to the canvas, 0 to 1 both ways."""

    first: float
    last: float
    low: float
    high: float

    def x(self, positions: Floats) -> Floats:
        span = self.last - self.first
        return (positions - self.first) / span if span else np.full(len(positions), 0.5)

    def y(self, ratings: Floats) -> Floats:
        return (ratings - self.low) / (self.high - self.low)


def rating_rows(
    series: Sequence[RatingSeries],
    *,
    along: Along = "time",
    band: bool = True,
    performances: bool = True,
    columns: int = 80,
    rows: int = 20,
    coloured: bool = True,
    glyphs: Glyphs = UNICODE,
) -> list[Row]:
    """Return the lines of a chart of some players' ratings.

    band, performances : for one player; letters are too coarse for several, which are just lines
    columns, rows : of the whole chart
    coloured : whether colours will be seen; where not, several lines are drawn in capital letters
    """
    alone = len(series) == 1
    low, high = visible_range(series, band=band and alone, performances=performances and alone)
    at = np.concatenate([one.positions() for one in series])
    scale = _Scale(float(at.min()), float(at.max()), low, high)
    height = max(rows - 2, _LEAST_ROWS)
    ticks = round_numbers(low, high, max(height // 3, 2))
    heights = [f"{tick:.0f}" for tick in ticks]
    labels = _labels(series)
    indent = max(map(len, heights)) + 2
    width = max(columns - indent - max(map(len, labels)), _LEAST_COLUMNS)
    canvas = Canvas(width, height)
    if alone and band:
        _paint_band(canvas, series[0], along, scale, glyphs)
    if alone and performances:
        _paint_performances(canvas, series[0], scale, glyphs)
    for number, one in enumerate(series):
        fine = glyphs.braille and (coloured or alone)
        _paint_line(canvas, one, number, along, scale, fine)
    drawn = _with_labels(canvas.spans(), series, labels, scale)
    axis = _horizontal_axis(along, scale, width, glyphs, indent)
    return [*with_heights(drawn, heights, scale.y(ticks), glyphs), *axis]


def _labels(series: Sequence[RatingSeries]) -> list[str]:
    """Return what stands beside each line: its letter if there are several, name and rating."""
    return [
        f" {_letter(number) + ' ' if len(series) > 1 else ''}"
        f"{shortened(printable(str(one.player)), _LETTERS)} {one.rating[-1]:.0f}"
        for number, one in enumerate(series)
    ]


def _letter(number: int) -> str:
    return chr(ord("A") + number)


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _paint_band(
    canvas: Canvas, one: RatingSeries, along: Along, scale: _Scale, glyphs: Glyphs
) -> None:
    place, rating, deviation = line_of(one, along)
    if not one.has_band:
        return
    x = scale.x(positions(place))
    middles = (np.arange(canvas.columns) + 0.5) / canvas.columns
    # A column shows the mean of what passes through it.
    fine = (np.arange(8 * canvas.columns) + 0.5) / (8 * canvas.columns)
    low, high = (
        np.interp(fine, x, scale.y(edge)).reshape(-1, 8).mean(axis=1)
        for edge in (rating - BAND * deviation, rating + BAND * deviation)
    )
    reach = 0.5 / canvas.columns
    for middle, bottom, top in zip(middles.tolist(), low.tolist(), high.tolist(), strict=True):
        if x[0] - reach <= middle <= x[-1] + reach:
            canvas.fill(middle, bottom, top, glyphs.band, "dim")


def _paint_performances(canvas: Canvas, one: RatingSeries, scale: _Scale, glyphs: Glyphs) -> None:
    below, above = outside(one.performance, scale.low, scale.high)
    seen = np.isfinite(one.performance)
    x, y = scale.x(one.positions()), scale.y(one.performance)
    for beyond, glyph, at in ((below, glyphs.below, 0.0), (above, glyphs.above, 1.0)):
        for across in x[beyond].tolist():
            canvas.write(across, at, glyph, _colour(0))
    inside = seen & ~below & ~above
    for across, up in zip(x[inside].tolist(), y[inside].tolist(), strict=True):
        canvas.write(across, up, glyphs.dot, _colour(0))


def _paint_line(
    canvas: Canvas, one: RatingSeries, number: int, along: Along, scale: _Scale, fine: bool
) -> None:
    """Draw a line, fine in braille, else in the player's letter, one a column."""
    place, rating, _ = line_of(one, along)
    x, y = scale.x(positions(place)), scale.y(rating)
    if fine:
        canvas.line(x, y, _colour(number))
        return
    middles = (np.arange(canvas.columns) + 0.5) / canvas.columns
    reach = 0.5 / canvas.columns
    within = middles[(middles >= x[0] - reach) & (middles <= x[-1] + reach)]
    for across, up in zip(within.tolist(), np.interp(within, x, y).tolist(), strict=True):
        canvas.write(across, up, _letter(number), _colour(number))


def _with_labels(
    rows: list[Row], series: Sequence[RatingSeries], labels: Sequence[str], scale: _Scale
) -> list[Row]:
    """Write each label in a row of its own, near the end of its line."""
    count = len(rows)
    ends = scale.y(np.array([one.rating[-1] for one in series])) * count
    places = spread_out(ends, 1.0, 0.5, count - 0.5)
    # More labels than rows: those that share a row go into the next free one, or are left out.
    free = dict.fromkeys(range(count))
    for number in np.argsort(-places, kind="stable").tolist():
        wanted = count - 1 - int(np.clip(places[number], 0, count - 1))
        row = min(free, key=lambda one: (abs(one - wanted), one), default=None)
        if row is not None:
            del free[row]
            rows[row] = [*rows[row], Span(labels[number], _colour(number))]
    return rows


def _horizontal_axis(
    along: Along, scale: _Scale, width: int, glyphs: Glyphs, indent: int
) -> list[Row]:
    if along == "time":
        at, names = round_moments(int(scale.first), int(scale.last), width)
        return ruler(width, names, scale.x(at.astype(np.float64)), glyphs, indent)
    at = round_numbers(scale.first, scale.last, max(width // 10, 2))
    whole = at[at == np.floor(at)]
    what = "matches played" if along == "played" else "match"
    rule, names_row = ruler(width, [f"{one:.0f}" for one in whole], scale.x(whole), glyphs, indent)
    return [rule, names_row, [Span(" " * indent + what.center(width).rstrip(), "dim")]]
