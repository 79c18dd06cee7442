"""Matches of the log -> a history that rating systems rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, cast

import numpy as np

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import HOME_SIDES, History, TimeKind, read_score
from equipoise.data.missing import or_nan
from equipoise.data.times import MICROSECONDS, read_as_seconds
from equipoise.formats.tables.long_table import dense_ranks
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.pools.pool.rules import PoolRules
from equipoise.rating.federations.facts import used_facts
from equipoise.rating.system import OF_ROUNDS
from equipoise.store.pools import Position


class LoggedMatch(NamedTuple):
    """A match of the log at its position.

    seq, time : its position; time is 0 in pools without times
    request : its content; in a match to be rated without players who are not rated in it, and
        without teams if nobody is
    listed : disqualified players who are not rated in it, but get a page and an entry on the
        leaderboard
    """

    seq: int
    time: int
    request: MatchRequest
    listed: tuple[str, ...] = ()

    @property
    def position(self) -> Position:
        """Position in the order of rating."""
        return self.time, self.seq


def players_of(request: MatchRequest) -> list[str]:
    """Return the ids of a match's players, team after team."""
    return _ids([one for team in request.teams for one in team.players])


def names_of(matches: Sequence[LoggedMatch]) -> list[str]:
    """Return the ids of all players, match after match and team after team."""
    return Participants.of(matches).names


class Participants(NamedTuple):
    """The players and teams of some matches, match after match and team after team.

    requests : of the matches
    team_counts : of each match
    teams, team_sizes : every team, and how many players it has
    listed : players as the matches have them
    names : their ids
    plain : whether they are given by ids alone
    """

    requests: list[MatchRequest]
    team_counts: list[int]
    teams: list[TeamRequest]
    team_sizes: list[int]
    listed: Sequence[ParticipationRequest | str | int]
    names: list[str]
    plain: bool

    @classmethod
    def of(cls, matches: Sequence[LoggedMatch]) -> Participants:
        """Return the players and teams of matches. Each object is read as rarely as possible."""
        requests = [match.request for match in matches]
        teams_of = [request.teams for request in requests]
        teams = list(chain.from_iterable(teams_of))
        players_of_team = [team.players for team in teams]
        listed = list(chain.from_iterable(players_of_team))
        types = set(map(type, listed))
        only_text = types <= {str}
        return cls(
            requests,
            list(map(len, teams_of)),
            teams,
            list(map(len, players_of_team)),
            listed,
            cast("list[str]", listed) if only_text else _ids(listed),
            types <= {str, int},
        )


