"""Changes of a pool's settings.

A change is a log record. Matches before it stay rated by the settings of their time, also after an
import: the head of an exported log has the first settings of the pool, and the import makes each
change at its place in the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import UNSET
from sqlalchemy import Connection

from equipoise.errors import ConflictError, InvalidDataError, Problem
from equipoise.messages.pools import PoolChange, PoolMessage, PoolRequest
from equipoise.pools.pool.checks import (
    check_reason,
    check_settings,
    described_differences,
    differing,
    is_fixed,
)
from equipoise.pools.pool.pools import check_open, message_of
from equipoise.pools.pool.rules import PoolRules, decays, rules_of, settings_json
from equipoise.pools.replay.ordering import fits_one_transaction, rewrite_next
from equipoise.store import audit, log
from equipoise.store.connection import Store
from equipoise.store.log import LoggedAs, LogRecord
from equipoise.store.pools import START, PoolRecord, change_pool, get_pool

#: Settings that affect stored ratings: the order of the leaderboard, and who is provisional.
_ON_BOARD = frozenset(
    {
        "display_deviations",
        "display_floor",
        "display_decay_per_day",
        "display_decay_after_days",
        "placement_matches",
    }
)


class SettingsContent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content of the log record of a change: the settings after it, those before it, its reason."""

    settings: dict[str, Any]
    before: dict[str, Any]
    reason: str = ""


_contents = msgspec.json.Decoder(SettingsContent)


def content_of(content: str | bytes | msgspec.Raw) -> SettingsContent:
    """Return the content of the record of a change. Raises : msgspec.MsgspecError."""
    return _contents.decode(content)


def change_settings(
    store: Store, pool: str, request: PoolChange, now: int, *, key: int | None = None
) -> PoolMessage:
    """Change settings of a pool. Without a difference nothing is recorded.

    key : number of the key that changes them
    Raises : NotFoundError; InvalidDataError; ConflictError for the archive of a season, and for
        settings that cannot be changed without rating all matches again
    """
    given = {
        name: value
        for name, value in msgspec.structs.asdict(request).items()
        if name != "reason" and value is not UNSET
    }
    check_reason(request.reason)
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        check_open(record)
        wanted = with_settings(rules_of(record.settings).settings, given)
        check_settings(pool, wanted, "The settings could not be changed")
        found = differing(rules_of(record.settings), PoolRules(wanted))
        fixed = {name: pair for name, pair in found.items() if is_fixed(name, pair)}
        if fixed:
            raise ConflictError(
                f"Pool {pool!r} cannot take these settings: {described_differences(fixed)}. "
                "Its matches were rated with the old ones. Create another pool, or end the season "
                f"with other settings: POST /v1/pools/{pool}/seasons"
            )
        if not found:
            return message_of(record)
        changed = {name: pair[1] for name, pair in found.items()}
        return message_of(_record(connection, record, changed, request.reason, now, key))


def import_settings(store: Store, pool: str, content: SettingsContent, logged: LoggedAs) -> None:
    """Record a change of settings from an imported log, even if nothing differs.

    logged : what the log has of the record
    Raises : NotFoundError, InvalidDataError, ConflictError
    """
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        check_open(record)
        wanted = with_settings(rules_of(record.settings).settings, content.settings)
        check_settings(pool, wanted, "The settings could not be changed")
        found = differing(rules_of(record.settings), PoolRules(wanted))
        if any(is_fixed(name, pair) for name, pair in found.items()):
            raise ConflictError(
                f"the log changes settings that cannot be changed: {', '.join(found)}"
            )
        values = content.settings, content.reason, logged.received, None
        _record(connection, record, *values, logged=logged)


def first_settings(pool: PoolRecord) -> PoolRequest:
    """Return the first settings of a pool."""
    return rules_of(pool.first_settings).settings


def with_settings(settings: PoolRequest, given: Mapping[str, Any]) -> PoolRequest:
    """Return settings with some of them replaced. Raises : InvalidDataError."""
    try:
        return msgspec.convert({**msgspec.to_builtins(settings), **given}, PoolRequest)
    except msgspec.ValidationError as error:
        raise InvalidDataError([Problem("", None, "settings", str(error), str(given)[:200])]) from (
            error
        )


def _record(
    connection: Connection,
    pool: PoolRecord,
    changed: dict[str, Any],
    reason: str,
    now: int,
    key: int | None,
    *,
    logged: LoggedAs | None = None,
) -> PoolRecord:
    """Record a change in the log and in the pool, which is locked; return the pool after it.

    logged : what an imported log has of the record
    """
    logged = LoggedAs(now) if logged is None else logged
    old = rules_of(pool.settings).settings
    new = with_settings(old, changed)
    before = {name: getattr(old, name) for name in changed}
    log_record = LogRecord(
        seq=pool.last_seq + 1,
        kind="settings",
        match=None,
        player=None,
        content=msgspec.json.encode(SettingsContent(changed, before, reason)).decode(),
        posted_time=None,
        time=now,
        needs_replay=False,
        received=now,
        key=key,
    )
    log_record = logged.applied(log_record)
    columns: dict[str, Any] = {
        **log.append(connection, pool, [log_record], logged.seals(log_record.seq)),
        "settings": settings_json(new),
        "amendments": pool.amendments + 1,
    }
    if _ON_BOARD & changed.keys():
        columns["board_from"] = ""
        since = START[0] if pool.board_day is None else pool.board_day
        columns["board_day"] = since if decays(new) else None
    change_pool(connection, pool.id, **columns)
    after = replace(pool, **columns)
    if after.board_from is not None and fits_one_transaction(connection, after):
        rewrite_next(connection, after)
        after = replace(after, board_from=None)
    audit.note(
        connection,
        "pool.changed",
        now=now,
        key=key,
        pool=pool.name,
        seq=log_record.seq,
        settings=changed,
        before=before,
        reason=reason,
    )
    return after
