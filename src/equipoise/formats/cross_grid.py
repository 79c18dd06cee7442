"""Table of text -> grid of a cross table: its players, the column of each, and what cells say."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats
from equipoise.errors import Problem
from equipoise.formats.columns import required_ids
from equipoise.formats.cross_cells import BAD, BLANK, CELL, NONE, Cell, points_of, read_cell
from equipoise.formats.game_rows import read_ratings
from equipoise.formats.table import Fault, Findings, Table, refuse, shown

PLAYERS = "must have a column player or name"
ROWS = "must have a row for each player"
OPPONENTS = "must have a column for each player, headed by their name or by their number"
HEADED = "must be headed by the name or the number of a player"
ONE_COLUMN = "must be the only column of a player"
ONE_ROW = "must be the name of one player only"
ITSELF = "must be blank, - or X where a player's row meets their own column"

_PLAYER = ("player", "name", "players")
_RATING = ("rating", "elo", "rtg")
_NUMBER = ("no", "no.", "nr", "nr.", "number", "#")
_TOTAL = ("points", "pts", "pts.", "total", "score", "sum")
_HEADING = re.compile(r"#?(\d{1,9})\.?\Z")


@dataclass(slots=True)
class Grid:
    """The cells of a cross table; rows and players are numbers from 0.

    ids : of players, as `read_ids` has them; rating : NaN where unrated
    unusable : shape (rows,), rows that are of nobody, or of somebody who has a row already
    bad : (row, row of the opponent) of cells that break a rule
    headings : row of a player -> name of their column; a half table may lack one
    cells : (row, row of the opponent) -> what the cell says, where it says something
    total : name of the column of points, and its number on every row, NaN where it has none
    """

    table: Table
    findings: Findings
    ids: pl.Series
    rating: Floats | None
    unusable: Flags
    bad: set[tuple[int, int]] = field(default_factory=set)
    headings: dict[int, str] = field(default_factory=dict)
    cells: dict[tuple[int, int], Cell] = field(default_factory=dict)
    total: tuple[str, list[float]] | None = None
    heading_problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, row: int, heading: str, rule: str, got: str) -> None:
        """Record a broken rule of a cell."""
        self.findings.add(np.array([row]), heading, rule, [got])

    def add_heading(self, heading: str, rule: str, got: str) -> None:
        """Record a broken rule of a column."""
        self.heading_problems.append(Problem(self.table.name, None, heading, rule, got))

    def text(self, row: int, opponent: int) -> str:
        """Return what a cell holds, as it stands in a problem."""
        return shown(self.table.frame[self.headings[opponent]][row])

    def line(self, row: int) -> int | None:
        """Return the line of a row."""
        return self.table.places(np.array([row]))[0][1]

    def problems(self) -> tuple[Problem, ...]:
        """Return all problems, those of columns first."""
        return (*self.heading_problems, *self.findings.problems())


def read_grid(table: Table) -> Grid:
    """Return the grid of a table.

    Raises : InvalidDataError   it has no players, or none of its columns is of a player
    """
    frame = table.frame
    column = _column(frame.columns, _PLAYER)
    if column is None:
        if "" not in frame.columns:
            refuse(table.name, PLAYERS, f"columns {shown(', '.join(frame.columns))}")
        column = ""  # A corner that was left blank.
    if not len(frame):
        refuse(table.name, ROWS, "no rows")
    findings = Findings(table, np.arange(len(frame)))
    ids = _players(frame[column], findings)
    unusable = findings.bad.copy()
    rating, notes = _rating(frame, findings)
    grid = Grid(table, findings, ids, rating, unusable, notes=[*notes])
    _add_headings(grid, column)
    _add_cells(grid)
    total = _column(frame.columns, _TOTAL)
    if total is not None and total not in grid.headings.values():
        grid.total = (total, [points_of(text or "") for text in frame[total].to_list()])
    return grid


def heading_number(heading: str) -> int | None:
    """Return the number that heads a column, as in 7, 7. or #7, or None."""
    found = _HEADING.match(tidy(heading))
    return int(found[1]) if found else None


def tidy(text: str) -> str:
    """Return text with single blanks between its words."""
    return " ".join(text.split())


