"""Drift through a history in letters, for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats
from equipoise.charts.canvas import COLOURS, UNICODE, Canvas, Glyphs, Row, Span, ruler, with_heights
from equipoise.charts.drift_panels import Line, Panel, drift_panels
from equipoise.charts.labels import shortened, spread_out
from equipoise.charts.scale import round_moments, round_numbers
from equipoise.data.drift import Drift
from equipoise.wording import printable

_LETTERS = 20
_LEAST_COLUMNS, _LEAST_ROWS = 20, 3
#: Rows of headings and of the axis.
_OVERHEAD = 4


class _Frame(NamedTuple):
    """Where both panels begin and end: places, columns to the left, columns of the canvas."""

    first: float
    last: float
    indent: int
    width: int

    def x(self, positions: Floats) -> Floats:
        span = self.last - self.first
        return (positions - self.first) / span if span else np.full(len(positions), 0.5)


def drift_rows(
    found: Mapping[str, Drift],
    *,
    columns: int = 80,
    rows: int = 24,
    coloured: bool = True,
    glyphs: Glyphs = UNICODE,
) -> list[Row]:
    """Return the lines of a chart of one system's drift, or of several by label.

    Letters are too coarse for a band, which would flatten the line that matters.
    columns, rows : of the whole chart
    coloured : whether colours will be seen; where not, several lines are drawn in capital letters
    """
    panels = drift_panels(found, band=False)
    upper = max(round(0.58 * (rows - _OVERHEAD)), _LEAST_ROWS)
    heights = (upper, max(rows - _OVERHEAD - upper, _LEAST_ROWS))
    frame = _frame(panels, heights, columns)
    drawn: list[Row] = []
    for panel, height in zip(panels, heights, strict=True):
        drawn.append([Span(panel.heading[:columns], "dim")])
        drawn += _panel_rows(panel, height, frame, coloured, glyphs)
    return [*drawn, *_axis(panels[0].lines[0], frame, glyphs)]


def _ticks(panel: Panel, height: int) -> tuple[Floats, list[str]]:
    # A tick at -0.0 would be written as -0.
    ticks = round_numbers(*panel.visible(), max(height // 3, 2)) + 0.0
    return ticks, [f"{tick:.0f}" for tick in ticks]


def _frame(panels: tuple[Panel, Panel], heights: tuple[int, int], columns: int) -> _Frame:
    at = np.concatenate([line.positions() for line in panels[0].lines])
    ticks = [_ticks(panel, height)[1] for panel, height in zip(panels, heights, strict=True)]
    indent = max(len(name) for some in ticks for name in some) + 2
    beside = max(len(label) for panel in panels for label in _labels(panel))
    width = max(columns - indent - beside, _LEAST_COLUMNS)
    return _Frame(float(at.min()), float(at.max()), indent, width)


def _labels(panel: Panel) -> list[str]:
    """Return what stands beside each line: its letter if there are several, and its label."""
    several = len(panel.lines) > 1
    names = [shortened(printable(line.label), _LETTERS) for line in panel.lines]
    return [
        f" {_letter(line) + ' ' if several else ''}{name} {line.end}"
        for name, line in zip(names, panel.lines, strict=True)
    ]


def _letter(line: Line) -> str:
    return chr(ord("A") + line.number)


def _colour(line: Line) -> str:
    return COLOURS[line.number % len(COLOURS)]


def _panel_rows(
    panel: Panel, height: int, frame: _Frame, coloured: bool, glyphs: Glyphs
) -> list[Row]:
    low, high = panel.visible()
    canvas = Canvas(frame.width, height)
    fine = glyphs.braille and (coloured or len(panel.lines) == 1)
    for line in panel.lines:
        x, y = frame.x(line.positions()), (line.value - low) / (high - low)
        if fine:
            canvas.line(x, y, _colour(line))
            continue
        reach = 0.5 / canvas.columns
        middles = (np.arange(canvas.columns) + 0.5) / canvas.columns
        within = middles[(middles >= x[0] - reach) & (middles <= x[-1] + reach)]
        for across, up in zip(within.tolist(), np.interp(within, x, y).tolist(), strict=True):
            canvas.write(across, up, _letter(line), _colour(line))
    ends = np.array([(line.value[-1] - low) / (high - low) for line in panel.lines])
    drawn = _with_labels(canvas.spans(), panel, ends * height)
    ticks, names = _ticks(panel, height)
    width = frame.indent - 2
    padded = [f"{name:>{width}}" for name in names]
    return with_heights(drawn, padded, (ticks - low) / (high - low), glyphs)


def _with_labels(rows: list[Row], panel: Panel, ends: Floats) -> list[Row]:
    """Write each label in a row of its own, near the end of its line, as long as there are rows."""
    count = len(rows)
    places = count - 1 - spread_out(ends, 1.0, 0.5, count - 0.5).clip(0, count - 1)
    labels, free = _labels(panel), dict.fromkeys(range(count))
    for number in np.argsort(places, kind="stable").tolist():
        wanted = round(float(places[number]))
        row = min(free, key=lambda one: (abs(one - wanted), one), default=None)
        if row is not None:
            del free[row]
            rows[row] = [*rows[row], Span(labels[number], _colour(panel.lines[number]))]
    return rows


def _axis(line: Line, frame: _Frame, glyphs: Glyphs) -> list[Row]:
    if line.place.dtype.kind == "M":
        at, names = round_moments(int(frame.first), int(frame.last), frame.width)
        return ruler(frame.width, names, frame.x(at.astype(np.float64)), glyphs, frame.indent)
    at = round_numbers(frame.first, frame.last, max(frame.width // 10, 2))
    whole = at[at == np.floor(at)]
    texts = [f"{one:.0f}" for one in whole]
    return ruler(frame.width, texts, frame.x(whole), glyphs, frame.indent)
