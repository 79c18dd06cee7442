"""Adding a record other than a match to a log: the one way in which pools are changed.

Whoever changes a pool makes a `Draft`. `record_change` locks the pool, appends the record, notes
from where the pool must be rated again, and writes the audit log, all in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from sqlalchemy import Connection

from equipoise.pools.amended_log import (
    Amendments,
    first_position,
    last_counting_time,
    latest_of,
)
from equipoise.pools.pool.pools import check_open
from equipoise.pools.posting.rated_rows import day_of
from equipoise.store import audit, log
from equipoise.store.connection import Store
from equipoise.store.log import Kind, LoggedAs, LogRecord
from equipoise.store.pools import START, PoolRecord, Position, change_pool, get_pool


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A record that is to be added to a log, and what changes with it.

    needs_replay : whether it counts only once matches are rated again
    columns : of the pool, beside those that every record changes; they override what the record
        itself says of a replay
    ends_replay : whether a running replay must begin again, as it holds what has changed
    action, subject, detail : the row of the audit log; no action for none
    """

    kind: Kind
    content: str
    time: int
    match: str | None = None
    player: str | None = None
    posted_time: int | None = None
    needs_replay: bool = False
    columns: Mapping[str, Any] = field(default_factory=dict)
    ends_replay: bool = False
    action: str = ""
    subject: object = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    def record(self, seq: int, now: int, key: int | None) -> LogRecord:
        """Return the record with its number, time of receipt and key."""
        return LogRecord(
            seq=seq,
            kind=self.kind,
            match=self.match,
            player=self.player,
            content=self.content,
            posted_time=self.posted_time,
            time=self.time,
            needs_replay=self.needs_replay,
            received=now,
            key=key,
        )


#: Makes the draft for a pool, which is locked; None if nothing is to be recorded.
MakeDraft: TypeAlias = Callable[[Connection, PoolRecord], Draft | None]
#: What else is written in the transaction; it gets the pool after the record.
Then: TypeAlias = Callable[[Connection, PoolRecord, LogRecord], None]


def record_change(
    store: Store,
    pool: str,
    make: MakeDraft,
    *,
    key: int | None,
    now: int,
    logged: LoggedAs | None = None,
    then: Then = lambda *_: None,
) -> PoolRecord:
    """Record a change of an open pool; return the pool after it.

    logged : what an imported log has of the record
    Raises : NotFoundError, ConflictError, and what `make` and `then` raise
    """
    with store.write() as connection:
        before = get_pool(connection, pool, lock=True)
        check_open(before)
        draft = make(connection, before)
        if draft is None:
            return before
        after, _ = append(connection, before, draft, key=key, now=now, logged=logged, then=then)
        return after


def append(
    connection: Connection,
    pool: PoolRecord,
    draft: Draft,
    *,
    key: int | None,
    now: int,
    logged: LoggedAs | None = None,
    then: Then = lambda *_: None,
) -> tuple[PoolRecord, LogRecord]:
    """Append a record to the log of a pool, which is locked; return the pool after it, and it."""
    kept = LoggedAs(now) if logged is None else logged
    new = kept.applied(draft.record(pool.last_seq + 1, now, key))
    columns: dict[str, Any] = {"amendments": pool.amendments + 1}
    if new.needs_replay and "dirty" not in draft.columns:
        columns |= _replay_columns(connection, pool, new)
    columns |= log.append(connection, pool, [new], kept.seals(new.seq))
    if draft.ends_replay and pool.replay_until is not None:
        # A running replay notices this at its next step, and begins again.
        columns |= {"replay_owner": None, "replay_until": None}
    columns |= draft.columns
    change_pool(connection, pool.id, **columns)
    after = replace(pool, **columns)
    then(connection, after, new)
    if draft.action:
        # Last, because all pools share the chain that this locks.
        audit.note(
            connection,
            draft.action,
            now=now,
            key=key,
            pool=pool.name,
            subject=draft.subject,
            seq=new.seq,
            **draft.detail,
        )
    return after, new


def first_changed(
    connection: Connection, pool: PoolRecord, new: LogRecord, before: Amendments
) -> Position:
    """Return the position from which a record, and what waits already, changes the ratings."""
    match = None if new.match is None else log.match_by_id(connection, pool.id, new.match)
    begin = first_position(new, match, before)
    return begin if pool.dirty is None else min(begin, pool.dirty)


def _replay_columns(connection: Connection, pool: PoolRecord, new: LogRecord) -> dict[str, Any]:
    """Return from where a pool is rated again, and how late its matches now are."""
    records = log.amendments(connection, pool.id) if pool.amendments else []
    before = Amendments.of(records, pool.last_seq)
    last = last_counting_time(connection, pool, Amendments.of([*records, new], new.seq))
    columns: dict[str, Any] = {
        "dirty": first_changed(connection, pool, new, before),
        "last_time": last,
        "rated_to": latest_of(pool.rated_to, pool.last_time, last),
    }
    if pool.board_day is not None:
        day = START[0] if last is None else day_of(last)
        if day < pool.board_day:
            # Ratings shown have decayed up to a match that no longer counts.
            columns |= {"board_day": day, "board_from": ""}
    return columns
