"""Names looked up in pools: the search over pools, and newcomers among names to be posted.

Two names are alike if they are the same without case, accents, spaces and punctuation, or if one
letter more makes them so: left out, added or another one. Digits are never removed, because "player
7" and "player 8" are two players. Names are never merged; a reader decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from equipoise.formats.names import close_pairs
from equipoise.messages.matches import LeaderboardRow, MatchLine
from equipoise.messages.pools import PoolMessage
from equipoise.pools.pool.pools import read_pool
from equipoise.pools.pool.rules import id_fault
from equipoise.pools.reading.matches import lines_at
from equipoise.pools.reading.players import search_players
from equipoise.store import log, ratings
from equipoise.store.connection import Store

#: Pools in which players and matches are looked for, and what is listed: pools, and players and
#: matches of each pool.
MOST_POOLS = 20
_POOLS, _PLAYERS, _MATCHES = 10, 10, 5
#: Records of a pool in which titles are looked for, and those whose titles are compared.
_NEWEST, _CANDIDATES = 20_000, 20


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
        beginning of the id of a match, as it is written; or part of the title of a match among
        the newest
    """
    wanted = text.casefold()
    named = [pool for pool in pools if wanted in f"{pool.pool}\0{pool.title or ''}".casefold()]
    results = [
        FoundInPool(
            pool,
            search_players(store, pool.pool, text, limit=_PLAYERS),
            _matches(store, pool.pool, text),
        )
        for pool in (pools[:MOST_POOLS] if text else ())
    ]
    return SearchResult(
        named[:_POOLS] if text else [],
        [result for result in results if result.players or result.matches],
        max(len(pools) - MOST_POOLS, 0),
    )


def _matches(store: Store, pool: str, text: str) -> list[MatchLine]:
    """Return matches by the beginnings of their ids, then by their titles as they are now."""
    with read_pool(store, pool) as (connection, record, rules):
        named = log.matches_beginning(connection, record.id, text, _MATCHES)
        titled = log.matches_titled(connection, record.id, text, newest=_NEWEST, limit=_CANDIDATES)
        names = [str(record.match) for record in titled]
        posted = log.matches_by_id(connection, record.id, names)
        # In the order of `titled`.
        seqs = [record.seq for record in (*named, *filter(None, map(posted.get, names)))]
        lines = lines_at(connection, record, rules, seqs) if seqs else []
    beginning = {record.seq for record in named}
    wanted = text.casefold()
    matching = [
        line for line in lines if line.seq in beginning or wanted in (line.title or "").casefold()
    ]
    matching.sort(key=lambda line: (line.seq not in beginning, seqs.index(line.seq)))
    return matching[:_MATCHES]


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A player whom the pool does not know.

    like : a player of the pool, or an earlier newcomer, with a similar name; None for none
    """

    player: str
    like: str | None = None


def newcomers(store: Store, pool: str, players: Iterable[str]) -> list[Newcomer]:
    """Return the players who are not in a pool, in the given order, each once.

    Raises : NotFoundError
    """
    wanted = [player for player in dict.fromkeys(players) if id_fault(player) is None]
    with read_pool(store, pool) as (connection, record, _):
        known = ratings.ratings_of(connection, record.id, record.generation, wanted)
        new = [player for player in wanted if player not in known]
        if not new:
            return []
        pieces = ratings.players_by_rating(connection, record.id, record.generation)
        rated = (player for piece in pieces for player in piece)
        like = similar(new, chain(rated, new))
    return [Newcomer(player, like.get(player)) for player in new]


def similar(names: Iterable[str], players: Iterable[str]) -> dict[str, str]:
    """Return name -> the first player with a similar name, for names that have one.

    Of two names that are similar to each other, the later one is returned.
    """
    alike: dict[str, str] = {}
    for name, player in close_pairs(names, players):
        if alike.get(player) != name:
            alike.setdefault(name, player)
    return alike
