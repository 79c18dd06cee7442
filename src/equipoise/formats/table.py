"""The table or games that a reader returns, the options, and the rules that rows break.

A reader of a format only splits a file into named columns. `Table` has these columns, and finds the
file and line of a row; formats of games give `GameColumns`. `Options` say how a caller wants it
read. `Findings` has the problems of its rows, and which rows they make unusable.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.games import RoundKind, Rounds
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem

SkipBad: TypeAlias = Literal["matches", "rows"]
#: The place of players who have none: NC, DNF.
Unplaced: TypeAlias = Literal["last"]
#: What happens to matches that nobody played.
Walkovers: TypeAlias = Literal["drop", "keep"]
#: A bound of time: ISO 8601 text, a date, or in the format of the table's times.
Instant: TypeAlias = str | int | float | date | datetime
#: Equality filters: column -> value, or pairs of them.
Where: TypeAlias = Mapping[str, object] | Iterable[tuple[str, object]]

#: From row numbers, counted from 0, to the file and line (or row, from 1) of each.
Locate: TypeAlias = Callable[[Ints], list[tuple[str, int | None]]]

#: The problem of a path that does not exist.
NO_FILE = "no such file or directory"
#: Maximum number of columns, that of spreadsheets.
MOST_COLUMNS = 16_384
#: Maximum number of rows times columns of a table of JSON objects. Each may have keys of its own,
#: so this may be far more than the file has.
MOST_SPARSE_CELLS = 200_000_000
#: Maximum number of bytes of a text, and of the name of a column.
LONGEST_FIELD = 2**20
LONG_FIELD = f"must have fields of at most {LONGEST_FIELD:,} bytes"
#: An escape of a surrogate in JSON, which is text only as one half of a pair.
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
#: Characters of a value shown in a problem.
SHOWN_CHARACTERS = 60
#: Characters of the names of columns in a problem: about a line and a half of a terminal.
_NAMED_CHARACTERS = 120


class BrokenRow(NamedTuple):
    """A row that a reader could not parse: its number from 0, and the problem."""

    row: int
    field: str
    rule: str
    got: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A long table as read from a source, without any checks.

    frame : the columns under the names of the source
    name : of the file, "" for values in memory
    untyped : every column is text (CSV), so numbers must be recognised
    borrowed : the memory belongs to the caller, who may change it
    lines : of the rows, None counts them from 1; locate : from rows to files and lines, for tables
      that find them late or have several files
    broken_rows : rows that the reader could not parse
    notes : sentences for users
    format : how the source is stored, "" if it says nothing
    by_commas : commas separate its columns, so none in a number is a decimal comma
    nested : columns of lists or objects, whose values are JSON
    dates : columns of text whose every value the file stores as a date, as workbooks do
    files : names of the files, if there are several; file_of : the number of the file of each row
    """

    frame: pl.DataFrame
    name: str = ""
    untyped: bool = False
    borrowed: bool = False
    lines: Sequence[int] | None = None
    locate: Locate | None = None
    broken_rows: tuple[BrokenRow, ...] = ()
    notes: tuple[str, ...] = ()
    format: str = ""
    by_commas: bool = False
    nested: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    file_of: Ints | None = None

    def places(self, rows: Ints) -> list[tuple[str, int | None]]:
        """Return the file and line of rows."""
        if self.locate is not None:
            return self.locate(rows)
        lines = self.lines
        return [(self.name, row + 1 if lines is None else lines[row]) for row in rows.tolist()]

    def flat(self) -> Table:
        """Return the table without nested columns, and with a note on each of them."""
        nested = [name for name in self.nested if name in self.frame.columns]
        if not nested:
            return self
        notes = (*self.notes, *(nested_note(name) for name in nested))
        return replace(self, frame=self.frame.drop(nested), nested=(), notes=notes)

    def only(self, kept: Ints) -> Table:
        """Return the table with some rows alone, in this order; they keep their lines."""
        place = {row: at for at, row in enumerate(kept.tolist())} if self.broken_rows else {}
        return replace(
            self,
            frame=self.frame[kept],
            file_of=None if self.file_of is None else self.file_of[kept],
            locate=lambda rows: self.places(kept[rows]),
            broken_rows=tuple(
                broken._replace(row=place[broken.row])
                for broken in self.broken_rows
                if broken.row in place
            ),
        )


