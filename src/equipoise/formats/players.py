"""Reads tables with one player on each row: lobbies, and ratings of players.

They have the columns `player` and `rating`, and further numbers that some rows may lack; other
columns are ignored. A lobby is of players who wait for teams. It may have `deviation`, without
which players are balanced by rating alone; `effective_rating`, or else `form`, from which it is
computed; `party`; `team` (a lock); and `avoid`, the ids of other players, separated by semicolons
or as a list if the format has lists.

`read_initial_ratings` reads the ratings with which players begin, and `read_rating_list` a list to
compare with another one. A table that `equipoise rate --output` wrote has these columns. PGN and
FIDE reports have the ratings of their players.
"""

from __future__ import annotations

import csv
import json
import os
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.lobby import ONCE, Lobby
from equipoise.data.ratings import EffectiveRating, InitialRatings
from equipoise.display import names_in_words
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError, Problem
from equipoise.formats.column_names import OF_PLAYERS
from equipoise.formats.histories import scan_history, summarise
from equipoise.formats.names import merge_ids
from equipoise.formats.sources import content_of, open_source
from equipoise.formats.table import (
    Fault,
    Findings,
    Table,
    columns_in_words,
    faulty_rows,
    refuse,
    spelling,
)
from equipoise.formats.values import (
    NUMBER,
    numbers_of,
    read_ids,
    required_ids,
    without_marks,
)
from equipoise.wording import addressed, counted, did_you_mean

#: Which rows may lack a number.
Lack: TypeAlias = Literal["none", "all", "any"]


def check_player_columns(table: Table, what: str) -> None:
    """Refuse a table without players or ratings; `what` it is. Raises : InvalidDataError."""
    frame = table.frame
    got = columns_in_words(frame.columns)
    problems = [
        Problem(table.name, None, name, "must be a column of the table", got)
        for name in ("player", "rating")
        if name not in frame.columns
    ]
    if not problems and not len(frame):
        problems.append(Problem(table.name, None, "", "must have at least one row", "none"))
    refuse_problems(problems, table, what)


def rename_player_columns(
    table: Table, columns: Mapping[str, str] | None, what: str, own: Collection[str] | None = None
) -> tuple[Table, tuple[str, ...]]:
    """Return a table with the columns player, rating and, if there is one, deviation, and notes.

    A column with another name is taken if it is the only one that can be meant.

    columns : new name -> name in the table; names that are not in it are ignored. None: no option
        names columns of this table
    what : the table is, where it has no name
    own : columns with a meaning of their own, which are none of these; a column that is missing, or
      that several could be, is then left to `check_player_columns`. None: there are no such columns
    Raises : InvalidDataError   no column can be meant, or several can
    """
    frame = table.frame
    taken = {new: old for new, old in (columns or {}).items() if old in frame.columns}
    got = columns_in_words(frame.columns)
    problems, notes = [], []
    for name, spellings in OF_PLAYERS.items():
        if name in taken or name in frame.columns:
            continue
        free = [column for column in frame.columns if column not in (*taken.values(), *(own or ()))]
        meant = [column for column in free if spelling(column) in spellings]
        if len(meant) == 1:
            taken[name] = meant[0]
            notes.append(f"{table.name or what}: {meant[0]} was read as {name}")
        elif meant and own is None:
            options = (shlex.quote(f"{name}={column}") for column in meant)
            choice = " or ".join(addressed(f"--column {choice_text}") for choice_text in options)
            way = f"call it {name} in the table" if columns is None else f"choose it with {choice}"
            rule = f"must be one column; {way}"
            problems.append(Problem(table.name, None, name, rule, "columns " + ", ".join(meant)))
        elif name != "deviation" and own is None:
            rule = _lacking(name, free, is_named=columns is not None)
            problems.append(Problem(table.name, None, name, rule, got))
    refuse_problems(problems, table, what)
    hidden = [
        column for column in frame.columns if column in taken and column not in taken.values()
    ]
    frame = frame.drop(hidden).rename({old: new for new, old in taken.items()})
    if not len(frame) and own is None:
        rows = Problem(table.name, None, "", "must have at least one row", "none")
        refuse_problems([rows], table, what)
    return replace(table, frame=frame), tuple(notes)


