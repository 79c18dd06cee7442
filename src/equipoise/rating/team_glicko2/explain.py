"""Why a team Glicko-2 rating changed: from the performance to the change, step by step.

Source: [TG2]_ sections 4-8; numbers in brackets are its equations. The change is the sum of the
change by the result [24], the correction for the performance within the team [26], and, if they are
used, the corrections by `conserve`, the bound [30] and the player's share of the match.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.explanations.explanation import Contribution, Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.rating.classical.glicko2 import GLICKO2_SCALE, game, opponent_weight
from equipoise.rating.single_match import (
    SingleMatch,
    explanation,
    opposing_teams,
    rate_isolated,
    single_match,
)
from equipoise.rating.state import State
from equipoise.rating.team_glicko2.match import relative_to_role
from equipoise.rating.team_glicko2.team_glicko2 import TeamGlicko2, statistics_of


def explain(
    system: TeamGlicko2, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    i = row - int(history.offsets[match])
    return explanation(
        system,
        single,
        i,
        contributions=_contributions(system, single, i),
        quantities=_quantities(system, single, i),
        opponents=[_opponent(single, i)],
        bounds=_bounds(system, single, i),
    )


def _bounds(system: TeamGlicko2, single: SingleMatch, i: int) -> tuple[float, float]:
    """Return the changes of a loss and a win with the largest factor; unknown with `conserve`."""
    if system.conserve:
        return math.nan, math.nan
    plain = replace(system, beta=0.0, max_change=None)
    largest = system.factor_max if system.beta > 0.0 else 1.0
    most = math.inf if system.max_change is None else system.max_change
    match, found = single.history, []
    for won in (False, True):
        rank = np.where((match.team == match.team[i]) == won, 0, 1)
        change = largest * _change(plain, single, i, rank)
        found.append(_share(single, i) * min(max(change, -most), most))
    return found[0], found[1]


def _share(single: SingleMatch, i: int) -> float:
    return 1.0 if single.history.share is None else float(single.history.share[i])


def _unscaled(system: TeamGlicko2, single: SingleMatch, i: int) -> tuple[float, float]:
    """Return (change of [24], factor of [25]) of a participation, rating points and a number."""
    plain = replace(system, beta=0.0, max_change=None, conserve=False)
    change = _change(plain, single, i, single.history.rank)
    signed = float(single.trace["z"][i]) * (1.0 if change >= 0 else -1.0)
    factor = min(max(1.0 + system.beta * signed, system.factor_min), system.factor_max)
    return change, factor


def _change(system: TeamGlicko2, single: SingleMatch, i: int, rank: Ints) -> float:
    """Return the change with other parameters and another result, at a share of 1."""
    match = replace(single.history, share=None, rank=rank)
    trace = rate_isolated(system, match, single.before).trace
    return float(trace["rating"][i] - trace["rating_before"][i])


def _contributions(system: TeamGlicko2, single: SingleMatch, i: int) -> list[Contribution]:
    """Return the change step by step; the steps add up."""
    change, factor = _unscaled(system, single, i)
    score, expected, z = _score(single, i), float(single.trace["expected"][i]), single.trace["z"][i]
    parts = [
        Contribution(
            name="the result",
            change=change,
            reason=f"scored {score:g} where {expected:.2f} was expected",
        ),
        Contribution(
            name="performance within the team",
            change=(factor - 1.0) * change,
            reason=f"z = {z:+.2f} makes the factor {factor:.2f}",
        ),
    ]
    reached = factor * change
    if system.conserve:
        kept = float(single.trace["factor"][i]) * change
        reason = "so that performance moves no rating into or out of the team"
        parts.append(Contribution(name="conserved", change=kept - reached, reason=reason))
        reached = kept
    if system.max_change is not None and abs(reached) > system.max_change:
        bounded = math.copysign(system.max_change, reached)
        reason = f"no match moves a rating by more than {system.max_change:g} points"
        parts.append(Contribution(name="bound", change=bounded - reached, reason=reason))
        reached = bounded
    share = _share(single, i)
    if share != 1.0:
        reason = f"took part in {share:.0%} of the match"
        parts.append(Contribution(name="share", change=(share - 1.0) * reached, reason=reason))
    return parts


def _score(single: SingleMatch, i: int) -> float:
    """Return the score of participation i's team: 1, 1/2 or 0."""
    match = single.history
    other = match.rank[match.team != match.team[i]][0]
    return 0.5 + 0.5 * float(np.sign(other - match.rank[i]))


