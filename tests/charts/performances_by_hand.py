"""Performances for tests of charts."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.data.tournament import ClassGraph, PerformanceSeries


def performances(ppr: list[float], **columns: Any) -> PerformanceSeries:
    """Return players with these PPR, NaN for the rest that is not given."""
    count = len(ppr)
    found: dict[str, Any] = {
        name: np.array(columns.pop(name, [np.nan] * count), dtype=np.float64)
        for name in ("error", "tpr", "rating", "lower", "upper")
    }
    for name, value in (("points", 4.5), ("games", 9.0)):
        found[name] = np.array(columns.pop(name, [value] * count), dtype=np.float64)
    names = columns.pop("names", [f"player {number}" for number in range(count)])
    return PerformanceSeries(names=tuple(names), ppr=np.array(ppr, float), **found, **columns)


def field(count: int, seed: int = 0) -> PerformanceSeries:
    """Return players with everything, of whom the first was never beaten, the second never won."""
    rng = np.random.default_rng(seed)
    ppr = rng.normal(2700, 100, count)
    error = np.full(count, 200.0)
    lower, upper = np.full((2, count), np.nan)
    lower[0], ppr[0] = 2900, np.nan
    if count > 1:
        upper[1], ppr[1] = 2500, np.nan
    return performances(
        ppr.tolist(),
        error=error,
        tpr=ppr + 20,
        rating=np.where(rng.random(count) < 0.1, np.nan, ppr - 30),
        lower=lower,
        upper=upper,
    )


def graph(classes: list[list[str]], arcs: list[tuple[int, int, float]]) -> ClassGraph:
    """Return a graph of classes; an arc is winners, losers, games."""
    return ClassGraph(
        classes=tuple(map(tuple, classes)),
        above=np.array([arc[0] for arc in arcs], dtype=np.int64),
        below=np.array([arc[1] for arc in arcs], dtype=np.int64),
        games=np.array([arc[2] for arc in arcs], dtype=np.float64),
    )


def knock_out(players: int) -> ClassGraph:
    """Return a knock-out that always the player with the lower number wins."""
    arcs, left = [], list(range(players))
    while len(left) > 1:
        arcs += [(left[i], left[i + 1], 1.0) for i in range(0, len(left), 2)]
        left = left[::2]
    return graph([[f"player {number}"] for number in range(players)], arcs)


def world_cup() -> ClassGraph:
    """Return a champion, a class of 12 and many beaten by it, some of those by one another."""
    beaten = [[f"team {number}"] for number in range(14)]
    arcs = [(0, 1, 2.0)] + [(1, row, 1.0 + row % 3) for row in range(2, 16)]
    arcs += [(0, 5, 1.0), (0, 8, 1.0), (2, 9, 1.0), (3, 10, 1.0), (4, 11, 1.0), (9, 12, 1.0)]
    return graph([["champion"], [f"nation {number}" for number in range(12)], *beaten], arcs)
