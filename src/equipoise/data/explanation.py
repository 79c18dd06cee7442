"""Why one match changed one player's rating, in numbers that add up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from equipoise.data.belief import Belief
from equipoise.data.times import to_the_minute, utc
from equipoise.display import Tabular, name_in_words, number_in_words

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """One part of a change of rating.

    name : its source, short: "this match", "earlier performances"
    change : rating points; all parts of an explanation add up to the total change
    reason : a sentence that explains its size

    Examples
    --------
    >>> duels = eq.read_history({
    ...     "match": [1, 1, 2, 2], "player": ["ann", "ben", "ben", "cid"], "rank": [1, 2, 1, 2],
    ... })
    >>> why = eq.explain(eq.Elo(), duels, "ben")
    >>> for one in why.contributions:
    ...     print(one.name, round(one.change, 2))
    the win 16.74
    """

    name: str
    change: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One intermediate number of the computation of the change.

    name : as in the documentation: "performance", "diffused deviation"
    value : in `unit`
    unit : "points", "places", "" for a plain number
    meaning : a sentence

    Examples
    --------
    >>> duels = eq.read_history({
    ...     "match": [1, 1, 2, 2], "player": ["ann", "ben", "ben", "cid"], "rank": [1, 2, 1, 2],
    ... })
    >>> why = eq.explain(eq.Elo(), duels, "ben")
    >>> for one in why.quantities:
    ...     print(one.name, round(one.value, 3))
    strength 1484.0
    expected score 0.477
    score 1.0
    K 32.0
    """

    name: str
    value: float
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opponent:
    """The effect of one opponent or opposing team.

    player : id
    rank : place, from 1
    rating, deviation : before the match
    score : 1 beaten, 1/2 tied, 0 lost to
    expected : the score that was expected
    effect : change of the performance by this result in rating points, or of the rating in systems
      without performances; to first order if the effects of opponents are not additive

    Examples
    --------
    >>> duels = eq.read_history({
    ...     "match": [1, 1, 2, 2], "player": ["ann", "ben", "ben", "cid"], "rank": [1, 2, 1, 2],
    ... })
    >>> why = eq.explain(eq.Elo(), duels, "ben")
    >>> one = why.opponents[0]
    >>> one.player, one.score, round(one.effect, 2)
    ('cid', 1.0, 16.74)
    """

    player: object
    rank: int
    rating: float
    deviation: float
    score: float
    expected: float
    effect: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The part of one remembered performance in the new rating.

    match : id, None for the prior and the performances merged into it
    time : days since 1970, NaN if unknown
    performance : rating points
    weight : fraction of the new rating, which is the mean of performances with these weights
    change : weight x (performance - rating before): its part of the change

    Examples
    --------
    >>> one = eq.Remembered(match=7, time=19723.5, performance=1600.0, weight=0.1, change=12.0)
    >>> print(one.when)
    2024-01-01 12:00:00+00:00
    """

    match: object
    time: float
    performance: float
    weight: float
    change: float

    @property
    def when(self) -> datetime | None:
        """The time in UTC; None if it is unknown."""
        return utc(self.time)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(Tabular):
    """Why the rating of a player changed in a match.

    system : name
    match, player : ids
    time : days since 1970, NaN without times
    rank, tied, teams : place from 1, others in the same place, number of teams
    weight : of the match
    rating_before, deviation_before, rating, deviation : rating points; NaN for no deviation
    expected, score : expected and actual share of opponents beaten; a tie counts one half
    contributions : parts of the change; they sum to rating - rating_before to 1e-9
    quantities : the intermediate numbers from the result to the change, in order
    opponents : those with the largest effect, in that order
    remembered : newest first; empty for systems that remember nothing
    least_change, largest_change : bounds of the change over all possible results; NaN if the system
      has no bound
    belief : the posterior density of the skill after the match; None for systems other than elo-mmr
      and elo-mmx

    Examples
    --------
    >>> duels = eq.read_history({
    ...     "match": [1, 1, 2, 2], "player": ["ann", "ben", "ben", "cid"], "rank": [1, 2, 1, 2],
    ... })
    >>> why = eq.explain(eq.Elo(), duels, "ben")
    >>> why
    <Explanation: ben in match 2, 1,484.0 to 1,500.7 (+16.7) by elo>
    >>> round(sum(one.change for one in why.contributions) - why.change, 9)
    -0.0
    """

    system: str
    match: object
    player: object
    time: float
    rank: int
    tied: int
    teams: int
    weight: float
    rating_before: float
    deviation_before: float
    rating: float
    deviation: float
    expected: float
    score: float
    contributions: tuple[Contribution, ...]
    quantities: tuple[Quantity, ...]
    opponents: tuple[Opponent, ...]
    remembered: tuple[Remembered, ...] = ()
    least_change: float
    largest_change: float
    belief: Belief | None = None

    @property
    def when(self) -> datetime | None:
        """The time of the match in UTC; None without times."""
        return utc(self.time)

    @property
    def change(self) -> float:
        """The change of rating, rating points."""
        return self.rating - self.rating_before

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each part of the change; they add up to `change`."""
        import polars as pl

        return pl.DataFrame(
            {
                "part": [one.name for one in self.contributions],
                "change": [one.change for one in self.contributions],
                "reason": [one.reason for one in self.contributions],
            },
            schema={"part": pl.String, "change": pl.Float64, "reason": pl.String},
        )

    def _in_words(self) -> str:
        when = "" if self.when is None else f" ({to_the_minute(self.when)})"
        before, after = number_in_words(self.rating_before), number_in_words(self.rating)
        return (
            f"{name_in_words(self.player)} in match {name_in_words(self.match)}{when}, "
            f"{before} to {after} ({self.change:+,.1f}) by {self.system}"
        )

    def _notes(self) -> tuple[str, ...]:
        shared = f", with {self.tied} more" if self.tied else ""
        return (
            f"Place {self.rank:,}{shared} of {self.teams:,}: score "
            f"{number_in_words(self.score, 3)}, expected {number_in_words(self.expected, 3)}.",
        )
