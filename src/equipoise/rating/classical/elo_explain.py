"""Why an Elo rating changed: K times the surprise, opponent by opponent.

Source: [Elo]_; the change of a match is the mean over the opposing teams of K (score - expected),
so every opponent has a part of it, and the parts add up.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.data.explanations.explanation import Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.data.prediction import chance
from equipoise.rating.classical.elo import Elo, factor_of, team_strengths
from equipoise.rating.single_match import (
    DUEL_BY_RESULT,
    TEAMS_BY_RESULT,
    explanation,
    opposing_teams,
    places,
    single_match,
    sum_by_result,
)
from equipoise.rating.state import State


def explain(system: Elo, before: State, history: History, match: int, row: int) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    isolated, i = single.history, row - int(history.offsets[match])
    job = system.job(single.before, isolated, 0, 1)
    by_team, ranks = team_strengths(
        job.table, job.matches, job.own.head_start, 0, isolated.participations
    )
    strength = by_team[isolated.team]
    place, scores = places(isolated), single.scores(i)
    teams = opposing_teams(isolated, i)
    k = system.k * float(isolated.weights()[0])
    if job.own.score is not None:
        span = (0, isolated.participations)
        k *= factor_of(job.own.score, job.matches.team, span, by_team, ranks, job.settings.rule)
    slope = math.log(10.0) / system.scale
    opponents = []
    for ids, rows in teams:
        j = int(rows[0])
        expected = float(chance(np.array((strength[i] - strength[j]) * slope), "logistic"))
        opponents.append(
            Opponent(
                player=ids.tolist()[0] if len(ids) == 1 else ", ".join(str(one) for one in ids),
                rank=int(place[j]),
                rating=float(strength[j]),
                deviation=math.nan,
                score=float(scores[j]),
                expected=expected,
                effect=k * (float(scores[j]) - expected) / len(teams),
            )
        )
    expected = float(single.trace["expected"][i])
    return explanation(
        system,
        single,
        i,
        contributions=sum_by_result(
            opponents, DUEL_BY_RESULT if len(opponents) == 1 else TEAMS_BY_RESULT
        ),
        quantities=_quantities(system, k, float(strength[i]), expected, opponents),
        opponents=opponents,
        bounds=(-k * expected, k * (1.0 - expected)),
    )


def _quantities(
    system: Elo, k: float, strength: float, expected: float, opponents: list[Opponent]
) -> list[Quantity]:
    score = math.fsum(one.score for one in opponents) / len(opponents)
    return [
        Quantity(
            name="strength",
            value=strength,
            unit="points",
            meaning="the team's mean rating before the match, with the home advantage",
        ),
        Quantity(
            name="expected score",
            value=expected,
            unit="",
            meaning=f"a mean of 1/(1 + 10^(-difference/{system.scale:g})) over the opponents",
        ),
        Quantity(name="score", value=score, unit="", meaning="a win 1, a tie 1/2, a loss 0"),
        Quantity(
            name="K",
            value=k,
            unit="points",
            meaning="K times weight and margin's factor; the change is K (score - expected)",
        ),
    ]
