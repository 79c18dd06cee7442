"""Posting matches: into the log, rated, and written, in one transaction.

Matches that are posted once more after their season has ended.

A client that lost the answer posts again. If the season has ended in between, the match is in the
log of the archive, and must not count a second time in the new season.

A match before it is recorded, and a recorded one as it was posted: for those who edit them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import msgspec
from sqlalchemy import Connection

from equipoise.errors import ConflictError, EquipoiseError, InvalidDataError, NotFoundError, Problem
from equipoise.messages.matches import MatchMessage, MatchRequest, PostedMessage
from equipoise.pools.amended_log import Eligibility, amendments_of
from equipoise.pools.pool.pools import check_open, rules_of, written
from equipoise.pools.posting.match_history import LoggedMatch, names_of, players_of, without
from equipoise.pools.posting.match_messages import MatchState, match_message
from equipoise.pools.posting.posted_matches import (
    PoolRules,
    PostedMatch,
    read_matches,
    unused_fields,
)
from equipoise.pools.posting.rating import RatedBatch, StateCache, UnratableMatchError, rate_batch
from equipoise.pools.reading.pool_reading import stored_matches
from equipoise.store import changes, log, ratings, webhooks
from equipoise.store.changes import COLUMNS, ChangeRow, change_row
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord, change_pool, get_pool, pool_by_number

#: After the beginning of a season repetitions are looked for so long, microseconds: a new season
#: may give ids anew, and nobody repeats a request for longer.
_LOOKED_FOR = 86_400_000_000


def repeated(
    connection: Connection, pool: PoolRecord, matches: Iterable[PostedMatch], now: int
) -> set[str]:
    """Return the ids of those matches that the season before has with the same content."""
    if pool.follows is None or now - pool.created > _LOOKED_FOR:
        return set()
    wanted = {match.id: match for match in matches}
    there = log.matches_by_id(connection, pool.follows, wanted)
    return {name for name, entry in there.items() if _is_same(entry, wanted[name])}


def _is_same(entry: LogRecord, match: PostedMatch) -> bool:
    return entry.content == match.content and entry.posted_time == match.time


def matches_of_season_before(
    connection: Connection, pool: PoolRecord, ids: Sequence[str]
) -> dict[str, MatchMessage]:
    """Return those matches as the season before has them, by id."""
    before = None if pool.follows is None or not ids else pool_by_number(connection, pool.follows)
    if before is None:
        return {}
    return stored_matches(connection, before, rules_of(before.settings), ids)


@dataclass(frozen=True, slots=True)
class Post:
    """Matches that are recorded together or not at all.

    key : number of the key that posted them
    detailed : answer with every match and its changes, not only with counts
    first_line : number of the first one in what was posted, for problems
    received : when each was, microseconds since 1970, where that is not now
    read : what `read_post` makes of them, where that was done before
    """

    matches: Sequence[MatchRequest]
    key: int | None = None
    detailed: bool = True
    first_line: int = 1
    received: Sequence[int] | None = None
    read: ReadPost | None = None


@dataclass(frozen=True, slots=True)
class ReadPost:
    """The matches of a post as a pool of these rules takes them, and why it takes none of them."""

    rules: PoolRules
    matches: list[PostedMatch]
    refused: EquipoiseError | None


#: What a post gets: its matches, their number, or why none of it was recorded.
Answer: TypeAlias = list[MatchMessage] | PostedMessage | EquipoiseError


@dataclass(slots=True)
class _Plan:
    """What is to become of the posts of one transaction.

    refused : index of a post -> why
    entries : new log records, and `requests` what they say, and `owner` whose they are
    known : index of a post -> entries of its matches that were there before
    """

    refused: dict[int, EquipoiseError] = field(default_factory=dict)
    entries: list[LogRecord] = field(default_factory=list)
    requests: list[MatchRequest] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    known: dict[int, int] = field(default_factory=dict)
    last_time: int | None = None


def post_matches(
    store: Store, pool: str, posts: Sequence[Post], now: int, cache: StateCache | None = None
) -> list[Answer]:
    """Record and rate what was posted, in this order, in one transaction.

    now : when it was received, microseconds since 1970
    cache : player states from earlier posts; updated
    Returns : an answer a post; a post that is refused leaves no trace
    Raises : NotFoundError, ConflictError where the pool is the archive of a season
    """
    with store.read() as connection:
        rules = rules_of(get_pool(connection, pool).settings)
    read = [_read(post, rules) for post in posts]
    cache = StateCache() if cache is None else cache
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        check_open(record)
        if rules_of(record.settings) is not rules:
            # A season has ended in the meantime, and the new one has other rules.
            rules = rules_of(record.settings)
            read = [_read(post, rules) for post in posts]
        plan, batch = _rated(connection, record, rules, posts, read, cache, now)
        after = _write(connection, record, plan, batch)
        answers = _answers(connection, after, rules, posts, read, plan, batch)
    cache.update(record, after, None if batch is None else batch.states)
    return answers


def _rated(
    connection: Connection,
    record: PoolRecord,
    rules: PoolRules,
    posts: Sequence[Post],
    read: Sequence[ReadPost],
    cache: StateCache,
    now: int,
) -> tuple[_Plan, RatedBatch | None]:
    """Return what becomes of posts, and what rating their matches gives."""
    offered = [one.matches for one in read]
    refused = {i: one.refused for i, one in enumerate(read) if one.refused is not None}
    every = [match for matches in offered for match in matches]
    before = log.matches_by_id(connection, record.id, {match.id for match in every})
    earlier = repeated(connection, record, every, now)
    while True:
        plan = _plan(record, rules, posts, offered, before, earlier, refused, now)
        to_rate = _to_rate(connection, record, plan)
        try:
            if not to_rate:
                return plan, None
            return plan, rate_batch(connection, record, rules, to_rate, cache)
        except UnratableMatchError as error:
            seq = to_rate[error.index].seq
            at = seq - record.last_seq - 1
            owner = plan.owners[at]
            refused[owner] = _unratable(plan, at, posts[owner], error)


def read_post(store: Store, pool: str, post: Post) -> Post:
    """Return a post with its matches read, which needs no place in the line of writers.

    Raises : NotFoundError
    """
    with store.read() as connection:
        rules = rules_of(get_pool(connection, pool).settings)
    return replace(post, read=_read(post, rules))


def _read(post: Post, rules: PoolRules) -> ReadPost:
    """Return what a post's matches are under these rules."""
    if post.read is not None and post.read.rules is rules:
        return post.read
    matches, problems = read_matches(post.matches, rules, post.first_line)
    if not problems:
        return ReadPost(rules, matches, None)
    return ReadPost(rules, [], InvalidDataError(problems))


