"""Draw docs/figures/figure1.svg, Figure 1 of [EM]: penalties, and the two models of performance.

Run: python docs/figures/figure1.py
Left, what a performance x deviations away from the rating costs: L_2(x) = x^2/2 where performances
are normal, L_R(x) = 2 ln cosh(pi x/sqrt(12)) where they are logistic, both as after its (7). Right,
the two densities themselves, of mean 0 and deviation 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from equipoise.arrays import Floats
from equipoise.charts import theme

HERE = Path(__file__).parent
SIZE = theme.Size(7.5, 4.1)
#: sqrt(3)/pi, from the deviation to the scale of a logistic variable.
SCALE = np.sqrt(3) / np.pi


def main() -> None:
    """Draw both halves side by side and write the file."""
    with theme.style():
        figure, left = theme.new_figure(
            "Why one contest cannot undo a career",
            "Left: the penalty of a performance so far from the rating. Right: the two models of "
            "performance behind it.",
            SIZE,
        )
        right = figure.add_axes(left.get_position())
        draw_penalties(left)
        draw_densities(right)
        theme.fit_axes(figure, [left, right])
    with (HERE / "figure1.svg").open("wb") as file:
        theme.save(figure, file, "svg")


def draw_penalties(axes: Any) -> None:
    """Draw L_2 and L_R; near 0 they agree, further out one is a parabola, the other straight."""
    x = np.linspace(-5, 5, 401)
    # ln cosh(y) = |y| + ln(1 + exp(-2|y|)) - ln 2, which does not overflow.
    y = np.abs(np.pi * x / np.sqrt(12))
    curve(axes, x, x * x / 2, 0)
    curve(axes, x, 2 * (y + np.log1p(np.exp(-2 * y)) - np.log(2)), 1)
    axes.set(xlim=(-5, 5), ylim=(0, 9), xlabel="x, deviations from the rating")
    label(axes, (-3.35, 7.2), r"normal, L$_2$", 0)
    label(axes, (1.75, 0.9), r"logistic, L$_R$", 1)


def draw_densities(axes: Any) -> None:
    """Draw both densities; the logistic one is more peaked and has the heavier tails."""
    x = np.linspace(-5, 5, 401)
    curve(axes, x, np.exp(-x * x / 2) / np.sqrt(2 * np.pi), 0)
    curve(axes, x, 1 / (4 * SCALE * np.cosh(x / (2 * SCALE)) ** 2), 1)
    axes.set(xlim=(-5, 5), ylim=(0, 0.49), xlabel="x, deviations from the mean")
    label(axes, (1.0, 0.26), "normal", 0)
    label(axes, (0.55, 0.42), "logistic", 1)


def curve(axes: Any, x: Floats, y: Floats, number: int) -> None:
    """Draw a curve in a colour of the palette."""
    axes.plot(x, y, color=theme.PALETTE[number], lw=2.2)


def label(axes: Any, place: tuple[float, float], words: str, number: int) -> None:
    """Write words beside a curve, in its colour."""
    colour = theme.WORDS[number]
    axes.text(*place, words, color=colour, fontweight="bold", parse_math=True)


if __name__ == "__main__":
    main()
