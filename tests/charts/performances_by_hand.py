"""Performances for tests of charts."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.data.tournament import PerformanceSeries


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
