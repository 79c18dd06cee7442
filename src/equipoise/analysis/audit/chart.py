"""Drift in a history, and a player's ratings as played and with thrown matches, as figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ids
from equipoise.charts import theme
from equipoise.charts.theme import set_horizontal_axis, shortened
from equipoise.data.audits import Drift, Incentive
from equipoise.errors import NotFoundError, require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Smallest height of the axis, in rating points, so that tiny changes look tiny.
_LEAST_RANGE = 20.0


class Line(NamedTuple):
    """One line in a panel.

    label, end : the text beside its end, and its last value
    number : of its colour
    place : shape (k,), datetime64[us] or number of matches; value : shape (k,), without NaN
    spread : shape (k,), half the height of the band, or shape (0,) for no band
    """

    label: str
    end: str
    number: int
    place: Ids
    value: Floats
    spread: Floats


class Panel(NamedTuple):
    """Lines over one axis, with a heading; there is at least one line with one place."""

    heading: str
    lines: tuple[Line, ...]

    def visible(self) -> tuple[float, float]:
        """Return the range of values that contains every line and band."""
        low = min(float((line.value - _band(line)).min()) for line in self.lines)
        high = max(float((line.value + _band(line)).max()) for line in self.lines)
        edge = max(0.05 * (high - low), (_LEAST_RANGE - (high - low)) / 2)
        return low - edge, high + edge


def drift_panels(found: Mapping[str, Drift], *, band: bool) -> tuple[Panel, ...]:
    """Return the panels from above, for one system or for several by label.

    The upper panel has the mean ratings of active players; a single system gets a band of one
    standard deviation on either side. The lower panel has the points added per player. It shows the
    part due to performance scaling if a system scales, else all changes; for a single system it
    shows both. If a system learns the entry or holds the level, a third panel shows newcomers.
    Raises : NotFoundError   a system rates no match
    """
    for label, one in found.items():
        if not one.rated[-1]:
            raise NotFoundError(f"{label} rates no match")
    alone = len(found) == 1
    ratings = [
        _line(label, number, one, one.rating, ".0f", one.spread if band and alone else None)
        for number, (label, one) in enumerate(found.items())
    ]
    panels = Panel("mean rating of active players", tuple(ratings)), _added(found)
    newcomers = _newcomers(found)
    return panels if newcomers is None else (*panels, newcomers)


def _newcomers(found: Mapping[str, Drift]) -> Panel | None:
    """Return the panel about newcomers, None if no system learns the entry or holds the level.

    A single system: where newcomers enter, how they perform in their first match, and the level.
    Several: how far their performance was from their entry.
    """
    if not any(one.learns or one.holds for one in found.values()):
        return None
    if len(found) > 1:
        lines = tuple(
            _line(label, number, one, one.performed - one.entered, "+.0f")
            for number, (label, one) in enumerate(found.items())
            if np.isfinite(one.performed).any()
        )
        heading = "newcomers' first performance, less the rating with which they entered"
        return Panel(heading, lines) if lines else None
    (one,) = found.values()
    values = {"entry": one.entry, "first performance": one.performed, "level": one.level}
    lines = tuple(
        _line(label, number, one, value, ".0f")
        for number, (label, value) in enumerate(values.items())
        if np.isfinite(value).any()
    )
    return Panel("newcomers' entry and first performance, and the level", lines)


def _added(found: Mapping[str, Drift]) -> Panel:
    """Return the lower panel."""
    heading = "points added a player so far"
    several = len(found) > 1
    scaling = [
        _line(label if several else "performance", number, one, one.added_by_performance, "+.1f")
        for number, (label, one) in enumerate(found.items())
        if one.scales
    ]
    if several and scaling:
        return Panel(f"{heading}, by performance scaling", tuple(scaling))
    everything = [
        _line(label if several else "all", number, one, one.added, "+.1f")
        for number, (label, one) in enumerate(found.items())
    ]
    # Two lines of one system must differ in colour.
    return Panel(heading, (*everything, *(line._replace(number=1) for line in scaling)))


def _line(
    label: str, number: int, one: Drift, value: Floats, kind: str, spread: Floats | None = None
) -> Line:
    """Return a line through the known values.

    kind : format of its last value
    """
    seen = np.isfinite(value)
    shown = value[seen]
    # A value that rounds to 0 must not become -0.0.
    end = format(round(float(shown[-1]), 1) + 0.0, kind)
    return Line(
        label=label,
        end=end,
        number=number,
        place=one.places()[seen],
        value=shown,
        spread=np.zeros(0) if spread is None else spread[seen],
    )


def _band(line: Line) -> Floats:
    return line.spread if len(line.spread) else np.zeros(len(line.value))


#: With more lines than this, the lines of a chart cannot be distinguished.
MOST_SYSTEMS = len(theme.PALETTE)
#: Shares of the height by number of panels, factors of the whole height, and the points between
#: the panels.
_SHARES = {2: (0.58, 0.42), 3: (0.4, 0.25, 0.35)}
_HEIGHTS = {2: 1.0, 3: 1.35}
_BETWEEN = 34.0
#: Points from the edge of the axes to the labels.
_LEAD = 10.0
_LETTERS = 20
#: The same minus sign as on the axis.
_MINUS = "\N{MINUS SIGN}"

SIZE = theme.Size(7.5, 5.6)


def drift_figure(
    found: Mapping[str, Drift],
    *,
    title: str,
    subtitle: str,
    band: bool = True,
    size: theme.Size = SIZE,
) -> Figure:
    """Return the figure of one system's drift, or of several by label.

    band : show one standard deviation of the active players' ratings on either side, for a single
      system
    Raises : InvalidParameterError   more systems than can be distinguished
    """
    require(1 <= len(found) <= MOST_SYSTEMS, "systems", f"1 to {MOST_SYSTEMS}", len(found))
    panels = drift_panels(found, band=band)
    with theme.style():
        size = size._replace(height=size.height * _HEIGHTS[len(panels)])
        figure, upper = theme.new_figure(title, subtitle, size)
        axes_of = [upper, *(figure.add_axes((0.1, 0.12, 0.8, 0.3)) for _ in panels[1:])]
        places = np.concatenate([line.place for line in panels[0].lines])
        by_time = places.dtype.kind == "M"
        for axes, panel in zip(axes_of, panels, strict=True):
            axes.set_ylim(*panel.visible())
            for line in panel.lines:
                _draw(axes, line)
            set_horizontal_axis(axes, places, None if by_time else "matches", size.width)
        for axes in axes_of[1:]:
            # A panel without the first places has the same axis.
            axes.set_xlim(upper.get_xlim())
        texts = [_labels(axes, panel) for axes, panel in zip(axes_of, panels, strict=True)]
        right = _LEAD + max(theme.text_width(text) for some in texts for text in some)
        _stack(figure, axes_of, right)
        for axes, panel, some in zip(axes_of, panels, texts, strict=True):
            theme.place_labels(axes, some, [float(line.value[-1]) for line in panel.lines], _LEAD)
    return figure


def _draw(axes: Axes, line: Line) -> None:
    colour = theme.PALETTE[line.number]
    if len(line.spread):
        low, high = line.value - line.spread, line.value + line.spread
        axes.fill_between(line.place, low, high, color=colour, alpha=0.13, lw=0)
    mark: dict[str, Any] = {"marker": "o", "ms": 5.0} if len(line.value) == 1 else {}
    axes.plot(line.place, line.value, color=colour, lw=2.0, zorder=3, **mark)


def _stack(figure: Figure, panels: Sequence[Axes], right: float) -> None:
    """Give all axes the width that the widest tick labels leave, and divide the height."""
    boxes = []
    for axes in panels:
        theme.fit_axes(figure, axes, right=right)
        boxes.append(axes.get_position())
    left, low, top = max(box.x0 for box in boxes), boxes[-1].y0, boxes[0].y1
    width = min(box.x1 for box in boxes) - left
    height = 72 * figure.get_size_inches()[1]
    # Each panel has a heading above it.
    heading, between = 1.4 * theme.SMALL / height, _BETWEEN / height
    free = top - heading - low - (len(panels) - 1) * between
    at = low
    for axes, share in zip(reversed(panels), reversed(_SHARES[len(panels)]), strict=True):
        axes.set_position((left, at, width, free * share))
        at += free * share + between
    for axes in panels[:-1]:
        axes.tick_params(labelbottom=False)
        axes.set_xlabel("")
        axes.xaxis.get_offset_text().set_visible(False)


def _labels(axes: Axes, panel: Panel) -> list[Any]:
    """Write the heading of a panel, and the labels of its lines, which are placed later."""
    axes.annotate(
        panel.heading,
        (0.0, 1.0),
        xycoords="axes fraction",
        xytext=(0, 6),
        textcoords="offset points",
        color=theme.MUTED,
        va="bottom",
    )
    return [
        theme.line_label(
            axes,
            f"{shortened(line.label, _LETTERS)}  {line.end.replace('-', _MINUS)}",
            line.number,
        )
        for line in panel.lines
    ]


#: More systems than this leave no room for lines.
MOST_SYSTEMS_ABREAST = 6
#: Panels in a row; in inches, the total width, the height above the panels, and the height of a
#: row.
_IN_A_ROW, _WIDTH, _TITLE, _ROW = 2, 7.5, 1.0, 2.9
#: Points: height of the text above a panel, and distances between rows and between panels.
_HEADING, _BETWEEN_PLAYERS, _BESIDE = 42.0, 20.0, 24.0
_GAIN_LETTERS = 24
#: Largest number of thrown matches that are marked on the line.
_MARKED = 25
_MINUS_SIGN = "\N{MINUS SIGN}"
#: Smallest height of the axis, in rating points, so that tiny changes look tiny.
_LEAST_GAIN = 50.0


def incentives_figure(found: Mapping[str, Incentive], *, title: str, subtitle: str) -> Figure:
    """Return the figure of one player in one system, or in several by label.

    All panels have the same range of rating points, so that gains can be compared.
    Raises : InvalidParameterError   more systems than fit
    """
    require(1 <= len(found) <= MOST_SYSTEMS_ABREAST, "systems", f"1 to {MOST_SYSTEMS}", len(found))
    in_a_row = min(len(found), _IN_A_ROW)
    rows = -(-len(found) // in_a_row)
    height = _TITLE + _ROW * rows + (0.6 if len(found) == 1 else 0.0)
    with theme.style():
        figure, first = theme.new_figure(title, subtitle, theme.Size(_WIDTH, height))
        others = [figure.add_axes((0.1, 0.1, 0.3, 0.3)) for _ in range(len(found) - 1)]
        panels = [first, *others]
        ranges = [float(np.ptp(_values(one))) for one in found.values()]
        span = max(1.1 * max(ranges), _LEAST_GAIN)
        for axes, (label, one) in zip(panels, found.items(), strict=True):
            _draw_player(axes, one, span, _WIDTH / in_a_row)
            _say(axes, label, one)
        _arrange(figure, panels, in_a_row, first.get_position().y1)
    return figure


def _values(one: Incentive) -> Floats:
    """Return all ratings that a panel shows."""
    return np.concatenate([[one.before], one.honest, one.planned])


def _draw_player(axes: Axes, one: Incentive, span: float, inches: float) -> None:
    """Draw both lines, and mark the thrown matches."""
    values = _values(one)
    middle = (values.min() + values.max()) / 2
    axes.set_ylim(middle - span / 2, middle + span / 2)
    place = np.arange(len(one.honest) + 1)
    colours = theme.PALETTE
    for number, line in ((0, one.honest), (1, one.planned)):
        if number == 0 or one.thrown.any():
            axes.plot(place, [one.before, *line], color=colours[number], lw=2.0, zorder=3)
    _mark(axes, one)
    set_horizontal_axis(axes, place, "matches", inches)


def _mark(axes: Axes, one: Incentive) -> None:
    """Mark the thrown matches on the line, or at the bottom if there are many."""
    thrown, colour = np.flatnonzero(one.thrown), theme.PALETTE[1]
    if len(thrown) > _MARKED:
        bottom = axes.get_xaxis_transform()
        axes.vlines(thrown + 1, 0.0, 0.045, colour, lw=0.8, transform=bottom, zorder=4)
        return
    look: dict[str, Any] = {"ms": 5.5, "mec": theme.PAGE, "mew": 0.8, "zorder": 4}
    axes.plot(thrown + 1, one.planned[thrown], "v", color=colour, **look)


def _say(axes: Axes, label: str, one: Incentive) -> None:
    """Write the heading of a panel: the system, and the last rating of both lines."""
    words = (
        (shortened(label, _GAIN_LETTERS), theme.INK, "bold", 24.0, 0.0, "left"),
        (f"as it was {points(one.honest[-1])}", theme.WORDS[0], "bold", 6.0, 0.0, "left"),
        (_planned(one), theme.WORDS[1], "bold", 6.0, 1.0, "right"),
        (_gain(one), theme.MUTED, "normal", 24.0, 1.0, "right"),
    )
    for text, colour, weight, up, at, side in words:
        axes.annotate(
            text,
            (at, 1.0),
            xycoords="axes fraction",
            xytext=(0, up),
            textcoords="offset points",
            color=colour,
            fontweight=weight,
            ha=side,
            va="bottom",
        )


def _planned(one: Incentive) -> str:
    return f"by plan {points(one.planned[-1])}" if one.thrown.any() else ""


def _gain(one: Incentive) -> str:
    if not one.thrown.any():
        return "nothing gained"
    return f"gain {points(one.gain, sign=True)}"


def points(value: float, *, sign: bool = False) -> str:
    """Return rating points as text for charts; very large ones are written with a power of ten."""
    kind = "+" if sign else ""
    text = format(value, f"{kind},.0f" if abs(value) < 1e6 else f"{kind}.1e")
    return text.replace("-", _MINUS_SIGN)


def _arrange(figure: Figure, panels: list[Axes], in_a_row: int, top: float) -> None:
    """Arrange panels of equal size in rows, below the titles and their own headings."""
    width, height = (72 * inches for inches in figure.get_size_inches())
    figure.draw_without_rendering()
    renderer_boxes = [(axes, axes.get_tightbbox(), axes.get_window_extent()) for axes in panels]
    scale = 72 / figure.dpi
    left = max((inner.x0 - box.x0) * scale for _, box, inner in renderer_boxes if box is not None)
    below = max((inner.y0 - box.y0) * scale for _, box, inner in renderer_boxes if box is not None)
    rows = -(-len(panels) // in_a_row)
    wide = (width - 2 * theme.MARGIN - left * in_a_row - _BESIDE * (in_a_row - 1)) / in_a_row
    free = top * height - theme.MARGIN - rows * (below + _HEADING) - _BETWEEN_PLAYERS * (rows - 1)
    high = free / rows
    for number, axes in enumerate(panels):
        row, column = divmod(number, in_a_row)
        x = theme.MARGIN + left + column * (wide + left + _BESIDE)
        y = top * height - _HEADING - high - row * (high + below + _HEADING + _BETWEEN_PLAYERS)
        axes.set_position((x / width, y / height, wide / width, high / height))
