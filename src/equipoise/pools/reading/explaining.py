"""Why a match of a pool changed a player's rating.

The states of the match's players right before it are made from partial checkpoints, or else the
state of the whole pool from the last checkpoint. The rating system explains the change from them.
"""

from __future__ import annotations

import logging
import math

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.analysis.files.explain import explain_message, with_statistics
from equipoise.data.explanations.explanation import Explanation
from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.errors import InvalidDataError, NotFoundError
from equipoise.messages.histories import ExplainMessage
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.pools.amended_log import Amendments, amendments_of
from equipoise.pools.pool.rules import PoolRules, rules_of, written
from equipoise.pools.posting.match_history import (
    LoggedMatch,
    history_of,
    object_array,
    players_of,
)
from equipoise.pools.replay.checkpointing import RunningPool, state_before
from equipoise.pools.replay.match_state import players_before
from equipoise.rating.explaining import explain_change, why_unrated
from equipoise.rating.pool_state import PoolState
from equipoise.rating.state import COUNT
from equipoise.store import changes, log, ratings, replays
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord, get_pool

_logger = logging.getLogger(__name__)


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
        ratings.get_rating(connection, record, player)
        # While a replay is pending, the stored changes are those of the last replay.
        through = replays.rated_through(connection, record)
        amendments = amendments_of(connection, record, through)
        logged = _match_of(connection, record, player, match)
        rated = _rated(logged, amendments, player)
        found = _explained_quickly(connection, record, rules, amendments, rated, player)
        if found is None:
            before = state_before(connection, record, rules, amendments, rated.position)
            found = _explained_from(connection, record, rules, before, rated, player)
    message = explain_message(found, lambda time: _written_days(time, rules))
    played = amendments.time_played(str(logged.match), logged.posted_time)
    return msgspec.structs.replace(message, played=written(played, rules))


def _explained_quickly(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    amendments: Amendments,
    match: LoggedMatch,
    player: str,
) -> Explanation | None:
    """Return the explanation made from partial checkpoints; None without those it needs.

    Raises : InvalidDataError
    """
    stored = changes.changes_of_match(connection, pool, match.position)
    if player not in stored:
        # The system did not rate it, and the reason needs no states.
        nobody = RunningPool.start(rules, pool.draws_from).pool_state()
        _explained_from(connection, pool, rules, nobody, match, player)
        return None
    before = players_before(connection, pool, rules, amendments, match.position)
    if before is None:
        return None
    found = _explained_from(connection, pool, rules, before, match, player)
    row = stored[player]
    if (row.rating_before, row.rating) == (found.rating_before, found.rating):
        return found
    _logger.warning("pool %s: partial checkpoints disagree with the changes", pool.name)
    return None


def _match_of(
    connection: Connection, pool: PoolRecord, player: str, match: str | None
) -> LogRecord:
    """Return a match, or the last one that changed the player's rating.

    Raises : NotFoundError, InvalidDataError
    """
    if match is not None:
        return log.get_match(connection, pool, match)
    last = changes.changes_of_player(connection, pool, player, None, 1)
    logged = log.record_at(connection, pool.id, last[0].seq) if last else None
    if logged is None:
        raise InvalidDataError([], f"no match of {player} changed a rating")
    return logged


def _rated(logged: LogRecord, amendments: Amendments, player: str) -> LoggedMatch:
    """Return a match as it was rated. Raises : NotFoundError, InvalidDataError."""
    match = amendments.match(logged)
    name = str(logged.match)
    if player not in players_of(match.request):
        raise NotFoundError(f"{player} did not take part in match {name}")
    disqualified = amendments.eligibility.disqualified(match)
    reason = None
    if name in amendments.void:
        reason = "it is void"
    elif logged.needs_replay and logged.seq > amendments.through:
        reason = "it was late and waits for a replay"
    elif not match.request.rated:
        reason = "it was posted as not rated"
    elif player in disqualified and disqualified[player].effect != "keep":
        reason = f"{player} was disqualified"
    else:
        voiding = [name for name, by in disqualified.items() if by.effect == "void"]
        if voiding:
            reason = f"{voiding[0]} was disqualified, and the match does not count"
    if reason is not None:
        raise InvalidDataError([], f"match {name} did not change the rating of {player}: {reason}")
    return amendments.eligibility.rated_part(match) or match


def _earlier(
    connection: Connection, pool: PoolRecord, before: PoolState, player: str, match: LoggedMatch
) -> list[LoggedMatch]:
    """Return the matches whose performances the state of a player holds, oldest first.

    Only their ids and times are needed: each has one opponent as a placeholder.
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


def _explained_from(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    before: PoolState,
    match: LoggedMatch,
    player: str,
) -> Explanation:
    """Return the explanation that the system gives. Raises : InvalidDataError."""
    earlier = _earlier(connection, pool, before, player, match)
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
    """Return the statistics that were posted of a player."""
    for team in request.teams:
        for one in team.players:
            if isinstance(one, ParticipationRequest) and one.player == player:
                return one.statistics
    return {}


def _written_days(time: float, rules: PoolRules) -> int | str | None:
    """Return days since 1970 as the pool writes times; None for NaN."""
    return None if np.isnan(time) else written(round(time * MICROSECONDS_PER_DAY), rules)
