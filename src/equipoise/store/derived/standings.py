"""The order of the players of large pools, kept in memory: places, searches, totals.

Counting a player's place in the table, or comparing every id with a text, takes time in proportion
to the number of players. In memory, both are a few operations on arrays. A standing belongs to one
record of the log and never changes. The next one is made from it and from the changes since, as
long as only matches were posted; after anything else it is read again. Pools in which ratings shown
decay, and pools while changed settings are written into their ratings, have no standing, because
their order changes without a new record in the log.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, bindparam, select, tuple_

from equipoise.arrays import Flags, Floats, Ints
from equipoise.store.bulk import Prepared
from equipoise.store.pools import PoolRecord
from equipoise.store.schema import changes, log, ratings
from equipoise.store.sizes import sizes_of

#: Name of the execution option of a connection that reads, with the standings of its store.
OPTION = "equipoise_standings"

#: Records since a standing after which it is read again instead of brought up to date.
_MOST_RECORDS = 20_000
#: Standings kept of one pool, for readers of slightly older moments; players kept of all pools.
_KEPT, _MOST_PLAYERS = 3, 2_000_000
#: Occurrences of a text up to which they are looked up one by one. Of a more frequent text, the
#: best players with it are probably among the best of all, so many of which are tried first.
_FEW, _BEST = 1_000, 20_000

#: Columns of which the index of the leaderboard consists, so that only that index is read.
_COLUMNS = tuple(ratings.c[name] for name in ("player", "ordering", "provisional", "disqualified"))
_MINE = (
    ratings.c.pool == bindparam("of_pool"),
    ratings.c.generation == bindparam("of_generation"),
)
_ALL = Prepared(select(*_COLUMNS).where(*_MINE))
#: Players of matches rated since a position.
_TOUCHED = select(changes.c.player).where(
    changes.c.pool == bindparam("of_pool"),
    tuple_(changes.c.time, changes.c.seq) > tuple_(bindparam("time"), bindparam("seq")),
    changes.c.generation == bindparam("of_generation"),
)
_CHANGED = Prepared(select(*_COLUMNS).where(*_MINE, ratings.c.player.in_(_TOUCHED)))


#: The salt of a record, which no record of another history has.
_SALT = Prepared(
    select(log.c.salt).where(log.c.pool == bindparam("of_pool"), log.c.seq == bindparam("seq"))
)


class _Moment(NamedTuple):
    """What must be equal for two standings to differ by posted matches only."""

    pool: int
    generation: int
    amendments: int


class _End(NamedTuple):
    """The last record that a standing follows from.

    time : the latest time at which a match counts, 0 for none
    head : of the hash chain after the record; salt : of the record, None where it has none
    """

    seq: int
    time: int
    head: bytes
    salt: bytes | None


@dataclass(frozen=True)
class Standing:
    """All players of a pool after one record of its log, by id.

    names : ids, sorted; the other columns have their order
    ordering : minus the rating shown
    """

    moment: _Moment
    end: _End
    names: list[str]
    ordering: Floats
    provisional: Flags
    disqualified: Flags

    def place(self, row: tuple[float, str] | None, *, provisional: bool, disqualified: bool) -> int:
        """Return a place as `store.ratings.place_of` counts it; row : (ordering, player)."""
        listed = np.ones(len(self.names), bool)
        if not disqualified:
            listed &= ~self.disqualified
        if not provisional:
            listed &= ~self.provisional
        if row is None:
            return 1 + int(np.count_nonzero(listed))
        ordering, player = row
        before = int(np.count_nonzero(listed & (self.ordering < ordering)))
        at = bisect_left(self.names, player)
        ties = listed[:at] & (self.ordering[:at] == ordering)
        return 1 + before + int(np.count_nonzero(ties))

    def containing(self, text: str, limit: int) -> list[str]:
        """Return players whose id contains a text, regardless of the case of A to Z, best first.

        Disqualified players come after all others.
        """
        wanted = text.encode().lower()
        if not wanted:
            rows = np.arange(len(self.names))
        else:
            places = self._few_places(wanted)
            if places is None:
                best = self._best_with(wanted, limit)
                if len(best) == limit:
                    return best
                places = self._many_places(wanted)
            rows = np.unique(np.searchsorted(self._text[1], places, side="right") - 1)
        order = np.lexsort((rows, self.ordering[rows], self.disqualified[rows]))
        return [self.names[row] for row in rows[order[:limit]].tolist()]

    def _best_with(self, wanted: bytes, limit: int) -> list[str]:
        """Return the best of the best players whose ids contain a text in lower case."""
        found: list[str] = []
        for row in self._best:
            name = self.names[row]
            if wanted in name.encode().lower():
                found.append(name)
                if len(found) == limit:
                    break
        return found

    @cached_property
    def _best(self) -> list[int]:
        """Return the rows of the best players in order, without disqualified ones."""
        rows = np.flatnonzero(~self.disqualified)
        if len(rows) > _BEST:
            ordering = self.ordering[rows]
            # All players who tie with the last of the best are among them.
            rows = rows[ordering <= np.partition(ordering, _BEST)[_BEST]]
        best: list[int] = rows[np.lexsort((rows, self.ordering[rows]))].tolist()
        return best

    def _few_places(self, wanted: bytes) -> Ints | None:
        """Return where a text in lower case is in all ids; None if it is there too often."""
        content = self._text[0]
        found, at = [], content.find(wanted)
        while at >= 0:
            found.append(at)
            if len(found) > _FEW:
                return None
            at = content.find(wanted, at + 1)
        return np.array(found, np.int64)

    def _many_places(self, wanted: bytes) -> Ints:
        """Return where a text in lower case is in all ids, if it is there often."""
        letters = np.frombuffer(self._text[0], np.uint8)
        places = np.flatnonzero(letters[: len(letters) - len(wanted) + 1] == wanted[0])
        for step, letter in enumerate(wanted[1:], start=1):
            places = places[letters[places + step] == letter]
        return places

    @cached_property
    def _text(self) -> tuple[bytes, Ints]:
        """Return all ids in lower case, each followed by NUL, which no id has; and their begins."""
        encoded = [name.encode() for name in self.names]
        lengths = np.array([len(one) + 1 for one in encoded], np.int64)
        return b"\0".join(encoded).lower() + b"\0", np.cumsum(lengths) - lengths

    def followed_by(self, rows: Iterable[Sequence[Any]], end: _End) -> Standing:
        """Return the standing after new rows of players; rows : of `_COLUMNS`."""
        # Code points have the order of UTF-8, in which both databases compare ids.
        found = sorted(tuple(row) for row in rows)
        at = np.array([bisect_left(self.names, row[0]) for row in found], np.int64)
        known = np.array(
            [
                place < len(self.names) and self.names[place] == row[0]
                for place, row in zip(at.tolist(), found, strict=True)
            ],
            bool,
        )
        names = self.names
        columns: list[Any] = [self.ordering, self.provisional, self.disqualified]
        if not known.all():
            new = np.flatnonzero(~known)
            # Both parts are sorted, so that this takes one pass.
            names = sorted(names + [found[row][0] for row in new.tolist()])
            columns = [np.insert(column, at[new], 0) for column in columns]
            at += np.cumsum(~known) - ~known
        else:
            columns = [column.copy() for column in columns]
        for column, values in zip(columns, _arrays(found), strict=True):
            column[at] = values
        after = replace(
            self,
            end=end,
            names=names,
            ordering=columns[0],
            provisional=columns[1],
            disqualified=columns[2],
        )
        if names is self.names and "_text" in self.__dict__:
            after.__dict__["_text"] = self._text
        return after


def _arrays(rows: Sequence[Sequence[Any]]) -> tuple[Floats, Flags, Flags]:
    """Return rows of `_COLUMNS` as arrays, without the ids."""
    return (
        np.array([row[1] for row in rows], np.float64),
        np.array([row[2] for row in rows], bool),
        np.array([row[3] for row in rows], bool),
    )


class Standings:
    """The last standings of the large pools of a store, for readers in several threads."""

    def __init__(self) -> None:
        self._lock, self._making = threading.Lock(), threading.Lock()
        self._kept: OrderedDict[int, list[Standing]] = OrderedDict()

    def get(self, connection: Connection, pool: PoolRecord) -> Standing | None:
        """Return the standing of a pool in the snapshot of a connection.

        None if the pool has none, or if another thread is just making one: the caller then asks
        the database.
        """
        if pool.players < sizes_of(connection).standings:
            return None
        if pool.board_day is not None or pool.board_from is not None:
            return None
        moment = _Moment(pool.id, pool.generation, pool.amendments)
        with self._lock:
            kept = list(self._kept.get(pool.id, ()))
        for one in reversed(kept):
            if one.moment == moment and one.end.head == pool.head:
                return one
        if not self._making.acquire(blocking=False):
            return None
        try:
            found = _made(connection, pool, moment, kept)
            self._keep(found)
        finally:
            self._making.release()
        return found

    def _keep(self, standing: Standing) -> None:
        with self._lock:
            pool = standing.moment.pool
            kept = self._kept.pop(pool, [])
            self._kept[pool] = [*kept[1 - _KEPT :], standing]
            while len(self._kept) > 1 and (
                sum(len(one[-1].names) for one in self._kept.values()) > _MOST_PLAYERS
            ):
                self._kept.popitem(last=False)


def _made(
    connection: Connection, pool: PoolRecord, moment: _Moment, kept: Sequence[Standing]
) -> Standing:
    """Return the standing of a pool, made from an earlier one if that is possible."""
    salt = _salt(connection, pool, pool.last_seq)
    end = _End(pool.last_seq, pool.last_time or 0, pool.head, salt)
    mine = {"of_pool": pool.id, "of_generation": pool.generation}
    for one in reversed(kept):
        if one.moment != moment or not 0 <= end.seq - one.end.seq <= _MOST_RECORDS:
            continue
        # After a backup was restored, the log may have another record of this number.
        if one.end.salt is None or one.end.salt != _salt(connection, pool, one.end.seq):
            continue
        rows = _CHANGED.rows(connection, {**mine, "time": one.end.time, "seq": one.end.seq})
        found = one.followed_by(rows, end)
        # A match of a single team adds a player without a change.
        if len(found.names) == pool.players:
            return found
    rows = sorted(_ALL.rows(connection, mine))
    return Standing(moment, end, [row[0] for row in rows], *_arrays(rows))


def _salt(connection: Connection, pool: PoolRecord, seq: int) -> bytes | None:
    """Return the salt of a record of the log, None where it has none."""
    rows = _SALT.rows(connection, {"of_pool": pool.id, "seq": seq})
    return None if not rows or rows[0][0] is None else bytes(rows[0][0])


def standing_of(connection: Connection, pool: PoolRecord) -> Standing | None:
    """Return the standing of a pool; None if the database must be read instead."""
    standings = connection.get_execution_options().get(OPTION)
    return standings.get(connection, pool) if isinstance(standings, Standings) else None
