"""Voiding, restoring and correcting matches, disqualifying and reinstating players.

Each is a log record; nothing is erased. What it changes is known once the pool is replayed.

Amendments as they are shown, and whether they count yet.

What an amendment would change, before it is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.analysis.clock import now
from equipoise.errors import (
    ConflictError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    Problem,
)
from equipoise.messages.matches import (
    AmendmentMessage,
    AmendmentPage,
    DifferenceMessage,
    DisqualifyRequest,
    MatchRequest,
    ReasonRequest,
)
from equipoise.pools.amended_log import Amendments, amendments_of, counted_piece, place_of
from equipoise.pools.pool.pools import (
    check_open,
    check_reason,
    cursor_in,
    cursor_out,
    iso,
    rules_of,
    written,
)
from equipoise.pools.pool.settings import content_of
from equipoise.pools.posting.match_history import players_of
from equipoise.pools.posting.posted_matches import (
    PoolRules,
    id_fault,
    id_text,
    moment,
    read_matches,
)
from equipoise.pools.replay.checkpointing import (
    difference,
    running_before,
    running_numbers,
    stored_numbers,
)
from equipoise.store import audit, log, ratings, replays
from equipoise.store.connection import Store
from equipoise.store.log import Kind, LogRecord
from equipoise.store.pools import PoolRecord, Position, change_pool, get_pool

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


def begin_of(
    connection: Connection, pool: PoolRecord, entry: LogRecord, before: Amendments
) -> Position:
    """Return the first position at which an amendment makes a difference."""
    match = None if entry.match is None else log.match_by_id(connection, pool.id, entry.match)
    return place_of(entry, match, before)


def preview_of(
    connection: Connection, pool: PoolRecord, before: Amendments, entry: LogRecord
) -> AmendmentMessage:
    """Return what an amendment would change, with all else that waits for a replay."""
    found = DifferenceMessage(0, 0, [])
    if entry.needs_replay:
        begin = begin_of(connection, pool, entry, before)
        begin = begin if pool.dirty is None else min(begin, pool.dirty)
        entries = [*log.amendments(connection, pool.id), entry]
        after = Amendments.of(entries, entry.seq)
        found = _replayed(connection, pool, after, begin)
    shown = described(pool, entry, "done", found)
    return msgspec.structs.replace(shown, seq=None, kind="preview")


def _replayed(
    connection: Connection, pool: PoolRecord, amendments: Amendments, begin: Position
) -> DifferenceMessage:
    """Return what a replay from a position on would change."""
    rules = rules_of(pool.settings)
    running = running_before(connection, pool, rules, amendments, begin)
    running.matches = 0
    after, last = max((begin[0], begin[1] - 1), running.position), False
    while not last:
        piece = counted_piece(connection, pool, amendments, after)
        after, last = piece.end, piece.last
        if piece.matches:
            running.rate(piece.matches)
    before = stored_numbers(connection, pool)
    then = running_numbers(running, np.arange(len(running.players)))
    return difference(before, then, running.matches)


_Say = Callable[[Connection, PoolRecord, Amendments], LogRecord]


def void_match(
    store: Store,
    pool: str,
    match: str,
    request: ReasonRequest,
    *,
    key: int | None,
    now: int,
    preview: bool = False,
) -> AmendmentMessage:
    """Let a match no longer count.

    preview : record nothing, and return what it would change
    Raises : NotFoundError, ConflictError where it does not count already
    """
    return _about_match(store, pool, "void", match, request, key, now, preview)


def restore_match(
    store: Store,
    pool: str,
    match: str,
    request: ReasonRequest,
    *,
    key: int | None,
    now: int,
    preview: bool = False,
) -> AmendmentMessage:
    """Let a void match count again. Raises : NotFoundError, ConflictError where it is not void."""
    return _about_match(store, pool, "restore", match, request, key, now, preview)


def correct_match(
    store: Store,
    pool: str,
    match: str,
    request: MatchRequest,
    *,
    key: int | None,
    now: int,
    preview: bool = False,
) -> AmendmentMessage:
    """Let a match count as something else; a time that is not given stays as it was.

    Raises : NotFoundError, InvalidDataError
    """
    rules = _rules(store, pool)
    if str(request.match) != match:
        rule = f"must be {match}, the id in the path"
        raise InvalidDataError([Problem("", None, "match", rule, str(request.match)[:200])])
    found, problems = read_matches([request], rules)
    if problems:
        raise InvalidDataError(problems)
    posted = found[0]

    def say(connection: Connection, record: PoolRecord, amendments: Amendments) -> LogRecord:
        entry = _match(connection, record, match)
        time = amendments.time(entry) if posted.time is None else posted.time
        counted = posted.request.rated or amendments.request(entry).rated
        return LogRecord(
            seq=record.last_seq + 1,
            kind="correct",
            match=match,
            player=None,
            content=posted.content,
            posted_time=posted.time,
            time=time,
            needs_replay=counted and match not in amendments.void,
            received=now,
            key=key,
        )

    return _record(store, pool, say, now, preview)


def disqualify(
    store: Store,
    pool: str,
    player: str,
    request: DisqualifyRequest,
    *,
    key: int | None,
    now: int,
    preview: bool = False,
) -> AmendmentMessage:
    """Bar a player from being rated from a time on, or in one match alone.

    Matches that were posted earlier but took place later count without the player.
    Raises : InvalidDataError, InvalidParameterError, NotFoundError, ConflictError
    """
    return _about_player(store, pool, "disqualify", player, request, key, now, preview)


def reinstate(
    store: Store,
    pool: str,
    player: str,
    request: DisqualifyRequest,
    *,
    key: int | None,
    now: int,
    preview: bool = False,
) -> AmendmentMessage:
    """Let a player be rated again, from a time on, or in one match from which alone it was barred.

    Raises : InvalidDataError, InvalidParameterError, NotFoundError, ConflictError
    """
    return _about_player(store, pool, "reinstate", player, request, key, now, preview)


def amendment(store: Store, pool: str, seq: int) -> AmendmentMessage:
    """Return an amendment and what it changed. Raises : NotFoundError."""
    with store.read() as connection:
        record = get_pool(connection, pool)
        entry = log.entry_at(connection, record.id, seq) if 0 < seq < 2**62 else None
        if entry is None or entry.kind == "match":
            raise NotFoundError(f"no amendment {seq} in pool {pool!r}")
        return message_of(connection, record, entry)


def amendments(
    store: Store, pool: str, *, cursor: str | None = None, limit: int = 50
) -> AmendmentPage:
    """Return amendments, newest first. Raises : NotFoundError, InvalidParameterError."""
    if not 1 <= limit <= 1000:
        raise InvalidParameterError(f"limit must be from 1 to 1000; got {limit}")
    before = cursor_in(cursor, int)
    with store.read() as connection:
        record = get_pool(connection, pool)
        entries = log.amendments_before(connection, record.id, before, limit + 1)
        shown = [message_of(connection, record, entry) for entry in entries[:limit]]
    more = len(entries) > limit
    return AmendmentPage(shown, cursor_out(entries[limit - 1].seq) if more else None)


def _about_match(
    store: Store,
    pool: str,
    kind: Kind,
    match: str,
    request: ReasonRequest,
    key: int | None,
    now: int,
    preview: bool,
) -> AmendmentMessage:
    content = _reason(request.reason)

    def say(connection: Connection, record: PoolRecord, amendments: Amendments) -> LogRecord:
        entry = _match(connection, record, match)
        if (match in amendments.void) == (kind == "void"):
            state = "void already" if kind == "void" else "not void"
            raise ConflictError(f"match {match!r} is {state}")
        return LogRecord(
            seq=record.last_seq + 1,
            kind=kind,
            match=match,
            player=None,
            content=content,
            posted_time=None,
            time=amendments.time(entry),
            needs_replay=amendments.request(entry).rated,
            received=now,
            key=key,
        )

    return _record(store, pool, say, now, preview)


def _about_player(
    store: Store,
    pool: str,
    kind: Kind,
    player: str,
    request: DisqualifyRequest,
    key: int | None,
    now: int,
    preview: bool,
) -> AmendmentMessage:
    rules, content = _rules(store, pool), _reason(request.reason)
    rule = id_fault(player)
    if rule is not None:
        raise InvalidDataError([Problem("", None, "player", rule, player[:200])])
    if request.match is not None:
        if request.since is not None:
            raise InvalidParameterError("since cannot be combined with match")
        say_of_match = _of_one_match(kind, player, id_text(request.match), content, key, now)
        return _record(store, pool, say_of_match, now, preview)
    since = None if request.since is None else moment(request.since, "since")
    if since is not None and not rules.timed:
        raise InvalidParameterError("since must be left out: this pool has no times")

    def say(connection: Connection, record: PoolRecord, amendments: Amendments) -> LogRecord:
        barred = amendments.eligibility.barred_now(player) is not None
        if barred == (kind == "disqualify") and since is None:
            hint = "; name the match to lift a disqualification from one match alone"
            raise ConflictError(
                f"player {player!r} is {'already' if barred else 'not'} disqualified"
                f"{'' if barred else hint}"
            )
        # Matches may have been moved there by corrections: the pool's last time knows of those.
        last = record.last_time
        past = since is not None and last is not None and since <= last
        return LogRecord(
            seq=record.last_seq + 1,
            kind=kind,
            match=None,
            player=player,
            content=content,
            posted_time=since,
            time=now if since is None else since,
            needs_replay=past,
            received=now,
            key=key,
        )

    return _record(store, pool, say, now, preview)


def _of_one_match(
    kind: Kind, player: str, match: str, content: str, key: int | None, now: int
) -> _Say:
    """Return what makes the record by which a player is barred from one match, or is no longer."""

    def say(connection: Connection, record: PoolRecord, amendments: Amendments) -> LogRecord:
        entry = _match(connection, record, match)
        request = amendments.request(entry)
        barred = amendments.eligibility.barred_from(player, match)
        if player not in players_of(request) and not barred:
            raise NotFoundError(f"player {player!r} did not take part in match {match!r}")
        if barred == (kind == "disqualify"):
            state = "already" if barred else "not"
            raise ConflictError(
                f"player {player!r} is {state} disqualified from match {match!r} alone"
            )
        return LogRecord(
            seq=record.last_seq + 1,
            kind=kind,
            match=match,
            player=player,
            content=content,
            posted_time=None,
            time=amendments.time(entry),
            needs_replay=request.rated and match not in amendments.void,
            received=now,
            key=key,
        )

    return say


def _record(store: Store, pool: str, say: _Say, now: int, preview: bool) -> AmendmentMessage:
    """Record what is to be said, or return what it would change."""
    if preview:
        with store.read() as connection:
            record = get_pool(connection, pool)
            check_open(record)
            before = amendments_of(connection, record)
            return preview_of(connection, record, before, say(connection, record, before))
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        check_open(record)
        before = amendments_of(connection, record)
        entry = say(connection, record, before)
        log.append(connection, record.id, [entry])
        columns: dict[str, Any] = {
            "last_seq": entry.seq,
            "amendments": record.amendments + 1,
        }
        if entry.kind == "correct":
            last = record.last_time
            columns["last_time"] = entry.time if last is None else max(entry.time, last)
        if entry.needs_replay:
            begin = begin_of(connection, record, entry, before)
            columns["dirty"] = begin if record.dirty is None else min(begin, record.dirty)
        change_pool(connection, record.id, **columns)
        if entry.player is not None and entry.match is None:
            ratings.mark_disqualified(
                connection,
                record.id,
                # A replay that is under way may have written the player already.
                [record.generation, record.replay_generation or record.generation],
                [entry.player],
                entry.kind == "disqualify",
            )
        detail = {} if entry.player is None or entry.match is None else {"match": entry.match}
        audit.note(
            connection,
            "amendment.recorded",
            now=now,
            key=entry.key,
            pool=pool,
            subject=entry.match if entry.player is None else entry.player,
            kind=entry.kind,
            seq=entry.seq,
            reason=reason_of(entry),
            **detail,
        )
        return message_of(connection, replace(record, **columns), entry)


def _match(connection: Connection, pool: PoolRecord, match: str) -> LogRecord:
    """Return the entry of a match. Raises : NotFoundError."""
    entry = log.match_by_id(connection, pool.id, match)
    if entry is None:
        raise NotFoundError(f"no match {match[:200]!r} in pool {pool.name!r}")
    return entry


def _rules(store: Store, pool: str) -> PoolRules:
    with store.read() as connection:
        return rules_of(get_pool(connection, pool).settings)


def _reason(text: str) -> str:
    """Return a reason as the log keeps it. Raises : InvalidDataError."""
    check_reason(text)
    return msgspec.json.encode({"reason": text}).decode()
