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

    system : that rated it
    history : contains this match only
    row : the participation that is explained
    before, after : states of its players
    trace : columns of shape (n,)
    """

    system: RatingSystem
    history: History
    row: int
    before: State
    after: State
    trace: Mapping[str, Floats]

    @property
    def change(self) -> float:
        """The change of rating that is explained."""
        return float(self.trace["rating"][self.row] - self.trace["rating_before"][self.row])

    @property
    def expected(self) -> float:
        """The expected score, as in the trace."""
        return float(self.trace["expected"][self.row])

    @property
    def weight(self) -> float:
        """The weight of the match."""
        return float(self.history.weights()[0])

    def change_by(self, rank: Ints) -> float:
        """Return the change of rating with other ranks, shape (n,)."""
        match = replace(self.history, rank=rank)
        return rate_isolated(self.system, match, self.before, self.row).change

    def scores(self) -> Floats:
        """Return the score against every participation: 1, 1/2 or 0."""
        signs: Ints = np.sign(self.history.rank - self.history.rank[self.row])
        return 0.5 + 0.5 * signs.astype(np.float64)


def single_match(
    system: RatingSystem, before: State, history: History, match: int, row: int
) -> SingleMatch:
    """Rate one match on a copy of its players' states.

    before : the state of all players of `history` before the match
    row : the participation that is explained, of the history
    Raises : InvalidDataError if the system did not rate the match, ConvergenceError
    """
    isolated, players = alone(history, match)
    at = row - int(history.offsets[match])
    single = rate_isolated(system, isolated, before.take(players), at)
    if np.isnan(single.trace["rating"]).any():
        raise InvalidDataError([], f"{system.name} did not rate match {history.match_ids[match]}")
    return single


def alone(history: History, match: int) -> tuple[History, Ints]:
    """Return a match alone, its players numbered as its participations, and who they were."""
    single = history.slice(match, match + 1)
    players = single.player
    return single.with_players(history.player_ids[players], np.arange(len(players))), players


def rate_isolated(system: RatingSystem, match: History, before: State, row: int) -> SingleMatch:
    """Rate a history of one match on a copy of its players' states; explain participation row."""
    after = before.copy()
    names = (*TRACE_COLUMNS, *system.trace_columns)
    trace = {name: np.full(match.participations, np.nan) for name in names}
    system.run(after, match, 0, 1, trace)
    return SingleMatch(
        system=system, history=match, row=row, before=before, after=after, trace=trace
    )


def uncapped_performance(single: SingleMatch) -> float:
    """Return the performance that was inferred, before the match's ceiling."""
    if single.history.performance_ceiling is not None:
        free = replace(single.history, performance_ceiling=None)
        single = rate_isolated(single.system, free, single.before, single.row)
    return float(single.trace["performance"][single.row])


#: Unit and meaning of what several systems show.
MEANINGS: Mapping[str, tuple[str, str]] = {
    "g": ("", "weight of the match: 1 against an opponent whose rating is certain"),
    "v": ("points^2", "variance of a rating estimated from this match alone"),
    "share of the surprise": ("points", "points for one unit of g (score - expected score)"),
    "performance ceiling": ("points", "the highest performance that counts in this match"),
}
#: Of a deviation, in systems in which every match adds a drift.
WIDENED = ("points", "the deviation before the match plus the drift of a match")


def ceiling_of(match: History) -> dict[str, float]:
    """Return the performance ceiling of a history of one match, if it has one."""
    ceiling = match.performance_ceiling
    if ceiling is None or math.isnan(ceiling[0]):
        return {}
    return {"performance ceiling": float(ceiling[0])}


