"""Reads the results of PGN files into columns; moves are skipped.

Source: the standard "Portable Game Notation Specification and Implementation Guide" of 1994, its
import format, sections 4 to 8. Departures, which real files need: text in UTF-8 as well as Latin-1,
more spellings of results, unescaped quotation marks in a tag, White, Black and Result in any case
of letters, and games that have only tags.

A game that breaks a rule adds problems and no row. A game that was not played is counted by
reason, and its players are kept as names without a game.
"""

from __future__ import annotations

import io
import math
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress
from pathlib import Path

import numpy as np

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.games.columns import GameColumns
from equipoise.formats.pgn.dates import Moments
from equipoise.formats.pgn.entry import USED, Entry, Identities, Notes, read_entry, with_needed_tags
from equipoise.formats.pgn.scan import BLOCK, UNCLOSED, RawGame, scan
from equipoise.formats.pgn.text import Open, blocks_of, documents_in, documents_of
from equipoise.formats.pgn.values import (
    FILTERED,
    LONGEST,
    WITHOUT_MOVES,
    Values,
    is_nobody,
    is_unknown,
)
from equipoise.formats.table import refuse
from equipoise.wording import counted


def _numbers() -> array[float]:
    return array("d")


def _counts() -> array[int]:
    return array("q")


@dataclass(slots=True)
class Rows:
    """Rows of results. Names are shared, so a row takes about seventy bytes.

    moved : 1 if the game has moves; file : number of the row's file; line : where the game begins
    number : of the game among all games, from 1
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
    number: array[int] = field(default_factory=_counts)

    def add(self, entry: Entry, moved: bool, place: tuple[int, int, int]) -> None:
        """Add a row for a game; `place` is its file, line and number among all games."""
        self.white.append(entry.white)
        self.black.append(entry.black)
        self.round.append(entry.round)
        self.points.append(entry.points)
        self.white_rating.append(entry.white_rating)
        self.black_rating.append(entry.black_rating)
        self.moved.append(moved)
        file, line, number = place
        self.file.append(file)
        self.line.append(line)
        self.number.append(number)

    def have_moves(self) -> Flags:
        """Return which rows have moves, shape (rows,)."""
        return np.frombuffer(self.moved, dtype=np.bool_)

    def columns(self, kept: Flags, files: Sequence[str]) -> GameColumns:
        """Return some of the rows as columns.

        kept : shape (rows,), mask of the rows; files : names by number
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
            numbers=_integers(self.number)[kept],
            locate=locate,
        )


def texts(values: list[str]) -> Ids:
    """Return text as an array of objects, shape (n,)."""
    found: Ids = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def known(ratings: Floats) -> Floats | None:
    """Return ratings, None if no player has one."""
    return None if np.isnan(ratings).all() else ratings


def _integers(values: array[int]) -> Ints:
    return np.array(values, dtype=np.int64)


#: Largest number of problems kept; more are only counted.
MOST_PROBLEMS = 10_000

MORE = "must follow the rules in all games"
HEADERS_ONLY = (
    "No game has moves, so only the tags show what was played. Forfeits that are not marked count "
    "as games."
)