def _lacking(name: str, columns: Sequence[str], *, is_named: bool) -> str:
    """Return the rule on a missing column, and what to do; is_named : by an option."""
    spelled = {spelling(name) for name in columns}
    if name == "rating" and spelled & {"match", "rank", "winner", "result", "white", "opponent"}:
        return (
            "must be a column of a table of ratings; a table of matches is rated with `equipoise "
            "rate FILE --output ratings.csv`"
        )
    way = f"; name it with --column {name}=COLUMN" if is_named else ""
    return f"must be a column of the table{way}"


class PlayerRows:
    """The rows of a table of players, with what is wrong in them.

    what : the table is, where it has no name
    ids : of the players, null where a row has none
    notes : sentences on numbers in other notations, such as decimal commas
    """

    def __init__(self, table: Table, what: str) -> None:
        self.table, self.what = table, what
        self.notes: list[str] = []
        self.findings = Findings(table, np.arange(len(table.frame)))
        column = table.frame["player"]
        self.ids, faults = required_ids(column, table.untyped)
        self.findings.add_faults("player", faults, column)

    def has(self, name: str) -> bool:
        """Return whether the table has a column."""
        return name in self.table.frame.columns

    def numbers(self, name: str, *, may_lack: Lack = "none") -> Floats:
        """Return a column of numbers, NaN where a row has none, or without such a column.

        may_lack : which rows may have no number; "all" means all rows or none
        """
        if not self.has(name):
            return np.full(len(self.table.frame), np.nan)
        column = self.table.frame[name]
        plain = without_marks(column, self.notes) if name == "rating" else column
        values, absent, faults = numbers_of(
            plain, self.notes, by_commas=self.table.by_commas, nan_is_absent=may_lack != "none"
        )
        self.findings.add_faults(name, faults, column)
        if absent is not None and may_lack != "any" and not (may_lack == "all" and absent.all()):
            self.check(name, ~absent | faulty_rows(faults, len(values)), NUMBER)
        return values

    def check(self, name: str, good: Flags, rule: str) -> None:
        """Record the rows of a column that are not good."""
        if not good.all():
            self.findings.add_faults(name, [Fault(~good, rule)], self.table.frame[name])

    def check_once(self, rule: str, among: Flags | None = None) -> None:
        """Record the rows that have a player of a row before them.

        among : the rows that count; None: all
        """
        ids = self.ids if among is None else self.ids.set(pl.Series(~among), None)
        self.check("player", (ids.is_null() | ids.is_first_distinct()).to_numpy(), rule)

    def refuse(self) -> None:
        """Raise with all problems, if there are any. Raises : InvalidDataError."""
        refuse_problems(self.findings.problems(), self.table, self.what)


def heading(problems: Sequence[Problem], table: Table, what: str) -> str:
    """Return the sentence above a list of problems of a table; `what` it is without a name."""
    return f"{counted(len(problems), 'problem')} in {table.name or what}"


def refuse_problems(problems: Sequence[Problem], table: Table, what: str) -> None:
    """Raise with all problems, if there are any. Raises : InvalidDataError."""
    if problems:
        raise InvalidDataError(problems, heading(problems, table, what))


SEPARATOR = ";"

#: What the table is, where it has no name.
WHAT, WHAT_RATINGS = "the lobby", "the ratings"

#: Columns that only a lobby has.
_OWN = ("effective_rating", "form", "party", "team", "avoid")

#: Columns of numbers, and which rows may have none: deviations are of a system without them, form
#: is of players without a match.
_NUMBERS: Mapping[str, Lack] = {
    "rating": "none",
    "deviation": "all",
    "effective_rating": "none",
    "form": "any",
}


