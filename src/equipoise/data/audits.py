"""What an audit of drift found: how high the active players' ratings stand, and why.

What an audit of incentives found: how much a player would have gained by doing worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from equipoise.arrays import Flags, Floats, Ids, Ints

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
        columns |= {name: getattr(self, name) for name in DRIFT_COLUMNS}
        return pl.DataFrame(columns).fill_nan(None)


#: What moves the mean rating of the active players, and a part of the first.
MOVES = ("by_matches", "by_entering", "by_leaving", "by_performance")

#: Columns of the table after match and time.
DRIFT_COLUMNS = (
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


#: How the other players respond: they keep the ratings they had before each match, or everything
#: is rated anew.
Others: TypeAlias = Literal["frozen", "replayed"]

#: Rating points: what is gained beyond the rounding of ratings that took thousands of steps.
LEAST_GAIN = 1e-6


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Incentive:
    """The best plan found for one player under one system; every array of shape (k,).

    A plan says in which of k matches the player's team would have come in worse than it did.

    system : its name in the registry
    player : id, int or str
    others : whether the other players keep their ratings
    played : rated matches of the player in all
    match_ids, times : of the k matches considered, in their order; no times is None
    teams : in each of them
    place, tied : where the team came, from 1, and other teams in that place
    planned_place, planned_tied : where it would have come by the plan
    before : rating before the first of the matches
    honest, planned : rating after each match, as it was and by the plan
    gain_frozen : what the best plan gains while the others keep their ratings
    plans, failed : plans that were tried, the honest one among them, and those of them after which
        the system has no rating for the player
    complete : whether these are all there are, so that no better one exists
    """

    system: str
    player: Any
    others: Others
    played: int
    match_ids: Ids
    times: Ids | None
    teams: Ints
    place: Ints
    tied: Ints
    planned_place: Ints
    planned_tied: Ints
    before: float
    honest: Floats
    planned: Floats
    gain_frozen: float
    plans: int
    failed: int
    complete: bool

    @property
    def gain(self) -> float:
        """How far the plan's last rating is above the honest one; 0 where no plan gains."""
        return float(self.planned[-1] - self.honest[-1])

    @property
    def thrown(self) -> Flags:
        """Whether the plan has the player do worse in a match, shape (k,)."""
        worse: Flags = (self.place != self.planned_place) | (self.tied != self.planned_tied)
        return worse

    def to_polars(self) -> pl.DataFrame:
        """Return a table with a row a match."""
        import polars as pl

        columns: dict[str, object] = {"match": self.match_ids}
        if self.times is not None:
            columns["time"] = self.times
        columns |= {name: getattr(self, name) for name in INCENTIVE_COLUMNS}
        return pl.DataFrame(columns)


#: Columns of the table after match and time.
INCENTIVE_COLUMNS = (
    "teams",
    "place",
    "tied",
    "planned_place",
    "planned_tied",
    "thrown",
    "honest",
    "planned",
)
