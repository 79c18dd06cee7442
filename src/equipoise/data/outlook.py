"""How the performances of players and teams vary around their expected values.

Win probabilities and expected scores follow from an `Outlook`, and so do the chances of places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from equipoise.arrays import Floats, Ids, Ints
from equipoise.display import Displayed, Tabular, draw
from equipoise.errors import require
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Curve: TypeAlias = Literal["logistic", "normal"]
#: Corrects the centres and scales of teams, given sums over their players.
Correct: TypeAlias = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]

#: Number of teams up to which all pairs are compared at once.
_FEW = 64


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Outlook(Tabular):
    """Centres and scales of performances, and the curve that turns them into probabilities.

    A beats B with probability F((centre_A - centre_B)/sqrt(scale_A^2 + scale_B^2)), F the
    standard logistic or normal distribution function.

    centre, scale : shape (n,), rating points; one entry per player or team
    curve : the function F
    team : whether a team performs at the mean or the sum of its members
    shared : part of every squared scale that counts once for a team, whatever the number of its
      members; the rest counts for each member

    Examples
    --------
    >>> import numpy as np
    >>> centre, scale = np.array([1600.0, 1500.0]), np.array([173.7, 173.7])
    >>> two = eq.Outlook(centre=centre, scale=scale, curve="logistic")
    >>> two.expected().round(3).tolist()
    [0.6, 0.4]
    """

    centre: Floats
    scale: Floats
    curve: Curve
    team: Literal["mean", "sum"] = "mean"
    shared: float = 0.0

    def __post_init__(self) -> None:
        """Refuse unknown words."""
        require(self.curve in ("logistic", "normal"), "curve", "logistic or normal", self.curve)
        require(self.team in ("mean", "sum"), "team", "mean or sum", self.team)

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each player or team."""
        import polars as pl

        number = np.arange(1, len(self.centre) + 1)
        return pl.DataFrame({"number": number, "centre": self.centre, "scale": self.scale})

    def _in_words(self) -> str:
        entries = counted(len(self.centre), "entry", "entries")
        return f"{entries}, {self.curve} curve"

    def of_teams(self, team: Ints, teams: int) -> Outlook:
        """Return the outlook of teams, shape (teams,); team[i] is the team of entry i.

        Centres are averaged or summed. The members' own parts of the squared scales are variances
        of independent terms of that mean or sum.
        """
        centre: Any = np.bincount(team, self.centre, minlength=teams)
        own: Any = np.bincount(team, self.scale**2 - self.shared, minlength=teams)
        if self.team == "mean":
            members = np.bincount(team, minlength=teams)
            centre, own = centre / members, own / members**2
        # Faster than `replace`, which takes a third of the time.
        return Outlook(
            centre=centre,
            scale=np.sqrt(self.shared + own),
            curve=self.curve,
            team=self.team,
            shared=self.shared,
        )

    def of(self, start: int, stop: int) -> Outlook:
        """Return the outlook of entries start:stop."""
        centre, scale = self.centre[start:stop], self.scale[start:stop]
        return Outlook(
            centre=centre, scale=scale, curve=self.curve, team=self.team, shared=self.shared
        )

    def in_pairs(self) -> Floats:
        """Return `expected` of entries 0 and 1, 2 and 3, and so on, shape (n/2, 2)."""
        # The same operations as for more entries, without tables of pairs, which take longer.
        z = (self.centre[::2] - self.centre[1::2]) / np.hypot(self.scale[::2], self.scale[1::2])
        return 0.5 + chance(np.stack([z, -z], axis=1), self.curve) - 0.5

    def beats(self, first: Ints, second: Ints) -> Floats:
        """Return the probability that first[k] beats second[k], shape (k,)."""
        scale = np.hypot(self.scale[first], self.scale[second])
        return chance((self.centre[first] - self.centre[second]) / scale, self.curve)

    def pairs(self) -> Floats:
        """Return the probability that i beats j, shape (n, n); 1/2 on the diagonal."""
        scale = np.hypot(self.scale[:, None], self.scale[None, :])
        return chance((self.centre[:, None] - self.centre[None, :]) / scale, self.curve)

    def expected(self) -> Floats:
        """Return the mean probability of beating each other entry, shape (n,), n at least 2."""
        n = len(self.centre)
        if n == 2:
            both: Floats = self.in_pairs()[0]
            return both
        if n <= _FEW:
            scores: Floats = (self.pairs().sum(axis=1) - 0.5) / (n - 1)
            return scores
        every = np.arange(n)
        # One row at a time: all pairs at once would take n^2 of memory.
        sums = [self.beats(np.full(n, i), every).sum() for i in range(n)]
        # The pair of an entry with itself has one half and does not count.
        return (np.array(sums) - 0.5) / (n - 1)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class TeamModel(Displayed):
    """How a system predicts matches of teams that are still to be made.

    by : name of the system
    fits : returns whether the system predicts matches of teams of these sizes
    outlook : returns the outlook of players, given ratings and deviations, each of shape (n,)
    margin : returns the largest difference of two teams that is a draw, given the ratings of all
        players; 0 if the system does not model draws
    experience : for a pool that calibrates: returns 1/sqrt(1 + n) and whether n is 0, for players
        with n earlier matches, shape (2, players), given their ids
    correct : for the same: returns the corrected centres and scales of teams, given sums over their
        players, of which row 0 counts them and the last two are of `experience`, centres and scales

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> eq.lobby_of(eq.replay(eq.Elo(), league).state, ["ada", "ben"]).model
    <TeamModel: elo>
    """

    by: str
    fits: Callable[[Sequence[int]], bool]
    outlook: Callable[[Floats, Floats], Outlook]
    margin: Callable[[Floats], float]
    experience: Callable[[Ids], Floats] | None = None
    correct: Correct | None = None

    def _in_words(self) -> str:
        return self.by


