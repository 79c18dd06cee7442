"""The SVG charts of the backtest page: calibration, values with intervals, metrics by slice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from equipoise.arrays import Floats
from equipoise.charts import svg, theme
from equipoise.charts.axes import Scale, around
from equipoise.data.backtest import Calibration
from equipoise.markup import decimals, element
from equipoise.wording import counted

#: Pixels: size of the square, and height of the bars below it.
_LEFT, _TOP, _SIDE, _BARS = 46.0, 8.0, 292.0, 36.0
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_PERCENT = "\N{NO-BREAK SPACE}%"


def calibration_chart(
    name: str, found: Calibration, number: int, *, title: str, description: str
) -> Markup:
    """Return the calibration chart of one system.

    name : unique on the page; number : of the system's colour
    """
    x = Scale(0.0, 1.0, _LEFT, _LEFT + _SIDE)
    y = Scale(0.0, 1.0, _TOP + _SIDE, _TOP)
    bottom = y.start + _BARS + 10
    middle = _LEFT + _SIDE / 2
    return svg.drawing(
        name,
        (svg.WIDTH, bottom + 38),
        title,
        description,
        _grid(x, y, bottom),
        svg.line(x.start, y.start, x.stop, y.stop, "reference dashed"),
        _bars(found, x, bottom),
        svg.coloured(number, _curve(found, x, y)),
        svg.words(x.start + 8, y.stop + 14, "observed", "axis over"),
        svg.words(middle, bottom + 33, "expected score", "axis", "middle"),
    )


def _grid(x: Scale, y: Scale, bottom: float) -> list[Markup]:
    marks = []
    for value in _TICKS:
        across, up, text = x.at(value), y.at(value), f"{100 * value:g}{_PERCENT}"
        marks += [
            svg.line(across, y.start, across, y.stop, "grid"),
            svg.line(x.start, up, x.stop, up, "grid"),
            svg.words(across, bottom + svg.LINE, text, "axis", "middle"),
            svg.words(x.start - 6, up + 4, text, "axis", "end"),
        ]
    return [*marks, svg.line(x.start, bottom, x.stop, bottom, "rule")]


def _bars(found: Calibration, x: Scale, bottom: float) -> list[Markup]:
    """Return a bar for each bin, with a height proportional to its participations."""
    counts = found.participations.tolist()
    most, wide = max(counts), (x.stop - x.start) / len(counts)
    return [
        svg.bar(x.start + wide * number + 1, bottom, wide - 2, _BARS * count / most)
        for number, count in enumerate(counts)
        if count > 0
    ]


def _curve(found: Calibration, x: Scale, y: Scale) -> list[Markup]:
    """Return a dot for every bin with participations, and a line through the dots."""
    filled = found.participations > 0
    rows = list(
        zip(
            found.expected[filled].tolist(),
            found.observed[filled].tolist(),
            found.participations[filled].tolist(),
            strict=True,
        )
    )
    points = [(x.at(expected), y.at(observed)) for expected, observed, _ in rows]
    dots = [
        svg.with_tooltip(svg.dot(*point, "dot", size=4.5), _tooltip(*row))
        for point, row in zip(points, rows, strict=True)
    ]
    return [svg.track(points, "curve"), *dots]


def _tooltip(expected: float, observed: float, count: float) -> str:
    return (
        f"expected {decimals(100 * expected, 1)} %, observed {decimals(100 * observed, 1)} %, "
        f"{counted(round(count), 'participation')}"
    )


#: Heights in pixels: of a row, of the text above all rows, of the axis below.
_ROW, _HEAD, _AXIS = 38.0, 20.0, 26.0
#: Pixels from the top of a row to the baseline of its text, and to its whisker; then half the
#: height of the vertical lines, which do not touch the text.
_WORDS, _WHISKER, _REACH = 13.0, 26.0, 8.0
_MARGIN = 8.0
_INTERVAL_TICKS = 5


class Whisker(NamedTuple):
    """A value with its interval.

    label, text : text above it, at the left and at the right
    value, lower, upper : NaN if unknown
    number : of its colour
    open : draw a ring instead of a dot
    """

    label: str
    text: str
    value: float
    lower: float
    upper: float
    number: int
    open: bool = False


class Reference(NamedTuple):
    """A value with which all others are compared, and its name."""

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
    """Return a chart of values and intervals, one below the other.

    name : unique on the page
    reference : shown as a dashed line, or as an arrow if it is far away
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
    """Return a vertical line at x across the whisker of every row."""
    middles = [top + _WHISKER for top in tops]
    return [svg.line(x, middle - _REACH, x, middle + _REACH, class_) for middle in middles]


def _axis(scale: Scale, tops: Sequence[float], bottom: float) -> list[Markup]:
    marks = []
    for value, text in scale.ticks(_INTERVAL_TICKS):
        x = scale.at(value)
        marks += _across(x, tops, "grid")
        marks.append(svg.words(x, bottom + svg.LINE, text, "axis", _anchor(scale, x)))
    return [*marks, svg.line(scale.start, bottom, scale.stop, bottom, "rule")]


def _anchor(scale: Scale, x: float, reach: float = 20.0) -> str:
    """Return the alignment that keeps text at x within the chart."""
    if x - scale.start < reach:
        return "start"
    return "end" if scale.stop - x < reach else "middle"


