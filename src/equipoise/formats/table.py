"""The table that a reader of a format returns, the options, the rules that rows break, the result.

A reader of a format only splits a file into named columns. `Table` has these columns, and finds the
file and line of a row; formats of games give `GameColumns`. `Options` say how a caller wants it
read. `Findings` has the problems of its rows, and which rows they make unusable. `HistoryReading`
and `GamesReading` are what becomes of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Ints
from equipoise.data.games import Games
from equipoise.data.history import History
from equipoise.display import Displayed
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.wording import addressed, counted

SkipBad: TypeAlias = Literal["matches", "rows"]
#: The place of players who have none: NC, DNF.
Unplaced: TypeAlias = Literal["last"]
#: What happens to matches that nobody played.
Walkovers: TypeAlias = Literal["drop", "keep"]
#: A bound of time: ISO 8601 text, a date, or in the format of the table's times.
Instant: TypeAlias = str | int | float | date | datetime
#: Equality filters: column -> value, or pairs of them.
Where: TypeAlias = Mapping[str, object] | Iterable[tuple[str, object]]

#: How a table is stored. Those that end in .gz must be compressed; all may be.
Format: TypeAlias = Literal[
    "csv",
    "csv.gz",
    "tsv",
    "tsv.gz",
    "parquet",
    "arrow",
    "jsonl",
    "jsonl.gz",
    "json",
    "contests",
    "codeforces",
    "dmoj",
    "atcoder",
    "excel",
]
CONTEST_FORMATS = ("json", "contests", "codeforces", "dmoj", "atcoder")
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".xls": "excel",
    ".ods": "excel",
    ".pgn": "pgn",
    ".trf": "trf",
    ".trfx": "trf",
}
#: Suffixes of compressed files.
PACKED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
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


def is_address(text: str) -> bool:
    """Return whether a text is an address and not a path."""
    scheme, mark, _ = text.partition("://")
    return bool(mark) and scheme.lower() in ("https", "http", "s3", "gs")


def format_of(path: Path | PurePosixPath) -> str | None:
    """Return the format by the suffix of a file's name without that of a compression, or None."""
    name = path.name.lower()
    for packed in PACKED_SUFFIXES:
        name = name.removesuffix(packed)
    return SUFFIXES.get(PurePosixPath(name).suffix)


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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Reading(Displayed):
    """What readers of histories and of games both say of a source."""

    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    format: str = ""
    kind: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(map(addressed, self.notes)))

    def _told(self, read: str) -> str:
        return f"{read}; {counted(len(self.problems), 'problem')}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HistoryReading(_Reading):
    """A history and what was left out to get it.

    history : the history; None if problems prevent it
    problems : every problem found, including those skipped on request
    dropped_matches : ids of complete matches dropped because of a problem
    dropped_rows : number of rows dropped because of a problem in matches that were kept
    unrated : number of matches dropped because their `rated` is false
    filtered : number of matches dropped by time or by `where`
    notes : further information for users, as sentences
    format : how the source is stored, such as "csv" or "codeforces"; "memory" for data in Python,
        "" if the source could not be opened
    kind : what the source holds: "history" (a row for each player in a match), "games" (a row for
        each game); "" if no kind fits
    columns : column with a meaning, such as "rank" or "white" -> its name in the source, also if
        it is the same

    Examples
    --------
    >>> reading = eq.scan_history("examples/contests.csv")
    >>> reading.history
    <History: 40 matches of 120 players, 2020-01-01 to 2020-09-30>
    >>> reading.problems
    ()
    >>> reading.format, reading.kind, sorted(reading.columns)
    ('csv', 'history', ['match', 'player', 'rank', 'time'])
    """

    history: History | None
    dropped_matches: tuple[str, ...] = ()
    dropped_rows: int = 0
    unrated: int = 0
    filtered: int = 0

    def _in_words(self) -> str:
        return self._told("no history" if self.history is None else self.history._in_words())


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GamesReading(_Reading):
    """Games and what was left out to get them.

    games : the games; None if problems prevent it
    problems : every problem found, including those skipped on request
    skipped : number of results (games, rows of a table, cells of a cross table) that were skipped
        on request because of a problem
    left_out : reason -> how many results are not games and so do not count: "unfinished",
        "without moves", "forfeit", "abandoned", "bye", "adjudged", "lost by both", "unrated",
        "filtered"
    notes : further information for users, as sentences: likely doubles of names, ratings that
        differ between games of one player, pairings that occur again
    format : how the source is stored, such as "csv" or "pgn"; "memory" for data in Python, "" if
        the source could not be opened
    kind : what the source holds: "games", "pairs", "crosstable" or "history"; "" if no kind fits
    columns : column with a meaning, such as "white" -> its name in the source, also if it is the
        same; empty if the source has no columns

    Examples
    --------
    >>> reading = eq.scan_games("examples/league.csv")
    >>> reading.games
    <Games: 1,080 results between 6 players>
    >>> reading.problems
    ()
    """

    games: Games | None
    skipped: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    def _in_words(self) -> str:
        return self._told("no games" if self.games is None else self.games._in_words())


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