class Content(NamedTuple):
    """One file to read.

    name : for problems; format : how it is stored, without compression, or "pgn" or "trf"
    data : its bytes without compression, its path, or a table that is read already. Only PGN may
        be compressed, and may be a folder
    """

    name: str
    format: str
    data: bytes | Path | Table
    notes: tuple[str, ...] = ()

    def content(self) -> bytes:
        """Return all bytes. Raises : InvalidDataError."""
        if isinstance(self.data, bytes):
            return self.data
        assert isinstance(self.data, Path), self.name
        try:
            return self.data.read_bytes()
        except OSError as error:
            refuse_unreadable(self.name, error)


class Unplayed(NamedTuple):
    """A bye, or a forfeit of one of the two sides.

    player, opponent : rows of the players of a source; -1 for no opponent
    round : as the source has it; kind : of the player's round
    """

    player: int
    opponent: int
    round: str
    kind: RoundKind


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GameColumns:
    """G results as a source has them, one row each.

    players : ids of players, int64 or object of str; rows name each of them once
    white, black : shape (G,), rows of `players`; white has the white pieces if `coloured`
    points : shape (G,), of white, from 0 to weight; rows that break this have a problem instead
    weight : shape (G,), number of games of each result; None means 1 each
    white_rating, black_rating : shape (G,), NaN if unrated; None: the source has none
    draws : shape (G,), number of drawn games; None if unknown
    coloured : whether white had the white pieces
    round : shape (G,), object; None: the source has none
    others : rows of `players` who are named but may have no game; None if nobody is
    other_rating : rating of each of `others`, NaN if unrated; None: the source has none
    rounds : rounds of `others`, with byes and forfeits; None if the source does not tell them
    unplayed : byes and forfeits of a source that tells rounds by `round`
    left_out : reason -> number of results that are not games
    problems : broken rules, with lines
    notes : sentences
    locate : row -> file and line, for problems that are found later
    skipped : number of results that break a rule, which are not among the rows
    refused : whether a problem concerns more than single results, so that skipping is impossible
    format, kind, meanings : how the source is stored, what it holds, and its columns that have a
      meaning, as in `GamesReading`
    dropped : what the skipped results are called, as many as `skipped`; readers that cannot say it
      have none
    numbers : shape (G,), number of each result in the source, from 1, also counting those that are
      not games; None if results are not counted
    times : when the games were played, as dates or as dates with a time, null if unknown; None if
      the source has none, or was not asked for them
    time_source : what `times` come from, for notes
    events : shape (G,), object, event of each game, None if unknown; None: the source has none
    tags : name -> shape (G,), object of str: tags of PGN that were asked for, "" if a game has none
    """

    players: Ids
    white: Ints
    black: Ints
    points: Floats
    weight: Floats | None = None
    white_rating: Floats | None = None
    black_rating: Floats | None = None
    draws: Floats | None = None
    coloured: bool = False
    round: Ids | None = None
    others: Ints | None = None
    other_rating: Floats | None = None
    rounds: Rounds | None = None
    unplayed: tuple[Unplayed, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    locate: Callable[[int], tuple[str, int | None]] | None = None
    skipped: int = 0
    refused: bool = False
    format: str = ""
    kind: str = ""
    meanings: Mapping[str, str] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    numbers: Ints | None = None
    times: pl.Series | None = None
    time_source: str = ""
    events: Ids | None = None
    tags: Mapping[str, Ids] = field(default_factory=dict)

    def place(self, row: int) -> tuple[str, int | None]:
        """Return the file and line of a result; without files, its number from 1."""
        return ("", row + 1) if self.locate is None else self.locate(row)

    def keep(self, rows: Ints) -> GameColumns:
        """Return some of the results; the rounds of players are not known any more."""
        locate = self.locate
        of_rows = ("white", "black", "points", "weight", "white_rating", "black_rating", "draws")
        kept = {
            name: column[rows]
            for name in (*of_rows, "round", "numbers", "events")
            if (column := getattr(self, name)) is not None
        }
        return replace(
            self,
            rounds=None,
            locate=None if locate is None else lambda row: locate(int(rows[row])),
            times=None if self.times is None else self.times.gather(rows),
            tags={tag: values[rows] for tag, values in self.tags.items()},
            **kept,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to turn a table into a history; the parameters of `read_history`.

    Without any, all rows are read under the names that the table has.

    since, until : as given by the caller, None if unbounded
    time_format : format of the times; None detects it
    lower_score_is_better : the lowest score is first, if `score` decides the places
    unplaced : the place of players whose place is a word such as DNF; None refuses them
    synonyms : name of a player -> the id of the same player
    walkovers : whether matches that nobody played are left out, where a table says so
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    statistics: tuple[str, ...] = ()
    skip_bad: SkipBad | None = None
    since: Instant | None = None
    until: Instant | None = None
    time_format: str | None = None
    where: tuple[tuple[str, object], ...] = ()
    lower_score_is_better: bool = False
    unplaced: Unplaced | None = None
    synonyms: Mapping[str, str] = field(default_factory=dict)
    walkovers: Walkovers = "keep"


class NoEffectError(InvalidParameterError):
    """Options have no place in the format of a source.

    parameters : their names as parameters; what : the source, in words
    """

    parameters: tuple[str, ...] = ()
    what: str = ""


def no_effect(message: str, what: str, *parameters: str) -> NoEffectError:
    """Return the error of options that have no place in a source."""
    error = NoEffectError(message)
    error.parameters, error.what = parameters, what
    return error


def refuse_options(options: Options, what: str, *, tags: bool = False) -> None:
    """Raise NoEffectError if options are given that only tables of games have.

    what : the kind of source; tags : whether it has tags that `where` can name
    """
    for value, parameter in (
        (options.columns, "columns (--column)"),
        (options.where and not tags, "where (--where)"),
        (options.since is not None or options.until is not None, "since and until"),
        (options.time_format is not None, "time_format (--time-format)"),
    ):
        if value:
            names = parameter.partition(" (")[0].split(" and ")
            raise no_effect(f"{parameter} must be left out for {what}", what, *names)


def nested_note(column: str) -> str:
    """Return the note on a column of lists or objects, which no history keeps."""
    return f"column {column!r} is left out: its values are nested"


def refuse(name: str, rule: str, got: str, *, line: int | None = None, field: str = "") -> NoReturn:
    """Raise InvalidDataError with one problem of a complete file."""
    raise InvalidDataError([Problem(name, line, field, rule, got)])


def check_columns(names: Sequence[str], name: str = "", line: int | None = None) -> None:
    """Check that columns have different names and are not too many. Raises : InvalidDataError.

    name, line : the file, and the line of its header
    """
    if len(names) > MOST_COLUMNS:
        refuse(name, f"must have at most {MOST_COLUMNS:,} columns", f"{len(names):,}", line=line)
    twice = [(name, count) for name, count in Counter(names).items() if count > 1]
    if twice:
        rule = "must be the name of only one column"
        raise InvalidDataError(
            [Problem(name, line, one, rule, f"{count} columns") for one, count in twice]
        )


def check_cells(rows: int, columns: int, name: str = "") -> None:
    """Check that rows with keys of their own make no huge table. Raises : InvalidDataError."""
    if columns > MOST_COLUMNS:
        refuse(name, f"must have at most {MOST_COLUMNS:,} columns", f"{columns:,}")
    if rows * columns > MOST_SPARSE_CELLS:
        rule = f"must have at most {MOST_SPARSE_CELLS:,} values, rows times columns"
        refuse(name, rule, f"{rows:,} rows and {columns:,} columns")


def check_fields(table: Table) -> Table:
    """Return a table if none of its texts and names is far too long. Raises : InvalidDataError.

    Nested columns may have longer values, because they are left out.
    """
    for column in table.frame.drop(table.nested):
        if len(column.name) > LONGEST_FIELD:
            refuse(table.name, LONG_FIELD, "a longer name of a column")
        if column.dtype in (pl.String, pl.Categorical, pl.Enum):
            lengths = column.cast(pl.String).str.len_bytes()
        elif column.dtype == pl.Binary:
            lengths = column.bin.size()
        else:
            continue
        longer = (lengths > LONGEST_FIELD).arg_true().to_numpy().astype(np.int64)
        if len(longer):
            ((name, line),) = table.places(longer[:1])
            refuse(name, LONG_FIELD, "a longer one", line=line, field=column.name)
    return table


def spelling(name: str) -> str:
    """Return the name of a column without capitals and separators: WhiteElo, white_elo."""
    return re.sub(r"[\s_\-./]", "", name).casefold()


def columns_in_words(names: Sequence[str]) -> str:
    """Return the columns of a table for a problem."""
    return f"columns {some_names(names)}" if names else "no columns"


def some_names(names: Sequence[str]) -> str:
    """Return names for a problem: the first that fit, and how many more there are."""
    lengths = np.cumsum([len(name) + 2 for name in names])
    shown = max(1, int(np.sum(lengths <= _NAMED_CHARACTERS)))
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more:,} more" if more > 0 else "")


def listed(texts: Sequence[str], most: int = 5) -> str:
    """Return the first texts, and how many more there are."""
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def refuse_unreadable(name: str, error: OSError) -> NoReturn:
    """Raise InvalidDataError for a file that the operating system cannot open."""
    refuse(name, "must be a readable file", error.strerror or type(error).__name__)


def shown(value: object) -> str:
    """Return a value for a problem: text in quotes, "nothing" if there is none."""
    if value is None or (isinstance(value, str) and not value):
        return "nothing"
    if isinstance(value, pl.Series):
        value = value.to_list()
    if isinstance(value, datetime | date):
        return value.isoformat()
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."


#: A rule that is broken on every row, and on more rows than this, is listed once.
LISTED_ALIKE = 100


def _shown_all(values: pl.Series) -> list[str]:
    """Return values as problems show them; dates beyond Python's range become text."""
    try:
        return [shown(value) for value in values]
    except ValueError:
        return values.cast(pl.String).fill_null("nothing").to_list()


def in_order(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return problems in the order of files, and within each in the order of lines."""
    files = {problem.file: at for at, problem in reversed(list(enumerate(problems)))}
    return tuple(sorted(problems, key=lambda problem: (files[problem.file], problem.line or 0)))


class Fault(NamedTuple):
    """A rule that some rows of a column break; `rows` is a mask."""

    rows: Flags
    rule: str


def faults_of(*candidates: tuple[Flags | None, str]) -> tuple[Fault, ...]:
    """Return those (rows, rule) as faults that have any rows."""
    return tuple(Fault(rows, rule) for rows, rule in candidates if rows is not None and rows.any())


def faulty_rows(faults: Iterable[Fault], rows: int) -> Flags:
    """Return the rows that have any of these faults, shape (rows,)."""
    faulty = np.zeros(rows, dtype=bool)
    for fault in faults:
        faulty |= fault.rows
    return faulty


@dataclass(slots=True)
class Findings:
    """Problems of the rows of a table, and which rows they make unusable.

    table : the source of the rows; rows : number in the table of every row that is left
    notes : sentences on values that were read
    """

    table: Table
    rows: Ints
    bad: Flags = field(init=False)
    broken: Flags = field(init=False)
    notes: list[str] = field(init=False, default_factory=list)
    _found: list[tuple[int, Problem]] = field(init=False, default_factory=list)
    _bad_in: dict[str, Flags] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.broken = np.zeros(len(self.rows), dtype=bool)
        self._add_broken()
        self.bad = self.broken.copy()

    def add_faults(self, name: str, faults: Iterable[Fault], values: pl.Series) -> None:
        """Record rows of a column that break rules, which makes these rows unusable.

        values : the column as read, for every row that is left
        """
        for rows, rule in faults:
            at = np.flatnonzero(rows & ~self.broken)
            self.bad[at] = True
            self._bad_in.setdefault(name, np.zeros(len(self.rows), dtype=bool))[at] = True
            got = _shown_all(values.gather(at))
            if len(at) > LISTED_ALIKE and len(at) == len(self.rows):
                at, got = at[:1], [f"{got[0]}, and the same on all {len(got):,} rows"]
            self.add(at, name, rule, got)

    def bad_in(self, *names: str) -> Flags:
        """Return the rows with a bad cell in one of the columns, and the malformed rows."""
        bad = self.broken.copy()
        for name in names:
            if name in self._bad_in:
                bad |= self._bad_in[name]
        return bad

    def add(self, at: Ints, name: str, rule: str, got: Sequence[str]) -> None:
        """Record a broken rule at each of some rows, without making the rows unusable."""
        rows = self.rows[at]
        places = self.table.places(rows)
        for row, (file, line), what in zip(rows.tolist(), places, got, strict=True):
            self._found.append((row, Problem(file, line, name, rule, what)))

    def problems(self) -> tuple[Problem, ...]:
        """Return all problems in the order of the rows."""
        return tuple(problem for _, problem in sorted(self._found, key=lambda entry: entry[0]))

    def broken_rows(self) -> tuple[BrokenRow, ...]:
        """Return the problems as a reader of files records rows that it could not parse."""
        return tuple(
            BrokenRow(row, problem.field, problem.rule, problem.got)
            for row, problem in sorted(self._found, key=lambda entry: entry[0])
        )

    def _add_broken(self) -> None:
        """Record the rows that the reader could not parse."""
        place: dict[int, int] = {}
        if self.table.broken_rows:
            place = {row: at for at, row in enumerate(self.rows.tolist())}
        for row, name, rule, got in self.table.broken_rows:
            if row in place:
                self.broken[place[row]] = True
                self.add(np.array([place[row]]), name, rule, [got])
