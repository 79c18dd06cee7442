"""Posting matches: recorded in the log, rated and written in one transaction.

What is recorded and what is refused, late matches included, is decided in `planning`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeAlias

from sqlalchemy import Connection

from equipoise.errors import EquipoiseError, UnconfirmedError
from equipoise.messages.matches import MatchMessage, MatchRequest, PostedMessage
from equipoise.pools.amended_log import Eligibility, latest_of
from equipoise.pools.pool.pools import check_open
from equipoise.pools.pool.rules import PoolRules, rules_of
from equipoise.pools.posting.match_history import players_of
from equipoise.pools.posting.partial_states import columns_after
from equipoise.pools.posting.planning import (
    FUTURE_SECONDS,
    Clock,
    Post,
    PostingPlan,
    ReadPost,
    plan_posts,
    read_by_rules,
    recorded_matches,
    unratable,
)
from equipoise.pools.posting.posted_matches import unused_fields
from equipoise.pools.posting.rating import RatedBatch, StateCache, UnratableMatchError, rate_batch
from equipoise.pools.reading.matches import (
    FIRST_PLAYERS,
    MatchPart,
    MatchState,
    match_message,
    stored_matches,
)
from equipoise.store import changes, log, ratings, webhooks
from equipoise.store.changes import COLUMNS, ChangeRow, change_row
from equipoise.store.connection import Store
from equipoise.store.interrupting import Interruption
from equipoise.store.pools import (
    PoolRecord,
    allow_silence,
    change_pool,
    get_pool,
    pool_by_number,
)

#: Players that are rated in far less than the seconds for which a transaction may be silent.
_SILENT_PLAYERS = 10_000

#: The answer to a post: its matches, their number, or why none of it was recorded.
Answer: TypeAlias = list[MatchMessage] | PostedMessage | EquipoiseError


def post_matches(
    store: Store,
    pool: str,
    posts: Sequence[Post],
    now: int,
    cache: StateCache | None = None,
    *,
    future_seconds: float | None = FUTURE_SECONDS,
    arrived: Callable[[], tuple[Sequence[Post], int]] | None = None,
    silence: float | None = None,
    interruption: Interruption | None = None,
) -> list[Answer]:
    """Record and rate posts, in this order, in one transaction.

    now : time of receipt, microseconds since 1970
    cache : player states from earlier posts; updated
    future_seconds : seconds that a match may be ahead of `now`; None for no limit
    arrived : called once the pool is locked; gives posts that joined in the meantime, and the time
        of receipt of all
    silence : as for `find_pool`, longer where there are very many players to rate
    interruption : ends the transaction before its commit
    Returns : an answer for each post, those that joined last; of a refused post nothing is recorded
    Raises : NotFoundError; ConflictError where the pool is the archive of a season;
        UnconfirmedError if the database did not confirm the commit; InterruptedTransactionError
    """
    cache = StateCache() if cache is None else cache
    try:
        return _post(
            store,
            pool,
            posts,
            now,
            cache,
            future_seconds,
            arrived,
            silence,
            interruption or Interruption(),
        )
    except UnconfirmedError:
        cache.forget(pool)
        raise


def _post(
    store: Store,
    pool: str,
    posts: Sequence[Post],
    now: int,
    cache: StateCache,
    future_seconds: float | None,
    arrived: Callable[[], tuple[Sequence[Post], int]] | None,
    silence: float | None,
    interruption: Interruption,
) -> list[Answer]:
    """Record and rate posts as `post_matches`."""
    rules = cache.rules(store, pool)
    read = [read_by_rules(post, rules) for post in posts]
    with store.write() as connection, interruption.of(connection):
        record = get_pool(connection, pool, lock=True, silence=silence)
        check_open(record)
        if rules_of(record.settings) is not rules:
            # The settings were changed in the meantime, or a season with other settings began.
            rules = rules_of(record.settings)
            read = [read_by_rules(post, rules) for post in posts]
        if arrived is not None:
            # The time is taken under the lock: matches without a time of their own, posted to
            # several processes, are then in the order of the log.
            more, now = arrived()
            posts = [*posts, *more]
            read += [read_by_rules(post, rules) for post in more]
        if silence is not None and not store.is_sqlite:
            _allow_work(connection, read, silence)
        clock = Clock(now, future_seconds)
        plan, batch = _rate(connection, record, rules, posts, read, cache, clock, interruption)
        interruption.check()
        after = _write(connection, record, plan, batch, cache)
        answers = _answers(connection, after, rules, posts, read, plan, batch)
    cache.update(record, after, batch)
    cache.set_rules(pool, rules)
    return answers


def _allow_work(connection: Connection, read: Sequence[ReadPost], silence: float) -> None:
    """Let a transaction that rates very many players be silent for longer, as rating takes time.

    read : its posts; silence : seconds for few players
    """
    teams = (team for one in read for match in one.matches for team in match.request.teams)
    players = sum(len(team.players) for team in teams)
    if players > _SILENT_PLAYERS:
        allow_silence(connection, silence * players / _SILENT_PLAYERS)


def read_post(store: Store, pool: str, post: Post) -> Post:
    """Return a post with its matches checked, so that no writer has to wait for that.

    Raises : NotFoundError
    """
    with store.read() as connection:
        rules = rules_of(get_pool(connection, pool).settings)
    return replace(post, read=read_by_rules(post, rules))


def _rate(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    posts: Sequence[Post],
    read: Sequence[ReadPost],
    cache: StateCache,
    clock: Clock,
    interruption: Interruption,
) -> tuple[PostingPlan, RatedBatch | None]:
    """Return what is recorded of posts, and the result of rating their matches.

    A post with a match that the system cannot rate is refused, and the others are planned again.
    """
    every = [match for one in read for match in one.matches]
    recorded = recorded_matches(connection, pool, every, clock.now)
    players = (player for match in every for player in players_of(match.request))
    eligible = Eligibility.of_players(connection, pool, set(players) if pool.amendments else ())
    refused = {i: one.refused for i, one in enumerate(read) if one.refused is not None}
    while True:
        plan = plan_posts(pool, posts, read, recorded, refused, eligible, clock)
        try:
            listed = plan.listed
            if listed:
                listed -= ratings.ratings_of(connection, pool.id, pool.generation, listed).keys()
            if not plan.to_rate and not listed:
                return plan, None
            interruption.check()
            return plan, rate_batch(connection, pool, rules, plan.to_rate, cache, listed)
        except UnratableMatchError as error:
            at = plan.to_rate[error.index].seq - pool.last_seq - 1
            owner = plan.owners[at]
            refused[owner] = unratable(plan, at, posts[owner], error)


def _write(
    connection: Connection,
    pool: PoolRecord,
    plan: PostingPlan,
    batch: RatedBatch | None,
    cache: StateCache,
) -> PoolRecord:
    """Write log, changes, ratings and a partial checkpoint; return the pool after that."""
    if not plan.records:
        return pool
    late = [record.position for record in plan.records if record.needs_replay]
    columns: dict[str, Any] = {
        **log.append(connection, pool, plan.records, plan.seals),
        "matches": pool.matches + len(plan.records),
        "last_time": plan.last_time,
        "rated_to": latest_of(pool.rated_to, plan.last_time),
        "dirty": min([*late, *([] if pool.dirty is None else [pool.dirty])], default=None),
    }
    if batch is not None:
        changes.put(connection, pool.id, pool.generation, batch.changes)
        rows = batch.ratings
        if pool.amendments and batch.states.new:
            # Players who have a rating were marked when they were disqualified.
            eligible = Eligibility.of_players(connection, pool, rows["player"])
            rows = {**rows, "disqualified": eligible.flags(rows["player"])}
        ratings.put(connection, pool.id, pool.generation, rows)
        columns["players"] = pool.players + batch.states.new
        columns["checkpoint_due"] = pool.checkpoint_due + batch.participations
        if batch.shared or pool.shared:
            columns["shared"] = batch.shared
        columns |= columns_after(
            connection,
            replace(pool, dirty=columns["dirty"]),
            (columns["last_time"] or 0, columns["last_seq"]),
            batch.participations,
            lambda: cache.since_partial(pool, batch),
            batch.shared,
        )
        if pool.webhooks & webhooks.KINDS["match.rated"]:
            happened = [("match.rated", seq) for seq in sorted(set(batch.changes["seq"]))]
            now = plan.records[-1].received
            columns["outbox_last"] = webhooks.append(
                connection, pool.id, pool.outbox_last, pool.id, happened, now
            )
    change_pool(connection, pool.id, **columns)
    return replace(pool, **columns)


def _answers(
    connection: Connection,
    pool: PoolRecord,
    rules: PoolRules,
    posts: Sequence[Post],
    read: Sequence[ReadPost],
    plan: PostingPlan,
    batch: RatedBatch | None,
) -> list[Answer]:
    """Return the answer to each post."""
    detailed = {index for index, post in enumerate(posts) if post.detailed}
    messages = _messages(rules, plan, batch, detailed)
    answers: list[Answer] = []
    for index, matches in enumerate(one.matches for one in read):
        if index in plan.refused:
            answers.append(plan.refused[index])
        elif index in detailed:
            missing = [match.id for match in matches if match.id not in messages]
            there = stored_matches(connection, pool, rules, missing) if missing else {}
            gone = [match for match in missing if match not in there]
            there |= _matches_of_season_before(connection, pool, gone)
            answers.append([messages.get(m.id) or there[m.id] for m in matches])
        else:
            known = plan.known[index]
            unused = unused_fields((match.request for match in matches), rules)
            answers.append(PostedMessage(len(matches) - known, known, pool.last_seq, unused))
    return answers


def _messages(
    rules: PoolRules, plan: PostingPlan, batch: RatedBatch | None, detailed: set[int]
) -> dict[str, MatchMessage]:
    """Return the new matches of detailed posts, by id."""
    wanted = {
        record.seq: record
        for record, owner in zip(plan.records, plan.owners, strict=True)
        if owner in detailed
    }
    if not wanted:
        return {}
    first = plan.records[0].seq
    parts = {seq: MatchPart.of(plan.requests[seq - first], FIRST_PLAYERS) for seq in wanted}
    listed = {seq: set(part.names) for seq, part in parts.items()}
    by_seq: dict[int, dict[str, ChangeRow]] = {}
    if batch is not None:
        for row in zip(*(batch.changes[name] for name in COLUMNS), strict=True):
            player, seq = row[0], row[2]
            if player in listed.get(seq, ()):
                by_seq.setdefault(seq, {})[player] = change_row(row)
    found = {}
    for seq, record in wanted.items():
        request = plan.requests[seq - first]
        status = "pending" if record.needs_replay else "rated" if request.rated else "unrated"
        state = MatchState(request, record.time, record.posted_time, status)
        found[str(request.match)] = match_message(
            record, state, parts[seq], by_seq.get(seq, {}), rules
        )
    return found


def _matches_of_season_before(
    connection: Connection, pool: PoolRecord, ids: Sequence[str]
) -> dict[str, MatchMessage]:
    """Return matches that are in the season before, by id."""
    before = None if pool.follows is None or not ids else pool_by_number(connection, pool.follows)
    if before is None:
        return {}
    return stored_matches(connection, before, rules_of(before.settings), ids)


def preview_match(
    store: Store,
    pool: str,
    match: MatchRequest,
    now: int,
    *,
    future_seconds: float | None = FUTURE_SECONDS,
) -> MatchMessage:
    """Return what posting a match would do: it is posted, and that is undone.

    future_seconds : seconds that a match may be ahead of `now`; None for no limit
    Raises : NotFoundError, ConflictError, InvalidDataError
    """
    (answer,) = post_matches(
        _Undoing(store), pool, [Post([match])], now, future_seconds=future_seconds
    )
    if isinstance(answer, EquipoiseError):
        raise answer
    assert isinstance(answer, list)
    return answer[0]


class _UndoneError(Exception):
    """Ends a transaction without its changes."""


class _Undoing(Store):
    """A store whose writes are undone."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.engine)
        self._store = store

    @contextmanager
    def write(self, *, durable: bool = True, patience: float | None = None) -> Iterator[Connection]:
        """Give a connection whose statements are undone at the end."""
        with suppress(_UndoneError), self._store.write() as connection:
            yield connection
            raise _UndoneError
