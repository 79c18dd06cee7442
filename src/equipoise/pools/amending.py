"""Amendments of a log: void, restore and correct matches, disqualify and reinstate players.

Each amendment is a log record; nothing is removed. An amendment of the past counts once the pool
is replayed. A preview replays the pool in memory and records nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import msgspec
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
    Effect,
    MatchRequest,
    OthersMessage,
    ReasonRequest,
    ReinstateRequest,
)
from equipoise.pools.amended_log import (
    Amendments,
    DisqualifyContent,
    amendments_of,
    amendments_of_matches,
    disqualify_content,
    first_position,
    last_counting_time,
    latest_of,
)
from equipoise.pools.pool import known_ratings
from equipoise.pools.pool.checks import check_reason
from equipoise.pools.pool.pages import check_limit, decode_cursor, encode_cursor
from equipoise.pools.pool.pools import check_open
from equipoise.pools.pool.rules import PoolRules, id_fault, id_text, iso, moment, rules_of, written
from equipoise.pools.pool.settings import content_of, rules_through
from equipoise.pools.posting.match_history import players_of
from equipoise.pools.posting.planning import FUTURE_SECONDS, Clock
from equipoise.pools.posting.posted_matches import read_matches
from equipoise.pools.posting.rated_rows import day_of
from equipoise.pools.replay.differences import (
    difference,
    difference_of_others,
    known_difference,
    numbers_of_replay,
)
from equipoise.store import audit, changes, log, ratings, replays
from equipoise.store.connection import Store
from equipoise.store.log import Kind, LoggedAs, LogRecord
from equipoise.store.pools import START, PoolRecord, Position, change_pool, get_pool
from equipoise.store.upkeep.erasing import records_with

#: Matches of a player read at once.
_MATCHES_READ = 50

#: Checks that a pool accepts an amendment, after those before it, and returns its record.
_MakeRecord: TypeAlias = Callable[[Connection, PoolRecord, Amendments], LogRecord]


def void_match(
    store: Store,
    pool: str,
    match: str,
    request: ReasonRequest,
    *,
    key: int | None,
    now: int,
    preview: bool = False,
    logged: LoggedAs | None = None,
) -> AmendmentMessage:
    """Void a match: it no longer counts.

    preview : record nothing, and return what it would change
    logged : what an imported log has of the record
    Raises : NotFoundError; ConflictError if the match is void already
    """
    return _about_match(store, pool, "void", match, request, key, now, preview, logged)


def restore_match(
    store: Store,
    pool: str,
    match: str,
    request: ReasonRequest,
    *,
    key: int | None,
    now: int,
    preview: bool = False,
    logged: LoggedAs | None = None,
) -> AmendmentMessage:
    """Restore a void match: it counts again.

    preview : record nothing, and return what it would change
    logged : what an imported log has of the record
    Raises : NotFoundError; ConflictError if the match is not void
    """
    return _about_match(store, pool, "restore", match, request, key, now, preview, logged)


def _about_match(
    store: Store,
    pool: str,
    kind: Kind,
    match: str,
    request: ReasonRequest,
    key: int | None,
    now: int,
    preview: bool,
    logged: LoggedAs | None,
) -> AmendmentMessage:
    content = _reason(request.reason)

    def make_record(
        connection: Connection, record: PoolRecord, amendments: Amendments
    ) -> LogRecord:
        logged = log.get_match(connection, record, match)
        if (match in amendments.void) == (kind == "void"):
            state = "already void" if kind == "void" else "not void"
            raise ConflictError(f"match {match!r} is {state}")
        return LogRecord(
            seq=record.last_seq + 1,
            kind=kind,
            match=match,
            player=None,
            content=content,
            posted_time=None,
            time=amendments.time(logged),
            needs_replay=amendments.request(logged).rated,
            received=now,
            key=key,
        )

    return _record(store, pool, make_record, now, preview, logged)


def correct_match(
    store: Store,
    pool: str,
    match: str,
    request: MatchRequest,
    *,
    key: int | None,
    now: int,
    preview: bool = False,
    future_seconds: float | None = FUTURE_SECONDS,
    logged: LoggedAs | None = None,
) -> AmendmentMessage:
    """Replace the content of a match; without a time it keeps its own.

    preview : record nothing, and return what it would change
    future_seconds : seconds that its time may be ahead of `now`; None for no limit
    logged : what an imported log has of the record
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
    too_late = Clock(now, future_seconds).fault(posted.time)
    if too_late is not None:
        got = str(written(posted.time, rules))
        raise InvalidDataError([Problem("", None, "time", too_late, got)])

    def make_record(
        connection: Connection, record: PoolRecord, amendments: Amendments
    ) -> LogRecord:
        logged = log.get_match(connection, record, match)
        time = amendments.time(logged) if posted.time is None else posted.time
        counted = posted.request.rated or amendments.request(logged).rated
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

    return _record(store, pool, make_record, now, preview, logged)