def without(request: MatchRequest, players: set[str]) -> MatchRequest | None:
    """Return a match without some players and without empty teams; None if nobody is left."""
    if not players:
        return request
    teams = [
        TeamRequest(
            players=[one for one in team.players if _id(one) not in players],
            rank=team.rank,
            team=team.team,
            score=team.score,
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
        beta=request.beta,
        gamma=request.gamma,
    )


def history_of(
    matches: Sequence[LoggedMatch], row_of: Mapping[str, int], player_ids: Ids, rules: PoolRules
) -> History:
    """Return matches in the order of rating as a history.

    row_of : player -> row of `player_ids`
    """
    participants = Participants.of(matches)
    rows = np.array([row_of[player] for player in participants.names], np.int64)
    return history_of_rows(matches, participants, rows, player_ids, rules)


def history_of_rows(
    matches: Sequence[LoggedMatch],
    participants: Participants,
    rows: Ints,
    player_ids: Ids,
    rules: PoolRules,
) -> History:
    """Return matches in the order of rating as a history.

    participants : of the matches; rows : theirs in `player_ids`
    """
    teams = participants.teams
    in_team = np.array(participants.team_sizes, np.int64)
    # Where the teams of each match begin, and the players of each team.
    first_team = _offsets(participants.team_counts)
    first_player = _offsets(in_team)
    number = np.arange(len(teams)) - np.repeat(first_team[:-1], np.diff(first_team))
    rank = dense_ranks(first_team, _ranks(teams))
    return History(
        match_ids=object_array([request.match for request in participants.requests]),
        player_ids=player_ids,
        offsets=first_player[first_team],
        player=rows,
        team=np.repeat(number, in_team),
        rank=np.repeat(rank, in_team),
        **_of_matches(matches, participants.requests, rules),
        **_of_players(participants, rules),
    )


def _ranks(teams: Sequence[TeamRequest]) -> Ints:
    """Return whole numbers that put the teams of every match in order: lower is better."""
    ranks = [team.rank for team in teams]
    if None not in ranks:
        return np.array(ranks, np.int64)
    order = np.array([team.order for team in teams], np.float64)
    return np.unique(order, return_inverse=True)[1].reshape(-1).astype(np.int64)


def time_kind(rules: PoolRules) -> TimeKind:
    """Return how the pool writes times."""
    return "datetime" if rules.settings.times == "datetime" else "seconds"


def pool_stamps(rules: PoolRules, span: tuple[int, int, bool] | None) -> bool:
    """Return whether a table of a pool writes times as in ISO 8601, not as seconds.

    span : the earliest and latest time in it, in microseconds, and whether some have part seconds
    """
    if rules.settings.times == "datetime" or span is None:
        return rules.settings.times == "datetime"
    low, high, fractions = span
    return fractions or not read_as_seconds(low // MICROSECONDS, high // MICROSECONDS)


def _of_matches(
    matches: Sequence[LoggedMatch], requests: Sequence[MatchRequest], rules: PoolRules
) -> dict[str, Any]:
    """Return the columns of matches; requests : theirs."""
    ceilings = [request.performance_ceiling for request in requests]
    found: dict[str, Any] = {
        "time_kind": time_kind(rules),
        "weight": np.array([request.weight for request in requests], np.float64),
        "performance_ceiling": _numbers(ceilings),
    }
    for name in OF_ROUNDS:
        # Other systems refuse such matches, but a pool may have changed its system.
        if name in rules.able.uses:
            found[name] = _numbers([getattr(request, name) for request in requests])
    if rules.timed:
        found["time"] = np.array([match.time for match in matches], np.int64)
    return found


def _of_players(participants: Participants, rules: PoolRules) -> dict[str, Any]:
    """Return the columns of participations."""
    listed = participants.listed
    if participants.plain:
        details: list[ParticipationRequest | None] = [None] * len(listed)
    else:
        details = [one if type(one) is ParticipationRequest else None for one in listed]
    parameters = rules.system
    needs_home = "at_home" in rules.able.uses
    needs_role = getattr(parameters, "roles", False)
    attributes: dict[str, Ids] = {}
    if needs_home:
        attributes["at_home"] = np.array([_at_home(one) for one in details], np.float64)
    if needs_role:
        attributes["role"] = object_array([None if one is None else one.role for one in details])
    for name in used_facts(rules.able.uses):
        given = [None if one is None else one.attributes.get(name) for one in details]
        attributes[name] = object_array(given)
    if "score" in rules.able.uses:
        attributes["score"] = _scores(participants, details)
    if participants.plain or not any(details):
        return {"attributes": attributes}
    shares = [1.0 if one is None or one.share is None else one.share for one in details]
    return {
        "performance": _performances(details, rules.settings.statistics),
        "share": np.array(shares, np.float64),
        "attributes": attributes,
    }


def _scores(participants: Participants, details: Sequence[ParticipationRequest | None]) -> Floats:
    """Return the score of every player's team, NaN for unknown."""
    sizes = zip(participants.teams, participants.team_sizes, strict=True)
    of_player = chain.from_iterable([team] * size for team, size in sizes)
    pairs = zip(of_player, details, strict=True)
    return or_nan([score_of(team, one) for team, one in pairs])


def score_of(team: TeamRequest, one: ParticipationRequest | None) -> float | None:
    """Return the score of a player's team, else the player's attribute `score`; None without."""
    if team.score is not None:
        return team.score
    found = None if one is None else read_score(one.attributes.get("score"))
    return None if found is None or math.isnan(found) else found


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
    """Return numbers with NaN for None; None if all are None."""
    return None if values.count(None) == len(values) else or_nan(values)


def _at_home(one: ParticipationRequest | None) -> bool:
    if one is None:
        return False
    return one.side in HOME_SIDES if one.at_home is None else one.at_home


def _ids(participants: Sequence[ParticipationRequest | str | int]) -> list[str]:
    """Return ids as text. Most are text already, for which no function is called."""
    return [one if type(one) is str else _id(one) for one in participants]


def _id(one: ParticipationRequest | str | int) -> str:
    return str(one.player) if isinstance(one, ParticipationRequest) else str(one)


def _offsets(counts: Sequence[int] | Ints) -> Ints:
    """Return the offsets of groups of some sizes, and the end of the last one."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def object_array(values: Sequence[object]) -> Ids:
    """Return values as an array of Python objects, as histories have ids."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
