"""Draw docs/figures/matchmaking_ratings.svg: what matching by rating does to ratings.

Run: python docs/figures/matchmaking_ratings.py
The numbers are those that benchmarks/matchmaking_ratings.py kept.
"""

from __future__ import annotations

import json
from pathlib import Path

from equipoise.charts import theme

HERE = Path(__file__).parent
NUMBERS = HERE.parents[1] / "benchmarks" / "results" / "matchmaking_ratings.json"
STYLES = {"within 100 points": "-", "anybody": (0, (4, 3))}


def draw(target: Path) -> None:
    """Write the chart."""
    kept = json.loads(NUMBERS.read_text())
    with theme.style():
        figure, first = theme.new_figure(
            "Matching by rating",
            "Left: error of ratings by games played, matched within 100 points (solid) or with "
            "anybody (dashed). Right: gap between two regions of which one is better by 300 "
            "points, if they never meet (hollow) or share a queue (filled).",
            theme.Size(9.5, 4.8),
        )
        low, top = first.get_position().y0, first.get_position().y1
        second = figure.add_axes((0.6, low, 0.3, top - low))
        first.set_xlabel("games played before")
        first.set_ylabel("error, rating points")
        second.set_xlabel("system")
        second.set_ylabel("gap, rating points")
        second.axhline(300.0, color=theme.INK, lw=1.0)
        for at, (_, system) in enumerate(kept.items()):
            colour = theme.PALETTE[at]
            games = range(len(system["games"]))
            for label, style in STYLES.items():
                first.plot(games, system["error"][label], color=colour, ls=style, lw=2)
            for label, face in (("never meet", theme.PAGE), ("one queue", colour)):
                mean, lower, upper = system["gap"][label]
                second.plot([at, at], [lower, upper], color=colour, lw=2)
                second.plot(at, mean, marker="o", mfc=face, mec=colour, ms=7, ls="none")
        first.set_xticks(range(len(system["games"])), [f"{low}+" for low in system["games"]])
        first.set_ylim(bottom=0.0)
        second.set_xticks([])
        second.set_xlim(-0.5, len(kept) - 0.5)
        texts = [theme.line_label(second, name, at) for at, name in enumerate(kept)]
        theme.fit_axes(figure, [first, second], right=10.0 + max(map(theme.text_width, texts)))
        ends = [system["gap"]["one queue"][0] for system in kept.values()]
        theme.place_labels(second, texts, ends, 10.0)
    with target.open("wb") as file:
        theme.save(figure, file, "svg")


if __name__ == "__main__":
    draw(HERE / "matchmaking_ratings.svg")
