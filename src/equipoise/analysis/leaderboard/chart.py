"""Leaderboards as a figure: a panel for each system, a row for each player, with error bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from equipoise.charts import theme
from equipoise.charts.theme import shortened
from equipoise.errors import InvalidParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Largest numbers of panels, and of players with a row.
MOST_PANELS, MOST_ROWS = 4, 50
#: Points of a row, of each further group in it, and inches for titles, legend and axis.
_PITCH, _GROUP, _FRAME = 20.0, 8.0, 1.95
#: Marks of groups, which can be distinguished without colours.
_SHAPES = ("o", "s", "D", "^", "v", "P")
_LETTERS = 22


#: The name of a group, and by player the rating and half the width of its interval, NaN if unknown.
Group: TypeAlias = tuple[str, Mapping[object, tuple[float, float]]]


def leaderboard_figure(
    players: Sequence[object],
    series: Mapping[str, Sequence[Group]],
    *,
    title: str,
    subtitle: str,
) -> Figure:
    """Return the figure; the first fifty players have a row.

    series : label of the system -> groups
    Raises : InvalidParameterError   more than four systems, or more than six groups
    """
    names = [name for name, _ in next(iter(series.values()))]
    for count, most, what, option in (
        (len(series), MOST_PANELS, "systems", "--system"),
        (len(names), len(_SHAPES), "groups", "--where"),
    ):
        if count > most:
            raise InvalidParameterError(
                f"a chart of leaderboards shows at most {most} {what}; got {count}: select some "
                f"with {option}"
            )
    shown = list(players)[:MOST_ROWS]
    grouped = len(names) > 1
    pitch = _PITCH + _GROUP * (len(names) - 1)
    size = theme.Size(theme.WIDE.width, _FRAME + len(shown) * pitch / 72)
    with theme.style():
        figure, first = theme.new_figure(title, subtitle, size)
        top = first.get_position().y1 - (0.26 / size.height if grouped else 0.0)
        panels = [first]
        panels += [figure.add_axes((0.1, 0.12, 0.1, top - 0.12)) for _ in range(len(series) - 1)]
        for number, (axes, (label, groups)) in enumerate(zip(panels, series.items(), strict=True)):
            box = axes.get_position()
            axes.set_position((box.x0, box.y0, box.width, top - 0.3 / size.height - box.y0))
            _draw(axes, shown, groups, label, named=number == 0, panels=len(panels))
        theme.fit_axes(figure, panels)
        if grouped:
            marks = [
                (shortened(name or "(empty)", _LETTERS), _mark(at)) for at, name in enumerate(names)
            ]
            spaces = {"handlelength": 1.2, "handletextpad": 0.4, "columnspacing": 1.4}
            theme.write_legend(figure, top, marks, borderaxespad=0.2, **spaces)
    return figure


def _draw(
    axes: Axes,
    players: Sequence[object],
    groups: Sequence[Group],
    label: str,
    *,
    named: bool,
    panels: int,
) -> None:
    """Draw the panel of a system."""
    from matplotlib.ticker import MaxNLocator

    places = np.arange(len(players))
    axes.set_ylim(len(players) - 0.5, -0.5)
    axes.grid(True, axis="x")
    axes.grid(False, axis="y")
    axes.hlines(places, 0, 1, theme.GRID, lw=0.8, transform=axes.get_yaxis_transform(), zorder=0.5)
    names = (
        [shortened(str(player), _LETTERS) for player in players] if named else [""] * len(players)
    )
    axes.set_yticks(places, names)
    axes.tick_params(axis="y", length=0, labelcolor=theme.INK, pad=9 if named else 0)
    axes.set_title(label, loc="left", fontsize=theme.SMALL, color=theme.INK, pad=6)
    for number, (_, ratings) in enumerate(groups):
        colour = theme.PALETTE[number]
        offset = 0.0 if len(groups) == 1 else 0.6 * (number / (len(groups) - 1) - 0.5)
        for place, player in enumerate(players):
            rating, error = ratings.get(player, (np.nan, np.nan))
            if not np.isfinite(rating):
                continue
            if np.isfinite(error):
                ends = (rating - error, rating + error)
                axes.plot(ends, [place + offset] * 2, color=colour, lw=2.0, alpha=0.55, zorder=2)
            axes.plot(rating, place + offset, zorder=3, **_mark(number))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=max(9 // panels, 2), integer=True))


def _mark(number: int) -> dict[str, Any]:
    """Return the look of the dots of a group."""
    return {
        "marker": _SHAPES[number],
        "ms": 6.0,
        "color": theme.PALETTE[number],
        "mec": theme.PAGE,
        "mew": 0.8,
        "ls": "none",
    }
