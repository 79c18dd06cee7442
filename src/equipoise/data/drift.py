"""What an audit of drift found: how high the active players' ratings stand, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ids, Ints

if TYPE_CHECKING:
    import polars as pl


class ActivityWindow(NamedTuple):
    """How recently a player must have played to be active.

    unit : what is counted; matches are those of the whole history, whoever played them
    length : of the window, above 0, a whole number of matches
    """

    unit: Literal["days", "matches"]
    length: float

    def __str__(self) -> str:
        """Return the window with its unit: "1 match", "90 days"."""
        one = "match" if self.unit == "matches" else "day"
        return f"{self.length:,.10g} {one if self.length == 1 else self.unit}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Drift:
    """Where the ratings of a system stand at k moments of a history; every array of shape (k,).

    system : its name in the registry
    window : which players are active
    start : mean rating of the players of the first rated match before it, NaN without one
    matches : of the history so far
    times : of the moments, as tables of the history have them; None without times
    active : players who have a rated match in the window
    rating, deviation, spread : of the active: mean rating, mean deviation as it is read at that
        moment, and standard deviation of the ratings; NaN where nobody is active
    players, rating_all : players so far, and their mean rating
    rated : rated matches so far
    created, created_by_performance : sum of all changes of rating so far, in points, and what of
        it the scaling by performance gave; NaN where a system scales none
    by_matches, by_entering, by_leaving : what moved `rating` since the moment before: changes in
        matches, players who became active (for the first time or again), players who ceased to be
    by_performance : what of `by_matches` the scaling by performance did; NaN as above
    """

    system: str
    window: ActivityWindow
    start: float
    matches: Ints
    times: Ids | None
    active: Ints
    rating: Floats
    deviation: Floats
    spread: Floats
    players: Ints
    rating_all: Floats
    rated: Ints
    created: Floats
    created_by_performance: Floats
    by_matches: Floats
    by_entering: Floats
    by_leaving: Floats
    by_performance: Floats

    @property
    def scales(self) -> bool:
        """Whether the system scales changes by performance."""
        return not bool(np.isnan(self.created_by_performance).all())

    @property
    def inflation(self) -> Floats:
        """Points created a rated match so far; NaN before the first."""
        return _quotient(self.created, self.rated)

    @property
    def inflation_by_performance(self) -> Floats:
        """What of that the scaling by performance gave."""
        return _quotient(self.created_by_performance, self.rated)

    @property
    def added(self) -> Floats:
        """Points created a player so far: what `rating_all` is above the ratings of new players."""
        return _quotient(self.created, self.players)

    @property
    def added_by_performance(self) -> Floats:
        """What of that the scaling by performance gave."""
        return _quotient(self.created_by_performance, self.players)

    def places(self) -> Ids:
        """Return where the moments lie on an axis: datetime64[us], or numbers of matches."""
        if self.times is None or self.window.unit == "matches":
            return self.matches
        if self.times.dtype.kind == "i":
            stamps: Ids = (self.times * 1_000_000).astype("datetime64[us]")
            return stamps
        return self.times.astype("datetime64[us]")

    def to_polars(self) -> pl.DataFrame:
        """Return a table with a row a moment; NaN is null."""
        import polars as pl

        columns: dict[str, object] = {"matches": self.matches}
        if self.times is not None:
            columns["time"] = self.times
        columns |= {name: getattr(self, name) for name in COLUMNS}
        return pl.DataFrame(columns).fill_nan(None)


#: What moves the mean rating of the active players, and a part of the first.
MOVES = ("by_matches", "by_entering", "by_leaving", "by_performance")

#: Columns of the table after match and time.
COLUMNS = (
    "active",
    "rating",
    "deviation",
    "spread",
    *MOVES,
    "players",
    "rating_all",
    "rated",
    "created",
    "created_by_performance",
    "inflation",
    "inflation_by_performance",
    "added",
    "added_by_performance",
)


def _quotient(sums: Floats, counts: Ints) -> Floats:
    """Return sums over counts, NaN where a count is 0."""
    quotient = np.full(len(sums), np.nan)
    np.divide(sums, counts, out=quotient, where=counts > 0)
    return quotient
