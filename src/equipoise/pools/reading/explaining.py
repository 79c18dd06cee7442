"""Why a match changed a rating in a pool: its players brought back to where they stood before."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.analysis.files.explain import explain_message, with_statistics
from equipoise.data.explanation import Explanation
from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.errors import InvalidDataError, NotFoundError
from equipoise.messages.histories import ExplainMessage
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.pools.amended_log import Amendments, amendments_of
from equipoise.pools.pool.pools import rules_of, written
from equipoise.pools.posting.match_history import (
    LoggedMatch,
    history_of,
    object_array,
    players_of,
    without,
)
from equipoise.pools.posting.posted_matches import PoolRules
from equipoise.pools.replay.checkpointing import state_before
from equipoise.rating.explaining import explain_change, why_unrated
from equipoise.rating.pool_state import PoolState
from equipoise.rating.state import COUNT
from equipoise.store import changes, log, ratings, replays
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord, get_pool


def explain_player(
    store: Store, pool: str, player: str, match: str | None = None
) -> ExplainMessage:
    """Return why a match changed a player's rating, in parts that add up to the stored change.

    match : None takes the last one that did
    Raises : NotFoundError; InvalidDataError where the match changed nothing
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        if ratings.rating_of(connection, record.id, record.generation, player) is None:
            raise NotFoundError(f"no player {player!r} in pool {pool!r}")
        # While a replay is waited for, the stored changes are those of the last one.
        through = None if record.dirty is None else replays.last_through(connection, record.id)
        amendments = amendments_of(connection, record, through)
        entry = _entry(connection, record, player, match)
        counted = _counted(entry, amendments, player)
        before = state_before(connection, record, rules, amendments, counted.position)
        earlier = _earlier(connection, record, before, player, counted)
    found = _explained(rules, before, earlier, counted, player)
    message = explain_message(found, lambda time: _shown(time, rules))
    played = amendments.time_played(str(entry.match), entry.posted_time)
    return msgspec.structs.replace(message, played=written(played, rules))


def _entry(connection: Connection, pool: PoolRecord, player: str, match: str | None) -> LogRecord:
    """Return the match that is meant. Raises : NotFoundError, InvalidDataError."""
    if match is not None:
        found = log.match_by_id(connection, pool.id, match)
        if found is None:
            raise NotFoundError(f"no match {match!r} in pool {pool.name!r}")
        return found
    last = changes.changes_of_player(connection, pool, player, None, 1)
    entry = log.entry_at(connection, pool.id, last[0].seq) if last else None
    if entry is None:
        raise InvalidDataError([], f"no match of {player} changed a rating")
    return entry


def _counted(entry: LogRecord, amendments: Amendments, player: str) -> LoggedMatch:
    """Return the match as it was rated. Raises : NotFoundError, InvalidDataError."""
    name, request = str(entry.match), amendments.request(entry)
    position = (amendments.time(entry), entry.seq)
    if player not in players_of(request):
        raise NotFoundError(f"{player} did not take part in match {name}")
    barred = amendments.eligibility.barred(players_of(request), name, position)
    reason = None
    if name in amendments.void:
        reason = "it is void"
    elif entry.needs_replay and entry.seq > amendments.through:
        reason = "it came late, and waits for a replay"
    elif not request.rated:
        reason = "it was posted as one that is not rated"
    elif player in barred:
        reason = f"{player} was disqualified"
    if reason is not None:
        raise InvalidDataError([], f"match {name} changed no rating of {player}: {reason}")
    kept = without(request, barred)
    return LoggedMatch(entry.seq, position[0], request if kept is None else kept)


def _earlier(
    connection: Connection, pool: PoolRecord, before: PoolState, player: str, match: LoggedMatch
) -> list[LoggedMatch]:
    """Return the matches whose performances the system remembers of a player, oldest first.

    They stand for their ids and times alone: of the others in them only one is there.
    """
    runs, known = before.state.runs, before.player_ids.tolist()
    if runs is None or player not in known:
        return []
    count = int(runs.spans[known.index(player), COUNT])
    rows = changes.changes_of_player(connection, pool, player, match.position, count)
    ids = log.match_ids(connection, pool.id, [row.seq for row in rows])
    other = next((one for one in players_of(match.request) if one != player), player)
    teams = [TeamRequest(players=[one], rank=rank) for rank, one in enumerate((player, other))]
    return [
        LoggedMatch(row.seq, row.time, MatchRequest(match=ids[row.seq], teams=teams))
        for row in reversed(rows)
    ]


def _explained(
    rules: PoolRules,
    before: PoolState,
    earlier: list[LoggedMatch],
    match: LoggedMatch,
    player: str,
) -> Explanation:
    """Return the explanation that the system gives. Raises : InvalidDataError."""
    names = players_of(match.request)
    ids = list(dict.fromkeys([*before.player_ids.tolist(), *names]))
    before.state.grow(len(ids))
    rows = {one: row for row, one in enumerate(ids)}
    history = history_of([*earlier, match], rows, object_array(ids), rules)
    where = len(earlier)
    reason = why_unrated(rules.system, history, where)
    if reason is not None:
        raise InvalidDataError([], f"match {match.request.match} changed no rating: {reason}")
    row = int(history.offsets[where]) + names.index(player)
    found = explain_change(rules.system, before.state, history, where, row)
    weights = rules.settings.statistics
    if weights and "performance" in rules.able.uses:
        posted = _statistics(match.request, player)
        values = {name: posted.get(name, math.nan) for name in weights}
        found = with_statistics(found, values, weights)
    return found


def _statistics(request: MatchRequest, player: str) -> dict[str, float]:
    """Return what was posted of a player's statistics."""
    for team in request.teams:
        for one in team.players:
            if isinstance(one, ParticipationRequest) and one.player == player:
                return one.statistics
    return {}


def _shown(time: float, rules: PoolRules) -> int | str | None:
    """Return days since 1970 as the pool writes times; NaN is no time."""
    return None if np.isnan(time) else written(round(time * MICROSECONDS_PER_DAY), rules)
