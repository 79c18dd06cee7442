"""What is expected of one coming match: scores, wins and draws, places, and match quality.

`win_probability` and `team_mean_prediction` need no system: they compare the mean long-term ratings
of teams. Source: [TG2]_ (11)-(13) for the strength of a team; READINGS A15 for the probability. It
counts the uncertainty of both teams, so the two probabilities add up to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats
from equipoise.data.outlook import Outlook, team_mean_outlook
from equipoise.display import Tabular, name_in_words
from equipoise.errors import InvalidParameterError, require

if TYPE_CHECKING:
    import polars as pl

#: `Prediction.by` without a system: the mean ratings of the teams are compared.
TEAM_MEAN = "team mean"

#: `Prediction.draw_by` if draws are estimated from earlier draws of two teams.
ESTIMATE = "estimate"

#: `Prediction.draw_by` if the draw probability of equals was given.
GIVEN = "draw_rate"

#: What a prediction with a curve says.
BY_CURVE = "calibrated by the matches so far"

#: Largest number of teams whose places have a chance each.
MOST_PLACED = 100


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Prediction(Tabular):
    """What is expected of one match, as plain numbers in the order of the teams.

    expected : of each team, the mean score against the other teams, a win 1 and a tie 1/2
    outlook : of the teams: the win probability of every pair, without draws
    by : name of the system that predicts, or "team mean" for teams that it cannot rate (READINGS
        A15)
    win, draw : of each of two teams, the probability of a win; and that of a draw, with win +
        draw/2 = expected; None for more teams, and if the draw probability is unknown
    draw_by : name of the system if it models draws; "estimate" from the draws of a pool, or
        "draw_rate" if that was given; None where `win` is
    newcomers : ids that a pool does not know, who count as newcomers
    quality : match quality as [TS]_ defines it, from 0 to 1 and higher for more even and more
        certain teams; None for teams that the system cannot rate, and for more than two in systems
        that do not model draws
    quality_by : name of the system if it models draws, or "estimate"; None where `quality` is
    draw_note : why `win` and `draw` are unknown, and how to get them; "" if they are known, and for
        more than two teams
    uncalibrated : `expected` as the system predicts it, where all chances are calibrated by a curve
        that the pool has learned; None where they are not
    calibrated_range : 95 % range of `expected` of the first of two teams, by how well the curve is
        known; None where there is no curve, and for more teams

    Examples
    --------
    >>> system = eq.TrueSkill()
    >>> prediction = system.predict([system.rating(1600, 80), system.rating(1500, 80)])
    >>> [round(chance, 3) for chance in (prediction.win[0], prediction.draw, prediction.loss[0])]
    [0.6, 0.085, 0.315]
    >>> round(prediction.quality, 3)
    0.85
    >>> prediction.to_polars().columns
    ['team', 'expected', 'win', 'draw', 'loss']
    """

    expected: tuple[float, ...]
    outlook: Outlook = field(compare=False)
    by: str
    win: tuple[float, ...] | None = None
    draw: float | None = None
    draw_by: str | None = None
    newcomers: tuple[Any, ...] = ()
    quality: float | None = None
    quality_by: str | None = None
    draw_note: str = field(default="", compare=False)
    uncalibrated: tuple[float, ...] | None = None
    calibrated_range: tuple[float, float] | None = None

    @property
    def loss(self) -> tuple[float, ...] | None:
        """Of each of two teams, the probability of a loss; None where `win` is."""
        return None if self.win is None else self.win[::-1]

    @property
    def expected_places(self) -> tuple[float, ...]:
        """Of each team, the mean place, from 1; it follows from `expected`."""
        others = len(self.expected) - 1
        return tuple(1.0 + (1.0 - share) * others for share in self.expected)

    def places(self, *, samples: int = 10_000, seed: int = 0) -> list[list[float]]:
        """Return the chance of every place for each team: places[team][0] is that of the first.

        Places differ: draws have no chance here. Of two teams the chances are exact; of more they
        are shares of matches drawn at random, and the same seed gives the same numbers.

        samples : number of matches drawn; a chance p has the standard error sqrt(p (1 - p)/samples)
        seed : random seed of the samples
        Raises : InvalidParameterError for more than 100 teams

        Examples
        --------
        >>> import equipoise as eq
        >>> system = eq.PlackettLuce()
        >>> teams = [[system.rating(1700, 80)], [system.rating()], [system.rating()]]
        >>> [round(first, 2) for first, *_ in system.predict(teams).places()]
        [0.42, 0.3, 0.28]
        """
        # It has a kernel, which `balance` need not load.
        from equipoise.data.places import place_distribution

        teams = len(self.expected)
        if teams == 2:
            first, second = self.outlook.expected().tolist()
            return [[first, second], [second, first]]
        if teams > MOST_PLACED:
            raise InvalidParameterError(
                f"places has the chance of every place for up to {MOST_PLACED} teams; got {teams}: "
                "use equipoise.place_distribution(prediction.outlook)"
            )
        within = range(1, teams + 1)
        distribution = place_distribution(self.outlook, seed=seed, samples=samples, within=within)
        each: list[list[float]] = np.diff(distribution.chance, axis=0, prepend=0.0).T.tolist()
        return each

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each team, numbered from 1.

        `win`, `draw` and `loss` are there if they are known.
        """
        import polars as pl

        teams = len(self.expected)
        columns: dict[str, Any] = {"team": range(1, teams + 1), "expected": self.expected}
        if self.win is not None:
            columns |= {"win": self.win, "draw": [self.draw] * teams, "loss": self.loss}
        if self.uncalibrated is not None:
            columns["uncalibrated"] = self.uncalibrated
        return pl.DataFrame(columns)

    def _in_words(self) -> str:
        chances = [f"expected {_listed(self.expected)}"]
        if self.win is not None and self.draw is not None:
            how = f" ({self.draw_by})" if self.draw_by in (ESTIMATE, GIVEN) else ""
            chances.append(f"win {_listed(self.win)}, draw {self.draw:.3f}{how}")
        if self.quality is not None:
            how = " (estimate)" if self.quality_by == ESTIMATE else ""
            chances.append(f"quality {self.quality:.3f}{how}")
        return f"{', '.join(chances)}, by {self.by}"

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.newcomers:
            notes.append(f"newcomers: {', '.join(name_in_words(name) for name in self.newcomers)}")
        if self.draw_by in (ESTIMATE, GIVEN):
            notes.append(draw_source(self.draw_by))
        if self.draw_note:
            notes.append(self.draw_note)
        if self.uncalibrated is not None:
            notes.append(f"{BY_CURVE}; uncorrected {_listed(self.uncalibrated)}")
        if self.calibrated_range is not None:
            notes.append(range_in_words(self.calibrated_range))
        return tuple(notes)


def range_in_words(calibrated_range: Sequence[float]) -> str:
    """Return how well a curve is known, by the expected score of the first of two teams."""
    low, high = (f"{100 * end:.1f} %" for end in calibrated_range)
    return f"95 % range of team 1's score, by how well the curve is known: {low} to {high}"


def _listed(chances: Sequence[float]) -> str:
    """Return the chances of a few teams in short."""
    shown = ", ".join(f"{chance:.3f}" for chance in chances[:4])
    return shown if len(chances) <= 4 else f"{shown}, ... ({len(chances):,} teams)"


def draw_source(draw_by: str | None) -> str:
    """Return where an estimated draw probability comes from, in words; "" if it is modelled."""
    if draw_by == ESTIMATE:
        return "draws estimated from earlier draws"
    return "draws estimated from the given draw rate" if draw_by == GIVEN else ""


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
    return list(team_mean_prediction(rating, deviation, teams).expected)


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
    return Prediction(expected=tuple(outlook.expected().tolist()), outlook=outlook, by=TEAM_MEAN)