def disqualify(
    store: Store,
    pool: str,
    player: str,
    request: DisqualifyRequest,
    *,
    key: int | None,
    now: int,
    preview: bool = False,
    logged: LoggedAs | None = None,
) -> AmendmentMessage:
    """Disqualify a player from a time on, or in one match alone.

    The effect of the request says how the matches then count, those included that were posted
    before but took place after that time.

    preview : record nothing, and return what it would change
    logged : what an imported log has of the record
    Raises : InvalidDataError, InvalidParameterError, NotFoundError, ConflictError
    """
    return _about_player(store, pool, "disqualify", player, request, key, now, preview, logged)


def reinstate(
    store: Store,
    pool: str,
    player: str,
    request: ReinstateRequest,
    *,
    key: int | None,
    now: int,
    preview: bool = False,
    logged: LoggedAs | None = None,
) -> AmendmentMessage:
    """Reinstate a player, who is rated again from a time on, or in one match alone.

    preview : record nothing, and return what it would change
    logged : what an imported log has of the record
    Raises : InvalidDataError, InvalidParameterError, NotFoundError, ConflictError
    """
    return _about_player(store, pool, "reinstate", player, request, key, now, preview, logged)


def _about_player(
    store: Store,
    pool: str,
    kind: Kind,
    player: str,
    request: ReinstateRequest,
    key: int | None,
    now: int,
    preview: bool,
    logged: LoggedAs | None,
) -> AmendmentMessage:
    rules, content = _rules(store, pool), _reason(request.reason)
    rule = id_fault(player)
    if rule is not None:
        raise InvalidDataError([Problem("", None, "player", rule, player[:200])])
    if request.match is not None and request.since is not None:
        raise InvalidParameterError("since cannot be combined with match")
    since = None if request.since is None else moment(request.since, "since")
    if since is not None and not rules.timed:
        raise InvalidParameterError("since must be left out: this pool has no times")
    match = None if request.match is None else id_text(request.match)
    if isinstance(request, DisqualifyRequest) and kind == "disqualify":
        effect = request.effect
        if effect is None and logged is None:
            effect = _default_effect(store, pool, player, match)
        # The log of an earlier version has no effect, and keeps its meaning.
        content = msgspec.json.encode(DisqualifyContent(request.reason, effect)).decode()
    if match is not None:
        of_match = _of_one_match(kind, player, match, content, key, now)
        return _record(store, pool, of_match, now, preview, logged)

    def make_record(
        connection: Connection, record: PoolRecord, amendments: Amendments
    ) -> LogRecord:
        disqualified = amendments.eligibility.disqualification_of(player) is not None
        if disqualified == (kind == "disqualify") and since is None:
            hint = "; name the match to lift a disqualification from one match alone"
            raise ConflictError(
                f"player {player!r} is {'already' if disqualified else 'not'} disqualified"
                f"{'' if disqualified else hint}"
            )
        # The last time of the pool includes matches that corrections moved there. After it there
        # may be matches that still count until a replay.
        last = latest_of(record.last_time, record.rated_to)
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

    return _record(store, pool, make_record, now, preview, logged)


