"""What the document leaves open, on its own tournaments: the start, the curve, weights, periods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np
import polars as pl

from equipoise.formats.games import read_games
from equipoise.tournament.curves import CurveName
from equipoise.tournament.equilibrium import performance_equilibrium
from equipoise.tournament.formulas import fide_performance, fide_rating_change
from papers.items import Facts
from papers.lines import Line, beyond
from papers.performance.tournaments import (
    AVERAGE_1970,
    GRANDS_PRIX,
    grand_prix,
    of,
    table,
    weighted,
)


def start(_: Facts) -> Iterator[Line]:
    """Yield Aronian's PPR from other starts; all others move by the same points."""
    games = grand_prix("palma")
    values = {
        "the average": performance_equilibrium(games),
        "the ratings before": performance_equilibrium(games, select="initial"),
        "the mean of the PPRs": performance_equilibrium(games, select="mean"),
        "an average of 2700": performance_equilibrium(games, anchor=2700.0),
    }
    for says, found in values.items():
        rating = of(games, found.rating)["Aronian"]
        yield beyond(f"Palma, Aronian: PPR from {says}", f"{rating:.1f}")


def curves(_: Facts) -> Iterator[Line]:
    """Yield who is first, and how far ahead of the last, with every named curve."""
    games = grand_prix("palma")
    for name in get_args(CurveName):
        found = of(games, performance_equilibrium(games, curve=name).rating)
        order = sorted(found, key=lambda one: -found[one])
        spread = found[order[0]] - found[order[-1]]
        yield beyond(
            f"Palma: first by PPR with the curve {name}",
            f"{order[0]}, {spread:.0f} points above {order[-1]}",
        )


def weights(_: Facts) -> Iterator[Line]:
    """Yield the effect of weights: none if all are equal, some if the last round counts twice."""
    games = grand_prix("palma")
    before = performance_equilibrium(games).rating
    last = table("palma2017")["round"].to_numpy() == 9
    for says, weight in (
        ("every game counts twice", np.full(len(last), 2.0)),
        ("the last round counts twice", np.where(last, 2.0, 1.0)),
    ):
        moved = performance_equilibrium(weighted(games, weight)).rating - before
        yield beyond(
            f"Palma: PPRs move if {says}, points", f"by up to {float(np.max(np.abs(moved))):.1f}"
        )


def fide(_: Facts) -> Iterator[Line]:
    """Yield FIDE's performance rating and rating change of the winners."""
    for where, name in zip(GRANDS_PRIX, ("Jakovenko", "Grischuk"), strict=True):
        games = grand_prix(where)
        performed = of(games, fide_performance(games))[name]
        change = of(games, fide_rating_change(games, k_factor=10.0))[name]
        yield beyond(
            f"{where.capitalize()}, {name}: FIDE's performance, and change with K = 10",
            f"{performed:.0f}, {change:+.1f}",
        )


def periods(_: Facts) -> Iterator[Line]:
    """Yield Fischer's PPR in both halves of the Interzonal."""
    rows = table("interzonal1970")
    for first, last in ((1, 12), (13, 23)):
        part = read_games(rows.filter(pl.col("round").is_between(first, last)))
        found = of(part, performance_equilibrium(part, anchor=AVERAGE_1970).rating)
        yield beyond(f"1970, rounds {first} to {last}: Fischer's PPR", f"{found['Fischer']:.0f}")