def explanation(
    single: SingleMatch,
    *,
    contributions: Sequence[Contribution],
    quantities: Mapping[str, float],
    meanings: Mapping[str, tuple[str, str]],
    opponents: Sequence[Opponent],
    remembered: Sequence[Remembered] = (),
    bounds: tuple[float, float] = (math.nan, math.nan),
) -> Explanation:
    """Return the explanation, with the fields that all systems share.

    meanings : unit and meaning of the quantities, by name
    """
    match, trace, row = single.history, single.trace, single.row
    # One participation of each team is enough.
    _, firsts = np.unique(match.team, return_index=True)
    ranks, rank = match.rank[firsts], int(match.rank[row])
    teams = len(firsts)
    beaten, tied = int(np.sum(ranks > rank)), int(np.sum(ranks == rank)) - 1
    by_effect = sorted(opponents, key=lambda opponent: -abs(opponent.effect))
    return Explanation(
        system=single.system.name,
        match=match.match_ids[:1].tolist()[0],
        player=match.player_ids[row : row + 1].tolist()[0],
        time=float(match.days()[0]),
        rank=int(np.sum(ranks < rank)) + 1,
        tied=tied,
        teams=teams,
        weight=single.weight,
        rating_before=float(trace["rating_before"][row]),
        deviation_before=float(trace["deviation_before"][row]),
        rating=float(trace["rating"][row]),
        deviation=float(trace["deviation"][row]),
        expected=single.expected,
        score=(beaten + 0.5 * tied) / (teams - 1),
        contributions=tuple(contributions),
        quantities=tuple(quantity(name, at, *meanings[name]) for name, at in quantities.items()),
        opponents=tuple(by_effect[:NAMED_OPPONENTS]),
        remembered=tuple(remembered),
        least_change=bounds[0],
        largest_change=bounds[1],
    )


def quantity(name: str, value: float, unit: str, meaning: str) -> Quantity:
    """Return a number of the computation."""
    return Quantity(name=name, value=value, unit=unit, meaning=meaning)


#: Name and reason of what a later match of a rating period does to the earlier ones.
EARLIER = (
    "earlier matches of the period",
    "another match reduces the deviation, and with it the weight of each match",
)


def contribution(name: str, change: float, reason: str) -> Contribution:
    """Return a part of a change."""
    return Contribution(name=name, change=change, reason=reason)


def surprise_of(score: float, expected: float) -> str:
    """Return the reason for a change by a result."""
    return f"scored {score:g} where {expected:.2f} was expected"


def by_opponent(
    single: SingleMatch,
    numbers: Callable[[int, float], tuple[float, float, float, float]],
    teams: Sequence[tuple[Ids, Ints]] | None = None,
) -> list[Opponent]:
    """Return the opposing teams.

    numbers : from (a participation of the team, score against it) to (its rating, its deviation,
        expected score, effect)
    teams : some of `opposing_teams`; None takes all
    """
    place, scores, opponents = places(single.history), single.scores(), []
    for ids, rows in opposing_teams(single) if teams is None else teams:
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


def changes_of_duel(single: SingleMatch) -> tuple[float, float]:
    """Return the changes of a duel by a loss and by a win."""
    won = np.abs(np.arange(2) - single.row)
    return single.change_by(1 - won), single.change_by(won)


def sum_by_result(opponents: Sequence[Opponent], names: Mapping[float, str]) -> list[Contribution]:
    """Return the change by result: the sum of the effects of the opponents with this result.

    names : of the contribution for score 1, 1/2 and 0
    """
    parts = []
    for score, name in names.items():
        met = [opponent for opponent in opponents if opponent.score == score]
        if met:
            expected = math.fsum(opponent.expected for opponent in met)
            change = math.fsum(opponent.effect for opponent in met)
            parts.append(contribution(name, change, surprise_of(score * len(met), expected)))
    return parts


def strongest_opponents(
    single: SingleMatch, rating: Floats, expected: Floats, effects: Floats
) -> list[Opponent]:
    """Return the opponents whose results changed the performance most, the largest effect first.

    The match is one of single players.
    rating, expected, effects : shape (n,), of every participation
    """
    ids, deviation = single.history.player_ids, single.trace["deviation_before"]
    strongest: Ints = np.argsort(-np.abs(effects), kind="stable")[: 1 + NAMED_OPPONENTS]

    def numbers(j: int, score: float) -> tuple[float, float, float, float]:
        return float(rating[j]), float(deviation[j]), float(expected[j]), float(effects[j])

    teams = [(ids[j : j + 1], np.array([j])) for j in strongest.tolist() if j != single.row]
    return by_opponent(single, numbers, teams)


def places(match: History) -> Ints:
    """Return the place of every participation's team, from 1, ties sharing the best."""
    _, firsts = np.unique(match.team, return_index=True)
    ranks = np.sort(match.rank[firsts])
    return np.searchsorted(ranks, match.rank) + 1


def opposing_teams(single: SingleMatch) -> list[tuple[Ids, Ints]]:
    """Return (player ids, participations) of every other team."""
    match, own = single.history, single.history.team[single.row]
    members = [np.flatnonzero(match.team == team) for team in np.unique(match.team) if team != own]
    return [(match.player_ids[match.player[rows]], rows) for rows in members]