@checks_arguments()
def read_lobby(
    source: object, *, format: str | None = None, default_deviation: float | None = None
) -> Lobby:
    """Return the lobby of a source.

    source : path of a file (.csv, .tsv, .json, .jsonl, .parquet, ...), "-" or a stream (with
        `format`), a Polars, pandas or Arrow table, or a mapping of column name to array
    format : format of the source, if its name does not show it; columns with another name are taken
        if they are the only ones that can be meant, such as Name for player and Elo for rating
    default_deviation : of players without a deviation; None: all players must have one, or none
    Raises : InvalidDataError        there are problems; lists all of them
    Raises : InvalidParameterError   wrong usage

    Examples
    --------
    >>> eq.read_lobby("examples/lobby.csv")
    <Lobby: 10 players, the top player amber-fox>
    """
    return read_lobby_noting(source, format=format, default_deviation=default_deviation)[0]


def read_lobby_noting(
    source: object, *, format: str | None = None, default_deviation: float | None = None
) -> tuple[Lobby, tuple[str, ...]]:
    """Return the lobby of a source, as `read_lobby` does, and notes on how it was read."""
    opened = open_source(source, format)
    table, notes = rename_player_columns(opened, None, WHAT, _OWN)
    lobby, more = _lobby_of(table, default_deviation)
    return lobby, (*opened.notes, *notes, *more)


def read_lobby_of(
    source: object,
    players: Sequence[str],
    *,
    format: str | None = None,
    default_deviation: float | None = None,
) -> tuple[Lobby, tuple[str, ...]]:
    """Return the lobby of some players of a table of ratings, in the order in which they are named.

    The second value has notes on how the table was read.
    Raises : NotFoundError      players have no rating; names all of them
    Raises : InvalidDataError   a player is named twice, or has a bad value
    """
    table, notes = rename_player_columns(open_source(source, format), None, WHAT_RATINGS)
    ids = read_ids(table.frame["player"], table.untyped)[0].cast(pl.String).to_list()
    row_of = {player: row for row, player in enumerate(ids) if player is not None}
    missing = [player for player in players if player not in row_of]
    if missing:
        where = f" of {table.name}" if table.name else ""
        hint = did_you_mean(missing, row_of) or "."
        raise NotFoundError(
            f"not among the {counted(len(row_of), 'rated player')}{where}: {', '.join(missing)}"
            f"{hint} A table of ratings does not say how newcomers start; a saved state does "
            "(--state)"
        )
    twice = [player for player, count in Counter(players).items() if count > 1]
    if twice:
        raise InvalidDataError(
            [Problem("--players", None, "player", ONCE, player) for player in twice]
        )
    rows = np.array([row_of[player] for player in players], dtype=np.int64)
    lobby, more = _lobby_of(_chosen(table, rows), default_deviation)
    return lobby, (*table.notes, *notes, *more)


def _chosen(table: Table, rows: Ints) -> Table:
    """Return some rows of a table of ratings; a row that could not be parsed counts as it is."""
    return replace(table, broken_rows=()).only(rows)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Strengths:
    """The numbers of some players of a table of ratings.

    rows : id as text -> row of the arrays; players who are not in the table are missing
    rating, effective_rating : shape (P,); deviation : shape (P,), NaN if unknown
    count : number of players of the table
    notes : sentences on how the table was read
    """

    rows: Mapping[str, int]
    rating: Floats
    effective_rating: Floats
    deviation: Floats
    count: int
    notes: tuple[str, ...]


