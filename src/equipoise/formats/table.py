"""What a reader hands over: a long table as it came, and the list of what is wrong with it.

A reader of a format only takes a file apart into named columns; `Table` carries them together
with the way back from a row to its file and line. `Findings` collects every broken rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import NamedTuple, NoReturn, TypeAlias

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Ints
from equipoise.errors import InvalidDataError, Problem

#: Row numbers from 0 -> the file and the line (or row) from 1 of each.
Locate: TypeAlias = Callable[[Ints], list[tuple[str, int | None]]]

#: What is wrong with a path that leads nowhere.
NO_FILE = "no such file or directory"
#: When a rule is broken on every row, and on more rows than this, it is told once.
LISTED_ALIKE = 100
#: Characters of a value shown in a problem.
SHOWN_CHARACTERS = 60


class BrokenRow(NamedTuple):
    """A row that a reader could not take apart: its number from 0, and what is wrong."""

    row: int
    field: str
    rule: str
    got: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A long table as it came from a source; nothing in it is checked yet.

    frame : the columns under the names of the source
    name : of the file, "" for values in memory
    untyped : every column is text (CSV): numbers must be recognised
    borrowed : the memory is the caller's, who may change it
    locate : rows -> file and line; None counts rows from 1
    broken_rows : rows the reader could not take apart
    notes : things a user should know, as sentences
    """

    frame: pl.DataFrame
    name: str = ""
    untyped: bool = False
    borrowed: bool = False
    locate: Locate | None = None
    broken_rows: tuple[BrokenRow, ...] = ()
    notes: tuple[str, ...] = ()

    def places(self, rows: Ints) -> list[tuple[str, int | None]]:
        """Return the file and line of rows."""
        if self.locate is not None:
            return self.locate(rows)
        return [(self.name, row + 1) for row in rows.tolist()]

    def without(self, dropped: Flags) -> Table:
        """Return the table without some rows; the others keep their lines."""
        kept = np.flatnonzero(~dropped)
        place = {row: at for at, row in enumerate(kept.tolist())} if self.broken_rows else {}
        return replace(
            self,
            frame=self.frame.filter(~dropped),
            locate=lambda rows: self.places(kept[rows]),
            broken_rows=tuple(
                broken._replace(row=place[broken.row])
                for broken in self.broken_rows
                if broken.row in place
            ),
        )


def refuse(name: str, rule: str, got: str, *, line: int | None = None, field: str = "") -> NoReturn:
    """Raise InvalidDataError with one problem of a whole file."""
    raise InvalidDataError([Problem(name, line, field, rule, got)])


def shown(value: object) -> str:
    """Return a value as it stands in a problem: text in quotes, "nothing" where there is none."""
    if value is None or (isinstance(value, str) and not value):
        return "nothing"
    if isinstance(value, pl.Series):
        value = value.to_list()
    if isinstance(value, datetime | date):
        return value.isoformat()
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."


def _shown_all(values: pl.Series) -> list[str]:
    """Return values as they stand in problems, dates that Python has no value for as text."""
    try:
        return [shown(value) for value in values]
    except ValueError:
        return values.cast(pl.String).fill_null("nothing").to_list()


class Fault(NamedTuple):
    """A rule that some rows of a column break; `rows` is a mask."""

    rows: Flags
    rule: str


@dataclass(slots=True)
class Findings:
    """Problems of the rows of a table, and which rows they make unusable.

    table : where rows come from; rows : number in the table of every row still in play
    """

    table: Table
    rows: Ints
    bad: Flags = field(init=False)
    broken: Flags = field(init=False)
    _found: list[tuple[int, Problem]] = field(init=False, default_factory=list)
    _bad_in: dict[str, Flags] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.broken = np.zeros(len(self.rows), dtype=bool)
        self._add_broken()
        self.bad = self.broken.copy()

    def add_faults(self, name: str, faults: Iterable[Fault], values: pl.Series) -> None:
        """Record rows of a column that break rules: these rows are unusable.

        values : the column as it came, a row for each row still in play
        """
        for rows, rule in faults:
            at = np.flatnonzero(rows & ~self.broken)
            self.bad[at] = True
            self._bad_in.setdefault(name, np.zeros(len(self.rows), dtype=bool))[at] = True
            self._add_alike(at, name, rule, _shown_all(values.gather(at)))

    def bad_in(self, *names: str) -> Flags:
        """Return the rows of which a cell in one of the columns is bad, or which are broken."""
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
        return tuple(problem for _, problem in sorted(self._found, key=lambda found: found[0]))

    def _add_alike(self, at: Ints, name: str, rule: str, got: list[str]) -> None:
        if len(at) > LISTED_ALIKE and len(at) == len(self.rows):
            at, got = at[:1], [f"{got[0]}, and the same on all {len(got):,} rows"]
        self.add(at, name, rule, got)

    def _add_broken(self) -> None:
        """Record the rows that the reader could not take apart."""
        place: dict[int, int] = {}
        if self.table.broken_rows:
            place = {row: at for at, row in enumerate(self.rows.tolist())}
        for row, name, rule, got in self.table.broken_rows:
            if row in place:
                self.broken[place[row]] = True
                self.add(np.array([place[row]]), name, rule, [got])
