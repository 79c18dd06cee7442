"""The posterior density of a player's skill, beside the normal one with the same deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.charts import theme
from equipoise.charts.axes import shortened
from equipoise.data.explanations.belief import Belief
from equipoise.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Deviations that are shown on each side of the rating.
_REACH = 4.0
_LETTERS = 32


def posterior_figure(belief: Belief, *, title: str | None = None) -> Figure:
    """Return the figure: the density, the normal density, and below them the performances.

    Raises : EquipoiseError without matplotlib
    """
    spread = _REACH * max(belief.deviation, belief.standard_deviation())
    skill = np.linspace(belief.rating - spread, belief.rating + spread, 401)
    density = belief.density(skill)
    sigma = belief.deviation
    normal = np.exp(-0.5 * ((skill - belief.rating) / sigma) ** 2) / (sigma * np.sqrt(2.0 * np.pi))
    low, high = belief.interval()
    played = counted(len(belief.performance), "remembered performance")
    with theme.style():
        figure, axes = theme.new_figure(
            title or f"Skill of {shortened(str(belief.player), _LETTERS)}",
            f"posterior density with its 95 % range (area), normal with the deviation (dashed), "
            f"{played} (ticks)",
        )
        inside = (skill >= low) & (skill <= high)
        axes.fill_between(skill[inside], density[inside], color=theme.PALETTE[0], alpha=0.15, lw=0)
        axes.plot(skill, density, color=theme.PALETTE[0], lw=2.0)
        axes.plot(skill, normal, color=theme.MUTED, lw=1.2, ls=(0, (4, 2)))
        top = 1.25 * max(float(density.max()), float(normal.max()))
        for name, at, line in (("rating", belief.rating, "solid"), ("mean", belief.mean(), ":")):
            axes.axvline(at, ymax=0.8, color=theme.INK, lw=1.0, ls=line)
            left = at < belief.rating or (name == "mean" and at <= belief.rating)
            axes.annotate(
                f"{name} {at:,.1f}",
                (at, 0.83 * top),
                xytext=(-4 if left else 4, 0),
                textcoords="offset points",
                ha="right" if left else "left",
                color=theme.INK,
            )
        shown = belief.performance[np.abs(belief.performance - belief.rating) <= spread]
        axes.plot(shown, np.zeros(len(shown)), "|", color=theme.PALETTE[1], ms=12, mew=1.6)
        axes.set_xlim(skill[0], skill[-1])
        axes.set_ylim(-0.05 * top, top)
        axes.set_yticks([])
        axes.set_xlabel("skill, rating points")
        theme.fit_axes(figure, axes)
    return figure
