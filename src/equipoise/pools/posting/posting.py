"""Posts of matches: which are new, known, late or refused; recorded and rated.

Posts are processed in order, each completely or not at all. A match that the pool already has, with
the same content, is known: it is answered and not recorded again. With different content it is a
conflict, and its post is rejected. A post with a match that breaks a rule is also rejected.

A match is late if its time is before that of the pool's last match. The pool's setting `late` says
what happens to it; `timing_of` applies it:

- "reject": its post is rejected.
- "append": it is rated at once, at the time of the last match.
- "replay": it is recorded at its own time with status "pending". It waits for a replay from its
  position on (`pools.records.waiting_from`, `pools.replay.replaying`), which rates it there.

The last match of a pool is the latest one that counts. If it is voided, earlier matches are taken
at once, but the stored ratings still contain it until the pool is replayed. So a match before
`PoolRecord.rated_to` waits for a replay, whatever the setting says.

A match too far ahead of the clock is rejected, because it would make every later match late.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import msgspec
from sqlalchemy import Connection

from equipoise.errors import (
    ConflictError,
    EquipoiseError,
    InvalidDataError,
    Problem,
)
from equipoise.messages.matches import MatchMessage, MatchRequest, PostedMessage
from equipoise.pools.pool.rules import (
    PoolRules,
    PostedMatch,
    iso,
    read_matches,
    rules_of,
    unused_fields,
    written,
)
from equipoise.pools.posting.rating import LoggedMatch, chances_of, players_of, renamed
from equipoise.pools.posting.running import (
    RatedBatch,
    StateCache,
    UnratableMatchError,
    columns_after,
    rate_batch,
)
from equipoise.pools.reading.matches import (
    FIRST_PLAYERS,
    MatchPart,
    MatchState,
    match_message,
    stored_matches,
)
from equipoise.pools.records import Eligibility, PlayerAmendments, latest_of
from equipoise.store import changes, log, ratings, webhooks
from equipoise.store.changes import COLUMNS, ChangeRow, change_row
from equipoise.store.connection import Interruption, Store
from equipoise.store.log import LoggedAs, LogRecord, Seal, erased_players
from equipoise.store.pools import PoolRecord, allow_silence, change_pool, get_pool, pool_by_number

#: Microseconds after the start of a season for which matches are compared with the season before.
#: Clients do not repeat requests for longer, and a new season may use ids again.
_REPEATED_WITHIN = 86_400_000_000

#: Maximum number of conflicting matches that an error lists.
_LISTED = 5

#: Seconds that the time of a match may be ahead of the clock.
FUTURE_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Post:
    """Matches that are recorded together or not at all.

    key : number of the key that posted them
    detailed : answer with every match and its changes, not only with counts
    first_line : number of the first match in what was posted, for problems
    logged : what an imported log has beside each match; None for matches that are posted now
    read : result of an earlier `read_post`
    """

    matches: Sequence[MatchRequest]
    key: int | None = None
    detailed: bool = True
    first_line: int = 1
    logged: Sequence[LoggedAs] | None = None
    read: ReadPost | None = None


@dataclass(frozen=True, slots=True)
class ReadPost:
    """The matches of a post, checked by the rules of a pool.

    refused : why the post is refused; it then has no matches
    """

    rules: PoolRules
    matches: list[PostedMatch]
    refused: EquipoiseError | None


def read_by_rules(post: Post, rules: PoolRules) -> ReadPost:
    """Check the matches of a post by the rules of a pool, unless that was done before."""
    if post.read is not None and post.read.rules is rules:
        return post.read
    matches, problems = read_matches(post.matches, rules, post.first_line)
    if problems:
        return ReadPost(rules, [], InvalidDataError(problems))
    return ReadPost(rules, matches, None)


class RecordedMatches(NamedTuple):
    """Which of the posted matches are recorded already.

    log : those in the log of the pool, by id
    season_before : ids of those in the season before, with the same content
    erased : pseudonyms of players whose names were erased from the pool
    """

    log: dict[str, LogRecord]
    season_before: set[str]
    erased: frozenset[str] = frozenset()


def recorded_matches(
    connection: Connection, pool: PoolRecord, matches: Sequence[PostedMatch], now: int
) -> RecordedMatches:
    """Return which of some posted matches are recorded already."""
    known = log.matches_by_id(connection, pool.id, {match.id for match in matches})
    differ = pool.erased and any(
        match.id in known and known[match.id].content != match.content for match in matches
    )
    erased = erased_players(connection, pool.id) if differ else frozenset()
    return RecordedMatches(known, _repeated(connection, pool, matches, now), erased)


def _repeated(
    connection: Connection, pool: PoolRecord, matches: Iterable[PostedMatch], now: int
) -> set[str]:
    """Return the ids of matches that the season before has with the same content.

    A client that does not receive an answer posts again. If the season ended in between, the match
    is in the log of the archive, and must not count again in the new season.
    """
    if pool.follows is None or now - pool.created > _REPEATED_WITHIN:
        return set()
    wanted = {match.id: match for match in matches}
    earlier = log.matches_by_id(connection, pool.follows, wanted)
    if not earlier:
        return set()
    erased = erased_players(connection, pool.follows)
    return {
        name
        for name, record in earlier.items()
        if is_same(record, wanted[name].content, wanted[name].time, erased)
    }


def is_same(record: LogRecord, content: str, time: int | None, erased: frozenset[str]) -> bool:
    """Return whether a posted match has the same content as a recorded one.

    erased : pseudonyms. In their places any name is the same, because the erased one is not known
    """
    if record.posted_time != time:
        return False
    if record.content == content:
        return True
    if not any(pseudonym in record.content for pseudonym in erased):
        return False
    stored, posted = msgspec.json.decode(record.content), msgspec.json.decode(content)
    return _matches(stored, posted, erased)


def _matches(stored: Any, posted: Any, erased: frozenset[str]) -> bool:
    """Return whether posted JSON is the stored one with names in place of pseudonyms."""
    if isinstance(stored, dict) and isinstance(posted, dict):
        return stored.keys() == posted.keys() and all(
            _matches(value, posted[name], erased) for name, value in stored.items()
        )
    if isinstance(stored, list) and isinstance(posted, list):
        return len(stored) == len(posted) and all(
            _matches(one, other, erased) for one, other in zip(stored, posted, strict=True)
        )
    if isinstance(stored, str) and isinstance(posted, str) and stored != posted:
        parts = re.split("|".join(map(re.escape, erased)), stored)
        pattern = ".+".join(map(re.escape, parts))
        return len(parts) > 1 and re.fullmatch(pattern, posted, re.DOTALL) is not None
    return bool(stored == posted)


@dataclass(slots=True)
class PostingPlan:
    """What is recorded of the posts of one transaction.

    last_time : of the pool, after the new records
    refused : index of a post -> why it is refused
    eligible : which of the players may be rated
    records : new log records; `requests` has their content, `owners` the indices of their posts
    to_rate : the matches that are rated now, without players who are not rated in them
    listed : players whom matches list without rating them
    known : index of a post -> how many of its matches were recorded before
    seals : of imported records, by number
    """

    last_time: int | None
    refused: dict[int, EquipoiseError]
    eligible: Eligibility
    records: list[LogRecord] = field(default_factory=list)
    requests: list[MatchRequest] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    to_rate: list[LoggedMatch] = field(default_factory=list)
    listed: set[str] = field(default_factory=set)
    known: dict[int, int] = field(default_factory=dict)
    seals: dict[int, Seal] = field(default_factory=dict)


class Clock(NamedTuple):
    """The clock of the service, and how far ahead of it a match may be.

    now : time of receipt, microseconds since 1970
    future_seconds : seconds that a match may be ahead; None for no limit
    """

    now: int
    future_seconds: float | None = FUTURE_SECONDS

    def fault(self, time: int | None) -> str | None:
        """Return the rule that a time breaks, or None; time : microseconds since 1970."""
        if time is None or self.future_seconds is None:
            return None
        ahead = (time - self.now) / 1_000_000
        if ahead <= self.future_seconds:
            return None
        return (
            f"must not be more than {self.future_seconds:,.0f} s ahead of the clock of the "
            f"service, {iso(self.now - self.now % 1_000_000)}"
        )


class Timing(NamedTuple):
    """When a match counts.

    time : microseconds since 1970; 0 in pools without times
    waits : whether it waits for a replay
    rejected : whether it is late, and the pool rejects late matches
    """

    time: int
    waits: bool = False
    rejected: bool = False


def timing_of(
    match: PostedMatch, rules: PoolRules, last: int | None, rated_to: int | None, logged: LoggedAs
) -> Timing:
    """Return when a match counts: the policy for late matches.

    last : time of the pool's last match
    rated_to : time of the last match in the ratings; later than `last` if that was voided since
    logged : its time of receipt; and of a match of an imported log, the time at which it counts
    """
    if not rules.timed:
        return Timing(0 if logged.time is None else logged.time)
    time = logged.received if match.time is None else match.time
    if logged.time is not None:
        time = logged.time
    elif last is not None and time < last:
        policy = rules.settings.late
        if policy == "reject" and match.time is not None:
            return Timing(time, rejected=True)
        if policy == "append" or match.time is None:
            time = last
    before_end = (last is not None and time < last) or (rated_to is not None and time < rated_to)
    return Timing(time, before_end and match.request.rated)


def _refusal(conflicts: list[str], problems: list[Problem]) -> EquipoiseError:
    """Return why a post is refused."""
    if not conflicts:
        return InvalidDataError(problems)
    more = f" and {len(conflicts) - _LISTED} more" if len(conflicts) > _LISTED else ""
    named = ", ".join(conflicts[:_LISTED])
    return ConflictError(
        f"already recorded with different content: {named}{more}; to correct a match, use PUT"
    )


def _unratable(
    plan: PostingPlan, at: int, post: Post, error: UnratableMatchError
) -> EquipoiseError:
    """Return why a post is refused: the system cannot rate its match, record `at` of the plan."""
    line = post.first_line + at - plan.owners.index(plan.owners[at])
    match = plan.records[at].match
    reason = str(error.reason).replace("\n", " ")
    rule = "must be a match that the system of the pool can rate"
    problems = [Problem("", line, "match", rule, str(match))]
    if isinstance(error.reason, InvalidDataError):
        # The API shows the problems only, and these name the column and the value.
        problems = [replace(problem, line=line) for problem in error.reason.problems]
    return InvalidDataError(problems, f"match {match} cannot be rated: {reason}")


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
    interruption = interruption or Interruption()
    with store.write() as connection, interruption.of(connection):
        record = get_pool(connection, pool, lock=True, silence=silence)
        record.check_open()
        if arrived is not None:
            # The time is taken under the lock: matches without a time of their own, posted to
            # several processes, are then in the order of the log.
            more, now = arrived()
            posts = [*posts, *more]
        posting = _Posting(connection, record, posts, Clock(now, future_seconds), cache)
        if silence is not None and not store.is_sqlite:
            posting.allow_work(silence)
        posting.rate(interruption)
        interruption.check()
        after = posting.write()
        earlier = posting.earlier_matches(after)
    cache.update(record, after, posting.batch)
    # Other writers need not wait for this: chances beforehand take a part of the time of a post.
    return posting.answers(after, earlier)


def read_post(store: Store, pool: str, post: Post) -> Post:
    """Return a post with its matches checked, so that no writer has to wait for that.

    Raises : NotFoundError
    """
    with store.read() as connection:
        rules = rules_of(get_pool(connection, pool).settings)
    return replace(post, read=read_by_rules(post, rules))


class _Posting:
    """Posts that are recorded and rated in one transaction.

    pool : locked, as it was before
    plan, batch : what is recorded, and the result of rating its matches, None without any
    """

    def __init__(
        self,
        connection: Connection,
        pool: PoolRecord,
        posts: Sequence[Post],
        clock: Clock,
        cache: StateCache,
    ) -> None:
        self.connection, self.pool, self.posts = connection, pool, posts
        self.clock, self.cache, self.rules = clock, cache, rules_of(pool.settings)
        self.read = [read_by_rules(post, self.rules) for post in posts]
        self.plan = PostingPlan(pool.last_time, {}, Eligibility())
        self.batch: RatedBatch | None = None

    def allow_work(self, silence: float) -> None:
        """Let a transaction that rates very many players be silent for longer than others."""
        players = sum(len(team.players) for match in self.matches for team in match.request.teams)
        if players > _SILENT_PLAYERS:
            allow_silence(self.connection, silence * players / _SILENT_PLAYERS)

    @property
    def matches(self) -> list[PostedMatch]:
        """Return the matches of all posts."""
        return [match for post in self.read for match in post.matches]

    def rate(self, interruption: Interruption) -> None:
        """Plan what is recorded, and rate the matches of that.

        A post with a match that the system cannot rate is refused, and the others are planned
        again.
        """
        connection, pool, every = self.connection, self.pool, self.matches
        recorded = recorded_matches(connection, pool, every, self.clock.now)
        players = (player for match in every for player in players_of(match.request))
        amendments = PlayerAmendments.of(connection, pool, players)
        if amendments.renames:
            self._take_present_ids(amendments)
        refused = {i: post.refused for i, post in enumerate(self.read) if post.refused is not None}
        while True:
            plan = PostingPlan(pool.last_time, dict(refused), amendments.eligibility)
            self.plan, known = plan, recorded._replace(log=dict(recorded.log))
            for index in range(len(self.posts)):
                if index not in refused:
                    self._plan_post(index, known)
            listed = plan.listed
            if listed:
                listed -= ratings.ratings_of(connection, pool.id, pool.generation, listed).keys()
            if not plan.to_rate and not listed:
                return
            interruption.check()
            try:
                self.batch = rate_batch(
                    connection, pool, self.rules, plan.to_rate, self.cache, listed
                )
                return
            except UnratableMatchError as error:
                at = plan.to_rate[error.index].seq - pool.last_seq - 1
                owner = plan.owners[at]
                refused[owner] = _unratable(plan, at, self.posts[owner], error)

    def _take_present_ids(self, amendments: PlayerAmendments) -> None:
        """Give renamed players the ids that they have in the ratings.

        The log keeps the ids as posted. A match with two ids of one player is refused, also while
        the rename waits for a replay.
        """
        present = []
        for post, before in zip(self.posts, self.read, strict=True):
            problems = [
                problem
                for line, match in enumerate(before.matches, start=post.first_line)
                for problem in repeated_players(match.request, amendments.renames, line)
            ]
            matches = [
                match._replace(request=renamed(match.request, amendments.rated))
                for match in before.matches
            ]
            refused = InvalidDataError(problems) if problems else before.refused
            present.append(ReadPost(before.rules, matches, refused))
        self.read = present

    def _plan_post(self, index: int, recorded: RecordedMatches) -> None:
        """Add a post to the plan and to the recorded matches, or add why it is refused."""
        new: dict[str, LogRecord] = {}
        seals: dict[int, Seal] = {}
        requests: list[MatchRequest] = []
        to_rate: list[LoggedMatch] = []
        listed: set[str] = set()
        problems: list[Problem] = []
        conflicts: list[str] = []
        last, seq = self.plan.last_time, self.pool.last_seq + len(self.plan.records)
        logged = LoggedAs(self.clock.now)
        known, post, read = recorded.log, self.posts[index], self.read[index]
        # An import has many matches here, so what holds for all of them is looked up once.
        eligible, bounded = self.plan.eligible, self.clock.future_seconds is not None
        for number, match in enumerate(read.matches):
            if post.logged is not None:
                logged = post.logged[number]
            content = match.content if logged.content is None else logged.content
            earlier = known.get(match.id) or new.get(match.id)
            if earlier is not None:
                if not is_same(earlier, content, match.time, recorded.erased):
                    conflicts.append(match.id)
                continue
            if match.id in recorded.season_before:
                continue
            too_late = self.clock.fault(match.time) if bounded else None
            if too_late is not None:
                got = str(written(match.time, read.rules))
                problems.append(Problem("", post.first_line + number, "time", too_late, got))
                continue
            time, waits, rejected = timing_of(match, read.rules, last, self.pool.rated_to, logged)
            if rejected:
                rule = f"must not be before the last match of the pool, {written(last, read.rules)}"
                got = str(written(match.time, read.rules))
                problems.append(Problem("", post.first_line + number, "time", rule, got))
                continue
            seq += 1
            # By position: naming ten fields takes three times as long, for every match posted.
            new[match.id] = LogRecord(
                seq,
                "match",
                match.id,
                None,
                content,
                match.time,
                time,
                waits,
                logged.received,
                post.key,
            )
            if logged.seal is not None:
                seals[seq] = logged.seal
            requests.append(match.request)
            placed = LoggedMatch(seq, time, match.request)
            counted: LoggedMatch | None = placed
            if not match.request.rated:
                counted = None
            elif eligible:
                counted = eligible.rated_part(placed)
            if counted is not None:
                if last is None or time > last:
                    last = time
                if not waits:
                    listed.update(counted.listed)
                    if counted.request.teams:
                        to_rate.append(counted)
        if conflicts or problems:
            self.plan.refused[index] = _refusal(conflicts, problems)
            return
        self.plan.last_time = last
        self.plan.records += new.values()
        self.plan.seals |= seals
        self.plan.requests += requests
        self.plan.to_rate += to_rate
        self.plan.listed |= listed
        self.plan.owners += [index] * len(new)
        self.plan.known[index] = len(read.matches) - len(new)
        recorded.log.update(new)

    def write(self) -> PoolRecord:
        """Write log, changes, ratings and a partial checkpoint; return the pool after that."""
        connection, pool, plan, batch = self.connection, self.pool, self.plan, self.batch
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
            if pool.amendments and batch.new:
                # Players who have a rating were marked when they were disqualified.
                rows = {**rows, "disqualified": plan.eligible.flags(rows["player"])}
            ratings.put(connection, pool.id, pool.generation, rows)
            columns["players"] = pool.players + batch.new
            columns["checkpoint_due"] = pool.checkpoint_due + batch.participations
            if batch.shared or pool.shared:
                columns["shared"] = batch.shared
            columns |= columns_after(
                connection,
                pool,
                columns["dirty"] is not None,
                (columns["last_time"] or 0, columns["last_seq"]),
                batch,
                self.cache,
            )
            if pool.webhooks & webhooks.KINDS["match.rated"]:
                happened = [("match.rated", seq) for seq in sorted(set(batch.changes["seq"]))]
                now = plan.records[-1].received
                columns["outbox_last"] = webhooks.append(
                    connection, pool.id, pool.outbox_last, pool.id, happened, now
                )
        change_pool(connection, pool.id, **columns)
        return msgspec.structs.replace(pool, **columns)

    def earlier_matches(self, pool: PoolRecord) -> dict[str, MatchMessage]:
        """Return the matches of detailed posts that other posts have recorded, by id.

        pool : as it is after the posts
        """
        new = {
            self.plan.records[at].match
            for at, i in enumerate(self.plan.owners)
            if self.posts[i].detailed
        }
        missing = [
            match.id
            for index, (post, outcome) in enumerate(zip(self.posts, self.read, strict=True))
            if post.detailed and index not in self.plan.refused
            for match in outcome.matches
            if match.id not in new
        ]
        stored = stored_matches(self.connection, pool, self.rules, missing) if missing else {}
        gone = [match for match in missing if match not in stored]
        # After the end of a season, a client may repeat a post of the season before.
        before = None
        if gone and pool.follows is not None:
            before = pool_by_number(self.connection, pool.follows)
        if before is None:
            return stored
        return stored | stored_matches(self.connection, before, rules_of(before.settings), gone)

    def answers(self, pool: PoolRecord, earlier: dict[str, MatchMessage]) -> list[Answer]:
        """Return the answer to each post.

        pool : as it is after the posts; earlier : as `earlier_matches`
        """
        detailed = {index for index, post in enumerate(self.posts) if post.detailed}
        messages = earlier | self._messages(pool, detailed)
        answers: list[Answer] = []
        for index, matches in enumerate(outcome.matches for outcome in self.read):
            if index in self.plan.refused:
                answers.append(self.plan.refused[index])
            elif index in detailed:
                answers.append([messages[match.id] for match in matches])
            else:
                known = self.plan.known[index]
                unused = unused_fields((match.request for match in matches), self.rules)
                answers.append(PostedMessage(len(matches) - known, known, pool.last_seq, unused))
        return answers

    def _messages(self, pool: PoolRecord, detailed: set[int]) -> dict[str, MatchMessage]:
        """Return the new matches of detailed posts, by id."""
        wanted = {
            record.seq: record
            for record, owner in zip(self.plan.records, self.plan.owners, strict=True)
            if owner in detailed
        }
        if not wanted:
            return {}
        first = self.plan.records[0].seq
        parts = {
            seq: MatchPart.of(self.plan.requests[seq - first], FIRST_PLAYERS) for seq in wanted
        }
        listed = {seq: set(part.names) for seq, part in parts.items()}
        by_seq: dict[int, dict[str, ChangeRow]] = {}
        if self.batch is not None:
            for row in zip(*(self.batch.changes[name] for name in COLUMNS), strict=True):
                player, seq = row[0], row[2]
                if player in listed.get(seq, ()):
                    by_seq.setdefault(seq, {})[player] = change_row(row)
        chances = chances_of(
            self.rules,
            pool,
            [
                LoggedMatch(seq, one.time, self.plan.requests[seq - first])
                for seq, one in wanted.items()
            ],
            [by_seq.get(seq, {}) for seq in wanted],
        )
        messages = {}
        for (seq, record), of_match in zip(wanted.items(), chances, strict=True):
            request = self.plan.requests[seq - first]
            status = "pending" if record.needs_replay else "rated" if request.rated else "unrated"
            state = MatchState(request, record.time, record.posted_time, status)
            rows, part = by_seq.get(seq, {}), parts[seq]
            barred = self.plan.eligible.disqualified(LoggedMatch(seq, record.time, part.request))
            messages[str(request.match)] = match_message(
                record, state, part, rows, self.rules, barred, chances=of_match
            )
        return messages


def repeated_players(
    request: MatchRequest, renames: Mapping[str, str], line: int | None = None
) -> list[Problem]:
    """Return a problem for each player whom a match has by several ids."""
    ids: dict[str, list[str]] = {}
    for player in players_of(request):
        ids.setdefault(renames.get(player, player), []).append(player)
    rule = "must not have one player by several ids"
    return [
        Problem("", line, "players", rule, " and ".join(names))
        for names in ids.values()
        if len(names) > 1
    ]


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
        Undoing(store), pool, [Post([match])], now, future_seconds=future_seconds
    )
    if isinstance(answer, EquipoiseError):
        raise answer
    assert isinstance(answer, list)
    return answer[0]


class _UndoneError(Exception):
    """Ends a transaction without its changes."""


class Undoing(Store):
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