def _plan(
    pool: PoolRecord,
    rules: PoolRules,
    posts: Sequence[Post],
    read: Sequence[list[PostedMatch]],
    before: dict[str, LogRecord],
    earlier: set[str],
    refused: dict[int, EquipoiseError],
    now: int,
) -> _Plan:
    """Return what is recorded: posts are taken in turn, each whole or not at all."""
    plan = _Plan(refused=dict(refused), last_time=pool.last_time)
    fresh: dict[str, LogRecord] = {}
    for index, (post, matches) in enumerate(zip(posts, read, strict=True)):
        if index in refused:
            continue
        taken: list[LogRecord] = []
        requests: list[MatchRequest] = []
        problems: list[Problem] = []
        conflicts: list[str] = []
        last, seq = plan.last_time, pool.last_seq + len(plan.entries)
        mine: dict[str, LogRecord] = {}
        for line, match in enumerate(matches, start=post.first_line):
            there = before.get(match.id) or fresh.get(match.id) or mine.get(match.id)
            if there is not None:
                if there.content != match.content or there.posted_time != match.time:
                    conflicts.append(match.id)
                continue
            if match.id in earlier:
                continue
            came = now if post.received is None else post.received[line - post.first_line]
            time, late = _rated_time(match, rules, last, came)
            if late and rules.settings.late == "reject":
                rule = f"must not be before the last match of the pool, {written(last, rules)}"
                got = str(written(match.time, rules))
                problems.append(Problem("", line, "time", rule, got))
                continue
            waits = late and rules.settings.late == "replay" and match.request.rated
            seq += 1
            entry = LogRecord(
                seq, "match", match.id, None, match.content, match.time, time, waits, came, post.key
            )
            taken.append(entry)
            requests.append(match.request)
            mine[match.id] = entry
            last = time if last is None else max(last, time)
        if conflicts or problems:
            plan.refused[index] = _refusal(conflicts, problems)
            continue
        plan.entries += taken
        plan.requests += requests
        plan.owners += [index] * len(taken)
        plan.known[index] = len(matches) - len(taken)
        plan.last_time = last
        fresh |= mine
    return plan


def _rated_time(
    match: PostedMatch, rules: PoolRules, last: int | None, now: int
) -> tuple[int, bool]:
    """Return the time at which a match counts, and whether it came late."""
    if not rules.timed:
        return 0, False
    if match.time is None:
        return (now if last is None else max(now, last)), False
    if last is None or match.time >= last:
        return match.time, False
    return (last if rules.settings.late == "append" else match.time), True


def _refusal(conflicts: list[str], problems: list[Problem]) -> EquipoiseError:
    """Return why a post is refused."""
    if not conflicts:
        return InvalidDataError(problems)
    more = f" and {len(conflicts) - 5} more" if len(conflicts) > 5 else ""
    named = ", ".join(conflicts[:5])
    return ConflictError(
        f"already recorded with different content: {named}{more}; to correct a match, use PUT"
    )


def _unratable(plan: _Plan, at: int, post: Post, error: UnratableMatchError) -> EquipoiseError:
    """Return why a post is refused whose match the system cannot rate."""
    first = plan.owners.index(plan.owners[at])
    line = post.first_line + at - first
    match = plan.entries[at].match
    reason = str(error.reason).replace("\n", " ")
    problem = Problem(
        "", line, "match", "must be a match that the system of the pool can rate", str(match)
    )
    return InvalidDataError([problem], f"match {match} cannot be rated: {reason}")


