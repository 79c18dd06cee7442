"""Draw docs/figures/season.svg: three players of the bundled sample through their season.

Run: python docs/figures/season.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from equipoise import EloMMR, read_history, replay

HERE = Path(__file__).parent
PLAYERS = ("jade-kite", "dune-crane", "birch-fox")
COLOURS = ("#0b6e99", "#4c7a34", "#7a4b94")


def main() -> None:
    """Replay the season and draw ratings, two deviations either way, and performances."""
    history = read_history(HERE.parents[1] / "examples" / "contests.csv")
    trace = replay(EloMMR(), history, trace=True).trace
    assert trace is not None
    week = history.match_rows() + 1
    plt.rcParams.update({"font.family": "sans-serif", "font.size": 11, "svg.hashsalt": "season"})
    figure, axes = plt.subplots(figsize=(9, 4.8), layout="constrained")
    for player, colour in zip(PLAYERS, COLOURS, strict=True):
        rows = np.flatnonzero(history.player == history.player_row(player))
        weeks, rating = week[rows], trace.columns["rating"][rows]
        spread = 2 * trace.columns["deviation"][rows]
        axes.fill_between(weeks, rating - spread, rating + spread, color=colour, alpha=0.12, lw=0)
        axes.plot(weeks, trace.columns["performance"][rows], ".", color=colour, alpha=0.55, ms=6)
        axes.plot(weeks, rating, color=colour, lw=2)
        axes.annotate(
            player,
            (weeks[-1], rating[-1]),
            xytext=(8, 0),
            textcoords="offset points",
            color=colour,
            va="center",
        )
    axes.set(xlabel="contest", ylabel="rating", xlim=(0.5, 46))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.set_title(
        "Elo-MMR through a season: rating, two deviations either way, performances (dots)",
        loc="left",
        fontsize=11,
    )
    figure.savefig(HERE / "season.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
