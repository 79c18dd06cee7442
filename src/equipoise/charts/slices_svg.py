"""A metric along parts of what was scored as a drawing: a line a system, from part to part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from equipoise.arrays import Floats
from equipoise.charts import svg, theme
from equipoise.charts.markup import element
from equipoise.charts.scale import Scale, around

#: Pixels.
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 348.0, 20.0, 190.0
_TICKS = 6


class Course(NamedTuple):
    """A system's values.

    number : of its colour; None is what is reached without ratings, a dashed line
    values : shape (parts,); NaN where nothing is scored
    """

    label: str
    number: int | None
    values: Floats


def slices_chart(
    name: str,
    parts: Sequence[tuple[str, str]],
    courses: Sequence[Course],
    *,
    digits: int,
    title: str,
    description: str,
) -> Markup:
    """Return the drawing of a metric along at least two parts.

    name : unique on the page
    parts : their names, and what stands below them
    digits : of values, where the pointer rests
    """
    systems = [one for one in courses if one.number is not None]
    others = [one for one in courses if one.number is None]
    shown = [value for one in systems for value in one.values.tolist()]
    beside = [value for one in others for value in one.values.tolist()]
    y = around(shown, _BOTTOM, _TOP, beside)
    across = Scale(-0.4, len(parts) - 0.6, _LEFT, _RIGHT)
    return svg.drawing(
        name,
        (svg.WIDTH, _BOTTOM + 42),
        title,
        description,
        _axes(parts, across, y),
        *(_reference(one, across, y) for one in others),
        [_course(one, one.number, across, y, digits) for one in systems if one.number is not None],
    )


def legend_mark(number: int | None) -> Markup:
    """Return the line and the dot of a system as they are drawn, for a list of names."""
    if number is None:
        marks = [svg.line(0, 6, 28, 6, "reference dashed")]
    else:
        dot = svg.dot(14, 6, "dot", shape=svg.shape_of(number), size=4.5)
        marks = [svg.line(0, 6, 28, 6, _line(number)), dot]
    look = None if number is None else svg.look(number)
    return element("svg", *marks, viewBox="0 0 28 12", class_=look, aria_hidden="true")


def _line(number: int) -> str:
    """Return the class of a line; after the last colour they begin again, dashed."""
    return "curve" if number < len(theme.PALETTE) else "curve again"


def _axes(parts: Sequence[tuple[str, str]], across: Scale, y: Scale) -> list[Markup]:
    marks = []
    for value, text in y.ticks(_TICKS):
        up = y.at(value)
        marks.append(svg.line(across.start, up, across.stop, up, "grid"))
        marks.append(svg.words(across.start - 6, up + 4, text, "axis", "end"))
    for number, (part, below) in enumerate(parts):
        x = across.at(number)
        marks.append(svg.words(x, y.start + svg.LINE, part, "", "middle"))
        marks.append(svg.words(x, y.start + 2 * svg.LINE, below, "axis", "middle"))
    return [*marks, svg.line(across.start, y.start, across.stop, y.start, "rule")]


def _points(values: Floats, across: Scale, y: Scale) -> list[list[tuple[float, float]]]:
    """Return the places of values, in runs between those that are not known."""
    runs: list[list[tuple[float, float]]] = [[]]
    for number, value in enumerate(values.tolist()):
        if math.isnan(value):
            runs.append([])
        else:
            runs[-1].append((across.at(number), y.at(value)))
    return [run for run in runs if run]


def _course(one: Course, number: int, across: Scale, y: Scale, digits: int) -> Markup:
    """Return the line of a system, with a dot at each part."""
    known = [value for value in one.values.tolist() if not math.isnan(value)]
    runs = _points(one.values, across, y)
    dots = [
        svg.told(
            svg.dot(*point, "dot", shape=svg.shape_of(number), size=4.5),
            f"{one.label}: {value:.{digits}f}",
        )
        for point, value in zip((point for run in runs for point in run), known, strict=True)
    ]
    tracks = [svg.track(run, _line(number)) for run in runs if len(run) > 1]
    return svg.coloured(number, [*tracks, *dots])


def _reference(one: Course, across: Scale, y: Scale) -> list[Markup]:
    """Return the line of what all are compared with, or words at the edge towards it."""
    known = [value for value in one.values.tolist() if not math.isnan(value)]
    if not known:
        return []
    if all(map(y.holds, known)):
        return [svg.track(run, "reference") for run in _points(one.values, across, y)]
    below = sum(known) / len(known) < (y.low + y.high) / 2
    arrow = "\N{DOWNWARDS ARROW}" if below else "\N{UPWARDS ARROW}"
    at = y.start - 6 if below else y.stop - 6
    return [svg.words(across.stop, at, f"{one.label} {arrow}", "axis over", "end")]
