"""A parameter search as a figure: a line, a map, or one panel for each parameter.

`Surface` has the data of the figure: the positions of the trials, their metric, and the best one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.charts import theme
from equipoise.data.backtest import Choice, Range, Trial, Tuning, Value
from equipoise.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Values of a grid that span at least this factor are shown on a logarithmic axis.
_LOG_FROM = 8.0
#: Values that are worse than the best by more than this many times the median distance are all
#: shown as equally bad.
_SPREAD = 3.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Axis:
    """One parameter along an axis.

    values : shape (k,), the values tried of a grid, in ascending order; empty for a range
    named : whether values are side by side instead of to scale, because some are no finite numbers
    log : whether the scale is logarithmic
    low, high : ends of the scale
    """

    name: str
    values: tuple[Value, ...]
    named: bool
    log: bool
    low: float
    high: float

    @classmethod
    def of(cls, name: str, choice: Choice) -> Axis:
        """Return the axis of a parameter."""
        if isinstance(choice, Range):
            return cls(
                name=name, values=(), named=False, log=choice.log, low=choice.low, high=choice.high
            )
        values = tuple(sorted(choice, key=_order))
        numbers = [one for one in values if _is_number(one)]
        if len(numbers) < len(values):
            high = float(len(values) - 1)
            return cls(name=name, values=values, named=True, log=False, low=0.0, high=high)
        low, high = min(numbers), max(numbers)
        log = low > 0 and high / low >= _LOG_FROM
        return cls(name=name, values=values, named=False, log=log, low=low, high=high)

    def place(self, value: Value) -> float:
        """Return the position of a value on the scale; NaN if it has none."""
        if self.named:
            return float(self.values.index(value)) if value in self.values else math.nan
        if not _is_number(value) or (self.log and value <= 0):
            return math.nan
        return float(value)

    def share(self, value: Value) -> float:
        """Return the position of a value: 0 at the low end and 1 at the high end of the scale."""
        place, ends = self.place(value), (self.low, self.high)
        if self.log:
            place, ends = math.log(place), (math.log(self.low), math.log(self.high))
        return (place - ends[0]) / (ends[1] - ends[0]) if ends[1] > ends[0] else 0.5


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Surface:
    """Finished trials, along one axis for each parameter.

    done : in the order of their numbers; value : shape (n,), their metric
    best : number of the best one
    worst, ideal : the values between which colours and heights differ
    """

    axes: tuple[Axis, ...]
    done: tuple[Trial, ...]
    value: Floats
    best: int
    worst: float
    ideal: float

    @classmethod
    def of(cls, found: Tuning) -> Surface:
        """Return the surface of a search."""
        done = tuple(trial for trial in found.trials if trial.status == "done")
        value = np.array([trial.value(found.metric) for trial in done])
        best = next(at for at, trial in enumerate(done) if trial is found.best)
        ideal, sign = float(value[best]), 1.0 if found.higher_is_better else -1.0
        behind = sign * (ideal - value)
        seen = behind[behind <= _SPREAD * np.median(behind)]
        shown = float(seen.max(initial=0.0)) or float(behind.max()) or 1e-3 * max(abs(ideal), 1e-9)
        return cls(
            axes=tuple(Axis.of(name, choice) for name, choice in found.choices.items()),
            done=done,
            value=value,
            best=best,
            worst=ideal - sign * shown,
            ideal=ideal,
        )

    def places(self, axis: Axis) -> Floats:
        """Return the positions of the trials along an axis, shape (n,)."""
        return np.array([axis.place(trial.parameters[axis.name]) for trial in self.done])

    def shares(self, axis: Axis) -> Floats:
        """Return these positions scaled to a range from 0 to 1."""
        return np.array([axis.share(trial.parameters[axis.name]) for trial in self.done])

    def envelope(self, axis: Axis) -> tuple[Floats, Floats]:
        """Return (places, best values there): the best metric for each value of a parameter."""
        places = self.places(axis)
        order = np.unique(places)
        pick = max if self.ideal >= self.worst else min
        best = [pick(self.value[places == place].tolist()) for place in order]
        return order, np.array(best)

    def cells(self) -> tuple[Floats, Ints]:
        """Return (metric of a grid of two parameters, its best cell), rows along the second axis.

        NaN if a trial was refused or failed.
        """
        across, up = self.axes
        table = np.full((len(up.values), len(across.values)), np.nan)
        at = np.array([_cell(trial.parameters, across, up) for trial in self.done])
        table[at[:, 1], at[:, 0]] = self.value
        return table, at[self.best]


def _cell(parameters: Mapping[str, Value], across: Axis, up: Axis) -> Sequence[int]:
    return (
        across.values.index(parameters[across.name]),
        up.values.index(parameters[up.name]),
    )


def _is_number(value: Value) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _order(value: Value) -> tuple[bool, float]:
    """Order numbers by size, and None after them."""
    return (True, 0.0) if value is None else (False, float(value))


#: Largest number of parameters in the chart.
MOST_PANELS = 9
#: Panels side by side, and the height of a row of them in inches.
_COLUMNS, _ROW = 3, 2.9
#: Largest number of cells of a map for which values are written into the cells.
_WRITTEN = (10, 10)
#: Largest number of grid values for which each has a tick on an axis to scale.
_TICKS = 5
#: Points for the colour bar at the right, and its width.
_SCALE, _SCALE_WIDTH = 96.0, 12.0
#: From the worst to the best.
_COLOURS = ("#f3f5f9", "#a9c4ea", "#1464c8", "#0a2c5c")
_LINE = theme.PALETTE[0]
_MARK = theme.PALETTE[1]
#: The ring around the best trial.
_OUTLINE: dict[str, Any] = {"facecolors": "none", "edgecolors": _MARK, "zorder": 4}


def tuning_figure(found: Tuning, *, title: str | None = None) -> Figure:
    """Return the figure of a search: its trials, the best outlined, and a cross for those given.

    One parameter is shown as a line, two as a map, more as one panel each. The line of a panel is
    the best metric reached with each value, over all values of the other parameters.
    """
    title = title or f"{found.system}: {' and '.join(found.choices)}"
    surface = Surface.of(found)
    many = len(surface.axes) > 2
    rows = math.ceil(min(len(surface.axes), MOST_PANELS) / _COLUMNS)
    size = theme.Size(theme.WIDE.width, 1.6 + _ROW * rows) if many else theme.WIDE
    with theme.style():
        figure, axes = theme.new_figure(title, _subtitle(found, surface), size)
        if many:
            _draw_panels(figure, axes, surface, found)
        elif len(surface.axes) == 2:
            _draw_map(figure, axes, surface, found)
        else:
            _draw_line(axes, surface, surface.axes[0], found)
            axes.set_ylabel(found.metric)
            theme.fit_axes(figure, axes)
    return figure


def _subtitle(found: Tuning, surface: Surface) -> str:
    words = [
        f"{found.metric} on {counted(found.matches, 'match', 'matches')}, "
        f"{counted(len(found.trials), 'trial')}"
    ]
    better = "higher" if found.higher_is_better else "lower"
    words.append(f"{better} is better; outlined: the best")
    if _shows_given(found, surface):
        words.append("cross: as given")
    left_out = len(found.choices) - MOST_PANELS
    if left_out > 0:
        words.append(
            counted(left_out, "more parameter is not shown", "more parameters are not shown")
        )
    return ", ".join(words)


def _shows_given(found: Tuning, surface: Surface) -> bool:
    """Return whether the given parameters have a position on the chart."""
    seen = [_has_place(axis, found.given.parameters[axis.name]) for axis in surface.axes]
    if len(seen) != 2:
        return any(seen)
    across, up = surface.axes
    if across.values and up.values:
        return all(found.given.parameters[axis.name] in axis.values for axis in surface.axes)
    return all(seen)


def _has_place(axis: Axis, value: Value) -> bool:
    return axis.low <= axis.place(value) <= axis.high


def _draw_line(axes: Axes, surface: Surface, axis: Axis, found: Tuning) -> None:
    """Draw the metric over one parameter."""
    places = surface.places(axis)
    single = len(surface.axes) == 1
    if single or axis.values:
        axes.plot(*surface.envelope(axis), color=_LINE, lw=1.8, zorder=2)
    axes.scatter(places, surface.value, s=18, color=_LINE, lw=0, alpha=1.0 if single else 0.5)
    best = surface.best
    axes.scatter(places[best], surface.value[best], s=130, lw=2, **_OUTLINE)
    given = axis.place(found.given.parameters[axis.name])
    if math.isfinite(given):
        value = found.given.value(found.metric)
        axes.scatter(given, value, s=60, marker="x", color=theme.INK, lw=1.8, zorder=4)
    _set_scale(axes, axis, "x")
    low, high = sorted((surface.worst, surface.ideal))
    edge = 0.08 * (high - low)
    axes.set_ylim(low - edge, high + edge)


def _draw_panels(figure: Figure, first: Axes, surface: Surface, found: Tuning) -> None:
    """Draw a panel for each parameter, in rows."""
    axes = surface.axes[:MOST_PANELS]
    rows = math.ceil(len(axes) / _COLUMNS)
    width, height = (72 * inches for inches in figure.get_size_inches())
    top = first.get_position().y1
    first.set_axis_off()
    left, below, between = 66 / width, 50 / height, 18 / width
    across = (1 - left - theme.MARGIN / width - between * (_COLUMNS - 1)) / _COLUMNS
    up = top / rows - below
    for number, axis in enumerate(axes):
        row, column = divmod(number, _COLUMNS)
        place = (left + column * (across + between), top - row * (up + below) - up, across, up)
        panel = figure.add_axes(place)
        _draw_line(panel, surface, axis, found)
        if column == 0:
            panel.set_ylabel(found.metric)
        else:
            panel.tick_params(labelleft=False)


def _draw_map(figure: Figure, axes: Axes, surface: Surface, found: Tuning) -> None:
    """Draw two parameters as a map: the cells of a grid, or contours between samples."""
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    across, up = surface.axes
    axes.grid(visible=False)
    colours = LinearSegmentedColormap.from_list("equipoise", _COLOURS)
    low, high = sorted((surface.worst, surface.ideal))
    if surface.ideal < surface.worst:
        colours = colours.reversed()
    paint = {"cmap": colours, "norm": Normalize(low, high)}
    if across.values and up.values:
        shown = _draw_cells(axes, surface, found, paint)
    else:
        shown = _draw_contours(axes, surface, found, paint)
    theme.fit_axes(figure, axes, right=_SCALE)
    width = 72 * figure.get_size_inches()[0]
    box = axes.get_position()
    place = (box.x1 + 14 / width, box.y0, _SCALE_WIDTH / width, box.height)
    scale = figure.colorbar(shown, cax=figure.add_axes(place))
    scale.outline.set_visible(False)


def _draw_cells(axes: Axes, surface: Surface, found: Tuning, paint: dict[str, Any]) -> Any:
    """Draw a grid with its values side by side."""
    from matplotlib.patches import Rectangle

    across, up = surface.axes
    table, best = surface.cells()
    shown = axes.pcolormesh(np.ma.masked_invalid(table), edgecolors=theme.PAGE, lw=0.6, **paint)
    for row, column in np.argwhere(np.isnan(table)).tolist():
        axes.text(column + 0.5, row + 0.5, "\N{MULTIPLICATION SIGN}", ha="center", va="center")
    if table.shape[0] <= _WRITTEN[0] and table.shape[1] <= _WRITTEN[1]:
        _write_cells(axes, table, surface)
    # Red with a white border is visible on light cells and on dark ones.
    for colour, width in ((theme.PAGE, 5.0), (_MARK, 2.4)):
        corner = (float(best[0]), float(best[1]))
        frame = Rectangle(corner, 1, 1, fill=False, ec=colour, lw=width, zorder=4, clip_on=False)
        axes.add_patch(frame)
    given = found.given.parameters
    if given[across.name] in across.values and given[up.name] in up.values:
        at = (across.values.index(given[across.name]), up.values.index(given[up.name]))
        look: dict[str, Any] = {"marker": "x", "color": _MARK, "zorder": 4, "clip_on": False}
        axes.scatter(at[0] + 0.82, at[1] + 0.8, s=36, lw=1.6, **look)
    for axis, side in ((across, axes.xaxis), (up, axes.yaxis)):
        every = math.ceil(len(axis.values) / 12)
        ticks = range(0, len(axis.values), every)
        side.set_ticks([tick + 0.5 for tick in ticks], [_text(axis.values[at]) for at in ticks])
    axes.set_xlabel(across.name)
    axes.set_ylabel(up.name)
    return shown


def _write_cells(axes: Axes, table: Floats, surface: Surface) -> None:
    """Write the values into the cells, with enough digits to distinguish them."""
    span = abs(surface.ideal - surface.worst)
    digits = min(max(2 - math.floor(math.log10(span)), 0), 6) if span > 0 else 3
    small = 7.5 if table.shape[1] > 6 else 9.0
    for (row, column), value in np.ndenumerate(table):
        if math.isnan(value):
            continue
        share = (value - surface.worst) / (surface.ideal - surface.worst)
        axes.text(
            column + 0.5,
            row + 0.5,
            f"{value:.{digits}f}",
            ha="center",
            va="center",
            fontsize=small,
            # Colours above the middle are dark.
            color=theme.PAGE if share > 0.55 else theme.INK,
        )


def _draw_contours(axes: Axes, surface: Surface, found: Tuning, paint: dict[str, Any]) -> Any:
    """Draw samples as dots, with contours between them."""
    from matplotlib.tri import Triangulation

    across, up = surface.axes
    x, y = surface.places(across), surface.places(up)
    dots = axes.scatter(
        x, y, c=surface.value, s=26, edgecolors=theme.INK, lw=0.6, zorder=3, **paint
    )
    triangles = _triangles(surface.shares(across), surface.shares(up))
    if triangles is not None:
        low, high = sorted((surface.worst, surface.ideal))
        levels = np.linspace(low, high, 13)
        axes.tricontourf(
            Triangulation(x, y, triangles), surface.value, levels=levels, extend="both", **paint
        )
    best = surface.best
    axes.scatter(x[best], y[best], s=170, lw=2.2, clip_on=False, **_OUTLINE)
    given = [axis.place(found.given.parameters[axis.name]) for axis in surface.axes]
    if all(map(math.isfinite, given)):
        axes.scatter(given[0], given[1], s=60, marker="x", color=_MARK, lw=1.8, zorder=4)
    _set_scale(axes, across, "x")
    _set_scale(axes, up, "y")
    return dots


def _triangles(x: Floats, y: Floats) -> Any:
    """Return triangles between points, or None if all points are on a line."""
    from matplotlib.tri import Triangulation

    if len(np.unique(np.column_stack([x, y]), axis=0)) < 3:
        return None
    try:
        return Triangulation(x, y).triangles
    except RuntimeError:  # raised if no triangle has an area
        return None


def _set_scale(axes: Axes, axis: Axis, side: str) -> None:
    """Set the scale of one axis, a little beyond the values tried, and its label."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    at = axes.xaxis if side == "x" else axes.yaxis
    limits = axes.set_xlim if side == "x" else axes.set_ylim
    name = axes.set_xlabel if side == "x" else axes.set_ylabel
    name(axis.name)
    if axis.named:
        at.set_ticks(range(len(axis.values)), [_text(one) for one in axis.values])
        limits(axis.low - 0.3, axis.high + 0.3)
        return
    if axis.log:
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
        edge = (axis.high / axis.low) ** 0.03
        limits(axis.low / edge, axis.high * edge)
        # Up to a factor of a hundred there is room for ticks at 1, 2, 5; beyond it, at powers of
        # ten.
        steps = (1.0, 2.0, 5.0) if axis.high / axis.low <= 100 else (1.0,)
        at.set_major_locator(LogLocator(subs=steps))
    else:
        edge = 0.03 * (axis.high - axis.low) or 0.5
        limits(axis.low - edge, axis.high + edge)
        at.set_major_locator(MaxNLocator(nbins=5))
    if 0 < len(axis.values) <= _TICKS:
        at.set_ticks([axis.place(value) for value in axis.values])
    at.set_minor_locator(NullLocator())
    at.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _text(value: Value) -> str:
    """Return a value as a short text."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:.4g}"
