"""Figure 1 of Elo-MMR redrawn: penalties of a performance, and the two models of it.

Left, what a performance x deviations away from the rating costs: L_2(x) = x^2/2 where performances
are normal, L_R(x) = 2 ln cosh(pi x/sqrt(12)) where they are logistic. Right, the two densities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.arrays import Floats
from equipoise.charts import theme
from papers.elo_mmr.formulas import densities
from papers.items import Facts
from papers.lines import Line, holds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SCALE = float(np.sqrt(3) / np.pi)
_SIZE = theme.Size(7.5, 4.1)


def figure_lines(facts: Facts) -> list[Line]:
    """Return what the text reads off the figure: quadratic near 0, linear further out."""
    x, square, logistic = densities(facts)
    near = float(logistic[np.searchsorted(x, 0.05)] / square[np.searchsorted(x, 0.05)])
    slope = float((logistic[-1] - logistic[-2]) / (x[-1] - x[-2]))
    line = 2 * np.pi / np.sqrt(12)
    return [
        holds(
            "L_R over L_2 near 0",
            "quadratic",
            f"{near:.3f}, the limit is {np.pi**2 / 6:.3f}",
            abs(near - np.pi**2 / 6) < 0.01,
        ),
        holds(
            "slope of L_R at 5",
            "linear",
            f"{slope:.4f}, the limit is {line:.4f}",
            line - slope < 1e-2,
        ),
    ]


def figure1(facts: Facts) -> Figure:
    """Return both halves side by side; call it within the style of the charts."""
    figure, left = theme.new_figure(
        "Why one contest cannot undo a career",
        "Left: the penalty of a performance so far from the rating. Right: the two models of "
        "performance behind it.",
        _SIZE,
    )
    right = figure.add_axes(left.get_position().bounds)
    x, square, logistic = densities(facts)
    _curve(left, x, square, 0)
    _curve(left, x, logistic, 1)
    left.set(xlim=(-5, 5), ylim=(0, 9), xlabel="x, deviations from the rating")
    _label(left, (-3.35, 7.2), r"normal, L$_2$", 0)
    _label(left, (1.75, 0.9), r"logistic, L$_R$", 1)
    _curve(right, x, np.exp(-x * x / 2) / np.sqrt(2 * np.pi), 0)
    _curve(right, x, 1 / (4 * _SCALE * np.cosh(x / (2 * _SCALE)) ** 2), 1)
    right.set(xlim=(-5, 5), ylim=(0, 0.49), xlabel="x, deviations from the mean")
    _label(right, (1.0, 0.26), "normal", 0)
    _label(right, (0.55, 0.42), "logistic", 1)
    theme.fit_axes(figure, [left, right])
    return figure


def _curve(axes: Axes, x: Floats, y: Floats, number: int) -> None:
    axes.plot(x, y, color=theme.PALETTE[number], lw=2.2)


def _label(axes: Axes, place: tuple[float, float], words: str, number: int) -> None:
    """Write words beside a curve, in its colour."""
    axes.text(*place, words, color=theme.WORDS[number], fontweight="bold", parse_math=True)
