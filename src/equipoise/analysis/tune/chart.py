"""A parameter search as a figure: one panel for each parameter.

`Surface` has the data of the figure: the positions of the trials, their metric, and the best one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from equipoise.arrays import Floats
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
    values: tuple[Value, ...] = ()
    named: bool = False
    log: bool = False
    low: float = 0.0
    high: float

    @classmethod
    def of(cls, name: str, choice: Choice) -> Axis:
        """Return the axis of a parameter."""
        if isinstance(choice, Range):
            return cls(name=name, log=choice.log, low=choice.low, high=choice.high)
        values = tuple(sorted(choice, key=_order))
        numbers = [value for value in values if _is_number(value)]
        if len(numbers) < len(values):
            return cls(name=name, values=values, named=True, high=float(len(values) - 1))
        low, high = min(numbers), max(numbers)
        log = low > 0 and high / low >= _LOG_FROM
        return cls(name=name, values=values, log=log, low=low, high=high)

    def place(self, value: Value) -> float:
        """Return the position of a value on the scale; NaN if it has none."""
        if self.named:
            return float(self.values.index(value)) if value in self.values else math.nan
        if not _is_number(value) or (self.log and value <= 0):
            return math.nan
        return float(value)


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Finished trials, along one axis for each parameter.

    done : in the order of their numbers; value : shape (n,), their metric
    best : number of the best one
    worst, ideal : the values between which heights differ
    """

    axes: tuple[Axis, ...]
    done: tuple[Trial, ...]
    value: Floats
    best: int
    worst: float
    ideal: float

    @classmethod
    def of(cls, tuning: Tuning) -> Surface:
        """Return the surface of a search."""
        done = tuple(trial for trial in tuning.trials if trial.status == "done")
        value = np.array([trial.value(tuning.metric) for trial in done])
        best = next(at for at, trial in enumerate(done) if trial is tuning.best)
        ideal, sign = float(value[best]), 1.0 if tuning.higher_is_better else -1.0
        behind = sign * (ideal - value)
        seen = behind[behind <= _SPREAD * np.median(behind)]
        shown = float(seen.max(initial=0.0)) or float(behind.max()) or 1e-3 * max(abs(ideal), 1e-9)
        axes = tuple(Axis.of(name, choice) for name, choice in tuning.choices.items())
        return cls(axes, done, value, best, ideal - sign * shown, ideal)

    def places(self, axis: Axis) -> Floats:
        """Return the positions of the trials along an axis, shape (n,)."""
        return np.array([axis.place(trial.parameters[axis.name]) for trial in self.done])

    def envelope(self, axis: Axis) -> tuple[Floats, Floats]:
        """Return (places, best values there): the best metric for each value of a parameter."""
        places = self.places(axis)
        order = np.unique(places)
        pick = max if self.ideal >= self.worst else min
        best = [pick(self.value[places == place].tolist()) for place in order]
        return order, np.array(best)


def _is_number(value: Value) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _order(value: Value) -> tuple[bool, float]:
    """Order numbers by size, and None after them."""
    return (True, 0.0) if value is None else (False, float(value))


#: Largest number of parameters in the chart.
MOST_PANELS = 9
#: Panels side by side, and the height of a row of them in inches.
_COLUMNS, _ROW = 3, 2.9
#: Largest number of grid values for which each has a tick on an axis to scale.
_TICKS = 5
_LINE = theme.PALETTE[0]
_MARK = theme.PALETTE[1]
#: The ring around the best trial.
_OUTLINE: dict[str, Any] = {"facecolors": "none", "edgecolors": _MARK, "zorder": 4}


def tuning_figure(tuning: Tuning, *, title: str | None = None) -> Figure:
    """Return the figure of a search: its trials, the best outlined, and a cross for those given.

    Every parameter has a panel. Its line is the best metric reached with each value, over all
    values of the other parameters.
    """
    title = title or f"{tuning.system}: {' and '.join(tuning.choices)}"
    surface = Surface.of(tuning)
    rows = math.ceil(min(len(surface.axes), MOST_PANELS) / _COLUMNS)
    size = theme.Size(theme.WIDE.width, 1.6 + _ROW * rows)
    with theme.style():
        figure, axes = theme.new_figure(title, _subtitle(tuning, surface), size)
        _draw_panels(figure, axes, surface, tuning)
    return figure


