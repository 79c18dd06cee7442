"""Results of games row by row, growing, and then as arrays."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress

import numpy as np

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.formats.game_columns import GameColumns
from equipoise.formats.pgn_entry import Entry


def _numbers() -> array[float]:
    return array("d")


def _counts() -> array[int]:
    return array("q")


@dataclass(slots=True)
class Rows:
    """Rows of results. Names are shared, so a row takes some seventy bytes.

    moved : 1 where the game has moves; file : number of the row's file; line : where it begins
    """

    white: list[str] = field(default_factory=list)
    black: list[str] = field(default_factory=list)
    round: list[str] = field(default_factory=list)
    points: array[float] = field(default_factory=_numbers)
    white_rating: array[float] = field(default_factory=_numbers)
    black_rating: array[float] = field(default_factory=_numbers)
    moved: bytearray = field(default_factory=bytearray)
    file: array[int] = field(default_factory=_counts)
    line: array[int] = field(default_factory=_counts)

    def add(self, entry: Entry, moved: bool, file: int, line: int) -> None:
        """Add a row for a game."""
        self.white.append(entry.white)
        self.black.append(entry.black)
        self.round.append(entry.round)
        self.points.append(entry.points)
        self.white_rating.append(entry.white_rating)
        self.black_rating.append(entry.black_rating)
        self.moved.append(moved)
        self.file.append(file)
        self.line.append(line)

    def have_moves(self) -> Flags:
        """Return which rows have moves, shape (rows,)."""
        return np.frombuffer(self.moved, dtype=np.bool_)

    def columns(self, kept: Flags, files: Sequence[str]) -> GameColumns:
        """Return some of the rows as columns.

        kept : shape (rows,), which of them; files : names by number
        """
        points = np.array(self.points)[kept]
        at_file, at_line = _integers(self.file)[kept], _integers(self.line)[kept]
        rounds = list(compress(self.round, kept))

        ratings = np.array(self.white_rating)[kept], np.array(self.black_rating)[kept]
        rated = not all(np.isnan(one).all() for one in ratings)

        def locate(row: int) -> tuple[str, int | None]:
            return files[int(at_file[row])], int(at_line[row])

        return GameColumns(
            white=texts(list(compress(self.white, kept))),
            black=texts(list(compress(self.black, kept))),
            points=points,
            white_rating=ratings[0] if rated else None,
            black_rating=ratings[1] if rated else None,
            draws=(points == 0.5).astype(np.float64),
            coloured=True,
            round=texts(rounds) if any(rounds) else None,
            locate=locate,
        )


def texts(values: list[str]) -> Ids:
    """Return text as an array of objects, shape (n,)."""
    found: Ids = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def known(ratings: Floats) -> Floats | None:
    """Return ratings, None where nobody has one."""
    return None if np.isnan(ratings).all() else ratings


def _integers(values: array[int]) -> Ints:
    return np.array(values, dtype=np.int64)
