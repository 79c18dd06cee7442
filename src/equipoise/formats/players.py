"""Reads tables with one player on each row: a lobby, or initial ratings.

They have the columns `player` and `rating`, and further numbers that some rows may lack.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats
from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.table import Fault, Findings, Table, columns_in_words, faulty_rows
from equipoise.formats.tables.columns import NUMBER, required_ids
from equipoise.formats.tables.notation import numbers_of, without_marks
from equipoise.formats.tables.recognised import OF_PLAYERS, spelling
from equipoise.option_names import addressed
from equipoise.wording import counted

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
    table: Table, columns: Mapping[str, str] | None, what: str
) -> tuple[Table, tuple[str, ...]]:
    """Return a table with the columns player, rating and, if there is one, deviation, and notes.

    A column with another name is taken if it is the only one that can be meant.

    columns : new name -> name in the table; names that are not in it are ignored. None: no option
        names columns of this table
    what : the table is, where it has no name
    Raises : InvalidDataError   no column can be meant, or several can
    """
    frame = table.frame
    taken = {new: old for new, old in (columns or {}).items() if old in frame.columns}
    got = columns_in_words(frame.columns)
    problems, notes = [], []
    for name, spellings in OF_PLAYERS.items():
        if name in taken or name in frame.columns:
            continue
        free = [one for one in frame.columns if one not in taken.values()]
        meant = [one for one in free if spelling(one) in spellings]
        if len(meant) == 1:
            taken[name] = meant[0]
            notes.append(f"{table.name or what}: {meant[0]} was read as {name}")
        elif meant:
            choice = " or ".join(addressed(f"--column {option_text(name, one)}") for one in meant)
            way = f"call it {name} in the table" if columns is None else f"choose it with {choice}"
            rule = f"must be one column; {way}"
            problems.append(Problem(table.name, None, name, rule, "columns " + ", ".join(meant)))
        elif name != "deviation":
            rule = _lacking(name, free, is_named=columns is not None)
            problems.append(Problem(table.name, None, name, rule, got))
    refuse_problems(problems, table, what)
    kept = [one for one in frame.columns if one not in taken.values() and one not in taken]
    renamed = [frame[old].alias(new) for new, old in taken.items()]
    frame = pl.DataFrame([*(frame[one] for one in kept), *renamed])
    if not len(frame):
        rows = Problem(table.name, None, "", "must have at least one row", "none")
        refuse_problems([rows], table, what)
    return replace(table, frame=frame), tuple(notes)


def recognise_player_columns(
    table: Table, own: Collection[str], what: str
) -> tuple[Table, tuple[str, ...]]:
    """Return a table whose columns are named player, rating and deviation where this is clear.

    The second value has notes. A column that is missing, or that several could be, is left to
    `check_player_columns`.

    own : columns with a meaning of their own, which are none of these
    what : the table is, where it has no name
    """
    names = table.frame.columns
    taken = {}
    for name, spellings in OF_PLAYERS.items():
        meant = [one for one in names if one not in own and spelling(one) in spellings]
        if name not in names and len(meant) == 1:
            taken[meant[0]] = name
    notes = (f"{table.name or what}: {old} was read as {new}" for old, new in taken.items())
    return replace(table, frame=table.frame.rename(taken)), tuple(notes)


def option_text(name: str, column: str) -> str:
    """Return the value of `--column` as a shell takes it."""
    return shlex.quote(f"{name}={column}")


def _lacking(name: str, columns: Sequence[str], *, is_named: bool) -> str:
    """Return the rule on a missing column, and what to do; is_named : by an option."""
    spelled = {spelling(one) for one in columns}
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
