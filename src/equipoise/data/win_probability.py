"""The chances of teams by long-term rating.

Source: [TG2]_ (11)-(13) for the strength of a team; READINGS A15 for the chance, in which the
uncertainty of both teams counts, so that the two chances add up to 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats
from equipoise.data.outlook import Outlook
from equipoise.data.prediction import TEAM_MEAN, Prediction
from equipoise.errors import require

#: Rating points in one unit of the internal scale [TG2]_ (1).
GLICKO2_SCALE = 173.7178


@checks_arguments()
def win_probability(
    rating: Sequence[float] | Floats,
    deviation: Sequence[float] | Floats,
    teams: Sequence[Sequence[int]],
) -> list[float]:
    """Return each team's chance to beat another, the mean over the others; two add up to 1.

    rating, deviation : shape (players,), rating points; the long-term rating. Finite, and
        deviations are not negative
    teams : rows of the players of every team, two teams or more; rows, not ids, each once
    Raises : InvalidParameterError
    """
    rating = np.asarray(rating, dtype=np.float64)
    deviation = np.asarray(deviation, dtype=np.float64)
    _check(rating, deviation, teams)
    found: list[float] = team_mean_prediction(rating, deviation, teams).expected.tolist()
    return found


def _check(rating: Floats, deviation: Floats, teams: Sequence[Sequence[int]]) -> None:
    """Refuse teams that are no rows of the ratings. Raises : InvalidParameterError."""
    shape = rating.shape
    require(rating.ndim == 1, "rating", "one number a player", shape)
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
    """Return what is expected of teams by their mean ratings; draws are not known.

    rating, deviation : shape (players,), rating points; the long-term rating
    teams : rows of the players of every team, two teams or more
    """
    rows = np.array([row for team in teams for row in team], np.int64)
    number = np.repeat(np.arange(len(teams)), [len(team) for team in teams])
    outlook = team_mean_outlook(rating[rows], deviation[rows]).of_teams(number, len(teams))
    return Prediction(expected=outlook.expected(), outlook=outlook, by=TEAM_MEAN)


def team_mean_outlook(rating: Floats, deviation: Floats) -> Outlook:
    """Return the outlook of logistic(g(sqrt(phi_A^2 + phi_B^2)) (mu_A - mu_B)) (READINGS A15).

    1/g^2 = 1 + 3 (phi_A^2 + phi_B^2)/pi^2: half of the 1 is each side's, once.

    rating, deviation : shape (n,), rating points
    """
    shared = 0.5 * GLICKO2_SCALE**2
    scale = np.sqrt(shared + 3.0 / math.pi**2 * deviation**2)
    return Outlook(centre=rating, scale=scale, curve="logistic", shared=shared)
