"""Explaining a match of a system that says nothing about its equations.

The match is rated again without each opposing team. What the change loses by that is the effect of
the team. The effects of several teams need not add up to the change, so the match is one part of
it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.explanations.explanation import Contribution, Explanation, Opponent, Quantity
from equipoise.data.history import History
from equipoise.rating.single_match import (
    NAMED_OPPONENTS,
    SingleMatch,
    explanation,
    opposing_teams,
    places,
    rate_isolated,
    single_match,
)
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem


def explain(
    system: RatingSystem, before: State, history: History, match: int, row: int
) -> Explanation:
    """Return why a participation changed its player's rating."""
    single = single_match(system, before, history, match)
    i = row - int(history.offsets[match])
    change = float(single.trace["rating"][i] - single.trace["rating_before"][i])
    found = explanation(
        system, single, i, contributions=(), quantities=(), opponents=_opponents(system, single, i)
    )
    if np.isnan(found.expected):
        expected = float(_beats(system, single, i).mean())
        found = replace(found, expected=expected)
    reason = f"scored {found.score:.2f} where {found.expected:.2f} was expected"
    return replace(
        found,
        contributions=(Contribution(name="this match", change=change, reason=reason),),
        quantities=(
            Quantity(
                name="expected score",
                value=found.expected,
                unit="",
                meaning="the mean probability of doing better than an opposing team",
            ),
            Quantity(name="score", value=found.score, unit="", meaning="a win 1, a tie 1/2"),
        ),
    )


def _beats(system: RatingSystem, single: SingleMatch, row: int) -> Floats:
    """Return the probability that the player's team beats each other team."""
    match, trace = single.history, single.trace
    outlook = system.outlook(trace["rating_before"], trace["deviation_before"], match)
    teams = outlook.of_teams(match.team, int(match.team.max()) + 1)
    own = int(match.team[row])
    others = np.array([team for team in np.unique(match.team).tolist() if team != own])
    return teams.beats(np.full(len(others), own), others)


def _opponents(system: RatingSystem, single: SingleMatch, row: int) -> list[Opponent]:
    """Return the opposing teams nearest in place, with what each did to the rating."""
    match, trace = single.history, single.trace
    place, scores = places(match), single.scores(row)
    change = trace["rating"][row] - trace["rating_before"][row]
    every = zip(opposing_teams(match, row), _beats(system, single, row).tolist(), strict=True)
    nearest = sorted(every, key=lambda one: abs(int(place[one[0][1][0]]) - int(place[row])))
    found = []
    for (ids, rows), expected in nearest[:NAMED_OPPONENTS]:
        first = int(rows[0])
        found.append(
            Opponent(
                player=ids.tolist()[0] if len(ids) == 1 else ", ".join(str(one) for one in ids),
                rank=int(place[first]),
                rating=float(trace["rating_before"][rows].mean()),
                deviation=float(trace["deviation_before"][rows].mean()),
                score=float(scores[first]),
                expected=expected,
                effect=float(change - _change_without(system, single, row, int(match.team[first]))),
            )
        )
    return found


def _change_without(system: RatingSystem, single: SingleMatch, row: int, team: int) -> float:
    """Return the change of a participation if one opposing team had not taken part."""
    match = single.history
    kept = np.flatnonzero(match.team != team)
    others = np.unique(match.team[kept])
    if len(others) < 2:
        return 0.0

    def rows(column: Floats | None) -> Floats | None:
        return None if column is None else column[kept]

    smaller = replace(
        match,
        offsets=np.array([0, len(kept)], np.int64),
        player_ids=match.player_ids[kept],
        player=np.arange(len(kept)),
        team=np.searchsorted(others, match.team[kept]),
        rank=np.unique(match.rank[kept], return_inverse=True)[1].astype(np.int64),
        performance=rows(match.performance),
        share=rows(match.share),
        team_labels=rows(match.team_labels),
        statistics={name: column[kept] for name, column in match.statistics.items()},
        attributes={name: column[kept] for name, column in match.attributes.items()},
    )
    done = rate_isolated(system, smaller, single.before.take(kept))
    i = int(np.searchsorted(kept, row))
    return float(done.trace["rating"][i] - done.trace["rating_before"][i])
