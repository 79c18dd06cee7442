"""Why one match changed one player's rating, in numbers that add up."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.times import to_the_minute, utc
from equipoise.display import Tabular, name_in_words, number_in_words
from equipoise.errors import require
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl


#: Points of a density: the trapezoidal rule on them is exact to 1e-9 for smooth densities whose
#: ends are as low as this share of the top.
_POINTS = 4001
_LOW = 1e-16
#: scale of a logistic distribution over its standard deviation
_SCALE = math.sqrt(3.0) / math.pi


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Belief(Tabular):
    """The posterior density of a player's skill, equation (7) of [EM]_ with multiplicities.

    The rating is its mode, and the deviation comes from (9), as if all factors were normal. Mean,
    median, standard deviation and intervals here are those of the density itself.

    player : id
    rating : mode of the density, rating points
    deviation : by (9), rating points
    prior, prior_deviation : of the normal factor, into which old performances may be merged
    performance : shape (K,), remembered performances, oldest first
    beta : shape (K,), standard deviation of each around the skill
    multiplicity : shape (K,), the power omega of its factor, 1 before any diffusion

    Examples
    --------
    >>> contests = eq.read_history("examples/contests.csv")
    >>> belief = eq.explain(eq.EloMMR(), contests, "jade-kite").belief
    >>> belief
    <Belief: jade-kite, mode 2,301.6, mean 2,300.1, 12 performances>
    >>> round(belief.median() - belief.rating, 1), round(belief.standard_deviation(), 1)
    (-1.0, 73.6)
    """

    player: object
    rating: float
    deviation: float
    prior: float
    prior_deviation: float
    performance: Floats
    beta: Floats
    multiplicity: Floats

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Belief):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, one.name), getattr(other, one.name))
            for one in fields(self)
        )

    def __hash__(self) -> int:
        return hash((self.player, self.rating, self.deviation))

    def log_density(self, skill: Floats) -> Floats:
        """Return the logarithm of the density over that at the rating, in the shape of `skill`."""
        return self._log(np.asarray(skill, dtype=np.float64)) - self._log(np.array(self.rating))

    def density(self, skill: Floats) -> Floats:
        """Return the density at every skill, 1/rating points; it integrates to 1."""
        grid, heights = self._grid()
        area = float(np.sum(heights) * (grid[1] - grid[0]))
        return np.asarray(np.exp(self.log_density(skill)) / area)

    def mean(self) -> float:
        """Return the mean skill."""
        grid, heights = self._grid()
        return float(np.sum(grid * heights) / np.sum(heights))

    def median(self) -> float:
        """Return the skill that is as likely too high as too low."""
        return self.quantile(0.5)

    def standard_deviation(self) -> float:
        """Return the standard deviation of the density, which (9) approximates."""
        grid, heights = self._grid()
        away = grid - float(np.sum(grid * heights) / np.sum(heights))
        return math.sqrt(float(np.sum(away * away * heights) / np.sum(heights)))

    def quantile(self, share: float) -> float:
        """Return the skill that the player is below with a probability above 0 and below 1."""
        require(0 < share < 1, "share", "above 0 and below 1", share)
        grid, heights = self._grid()
        below = np.concatenate([[0.0], np.cumsum(0.5 * (heights[1:] + heights[:-1]))])
        return float(np.interp(share * below[-1], below, grid))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the skills between which the player is with this probability, as quantiles."""
        require(0 < confidence < 1, "confidence", "above 0 and below 1", confidence)
        return self.quantile(0.5 - 0.5 * confidence), self.quantile(0.5 + 0.5 * confidence)

    def moved(self, points: float) -> Belief:
        """Return the belief with every part of it higher by so many points."""
        return Belief(
            player=self.player,
            rating=self.rating + points,
            deviation=self.deviation,
            prior=self.prior + points,
            prior_deviation=self.prior_deviation,
            performance=self.performance + points,
            beta=self.beta,
            multiplicity=self.multiplicity,
        )

    def to_polars(self) -> pl.DataFrame:
        """Return a table of the density at 401 skills around the rating."""
        import polars as pl

        skill = self._grid()[0][:: (_POINTS - 1) // 400]
        return pl.DataFrame({"skill": skill, "density": self.density(skill)})

    def _in_words(self) -> str:
        return (
            f"{self.player}, mode {self.rating:,.1f}, mean {self.mean():,.1f}, "
            f"{counted(len(self.performance), 'performance')}"
        )

    def _log(self, skill: Floats) -> Floats:
        """Return the logarithm of (7)."""
        total = -0.5 * ((skill - self.prior) / self.prior_deviation) ** 2
        for p, beta, omega in zip(
            self.performance.tolist(), self.beta.tolist(), self.multiplicity.tolist(), strict=True
        ):
            z = np.abs(skill - p) / (2.0 * _SCALE * beta)
            # log sech^2(z), which does not overflow.
            total = total - 2.0 * omega * (z + np.log1p(np.exp(-2.0 * z)) - math.log(2.0))
        return np.asarray(total)

    def _grid(self) -> tuple[Floats, Floats]:
        """Return skills at equal distances, and the density there over that at the rating.

        It is log-concave, so the ends at which it is negligible are found by doubling.
        """
        ends = []
        for side in (-1.0, 1.0):
            reach = 8.0 * self.deviation
            while self.log_density(np.array(self.rating + side * reach)) > math.log(_LOW):
                reach *= 1.25
            ends.append(self.rating + side * reach)
        grid = np.linspace(ends[0], ends[1], _POINTS)
        return grid, np.exp(self.log_density(grid))


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
                "part": [part.name for part in self.contributions],
                "change": [part.change for part in self.contributions],
                "reason": [part.reason for part in self.contributions],
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
