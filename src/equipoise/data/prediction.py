"""Predictions: expected scores and win probabilities of a match that has not been played.

`Outlook` describes how the performances of players or teams vary around their expected values. The
expected scores of a `Prediction` follow from it.

`win_probability` and `team_mean_prediction` need no system: they compare the mean long-term ratings
of teams. Source: [TG2]_ (11)-(13) for the strength of a team; READINGS A15 for the probability. It
counts the uncertainty of both teams, so the two probabilities add up to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ints
from equipoise.display import Displayed, Tabular, draw, name_in_words
from equipoise.errors import require
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Curve: TypeAlias = Literal["logistic", "normal"]

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
            # The same operations as for more, without tables of pairs, which take longer.
            z = (self.centre[0] - self.centre[1]) / np.hypot(self.scale[0], self.scale[1])
            both: Floats = 0.5 + chance(np.array([z, -z]), self.curve) - 0.5
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

    def _in_words(self) -> str:
        return self.by


def chance(z: Floats, curve: Curve) -> Floats:
    """Return the standard logistic or normal distribution function at z, of any shape."""
    if curve == "logistic":
        # exp gets no positive number, so it does not overflow.
        tail = np.exp(-np.abs(z))
        return np.where(z >= 0, 1.0, tail) / (1.0 + tail)
    from equipoise.numeric.normal import normal_cdf_of

    return normal_cdf_of(z)


#: `Prediction.by` without a system: the mean ratings of the teams are compared.
TEAM_MEAN = "team mean"

#: `Prediction.draw_by` if draws are estimated from earlier draws of two teams.
ESTIMATE = "estimate"

#: `Prediction.draw_by` if the draw probability of equals was given.
GIVEN = "draw_rate"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Prediction(Tabular):
    """Expected scores of the teams of one match.

    expected : shape (teams,); a team's mean score against the other teams, a win 1, a tie 1/2
    outlook : of the teams: the win probability of every pair, without draws
    by : name of the system that predicts, or "team mean" (READINGS A15)
    win, draw : for two teams, shape (2,) and a number, with win + draw/2 = expected; None for more
      teams, and if the draw probability is unknown
    draw_by : name of the system if it models draws, or "estimate", or "draw_rate" if that was
      given; None without win and draw
    newcomers : ids of unknown players, who count as newcomers
    quality : match quality, from 0 to 1 and higher for more even and more certain teams
    quality_by : name of the system if it models draws, or "estimate"; None without quality
    draw_note : why win and draw are unknown and what to do about it; "" if they are known, and for
      more than two teams

    Examples
    --------
    >>> duels = eq.read_history({
    ...     "match": [1, 1, 2, 2], "player": ["ann", "ben", "ben", "cid"], "rank": [1, 2, 1, 2],
    ... })
    >>> done = eq.replay(eq.Elo(), duels)
    >>> prediction = eq.predict(eq.Elo(), done.state, [["ann"], ["cid"]])
    >>> prediction.expected.round(3).tolist()
    [0.547, 0.453]
    >>> prediction.to_polars().columns
    ['team', 'expected']
    """

    expected: Floats
    outlook: Outlook
    by: str
    win: Floats | None = None
    draw: float | None = None
    draw_by: str | None = None
    newcomers: tuple[Any, ...] = ()
    quality: float | None = None
    quality_by: str | None = None
    draw_note: str = ""

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each team, numbered from 1.

        `win` is there if it is known, and so is `draw`, the same for both teams.
        """
        import polars as pl

        columns: dict[str, Any] = {
            "team": np.arange(1, len(self.expected) + 1),
            "expected": self.expected,
        }
        if self.win is not None and self.draw is not None:
            columns |= {"win": self.win, "draw": np.full(len(self.win), self.draw)}
        return pl.DataFrame(columns)

    def _in_words(self) -> str:
        first = " : ".join(f"{one:.3f}" for one in self.expected[:3])
        more = f" and {len(self.expected) - 3:,} more" if len(self.expected) > 3 else ""
        draw = "" if self.draw is None else f", draw {self.draw:.3f}"
        return f"{self.by}, expected {first}{more}{draw}"

    def _notes(self) -> tuple[str, ...]:
        found = []
        if self.newcomers:
            found.append(f"newcomers: {', '.join(name_in_words(one) for one in self.newcomers)}")
        if self.draw_by in (ESTIMATE, GIVEN):
            found.append(draw_source(self.draw_by))
        if self.draw_note:
            found.append(self.draw_note)
        return tuple(found)


def draw_source(draw_by: str | None) -> str:
    """Return where an estimated draw probability comes from, in words; "" if it is modelled."""
    if draw_by == ESTIMATE:
        return "draws estimated from earlier draws"
    return "draws estimated from the given draw rate" if draw_by == GIVEN else ""


#: Rating points in one unit of the internal scale [TG2]_ (1).
GLICKO2_SCALE = 173.7178


@checks_arguments()
def win_probability(
    rating: Sequence[float] | Floats,
    deviation: Sequence[float] | Floats,
    teams: Sequence[Sequence[int]],
) -> list[float]:
    """Return each team's win probability, the mean over the other teams; two add up to 1.

    rating, deviation : shape (players,), rating points; the long-term rating. Finite, and
        deviations are not negative
    teams : rows (not ids) of the players of every team, each row once; two teams or more
    Raises : InvalidParameterError

    Examples
    --------
    >>> two = eq.win_probability([1600.0, 1500.0], [80.0, 80.0], [[0], [1]])
    >>> [round(one, 3) for one in two]
    [0.632, 0.368]
    """
    rating = np.asarray(rating, dtype=np.float64)
    deviation = np.asarray(deviation, dtype=np.float64)
    _check(rating, deviation, teams)
    found: list[float] = team_mean_prediction(rating, deviation, teams).expected.tolist()
    return found


def _check(rating: Floats, deviation: Floats, teams: Sequence[Sequence[int]]) -> None:
    """Refuse teams that are not rows of the ratings. Raises : InvalidParameterError."""
    shape = rating.shape
    require(rating.ndim == 1, "rating", "one number for each player", shape)
    require(deviation.shape == shape, "deviation", f"of shape {shape}", deviation.shape)
    for name, values, fits, rule in (
        ("rating", rating, np.isfinite(rating), "finite numbers"),
        ("deviation", deviation, np.isfinite(deviation) & (deviation >= 0), "finite, from 0"),
    ):
        require(bool(fits.all()), name, rule, next(iter(values[~fits].tolist()), None))
    require(len(teams) >= 2, "teams", "at least two", len(teams))
    rule = f"of rows from 0 to {len(rating) - 1}, not of ids (as in Balance.teams)"
    seen: set[int] = set()
    for team in teams:
        require(len(team) >= 1, "teams", "of at least one player each", len(team))
        for row in team:
            require(0 <= row < len(rating), "teams", rule, row)
            require(row not in seen, "teams", "of rows that are named once each", row)
            seen.add(row)


def team_mean_prediction(
    rating: Floats, deviation: Floats, teams: Sequence[Sequence[int]]
) -> Prediction:
    """Return the prediction from the mean ratings of teams, without draws.

    rating, deviation : shape (players,), rating points; the long-term rating
    teams : rows of the players of every team, two teams or more
    """
    rows = np.array([row for team in teams for row in team], np.int64)
    number = np.repeat(np.arange(len(teams)), [len(team) for team in teams])
    outlook = team_mean_outlook(rating[rows], deviation[rows]).of_teams(number, len(teams))
    return Prediction(expected=outlook.expected(), outlook=outlook, by=TEAM_MEAN)


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
