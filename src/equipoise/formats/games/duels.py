"""Reads games from a long table of matches between two players.

The reader of histories reads the table. `rank` decides the result (equal ranks are a draw), and
`weight` is the weight. A kept column `rating` or `elo` has the players' ratings, or the columns
`white_elo` and `black_elo` those of both sides. A column
`at_home`, `home`, `side`, `color` or `colour` shows who has white or plays at home.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.history import History
from equipoise.errors import Problem
from equipoise.formats.games.columns import GameColumns
from equipoise.formats.games.layout import side_ratings
from equipoise.formats.games.rows import read_ratings
from equipoise.formats.options import Options
from equipoise.formats.table import Table, refuse, shown
from equipoise.formats.tables.columns import text_of
from equipoise.formats.tables.long_table import build_history
from equipoise.wording import counted

DUEL = "must be a match between two single players"
DUELS = (
    "must have matches between two single players; for larger matches and teams use equipoise "
    "rate, and for rankings of single players equipoise strengths"
)

_RATINGS = ("rating", "elo")
_SIDES = ("at_home", "home", "side", "color", "colour")
_FIRST = ("true", "1", "1.0", "yes", "white", "home", "w", "h")


def read_duels(table: Table, options: Options) -> GameColumns:
    """Return the games of a history, and all of its problems.

    Raises : InvalidDataError        required columns, or all rows, are missing
    Raises : InvalidParameterError   the options do not suit the table
    """
    reading = build_history(table, options)
    left_out = Counter({"unrated": reading.unrated, "filtered": reading.filtered})
    history = reading.history
    if history is None:
        nothing = np.zeros(0, np.int64)
        return GameColumns(
            white=nothing,
            black=nothing,
            points=np.zeros(0),
            left_out=+left_out,
            problems=reading.problems,
            notes=reading.notes,
            skipped=len(reading.dropped_matches),
            format=reading.format,
            kind=reading.kind,
            meanings=reading.columns,
        )
    lines = _Lines(table, reading.columns["match"], history)
    duels = (history.sizes() == 2) & (history.teams() == 2)
    if not duels.any():
        sizes = history.sizes()
        got = f"none among {counted(history.matches, 'match', 'matches')}; the largest has "
        refuse(table.name, DUELS, got + counted(int(sizes.max()), "player"))
    ratings = _ratings(history, duels, lines, by_commas=table.by_commas)
    problems = (*reading.problems, *_not_duels(history, ~duels, lines), *ratings.problems)
    good = duels & ~ratings.bad
    columns = _games(history, np.flatnonzero(good), ratings.values, lines)
    return replace(
        columns,
        left_out=+left_out,
        problems=problems,
        notes=(*reading.notes, *ratings.notes),
        skipped=len(reading.dropped_matches) + int(np.sum(~good)),
        format=reading.format,
        kind=reading.kind,
        meanings=reading.columns,
    )


class _Ratings(NamedTuple):
    """The rating of every participation (None if the history has none), and the bad matches."""

    values: Floats | None
    bad: Flags
    problems: list[Problem]
    notes: list[str]


class _Lines:
    """Finds the first line of a match by its id."""

    def __init__(self, table: Table, column: str, history: History) -> None:
        self._table, self._history = table, history
        self._column = column
        self._row_of: dict[str, int] = {}

    def of(self, matches: Ints) -> list[tuple[str, int | None]]:
        """Return the file and line of matches of the history."""
        if not len(matches):
            return []
        if not self._row_of:
            ids = text_of(self._table.frame[self._column])
            first = ids.is_first_distinct().arg_true()
            self._row_of = dict(zip(ids.gather(first).to_list(), first.to_list(), strict=True))
        rows = [self._row_of.get(str(self._history.match_ids[one])) for one in matches.tolist()]
        known = [row for row in rows if row is not None]
        places = iter(self._table.places(np.array(known, dtype=np.int64)))
        return [(self._table.name, None) if row is None else next(places) for row in rows]


def _games(history: History, matches: Ints, rating: Floats | None, lines: _Lines) -> GameColumns:
    """Return the games of the matches that are duels."""
    white, black, coloured = _sides(history, history.offsets[matches])
    points = (1.0 + np.sign(history.rank[black] - history.rank[white])) / 2
    draws = (points == 0.5).astype(np.float64)
    weight = None if history.weight is None else history.weight[matches]
    return GameColumns(
        white=history.player[white],
        black=history.player[black],
        points=points if weight is None else points * weight,
        weight=weight,
        draws=draws if weight is None else draws * weight,
        white_rating=None if rating is None else rating[white],
        black_rating=None if rating is None else rating[black],
        coloured=coloured,
        players=history.player_ids,
        locate=lambda game: lines.of(matches[[game]])[0],
    )


def _sides(history: History, first: Ints) -> tuple[Ints, Ints, bool]:
    """Return the rows of the first and of the second player, and whether the first are at home.

    first : the first row of every duel
    """
    name = next((one for one in _SIDES if one in history.attributes), None)
    if name is None:
        return first, first + 1, False
    marked = _marked(history.attributes[name])
    swapped = ~marked[first] & marked[first + 1]
    known = marked[first] != marked[first + 1]
    return first + swapped, first + ~swapped, bool(len(first) and known.all())


def _marked(attribute: Ids) -> Flags:
    """Return which rows have white or play at home."""
    if attribute.dtype == bool:
        return attribute
    if attribute.dtype != object:
        flags: Flags = attribute == 1
        return flags
    return np.array([str(one).strip().casefold() in _FIRST for one in attribute.tolist()])


def _of_sides(history: History, duels: Flags) -> list[object] | None:
    """Return the rating of every participation by the columns of both sides; None without any."""
    pair = side_ratings(history.attributes)
    if pair == (None, None):
        return None
    found = np.full(history.participations, None, dtype=object)
    first, second, _ = _sides(history, history.offsets[np.flatnonzero(duels)])
    for name, rows in zip(pair, (first, second), strict=True):
        if name is not None:
            found[rows] = history.attributes[name][rows]
    ratings: list[object] = found.tolist()
    return ratings


def _ratings(history: History, duels: Flags, lines: _Lines, *, by_commas: bool) -> _Ratings:
    """Return the rating of every participation, and the problems of matches."""
    bad = np.zeros(history.matches, dtype=bool)
    name = next((one for one in _RATINGS if one in history.attributes), None)
    of_sides = None if name is not None else _of_sides(history, duels)
    if name is None and of_sides is None:
        return _Ratings(None, bad, [], [])
    ratings = of_sides if name is None else history.attributes[name].tolist()
    column = pl.Series(name or "", ratings, strict=False)
    notes: list[str] = []
    values, faults = read_ratings(column, notes, by_commas=by_commas)
    matches = history.match_rows()
    problems = []
    for rows, rule in faults:
        at = np.flatnonzero(rows)
        bad[matches[at]] = True
        for row, (file, line) in zip(at.tolist(), lines.of(matches[at]), strict=True):
            player = history.player_ids[history.player[row]]
            problems.append(
                Problem(
                    file,
                    line,
                    name or "white_elo, black_elo",
                    rule,
                    f"{shown(column[row])} of {player}",
                )
            )
    return _Ratings(values, bad, problems, notes)


def _not_duels(history: History, others: Flags, lines: _Lines) -> list[Problem]:
    """Return a problem for every match that is not a duel, at its first line."""
    at = np.flatnonzero(others)
    sizes, teams = history.sizes()[at].tolist(), history.teams()[at].tolist()
    problems = []
    for match, size, count, (file, line) in zip(
        history.match_ids[at].tolist(), sizes, teams, lines.of(at), strict=True
    ):
        got = counted(size, "player")
        if count != size:
            got += f" in {counted(count, 'team')}"
        problems.append(Problem(file, line, "match", DUEL, f"{got} in match {shown(match)}"))
    return problems