def _reference(scale: Scale, reference: Reference, tops: Sequence[float]) -> list[Markup]:
    """Return the line at the value with its label, or only the label with an arrow."""
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
    """Return the text of a row, with its whisker and dot below."""
    free = svg.WIDTH - 2 * _MARGIN - svg.width_of(row.text) - svg.TEXT
    label = svg.fitted(row.label, max(free, 8 * svg.TEXT), bold=True)
    y = top + _WORDS
    marks = [
        svg.words(scale.start, y, label, "over bold", whole=row.label),
        svg.words(scale.stop, y, row.text, "over", "end"),
    ]
    if math.isfinite(row.lower) and math.isfinite(row.upper):
        low, high = scale.at(row.lower), scale.at(row.upper)
        marks.append(svg.line(low, top + _WHISKER, high, top + _WHISKER, "whisker"))
    if math.isfinite(row.value):
        kind = "ring" if row.open else "dot"
        marks.append(svg.dot(scale.at(row.value), top + _WHISKER, kind, size=5.0))
    return svg.coloured(row.number, marks)


#: Pixels.
_SLICES_LEFT, _RIGHT, _SLICES_TOP, _BOTTOM = 52.0, 348.0, 20.0, 190.0
_SLICES_TICKS = 6


class Course(NamedTuple):
    """A system's values.

    number : of its colour; None is the baseline, drawn as a dashed line
    values : shape (parts,); NaN if nothing was scored
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
    """Return a chart of a metric along two or more parts.

    name : unique on the page
    parts : their names, and the text below these
    digits : decimals of the values in tooltips
    """
    systems = [one for one in courses if one.number is not None]
    others = [one for one in courses if one.number is None]
    shown = [value for one in systems for value in one.values.tolist()]
    beside = [value for one in others for value in one.values.tolist()]
    y = around(shown, _BOTTOM, _SLICES_TOP, beside)
    across = Scale(-0.4, len(parts) - 0.6, _SLICES_LEFT, _RIGHT)
    return svg.drawing(
        name,
        (svg.WIDTH, _BOTTOM + 42),
        title,
        description,
        _axes(parts, across, y),
        *(_slices_reference(one, across, y) for one in others),
        [_course(one, one.number, across, y, digits) for one in systems if one.number is not None],
    )


def legend_mark(number: int | None) -> Markup:
    """Return the line and dot of a system, for a legend."""
    if number is None:
        marks = [svg.line(0, 6, 28, 6, "reference dashed")]
    else:
        dot = svg.dot(14, 6, "dot", shape=svg.shape_of(number), size=4.5)
        marks = [svg.line(0, 6, 28, 6, _line(number)), dot]
    look = None if number is None else svg.look(number)
    return element("svg", *marks, viewBox="0 0 28 12", class_=look, aria_hidden="true")


def _line(number: int) -> str:
    """Return the class of a line; after the last colour, the colours repeat with dashed lines."""
    return "curve" if number < len(theme.PALETTE) else "curve again"


def _axes(parts: Sequence[tuple[str, str]], across: Scale, y: Scale) -> list[Markup]:
    marks = []
    for value, text in y.ticks(_SLICES_TICKS):
        up = y.at(value)
        marks.append(svg.line(across.start, up, across.stop, up, "grid"))
        marks.append(svg.words(across.start - 6, up + 4, text, "axis", "end"))
    for number, (part, below) in enumerate(parts):
        x = across.at(number)
        marks.append(svg.words(x, y.start + svg.LINE, part, "", "middle"))
        marks.append(svg.words(x, y.start + 2 * svg.LINE, below, "axis", "middle"))
    return [*marks, svg.line(across.start, y.start, across.stop, y.start, "rule")]


def _points(values: Floats, across: Scale, y: Scale) -> list[list[tuple[float, float]]]:
    """Return the positions of the values, in runs without unknown values."""
    runs: list[list[tuple[float, float]]] = [[]]
    for number, value in enumerate(values.tolist()):
        if math.isnan(value):
            runs.append([])
        else:
            runs[-1].append((across.at(number), y.at(value)))
    return [run for run in runs if run]


def _course(one: Course, number: int, across: Scale, y: Scale, digits: int) -> Markup:
    """Return the line of a system, with a dot for each part."""
    known = [value for value in one.values.tolist() if not math.isnan(value)]
    runs = _points(one.values, across, y)
    dots = [
        svg.with_tooltip(
            svg.dot(*point, "dot", shape=svg.shape_of(number), size=4.5),
            f"{one.label}: {value:.{digits}f}",
        )
        for point, value in zip((point for run in runs for point in run), known, strict=True)
    ]
    tracks = [svg.track(run, _line(number)) for run in runs if len(run) > 1]
    return svg.coloured(number, [*tracks, *dots])


def _slices_reference(one: Course, across: Scale, y: Scale) -> list[Markup]:
    """Return the line of the reference, or text at the nearer edge if it is outside."""
    known = [value for value in one.values.tolist() if not math.isnan(value)]
    if not known:
        return []
    if all(map(y.holds, known)):
        return [svg.track(run, "reference") for run in _points(one.values, across, y)]
    below = sum(known) / len(known) < (y.low + y.high) / 2
    arrow = "\N{DOWNWARDS ARROW}" if below else "\N{UPWARDS ARROW}"
    at = y.start - 6 if below else y.stop - 6
    return [svg.words(across.stop, at, f"{one.label} {arrow}", "axis over", "end")]
