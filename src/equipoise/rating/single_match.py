"""Rating one match of a history on copies of its players' states, the basis of every explanation.

`single_match` extracts the match, and `rate_isolated` rates it on copies of the states.
`explanation` and the functions below it make the parts that explanations of several systems share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.explanation import (
    Contribution,
    Explanation,
    Opponent,
    Quantity,
    Remembered,
)
from equipoise.data.history import History
from equipoise.errors import InvalidDataError
from equipoise.rating.state import State
from equipoise.rating.system import TRACE_COLUMNS, RatingSystem

#: Largest number of opponents in an explanation.
NAMED_OPPONENTS = 20

#: Names of contributions by result, for players and for teams.
PLAYERS_BY_RESULT = {1.0: "players beaten", 0.5: "players tied with", 0.0: "players lost to"}
TEAMS_BY_RESULT = {1.0: "teams beaten", 0.5: "teams tied with", 0.0: "teams lost to"}
DUEL_BY_RESULT = {1.0: "the win", 0.5: "the draw", 0.0: "the loss"}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SingleMatch:
    """A match whose players are numbered as its participations, with their states.

    history : contains this match only
    before, after : states of its players
    trace : columns of shape (n,)
    """

    history: History
    before: State
    after: State
    trace: Mapping[str, Floats]

    def with_result(self, system: RatingSystem, rank: Ints) -> SingleMatch:
        """Return the same match with other ranks, shape (n,)."""
        return rate_isolated(system, replace(self.history, rank=rank), self.before)

    def scores(self, row: int) -> Floats:
        """Return the score of participation `row` against every participation: 1, 1/2 or 0."""
        signs: Ints = np.sign(self.history.rank - self.history.rank[row])
        return 0.5 + 0.5 * signs.astype(np.float64)


def single_match(system: RatingSystem, before: State, history: History, match: int) -> SingleMatch:
    """Rate one match on a copy of its players' states.

    before : the state of all players of `history` before the match
    Raises : InvalidDataError if the system did not rate the match, ConvergenceError
    """
    isolated, players = alone(history, match)
    single = rate_isolated(system, isolated, before.take(players))
    if np.isnan(single.trace["rating"]).any():
        raise InvalidDataError([], f"{system.name} did not rate match {history.match_ids[match]}")
    return single


def alone(history: History, match: int) -> tuple[History, Ints]:
    """Return a match alone, its players numbered as its participations, and who they were."""
    single = history.slice(match, match + 1)
    players = single.player
    return single.with_players(history.player_ids[players], np.arange(len(players))), players


def rate_isolated(system: RatingSystem, match: History, before: State) -> SingleMatch:
    """Rate a history of one match on a copy of its players' states."""
    after = before.copy()
    names = (*TRACE_COLUMNS, *system.trace_columns)
    trace = {name: np.full(match.participations, np.nan) for name in names}
    system.run(after, match, 0, 1, trace)
    return SingleMatch(history=match, before=before, after=after, trace=trace)


def uncapped_performance(system: RatingSystem, single: SingleMatch, row: int) -> float:
    """Return the performance inferred for a participation, before the match's ceiling."""
    if single.history.performance_ceiling is None:
        return float(single.trace["performance"][row])
    free = replace(single.history, performance_ceiling=None)
    return float(rate_isolated(system, free, single.before).trace["performance"][row])


def ceiling_quantity(match: History) -> list[Quantity]:
    """Return the performance ceiling of a history of one match, if it has one."""
    ceiling = match.performance_ceiling
    if ceiling is None or math.isnan(ceiling[0]):
        return []
    return [
        Quantity(
            name="performance ceiling",
            value=float(ceiling[0]),
            unit="points",
            meaning="the highest performance that counts in this match",
        )
    ]


