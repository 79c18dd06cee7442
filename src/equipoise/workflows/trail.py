"""Positions of the last change of each player, which the next change of the player refers to."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Ints
from equipoise.errors import InvalidDataError
from equipoise.store.ratings import StateRow

#: zlib's level: positions of one batch share most of their bytes.
_LEVEL = 1


@dataclass(slots=True, eq=False)
class LastChanges:
    """Positions of players' last changes by row: time and number of the record, 0 for none."""

    time: Ints
    seq: Ints

    @classmethod
    def empty(cls, players: int) -> LastChanges:
        """Return those of players without a change."""
        return cls(np.zeros(players, np.int64), np.zeros(players, np.int64))

    @classmethod
    def of(cls, stored: Sequence[StateRow]) -> LastChanges:
        """Return those in the table, in the order of its rows."""
        return cls(
            np.array([one.change_time for one in stored], np.int64),
            np.array([one.change_seq for one in stored], np.int64),
        )

    @classmethod
    def from_bytes(cls, content: bytes, players: int) -> LastChanges:
        """Return those of a checkpoint. Raises : InvalidDataError."""
        if not content:
            return cls.empty(players)
        try:
            both = np.frombuffer(zlib.decompress(content), "<i8").astype(np.int64)
        except (zlib.error, ValueError) as error:
            raise InvalidDataError([], f"a damaged checkpoint: {error}") from error
        if len(both) != 2 * players:
            raise InvalidDataError(
                [], f"a damaged checkpoint: positions of other than {players} players"
            )
        return cls(both[:players], both[players:])

    def to_bytes(self) -> bytes:
        """Return them as a checkpoint has them."""
        both = np.concatenate([self.time, self.seq]).astype("<i8")
        return zlib.compress(both.tobytes(), _LEVEL)

    def grow(self, players: int) -> None:
        """Make room for players without a change."""
        missing = players - len(self.time)
        if missing > 0:
            self.time = np.concatenate([self.time, np.zeros(missing, np.int64)])
            self.seq = np.concatenate([self.seq, np.zeros(missing, np.int64)])

    def take(self, rows: Ints) -> LastChanges:
        """Return a copy of those of these players."""
        return LastChanges(self.time[rows], self.seq[rows])

    def put(self, rows: Ints, part: LastChanges) -> None:
        """Replace those of these players by `part`."""
        self.time[rows], self.seq[rows] = part.time, part.seq

    def follow(self, players: Ints, times: Ints, seqs: Ints) -> tuple[Ints, Ints]:
        """Store changes; return the position of the one before each: times and numbers.

        players : row of each change; times, seqs : its position; all of shape (changes,), in the
            order of rating
        """
        order = np.argsort(players, kind="stable")
        row, time, seq = players[order], times[order], seqs[order]
        again = np.zeros(len(row), bool)
        again[1:] = row[1:] == row[:-1]
        before_time, before_seq = self.time[row], self.seq[row]
        repeated = np.flatnonzero(again)
        before_time[repeated], before_seq[repeated] = time[repeated - 1], seq[repeated - 1]
        last = np.ones(len(row), bool)
        last[:-1] = ~again[1:]
        self.time[row[last]], self.seq[row[last]] = time[last], seq[last]
        previous_time, previous_seq = np.empty_like(time), np.empty_like(seq)
        previous_time[order], previous_seq[order] = before_time, before_seq
        return previous_time, previous_seq
