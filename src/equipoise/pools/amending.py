"""Amendments of a log: void, restore and correct matches, disqualify and rename players.

Each amendment is a log record; nothing is removed. An amendment of the past counts once the pool
is replayed. A preview replays the pool in memory and records nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import msgspec
from sqlalchemy import Connection

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
    RenameRequest,
)
from equipoise.pools import profiles
from equipoise.pools import records as known_ratings
from equipoise.pools.pool.pools import check_limit, decode_cursor, encode_cursor
from equipoise.pools.pool.rules import (
    PoolRules,
    check_reason,
    id_fault,
    id_text,
    iso,
    moment,
    read_matches,
    rules_of,
    written,
)
from equipoise.pools.pool.settings import content_of, rules_through
from equipoise.pools.posting.posting import FUTURE_SECONDS, Clock, repeated_players
from equipoise.pools.posting.rating import players_of, renamed
from equipoise.pools.records import (
    Amendments,
    DescribeContent,
    DisqualifyContent,
    Draft,
    RenameContent,
    amendments_of,
    amendments_of_matches,
    disqualify_content,
    first_changed,
    ids_of,
    latest_of,
    record_change,
    rename_content,
)
from equipoise.pools.replay.states import (
    difference,
    difference_of_others,
    known_difference,
    numbers_of_replay,
)
from equipoise.store import changes, log, ratings
from equipoise.store.connection import Store
from equipoise.store.log import Kind, LoggedAs, LogRecord, records_with
from equipoise.store.pools import PoolRecord, first_replay_with, get_pool

#: Matches of a player read at once.
_MATCHES_READ = 50

#: Kinds of records that have the players of a match.
_PLAYED = ("match", "correct")

#: The body of a request to amend.
Request: TypeAlias = (
    ReasonRequest | MatchRequest | DescribeContent | ReinstateRequest | RenameRequest
)


class _Wanted(NamedTuple):
    """What is to be amended: a match or a player of a pool, and the body of the request.

    imported : whether the record is in the log that is imported
    """

    kind: Kind
    store: Store
    pool: str
    subject: str
    request: Request
    now: int
    future_seconds: float | None
    imported: bool


#: Returns what an amendment records after those before it. Raises if the pool refuses it.
_Make: TypeAlias = Callable[[Connection, PoolRecord, Amendments], Draft]


def amend(
    kind: Kind,
    store: Store,
    pool: str,
    subject: str,
    request: Request,
    *,
    key: int | None,
    now: int,
    preview: bool = False,
    future_seconds: float | None = FUTURE_SECONDS,
    logged: LoggedAs | None = None,
) -> AmendmentMessage:
    """Amend the log of a pool.

    kind : one of `_MAKERS`
    subject : id of the match, or of the player
    preview : record nothing, and return what it would change
    future_seconds : seconds that the time of a correction may be ahead of `now`; None for no limit
    logged : what an imported log has of the record
    Raises : NotFoundError; ConflictError if it holds already; InvalidDataError,
        InvalidParameterError
    """
    if kind in ("disqualify", "reinstate") and logged is None:
        with store.read() as connection:
            record = get_pool(connection, pool)
            subject = ids_of(amendments_of(connection, record).renames, subject)[0]
    wanted = _Wanted(
        kind, store, pool, subject, request, now, future_seconds, imported=logged is not None
    )
    make = _MAKERS[kind](wanted)
    if preview:
        with store.read() as connection:
            record = get_pool(connection, pool)
            record.check_open()
            before = amendments_of(connection, record)
            new = make(connection, record, before).record(record.last_seq + 1, now, key)
            return _preview(connection, record, before, new)
    shown: list[AmendmentMessage] = []

    def then(connection: Connection, after: PoolRecord, new: LogRecord) -> None:
        if new.kind == "rename" and logged is None:
            after = profiles.move_profile(connection, after, new, key, now)
        elif new.player is not None and new.match is None and new.kind != "rename":
            # A running replay may have written the player already.
            generations = [after.generation, after.replay_generation or after.generation]
            disqualified = new.kind == "disqualify"
            ratings.mark_disqualified(connection, after.id, generations, [new.player], disqualified)
        shown.append(message_of(connection, after, new))

    record_change(
        store,
        pool,
        lambda connection, record: make(connection, record, amendments_of(connection, record)),
        key=key,
        now=now,
        logged=logged,
        then=then,
    )
    return shown[0]


#: The kinds of amendments as functions of the other arguments of `amend`.
void_match, restore_match = partial(amend, "void"), partial(amend, "restore")
correct_match = partial(amend, "correct")
describe_match = partial(amend, "describe")
disqualify, reinstate = partial(amend, "disqualify"), partial(amend, "reinstate")
rename = partial(amend, "rename")


def _void_or_restore(wanted: _Wanted) -> _Make:
    """Void a match, which then no longer counts, or restore it."""
    match = wanted.subject
    content = _reason(wanted.request)

    def make(connection: Connection, pool: PoolRecord, before: Amendments) -> Draft:
        logged = log.get_match(connection, pool, match)
        if (match in before.void) == (wanted.kind == "void"):
            state = "already void" if wanted.kind == "void" else "not void"
            raise ConflictError(f"match {match!r} is {state}")
        return _draft(
            wanted,
            content,
            match=match,
            time=before.time(logged),
            needs_replay=before.request(logged).rated,
        )

    return make


def _correct(wanted: _Wanted) -> _Make:
    """Replace the content of a match; without a time it keeps its own.

    If nothing but title, link and attributes changes, the record has these alone and needs no
    replay.
    """
    match, request = wanted.subject, wanted.request
    rules = _rules(wanted.store, wanted.pool)
    assert isinstance(request, MatchRequest)
    if str(request.match) != match:
        rule = f"must be {match}, the id in the path"
        raise InvalidDataError([Problem("", None, "match", rule, str(request.match)[:200])])
    read, problems = read_matches([request], rules)
    if problems:
        raise InvalidDataError(problems)
    posted = read[0]
    too_late = Clock(wanted.now, wanted.future_seconds).fault(posted.time)
    if too_late is not None:
        got = str(written(posted.time, rules))
        raise InvalidDataError([Problem("", None, "time", too_late, got)])

    def make(connection: Connection, pool: PoolRecord, before: Amendments) -> Draft:
        logged = log.get_match(connection, pool, match)
        problems = repeated_players(posted.request, before.renames)
        if problems:
            raise InvalidDataError(problems)
        old = before.request(logged)
        time = before.time(logged) if posted.time is None else posted.time
        counted = posted.request.rated or old.rated
        played = before.time_played(match, logged.posted_time)
        same_time = time == before.time(logged) and posted.time in (None, played)
        texts = DescribeContent.of(posted.request)
        if (
            same_time
            and texts != DescribeContent.of(old)
            and DescribeContent().applied(renamed(posted.request, before.renames))
            == DescribeContent().applied(old)
            and not wanted.imported
        ):
            return _description(wanted, texts, logged.match, before.time(logged))
        return _draft(
            wanted,
            posted.content,
            match=match,
            posted_time=posted.time,
            time=time,
            needs_replay=counted and match not in before.void,
        )

    return make


def _describe(wanted: _Wanted) -> _Make:
    """Record the title, link and attributes of a match from an imported log."""
    texts = wanted.request
    assert isinstance(texts, DescribeContent)

    def make(connection: Connection, pool: PoolRecord, before: Amendments) -> Draft:
        logged = log.get_match(connection, pool, wanted.subject)
        return _description(wanted, texts, logged.match, before.time(logged))

    return make


def _description(wanted: _Wanted, texts: DescribeContent, match: str | None, time: int) -> Draft:
    """Return the draft of a correction that changes no rating: it keeps the texts alone."""
    content = msgspec.json.encode(texts, order="deterministic").decode()
    return _draft(wanted, content, kind="describe", match=match, time=time)


def _disqualify_or_reinstate(wanted: _Wanted) -> _Make:
    """Disqualify a player from a time on or in one match alone, or reinstate the player.

    The effect of a disqualification says how the matches then count, those included that were
    posted before but took place after that time.
    """
    player, request = wanted.subject, wanted.request
    assert isinstance(request, ReinstateRequest)
    rules, content = _rules(wanted.store, wanted.pool), _reason(request)
    rule = id_fault(player)
    if rule is not None:
        raise InvalidDataError([Problem("", None, "player", rule, player[:200])])
    if request.match is not None and request.since is not None:
        raise InvalidParameterError("since cannot be combined with match")
    since = None if request.since is None else moment(request.since, "since")
    if since and not rules.timed:
        rule = "since must be left out, or 0 for all matches: this pool has no times"
        raise InvalidParameterError(rule)
    match = None if request.match is None else id_text(request.match)
    effect: Effect | None = None
    if isinstance(request, DisqualifyRequest) and wanted.kind == "disqualify":
        effect = request.effect
        if effect is None and not wanted.imported:
            effect = _default_effect(wanted.store, wanted.pool, player, match)
        # The log of an earlier version has no effect, and keeps its meaning.
        content = msgspec.json.encode(DisqualifyContent(request.reason, effect)).decode()
    if match is not None:
        return _of_one_match(wanted, match, content)

    def make(connection: Connection, pool: PoolRecord, before: Amendments) -> Draft:
        disqualified = before.eligibility.disqualification_of(player) is not None
        if disqualified == (wanted.kind == "disqualify") and since is None:
            hint = "; name the match to lift a disqualification from one match alone"
            raise ConflictError(
                f"player {player!r} is {'already' if disqualified else 'not'} disqualified"
                f"{'' if disqualified else hint}"
            )
        # The last time of the pool includes matches that corrections moved there. After it there
        # may be matches that still count until a replay.
        last = latest_of(pool.last_time, pool.rated_to)
        return _draft(
            wanted,
            content,
            player=player,
            posted_time=since,
            time=wanted.now if since is None else since,
            needs_replay=since is not None and last is not None and since <= last,
        )

    return make


def _of_one_match(wanted: _Wanted, match: str, content: str) -> _Make:
    """Disqualify or reinstate a player in one match alone."""
    player = wanted.subject

    def make(connection: Connection, pool: PoolRecord, before: Amendments) -> Draft:
        logged = log.get_match(connection, pool, match)
        request = before.request(logged)
        disqualified = before.eligibility.is_disqualified_from(player, match)
        if player not in players_of(request) and not disqualified:
            raise NotFoundError(f"player {player!r} did not take part in match {match!r}")
        if disqualified == (wanted.kind == "disqualify"):
            state = "already" if disqualified else "not"
            raise ConflictError(
                f"player {player!r} is {state} disqualified from match {match!r} alone"
            )
        return _draft(
            wanted,
            content,
            match=match,
            player=player,
            time=before.time(logged),
            needs_replay=request.rated and match not in before.void,
        )

    return make


def _rename(wanted: _Wanted) -> _Make:
    """Give a player another id. If another player has it, both are one player from then on."""
    request, old = wanted.request, wanted.subject
    assert isinstance(request, RenameRequest)
    new = id_text(request.to)
    check_reason(request.reason)
    rule = id_fault(new) or ("must be another id" if new == old else None)
    if rule is not None:
        raise InvalidDataError([Problem("", None, "to", rule, new[:200])])
    content = msgspec.json.encode(RenameContent(new, request.reason)).decode()

    def make(connection: Connection, pool: PoolRecord, before: Amendments) -> Draft:
        if not wanted.imported:
            _check_rename(connection, pool, before, old, new)
        return _draft(wanted, content, player=old, time=wanted.now, needs_replay=True)

    return make


def _check_rename(
    connection: Connection, pool: PoolRecord, before: Amendments, old: str, new: str
) -> None:
    """Check that a player can have another id. Raises : NotFoundError, ConflictError."""
    for name in (old, new):
        present = before.renames.get(name, old)
        if present != old:
            raise ConflictError(f"player {name!r} is already renamed to {present!r}")
    if old not in before.renames.values():
        ratings.get_rating(connection, pool, old)
    for name in ids_of(before.renames, old):
        for piece in records_with(connection, pool.id, name):
            ids = {str(counted.record.match) for counted in piece if counted.record.kind in _PLAYED}
            for match, logged in log.matches_by_id(connection, pool.id, ids).items():
                if {old, new} <= {*players_of(before.request(logged))}:
                    raise ConflictError(
                        f"players {old!r} and {new!r} met in match {match!r}, so they cannot be "
                        "one player"
                    )


#: What makes the draft of each kind of amendment.
_MAKERS: dict[Kind, Callable[[_Wanted], _Make]] = {
    "void": _void_or_restore,
    "restore": _void_or_restore,
    "correct": _correct,
    "describe": _describe,
    "disqualify": _disqualify_or_reinstate,
    "reinstate": _disqualify_or_reinstate,
    "rename": _rename,
}


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
                connection, record, [str(counted.match) for counted in piece]
            )
            requests = map(amendments.request, piece)
            if any(len(team.players) > 1 for request in requests for team in request.teams):
                return "keep"
    return "without"


def time_of_first_match(store: Store, pool: str) -> str | None:
    """Return the time of the earliest match of a pool as ISO 8601, None without matches."""
    with store.read() as connection:
        span = log.span_of_matches(connection, get_pool(connection, pool).id)
    return None if span is None else iso(span[0])


def _matches_of(connection: Connection, pool: PoolRecord, player: str) -> Iterator[list[LogRecord]]:
    """Give the matches of a player, piece by piece: those that count, or all if none does."""
    rows = changes.changes_of_player(connection, pool, player, None, _MATCHES_READ)
    if not rows:
        # The log has no index of players, so that takes a second for a million matches.
        for piece in records_with(connection, pool.id, player):
            matches = [counted.record for counted in piece if counted.record.kind == "match"]
            played = amendments_of_matches(
                connection, pool, [str(match.match) for match in matches]
            )
            yield [match for match in matches if player in players_of(played.request(match))]
    while rows:
        yield list(log.records_at(connection, pool.id, [row.seq for row in rows]).values())
        last = rows[-1].time, rows[-1].seq
        rows = changes.changes_of_player(connection, pool, player, last, _MATCHES_READ)


def _draft(
    wanted: _Wanted,
    content: str,
    *,
    kind: Kind | None = None,
    match: str | None = None,
    player: str | None = None,
    **more: Any,
) -> Draft:
    """Return the draft of an amendment of a match or a player, with its row of the audit log.

    kind : of the record, if it is not the one that is wanted
    """
    kind, request = kind or wanted.kind, wanted.request
    reason = "" if isinstance(request, MatchRequest | DescribeContent) else request.reason
    detail = {"kind": kind, "reason": reason}
    if match is not None and player is not None:
        detail["match"] = match
    effect = _effect(kind, content)
    if effect is not None:
        detail["effect"] = effect
    if isinstance(request, RenameRequest):
        detail["to"] = str(request.to)
    return Draft(
        kind=kind,
        content=content,
        match=match,
        player=player,
        action="amendment.recorded",
        subject=match if player is None else player,
        detail=detail,
        **more,
    )


def _reason(request: Request) -> str:
    """Return the reason of a request as content of a log record. Raises : InvalidDataError."""
    assert not isinstance(request, MatchRequest | DescribeContent)
    check_reason(request.reason)
    return msgspec.json.encode({"reason": request.reason}).decode()


def _rules(store: Store, pool: str) -> PoolRules:
    with store.read() as connection:
        return rules_of(get_pool(connection, pool).settings)


def _preview(
    connection: Connection, pool: PoolRecord, before: Amendments, record: LogRecord
) -> AmendmentMessage:
    """Return what an amendment would change, with everything else that waits for a replay."""
    change, moved = DifferenceMessage(0, 0, []), OthersMessage(0, None, None)
    if record.needs_replay:
        begin = first_changed(connection, pool, record, before)
        records = [*log.amendments(connection, pool.id), record]
        after = Amendments.of(records, record.seq)
        rules = rules_through(connection, pool)
        old, new, matches = numbers_of_replay(connection, pool, rules, after, begin)
        change = difference(old, new, matches)
        moved = difference_of_others(old, new, (record.player, _new_id(record)))
    shown = _message(pool, record, "done", change)
    others = None if record.player is None else moved
    return msgspec.structs.replace(shown, seq=None, kind="preview", others=others)


def amendment(store: Store, pool: str, seq: int) -> AmendmentMessage:
    """Return an amendment and what it changed. Raises : NotFoundError."""
    with store.read() as connection:
        record = get_pool(connection, pool)
        row = log.record_at(connection, record.id, seq) if 0 < seq < 2**62 else None
        if row is None or row.kind == "match":
            raise NotFoundError(f"no amendment {seq} in pool {pool!r}")
        return message_of(connection, record, row)


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
        records = log.amendments_before(connection, record.id, before, limit + 1)
        shown = [message_of(connection, record, row) for row in records[:limit]]
    more = len(records) > limit
    return AmendmentPage(shown, encode_cursor(records[limit - 1].seq) if more else None)


def message_of(connection: Connection, pool: PoolRecord, record: LogRecord) -> AmendmentMessage:
    """Return an amendment with its status and what it changed."""
    if not record.needs_replay:
        return _message(pool, record, "done", DifferenceMessage(0, 0, []))
    replay = first_replay_with(connection, pool.id, record.seq)
    if replay is None:
        return _message(pool, record, "pending", None)
    return _message(pool, record, "done", known_difference(replay))


def _message(
    pool: PoolRecord, record: LogRecord, status: str, difference: DifferenceMessage | None
) -> AmendmentMessage:
    """Return an amendment; difference : what it changed, None if that is not known."""
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
        difference=difference,
        settings=None if change is None else change.settings,
        settings_before=None if change is None else change.before,
        effect=_effect(record.kind, record.content),
        to=_new_id(record),
    )


def _new_id(record: LogRecord) -> str | None:
    """Return the new id of a renamed player, None for other kinds of records."""
    return rename_content(record.content).to if record.kind == "rename" else None


def _effect(kind: Kind, content: str) -> Effect | None:
    """Return the effect of a disqualification from its record, None for other kinds."""
    if kind != "disqualify":
        return None
    return disqualify_content(content).effect or "without"


def reason_of(record: LogRecord) -> str:
    """Return the reason of an amendment; corrections and descriptions have none."""
    if record.kind in ("correct", "describe"):
        return ""
    if record.kind in ("initial", "profiles"):
        return known_ratings.reason_of(record.content)
    return str(msgspec.json.decode(record.content)["reason"])
