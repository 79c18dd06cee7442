"""What Elo-MMR believes of a player's skill: the posterior density, and statistics of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equipoise.arrays import Floats
from equipoise.display import Tabular
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
