"""Matches that are posted once more after their season has ended.

A client that lost the answer posts again. If the season has ended in between, the match is in the
log of the archive, and must not count a second time in the new season.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from equipoise.messages.matches import MatchMessage
from equipoise.store import log
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord, pool_by_number
from equipoise.workflows.pool_reading import stored_matches
from equipoise.workflows.pools import rules_of
from equipoise.workflows.posted_matches import PostedMatch

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