def chance(z: Floats, curve: Curve) -> Floats:
    """Return the standard logistic or normal distribution function at z, of any shape."""
    if curve == "logistic":
        # exp gets no positive number, so it does not overflow.
        tail = np.exp(-np.abs(z))
        return np.where(z >= 0, 1.0, tail) / (1.0 + tail)
    from equipoise.numeric.functions import normal_cdf_of

    return normal_cdf_of(z)


#: Rating points in one unit of the internal scale: 400/ln 10, as printed in [G2]_ and [TG2]_ (1).
GLICKO2_SCALE = 173.7178


def team_mean_outlook(rating: Floats, deviation: Floats) -> Outlook:
    """Return the outlook of logistic(g(sqrt(phi_A^2 + phi_B^2)) (mu_A - mu_B)) (READINGS A15).

    1/g^2 = 1 + 3 (phi_A^2 + phi_B^2)/pi^2; each side has half of the 1, once.

    rating, deviation : shape (n,), rating points
    """
    shared = 0.5 * GLICKO2_SCALE**2
    scale = np.sqrt(shared + 3.0 / math.pi**2 * deviation**2)
    return Outlook(centre=rating, scale=scale, curve="logistic", shared=shared)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class PlaceDistribution(Tabular):
    """Distribution of the places of each team, estimated from samples.

    samples : number of matches drawn; the standard error of a probability p is
        sqrt(p (1 - p)/samples)
    within : places, from 1
    chance : shape (len(within), teams), probability of that place or a better one
    mean : shape (teams,), mean place
    lower, upper : shape (teams,), range with 90 % of the results; exact up to the 100th place,
        beyond it to 1 % of the place

    Examples
    --------
    >>> history = eq.read_history("examples/contests.csv")
    >>> pool = eq.replay(eq.EloMMR(), history).state
    >>> ahead = eq.predict(eq.EloMMR(), pool, [["jade-kite"], ["amber-deer"], ["cedar-bear"]])
    >>> eq.place_distribution(ahead.outlook).mean.round(2).tolist()
    [1.42, 2.47, 2.1]
    """

    samples: int
    within: tuple[int, ...]
    chance: Floats
    mean: Floats
    lower: Ints
    upper: Ints

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each team, numbered from 1.

        `top_3` is the chance of the third place or a better one.
        """
        import polars as pl

        chances = {f"top_{k}": row for k, row in zip(self.within, self.chance, strict=True)}
        number = np.arange(1, len(self.mean) + 1)
        bounds = {"lower": self.lower, "upper": self.upper}
        return pl.DataFrame({"team": number, "mean": self.mean, **bounds, **chances})

    def plot(self, names: Sequence[str] | None = None, *, title: str | None = None) -> Figure:
        """Return a figure of matplotlib: the mean place of each team, and 90 % of its places.

        names : of the teams; None numbers them from 1
        Raises : InvalidParameterError; EquipoiseError without matplotlib
        """
        return draw(self, names, title=title)

    def _in_words(self) -> str:
        teams = counted(len(self.mean), "team")
        return f"{teams}, {counted(self.samples, 'sample')}"