def _to_rate(connection: Connection, pool: PoolRecord, plan: _Plan) -> list[LoggedMatch]:
    """Return the new matches that are rated now, without players who are barred."""
    found = [
        LoggedMatch(entry.seq, entry.time, request)
        for entry, request in zip(plan.entries, plan.requests, strict=True)
        if request.rated and not entry.needs_replay
    ]
    eligible = Eligibility()
    if pool.amendments:
        eligible = Eligibility.of_players(connection, pool, set(names_of(found)))
    if not eligible:
        return found
    counted = []
    for match in found:
        barred = eligible.barred(
            players_of(match.request), str(match.request.match), match.position
        )
        kept = without(match.request, barred)
        if kept is not None:
            counted.append(match._replace(request=kept))
    return counted


def _write(
    connection: Connection,
    pool: PoolRecord,
    plan: _Plan,
    batch: RatedBatch | None,
) -> PoolRecord:
    """Write log, changes and ratings; return the pool as it then stands."""
    if not plan.entries:
        return pool
    log.append(connection, pool.id, plan.entries)
    late = [entry.position for entry in plan.entries if entry.needs_replay]
    dirty = min([*late, *([] if pool.dirty is None else [pool.dirty])], default=None)
    columns: dict[str, Any] = {
        "last_seq": plan.entries[-1].seq,
        "matches": pool.matches + len(plan.entries),
        "last_time": plan.last_time,
        "dirty": dirty,
    }
    if batch is not None:
        changes.put(connection, pool.id, pool.generation, batch.changes)
        rows = batch.ratings
        if pool.amendments and batch.states.new:
            # Those who have a rating already are marked since they were disqualified.
            eligible = Eligibility.of_players(connection, pool, rows["player"])
            rows = {**rows, "disqualified": eligible.flags(rows["player"])}
        ratings.put(connection, pool.id, pool.generation, rows)
        columns["players"] = pool.players + batch.states.new
        columns["checkpoint_due"] = pool.checkpoint_due + batch.participations
        if batch.shared or pool.shared:
            columns["shared"] = batch.shared
        if pool.webhooks & webhooks.KINDS["match.rated"]:
            happened = [("match.rated", seq) for seq in sorted(set(batch.changes["seq"]))]
            now = plan.entries[-1].received
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
    plan: _Plan,
    batch: RatedBatch | None,
) -> list[Answer]:
    """Return every post's answer."""
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
            there |= matches_of_season_before(connection, pool, gone)
            answers.append([messages.get(m.id) or there[m.id] for m in matches])
        else:
            known = plan.known[index]
            unused = unused_fields((match.request for match in matches), rules)
            answers.append(PostedMessage(len(matches) - known, known, pool.last_seq, unused))
    return answers


def _messages(
    rules: PoolRules, plan: _Plan, batch: RatedBatch | None, detailed: set[int]
) -> dict[str, MatchMessage]:
    """Return the matches recorded now by detailed posts, by id."""
    wanted = {
        entry.seq: entry
        for entry, owner in zip(plan.entries, plan.owners, strict=True)
        if owner in detailed
    }
    if not wanted:
        return {}
    by_seq: dict[int, dict[str, ChangeRow]] = {}
    if batch is not None:
        for row in zip(*(batch.changes[name] for name in COLUMNS), strict=True):
            change = change_row(row)
            if change.seq in wanted:
                by_seq.setdefault(change.seq, {})[change.player] = change
    first = plan.entries[0].seq
    found = {}
    for seq, entry in wanted.items():
        request = plan.requests[seq - first]
        status = "pending" if entry.needs_replay else "rated" if request.rated else "unrated"
        state = MatchState(request, entry.time, entry.posted_time, status)
        found[str(request.match)] = match_message(entry, state, by_seq.get(seq, {}), rules)
    return found


class _UndoneError(Exception):
    """Ends a transaction without its changes."""


class _Undoing(Store):
    """A store whose writes are undone."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.engine)
        self._store = store

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Give a connection whose statements come to nothing in the end."""
        with suppress(_UndoneError), self._store.write() as connection:
            yield connection
            raise _UndoneError


def preview_match(store: Store, pool: str, match: MatchRequest, now: int) -> MatchMessage:
    """Return what posting a match would do: it is posted, and that is undone.

    Raises : NotFoundError, ConflictError, InvalidDataError
    """
    answer = post_matches(_Undoing(store), pool, [Post([match])], now)[0]
    if isinstance(answer, EquipoiseError):
        raise answer
    assert isinstance(answer, list)
    return answer[0]


def posted_match(store: Store, pool: str, match: str) -> MatchRequest:
    """Return a match as it was posted, or as it was last corrected.

    Without a time where none was given, so that a correction made from it keeps that so.
    Raises : NotFoundError
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
        entry = log.match_by_id(connection, record.id, match)
        if entry is None:
            raise NotFoundError(f"no match {match!r} in pool {pool!r}")
        amendments = amendments_of(connection, record)
        played = amendments.time_played(match, entry.posted_time)
        counted = None if played is None else amendments.time(entry)
        time = written(counted, rules_of(record.settings))
    return msgspec.structs.replace(amendments.request(entry), time=time)
