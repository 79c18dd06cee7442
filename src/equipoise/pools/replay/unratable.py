"""What a replay does with a match that the pool's system cannot rate.

After a correction, a restored match or a late match it may be impossible to rate a log to its end:
a solver does not converge, or a player is left without a rating. Every replay would fail in the
same way, and no later amendment would count. So the match at fault is voided in the log, with the
reason. This is an amendment like any other: an administrator can correct the match and restore it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import Connection

from equipoise.errors import ConflictError, ConvergenceError, EquipoiseError, InvalidDataError
from equipoise.messages.matches import ReasonRequest
from equipoise.pools.amending import void_match
from equipoise.pools.pool.rules import rules_of
from equipoise.pools.pool.settings import rules_through
from equipoise.pools.posting.rating import LoggedMatch
from equipoise.pools.posting.running import RunningPool
from equipoise.pools.records import Amendments, amendments_of, counted_matches
from equipoise.pools.replay.states import running_before, running_from_start
from equipoise.store import log as pool_log
from equipoise.store.connection import Store
from equipoise.store.pools import START, PoolRecord, get_pool, last_through
from equipoise.store.schema import now

log = logging.getLogger(__name__)


class _Failure(NamedTuple):
    """The first match of a log that the system cannot rate, and why."""

    match: LoggedMatch
    reason: EquipoiseError


def void_unratable(store: Store, pool: str, beat: Callable[[], None]) -> bool:
    """Void the match because of which the log of a pool cannot be rated to its end.

    That is the match that fails, if it waits for this replay because it was corrected, restored or
    late. Otherwise it is the newest match that waits and is rated before the one that fails. If
    there is none, it is the match that fails.

    beat : called often, to renew the lease of the replay
    Returns : whether a match was voided, so that another replay gets further
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        amendments = amendments_of(connection, record)
        failure = _first_failure(connection, record, amendments, beat)
        if failure is None:
            return False
        fails = str(failure.match.request.match)
        culprit = _culprit(connection, record, amendments, failure.match)
    system = rules_of(record.settings).settings.system
    what = "this match" if culprit == fails else f"match {fails} after this one"
    why = str(failure.reason).replace("\n", " ")
    reason = (
        f"Voided by the service: {system} cannot rate {what} ({why}). "
        "Correct this match, then restore it."
    )
    try:
        void_match(store, pool, culprit, ReasonRequest(reason[:2000]), key=None, now=now())
    except ConflictError as error:
        # The pool is an archive, or the match was voided in the meantime.
        log.warning("match %s of pool %s was not voided: %s", culprit, pool, error)
        return False
    log.warning("pool %s, match %s: %s", pool, culprit, reason)
    return True


def _first_failure(
    connection: Connection, pool: PoolRecord, amendments: Amendments, beat: Callable[[], None]
) -> _Failure | None:
    """Return the first match that fails in the replay that the pool waits for, or None."""
    rules = rules_through(connection, pool)
    begin = START if pool.dirty is None else pool.dirty
    try:
        running = running_before(connection, pool, rules, amendments, begin, beat)
        after = max((begin[0], begin[1] - 1) if begin != START else START, running.position)
    except (ConvergenceError, InvalidDataError):
        # A match before that position fails, as may happen after an upgrade of the code.
        running, after = running_from_start(connection, pool, rules, amendments.renames), START
    for matches in counted_matches(connection, pool, amendments, after):
        beat()
        before = _copy(running)
        try:
            _, rows = running.rate(matches)
            running.ratings(rows)
        except (ConvergenceError, InvalidDataError):
            failure = before.first_failure(matches)
            return None if failure is None else _Failure(matches[failure[0]], failure[1])
    return None


def _copy(running: RunningPool) -> RunningPool:
    """Return a copy of a pool, which rating does not change."""
    return replace(
        running,
        players=list(running.players),
        row_of=dict(running.row_of),
        state=running.state.copy(),
        last_changes=deepcopy(running.last_changes),
    )


def _culprit(
    connection: Connection, pool: PoolRecord, amendments: Amendments, failing: LoggedMatch
) -> str:
    """Return the id of the match to void: see `void_unratable`."""
    done = last_through(connection, pool.id)
    waiting: dict[str, int] = {}
    for seq in pool_log.waiting_matches(connection, pool.id, done, pool.last_seq):
        log_record = pool_log.record_at(connection, pool.id, seq)
        if log_record is not None:
            waiting[str(log_record.match)] = seq
    for log_record in pool_log.amendments(connection, pool.id) if pool.amendments else []:
        if (
            log_record.seq > done
            and log_record.kind in ("correct", "restore")
            and log_record.needs_replay
        ):
            waiting[str(log_record.match)] = log_record.seq
    fails = str(failing.request.match)
    if fails in waiting:
        return fails
    records = pool_log.matches_by_id(connection, pool.id, waiting)
    earlier = [
        (seq, match)
        for match, seq in waiting.items()
        if match not in amendments.void and amendments.position(records[match]) < failing.position
    ]
    return max(earlier)[1] if earlier else fails
