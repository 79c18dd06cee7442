"""The log record of the known ratings with which players of a pool begin.

It is in the log before the first match, and the last such record counts. Its content has the
ratings on the scale of the pool, as columns: so a hundred thousand players are read in a fraction
of a second. The state before the first match follows from it and is stored nowhere else.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.data.ratings import InitialRatings
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.messages.pools import InitialMapping
from equipoise.pools.pool.rules import PoolRules, id_fault
from equipoise.rating.player_state import known_state
from equipoise.rating.state import State
from equipoise.store import log
from equipoise.store.pools import PoolRecord

#: Players with a known rating in one pool, at most: a record is read and written at once.
MOST_PLAYERS = 250_000

#: Players in the cache of records, at most.
_MOST_CACHED = 500_000


class KnownContent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The content of the record: ratings on the scale of the pool.

    players : sorted when they were recorded, each once; rating, deviation : of each, null for the
        deviation of newcomers
    pool : the pool that they were copied from; mapping : how they were converted
    """

    players: list[str]
    rating: list[float]
    deviation: list[float | None]
    reason: str = ""
    pool: str | None = None
    mapping: InitialMapping | None = None


class _Reason(msgspec.Struct):
    """The one text of a content that may be very long."""

    reason: str = ""


_contents = msgspec.json.Decoder(KnownContent)
_reasons = msgspec.json.Decoder(_Reason)


@dataclass(frozen=True)
class KnownRatings:
    """The known ratings of a pool, as a log record has them."""

    content: KnownContent

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each player."""
        return {player: row for row, player in enumerate(self.content.players)}

    def of(self, player: str) -> tuple[float, float | None] | None:
        """Return the known rating and deviation of a player; None for a newcomer."""
        row = self.row_of.get(player)
        return None if row is None else (self.content.rating[row], self.content.deviation[row])

    def ratings(self, players: Sequence[str] | None = None) -> InitialRatings:
        """Return the ratings of some players who have one, in this order; None for all.

        Raises : InvalidParameterError
        """
        content = self.content
        names = content.players if players is None else list(players)
        rating, deviation = content.rating, content.deviation
        if players is not None:
            rows = [self.row_of[player] for player in players]
            rating, deviation = [rating[row] for row in rows], [deviation[row] for row in rows]
        ids = np.empty(len(names), dtype=object)
        ids[:] = names
        return InitialRatings(
            player_ids=ids,
            rating=np.array(rating, np.float64),
            # None becomes NaN.
            deviation=np.array(deviation, np.float64),
        )

    def state(self, rules: PoolRules, players: Sequence[str] | None = None) -> State:
        """Return the state of those players before the first match, in the order of `ratings`.

        Raises : InvalidParameterError
        """
        return known_state(rules.system, self.ratings(players))


def read_content(content: str | bytes | msgspec.Raw) -> KnownContent:
    """Return the content of the record, checked.

    Raises : msgspec.MsgspecError, InvalidDataError
    """
    found = _contents.decode(content)
    check_content(found)
    return found


def check_content(content: KnownContent) -> None:
    """Check ids and numbers. Raises : InvalidDataError."""
    players = len(content.players)
    if not players == len(content.rating) == len(content.deviation):
        rule = "must have one value for each of the players"
        got = f"{len(content.rating)} ratings and {len(content.deviation)} deviations"
        raise InvalidDataError([Problem("", None, "rating", rule, got)])
    if players > MOST_PLAYERS:
        rule = f"must have at most {MOST_PLAYERS:,} players"
        raise InvalidDataError([Problem("", None, "ratings", rule, f"{players:,}")])
    problems = []
    for player in content.players:
        fault = id_fault(player)
        if fault is not None:
            problems.append(Problem("", None, "player", fault, player[:200]))
    if problems:
        raise InvalidDataError(problems)
    try:
        KnownRatings(content).ratings()
    except InvalidParameterError as error:
        raise InvalidDataError([], f"the known ratings cannot be used: {error}") from error


def reason_of(content: str | bytes) -> str:
    """Return the reason in a content, without reading the ratings."""
    return _reasons.decode(content).reason


def read_known(connection: Connection, pool: PoolRecord) -> KnownRatings | None:
    """Return the known ratings of a pool from its log, None for none.

    Raises : InvalidDataError if the record was changed so that it cannot be read
    """
    if not pool.initial:
        return None
    record = log.record_at(connection, pool.id, pool.initial)
    if record is None or record.kind != "initial":
        raise InvalidDataError([], f"record {pool.initial} of the log has no known ratings")
    try:
        return KnownRatings(read_content(record.content))
    except msgspec.MsgspecError as error:
        named = f"the known ratings in record {pool.initial} of the log"
        raise InvalidDataError([], f"{named} cannot be read: {error}") from error


class _Cache:
    """Known ratings that were read, by the salt of their record, which an erasure changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int, bytes], KnownRatings] = OrderedDict()

    def get(self, connection: Connection, pool: PoolRecord) -> KnownRatings | None:
        """Return the known ratings of a pool, None for none."""
        if not pool.initial:
            return None
        salt = log.salt_of(connection, pool.id, pool.initial)
        if not salt:
            return read_known(connection, pool)
        key = (pool.id, pool.initial, salt)
        with self._lock:
            found = self._kept.get(key)
        if found is None:
            found = read_known(connection, pool)
        if found is None:
            return None
        with self._lock:
            self._kept[key] = found
            self._kept.move_to_end(key)
            while (
                len(self._kept) > 1
                and sum(len(one.content.players) for one in self._kept.values()) > _MOST_CACHED
            ):
                self._kept.popitem(last=False)
        return found


_cache = _Cache()


def cached_known(connection: Connection, pool: PoolRecord) -> KnownRatings | None:
    """Return what `read_known` does, for readers who need a few players of it."""
    return _cache.get(connection, pool)