def read_strengths(source: object, players: Sequence[str]) -> Strengths:
    """Return the numbers of those of some players who are in a table of ratings.

    Raises : InvalidDataError   a player is twice in the table, or has a bad value
    """
    table, notes = rename_player_columns(open_source(source, None), None, WHAT_RATINGS)
    ids = read_ids(table.frame["player"], table.untyped)[0].cast(pl.String)
    at = ids.is_in(list(players)).fill_null(False).arg_true().to_numpy().astype(np.int64)
    rows = PlayerRows(_chosen(table, at), WHAT_RATINGS)
    rows.check_once(ONCE)
    rating = rows.numbers("rating")
    deviation, effective, form = (
        rows.numbers(name, may_lack="any") for name in ("deviation", "effective_rating", "form")
    )
    rows.refuse()
    adjusted = EffectiveRating().rating(rating, np.nan_to_num(deviation), np.nan_to_num(form))
    return Strengths(
        rows={player: row for row, player in enumerate(ids.gather(at).to_list())},
        rating=rating,
        effective_rating=np.where(np.isnan(effective), adjusted, effective),
        deviation=deviation,
        count=len(ids),
        notes=(*table.notes, *notes, *rows.notes),
    )


def _lobby_of(table: Table, default_deviation: float | None) -> tuple[Lobby, list[str]]:
    """Return the lobby of a table and notes, or raise with every problem and its line."""
    frame = table.frame
    check_player_columns(table, WHAT)
    rows = PlayerRows(table, WHAT)
    ids, findings = rows.ids, rows.findings
    lacks = dict(_NUMBERS) if default_deviation is None else {**_NUMBERS, "deviation": "any"}
    numbers = {
        name: rows.numbers(name, may_lack=may_lack)
        for name, may_lack in lacks.items()
        if rows.has(name)
    }
    labels = {name: _labels(frame, name, findings) for name in ("party", "team")}
    # From a system without deviations, or from no system.
    deviation = numbers.get("deviation", np.zeros(len(frame)))
    if default_deviation is not None:
        lacking = np.isnan(deviation) if "deviation" in numbers else np.ones(len(frame), dtype=bool)
        deviation = np.where(lacking, default_deviation, deviation)
    elif np.isnan(deviation).all():
        deviation = np.zeros(len(frame))
    effective = numbers.get("effective_rating")
    if effective is None and "form" in numbers:
        # Players without a match have no form.
        form = np.where(np.isnan(numbers["form"]), 0.0, numbers["form"])
        effective = EffectiveRating().rating(numbers["rating"], deviation, form)
    # A bad cell does not hide others: rows without an id count as separate players until then.
    names = [f"\0{row}" if player is None else player for row, player in enumerate(ids.to_list())]
    try:
        lobby = Lobby(
            player_ids=np.array(names, dtype=object),
            rating=numbers["rating"],
            deviation=deviation,
            effective_rating=effective,
            avoid=() if ids.null_count() else _avoided(frame, names),
            party=labels["party"],
            team=labels["team"],
        )
    except InvalidDataError as error:
        problems = _with_cells(findings, error.problems, table)
        raise InvalidDataError(problems, heading(problems, table, WHAT)) from None
    rows.refuse()
    return lobby, rows.notes


def _with_cells(
    findings: Findings, problems: Sequence[Problem], table: Table
) -> tuple[Problem, ...]:
    """Return the problems of cells and of the lobby; a bad cell is reported once.

    problems : of the lobby; lines are rows from 1
    """
    of_lobby = [replace(problem, file=table.name) for problem in problems if problem.line is None]
    for problem in problems:
        # An effective rating may be computed from the other numbers.
        numbers = ("effective_rating", "rating", "deviation", "form")
        cells = numbers if problem.field == "effective_rating" else (problem.field,)
        if problem.line is not None and not findings.bad_in(*cells)[problem.line - 1]:
            has_commas = problem.field == "avoid" and "," in problem.got
            got = f"{problem.got}; semicolons separate ids" if has_commas else problem.got
            findings.add(np.array([problem.line - 1]), problem.field, problem.rule, [got])
    return (*of_lobby, *findings.problems())


def _labels(frame: pl.DataFrame, name: str, findings: Findings) -> Ids | None:
    """Return the labels of parties or locks as text, None if there is none."""
    if name not in frame.columns:
        return None
    ids, faults = read_ids(frame[name], untyped=False)
    findings.add_faults(name, faults, frame[name])
    return np.array(ids.cast(pl.String).to_list(), dtype=object)


