"""The search over pools: pools, players and matches whose names contain or begin with a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from equipoise.messages.matches import LeaderboardRow, MatchLine
from equipoise.messages.pools import PoolMessage
from equipoise.pools.pool.rules import rules_of
from equipoise.pools.reading.matches import lines_at
from equipoise.pools.reading.players import search_players
from equipoise.store import log
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool

#: Pools in which players and matches are looked for, and what is listed: pools, and players and
#: matches of each pool.
MOST_POOLS = 20
_POOLS, _PLAYERS, _MATCHES = 10, 10, 5


class FoundInPool(NamedTuple):
    """The players of a pool, best first, and its matches, by id."""

    pool: PoolMessage
    players: list[LeaderboardRow]
    matches: list[MatchLine]


class SearchResult(NamedTuple):
    """The pools whose names have the text, and what other pools contain.

    left_out : number of pools in which nothing was looked for
    """

    pools: list[PoolMessage]
    found: list[FoundInPool]
    left_out: int


def search(store: Store, pools: Sequence[PoolMessage], text: str) -> SearchResult:
    """Return what is found in pools, which the reader may read; the first ones are searched.

    text : part of the name or title of a pool or of the id of a player, in any case, or the
        beginning of the id of a match, as it is written
    """
    wanted = text.casefold()
    named = [one for one in pools if wanted in f"{one.pool}\0{one.title or ''}".casefold()]
    found = [_in_pool(store, pool, text) for pool in pools[:MOST_POOLS]] if text else []
    return SearchResult(
        named[:_POOLS] if text else [],
        [one for one in found if one.players or one.matches],
        max(len(pools) - MOST_POOLS, 0),
    )


def _in_pool(store: Store, pool: PoolMessage, text: str) -> FoundInPool:
    return FoundInPool(
        pool, search_players(store, pool.pool, text, limit=_PLAYERS), _matches(store, pool, text)
    )


def _matches(store: Store, pool: PoolMessage, text: str) -> list[MatchLine]:
    """Return matches by their ids; what else names a match is looked for here."""
    with store.read() as connection:
        record = get_pool(connection, pool.pool)
        logged = log.matches_beginning(connection, record.id, text, _MATCHES)
        seqs = [one.seq for one in logged]
        return lines_at(connection, record, rules_of(record.settings), seqs) if seqs else []
