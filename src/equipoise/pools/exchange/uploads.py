"""A file of matches for a pool: how it is understood, and what posting it would change.

Nothing is recorded here. Matches that the pool has are left out, so a file can be uploaded again
with further rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec
from sqlalchemy import Connection

from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.formats import scan_history
from equipoise.formats.histories import summarise
from equipoise.formats.table import HistoryReading, SkipBad
from equipoise.messages.matches import (
    MatchMessage,
    MatchRequest,
    PlayerDifference,
)
from equipoise.pools.exchange.history_requests import OwnIds, requests_of, scored
from equipoise.pools.pool.pools import read_pool, rules_of_pool
from equipoise.pools.pool.rules import PoolRules, PostedMatch
from equipoise.pools.posting.posting import Post, Undoing, is_same, post_matches, read_by_rules
from equipoise.pools.posting.rating import players_of
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
#: Players whose changes a preview lists.
MOST_LISTED = 100


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
    matches = requests_of(history, 0, history.matches)
    if not rules.timed or history.order is not None:
        matches = [msgspec.structs.replace(match, time=None) for match in matches]
    namer = OwnIds.for_file(store, pool, reading, matches)
    imported = None if namer is not None else matches
    matches = [scored(match) for match in matches] if namer is None else namer.named(matches)
    told = replace(told, total=len(matches), players=history.players)
    try:
        return _previewed(store, pool, rules, matches, imported, told, now, future_seconds)
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


def _previewed(
    store: Store,
    pool: str,
    rules: PoolRules,
    matches: Sequence[MatchRequest],
    imported: Sequence[MatchRequest] | None,
    told: Uploaded,
    now: int,
    future_seconds: float | None,
) -> Uploaded:
    """Add what posting matches would change. Raises : InvalidDataError, ConflictError.

    imported : the matches as `equipoise db import` posts them, None where that is the same
    """
    read = read_by_rules(Post(matches), rules)
    if read.refused is not None:
        raise read.refused
    with read_pool(store, pool) as (connection, record, _):
        known, differing = _recorded(connection, record, read.matches)
        if differing and imported is not None:
            others = read_by_rules(Post(imported), rules).matches
            known |= _recorded(connection, record, others)[0]
            differing -= known
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
