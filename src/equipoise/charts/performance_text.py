"""The performances of a tournament in letters, for a terminal or a pipe: a player a line."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Ints
from equipoise.charts.canvas import COLOURS, UNICODE, Glyphs, Row, Span, joined, ruler
from equipoise.charts.labels import shortened
from equipoise.charts.performance_list import (
    listed,
    new_groups,
    rating_range,
    rating_text,
    score_text,
)
from equipoise.charts.scale import round_numbers
from equipoise.data.performance_series import PerformanceSeries
from equipoise.wording import counted, printable

#: Letters of a name, and of the chart between names and numbers at least.
_LETTERS, _LEAST_COLUMNS = 22, 16


class _Marks(NamedTuple):
    """Letters for the three ratings, the interval, bounds, and what goes on beyond an end."""

    ppr: str
    tpr: str
    rating: str
    interval: str
    bound: str
    less: str
    more: str


_UNICODE = _Marks(
    ppr="\N{BLACK CIRCLE}",
    tpr="\N{WHITE DIAMOND}",
    rating="\N{BOX DRAWINGS LIGHT VERTICAL}",
    interval="\N{BOX DRAWINGS LIGHT HORIZONTAL}",
    bound="\N{BOX DRAWINGS HEAVY VERTICAL}",
    less="\N{BLACK LEFT-POINTING TRIANGLE}",
    more="\N{BLACK RIGHT-POINTING TRIANGLE}",
)
_ASCII = _Marks("o", "x", "|", "-", "#", "<", ">")


def performance_rows(
    series: PerformanceSeries,
    *,
    columns: int = 80,
    interval: str = "95 %",
    glyphs: Glyphs = UNICODE,
) -> list[Row]:
    """Return the lines of a chart of a tournament's players, the best performance on top.

    Up to a hundred players have a line each, of more only the first fifty; the last line says so.

    columns : of the whole chart; interval : what the error bars are, as the legend says it
    """
    rows = listed(series)
    marks = _UNICODE if glyphs.braille else _ASCII
    names = [shortened(printable(series.names[row]), _LETTERS) for row in rows.tolist()]
    scores = [score_text(series.points[row], series.games[row]) for row in rows.tolist()]
    numbers = [_plain(rating_text(series, row), glyphs) for row in rows.tolist()]
    left, middle, right = (max(map(len, texts)) for texts in (names, scores, numbers))
    width = max(columns - left - middle - right - 4, _LEAST_COLUMNS)
    low, high = rating_range(series, rows)
    begins = new_groups(series, rows)
    lines: list[Row] = []
    for at, row in enumerate(rows.tolist()):
        if begins[at]:
            lines.append([Span(" " * (left + 1) + glyphs.rule * width, "dim")])
        bar = _bar(series, row, low, high, width, marks)
        words = [Span(f" {scores[at]:>{middle}}", "dim"), Span(f"  {numbers[at]:>{right}}", "")]
        lines.append(joined([Span(f"{names[at]:>{left}} ", ""), *bar, *words]))
    ticks = round_numbers(low, high, max(width // 10, 2))
    at_ticks = (ticks - low) / (high - low)
    axis = ruler(width, [f"{tick:.0f}" for tick in ticks], at_ticks, glyphs, left + 1)
    return [*lines, *axis, *_legend(series, rows, marks, interval, left + 1, columns)]


def _plain(text: str, glyphs: Glyphs) -> str:
    return text if glyphs.braille else text.replace("\N{PLUS-MINUS SIGN}", "+-")


def _bar(
    series: PerformanceSeries, row: int, low: float, high: float, width: int, marks: _Marks
) -> Row:
    """Return the letters between name and numbers; later marks cover earlier ones."""
    cells = [Span(" ", "")] * width

    def column(rating: float) -> int:
        return int(np.clip((rating - low) / (high - low) * width, 0, width - 1))

    def put(rating: float, letter: str, colour: str) -> None:
        if np.isfinite(rating):
            cells[column(rating)] = Span(letter, colour)

    first, last, open_below, open_above = _span(series, row)
    if np.isfinite(first):
        ends = column(first), column(last)
        for at in range(ends[0], ends[1] + 1):
            cells[at] = Span(marks.interval, COLOURS[0])
        beyond = (open_below or first < low, open_above or last > high)
        for end, goes_on, step, letter in zip(
            ends, beyond, (-1, 1), (marks.less, marks.more), strict=True
        ):
            at = int(np.clip(end + step, 0, width - 1))
            if goes_on:
                cells[at] = Span(letter, COLOURS[0])
    if np.isnan(series.ppr[row]):
        put(float(series.lower[row]), marks.bound, COLOURS[0])
        put(float(series.upper[row]), marks.bound, COLOURS[0])
    put(float(series.rating[row]), marks.rating, "dim")
    put(float(series.tpr[row]), marks.tpr, COLOURS[1])
    put(float(series.ppr[row]), marks.ppr, COLOURS[0])
    return cells


def _span(series: PerformanceSeries, row: int) -> tuple[float, float, bool, bool]:
    """Return the ends of the interval or of the bounds, NaN without, and which of them is open."""
    ppr, error = float(series.ppr[row]), float(series.error[row])
    if np.isfinite(ppr):
        return ppr - error, ppr + error, False, False
    lower, upper = float(series.lower[row]), float(series.upper[row])
    known = [one for one in (lower, upper) if np.isfinite(one)] or [np.nan]
    return known[0], known[-1], bool(np.isnan(lower)), bool(np.isnan(upper))


def _legend(
    series: PerformanceSeries, rows: Ints, marks: _Marks, interval: str, indent: int, columns: int
) -> list[Row]:
    """Return lines that explain the marks that occur, and count the players who are left out."""
    error = np.isfinite(series.error[rows]).any()
    entries = [
        (marks.ppr, f"PPR and its {interval} interval" if error else "PPR", COLOURS[0], series.ppr),
        (marks.tpr, "TPR", COLOURS[1], series.tpr),
        (marks.rating, "rating before", "dim", series.rating),
    ]
    lines: list[Row] = []
    end = columns
    for mark, name, colour, values in entries:
        if not np.isfinite(values[rows]).any():
            continue
        end += 3 + len(mark) + 1 + len(name)
        if end > columns:
            lines.append([Span(" " * indent, "")])
            end = indent + len(mark) + 1 + len(name)
        else:
            lines[-1].append(Span("   ", ""))
        lines[-1] += [Span(mark, colour), Span(f" {name}", "dim")]
    if len(rows) < series.players:
        more = f"and {counted(series.players - len(rows), 'more player')}"
        lines.append([Span(" " * indent + more, "dim")])
    return [joined(line) for line in lines]
