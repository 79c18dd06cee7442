"""Findings: the rules that rows of a table break, and which rows are unusable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Ints
from equipoise.errors import Problem
from equipoise.formats.table import BrokenRow, Table, shown

#: A rule that is broken on every row, and on more rows than this, is listed once.
LISTED_ALIKE = 100


def _shown_all(values: pl.Series) -> list[str]:
    """Return values as problems show them; dates beyond Python's range become text."""
    try:
        return [shown(value) for value in values]
    except ValueError:
        return values.cast(pl.String).fill_null("nothing").to_list()


class Fault(NamedTuple):
    """A rule that some rows of a column break; `rows` is a mask."""

    rows: Flags
    rule: str


def faulty_rows(faults: Iterable[Fault], rows: int) -> Flags:
    """Return the rows that have any of these faults, shape (rows,)."""
    found = np.zeros(rows, dtype=bool)
    for fault in faults:
        found |= fault.rows
    return found


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
            self._add_alike(at, name, rule, _shown_all(values.gather(at)))

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
        return tuple(problem for _, problem in sorted(self._found, key=lambda found: found[0]))

    def broken_rows(self) -> tuple[BrokenRow, ...]:
        """Return the problems as a reader of files records rows that it could not parse."""
        return tuple(
            BrokenRow(row, problem.field, problem.rule, problem.got)
            for row, problem in sorted(self._found, key=lambda found: found[0])
        )

    def _add_alike(self, at: Ints, name: str, rule: str, got: list[str]) -> None:
        if len(at) > LISTED_ALIKE and len(at) == len(self.rows):
            at, got = at[:1], [f"{got[0]}, and the same on all {len(got):,} rows"]
        self.add(at, name, rule, got)

    def _add_broken(self) -> None:
        """Record the rows that the reader could not parse."""
        place: dict[int, int] = {}
        if self.table.broken_rows:
            place = {row: at for at, row in enumerate(self.rows.tolist())}
        for row, name, rule, got in self.table.broken_rows:
            if row in place:
                self.broken[place[row]] = True
                self.add(np.array([place[row]]), name, rule, [got])
