"""Games of PGN -> columns of results, with what was left out and what is wrong.

A game that breaks a rule gives problems and no row. What was not played is not a game: it is
counted by reason, and its players are kept as named.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from equipoise.errors import Problem
from equipoise.formats.game_columns import GameColumns
from equipoise.formats.pgn_entry import USED, Entry, read_entry, with_needed_tags
from equipoise.formats.pgn_moves import UNCLOSED
from equipoise.formats.pgn_notes import Identities, Notes
from equipoise.formats.pgn_results import FILTERED, WITHOUT_MOVES, is_nobody, is_unknown
from equipoise.formats.pgn_rows import Rows, known, texts
from equipoise.formats.pgn_scan import RawGame
from equipoise.formats.pgn_values import LONGEST, Values
from equipoise.wording import counted

#: Problems kept; beyond, they are only counted.
MOST_PROBLEMS = 10_000

MORE = "must keep the rules in all games"
HEADERS_ONLY = (
    "No game has moves, so the tags alone tell what was played; forfeits that are not marked as "
    "such count as games."
)


class PgnGames:
    """Collects the games of one or several files.

    where : tag -> value; games in which one differs are left out
    """

    def __init__(self, where: Mapping[str, str] | None = None) -> None:
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
        self._skipped = 0
        self._notes = Notes()
        self._identities = Identities()

    def add_file(self, games: Iterable[RawGame], file: str) -> int:
        """Take the games of a file, and return how many there were."""
        self._files.append(file)
        count = 0
        for game in games:
            self._add(game, file)
            count += 1
        return count

    def problems(self) -> list[Problem]:
        """Return the problems so far, and how many more there are than are kept."""
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
        return replace(
            rows.columns(kept, self._files),
            others=texts(list(self._others)) if self._others else None,
            other_rating=known(np.array(list(self._others.values()), dtype=np.float64)),
            left_out=self._left_out,
            problems=tuple(self.problems()),
            skipped=self._skipped,
            notes=tuple(notes),
        )

    def _add(self, game: RawGame, file: str) -> None:
        """Take a game: it becomes a row, is left out, or has problems."""
        self._any_moved |= game.ending.moved
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
            self._skipped += 1
            return
        for what in entry.notes:
            self._notes.add(what, file, game.line)
        if entry.reason is not None:
            self._leave_out(entry, entry.reason)
            return
        self._rows.add(entry, game.ending.moved, len(self._files) - 1, game.line)
        for name, tag in ((entry.white, b"WhiteFideId"), (entry.black, b"BlackFideId")):
            if tag in game.tags:
                self._identities.add(name, self._values.text(game.tags[tag]))

    def _is_wanted(self, game: RawGame) -> bool:
        """Return whether a game has the values asked for, or cannot tell."""
        self._never_seen -= game.tags.keys()
        if game.ending.fault is not None and game.ending.fault.rule == UNCLOSED:
            return True  # its comment may hold what belongs to other games
        return all(
            tag in game.broken or self._values.text(game.tags.get(tag)) == value
            for tag, value in self._where.items()
        )

    def _leave_out(self, entry: Entry, reason: str) -> None:
        """Count what is not a game, and keep its players as named."""
        self._left_out[reason] += 1
        self._name(entry.white, entry.white_rating)
        self._name(entry.black, entry.black_rating)

    def _leave_out_rows(self, dropped: list[int]) -> None:
        """Count rows that turned out not to be games, and keep their players as named."""
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
