"""The figure of the places that teams of a coming match may take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.charts import theme
from equipoise.charts.axes import shortened
from equipoise.errors import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Teams that have a row; of more, only those with the best mean place are shown.
MOST_TEAMS = 50
#: Inches: the titles and the axis, and a row.
_AROUND, _ROW = 1.7, 0.3
_LETTERS = 28


def places_figure(
    names: Sequence[str], mean: Floats, lower: Ints, upper: Ints, *, title: str, subtitle: str
) -> Figure:
    """Return the figure of teams, the best mean place at the top.

    names, mean, lower, upper : of every team: its mean place, and the range of its places
    Raises : InvalidParameterError   other than one name for each team
    """
    require(len(names) == len(mean), "names", f"one for each of {len(mean)} teams", len(names))
    rows = np.argsort(mean, kind="stable")[:MOST_TEAMS]
    if len(rows) < len(mean):
        subtitle = f"{subtitle}; the first {len(rows)} of {len(mean):,} teams"
    size = theme.Size(theme.WIDE.width, _AROUND + _ROW * len(rows))
    with theme.style():
        figure, axes = theme.new_figure(title, subtitle, size)
        at = np.arange(len(rows))
        axes.hlines(at, lower[rows], upper[rows], color=theme.PALETTE[0], lw=5.0, alpha=0.35)
        axes.plot(mean[rows], at, "o", color=theme.PALETTE[0], mec=theme.PAGE, ms=8.0)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(at, [shortened(names[row], _LETTERS) for row in rows.tolist()])
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        theme.set_horizontal_axis(
            axes, np.concatenate([lower[rows], upper[rows]]), "place", size.width
        )
        theme.fit_axes(figure, axes, right=theme.MARGIN)
    return figure
