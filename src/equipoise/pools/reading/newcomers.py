"""Newcomers among names that are about to be posted, and players with similar names.

Two names are alike if they are the same without case, accents, spaces and punctuation, or if one
letter more makes them so: left out, added or another one. Digits are never removed, because "player
7" and "player 8" are two players. Names are never merged; a reader decides.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from equipoise.pools.pool.rules import id_fault
from equipoise.store import ratings
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool

#: Letters and digits from which on a name may have a letter more or less.
_SHORTEST = 4


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
    wanted = [one for one in dict.fromkeys(players) if id_fault(one) is None]
    with store.read() as connection:
        record = get_pool(connection, pool)
        known = ratings.ratings_of(connection, record.id, record.generation, wanted)
        new = [one for one in wanted if one not in known]
        if not new:
            return []
        pieces = ratings.players_by_rating(connection, record.id, record.generation)
        there = (player for piece in pieces for player in piece)
        like = similar(new, chain(there, new))
    return [Newcomer(one, like.get(one)) for one in new]


def similar(names: Iterable[str], players: Iterable[str]) -> dict[str, str]:
    """Return name -> the first player with a similar name, for names that have one.

    Of two names that are similar to each other, the later one is returned.
    """
    of_key: dict[str, list[str]] = {}
    for name in names:
        for key in _keys(name):
            of_key.setdefault(key, []).append(name)
    found: dict[str, str] = {}
    for player in players:
        for key in _keys(player):
            for name in of_key.get(key, ()):
                if name != player and found.get(player) != name:
                    found.setdefault(name, player)
    return found


def _keys(name: str) -> Iterator[str]:
    """Give the letters and digits of a name, also with each of its letters left out."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    letters = "".join(one for one in plain if one.isalnum())
    yield letters or plain
    if len(letters) >= _SHORTEST:
        for at, letter in enumerate(letters):
            if letter.isalpha():
                yield f"{letters[:at]}\0{letters[at + 1 :]}"
                yield letters[:at] + letters[at + 1 :]
