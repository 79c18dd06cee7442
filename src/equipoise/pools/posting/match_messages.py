"""A match of the log, with what it did to its players, as it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from equipoise.messages.matches import (
    ChangeMessage,
    MatchLine,
    MatchMessage,
    MatchRequest,
    ParticipationRequest,
    TeamMessage,
    places_of,
)
from equipoise.pools.pool.pools import iso, written
from equipoise.pools.posting.match_history import players_of
from equipoise.pools.posting.posted_matches import PoolRules, unused_fields
from equipoise.pools.posting.rated_rows import unpack_extra
from equipoise.store.changes import ChangeRow
from equipoise.store.log import LogRecord


@dataclass(frozen=True, slots=True)
class MatchState:
    """How a match counts now.

    request, time, played : as corrected, if it was; status, corrected : as in MatchMessage
    barred : players who are disqualified from it
    """

    request: MatchRequest
    time: int
    played: int | None
    status: str
    corrected: int | None = None
    barred: frozenset[str] = frozenset()


def match_message(
    entry: LogRecord, state: MatchState, changes: Mapping[str, ChangeRow], rules: PoolRules
) -> MatchMessage:
    """Return a match as it is shown; changes : of the players whose rating it changed."""
    request = state.request
    places = places_of(request)
    return MatchMessage(
        match=str(request.match),
        seq=entry.seq,
        time=written(state.time, rules),
        received=iso(entry.received),
        status=state.status,
        corrected=state.corrected,
        weight=request.weight,
        teams=[
            TeamMessage(
                rank=place,
                team=None if team.team is None else str(team.team),
                players=[_change(one, changes, rules, state.barred) for one in team.players],
            )
            for team, place in zip(request.teams, places, strict=True)
        ],
        unused=unused_fields([request], rules),
        played=written(state.played, rules),
    )


def match_line(entry: LogRecord, state: MatchState, rules: PoolRules) -> MatchLine:
    """Return a match as a line of a list."""
    return MatchLine(
        match=str(state.request.match),
        seq=entry.seq,
        time=written(state.time, rules),
        received=iso(entry.received),
        status=state.status,
        players=len(players_of(state.request)),
        teams=len(state.request.teams),
        played=written(state.played, rules),
    )


def _change(
    one: ParticipationRequest | str | int,
    changes: Mapping[str, ChangeRow],
    rules: PoolRules,
    barred: frozenset[str],
) -> ChangeMessage:
    """Return what a match did to a player; without numbers where it did nothing."""
    posted = one if isinstance(one, ParticipationRequest) else None
    player = str(one.player if isinstance(one, ParticipationRequest) else one)
    found = changes.get(player)
    if found is None:
        return ChangeMessage(
            player=player,
            counted=False,
            rating_before=None,
            deviation_before=None,
            rating=None,
            deviation=None,
            change=None,
            expected=None,
            performance=None if posted is None else posted.performance,
            disqualified=player in barred,
        )
    return ChangeMessage(
        player=player,
        counted=True,
        rating_before=found.rating_before,
        deviation_before=found.deviation_before,
        rating=found.rating,
        deviation=found.deviation,
        change=found.rating - found.rating_before,
        expected=found.expected,
        performance=found.performance,
        extra=unpack_extra(rules.system, found.extra),
    )