def _avoided(frame: pl.DataFrame, names: Sequence[Any]) -> tuple[tuple[Any, Any], ...]:
    """Return the pairs of players who avoid each other."""
    if "avoid" not in frame.columns:
        return ()
    id_of = {str(name): name for name in names}
    pairs = []
    for name, cell in zip(names, frame["avoid"].to_list(), strict=True):
        for other in _ids_of(cell):
            pairs.append((name, id_of.get(other, other)))
    return tuple(pairs)


def _ids_of(cell: Any) -> list[str]:
    """Return the ids in a cell: a list, JSON text of a list, or text with semicolons."""
    if cell is None:
        return []
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            cell = json.loads(cell)
    listed = cell if isinstance(cell, list) else str(cell).split(SEPARATOR)
    texts = [str(text).strip() for text in listed if text is not None]
    return [text for text in texts if text]


def ids_of(text: str, option: str) -> list[str]:
    """Return ids from text: they are separated by commas; an id with a comma is quoted as in CSV.

    Raises : InvalidParameterError
    """
    try:
        (ids,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        ids = []
    ids = [name.strip() for name in ids]
    if not ids or not all(ids):
        raise InvalidParameterError(
            f"{option} takes ids separated by commas, in double quotes if an id has a comma; "
            f"got {text!r}"
        )
    return ids


#: What the table is, where it has no name.
WHAT_INITIAL = "the initial ratings"

_POSITIVE = "must be positive"
_ONCE = "must not repeat a player"
_ONCE_IN_LIST = (
    "must not repeat a player; leave out one of the rows, or read a column of ids with --column "
    "player=COLUMN"
)
_FROM_ZERO = "must be at least 0"


@checks_arguments()
def read_initial_ratings(source: object, *, format: str | None = None) -> InitialRatings:
    """Return the ratings of a source; players without a deviation have that of newcomers.

    A column with another name is taken if it is the only one that can be meant, such as Elo for
    rating; `notes` of the result say so.

    source : path of a file (.csv, .tsv, .json, .jsonl, .parquet, ...), "-" or a stream (with
        `format`), a Polars, pandas or Arrow table, or a mapping of column name to array; or PGN or
        a FIDE report, which give the rating of every player in the first game
    format : format of the source, if its name does not show it
    Raises : InvalidDataError        there are problems; lists all of them
    Raises : InvalidParameterError   wrong usage

    Examples
    --------
    >>> known = eq.read_initial_ratings({"player": ["ann", "ben"], "rating": [1700, 1500]})
    >>> known.rating.tolist()
    [1700.0, 1500.0]
    """
    return read_initial_table(source, format)[0]


def read_initial_table(
    source: object, format: str | None = None
) -> tuple[InitialRatings, Sequence[str]]:
    """Return `read_initial_ratings`, and the columns of the table; none of PGN and reports."""
    saved = read_first_ratings(source, format)
    if saved is not None:
        return saved, ()
    table, notes = rename_player_columns(open_source(source, format), None, WHAT_INITIAL)
    more: list[str] = []
    known = initial_ratings_of(table, more)
    return replace(known, notes=(*table.notes, *notes, *more)), table.frame.columns


def initial_ratings_of(table: Table, notes: list[str]) -> InitialRatings:
    """Return the ratings of a table whose columns have their own names.

    notes : gets sentences on numbers in other notations
    Raises : InvalidDataError
    """
    check_player_columns(table, WHAT_INITIAL)
    rows = PlayerRows(table, WHAT_INITIAL)
    rows.check_once(_ONCE)
    rating = rows.numbers("rating")
    deviation = rows.numbers("deviation", may_lack="any")
    rows.check("deviation", ~(deviation <= 0), _POSITIVE)
    notes += rows.notes
    if rows.has("volatility"):
        name = table.name or WHAT_INITIAL
        notes.append(
            f"{name}: volatility, a column of Glicko-2, is not read; the ratings are taken as they "
            "are, whatever the scale of the system in use"
        )
    rows.refuse()
    whole = rows.ids.dtype.is_integer()
    return InitialRatings(
        player_ids=np.array(rows.ids.to_list(), dtype=np.int64 if whole else object),
        rating=rating,
        deviation=deviation,
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RatingList:
    """The players of a table with their ratings, every player once.

    ids : text; rating, deviation : shape (P,), deviation NaN if unknown
    matches : shape (P,), numbers of rated matches; None if they were not read or the table has none
    name : of the file, "" for values in memory
    columns : those that were renamed, as they are in the table
    notes : sentences on how it was read
    """

    ids: pl.Series
    rating: Floats
    deviation: Floats
    matches: Floats | None
    name: str
    columns: frozenset[str]
    notes: tuple[str, ...]


def read_rating_list(
    source: object,
    *,
    format: str | None = None,
    columns: Mapping[str, str],
    synonyms: Mapping[str, str],
    what: str,
    matches: bool = False,
) -> RatingList:
    """Return the players of a table; those without a rating are left out, and a note names them.

    columns : new name -> name in the table; names that are not in it are ignored
    synonyms : name -> name of the player
    what : the table is, where it has no name
    matches : read the column of matches, if there is one
    Raises : InvalidDataError   there are problems; lists all of them
    """
    opened = open_source(source, format)
    table, notes = rename_player_columns(opened, columns, what)
    rows = PlayerRows(table, what)
    rows.ids = merge_ids(rows.ids, synonyms).cast(pl.String)
    rating = rows.numbers("rating", may_lack="any")
    deviation = rows.numbers("deviation", may_lack="any")
    rows.check("deviation", ~(deviation < 0), _FROM_ZERO)
    played = rows.numbers("matches") if matches and rows.has("matches") else None
    rated = ~np.isnan(rating)
    # Only rated players count: lists have people twice, of whom one has no rating.
    rows.check_once(_ONCE_IN_LIST, rated)
    rows.refuse()
    unrated = rows.ids.filter(~rated).to_list()
    if unrated:
        lacking = f"{counted(len(unrated), 'player')} without a rating"
        rows.notes.append(f"{table.name or what}: {lacking} left out: {names_in_words(unrated)}")
    return RatingList(
        ids=rows.ids.filter(rated),
        rating=rating[rated],
        deviation=deviation[rated],
        matches=None if played is None else played[rated],
        name=table.name,
        columns=frozenset(columns.values()) & frozenset(opened.frame.columns),
        notes=(*table.notes, *notes, *rows.notes),
    )


RATINGS = "must have ratings of players, such as the tags WhiteElo and BlackElo"


def read_first_ratings(source: object, format: str | None) -> InitialRatings | None:
    """Return the ratings of players in their first games, None if it is not PGN or a report.

    Players whose first game has no rating are left out, because a later rating depends on games
    that are yet to be rated. Games that break a rule are skipped.
    Raises : InvalidDataError   the source cannot be read, or has no ratings
    """
    is_path = isinstance(source, str | os.PathLike) and str(source) != "-"
    content = format
    if isinstance(source, str | os.PathLike) and is_path and format is None:
        content = content_of(source)
    if content not in ("pgn", "trf"):
        return None
    name = str(source) if is_path else ""
    reading = scan_history(source, format=content, skip_bad="matches")
    history = reading.history
    if history is None:
        raise InvalidDataError(reading.problems, summarise(reading.problems, source))
    rating = history.attributes.get("rating")
    if rating is None:
        refuse(name, RATINGS, "none")
    players, first = np.unique(history.player, return_index=True)
    known = ~np.isnan(rating[first])
    return InitialRatings(
        player_ids=history.player_ids[players[known]],
        rating=rating[first[known]],
        deviation=np.full(int(known.sum()), np.nan),
    )