class PgnGames:
    """Collects the games of one or more files.

    where : tag -> value; games with a different value are left out
    dated : whether dates and events are read too; tags : further tags to keep
    """

    def __init__(
        self,
        where: Mapping[str, str] | None = None,
        *,
        dated: bool = False,
        tags: Collection[str] = (),
    ) -> None:
        self._where = {
            tag.encode(): " ".join(value.split()) for tag, value in (where or {}).items()
        }
        self._used = USED | self._where.keys()
        self._never_seen = set(self._where)
        self._values = Values()
        self._rows = Rows()
        self._files: list[str] = []
        self._others: dict[str, float] = {}
        self._any_moved = False
        self._left_out: Counter[str] = Counter()
        self._problems: list[Problem] = []
        self._more_problems = 0
        self._dropped: list[str] = []
        self._count = 0
        self._moments = Moments() if dated else None
        self._tags: dict[str, list[str]] = {tag: [] for tag in tags}
        self._notes = Notes()
        self._identities = Identities()

    def add_file(self, games: Iterable[RawGame], file: str) -> int:
        """Add the games of a file, and return their number."""
        self._files.append(file)
        count = 0
        for game in games:
            self._add(game, file)
            count += 1
        return count

    def problems(self) -> list[Problem]:
        """Return the problems so far, and the number of those that were not kept."""
        if not self._more_problems:
            return self._problems
        more = counted(self._more_problems, "more problem, which is", "more problems, which are")
        got = f"{more} not listed"
        return [*self._problems, Problem("", None, "", MORE, got)]

    def columns(self) -> GameColumns:
        """Return all games as columns."""
        rows, notes = self._rows, []
        kept = np.ones(len(rows.white), dtype=bool)
        if self._any_moved:
            kept = rows.have_moves()
            self._leave_out_rows(np.flatnonzero(~kept).tolist())
        elif rows.white:
            notes.append(HEADERS_ONLY)
        notes += [f"No game has the tag {tag.decode()}." for tag in sorted(self._never_seen)]
        notes += self._notes.sentences() + self._values.notes() + self._identities.sentences()
        times, source, dates = (Moments() if self._moments is None else self._moments).times(kept)
        return replace(
            rows.columns(kept, self._files),
            times=times,
            time_source=source,
            events=None if self._moments is None else self._moments.events(kept),
            tags={tag: texts(values)[kept] for tag, values in self._tags.items()},
            others=texts(list(self._others)) if self._others else None,
            other_rating=known(np.array(list(self._others.values()), dtype=np.float64)),
            left_out=self._left_out,
            problems=tuple(self.problems()),
            skipped=len(self._dropped),
            dropped=tuple(self._dropped),
            notes=(*notes, *dates),
        )

    def _add(self, game: RawGame, file: str) -> None:
        """Add a game: it becomes a row, is left out, or has problems."""
        self._any_moved |= game.ending.moved
        self._count += 1
        game.tags = with_needed_tags(game.tags)
        if self._where and not self._is_wanted(game):
            self._left_out[FILTERED] += 1
            return
        entry = read_entry(game, self._values, self._used)
        for line, value, rule, got in entry.problems:
            if len(self._problems) < MOST_PROBLEMS:
                self._problems.append(Problem(file, line, value, rule, got))
            else:
                self._more_problems += 1
        if entry.problems:
            self._dropped.append(str(self._count))
            return
        for what in entry.notes:
            self._notes.add(what, file, game.line)
        if entry.reason is not None:
            self._leave_out(entry, entry.reason)
            return
        self._rows.add(entry, game.ending.moved, (len(self._files) - 1, game.line, self._count))
        if self._moments is not None:
            self._moments.add(game.tags, self._values)
        for name_of_tag, values in self._tags.items():
            values.append(self._values.text(game.tags.get(name_of_tag.encode())))
        for name, tag in ((entry.white, b"WhiteFideId"), (entry.black, b"BlackFideId")):
            if tag in game.tags:
                self._identities.add(name, self._values.text(game.tags[tag]))

    def _is_wanted(self, game: RawGame) -> bool:
        """Return whether a game has the wanted values, or lacks the tags."""
        self._never_seen -= game.tags.keys()
        if game.ending.fault is not None and game.ending.fault.rule == UNCLOSED:
            return True  # its comment may contain other games
        return all(
            tag in game.broken or self._values.text(game.tags.get(tag)) == value
            for tag, value in self._where.items()
        )

    def _leave_out(self, entry: Entry, reason: str) -> None:
        """Count an entry that is not a game, and keep its players as named."""
        self._left_out[reason] += 1
        self._name(entry.white, entry.white_rating)
        self._name(entry.black, entry.black_rating)

    def _leave_out_rows(self, dropped: list[int]) -> None:
        """Count rows that are not games after all, and keep their players as named."""
        rows = self._rows
        if dropped:
            self._left_out[WITHOUT_MOVES] += len(dropped)
        for row in dropped:
            self._name(rows.white[row], rows.white_rating[row])
            self._name(rows.black[row], rows.black_rating[row])

    def _name(self, name: str, rating: float) -> None:
        """Keep a player who is named without a game; the first rating counts."""
        if is_unknown(name) or is_nobody(name) or len(name) > LONGEST:
            return
        if math.isnan(self._others.get(name, math.nan)):
            self._others[name] = rating


def read_pgn(
    data: bytes,
    name: str,
    *,
    where: Mapping[str, str] | None = None,
    block: int = BLOCK,
    dated: bool = False,
    tags: Collection[str] = (),
) -> GameColumns:
    """Return the games of a PGN file, plain, compressed or in an archive.

    data : all bytes of the file; name : of the file, for problems
    where : tag -> value; games with another value are left out as "filtered"
    block : number of bytes read at once
    dated : whether dates and events are read too; tags : further tags to keep
    Raises : InvalidDataError   there are no games, or the file cannot be read
    """
    file = io.BufferedReader(io.BytesIO(data))
    sources = [partial(documents_of, file, name)]
    return read_pgn_documents(sources, where=where, dated=dated, tags=tags, block=block)


def read_pgn_files(
    path: Path,
    *,
    where: Mapping[str, str] | None = None,
    dated: bool = False,
    tags: Collection[str] = (),
) -> GameColumns:
    """Return the games of a file, or of all PGN files below a directory.

    Files are read block by block, so memory grows with the number of games and not with the size of
      files. where, dated, tags : as for `read_pgn`
    Raises : InvalidDataError   there are no games, or a file cannot be read
    """
    return read_pgn_documents(documents_in(path), where=where, dated=dated, tags=tags)


def read_pgn_documents(
    sources: Sequence[Open],
    *,
    where: Mapping[str, str] | None = None,
    dated: bool = False,
    tags: Collection[str] = (),
    block: int = BLOCK,
) -> GameColumns:
    """Return the games of all sources; problems of complete files are raised together."""
    games = PgnGames(where, dated=dated, tags=tags)
    unreadable: list[Problem] = []
    for open_source in sources:
        try:
            for name, stream in open_source():
                if not games.add_file(scan(blocks_of(stream, name, block), name), name):
                    refuse(name, "must hold at least one game", "text without tags")
        except InvalidDataError as error:
            unreadable.extend(error.problems)
    if unreadable:
        raise InvalidDataError([*unreadable, *games.problems()])
    return games.columns()
