"""A file of matches for a pool: how it is understood, and what posting it would change.

Nothing is recorded here. Matches that the pool has are left out, so a file can be uploaded again
with further rows. Games without ids get ids of their own, from their day and players: the same row
has the same id in every file.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec
from sqlalchemy import Connection

from equipoise.data.reading import HistoryReading
from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.formats import scan_history
from equipoise.formats.histories import summarise
from equipoise.formats.table import SkipBad
from equipoise.messages.matches import (
    MatchMessage,
    MatchRequest,
    ParticipationRequest,
    PlayerDifference,
    places_of,
)
from equipoise.pools.exchange.history_requests import requests_of
from equipoise.pools.pool.pools import read_pool, rules_of_pool
from equipoise.pools.pool.rules import PoolRules, PostedMatch
from equipoise.pools.posting.posting import Post, Undoing, is_same, post_matches, read_by_rules
from equipoise.pools.posting.rating import player_ids, players_of
from equipoise.pools.reading.searching import Newcomer, newcomers
from equipoise.pools.records import amendments_of_matches
from equipoise.store import log
from equipoise.store.connection import Store
from equipoise.store.log import erased_players
from equipoise.store.pools import PoolRecord

#: How dates are read that have two meanings, in words.
DATES = {"": "as the file shows", "%d": "day first (31.10.2026)", "%m": "month first (10/31/2026)"}
#: A meaning that a reader found in a column of dates.
_PATTERN = re.compile(r'time_format="([^"]+)"')
#: Players whose changes a preview lists, and the maximum length of an own id.
MOST_LISTED, _LONGEST_ID = 100, 150


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A file as a pool understands it.

    format : such as "csv"; columns : meaning -> name in the file; notes : sentences
    fault : why nothing can be posted, None if nothing prevents it; dropped : matches left out
    total, players : numbers of matches and of their players
    matches : those that would be recorded
    known : number of matches that are recorded already
    differing : ids of matches that are recorded with another content
    waiting : number of matches that would be rated later, by a replay
    changes : players whose ratings would change, the largest changes first; changed : all of them
    """

    format: str
    columns: Mapping[str, str]
    notes: Sequence[str] = ()
    fault: InvalidDataError | None = None
    dropped: int = 0
    total: int = 0
    players: int = 0
    matches: list[MatchRequest] = field(default_factory=list)
    known: int = 0
    differing: Sequence[str] = ()
    waiting: int = 0
    newcomers: Sequence[Newcomer] = ()
    changes: Sequence[PlayerDifference] = ()
    changed: int = 0


def read_upload(
    store: Store,
    pool: str,
    content: bytes,
    format: str,
    now: int,
    *,
    dates: str = "",
    skip_bad: bool = False,
    future_seconds: float | None,
) -> Uploaded:
    """Return how a file is understood, and what posting its matches would change.

    format : as in `scan_history`; now : microseconds since 1970
    dates : "%d" or "%m", what comes first in dates that have two meanings
    skip_bad : leave out matches with a bad row
    Raises : NotFoundError, ConflictError; InvalidDataError, InvalidParameterError if nothing of
        the file is understood
    """
    rules = rules_of_pool(store, pool)
    reading = _reading(content, format, rules, dates, skip_bad)
    told = Uploaded(
        format=reading.format,
        columns=reading.columns,
        notes=reading.notes,
        dropped=len(reading.dropped_matches),
    )
    history = reading.history
    if history is None:
        return replace(told, fault=InvalidDataError(reading.problems, summarise(reading.problems)))
    matches = [_scored(match) for match in requests_of(history, 0, history.matches)]
    if not rules.timed or history.order is not None:
        matches = [msgspec.structs.replace(match, time=None) for match in matches]
    if reading.kind == "games" and "match" not in reading.columns:
        matches = with_own_ids(matches)
    told = replace(told, total=len(matches), players=history.players)
    try:
        return _previewed(store, pool, rules, matches, told, now, future_seconds)
    except InvalidDataError as error:
        return replace(told, fault=_named(error, matches))


def _reading(
    content: bytes, format: str, rules: PoolRules, dates: str, skip_bad: bool
) -> HistoryReading:
    """Return the history of a file. Dates with two meanings are read with `dates` first."""
    statistics = list(rules.settings.statistics)
    skipping: SkipBad | None = "matches" if skip_bad else None
    reading = scan_history(content, format=format, statistics=statistics, skip_bad=skipping)
    patterns = {
        pattern
        for problem in reading.problems
        for pattern in _PATTERN.findall(problem.rule)
        if pattern.startswith(dates)
    }
    if not dates or len(patterns) != 1:
        return reading
    return scan_history(
        content,
        format=format,
        statistics=statistics,
        skip_bad=skipping,
        time_format=patterns.pop(),
    )


