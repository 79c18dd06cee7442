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
from equipoise.pools.contents import (
    DescribeContent,
    DisqualifyContent,
    RenameContent,
    content_of,
    reason_of,
)
from equipoise.pools.pool.pools import (
    check_page,
    decode_cursor,
    encode_cursor,
    read_pool,
    rules_of_pool,
)
from equipoise.pools.pool.rules import (
    PoolRules,
    PostedMatch,
    check_reason,
    id_fault,
    id_text,
    iso,
    moment,
    read_matches,
    rules_of,
    written,
)
from equipoise.pools.pool.settings import rules_through
from equipoise.pools.posting.posting import FUTURE_SECONDS, Clock, repeated_players
from equipoise.pools.posting.rating import players_of, renamed
from equipoise.pools.records import (
    Amendments,
    Draft,
    amendments_of,
    amendments_of_matches,
    first_changed,
    ids_of,
    latest_of,
    record_change,
)
from equipoise.pools.replay.states import (
    PoolPast,
    difference,
    difference_of_others,
    known_difference,
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


class _Change(NamedTuple):
    """What is to be amended: a match or a player of a pool, and the body of the request.

    posted : the match in the body of a correction
    imported : whether the record is in the log that is imported
    before : the amendments of the pool, which is locked unless this is a preview
    """

    kind: Kind
    subject: str
    request: Request
    posted: PostedMatch | None
    now: int
    imported: bool
    connection: Connection
    pool: PoolRecord
    before: Amendments

    def match(self, name: str) -> LogRecord:
        """Return a match of the pool as it was posted. Raises : NotFoundError."""
        return log.get_match(self.connection, self.pool, name)

    def draft(
        self,
        content: object,
        *,
        kind: Kind | None = None,
        match: str | None = None,
        player: str | None = None,
        **more: Any,
    ) -> Draft:
        """Return the draft of an amendment of a match or a player, with its row of the audit log.

        content : as text, or as what becomes JSON
        kind : of the record, if it is not the one that is wanted
        """
        kind, request = kind or self.kind, self.request
        text = content
        if not isinstance(text, str):
            text = msgspec.json.encode(content, order="deterministic").decode()
        detail = {"kind": kind, "reason": getattr(request, "reason", "")}
        if match is not None and player is not None:
            detail["match"] = match
        if isinstance(content, DisqualifyContent):
            detail["effect"] = content.effect or "without"
        if isinstance(content, RenameContent):
            detail["to"] = content.to
        return Draft(
            kind=kind,
            content=text,
            match=match,
            player=player,
            action="amendment.recorded",
            subject=match if player is None else player,
            detail=detail,
            **more,
        )


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
    imported = logged is not None
    # Checking a large match, or reading a player's matches, must not keep the pool locked.
    check_reason(getattr(request, "reason", ""))
    posted = None
    if isinstance(request, MatchRequest):
        rules, clock = rules_of_pool(store, pool), Clock(now, future_seconds)
        posted = _read_correction(request, subject, rules, clock)
    elif isinstance(request, DisqualifyRequest) and not (request.effect or imported):
        effect = _default_effect(store, pool, subject, request)
        request = msgspec.structs.replace(request, effect=effect)

    def make(connection: Connection, record: PoolRecord) -> Draft:
        before = amendments_of(connection, record)
        change = _Change(kind, subject, request, posted, now, imported, connection, record, before)
        return _MAKERS[kind](change)

    if preview:
        with read_pool(store, pool) as (connection, record, _):
            record.check_open()
            new = make(connection, record).record(record.last_seq + 1, now, key)
            return _preview(connection, record, new)
    shown: list[AmendmentMessage] = []

    def then(connection: Connection, after: PoolRecord, new: LogRecord) -> None:
        if new.kind == "rename" and not imported:
            after = profiles.move_profile(connection, after, new, key, now)
        elif new.player is not None and new.match is None and new.kind != "rename":
            # A running replay may have written the player already.
            generations = [after.generation, after.replay_generation or after.generation]
            disqualified = new.kind == "disqualify"
            ratings.mark_disqualified(connection, after.id, generations, [new.player], disqualified)
        shown.append(message_of(connection, after, new))

    record_change(store, pool, make, key=key, now=now, logged=logged, then=then)
    return shown[0]


#: The kinds of amendments as functions of the other arguments of `amend`.
void_match, restore_match = partial(amend, "void"), partial(amend, "restore")
correct_match = partial(amend, "correct")
disqualify, reinstate = partial(amend, "disqualify"), partial(amend, "reinstate")
rename = partial(amend, "rename")


def _void_or_restore(change: _Change) -> Draft:
    """Void a match, which then no longer counts, or restore it."""
    match, before = change.subject, change.before
    logged = change.match(match)
    if (match in before.void) == (change.kind == "void"):
        state = "already void" if change.kind == "void" else "not void"
        raise ConflictError(f"match {match!r} is {state}")
    assert isinstance(change.request, ReasonRequest)
    return change.draft(
        {"reason": change.request.reason},
        match=match,
        time=before.time(logged),
        needs_replay=before.request(logged).rated,
    )


def _read_correction(
    request: MatchRequest, match: str, rules: PoolRules, clock: Clock
) -> PostedMatch:
    """Return the match in the body of a correction. Raises : InvalidDataError."""
    if str(request.match) != match:
        rule = f"must be {match}, the id in the path"
        raise InvalidDataError([Problem("", None, "match", rule, str(request.match)[:200])])
    read, problems = read_matches([request], rules)
    if problems:
        raise InvalidDataError(problems)
    (posted,) = read
    too_late = clock.fault(posted.time)
    if too_late is not None:
        got = str(written(posted.time, rules))
        raise InvalidDataError([Problem("", None, "time", too_late, got)])
    return posted


def _correct(change: _Change) -> Draft:
    """Replace the content of a match; without a time it keeps its own.

    If nothing but title, link and attributes changes, the record has these alone and needs no
    replay.
    """
    match, posted, before = change.subject, change.posted, change.before
    assert posted is not None
    logged = change.match(match)
    problems = repeated_players(posted.request, before.renames)
    if problems:
        raise InvalidDataError(problems)
    old, old_time = before.request(logged), before.time(logged)
    time = old_time if posted.time is None else posted.time
    played = before.time_played(match, logged.posted_time)
    texts, plain = DescribeContent.of(posted.request), DescribeContent()
    if (
        time == old_time
        and posted.time in (None, played)
        and texts != DescribeContent.of(old)
        and plain.applied(renamed(posted.request, before.renames)) == plain.applied(old)
        and not change.imported
    ):
        return change.draft(texts, kind="describe", match=match, time=time)
    return change.draft(
        posted.content,
        match=match,
        posted_time=posted.time,
        time=time,
        needs_replay=(posted.request.rated or old.rated) and match not in before.void,
    )


def _describe(change: _Change) -> Draft:
    """Record the title, link and attributes of a match from an imported log."""
    logged = change.match(change.subject)
    return change.draft(change.request, match=change.subject, time=change.before.time(logged))


def _disqualify_or_reinstate(change: _Change) -> Draft:
    """Disqualify a player from a time on or in one match alone, or reinstate the player.

    The effect of a disqualification says how the matches then count, those included that were
    posted before but took place after that time.
    """
    player, request, before = change.subject, change.request, change.before
    if not change.imported:
        player = before.renames.get(player, player)
    assert isinstance(request, ReinstateRequest)
    _check_id("player", player)
    if request.match is not None and request.since is not None:
        raise InvalidParameterError("since cannot be combined with match")
    since = None if request.since is None else moment(request.since, "since")
    if since and not rules_of(change.pool.settings).timed:
        rule = "since must be left out, or 0 for all matches: this pool has no times"
        raise InvalidParameterError(rule)
    match = None if request.match is None else id_text(request.match)
    disqualifies = change.kind == "disqualify"
    content: object = {"reason": request.reason}
    if isinstance(request, DisqualifyRequest) and disqualifies:
        # The log of an earlier version has no effect, and keeps its meaning.
        content = DisqualifyContent(request.reason, request.effect)
    if match is not None:
        logged = change.match(match)
        played = before.request(logged)
        disqualified = before.eligibility.is_disqualified_from(player, match)
        if player not in players_of(played) and not disqualified:
            raise NotFoundError(f"player {player!r} did not take part in match {match!r}")
        if disqualified == disqualifies:
            state = "already" if disqualified else "not"
            raise ConflictError(
                f"player {player!r} is {state} disqualified from match {match!r} alone"
            )
        return change.draft(
            content,
            match=match,
            player=player,
            time=before.time(logged),
            needs_replay=played.rated and match not in before.void,
        )
    disqualified = before.eligibility.disqualification_of(player) is not None
    if disqualified == disqualifies and since is None:
        hint = "; name the match to lift a disqualification from one match alone"
        raise ConflictError(
            f"player {player!r} is {'already' if disqualified else 'not'} disqualified"
            f"{'' if disqualified else hint}"
        )
    # The last time of the pool includes matches that corrections moved there. After it there may
    # be matches that still count until a replay.
    last = latest_of(change.pool.last_time, change.pool.rated_to)
    return change.draft(
        content,
        player=player,
        posted_time=since,
        time=change.now if since is None else since,
        needs_replay=since is not None and last is not None and since <= last,
    )


def _rename(change: _Change) -> Draft:
    """Give a player another id. If another player has it, both are one player from then on."""
    request, old = change.request, change.subject
    assert isinstance(request, RenameRequest)
    new = id_text(request.to)
    _check_id("to", new, "must be another id" if new == old else None)
    if not change.imported:
        _check_rename(change, old, new)
    content = RenameContent(new, request.reason)
    return change.draft(content, player=old, time=change.now, needs_replay=True)


def _check_id(field: str, player: str, fault: str | None = None) -> None:
    """Check an id; fault : what else is wrong with it. Raises : InvalidDataError."""
    rule = id_fault(player) or fault
    if rule is not None:
        raise InvalidDataError([Problem("", None, field, rule, player[:200])])


def _check_rename(change: _Change, old: str, new: str) -> None:
    """Check that a player can have another id. Raises : NotFoundError, ConflictError."""
    connection, pool, before = change.connection, change.pool, change.before
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


#: What makes the draft of each kind of amendment. Raises if the pool refuses it.
_MAKERS: dict[Kind, Callable[[_Change], Draft]] = {
    "void": _void_or_restore,
    "restore": _void_or_restore,
    "correct": _correct,
    "describe": _describe,
    "disqualify": _disqualify_or_reinstate,
    "reinstate": _disqualify_or_reinstate,
    "rename": _rename,
}


def _default_effect(store: Store, pool: str, player: str, request: DisqualifyRequest) -> Effect:
    """Return the effect of a disqualification that names none.

    Without their player, single players meet as before; a team would be rated a player short.
    Raises : NotFoundError, InvalidDataError
    """
    _check_id("player", player)
    with read_pool(store, pool) as (connection, record, _):
        if request.match is not None:
            pieces = iter([[log.get_match(connection, record, id_text(request.match))]])
        else:
            player = amendments_of(connection, record).renames.get(player, player)
            pieces = _matches_of(connection, record, player)
        for piece in pieces:
            names = [str(logged.match) for logged in piece]
            requests = map(amendments_of_matches(connection, record, names).request, piece)
            if any(len(team.players) > 1 for played in requests for team in played.teams):
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


def _preview(connection: Connection, pool: PoolRecord, record: LogRecord) -> AmendmentMessage:
    """Return what an amendment would change, with everything else that waits for a replay."""
    change, moved = DifferenceMessage(0, 0, []), OthersMessage(0, None, None)
    shown = _message(pool, record, "done", change)
    if record.needs_replay:
        records = log.amendments(connection, pool.id)
        begin = first_changed(connection, pool, record, Amendments.of(records, pool.last_seq))
        after = Amendments.of([*records, record], record.seq)
        rules = rules_through(connection, pool)
        old, new, matches = PoolPast(connection, pool, rules, after).numbers_of_replay(begin)
        change = difference(old, new, matches)
        moved = difference_of_others(old, new, (record.player, shown.to))
    others = None if record.player is None else moved
    return msgspec.structs.replace(
        shown, seq=None, kind="preview", difference=change, others=others
    )


def amendment(store: Store, pool: str, seq: int) -> AmendmentMessage:
    """Return an amendment and what it changed. Raises : NotFoundError."""
    with read_pool(store, pool) as (connection, record, _):
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
    check_page(limit)
    before = decode_cursor(cursor, int)
    with read_pool(store, pool) as (connection, record, _):
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
    rules, content = rules_of(pool.settings), None
    if record.kind in ("settings", "disqualify", "rename"):
        content = content_of(record.kind, record.content)
    effect: Effect | None = getattr(content, "effect", None)
    return AmendmentMessage(
        seq=record.seq,
        kind=record.kind,
        match=record.match,
        player=record.player,
        since=written(record.posted_time, rules) if record.player is not None else None,
        reason=reason_of(record.content),
        received=iso(record.received),
        status=status,
        difference=difference,
        settings=getattr(content, "settings", None),
        settings_before=getattr(content, "before", None),
        effect=effect or "without" if record.kind == "disqualify" else None,
        to=getattr(content, "to", None),
    )
