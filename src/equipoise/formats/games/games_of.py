"""Turns matches between two players of a history into games, and into a table of games.

`read_duels` reads a long table as games: the reader of histories reads it, `rank` decides the
result (equal ranks are a draw), and `weight` is the weight. A kept column `rating` or `elo` has the
players' ratings, or the columns `white_elo` and `black_elo` those of both sides. A column
`at_home`, `home`, `side`, `color` or `colour` shows who has white or plays at home.

`game_table` writes a history as a table of games, one match a row, that our readers read again.
White, or the side at home, comes first if the history says who it is; else the player listed first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.history import HOME_SIDES, OF_MATCHES, History
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.games.two_sides import read_ratings, whole_if_all
from equipoise.formats.table import GameColumns, Options, Table, refuse, shown
from equipoise.formats.tables.column_names import AT_HOME, RATINGS_OF_ROWS
from equipoise.formats.tables.long_table import build_history
from equipoise.formats.tables.meanings import side_ratings
from equipoise.formats.tables.values import text_of
from equipoise.wording import counted

DUEL = "must be a match between two single players"
DUELS = (
    "must have matches between two single players; for larger matches and teams use equipoise "
    "rate, and for rankings of single players equipoise strengths"
)

_FIRST = ("true", "1", "1.0", "yes", "white", "home", "w", "h")


def read_duels(table: Table, options: Options) -> GameColumns:
    """Return the games of a history, and all of its problems.

    Raises : InvalidDataError        required columns, or all rows, are missing
    Raises : InvalidParameterError   the options do not suit the table
    """
    reading = build_history(table, options)
    history = reading.history
    nothing = np.zeros(0, np.int64)
    columns = GameColumns(
        players=np.zeros(0, object), white=nothing, black=nothing, points=np.zeros(0)
    )
    problems, notes, skipped = [*reading.problems], [*reading.notes], len(reading.dropped_matches)
    if history is not None:
        lines = _Lines(table, reading.columns["match"], history)
        duels = (history.sizes() == 2) & (history.teams() == 2)
        if not duels.any():
            sizes = history.sizes()
            got = f"none among {counted(history.matches, 'match', 'matches')}; the largest has "
            refuse(table.name, DUELS, got + counted(int(sizes.max()), "player"))
        ratings = _ratings(history, duels, lines, by_commas=table.by_commas)
        problems += [*_not_duels(history, ~duels, lines), *ratings.problems]
        notes += ratings.notes
        good = duels & ~ratings.bad
        skipped += int(np.sum(~good))
        columns = _games(history, np.flatnonzero(good), ratings.values, lines)
    return replace(
        columns,
        left_out=+Counter({"unrated": reading.unrated, "filtered": reading.filtered}),
        problems=tuple(problems),
        notes=tuple(notes),
        skipped=skipped,
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
        rows = [self._row_of.get(str(self._history.match_ids[match])) for match in matches.tolist()]
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
    name = next((column for column in AT_HOME if column in history.attributes), None)
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
    return np.array([str(value).strip().casefold() in _FIRST for value in attribute.tolist()])


def _of_sides(history: History, duels: Flags) -> list[object] | None:
    """Return the rating of every participation by the columns of both sides; None without any."""
    pair = side_ratings(history.attributes)
    if pair == (None, None):
        return None
    ratings_of_rows = np.full(history.participations, None, dtype=object)
    first, second, _ = _sides(history, history.offsets[np.flatnonzero(duels)])
    for name, rows in zip(pair, (first, second), strict=True):
        if name is not None:
            ratings_of_rows[rows] = history.attributes[name][rows]
    ratings: list[object] = ratings_of_rows.tolist()
    return ratings


def _ratings(history: History, duels: Flags, lines: _Lines, *, by_commas: bool) -> _Ratings:
    """Return the rating of every participation, and the problems of matches."""
    bad = np.zeros(history.matches, dtype=bool)
    name = next((column for column in RATINGS_OF_ROWS if column in history.attributes), None)
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
            got = f"{shown(column[row])} of {player}"
            problems.append(Problem(file, line, name or "white_elo, black_elo", rule, got))
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


#: Results by the points of the first side.
_RESULTS = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}
#: Columns of the two sides, by what the first side is.
_SIDE_COLUMNS = {
    "white": ("white", "black"),
    "home": ("home", "away"),
    "first": ("player_1", "player_2"),
}
#: Columns that the two sides themselves say.
_SAID = ("side", "at_home")
#: Columns of the table, which no kept column may replace.
_OWN = ("match", "time", "round", "result", "neutral", "winner", "points")


def game_table(history: History) -> tuple[pl.DataFrame, list[str]]:
    """Return a table with a row for each match of two single players, and what it lacks.

    Raises : InvalidDataError   no match is between two single players
    """
    sides = _two_sides(history)
    names = _SIDE_COLUMNS[sides.words]
    columns: dict[str, pl.Series] = {"match": _series(history.match_ids[sides.matches])}
    times = history.table_times()
    if times is not None:
        columns["round" if history.time is None else "time"] = pl.Series(times[sides.matches])
    for name, rows in zip(names, (sides.first, sides.second), strict=True):
        columns[name] = _series(history.player_ids[history.player[rows]])
    kept = {*_SAID}
    scores = _scores(sides)
    if scores is None:
        columns["result"] = pl.Series([_RESULTS[points] for points in sides.points.tolist()])
    else:
        kept.add("score")
        for name, of_side in zip(names, scores, strict=True):
            columns[f"{name}_score"] = whole_if_all(of_side)
    if sides.words == "home" and sides.neutral.any():
        columns["neutral"] = pl.Series(sides.neutral)
    for name in OF_MATCHES:
        of_match: Floats | None = getattr(history, name)
        if of_match is not None:
            columns[name] = pl.Series(of_match[sides.matches]).fill_nan(None)
            kept.add(name)
    kept |= _keep_attributes(sides, columns)
    return pl.DataFrame(columns), [*_lost(sides, kept)]


def _keep_attributes(sides: _TwoSides, columns: dict[str, pl.Series]) -> set[str]:
    """Add the columns that have one value for each match, and ratings; return their names."""
    kept = set()
    attributes = sides.history.attributes
    for name in attributes:
        if name in _SAID or (name == "score" and "result" not in columns):
            continue
        values, other = (attributes[name][rows] for rows in (sides.first, sides.second))
        same = np.array_equal(values, other, equal_nan=values.dtype.kind == "f")
        if same and (name == "round" or name not in {*_OWN, *columns}):
            columns.setdefault(name, _series(values))
            kept.add(name)
    without = side_ratings(columns) == (None, None)
    if "rating" in attributes and "rating" not in kept and without:
        for name, rows in (("white_elo", sides.first), ("black_elo", sides.second)):
            columns[name] = _series(attributes["rating"][rows])
        kept.add("rating")
    return kept


def _scores(sides: _TwoSides) -> tuple[Floats, Floats] | None:
    """Return the scores of both sides, if every match has both and the higher one won."""
    try:
        scores = sides.history.scores()
    except InvalidDataError:
        return None
    if scores is None:
        return None
    one, other = scores[sides.first], scores[sides.second]
    if not np.array_equal(np.sign(one - other), np.sign(sides.points - 0.5)):
        return None  # also where one is unknown, because NaN equals nothing
    return one, other


def _lost(sides: _TwoSides, kept: set[str]) -> Iterator[str]:
    """Yield what the table does not have of a history; kept : names of columns that it has."""
    history = sides.history
    left_out = history.matches - len(sides.matches)
    if left_out:
        yield (
            f"{counted(left_out, 'match', 'matches')} that are not between two single players were "
            "left out"
        )
    if sides.words == "first" and {*_SAID} & set(history.attributes):
        yield "who is at home is left out: in some matches both sides are, or in all neither is"
    if sides.words == "white" and sides.neutral.any():
        yield "matches on neutral ground are no longer marked"
    unsaved = ("performance_ceiling", "performance", "share", "weight", "beta", "gamma")
    names = [name for name in unsaved if getattr(history, name) is not None]
    lost = [
        column
        for column in (*names, *history.statistics, *history.attributes)
        if column not in kept
    ]
    if lost:
        yield f"left out, because this format has no such columns: {', '.join(lost)}"
    if history.team_labels is not None:
        yield "the names of teams are left out"


def _series(values: Ids) -> pl.Series:
    if values.dtype == object:
        return pl.Series(values.tolist(), strict=False)
    return pl.Series(values)


class _TwoSides(NamedTuple):
    """G matches between two single players.

    matches : shape (G,), rows of matches; first, second : shape (G,), rows of participations
    points : shape (G,), of the first side
    words : what the first side is: "white", "home", or "first" if nobody knows
    neutral : shape (G,), matches on neutral ground
    """

    history: History
    matches: Ints
    first: Ints
    second: Ints
    points: Floats
    words: Literal["white", "home", "first"]
    neutral: Flags


def _two_sides(history: History) -> _TwoSides:
    """Return the matches between two single players.

    Raises : InvalidDataError   there is none
    """
    matches = np.flatnonzero((history.sizes() == 2) & (history.teams() == 2))
    if not len(matches):
        raise InvalidDataError(
            [],
            "no match of this history is between two single players; leave out --as to write its "
            "table",
        )
    first = history.offsets[matches]
    second = first + 1
    home = history.at_home()
    words: Literal["white", "home", "first"] = "first"
    neutral = np.zeros(len(matches), dtype=bool)
    if home is not None:
        swapped = ~home[first] & home[second]
        first, second = first + swapped, second - swapped
        neutral = ~home[first] & ~home[second]
        both = home[first] & home[second]
        if not both.any() and not neutral.all():
            words = _words(history, first[~neutral])
    points = (1.0 + np.sign(history.rank[second] - history.rank[first])) / 2
    return _TwoSides(history, matches, first, second, points, words, neutral)


def _words(history: History, first: Ints) -> Literal["white", "home"]:
    """Return whether the side at home is called white."""
    side = history.attributes.get("side")
    if "at_home" in history.attributes or side is None:
        return "home"
    return "white" if np.all(side[first].astype(str) == HOME_SIDES[1]) else "home"
