"""Newcomers among names that are about to be posted, and players with similar names.

Two names are alike if they are the same without case, accents, spaces and punctuation, or if one
letter more makes them so: left out, added or another one. Digits are never removed, because "player
7" and "player 8" are two players. Names are never merged; a reader decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from equipoise.formats.names import close_pairs
from equipoise.pools.pool.rules import id_fault
from equipoise.store import ratings
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool


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
    with store.read() as connection:
        record = get_pool(connection, pool)
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
