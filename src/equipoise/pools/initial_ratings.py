"""Known ratings of a pool: set before the first match, replaced until then, copied and read.

They are a record of the log, so the hash chain, export, backup and erasure have them, and every
replay from the beginning begins with them. Their scale is that of the pool: ratings of another
scale are converted before they are recorded, by a mapping that the record keeps.
"""

from __future__ import annotations

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.data.ratings import InitialRatings, Ratings, ScaleMapping
from equipoise.errors import (
    ConflictError,
    InvalidDataError,
    InvalidParameterError,
    Problem,
)
from equipoise.messages.matches import DifferenceMessage
from equipoise.messages.pools import (
    InitialMessage,
    InitialPage,
    InitialRating,
    InitialRequest,
)
from equipoise.pools.contents import KnownContent, check_number
from equipoise.pools.pool.pools import check_page, decode_cursor, encode_cursor, read_pool
from equipoise.pools.pool.rules import check_reason, id_text, iso, rules_of
from equipoise.pools.posting.rating import object_array
from equipoise.pools.posting.running import RunningPool, stored_pool
from equipoise.pools.records import (
    Draft,
    KnownRatings,
    amendments_of,
    cached_known,
    read_known,
    record_change,
)
from equipoise.pools.seasons import write_seed_ratings
from equipoise.rating.pool_state import scale_difference
from equipoise.store import log, pools, ratings
from equipoise.store.connection import Store
from equipoise.store.log import LoggedAs, LogRecord
from equipoise.store.pools import (
    START,
    PoolRecord,
    ReplayRecord,
    add_replay,
    get_pool,
    rated_through,
)
from equipoise.wording import counted

#: Characters of known ratings in the log of a pool after which they are not replaced any more:
#: about ten records of the most players. Records are never removed.
MOST_REPLACED = 50_000_000


def initial_content(request: InitialRequest) -> KnownContent:
    """Return the content of the record for the ratings of a request.

    Raises : InvalidDataError, InvalidParameterError
    """
    check_reason(request.reason)
    if request.ratings is None:
        raise InvalidDataError(
            [Problem("", None, "ratings", "must be given, unless pool is", "nothing")]
        )
    check_number(len(request.ratings))
    # Repeated players and numbers are named by their place in the list.
    seen: set[str] = set()
    problems = []
    for row, given in enumerate(request.ratings):
        field, player = f"ratings[{row}]", id_text(given.player)
        value, spread = float(given.rating), given.deviation
        if player in seen:
            rule = "must not repeat a player"
            problems.append(Problem("", None, f"{field}.player", rule, player[:200]))
        seen.add(player)
        if not abs(value) <= 1e9:
            rule = "must be from -1e9 to 1e9"
            problems.append(Problem("", None, f"{field}.rating", rule, str(value)))
        if spread is not None and not 1e-6 <= spread <= 1e9:
            rule = "must be from 1e-6 to 1e9"
            problems.append(Problem("", None, f"{field}.deviation", rule, str(spread)))
    if problems:
        raise InvalidDataError(problems)
    known = InitialRatings(
        player_ids=object_array([id_text(given.player) for given in request.ratings]),
        rating=np.array([given.rating for given in request.ratings], np.float64),
        deviation=np.array([given.deviation for given in request.ratings], np.float64),
    )
    return content_of(known, request, convert=True)


def copied_content(store: Store, pool: str, request: InitialRequest) -> KnownContent:
    """Return the content of the record for the current ratings of another pool.

    Raises : NotFoundError, ConflictError, InvalidDataError, InvalidParameterError
    """
    source = str(request.pool)
    if request.ratings is not None:
        raise InvalidParameterError("pool cannot be combined with ratings")
    if source == pool:
        raise InvalidParameterError(f"pool must be another pool than {pool!r}")
    with read_pool(store, pool) as (connection, _, rules):
        record = get_pool(connection, source)
        if record.dirty is not None:
            raise ConflictError(f"pool {source!r} waits for a replay; copy its ratings after that")
        theirs = rules_of(record.settings)
        differs = scale_difference(theirs.system, rules.system)
        if request.mapping is None and differs is not None:
            raise InvalidParameterError(
                f"pool {source!r} has {differs}. Convert them with `mapping`: two "
                "ratings there and two here"
            )
        check_number(record.players)
        stored = stored_pool(connection, record, theirs)
    last = theirs.system.at(stored.state, np.arange(len(stored.players)), None)
    known = InitialRatings(
        player_ids=object_array(stored.players),
        rating=last["rating"],
        deviation=last["deviation"],
    )
    return content_of(known, request, convert=True)


def content_of(
    known: InitialRatings | Ratings, request: InitialRequest, *, convert: bool = False
) -> KnownContent:
    """Return the content of the record, its players sorted, so that their order does not matter.

    convert : by the mapping of the request; otherwise the ratings are converted already
    Raises : InvalidDataError, InvalidParameterError
    """
    check_reason(request.reason)
    check_number(len(known.player_ids))
    if convert and request.mapping is not None:
        line = ScaleMapping(there=request.mapping.there, here=request.mapping.here)
        known = line.map(known)
    names = [id_text(player) for player in known.player_ids.tolist()]
    order = sorted(range(len(names)), key=names.__getitem__)
    rating, deviation = known.rating.tolist(), known.deviation.tolist()
    content = KnownContent(
        players=[names[row] for row in order],
        rating=[rating[row] + 0.0 for row in order],
        deviation=[None if deviation[row] != deviation[row] else deviation[row] for row in order],
        reason=request.reason,
        pool=request.pool,
        mapping=request.mapping,
    )
    content.check()
    return content