def _players(column: pl.Series, findings: Findings) -> pl.Series:
    """Return the id of every row, null where there is none."""
    ids, faults = required_ids(column, findings.table.untyped)
    again = ids.is_not_null() & ~ids.is_first_distinct()
    if again.any():
        faults = (*faults, Fault(again.to_numpy(), ONE_ROW))
    findings.add_faults(column.name or "player", faults, column)
    return ids


def _rating(frame: pl.DataFrame, findings: Findings) -> tuple[Floats | None, tuple[str, ...]]:
    """Return the rating of every row, NaN where there is none or a bad one, and notes.

    None without a column.
    """
    column = _column(frame.columns, _RATING)
    if column is None:
        return None, ()
    ratings = read_ratings(frame[column])
    findings.add_faults(column, ratings.faults, frame[column])
    return ratings.values, ratings.notes


def _add_headings(grid: Grid, column: str) -> None:
    """Find the column of every player; record columns that seem to be of nobody."""
    frame = grid.table.frame
    names = [tidy(str(one)) if one is not None else "" for one in grid.ids.to_list()]
    row_of = {name: row for row, name in reversed(list(enumerate(names))) if name}
    numbers = _numbers(frame)
    unknown = []
    for heading in frame.columns:
        number = heading_number(heading)
        row = row_of.get(tidy(heading), None if number is None else numbers.get(number))
        if heading == column:
            continue
        if row is None:
            if heading.strip().lower() not in (*_RATING, *_NUMBER, *_TOTAL):
                unknown.append(heading)
        elif grid.headings.setdefault(row, heading) != heading:
            got = f"{shown(grid.headings[row])} and {shown(heading)} for {shown(names[row])}"
            grid.add_heading(heading, ONE_COLUMN, got)
    if not grid.headings:
        refuse(grid.table.name, OPPONENTS, f"columns {shown(', '.join(frame.columns))}")
    skipped = []
    for heading in unknown:
        lacking = len(grid.headings) < len(names) or heading_number(heading) is not None
        if lacking and _holds_results(frame[heading]):
            grid.add_heading(heading, HEADED, shown(heading))
        else:
            skipped.append(shown(heading))
    if skipped:
        grid.notes.append(f"columns that are of no player were skipped: {', '.join(skipped)}")


def _numbers(frame: pl.DataFrame) -> dict[int, int]:
    """Return the row of every number that may head a column: as numbered, or else from 1."""
    column = _column(frame.columns, _NUMBER)
    if column is not None:
        given = [heading_number(text or "") for text in frame[column].to_list()]
        numbered = {number: row for row, number in enumerate(given) if number is not None}
        headed = {heading_number(heading) for heading in frame.columns} - {None}
        if len(numbered) == len(frame) and headed <= set(numbered):
            return numbered
    return {row + 1: row for row in range(len(frame))}


def _holds_results(column: pl.Series) -> bool:
    """Return whether a column holds results and nothing else."""
    kinds = {read_cell(one or "").kind for one in column.unique().to_list()}
    return "games" in kinds and "bad" not in kinds


def _add_cells(grid: Grid) -> None:
    """Read all cells that say something; record those that are no results."""
    seen: dict[str | None, Cell] = {None: BLANK}
    for other, heading in grid.headings.items():
        for row, text in enumerate(grid.table.frame[heading].to_list()):
            cell = seen.get(text)
            if cell is None:
                cell = seen[text] = read_cell(text)
            if cell is BLANK or grid.findings.broken[row]:
                continue
            if cell is BAD:
                grid.bad.add((row, other))
                grid.add(row, heading, CELL, shown(text))
            elif row != other:
                grid.cells[row, other] = cell
            elif cell is not NONE:
                grid.bad.add((row, row))
                grid.add(row, heading, ITSELF, shown(text))
    # A half that holds no result at all is empty, with whatever its cells are marked.
    halves = {row > other for (row, other), cell in grid.cells.items() if cell is not NONE}
    if len(halves) == 1:
        grid.cells = {at: cell for at, cell in grid.cells.items() if (at[0] > at[1]) in halves}


def _column(columns: Sequence[str], wanted: Collection[str]) -> str | None:
    """Return the first column with one of the wanted names, in letters of either case."""
    return next((one for one in columns if one.strip().lower() in wanted), None)
