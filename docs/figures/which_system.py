"""Draw docs/figures/which_system.svg: how far systems are from the best in games of teams.

Run: python docs/figures/which_system.py
The numbers are those that benchmarks/team_games.py kept in benchmarks/results/team_games.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from equipoise.charts import theme

HERE = Path(__file__).parent
NUMBERS = HERE.parents[1] / "benchmarks" / "results" / "team_games.json"
GAMES = {"UT4": "Unreal Tournament 4", "football": "international football"}
#: In matches of two the same as plackett-luce.
HIDDEN = "bradley-terry"
TUNED = ", tuned"


def draw(target: Path) -> None:
    """Write the chart."""
    kept = json.loads(NUMBERS.read_text())
    with theme.style():
        figure, axes = theme.new_figure(
            "How much worse than the best?",
            "Log loss less that of the best system, with 95 % intervals. Filled: tuned on the "
            "first 30 % of the matches, hollow: defaults. An interval that meets the line is no "
            "difference.",
            theme.Size(7.5, 7.4),
        )
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.axvline(0.0, color=theme.INK, lw=1.0)
        ticks = _draw_games(axes, kept)
        axes.set_yticks(list(ticks), list(ticks.values()))
        for text in axes.get_yticklabels():
            if text.get_text() in GAMES.values():
                text.set_fontweight("bold")
        axes.set_ylim(max(ticks) + 0.7, -0.7)
        axes.set_xlabel("log loss less the best's")
        theme.fit_axes(figure, axes)
    with target.open("wb") as file:
        theme.save(figure, file, "svg")


def _draw_games(axes: Any, kept: dict[str, dict[str, list[float]]]) -> dict[int, str]:
    """Draw a row for every system, game after game; return the names of the rows."""
    ticks: dict[int, str] = {}
    for number, (game, title) in enumerate(GAMES.items()):
        found, ticks[len(ticks)] = kept[game], title
        names = {label.removesuffix(TUNED) for label in found} - {HIDDEN}
        for name in sorted(names, key=lambda one: _better(found, one)):
            row = len(ticks)
            ticks[row] = name
            _draw_one(axes, row - 0.16, found[f"{name}{TUNED}"], number, filled=True)
            _draw_one(axes, row + 0.16, found[name], number, filled=False)
    return ticks


def _better(found: dict[str, list[float]], name: str) -> tuple[float, str]:
    """Return by what systems are put in order: the better of both ways."""
    return min(found[name][0], found[f"{name}{TUNED}"][0]), name


def _draw_one(axes: Any, y: float, difference: list[float], number: int, *, filled: bool) -> None:
    """Draw a difference with its interval."""
    value, low, high = difference
    colour = theme.PALETTE[number]
    axes.plot([low, high], [y, y], color=colour, lw=1.4, alpha=0.7)
    face = colour if filled else theme.PAGE
    axes.plot([value], [y], "o", ms=6, mec=colour, mfc=face, mew=1.4)


if __name__ == "__main__":
    draw(HERE / "which_system.svg")
