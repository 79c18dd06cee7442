"""Draw docs/figures/rebalance.svg: how far every method is from the most even teams.

Run: python docs/figures/rebalance.py
1,000 made-up matches of each kind, those of benchmarks/rebalance.py: mmr N(1500, 300), a quarter of
the parties pairs and a seventh threes. Takes about a minute.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import equipoise as eq
from equipoise.arrays import Floats
from equipoise.charts import theme
from equipoise.data.rebalancing import MatchedParty, MatchedPlayer, Rule

HERE = Path(__file__).parent
MATCHES = 1_000
METHODS = ("permutation", "combination", "greedy")
KINDS = ((12, 2), (16, 4))
SIZE = theme.Size(7.5, 4.4)


def sizes_of(players: int, seed: int) -> list[int]:
    """Return sizes of parties that make so many players."""
    rng = np.random.default_rng(10_000 + seed)
    sizes: list[int] = []
    while sum(sizes) < players:
        size = int(rng.choice((1, 2, 3), p=(0.6, 0.25, 0.15)))
        sizes.append(min(size, players - sum(sizes)))
    return sizes


def match(players: int, teams: int, seed: int) -> eq.RebalanceRequest:
    """Return a match of random parties."""
    mmr = np.round(np.random.default_rng(seed).normal(1500, 300, players)).tolist()
    ids = iter(range(players))
    most = players // teams
    return eq.RebalanceRequest(
        ruleset=eq.Ruleset(
            min_number=teams,
            max_number=teams,
            player_min_number=most,
            player_max_number=most,
            rules=(Rule(attribute="mmr"),),
        ),
        parties=tuple(
            MatchedParty(
                players=tuple(
                    MatchedPlayer(player=one, attributes={"mmr": mmr[one]})
                    for one in (next(ids) for _ in range(size))
                )
            )
            for size in sizes_of(players, seed)
        ),
    )


def gaps_of(players: int, teams: int) -> dict[str, Floats]:
    """Return, by method, how much the distance is above the least there is."""
    gaps: dict[str, list[float]] = {method: [] for method in METHODS}
    seed = counted = 0
    while counted < MATCHES:
        asked = match(players, teams, seed)
        seed += 1
        try:
            best = eq.rebalance(asked, method="optimal").distance
        except eq.InvalidDataError:
            continue  # the parties fit into no teams
        counted += 1
        for method in METHODS:
            found = eq.rebalance(asked, method=method)
            if found.method == method:
                gaps[method].append(max(found.distance - best, 0.0))
    return {method: np.sort(one) for method, one in gaps.items()}


def main() -> None:
    """Measure, draw both kinds side by side and write the file."""
    with theme.style():
        figure, left = theme.new_figure(
            "How far from the most even teams?",
            "Share of 1,000 made-up matches whose distance is at most so much above the least, in "
            "mmr points. Left two teams of six, right four teams of four.",
            SIZE,
        )
        right = figure.add_axes(left.get_position())
        for axes, (players, teams) in zip((left, right), KINDS, strict=True):
            draw(axes, gaps_of(players, teams), f"{teams} x {players // teams}")
        theme.fit_axes(figure, [left, right])
    with (HERE / "rebalance.svg").open("wb") as file:
        theme.save(figure, file, "svg")


def draw(axes: Any, gaps: dict[str, Floats], kind: str) -> None:
    """Draw the share of matches up to every gap."""
    for number, method in enumerate(METHODS):
        share = np.linspace(0, 100, 201)
        gap = np.quantile(gaps[method], share / 100, method="inverted_cdf")
        width = 5.0 if method == "permutation" else 2.2
        axes.plot([0, *gap, 600], [0, *share, 100], color=theme.PALETTE[number], lw=width)
    axes.set(xlim=(-8, 420), ylim=(0, 104), xlabel=f"gap in mmr points, {kind}")
    label(axes, (14, 4), "permutation and\ncombination", 0)
    label(axes, (200, 62), "greedy", 2)


def label(axes: Any, place: tuple[float, float], words: str, number: int) -> None:
    """Write words beside a curve, in its colour."""
    axes.text(*place, words, color=theme.WORDS[number], fontweight="bold")


if __name__ == "__main__":
    main()
