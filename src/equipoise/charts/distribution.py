"""How the ratings of a pool are spread: counts by rating, mean, median, percentiles, places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.ratings import Ratings
from equipoise.errors import InvalidDataError
from equipoise.wording import counted

#: Percentiles that are marked, beside the median.
PERCENTILES = (5, 25, 75, 95)
#: Widths of a bar in rating points.
_WIDTHS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000)
_MOST_BARS = 80


@dataclass(frozen=True, slots=True)
class Place:
    """Where one player stands in a pool.

    above : share of the players in the pool with a higher rating, from 0 to 1
    """

    player: int | str
    rating: float
    above: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Distribution:
    """The ratings of a pool's players.

    edges : shape (b + 1,), rising, at round numbers; counts : shape (b,), players in
        edges[i] <= rating < edges[i + 1]
    percentiles : per cent -> the rating below which so many of the players are
    places : of the players asked for
    """

    players: int
    edges: Floats
    counts: Ints
    mean: float
    median: float
    percentiles: dict[int, float]
    places: tuple[Place, ...]


def distribution(
    ratings: Ratings, *, min_matches: int = 1, rows: Sequence[int] = ()
) -> Distribution:
    """Return how the ratings of players with at least `min_matches` rated matches are spread.

    rows : of players whose places are wanted, whatever their number of matches
    Raises : InvalidDataError   no player has so many matches
    """
    rating = ratings.rating[ratings.matches >= min_matches]
    if not len(rating):
        most = int(ratings.matches.max(initial=0))
        raise InvalidDataError(
            [],
            f"no player has {counted(min_matches, 'rated match', 'rated matches')}: the busiest "
            f"has {most}",
        )
    edges = _round_edges(rating)
    return Distribution(
        players=len(rating),
        edges=edges,
        # A rating that only rounding puts past an end belongs to the bar there.
        counts=np.histogram(np.clip(rating, edges[0], edges[-1]), edges)[0].astype(np.int64),
        mean=float(rating.mean()),
        median=float(np.median(rating)),
        percentiles={one: float(np.percentile(rating, one)) for one in PERCENTILES},
        places=tuple(
            Place(
                ratings.player_ids[row : row + 1].tolist()[0],
                float(ratings.rating[row]),
                float(np.mean(rating > ratings.rating[row])),
            )
            for row in rows
        ),
    )


def _round_edges(rating: Floats) -> Floats:
    """Return edges at multiples of a round width, by the rule of Freedman and Diaconis.

    Their width is twice the middle half divided by the cube root of the number of players.
    """
    low, high = float(rating.min()), float(rating.max())
    middle = float(np.subtract(*np.percentile(rating, [75, 25])))
    wanted = max(2.0 * middle / np.cbrt(len(rating)), (high - low) / _MOST_BARS)
    width = float(next((one for one in _WIDTHS if one >= wanted), _WIDTHS[-1]))
    first = np.floor(low / width)
    # The greatest rating must lie below the last edge.
    last = max(np.floor(high / width) + 1, first + 1)
    return np.asarray(np.arange(first, last + 1) * width, dtype=np.float64)


def share_above(share: float) -> str:
    """Return a share of players above as people say it: "top 3 %"."""
    if share == 0:
        return "first"
    percent = 100 * share
    # Rounded up, as nobody within the top 0.04 % is within the top 0.0 %.
    digits = 0 if percent >= 10 else 1 if percent >= 0.1 else 3
    return f"top {np.ceil(percent * 10**digits) / 10**digits:.{digits}f} %"
