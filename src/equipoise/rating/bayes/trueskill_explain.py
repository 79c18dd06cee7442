"""Why a TrueSkill rating changed: the messages of the neighbours in the order of the match.

Source: [TS]_ Fig. 1. A team's performance receives messages from the factors to the team ranked
just above and to the team just below. The messages add up, and so do their parts of the change.
With places [NS]_ a team receives one message, from its place.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.data.explanations.explanation import Contribution, Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.data.prediction import chance
from equipoise.rating.base_system import DEVIATION, matches_of
from equipoise.rating.bayes.partial_play import part_played
from equipoise.rating.bayes.trueskill import TrueSkillSystem
from equipoise.rating.bayes.trueskill_match import Inferred, Teams, inferred, part_of, teams_of
from equipoise.rating.single_match import explanation, opposing_teams, places, single_match
from equipoise.rating.state import State


def explain(
    system: TrueSkillSystem, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    isolated, i = single.history, row - int(history.offsets[match])
    settings, size = system.settings(), isolated.participations
    played = system.own(single.before, isolated, 0, 1)
    teams = teams_of(single.before.table, matches_of(isolated), played.share, 0, size, settings)
    found, _ = inferred(teams, settings)
    own, weight = int(isolated.team[i]), float(isolated.weights()[0])
    variance = float(single.trace["deviation_before"][i]) ** 2 + settings.drift**2
    after = float(single.after.table[isolated.player[i], DEVIATION]) ** 2
    share = part_played(played.share, i)
    parts = _parts(found, teams, own, share * share * variance, weight)
    effects = {neighbour: after * share * part for neighbour, part in parts.items()}
    place, scores = places(isolated), single.scores(i)
    opponents = []
    for ids, rows in opposing_teams(isolated, i):
        j = int(rows[0])
        q = int(isolated.team[j])
        z = (teams.mean[own] - teams.mean[q]) / math.sqrt(teams.variance[own] + teams.variance[q])
        opponents.append(
            Opponent(
                player=ids.tolist()[0] if len(ids) == 1 else ", ".join(str(one) for one in ids),
                rank=int(place[j]),
                rating=float(teams.mean[q]),
                deviation=math.sqrt(float(teams.variance[q])),
                score=float(scores[j]),
                expected=float(chance(np.array(z), "normal")),
                effect=effects.get(q, 0.0),
            )
        )
    return explanation(
        system,
        single,
        i,
        contributions=_contributions(effects, isolated, own),
        quantities=_quantities(found, teams, own, variance),
        opponents=opponents,
    )


def _parts(
    found: Inferred, teams: Teams, own: int, variance: float, weight: float
) -> dict[int, float]:
    """Return what each neighbour adds to the precision-weighted mean; -1 is the team's place."""
    at = int(np.flatnonzero(found.order == own)[0])
    precision = weight * float(found.better[own] + found.worse[own])
    weighted = weight * float(found.better_mean[own] + found.worse_mean[own])
    complete = float(part_of(precision, weighted, teams, own, variance))
    messages = {}
    if found.better[own] == 0.0 and found.better_mean[own] == 0.0 and at > 0:
        return {-1: complete}
    # Both have the same denominator, so the sum splits in proportion to the numerators.
    if at > 0:
        messages[int(found.order[at - 1])] = float(
            found.better_mean[own] - found.better[own] * teams.mean[own]
        )
    if at + 1 < len(found.order):
        messages[int(found.order[at + 1])] = float(
            found.worse_mean[own] - found.worse[own] * teams.mean[own]
        )
    total = math.fsum(messages.values())
    if total == 0.0:
        return dict.fromkeys(messages, 0.0)
    scale = weight / (1.0 + precision * float(teams.variance[own] - variance))
    return {team: scale * message for team, message in messages.items()}


def _contributions(effects: dict[int, float], match: History, own: int) -> list[Contribution]:
    """Return the change by neighbour, or by the team's place."""
    ranks = dict(zip(match.team.tolist(), match.rank.tolist(), strict=True))
    parts = []
    for team, change in effects.items():
        if team < 0:
            name, reason = "the place", "the performance of this place by all other teams"
        elif ranks[team] == ranks[own]:
            name, reason = "a neighbour tied with", "tied teams perform about equally"
        elif ranks[team] < ranks[own]:
            name, reason = "the team just above", "and, through it, all teams ranked above it"
        else:
            name, reason = "the team just below", "and, through it, all teams ranked below it"
        parts.append(Contribution(name=name, change=change, reason=reason))
    return parts


def _quantities(found: Inferred, teams: Teams, own: int, variance: float) -> list[Quantity]:
    precision = float(found.better[own] + found.worse[own])
    weighted = float(found.better_mean[own] + found.worse_mean[own])
    quantities = [
        Quantity(
            name="team strength",
            value=float(teams.mean[own]),
            unit="points",
            meaning="the sum of the ratings of the team's members",
        ),
        Quantity(
            name="widened deviation",
            value=math.sqrt(variance),
            unit="points",
            meaning="the deviation before the match plus the drift of a match",
        ),
    ]
    if precision > 0.0:
        quantities.append(
            Quantity(
                name="performance",
                value=weighted / precision,
                unit="points",
                meaning="the team's performance inferred from this match",
            )
        )
    return quantities
