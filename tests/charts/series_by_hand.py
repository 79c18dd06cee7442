"""Small rated histories for the tests of charts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.analysis.plot.chart import RatingSeries


def series(
    rating: Sequence[float],
    *,
    player: str = "ann",
    days: Sequence[float] | None = None,
    deviation: float = 80.0,
    performance: Sequence[float] | None = None,
) -> RatingSeries:
    """Return a series by time, a match a day where nothing else is said."""
    count = len(rating)
    place = np.array(range(count) if days is None else days) * 86_400_000_000
    return RatingSeries(
        player=player,
        matches=np.arange(1, count + 1),
        times=None,
        place=place.astype(np.int64).astype("datetime64[us]"),
        rating=np.array(rating, dtype=float),
        deviation=np.full(count, deviation),
        performance=np.full(count, np.nan)
        if performance is None
        else np.array(performance, dtype=float),
    )
