"""Why a rating changed under Weng and Lin's models: the part of every other team.

Source: [WL]_ Algorithms 1 to 4. Under Bradley-Terry and Thurstone-Mosteller every opposing team is
a game, or every neighbour with partial pairing. Under
Plackett-Luce places are drawn stage by stage, and omega is exactly a sum over the other teams. A
team with a better place adds -e_i/S, where S is the sum of e over all teams not yet placed at its
stage. A team with a worse place adds its e/S at the stage of the player's team.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.explanations.explanation import Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.data.prediction import chance
from equipoise.rating.base_system import matches_of
from equipoise.rating.bayes.partial_play import contributions, factor_of_gain, part_played
from equipoise.rating.bayes.trueskill_match import by_rank
from equipoise.rating.bayes.weng_lin import (
    PairParameters,
    Teams,
    WengLinParameters,
    spread,
    stages,
    teams_of,
)
from equipoise.rating.bayes.weng_lin_pairs import of_pair, strengths_by_margin
from equipoise.rating.single_match import (
    TEAMS_BY_RESULT,
    explanation,
    opposing_teams,
    places,
    single_match,
    sum_by_result,
)
from equipoise.rating.state import State


def explain(
    system: WengLinParameters, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    isolated, i = single.history, row - int(history.offsets[match])
    columns, size = matches_of(isolated), isolated.participations
    settings, played = system.settings(), system.own(single.before, isolated, 0, 1)
    teams = teams_of(single.before.table, columns, played, 0, size, settings)
    own = int(isolated.team[i])
    in_pairs = isinstance(system, PairParameters)
    if not in_pairs:
        moved = strengths_by_margin(teams.strength, teams.score, settings.margin)
        parts = _staged(system, teams._replace(strength=moved), own)
    else:
        parts = _pairwise(system, teams, own)
    deviation = float(single.trace["deviation_before"][i])
    part = 1.0 if settings.contribution else part_played(played.share, i)
    share = part * (deviation**2 + system.drift**2) / float(teams.variance[own])
    unit = float(isolated.weights()[0]) * share * float(teams.variance[own])
    if settings.contribution:
        factors = contributions(played.share, columns.team, 0, size, True)
        unit *= factor_of_gain(factors, i, float(np.sum(parts)) >= 0.0)
    place, scores = places(isolated), single.scores(i)
    opponents = []
    for ids, rows in opposing_teams(isolated, i):
        j = int(rows[0])
        q = int(isolated.team[j])
        opponents.append(
            Opponent(
                player=ids.tolist()[0] if len(ids) == 1 else ", ".join(str(one) for one in ids),
                rank=int(place[j]),
                rating=float(teams.strength[q]),
                deviation=math.sqrt(float(teams.variance[q])),
                score=float(scores[j]),
                expected=_chance(system, teams, own, q),
                effect=unit * float(parts[q]),
            )
        )
    return explanation(
        system,
        single,
        i,
        contributions=sum_by_result(opponents, TEAMS_BY_RESULT),
        quantities=_quantities(system, teams, own, share),
        opponents=opponents,
    )


def _pairwise(system: WengLinParameters, teams: Teams, own: int) -> Floats:
    """Return what every team adds to omega over the team's variance, shape (T,); 0 at `own`."""
    order, settings = by_rank(teams.rank), system.settings()
    place = int(np.flatnonzero(order == own)[0])
    reach = settings.window or len(order)
    near = [int(q) for q in order[max(0, place - reach) : place + reach + 1] if q != own]
    parts = np.zeros(len(order))
    for q in near:
        omega, _ = of_pair(teams, settings, own, q)
        parts[q] = omega / float(teams.variance[own])
    return parts / len(near) if settings.average else parts


def _staged(system: WengLinParameters, teams: Teams, own: int) -> Floats:
    """Return what `_pairwise` returns, for Plackett-Luce."""
    c = spread(teams, system.beta)
    e, sums, held = stages(teams, c)
    rank = int(teams.rank[own])
    better, tied = teams.rank < rank, teams.rank == rank
    parts = e / sums[rank] / held[rank]
    parts[tied] = (e[tied] - e[own]) / sums[rank] / held[rank]
    parts[better] = -e[own] / sums[teams.rank[better]] / held[teams.rank[better]]
    parts[own] = 0.0
    return np.asarray(parts / c, dtype=np.float64)


def _chance(system: WengLinParameters, teams: Teams, own: int, other: int) -> float:
    """Return the expected score against a team in the model of this match."""
    if isinstance(system, PairParameters):
        c = math.sqrt(teams.variance[own] + teams.variance[other] + 2.0 * system.beta**2)
    else:
        c = spread(teams, system.beta)
    z = np.array((teams.strength[own] - teams.strength[other]) / c)
    return float(chance(z, "normal" if system.settings().normal else "logistic"))


def _quantities(system: WengLinParameters, teams: Teams, own: int, share: float) -> list[Quantity]:
    quantities = [
        Quantity(
            name="team strength",
            value=float(teams.strength[own]),
            unit="points",
            meaning="the sum of the ratings of the team's members",
        ),
        Quantity(
            name="team deviation",
            value=math.sqrt(float(teams.variance[own])),
            unit="points",
            meaning="standard deviation of that sum, with the drift of a match",
        ),
        Quantity(
            name="share",
            value=share,
            unit="",
            meaning="the player's part of the team's variance, and of its change",
        ),
    ]
    if not isinstance(system, PairParameters):
        quantities.append(
            Quantity(
                name="c",
                value=spread(teams, system.beta),
                unit="points",
                meaning="the standard deviation of all teams' performances together",
            )
        )
    return quantities