def _default_effect(store: Store, pool: str, player: str, match: str | None) -> Effect:
    """Return the effect of a disqualification that names none.

    Without their player, single players meet as before; a team would be rated a player short.
    match : the only match that the player is disqualified from; None for a time on
    Raises : NotFoundError
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        if match is not None:
            pieces = iter([[log.get_match(connection, record, match)]])
        else:
            pieces = _matches_of(connection, record, player)
        for piece in pieces:
            amendments = amendments_of_matches(
                connection, record, [str(one.match) for one in piece]
            )
            requests = map(amendments.request, piece)
            if any(len(team.players) > 1 for one in requests for team in one.teams):
                return "keep"
    return "without"


def _matches_of(connection: Connection, pool: PoolRecord, player: str) -> Iterator[list[LogRecord]]:
    """Give the matches of a player, piece by piece: those that count, or all if none does."""
    rows = changes.changes_of_player(connection, pool, player, None, _MATCHES_READ)
    if not rows:
        # The log has no index of players, so that takes a second for a million matches.
        for piece in records_with(connection, pool.id, player):
            matches = [one.record for one in piece if one.record.kind == "match"]
            played = amendments_of_matches(connection, pool, [str(one.match) for one in matches])
            yield [one for one in matches if player in players_of(played.request(one))]
    while rows:
        yield list(log.records_at(connection, pool.id, [row.seq for row in rows]).values())
        last = rows[-1].time, rows[-1].seq
        rows = changes.changes_of_player(connection, pool, player, last, _MATCHES_READ)


def _of_one_match(
    kind: Kind, player: str, match: str, content: str, key: int | None, now: int
) -> _MakeRecord:
    """Return what makes the record of an amendment of a player in one match alone."""

    def make_record(
        connection: Connection, record: PoolRecord, amendments: Amendments
    ) -> LogRecord:
        logged = log.get_match(connection, record, match)
        request = amendments.request(logged)
        disqualified = amendments.eligibility.is_disqualified_from(player, match)
        if player not in players_of(request) and not disqualified:
            raise NotFoundError(f"player {player!r} did not take part in match {match!r}")
        if disqualified == (kind == "disqualify"):
            state = "already" if disqualified else "not"
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
            time=amendments.time(logged),
            needs_replay=request.rated and match not in amendments.void,
            received=now,
            key=key,
        )

    return make_record


def _reason(text: str) -> str:
    """Return a reason as content of a log record. Raises : InvalidDataError."""
    check_reason(text)
    return msgspec.json.encode({"reason": text}).decode()


def _rules(store: Store, pool: str) -> PoolRules:
    with store.read() as connection:
        return rules_of(get_pool(connection, pool).settings)


def _record(
    store: Store,
    pool: str,
    make_record: _MakeRecord,
    now: int,
    preview: bool,
    logged: LoggedAs | None,
) -> AmendmentMessage:
    """Record an amendment, or return what it would change."""
    logged = LoggedAs(now) if logged is None else logged
    if preview:
        with store.read() as connection:
            record = get_pool(connection, pool)
            check_open(record)
            before = amendments_of(connection, record)
            return _preview(connection, record, before, make_record(connection, record, before))
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        check_open(record)
        before = amendments_of(connection, record)
        new = logged.applied(make_record(connection, record, before))
        columns: dict[str, Any] = {
            **log.append(connection, record, [new], logged.seals(new.seq)),
            "amendments": record.amendments + 1,
        }
        if new.needs_replay:
            begin = _begin(connection, record, new, before)
            columns["dirty"] = begin if record.dirty is None else min(begin, record.dirty)
            columns |= _last_times(connection, record, new)
        change_pool(connection, record.id, **columns)
        if new.player is not None and new.match is None:
            ratings.mark_disqualified(
                connection,
                record.id,
                # A running replay may have written the player already.
                [record.generation, record.replay_generation or record.generation],
                [new.player],
                new.kind == "disqualify",
            )
        of_one_match = new.player is not None and new.match is not None
        audit.note(
            connection,
            "amendment.recorded",
            now=now,
            key=new.key,
            pool=pool,
            subject=new.match if new.player is None else new.player,
            kind=new.kind,
            seq=new.seq,
            reason=reason_of(new),
            **({"match": new.match} if of_one_match else {}),
            **({} if _effect(new) is None else {"effect": _effect(new)}),
        )
        return message_of(connection, replace(record, **columns), new)


def _last_times(connection: Connection, pool: PoolRecord, new: LogRecord) -> dict[str, Any]:
    """Return the columns of a pool that say how late its matches are, after a new amendment."""
    every = Amendments.of(log.amendments(connection, pool.id), new.seq)
    last = last_counting_time(connection, pool, every)
    columns: dict[str, Any] = {
        "last_time": last,
        "rated_to": latest_of(pool.rated_to, pool.last_time, last),
    }
    if pool.board_day is not None:
        day = START[0] if last is None else day_of(last)
        if day < pool.board_day:
            # Ratings shown have decayed up to a match that no longer counts.
            columns |= {"board_day": day, "board_from": ""}
    return columns


def _preview(
    connection: Connection, pool: PoolRecord, before: Amendments, record: LogRecord
) -> AmendmentMessage:
    """Return what an amendment would change, with everything else that waits for a replay."""
    found, moved = DifferenceMessage(0, 0, []), OthersMessage(0, None, None)
    if record.needs_replay:
        begin = _begin(connection, pool, record, before)
        begin = begin if pool.dirty is None else min(begin, pool.dirty)
        records = [*log.amendments(connection, pool.id), record]
        after = Amendments.of(records, record.seq)
        rules = rules_through(connection, pool)
        old, new, matches = numbers_of_replay(connection, pool, rules, after, begin)
        found, moved = difference(old, new, matches), difference_of_others(old, new, record.player)
    shown = _message(pool, record, "done", found)
    others = None if record.player is None else moved
    return msgspec.structs.replace(shown, seq=None, kind="preview", others=others)


def _begin(
    connection: Connection, pool: PoolRecord, record: LogRecord, before: Amendments
) -> Position:
    """Return the first position at which an amendment makes a difference."""
    match = None if record.match is None else log.match_by_id(connection, pool.id, record.match)
    return first_position(record, match, before)


def amendment(store: Store, pool: str, seq: int) -> AmendmentMessage:
    """Return an amendment and what it changed. Raises : NotFoundError."""
    with store.read() as connection:
        record = get_pool(connection, pool)
        found = log.record_at(connection, record.id, seq) if 0 < seq < 2**62 else None
        if found is None or found.kind == "match":
            raise NotFoundError(f"no amendment {seq} in pool {pool!r}")
        return message_of(connection, record, found)


def amendments(
    store: Store, pool: str, *, cursor: str | None = None, limit: int = 50
) -> AmendmentPage:
    """Return a page of amendments, newest first.

    cursor : from an earlier page; limit : amendments, from 1 to 1000
    Raises : NotFoundError, InvalidParameterError
    """
    check_limit(limit)
    before = decode_cursor(cursor, int)
    with store.read() as connection:
        record = get_pool(connection, pool)
        found = log.amendments_before(connection, record.id, before, limit + 1)
        shown = [message_of(connection, record, one) for one in found[:limit]]
    more = len(found) > limit
    return AmendmentPage(shown, encode_cursor(found[limit - 1].seq) if more else None)


def message_of(connection: Connection, pool: PoolRecord, record: LogRecord) -> AmendmentMessage:
    """Return an amendment with its status and what it changed."""
    if not record.needs_replay:
        return _message(pool, record, "done", DifferenceMessage(0, 0, []))
    replay = replays.first_replay_with(connection, pool.id, record.seq)
    if replay is None:
        return _message(pool, record, "pending", None)
    known, found = known_difference(replay, now())
    return _message(pool, record, "done" if known else "pending", found)


def _message(
    pool: PoolRecord, record: LogRecord, status: str, found: DifferenceMessage | None
) -> AmendmentMessage:
    """Return an amendment; found : what it changed, None if that is not known."""
    rules = rules_of(pool.settings)
    change = content_of(record.content) if record.kind == "settings" else None
    return AmendmentMessage(
        seq=record.seq,
        kind=record.kind,
        match=record.match,
        player=record.player,
        since=written(record.posted_time, rules) if record.player is not None else None,
        reason=reason_of(record),
        received=iso(record.received),
        status=status,
        difference=found,
        settings=None if change is None else change.settings,
        settings_before=None if change is None else change.before,
        effect=_effect(record),
    )


def _effect(record: LogRecord) -> Effect | None:
    """Return the effect of a disqualification, None for other records."""
    if record.kind != "disqualify":
        return None
    return disqualify_content(record.content).effect or "without"


def reason_of(record: LogRecord) -> str:
    """Return the reason of an amendment; corrections have none."""
    if record.kind == "correct":
        return ""
    if record.kind == "initial":
        return known_ratings.reason_of(record.content)
    return str(msgspec.json.decode(record.content)["reason"])