def explanation(
    system: RatingSystem,
    single: SingleMatch,
    row: int,
    *,
    contributions: Sequence[Contribution],
    quantities: Sequence[Quantity],
    opponents: Sequence[Opponent],
    remembered: Sequence[Remembered] = (),
    bounds: tuple[float, float] = (math.nan, math.nan),
) -> Explanation:
    """Return the explanation of a participation, with the fields that all systems share."""
    match, trace = single.history, single.trace
    # One participation of each team is enough.
    _, firsts = np.unique(match.team, return_index=True)
    ranks, rank = match.rank[firsts], int(match.rank[row])
    teams = len(firsts)
    beaten, tied = int(np.sum(ranks > rank)), int(np.sum(ranks == rank)) - 1
    by_effect = sorted(opponents, key=lambda opponent: -abs(opponent.effect))
    return Explanation(
        system=system.name,
        match=match.match_ids[:1].tolist()[0],
        player=match.player_ids[row : row + 1].tolist()[0],
        time=float(match.days()[0]),
        rank=int(np.sum(ranks < rank)) + 1,
        tied=tied,
        teams=teams,
        weight=float(match.weights()[0]),
        rating_before=float(trace["rating_before"][row]),
        deviation_before=float(trace["deviation_before"][row]),
        rating=float(trace["rating"][row]),
        deviation=float(trace["deviation"][row]),
        expected=float(trace["expected"][row]),
        score=(beaten + 0.5 * tied) / (teams - 1),
        contributions=tuple(contributions),
        quantities=tuple(quantities),
        opponents=tuple(by_effect[:NAMED_OPPONENTS]),
        remembered=tuple(remembered),
        least_change=bounds[0],
        largest_change=bounds[1],
    )


def quantity(name: str, value: float, meaning: str, unit: str = "") -> Quantity:
    """Return a number of the computation."""
    return Quantity(name=name, value=value, unit=unit, meaning=meaning)


def by_opponent(
    single: SingleMatch,
    i: int,
    numbers: Callable[[int, float], tuple[float, float, float, float]],
) -> list[Opponent]:
    """Return the opposing teams of participation i.

    numbers : from (a participation of the team, score against it) to (its rating, its deviation,
        expected score, effect)
    """
    place, scores, opponents = places(single.history), single.scores(i), []
    for ids, rows in opposing_teams(single.history, i):
        j, who = int(rows[0]), ids.tolist()
        rating, deviation, expected, effect = numbers(j, float(scores[j]))
        opponents.append(
            Opponent(
                player=who[0] if len(who) == 1 else ", ".join(map(str, who)),
                rank=int(place[j]),
                rating=rating,
                deviation=deviation,
                score=float(scores[j]),
                expected=expected,
                effect=effect,
            )
        )
    return opponents


def changes_of_duel(system: RatingSystem, single: SingleMatch, i: int) -> tuple[float, float]:
    """Return the changes of participation i of a duel by a loss and by a win."""
    lost, won = (
        single.with_result(system, np.abs(np.arange(2) - winner)).trace for winner in (1 - i, i)
    )
    change = [
        float(change_of["rating"][i] - change_of["rating_before"][i]) for change_of in (lost, won)
    ]
    return change[0], change[1]


def sum_by_result(opponents: Sequence[Opponent], names: Mapping[float, str]) -> list[Contribution]:
    """Return the change by result: the sum of the effects of the opponents with this result.

    names : of the contribution for score 1, 1/2 and 0
    """
    parts = []
    for score, name in names.items():
        met = [opponent for opponent in opponents if opponent.score == score]
        if met:
            expected = math.fsum(opponent.expected for opponent in met)
            reason = f"scored {score * len(met):g} where {expected:.2f} was expected"
            change = math.fsum(opponent.effect for opponent in met)
            parts.append(Contribution(name=name, change=change, reason=reason))
    return parts


def strongest_opponents(
    single: SingleMatch, i: int, rating: Floats, expected: Floats, effects: Floats
) -> list[Opponent]:
    """Return the opponents whose results changed the performance most, the largest effect first.

    i : participation, in a match of single players
    rating, expected, effects : shape (n,), of every participation
    """
    place, scores, deviation = places(single.history), single.scores(i), single.trace
    ids = single.history.player_ids
    strongest: Ints = np.argsort(-np.abs(effects), kind="stable")
    return [
        Opponent(
            player=ids[j : j + 1].tolist()[0],
            rank=int(place[j]),
            rating=float(rating[j]),
            deviation=float(deviation["deviation_before"][j]),
            score=float(scores[j]),
            expected=float(expected[j]),
            effect=float(effects[j]),
        )
        for j in strongest[: 1 + NAMED_OPPONENTS].tolist()
        if j != i
    ]


def places(match: History) -> Ints:
    """Return the place of every participation's team, from 1, ties sharing the best."""
    _, firsts = np.unique(match.team, return_index=True)
    ranks = np.sort(match.rank[firsts])
    return np.searchsorted(ranks, match.rank) + 1


def opposing_teams(match: History, row: int) -> list[tuple[Ids, Ints]]:
    """Return (player ids, participations) of every team except that of participation `row`."""
    opposing = []
    for team in np.unique(match.team):
        rows = np.flatnonzero(match.team == team)
        if team != match.team[row]:
            opposing.append((match.player_ids[match.player[rows]], rows))
    return opposing
