"""Which posts of one transaction are recorded, and which are rejected.

Posts are processed in order, each completely or not at all. A match that the pool already has, with
the same content, is known: it is answered and not recorded again. With different content it is a
conflict, and its post is rejected. A post with a match that breaks a rule is also rejected.

A match is late if its time is before that of the pool's last match. The pool's setting `late` says
what happens to it; `timing_of` applies it:

- "reject": its post is rejected.
- "append": it is rated at once, at the time of the last match.
- "replay": it is recorded at its own time with status "pending". It waits for a replay from its
  position on (`pools.amended_log.waiting_from`, `pools.replay.replaying`), which rates it there.

The last match of a pool is the latest one that counts. If it is voided, earlier matches are taken
at once, but the stored ratings still contain it until the pool is replayed. So a match before
`PoolRecord.rated_to` waits for a replay, whatever the setting says.

A match too far ahead of the clock is rejected, because it would make every later match late.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection

from equipoise.errors import ConflictError, EquipoiseError, InvalidDataError, Problem
from equipoise.messages.matches import MatchRequest
from equipoise.pools.amended_log import Eligibility
from equipoise.pools.pool.rules import PoolRules, iso, written
from equipoise.pools.posting.match_history import LoggedMatch
from equipoise.pools.posting.posted_matches import PostedMatch, read_matches
from equipoise.pools.posting.rating import UnratableMatchError
from equipoise.store import log
from equipoise.store.chain import Seal
from equipoise.store.log import LoggedAs, LogRecord
from equipoise.store.pools import PoolRecord
from equipoise.store.upkeep.erasing import erased_players

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
    there = log.matches_by_id(connection, pool.id, {match.id for match in matches})
    differ = pool.erased and any(
        match.id in there and there[match.id].content != match.content for match in matches
    )
    erased = erased_players(connection, pool.id) if differ else frozenset()
    return RecordedMatches(there, _repeated(connection, pool, matches, now), erased)


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
    there = log.matches_by_id(connection, pool.follows, wanted)
    if not there:
        return set()
    erased = erased_players(connection, pool.follows)
    return {
        name
        for name, record in there.items()
        if _is_same(record, wanted[name].content, wanted[name].time, erased)
    }


def _is_same(record: LogRecord, content: str, time: int | None, erased: frozenset[str]) -> bool:
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
    records : new log records; `requests` has their content, `owners` the indices of their posts
    to_rate : the matches that are rated now, without players who are not rated in them
    listed : players whom matches list without rating them
    known : index of a post -> how many of its matches were recorded before
    seals : of imported records, by number
    """

    last_time: int | None
    refused: dict[int, EquipoiseError]
    records: list[LogRecord] = field(default_factory=list)
    requests: list[MatchRequest] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    to_rate: list[LoggedMatch] = field(default_factory=list)
    listed: set[str] = field(default_factory=set)
    known: dict[int, int] = field(default_factory=dict)
    seals: dict[int, Seal] = field(default_factory=dict)


def plan_posts(
    pool: PoolRecord,
    posts: Sequence[Post],
    read: Sequence[ReadPost],
    recorded: RecordedMatches,
    refused: Mapping[int, EquipoiseError],
    eligible: Eligibility,
    clock: Clock,
) -> PostingPlan:
    """Return what is recorded of posts.

    refused : index of a post -> why it is refused for other reasons
    eligible : which of the players may be rated
    """
    plan = PostingPlan(pool.last_time, dict(refused))
    recorded = recorded._replace(log=dict(recorded.log))
    for index, (post, checked) in enumerate(zip(posts, read, strict=True)):
        if index not in refused:
            _plan_post(plan, index, pool, post, checked, recorded, eligible, clock)
    return plan


def _plan_post(
    plan: PostingPlan,
    index: int,
    pool: PoolRecord,
    post: Post,
    read: ReadPost,
    recorded: RecordedMatches,
    eligible: Eligibility,
    clock: Clock,
) -> None:
    """Add a post to a plan and to the recorded matches, or add why it is refused."""
    new: dict[str, LogRecord] = {}
    seals: dict[int, Seal] = {}
    requests: list[MatchRequest] = []
    to_rate: list[LoggedMatch] = []
    listed: set[str] = set()
    problems: list[Problem] = []
    conflicts: list[str] = []
    last, seq = plan.last_time, pool.last_seq + len(plan.records)
    logged = LoggedAs(clock.now)
    known = recorded.log
    # An import has many matches here, so what holds for all of them is looked up once.
    disqualifies, bounded = bool(eligible), clock.future_seconds is not None
    for number, match in enumerate(read.matches):
        if post.logged is not None:
            logged = post.logged[number]
        content = match.content if logged.content is None else logged.content
        there = known.get(match.id) or new.get(match.id)
        if there is not None:
            if not _is_same(there, content, match.time, recorded.erased):
                conflicts.append(match.id)
            continue
        if match.id in recorded.season_before:
            continue
        too_late = clock.fault(match.time) if bounded else None
        if too_late is not None:
            got = str(written(match.time, read.rules))
            problems.append(Problem("", post.first_line + number, "time", too_late, got))
            continue
        time, waits, rejected = timing_of(match, read.rules, last, pool.rated_to, logged)
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
        elif disqualifies:
            counted = eligible.rated_part(placed)
        if counted is not None:
            if last is None or time > last:
                last = time
            if not waits:
                listed.update(counted.listed)
                if counted.request.teams:
                    to_rate.append(counted)
    if conflicts or problems:
        plan.refused[index] = _refusal(conflicts, problems)
        return
    plan.last_time = last
    plan.records += new.values()
    plan.seals |= seals
    plan.requests += requests
    plan.to_rate += to_rate
    plan.listed |= listed
    plan.owners += [index] * len(new)
    plan.known[index] = len(read.matches) - len(new)
    recorded.log.update(new)


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


def unratable(plan: PostingPlan, at: int, post: Post, error: UnratableMatchError) -> EquipoiseError:
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