def _opponent(single: SingleMatch, i: int) -> Opponent:
    """Return the opposing team as one opponent [11], [12]."""
    match, trace = single.history, single.trace
    [(ids, rows)] = opposing_teams(match, i)
    score = _score(single, i)
    return Opponent(
        player=", ".join(str(one) for one in ids),
        rank=2 if score == 1.0 else 1,
        rating=float(trace["rating_before"][rows].mean()),
        deviation=math.sqrt(float((trace["deviation_before"][rows] ** 2).sum())) / len(rows),
        score=score,
        expected=float(trace["expected"][i]),
        effect=float(trace["rating"][i] - trace["rating_before"][i]),
    )


def _relative_to_roles(single: SingleMatch, performance: Floats) -> Floats:
    """Return the performances in deviations from the means of their roles (READINGS A14)."""
    roles = single.history.attributes["role"].astype(str).tolist()
    learned = [statistics_of(single.before, role) for role in roles]
    return np.array([relative_to_role(*pair) for pair in zip(performance, learned, strict=True)])


def _performances(system: TeamGlicko2, single: SingleMatch, i: int) -> list[Quantity]:
    """Return the quantities that z is computed from [5]-[7]; none without performances."""
    match = single.history
    if match.performance is None:
        return []
    compared = match.performance
    found = [
        Quantity(
            name="performance",
            value=float(compared[i]),
            unit="",
            meaning="the weighted statistics (5)",
        )
    ]
    if system.roles:
        compared = _relative_to_roles(single, compared)
        found.append(
            Quantity(
                name="performance for the role",
                value=float(compared[i]),
                unit="",
                meaning="in standard deviations from the mean of the role so far",
            )
        )
    own = compared[match.team == match.team[i]]
    known = own[~np.isnan(own)]
    return [
        *found,
        Quantity(
            name="mean of the team",
            value=float(known.mean()) if len(known) else math.nan,
            unit="",
            meaning="of the players with a performance (6)",
        ),
        Quantity(
            name="deviation in the team",
            value=float(known.std()) if len(known) else math.nan,
            unit="",
            meaning="standard deviation of its performances (7)",
        ),
    ]


def _quantities(system: TeamGlicko2, single: SingleMatch, i: int) -> list[Quantity]:
    """Return the numbers of the computation, in the order of the document."""
    trace, opponent = single.trace, _opponent(single, i)
    phi = opponent.deviation / GLICKO2_SCALE
    difference = (float(trace["rating_before"][i]) - opponent.rating) / GLICKO2_SCALE
    _, information, _ = game(difference, 0.0, phi, opponent.score)
    information *= float(single.history.weights()[0])
    return [
        *_performances(system, single, i),
        Quantity(
            name="z",
            value=float(trace["z"][i]),
            unit="",
            meaning="performance relative to the team, in standard deviations (8)",
        ),
        Quantity(
            name="g",
            value=opponent_weight(phi),
            unit="",
            meaning="weight of the match: 1 against a team whose ratings are certain (13)",
        ),
        Quantity(
            name="v",
            value=GLICKO2_SCALE**2 / information if information > 0 else math.inf,
            unit="points^2",
            meaning="variance of a rating estimated from this match alone (15)",
        ),
        Quantity(
            name="volatility",
            value=float(trace["volatility"][i]),
            unit="",
            meaning=f"how much the rating varies; {trace['volatility_before'][i]:.5f} before (20)",
        ),
        Quantity(
            name="factor",
            value=float(trace["factor"][i]),
            unit="",
            meaning="multiplies the change by the result (25)",
        ),
        Quantity(
            name="form",
            value=float(trace["form"][i]),
            unit="",
            meaning="moving mean of z after the match; it does not change the rating (34)",
        ),
    ]
