"""Logged matches -> a history that systems rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import History, TimeKind
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.store.pools import Position
from equipoise.workflows.posted_matches import PoolRules


class LoggedMatch(NamedTuple):
    """A match of the log as it is to be rated.

    seq, time : its position; time is 0 in pools without times
    request : without players who do not count
    """

    seq: int
    time: int
    request: MatchRequest

    @property
    def position(self) -> Position:
        """Where it stands in the order of rating."""
        return self.time, self.seq


def players_of(request: MatchRequest) -> list[str]:
    """Return the ids of a match's players, team after team."""
    return [_id(one) for team in request.teams for one in team.players]


def names_of(matches: Sequence[LoggedMatch]) -> list[str]:
    """Return the ids of all players, match after match and team after team."""
    return [one if type(one) is str else _id(one) for one in _participants(matches)]


def _participants(matches: Sequence[LoggedMatch]) -> list[ParticipationRequest | str | int]:
    return [one for match in matches for team in match.request.teams for one in team.players]


def without(request: MatchRequest, players: set[str]) -> MatchRequest | None:
    """Return a match without some players, and without teams that are then empty; None if all."""
    if not players:
        return request
    teams = [
        TeamRequest(
            players=[one for one in team.players if _id(one) not in players],
            rank=team.rank,
            team=team.team,
        )
        for team in request.teams
    ]
    teams = [team for team in teams if team.players]
    if not teams:
        return None
    return MatchRequest(
        match=request.match,
        teams=teams,
        weight=request.weight,
        performance_ceiling=request.performance_ceiling,
        rated=request.rated,
    )


def history_of(
    matches: Sequence[LoggedMatch], row_of: Mapping[str, int], player_ids: Ids, rules: PoolRules
) -> History:
    """Return matches in the order of rating as a history.

    row_of : player -> row of `player_ids`
    """
    teams = [team for match in matches for team in match.request.teams]
    in_match = np.array([len(match.request.teams) for match in matches], np.int64)
    in_team = np.array([len(team.players) for team in teams], np.int64)
    match_of = np.repeat(np.arange(len(matches)), in_match)
    number = np.arange(len(teams)) - np.repeat(np.cumsum(in_match) - in_match, in_match)
    rank = _dense(match_of, np.array([team.rank for team in teams], np.int64))
    ends = np.concatenate([[0], np.cumsum(in_team)])
    participants = _participants(matches)
    return History(
        match_ids=_objects([match.request.match for match in matches]),
        player_ids=player_ids,
        offsets=ends[np.concatenate([[0], np.cumsum(in_match)])],
        player=np.array([row_of[name] for name in names_of(matches)], np.int64),
        team=np.repeat(number, in_team),
        rank=np.repeat(rank, in_team),
        **_of_matches(matches, rules),
        **_of_players(participants, rules),
    )


def _dense(match_of: Ints, ranks: Ints) -> Ints:
    """Return ranks as 0, 1, ... in every match without gaps; both of shape (teams,)."""
    if not len(ranks):
        return ranks
    order = np.lexsort((ranks, match_of))
    sorted_match, sorted_rank = match_of[order], ranks[order]
    first = np.ones(len(order), bool)
    first[1:] = sorted_match[1:] != sorted_match[:-1]
    higher = np.zeros(len(order), np.int64)
    higher[1:] = sorted_rank[1:] != sorted_rank[:-1]
    higher[first] = 0
    steps = np.cumsum(higher)
    begins = np.flatnonzero(first)
    # What the matches before have added is taken away again.
    steps -= np.repeat(steps[begins], np.diff(np.append(begins, len(order))))
    dense = np.empty_like(steps)
    dense[order] = steps
    return dense


def time_kind(rules: PoolRules) -> TimeKind:
    """Return how the pool writes times."""
    return "datetime" if rules.settings.times == "datetime" else "seconds"


def _of_matches(matches: Sequence[LoggedMatch], rules: PoolRules) -> dict[str, Any]:
    """Return the columns of matches."""
    ceilings = [match.request.performance_ceiling for match in matches]
    found: dict[str, Any] = {
        "time_kind": time_kind(rules),
        "weight": np.array([match.request.weight for match in matches], np.float64),
        "performance_ceiling": _numbers(ceilings),
    }
    if rules.timed:
        found["time"] = np.array([match.time for match in matches], np.int64)
    return found


def _of_players(
    participants: Sequence[ParticipationRequest | str | int], rules: PoolRules
) -> dict[str, Any]:
    """Return the columns of participations."""
    details = [one if type(one) is ParticipationRequest else None for one in participants]
    parameters = rules.system
    needs_home = getattr(parameters, "home_advantage", 0.0) != 0.0
    needs_role = getattr(parameters, "roles", False)
    attributes: dict[str, Ids] = {}
    if needs_home:
        attributes["at_home"] = np.array([_at_home(one) for one in details], np.float64)
    if needs_role:
        attributes["role"] = _objects([None if one is None else one.role for one in details])
    if not any(details):
        return {"attributes": attributes}
    shares = [1.0 if one is None or one.share is None else one.share for one in details]
    return {
        "performance": _performances(details, rules.settings.statistics),
        "share": np.array(shares, np.float64),
        "attributes": attributes,
    }


def _performances(
    details: Sequence[ParticipationRequest | None], weights: Mapping[str, float]
) -> Floats | None:
    """Return performances as posted, or sum of weight x statistic [TG2] (5); NaN where absent."""
    if not weights:
        return _numbers([None if one is None else one.performance for one in details])
    total = np.zeros(len(details))
    for name, weight in weights.items():
        values = [
            math.nan if one is None else one.statistics.get(name, math.nan) for one in details
        ]
        total += weight * np.array(values, np.float64)
    return total


def _numbers(values: Sequence[float | None]) -> Floats | None:
    """Return numbers with NaN for None; None where there is none at all."""
    if all(value is None for value in values):
        return None
    return np.array([math.nan if value is None else value for value in values], np.float64)


def _at_home(one: ParticipationRequest | None) -> bool:
    if one is None:
        return False
    return one.side == "home" if one.at_home is None else one.at_home


def _id(one: ParticipationRequest | str | int) -> str:
    return str(one.player) if isinstance(one, ParticipationRequest) else str(one)


def _objects(values: Sequence[object]) -> Ids:
    """Return values as an array of Python objects."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
