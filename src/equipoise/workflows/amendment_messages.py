"""Amendments as they are shown, and whether they count yet."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection

from equipoise.messages.amendments import AmendmentMessage, DifferenceMessage
from equipoise.store import replays
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord
from equipoise.workflows.clock import now
from equipoise.workflows.pool_settings import content_of
from equipoise.workflows.pools import iso, rules_of, written

#: Microseconds for which a replay that has not yet said what it changed is waited for.
_TELLING = 10_000_000


def message_of(connection: Connection, pool: PoolRecord, entry: LogRecord) -> AmendmentMessage:
    """Return an amendment as it is shown."""
    status, found = _outcome(connection, pool, entry)
    return described(pool, entry, status, found)


def described(
    pool: PoolRecord, entry: LogRecord, status: str, found: DifferenceMessage | None
) -> AmendmentMessage:
    """Return an amendment with its status and what it changed."""
    rules = rules_of(pool.settings)
    said = content_of(entry.content) if entry.kind == "settings" else None
    return AmendmentMessage(
        seq=entry.seq,
        kind=entry.kind,
        match=entry.match,
        player=entry.player,
        since=written(entry.posted_time, rules) if entry.player is not None else None,
        reason=reason_of(entry),
        received=iso(entry.received),
        status=status,
        difference=found,
        settings=None if said is None else said.settings,
        settings_before=None if said is None else said.before,
    )


def _outcome(
    connection: Connection, pool: PoolRecord, entry: LogRecord
) -> tuple[str, DifferenceMessage | None]:
    """Return whether an amendment counts yet, and what that changed."""
    if not entry.needs_replay:
        return "done", DifferenceMessage(0, 0, [])
    replay = replays.first_replay_with(connection, pool.id, entry.seq)
    if replay is None:
        return "pending", None
    if replay.difference:
        return "done", msgspec.json.decode(replay.difference, type=DifferenceMessage)
    # Swapped in, but the comparison is not written yet; if that was cut off, it never will be.
    return ("pending" if now() - replay.finished < _TELLING else "done"), None


def reason_of(entry: LogRecord) -> str:
    """Return why something was amended; corrections have no reason."""
    if entry.kind == "correct":
        return ""
    return str(msgspec.json.decode(entry.content)["reason"])