def _subtitle(tuning: Tuning, surface: Surface) -> str:
    words = [
        f"{tuning.metric} on {counted(tuning.matches, 'match', 'matches')}",
        counted(len(tuning.trials), "trial"),
        f"{'higher' if tuning.higher_is_better else 'lower'} is better; outlined: the best",
    ]
    places = ((axis, axis.place(tuning.given.parameters[axis.name])) for axis in surface.axes)
    if any(axis.low <= place <= axis.high for axis, place in places):
        words.append("cross: as given")
    left_out = len(tuning.choices) - MOST_PANELS
    if left_out > 0:
        words.append(
            counted(left_out, "more parameter is not shown", "more parameters are not shown")
        )
    return ", ".join(words)


def _draw_line(axes: Axes, surface: Surface, axis: Axis, tuning: Tuning) -> None:
    """Draw the metric over one parameter."""
    places = surface.places(axis)
    single = len(surface.axes) == 1
    if single or axis.values:
        axes.plot(*surface.envelope(axis), color=_LINE, lw=1.8, zorder=2)
    axes.scatter(places, surface.value, s=18, color=_LINE, lw=0, alpha=1.0 if single else 0.5)
    best = surface.best
    axes.scatter(places[best], surface.value[best], s=130, lw=2, **_OUTLINE)
    place_given = axis.place(tuning.given.parameters[axis.name])
    if math.isfinite(place_given):
        value = tuning.given.value(tuning.metric)
        axes.scatter(place_given, value, s=60, marker="x", color=theme.INK, lw=1.8, zorder=4)
    _set_scale(axes, axis)
    low, high = sorted((surface.worst, surface.ideal))
    edge = 0.08 * (high - low)
    axes.set_ylim(low - edge, high + edge)


def _draw_panels(figure: Figure, first: Axes, surface: Surface, tuning: Tuning) -> None:
    """Draw a panel for each parameter, in rows."""
    axes = surface.axes[:MOST_PANELS]
    columns = min(_COLUMNS, len(axes))
    rows = math.ceil(len(axes) / columns)
    width, height = (72 * inches for inches in figure.get_size_inches())
    top = first.get_position().y1
    first.set_axis_off()
    left, below, between = 66 / width, 50 / height, 18 / width
    across = (1 - left - theme.MARGIN / width - between * (columns - 1)) / columns
    up = top / rows - below
    for number, axis in enumerate(axes):
        row, column = divmod(number, columns)
        place = (left + column * (across + between), top - row * (up + below) - up, across, up)
        panel = figure.add_axes(place)
        _draw_line(panel, surface, axis, tuning)
        if column == 0:
            panel.set_ylabel(tuning.metric)
        else:
            panel.tick_params(labelleft=False)


def _set_scale(axes: Axes, axis: Axis) -> None:
    """Set the horizontal scale, a little beyond the values tried, and its label."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    at = axes.xaxis
    axes.set_xlabel(axis.name)
    if axis.named:
        at.set_ticks(range(len(axis.values)), [_text(value) for value in axis.values])
        axes.set_xlim(axis.low - 0.3, axis.high + 0.3)
        return
    if axis.log:
        axes.set_xscale("log")
        edge = (axis.high / axis.low) ** 0.03
        axes.set_xlim(axis.low / edge, axis.high * edge)
        # Up to a factor of a hundred there is room for ticks at 1, 2, 5; beyond it, at powers of
        # ten.
        steps = (1.0, 2.0, 5.0) if axis.high / axis.low <= 100 else (1.0,)
        at.set_major_locator(LogLocator(subs=steps))
    else:
        edge = 0.03 * (axis.high - axis.low) or 0.5
        axes.set_xlim(axis.low - edge, axis.high + edge)
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