def keep_content(
    store: Store,
    pool: str,
    content: KnownContent,
    *,
    key: int | None,
    now: int,
    logged: LoggedAs | None = None,
) -> InitialMessage:
    """Set the ratings with which players of a pool begin, or replace those set before.

    They are written as a new generation. The same ratings again change nothing and get the same
    answer, also after the first match.

    content : from `initial_content`, `copied_content` or `content_of`
    logged : what an imported log has of the record
    Raises : NotFoundError; ConflictError if there are matches, or if the pool is the archive of a
        season or began with the ratings of one
    """
    known = KnownRatings(content)
    shown: list[InitialMessage] = []
    begins: list[RunningPool] = []

    def make(connection: Connection, current: PoolRecord) -> Draft | None:
        before = read_known(connection, current)
        same = before and msgspec.structs.replace(before.content, reason=content.reason) == content
        if logged is None and before is not None and same:
            shown.append(_message(connection, current, before))
            return None
        _check_replaceable(connection, current, imported=logged is not None)
        players, rules = len(content.players), rules_of(current.settings)
        running = RunningPool.of(rules, list(content.players), known.state(rules))
        begins.append(running)
        return Draft(
            kind="initial",
            content=msgspec.json.encode(content).decode(),
            time=now,
            columns={
                "initial": current.last_seq + 1,
                "known_ratings": players,
                "players": players,
                "shared": running.state.shared,
                "generation": max(current.generation, current.replay_generation or 0) + 1,
                "begins": START,
                "garbage": True,
                "replay_generation": None,
                "replay_owner": None,
                "replay_until": None,
            },
            action="initial_ratings.set",
            detail={
                "players": players,
                "pools": [] if content.pool is None else [content.pool],
                "reason": content.reason,
            },
        )

    def then(connection: Connection, current: PoolRecord, new: LogRecord) -> None:
        write_seed_ratings(connection, current.id, current.generation, begins[0])
        through = rated_through(connection, current)
        empty = msgspec.json.encode(DifferenceMessage(0, 0, [])).decode()
        add_replay(
            connection,
            current.id,
            ReplayRecord(
                generation=current.generation,
                through_seq=new.seq if through is None else through,
                begins=START,
                started=now,
                finished=now,
                difference=empty,
            ),
        )
        eligible = amendments_of(connection, current).eligibility
        barred = [name for name in eligible.players if eligible.disqualification_of(name)]
        ratings.mark_disqualified(connection, current.id, [current.generation], barred, True)
        shown.append(_message(connection, current, known))

    record_change(store, pool, make, key=key, now=now, logged=logged, then=then)
    return shown[0]


def _check_replaceable(connection: Connection, pool: PoolRecord, *, imported: bool) -> None:
    """Check that players of a pool can still begin with other ratings. Raises : ConflictError."""
    if pool.matches:
        matches = counted(pool.matches, "match", "matches")
        raise ConflictError(
            f"known ratings must be set before the first match, and pool {pool.name!r} has "
            f"{matches}, void and unrated ones included: set them in a new pool"
        )
    if pool.follows is not None and pools.content_of(connection, pool.id) is not None:
        raise ConflictError(
            f"pool {pool.name!r} began with the ratings of the season before, which a soft reset "
            "gave it: end that season with a hard reset to begin with others"
        )
    if not imported and log.length_of_initial(connection, pool.id) > MOST_REPLACED:
        raise ConflictError(
            f"the log of pool {pool.name!r} has more than {MOST_REPLACED:,} characters of known "
            "ratings that were replaced: set them in a new pool"
        )


def _message(
    connection: Connection, pool: PoolRecord, known: KnownRatings | None
) -> InitialMessage:
    """Return the known ratings of a pool in short."""
    if known is None:
        return InitialMessage(pool.name, None, 0)
    record = log.record_at(connection, pool.id, pool.initial)
    content = known.content
    return InitialMessage(
        pool=pool.name,
        seq=pool.initial,
        players=len(content.players),
        received=None if record is None else iso(record.received),
        source=content.pool,
        mapping=content.mapping,
        reason=content.reason,
    )


def initial_ratings(
    store: Store, pool: str, *, cursor: str | None = None, limit: int = 50
) -> InitialPage:
    """Return a page of the known ratings of a pool, by player.

    cursor : from an earlier page; limit : players, from 1 to 1000
    Raises : NotFoundError, InvalidParameterError
    """
    check_page(limit)
    begin = decode_cursor(cursor, int) or 0
    with read_pool(store, pool) as (connection, record, _):
        known = cached_known(connection, record)
        summary = _message(connection, record, known)
    content = KnownContent([], [], []) if known is None else known.content
    end = max(begin, 0) + limit
    rows = range(max(begin, 0), min(end, len(content.players)))
    shown = [
        InitialRating(content.players[row], content.rating[row], content.deviation[row])
        for row in rows
    ]
    more = end < len(content.players)
    return InitialPage(summary, shown, encode_cursor(end) if more else None)
