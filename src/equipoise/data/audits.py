"""Results of the two audits: drift of ratings, and incentives to come in worse on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.times import utc_column
from equipoise.display import Tabular, name_in_words, number_in_words
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl


class ActivityWindow(NamedTuple):
    """How recently a player must have played to be active.

    unit : what the length counts; matches of the complete history, whoever played them
    length : above 0; for matches a whole number

    Examples
    --------
    >>> str(eq.ActivityWindow("days", 90))
    '90 days'
    """

    unit: Literal["days", "matches"]
    length: float

    def __str__(self) -> str:
        """Return the window with its unit: "1 match", "90 days"."""
        singular = "match" if self.unit == "matches" else "day"
        return f"{self.length:,.10g} {singular if self.length == 1 else self.unit}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Drift(Tabular):
    """Result of a drift audit: ratings at k points of a history; every array has shape (k,).

    system : its name in the registry
    window : which players are active
    start : mean rating of the players of the first rated match, before it; NaN without one
    matches : number of matches so far
    times : times of the points, written as in tables of the history; None without times
    active : number of players with a rated match in the window
    rating, deviation, spread : of active players: mean rating, mean deviation read at that time,
        and standard deviation of the ratings; NaN without active players
    players, rating_all : number of players so far, and their mean rating
    rated : number of rated matches so far
    created, created_by_performance : sum of all changes of rating so far, in points, and the part
        of it due to scaling by performance; NaN if the system does not scale
    by_matches, by_entering, by_leaving : change of `rating` since the previous point due to
      matches, to players who became active (for the first time or again), and to players who became
      inactive
    by_performance : part of `by_matches` due to scaling by performance; NaN as above
    by_level : part of `by_matches` that holds the level; NaN if the system does not
    newcomers : number of newcomers since the previous point
    entered, performed : mean rating with which these entered, and mean of their first performances;
        NaN without newcomers. Of all newcomers: `performed_all`, a number
    brought : ratings with which newcomers have entered so far, less `start` for each of them
    entry, entry_weight : where newcomers enter at the point, and the weight of a learned entry; NaN
        if it is fixed
    level, target : level of the pool and its target; NaN if the system does not hold it
    handed : points handed out to hold the level so far; NaN as above

    Examples
    --------
    >>> club = eq.read_history("examples/contests.csv")
    >>> drift = eq.drift(eq.Elo(), club)
    >>> drift.window.unit
    'days'
    >>> drift.head(2).columns[:4]
    ['matches', 'time', 'active', 'rating']
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
    by_level: Floats
    newcomers: Ints
    entered: Floats
    performed: Floats
    performed_all: float
    brought: Floats
    entry: Floats
    entry_weight: Floats
    level: Floats
    target: Floats
    handed: Floats

    @property
    def learns(self) -> bool:
        """Whether the system learns where newcomers enter."""
        return not bool(np.isnan(self.entry_weight).all())

    @property
    def holds(self) -> bool:
        """Whether the system holds the level of the pool."""
        return not bool(np.isnan(self.handed).all())

    @property
    def lost(self) -> Floats:
        """Ratings of the players who are not active, less `start` for each of them.

        So active * (rating - start) is brought + created - lost.
        """
        every = np.where(self.players > 0, self.players * (self.rating_all - self.start), 0.0)
        active = np.where(self.active > 0, self.active * (self.rating - self.start), 0.0)
        return every - active

    @property
    def scales(self) -> bool:
        """Whether the system scales changes by performance."""
        return not bool(np.isnan(self.created_by_performance).all())

    @property
    def inflation(self) -> Floats:
        """Points created per rated match so far; NaN before the first."""
        return quotient(self.created, self.rated)

    @property
    def inflation_by_performance(self) -> Floats:
        """The part of it that is due to scaling by performance."""
        return quotient(self.created_by_performance, self.rated)

    @property
    def added(self) -> Floats:
        """Points created per player so far: `rating_all` minus the ratings of newcomers."""
        return quotient(self.created, self.players)

    @property
    def added_by_performance(self) -> Floats:
        """The part of it that is due to scaling by performance."""
        return quotient(self.created_by_performance, self.players)

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each point; NaN is null, and times are in UTC."""
        return _in_utc(self.file_table(), self.times)

    def _in_words(self) -> str:
        return (
            f"{self.system}, {counted(len(self.matches), 'point')}; "
            f"{number_in_words(float(self.inflation[-1]), 3)} points created per rated match"
            if len(self.matches)
            else f"{self.system}, no points"
        )

    def file_table(self) -> pl.DataFrame:
        """Return the same table for a file, with times of the kind that came in."""
        import polars as pl

        columns: dict[str, object] = {"matches": self.matches}
        if self.times is not None:
            columns["time"] = self.times
        columns |= {name: getattr(self, name) for name in DRIFT_COLUMNS}
        return pl.DataFrame(columns).fill_nan(None)


#: Parts of the change of the mean rating of active players; the last two are parts of the first.
MOVES = ("by_matches", "by_entering", "by_leaving", "by_performance", "by_level")

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
    "newcomers",
    "entered",
    "performed",
    "brought",
    "lost",
    "entry",
    "entry_weight",
    "level",
    "target",
    "handed",
)


def _in_utc(table: pl.DataFrame, times: Ids | None) -> pl.DataFrame:
    """Return a table with its times in UTC, if it has times."""
    return table if times is None else table.with_columns(utc_column(times).alias("time"))


def quotient(sums: Floats, counts: Ints | Floats) -> Floats:
    """Return sums over counts, NaN if a count is 0."""
    quotient = np.full(len(sums), np.nan)
    np.divide(sums, counts, out=quotient, where=counts > 0)
    return quotient


#: Smallest gain, in rating points, that rounding over thousands of steps cannot explain.
LEAST_GAIN = 1e-6


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Incentive(Tabular):
    """Result of an incentive audit: the best plan found for one player; arrays have shape (k,).

    A plan says in which of k matches the player's team comes in worse than it did.

    system : its name in the registry
    player : id, int or str
    played : number of all rated matches of the player
    match_ids, times : of the k matches considered, in their order; None without times
    teams : number of teams in each of them
    place, tied : place of the team, from 1, and number of other teams in that place
    planned_place, planned_tied : the same by the plan
    before : rating before the first of the matches
    honest, planned : rating after each match, as it was and by the plan
    plans, failed : number of plans tried, including the honest one, and number of those after which
        the system has no rating for the player
    complete : whether all plans were tried, so that no better one exists

    Examples
    --------
    >>> club = eq.read_history("examples/contests.csv")
    >>> found = eq.incentives(eq.Elo(), club, ["cedar-bear"])
    >>> found[0].gain
    0.0
    """

    system: str
    player: Any
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
    plans: int
    failed: int
    complete: bool

    @property
    def gain(self) -> float:
        """Last rating by the plan minus the honest one; 0 if no plan gains."""
        return float(self.planned[-1] - self.honest[-1])

    @property
    def thrown(self) -> Flags:
        """Whether the plan throws a match, shape (k,)."""
        worse: Flags = (self.place != self.planned_place) | (self.tied != self.planned_tied)
        return worse

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each match; times are in UTC."""
        return _in_utc(self.file_table(), self.times)

    def _in_words(self) -> str:
        return (
            f"{name_in_words(self.player)} gains {number_in_words(self.gain)} points in "
            f"{self.system} by throwing {int(self.thrown.sum())} of "
            f"{counted(len(self.match_ids), 'match', 'matches')}"
        )

    def file_table(self) -> pl.DataFrame:
        """Return the same table for a file, with times of the kind that came in."""
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
