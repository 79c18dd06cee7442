"""Matches of a pool: as posted, how they count now, and what they did to their players."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection

from equipoise.errors import (
    NotFoundError,
)
from equipoise.messages.matches import (
    ChangeMessage,
    MatchLine,
    MatchMessage,
    MatchPage,
    MatchRequest,
    ParticipationRequest,
    TeamMessage,
    places_of,
)
from equipoise.pools.amended_log import (
    Amendments,
    Eligibility,
    amendments_of,
    amendments_of_matches,
)
from equipoise.pools.pool.pages import check_limit, decode_cursor, encode_cursor
from equipoise.pools.pool.rules import PoolRules, iso, rules_of, written
from equipoise.pools.posting.match_history import players_of
from equipoise.pools.posting.posted_matches import unused_fields
from equipoise.pools.posting.rated_rows import unpack_extra
from equipoise.store import changes, log, replays
from equipoise.store.changes import ChangeRow
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord, get_pool


def match(store: Store, pool: str, match_id: str) -> MatchMessage:
    """Return a match and what it did to its players. Raises : NotFoundError."""
    with store.read() as connection:
        record = get_pool(connection, pool)
        found = stored_matches(connection, record, rules_of(record.settings), [match_id])
    if match_id not in found:
        raise NotFoundError(f"no match {match_id!r} in pool {pool!r}")
    return found[match_id]


def matches(store: Store, pool: str, *, cursor: str | None = None, limit: int = 50) -> MatchPage:
    """Return a page of matches, newest first.

    cursor : from an earlier page; limit : matches, from 1 to 1000
    Raises : NotFoundError, InvalidParameterError
    """
    check_limit(limit)
    before = decode_cursor(cursor, tuple[int, int])
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        logged = log.matches_before(connection, record.id, before, limit + 1)
        amendments = amendments_of_matches(connection, record, [str(one.match) for one in logged])
        through = replays.rated_through(connection, record)
    shown = logged[:limit]
    more = len(logged) > limit
    return MatchPage(
        matches=[_match_line(one, _state_of(one, amendments, through), rules) for one in shown],
        next=encode_cursor(shown[-1].position) if more else None,
    )


def posted_match(store: Store, pool: str, match: str) -> MatchRequest:
    """Return a match as it was posted, or as it was last corrected.

    It has no time if none was given, so that a correction made from it has none either.
    Raises : NotFoundError
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        logged = log.get_match(connection, record, match)
        amendments = amendments_of(connection, record)
        played = amendments.time_played(match, logged.posted_time)
        counted = None if played is None else amendments.time(logged)
        time = written(counted, rules_of(record.settings))
    return msgspec.structs.replace(amendments.request(logged), time=time)


def stored_matches(
    connection: Connection, pool: PoolRecord, rules: PoolRules, ids: Iterable[str]
) -> dict[str, MatchMessage]:
    """Return those matches that are in the log, with what they did, by id."""
    logged = log.matches_by_id(connection, pool.id, ids)
    amendments = amendments_of_matches(connection, pool, logged)
    through = replays.rated_through(connection, pool)
    replayed = amendments
    if through is not None and amendments.corrections:
        replayed = amendments_of_matches(connection, pool, logged, through)
    states = {name: _state_of(one, amendments, through) for name, one in logged.items()}
    everyone = {player for one in states.values() for player in players_of(one.request)}
    eligible = Eligibility.of_players(connection, pool, everyone)
    found = {}
    for match_id, one in logged.items():
        # While a correction waits for its replay, the changes are those of the match before it.
        rows = changes.changes_of_match(connection, pool, replayed.position(one))
        disqualified = eligible.disqualified(amendments.match(one))
        found[match_id] = match_message(one, states[match_id], rows, rules, disqualified)
    return found


@dataclass(frozen=True, slots=True)
class MatchState:
    """How a match counts now; fields as in MatchMessage, as corrected.

    time, played : microseconds since 1970
    """

    request: MatchRequest
    time: int
    played: int | None
    status: str
    corrected: int | None = None


def _state_of(logged: LogRecord, amendments: Amendments, through: int | None) -> MatchState:
    """Return how a match counts now.

    through : last record that the ratings take into account; None for all
    """
    request = amendments.request(logged)
    name = str(logged.match)
    waits = through is not None and (
        (logged.needs_replay and logged.seq > through) or amendments.touched.get(name, 0) > through
    )
    status = "void" if name in amendments.void else "rated" if request.rated else "unrated"
    correction = amendments.corrections.get(name)
    return MatchState(
        request=request,
        time=amendments.time(logged),
        played=amendments.time_played(name, logged.posted_time),
        status="pending" if waits else status,
        corrected=None if correction is None else correction.seq,
    )


def match_message(
    logged: LogRecord,
    state: MatchState,
    changes: Mapping[str, ChangeRow],
    rules: PoolRules,
    disqualified: Collection[str] = (),
) -> MatchMessage:
    """Return a match with what it did.

    changes : of the players whose rating it changed
    disqualified : players of the match who may not be rated in it
    """
    request = state.request
    return MatchMessage(
        match=str(request.match),
        seq=logged.seq,
        time=written(state.time, rules),
        received=iso(logged.received),
        status=state.status,
        corrected=state.corrected,
        weight=request.weight,
        teams=[
            TeamMessage(
                rank=place,
                team=None if team.team is None else str(team.team),
                players=[_change(one, changes, rules, disqualified) for one in team.players],
            )
            for team, place in zip(request.teams, places_of(request), strict=True)
        ],
        unused=unused_fields([request], rules),
        played=written(state.played, rules),
    )


def _match_line(logged: LogRecord, state: MatchState, rules: PoolRules) -> MatchLine:
    """Return a match as a line of a list."""
    return MatchLine(
        match=str(state.request.match),
        seq=logged.seq,
        time=written(state.time, rules),
        received=iso(logged.received),
        status=state.status,
        players=len(players_of(state.request)),
        teams=len(state.request.teams),
        played=written(state.played, rules),
    )


def _change(
    one: ParticipationRequest | str | int,
    changes: Mapping[str, ChangeRow],
    rules: PoolRules,
    disqualified: Collection[str],
) -> ChangeMessage:
    """Return what a match did to a player; without numbers if it did nothing."""
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
            disqualified=player in disqualified,
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
        extra=unpack_extra(rules, found.extra),
    )
