"""Values with their intervals as a drawing: dots with whiskers, and a line to compare with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from equipoise.charts import svg
from equipoise.charts.scale import Scale, around

#: Heights in pixels: of a row, of the words above all rows, of the axis below.
_ROW, _HEAD, _AXIS = 38.0, 20.0, 26.0
#: From the top of a row to the base line of its words, and to its whisker; lines across reach from
#: it so far either way, and so leave the words alone.
_WORDS, _WHISKER, _REACH = 13.0, 26.0, 8.0
_MARGIN = 8.0
_TICKS = 5


class Whisker(NamedTuple):
    """A value with its interval.

    label, told : what stands above it, at the left and at the right
    value, lower, upper : NaN where nothing is known
    number : of its colour
    open : drawn as a ring instead of a dot
    """

    label: str
    told: str
    value: float
    lower: float
    upper: float
    number: int
    open: bool = False


class Reference(NamedTuple):
    """A value that all others are compared with, and what it is."""

    label: str
    value: float


def interval_chart(
    name: str,
    rows: Sequence[Whisker],
    reference: Reference | None = None,
    *,
    title: str,
    description: str,
) -> Markup:
    """Return the drawing of values and intervals, one below the other.

    name : unique on the page
    reference : a dashed line; where it is far off, an arrow towards it
    """
    head = _HEAD if reference is not None else 4.0
    tops = [head + _ROW * number for number in range(len(rows))]
    bottom = head + _ROW * len(rows)
    seen = [value for row in rows for value in (row.value, row.lower, row.upper)]
    beside = [] if reference is None else [reference.value]
    scale = around(seen, _MARGIN, svg.WIDTH - _MARGIN, beside)
    return svg.drawing(
        name,
        (svg.WIDTH, bottom + _AXIS),
        title,
        description,
        _axis(scale, tops, bottom),
        None if reference is None else _reference(scale, reference, tops),
        [_row(scale, row, top) for row, top in zip(rows, tops, strict=True)],
    )


def _across(x: float, tops: Sequence[float], class_: str) -> list[Markup]:
    """Return a line at x across the whisker of every row."""
    middles = [top + _WHISKER for top in tops]
    return [svg.line(x, middle - _REACH, x, middle + _REACH, class_) for middle in middles]


def _axis(scale: Scale, tops: Sequence[float], bottom: float) -> list[Markup]:
    marks = []
    for value, text in scale.ticks(_TICKS):
        x = scale.at(value)
        marks += _across(x, tops, "grid")
        marks.append(svg.words(x, bottom + svg.LINE, text, "axis", _anchor(scale, x)))
    return [*marks, svg.line(scale.start, bottom, scale.stop, bottom, "rule")]


def _anchor(scale: Scale, x: float, reach: float = 20.0) -> str:
    """Return how text at x is aligned so that it stays within the drawing."""
    if x - scale.start < reach:
        return "start"
    return "end" if scale.stop - x < reach else "middle"


def _reference(scale: Scale, reference: Reference, tops: Sequence[float]) -> list[Markup]:
    """Return the line at the value and its label, or only that, with an arrow towards it."""
    if not math.isfinite(reference.value):
        return []
    y, label = _HEAD - 8, reference.label
    if reference.value < scale.low:
        return [svg.words(scale.start, y, f"\N{LEFTWARDS ARROW} {label}", "axis")]
    if reference.value > scale.high:
        return [svg.words(scale.stop, y, f"{label} \N{RIGHTWARDS ARROW}", "axis", "end")]
    x = scale.at(reference.value)
    short = svg.fitted(label, scale.stop - scale.start)
    anchor = _anchor(scale, x, svg.width_of(short) / 2)
    return [
        svg.line(x, _HEAD - 5, x, _HEAD, "reference"),
        *_across(x, tops, "reference"),
        svg.words(x, y, short, "axis", anchor, whole=label),
    ]


def _row(scale: Scale, row: Whisker, top: float) -> Markup:
    """Return the words of a row, and under them its whisker and dot."""
    free = svg.WIDTH - 2 * _MARGIN - svg.width_of(row.told) - svg.TEXT
    label = svg.fitted(row.label, max(free, 8 * svg.TEXT), bold=True)
    y = top + _WORDS
    marks = [
        svg.words(scale.start, y, label, "over bold", whole=row.label),
        svg.words(scale.stop, y, row.told, "over", "end"),
    ]
    if math.isfinite(row.lower) and math.isfinite(row.upper):
        low, high = scale.at(row.lower), scale.at(row.upper)
        marks.append(svg.line(low, top + _WHISKER, high, top + _WHISKER, "whisker"))
    if math.isfinite(row.value):
        kind = "ring" if row.open else "dot"
        marks.append(svg.dot(scale.at(row.value), top + _WHISKER, kind, size=5.0))
    return svg.coloured(row.number, marks)
