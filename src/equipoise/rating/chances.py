"""What a system expects of teams: scores, and of two teams wins and draws.

A system that models draws (`ModelsDraws`) says how far apart two teams may perform and draw still:

    win = P(d > m),   draw = P(|d| <= m),   expected = win + draw/2,

d being the difference of the performances, m the margin. For the others E, the chance of a pair
with draws left out, is what is expected, and draws are estimated from those seen before:

    draw = min(4 r E (1 - E), 2 E, 2 (1 - E)),   win = E - draw/2,

r being the chance of a draw of equals in the matches before (`draws`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.data.outlook import Outlook, chance
from equipoise.data.prediction import ESTIMATE, TEAM_MEAN, Prediction
from equipoise.data.win_probability import team_mean_outlook
from equipoise.rating.draws import draw_rate
from equipoise.rating.state import State
from equipoise.rating.system import ModelsDraws, RatingSystem


def can_rate(system: RatingSystem, sizes: Sequence[int]) -> bool:
    """Return whether a system can rate a match of teams of these sizes."""
    able = system.capabilities
    return (able.max_teams is None or len(sizes) <= able.max_teams) and (
        able.max_team_size is None or max(sizes) <= able.max_team_size
    )


def team_prediction(
    system: RatingSystem,
    state: State,
    rating: Floats,
    deviation: Floats,
    team: Ints,
    *,
    match: History | None = None,
) -> Prediction:
    """Return what is expected of teams of players with these ratings.

    Teams that the system cannot rate are compared by their mean ratings (READINGS A15).

    state : of the pool: how often two teams have drawn
    rating, deviation : shape (n,), as of the time of the match; NaN for no deviation
    team : shape (n,), the number of each one's team, from 0 without gaps
    match : the match itself, so that a home advantage counts
    """
    sizes = np.bincount(team)
    if can_rate(system, sizes.tolist()):
        by, players = system.name, system.outlook(rating, deviation, match)
    else:
        by, players = TEAM_MEAN, team_mean_outlook(rating, np.nan_to_num(deviation, nan=0.0))
    outlook = players.of_teams(team, len(sizes))
    expected = outlook.expected()
    if len(sizes) != 2:
        return Prediction(expected=expected, outlook=outlook, by=by)
    if by != TEAM_MEAN and isinstance(system, ModelsDraws):
        return _modelled(system, outlook, len(team))
    rate = draw_rate(state)
    if rate is None:
        return Prediction(expected=expected, outlook=outlook, by=by)
    draw = estimated_draw(rate, *expected.tolist())
    return Prediction(
        expected=expected,
        outlook=outlook,
        by=by,
        # Rounding must leave no chance below 0.
        win=np.maximum(expected - 0.5 * draw, 0.0),
        draw=draw,
        draw_by=ESTIMATE,
    )


def estimated_draw(rate: float, first: float, second: float) -> float:
    """Return min(4 r E (1 - E), 2 E, 2 (1 - E)); first and second are E and 1 - E."""
    return min(4.0 * rate * first * second, 2.0 * first, 2.0 * second)


def _modelled(system: ModelsDraws, outlook: Outlook, players: int) -> Prediction:
    """Return what a system that models draws expects of two teams."""
    apart = outlook.centre[0] - outlook.centre[1]
    scale = math.hypot(*outlook.scale.tolist())
    margin = system.draw_margin(players)
    win = chance((np.array([apart, -apart]) - margin) / scale, outlook.curve)
    draw = max(1.0 - float(win.sum()), 0.0)
    return Prediction(
        expected=win + 0.5 * draw,
        outlook=outlook,
        by=system.name,
        win=win,
        draw=draw,
        draw_by=system.name,
    )