def _scored(match: MatchRequest) -> MatchRequest:
    """Return a match with the scores of its teams in place of ranks, if the file has them."""
    teams = []
    for team in match.teams:
        own = {getattr(member, "attributes", {}).get("score") for member in team.players}
        score = own.pop() if len(own) == 1 else None
        if not isinstance(score, int | float):
            return match
        players = list(map(_without_score, team.players))
        teams.append(msgspec.structs.replace(team, players=players, rank=None, score=float(score)))
    scored = msgspec.structs.replace(match, teams=teams)
    # A score may decide nothing: of a game lost by forfeit, or where the lowest is first.
    return scored if places_of(scored) == places_of(match) else match


def _without_score(member: ParticipationRequest | str | int) -> ParticipationRequest | str | int:
    if not isinstance(member, ParticipationRequest):
        return member
    others = {name: value for name, value in member.attributes.items() if name != "score"}
    return msgspec.structs.replace(member, attributes=others)


def with_own_ids(matches: Sequence[MatchRequest]) -> list[MatchRequest]:
    """Return matches with ids from their days and players, the second of a day with a number."""
    seen: Counter[str] = Counter()
    renamed = []
    for match in matches:
        name = own_id(match)
        seen[name] += 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        renamed.append(msgspec.structs.replace(match, match=name))
    return renamed


def own_id(match: MatchRequest) -> str:
    """Return an id from the day and the players of a match: "2026-10-03 ada - bo"."""
    name = " - ".join(", ".join(player_ids(team.players)) for team in match.teams)
    if len(name) > _LONGEST_ID:
        name = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]
    if match.time is None:
        return name
    text = msgspec.json.encode(match.time).decode().strip('"')
    return f"{text[:10]} {name}"


def _previewed(
    store: Store,
    pool: str,
    rules: PoolRules,
    matches: Sequence[MatchRequest],
    told: Uploaded,
    now: int,
    future_seconds: float | None,
) -> Uploaded:
    """Add what posting matches would change. Raises : InvalidDataError, ConflictError."""
    post = Post(matches)
    read = read_by_rules(post, rules)
    if read.refused is not None:
        raise read.refused
    with read_pool(store, pool) as (connection, record, _):
        known, differing = _recorded(connection, record, read.matches)
    new = [
        match
        for match, posted in zip(matches, read.matches, strict=True)
        if posted.id not in known and posted.id not in differing
    ]
    told = replace(told, matches=new, known=len(known), differing=sorted(differing))
    if not new:
        return told
    (answer,) = post_matches(Undoing(store), pool, [Post(new)], now, future_seconds=future_seconds)
    if isinstance(answer, EquipoiseError):
        raise answer
    assert isinstance(answer, list)
    changes = changes_of(answer)
    names = [player for posted in read.matches for player in players_of(posted.request)]
    return replace(
        told,
        waiting=sum(match.status == "pending" for match in answer),
        newcomers=newcomers(store, pool, names),
        changes=changes[:MOST_LISTED],
        changed=len(changes),
    )


def _recorded(
    connection: Connection, pool: PoolRecord, matches: Sequence[PostedMatch]
) -> tuple[set[str], set[str]]:
    """Return the ids of matches that the pool has, and of those that it has otherwise.

    A match is known as it was posted or as it was corrected.
    """
    there = log.matches_by_id(connection, pool.id, {match.id for match in matches})
    amendments = amendments_of_matches(connection, pool, there)
    erased = erased_players(connection, pool.id) if pool.erased else frozenset()
    known: set[str] = set()
    differing: set[str] = set()
    for match in matches:
        record = there.get(match.id)
        if record is None:
            continue
        # The content of a correction may leave out what is the default.
        corrected = amendments.request(record) == match.request
        corrected &= amendments.time_played(match.id, record.posted_time) == match.time
        same = corrected or is_same(record, match.content, match.time, erased)
        (known if same else differing).add(match.id)
    return known, differing


def changes_of(matches: Sequence[MatchMessage]) -> list[PlayerDifference]:
    """Return what rated matches change together, the largest changes first."""
    first: dict[str, tuple[float | None, float | None]] = {}
    last: dict[str, tuple[float | None, float | None]] = {}
    rated = [match for match in matches if match.status == "rated"]
    # Matches of a file may come in any order; those of a post are rated in that of the log.
    for match in sorted(rated, key=lambda match: match.seq):
        for player in (member for team in match.teams for member in team.players if member.counted):
            first.setdefault(player.player, (player.rating_before, player.deviation_before))
            last[player.player] = player.rating, player.deviation
    changes = [
        PlayerDifference(name, *first[name], *now, (now[0] or 0.0) - (first[name][0] or 0.0))
        for name, now in last.items()
    ]
    return sorted(changes, key=lambda change: (-abs(change.change or 0.0), change.player))


def _named(error: InvalidDataError, matches: Sequence[MatchRequest]) -> InvalidDataError:
    """Return problems with the ids of matches in place of their numbers."""
    problems = [
        replace(
            problem, line=None, field=f"match {matches[problem.line - 1].match}: {problem.field}"
        )
        if problem.line is not None and 0 < problem.line <= len(matches)
        else problem
        for problem in error.problems
    ]
    return InvalidDataError(problems, f"the pool refuses {len(problems)} of these matches")
