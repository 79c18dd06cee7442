"""Reads cross tables, which have a row and a column for each player.

The steps: text to cells (`read_cell`), a table to the grid of its players and cells (`read_grid`),
and a grid to games (`read_cross_table`). A table may have every result twice, once from each side,
or only the half above or below the diagonal. If both sides are given, they must agree.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats
from equipoise.data.games import GameColumns, id_array
from equipoise.errors import Problem
from equipoise.formats.column_names import OF_CROSS_TABLES
from equipoise.formats.table import Fault, Findings, Table, refuse, shown, spelling
from equipoise.formats.two_sides import read_ratings
from equipoise.formats.values import required_ids, text_of
from equipoise.wording import counted

CELL = (
    "must be results of games (1, 0, 1/2, 0.5, =, or several of them), points/games, +, - or blank"
)

#: Ways to write the result of one game.
_RESULTS = {
    **dict.fromkeys(("1", "1.0", "1,0"), 1.0),
    **dict.fromkeys(("0", "0.0", "0,0"), 0.0),
    **dict.fromkeys(("\u00bd", "=", "1/2", "0.5", "0,5", ".5", ",5"), 0.5),
}
#: Letters of a cell with several results and no spaces between them.
_LETTERS = re.compile(r"[10=\u00bd]{2,}\Z")
_SHARE = re.compile(r"(\d{1,6}(?:[.,][05]0*)?|\d{0,6}\u00bd)/(\d{1,6})\Z")
_APART = re.compile(r"[\s;|]+")
#: Cells of players who did not meet, and of the diagonal.
_NOTHING = frozenset(("-", "\u2013", "\u2014", "\u2212", "*", "x", "X", "\u00d7", ".", "#"))


class Cell(NamedTuple):
    """The content of a cell.

    games : number of games; points : of the row's player; NaN if the cell has no result
    results : the points of each game, if the cell lists the games
    kind : "games", "forfeit" (a win without a game), "none" (not met, or lost without a game),
        "blank" or "bad"
    """

    kind: str
    results: tuple[float, ...] = ()
    points: float = math.nan
    games: int = 0


BLANK, NONE, FORFEIT, BAD = Cell("blank"), Cell("none"), Cell("forfeit"), Cell("bad")


def read_cell(text: str) -> Cell:
    """Return the content of a cell."""
    text = "/".join(part.strip() for part in text.split("/"))
    if not text:
        return BLANK
    if text in _NOTHING:
        return NONE
    if text == "+":
        return FORFEIT
    share = None if text in _RESULTS else _SHARE.match(text)
    if share is not None:
        return _share(share[1], int(share[2]))
    results: list[float] = []
    for part in filter(None, _APART.split(text)):
        if part in _RESULTS:
            results.append(_RESULTS[part])
        elif _LETTERS.match(part):
            results += [_RESULTS[letter] for letter in part]
        else:
            return BAD
    return Cell("games", tuple(results), sum(results), len(results)) if results else BAD


def agree(one: Cell, other: Cell) -> bool:
    """Return whether two cells describe the same games from both sides, in any order."""
    if one.kind != "games" or other.kind != "games":
        # A forfeit on both sides, or games on one side only, are a contradiction.
        return {one.kind, other.kind} <= {"none", "blank"} or {one.kind, other.kind} in (
            {"forfeit", "none"},
            {"forfeit", "blank"},
        )
    if one.games != other.games or one.points + other.points != one.games:
        return False
    if not one.results or not other.results:
        return True
    return sorted(one.results) == sorted(1.0 - result for result in other.results)


def points_of(text: str) -> float:
    """Return a total of points, with halves or a decimal comma; NaN if it is not a number."""
    text = text.strip().replace("\u00bd", ".5").replace(",", ".")
    try:
        points = float(text)
    except ValueError:
        return math.nan
    return points if math.isfinite(points) else math.nan


def _share(points: str, games: int) -> Cell:
    """Return a cell with this number of points and games."""
    scored = points_of(points)
    if not games or not 0.0 <= scored <= games:
        return BAD
    return Cell("games", (scored,) if games == 1 else (), scored, games)


PLAYERS = "must have a column player or name"
ROWS = "must have a row for each player"
OPPONENTS = "must have a column for each player, headed by their name or by their number"
HEADED = "must be headed by the name or the number of a player"
ONE_COLUMN = "must be the only column of its player"
ONE_ROW = "must be the name of only one player"
ITSELF = "must be blank, - or X where a player's row meets their own column"

#: Columns that belong to no opponent.
_BESIDE = [name for kind in ("rating", "number", "total") for name in OF_CROSS_TABLES[kind]]
_HEADING = re.compile(r"#?(\d{1,9})\.?\Z")


@dataclass(slots=True)
class Grid:
    """The cells of a cross table; rows and players are numbers from 0.

    ids : of players, as `read_ids` returns them; rating : NaN if unrated
    unusable : shape (rows,), rows without a player, or of a player who already has a row
    bad : (row, row of the opponent) of cells that break a rule
    headings : row of a player -> name of the player's column; a half table may lack one
    cells : (row, row of the opponent) -> the content of a cell that is not blank
    total : name of the column of points, and its number on every row, NaN if there is none
    games : rows of both players, points of the first, number of games
    skipped : pairings that break a rule, by their rows
    one_sided, two_sided : number of pairings with games in one cell, and in both
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
    games: list[tuple[int, int, float, int]] = field(default_factory=list)
    skipped: list[tuple[int, int]] = field(default_factory=list)
    forfeits: int = 0
    one_sided: int = 0
    two_sided: int = 0

    def add(self, row: int, heading: str, rule: str, got: str) -> None:
        """Record a broken rule of a cell."""
        self.findings.add(np.array([row]), heading, rule, [got])

    def add_heading(self, heading: str, rule: str, got: str) -> None:
        """Record a broken rule of a column."""
        self.heading_problems.append(Problem(self.table.name, None, heading, rule, got))

    def text(self, row: int, opponent: int) -> str:
        """Return the text of a cell for a problem."""
        return shown(self.table.frame[self.headings[opponent]][row])

    def line(self, row: int) -> int | None:
        """Return the line of a row."""
        return self.table.places(np.array([row]))[0][1]

    def problems(self) -> tuple[Problem, ...]:
        """Return all problems, beginning with those of columns."""
        return (*self.heading_problems, *self.findings.problems())


def read_grid(table: Table) -> Grid:
    """Return the grid of a table.

    Raises : InvalidDataError   it has no players, or none of its columns is of a player
    """
    frame = table.frame
    column = _column(frame.columns, "player")
    if column is None:
        if "" not in frame.columns:
            refuse(table.name, PLAYERS, f"columns {shown(', '.join(frame.columns))}")
        column = ""  # a blank corner
    if not len(frame):
        refuse(table.name, ROWS, "no rows")
    findings = Findings(table, np.arange(len(frame)))
    ids = _players(frame[column], findings)
    unusable = findings.bad.copy()
    notes: list[str] = []
    rating = _rating(table, findings, notes)
    grid = Grid(table, findings, ids, rating, unusable, notes=notes)
    _add_headings(grid, column)
    _add_cells(grid)
    total = _column(frame.columns, "total")
    if total is not None and total not in grid.headings.values():
        grid.total = (total, [points_of(text or "") for text in frame[total].to_list()])
    return grid


def heading_number(heading: str) -> int | None:
    """Return the number in a column's heading, such as 7, 7. or #7, or None."""
    heading_match = _HEADING.match(tidy(heading))
    return int(heading_match[1]) if heading_match else None


def tidy(text: str) -> str:
    """Return text with single spaces between its words."""
    return " ".join(text.split())


def _players(column: pl.Series, findings: Findings) -> pl.Series:
    """Return the id of every row, null if there is none."""
    ids, faults = required_ids(column, findings.table.untyped)
    again = ids.is_not_null() & ~ids.is_first_distinct()
    if again.any():
        faults = (*faults, Fault(again.to_numpy(), ONE_ROW))
    findings.add_faults(column.name or "player", faults, column)
    return ids


def _rating(table: Table, findings: Findings, notes: list[str]) -> Floats | None:
    """Return the rating of every row, NaN if it is missing or bad; None without a column.

    notes : gets sentences on the values
    """
    frame = table.frame
    column = _column(frame.columns, "rating")
    if column is None:
        return None
    values, faults = read_ratings(frame[column], notes, by_commas=table.by_commas)
    findings.add_faults(column, faults, frame[column])
    return values


def _add_headings(grid: Grid, column: str) -> None:
    """Find the column of every player; record columns that seem to belong to no player."""
    frame = grid.table.frame
    names = [tidy(str(name)) if name is not None else "" for name in grid.ids.to_list()]
    row_of = {name: row for row, name in reversed(list(enumerate(names))) if name}
    numbers = _numbers(frame)
    unknown = []
    for place, heading in enumerate(frame.columns, 1):
        number = heading_number(heading)
        row = row_of.get(tidy(heading), None if number is None else numbers.get(number))
        if heading == column:
            continue
        if row is None:
            if heading.strip().lower() not in _BESIDE:
                unknown.append((place, heading))
        elif grid.headings.setdefault(row, heading) != heading:
            got = f"{shown(grid.headings[row])} and {shown(heading)} for {shown(names[row])}"
            grid.add_heading(heading, ONE_COLUMN, got)
    if not grid.headings:
        refuse(grid.table.name, OPPONENTS, f"columns {shown(', '.join(frame.columns))}")
    skipped = []
    for place, heading in unknown:
        lacking = len(grid.headings) < len(names) or heading_number(heading) is not None
        if lacking and _holds_results(frame[heading]):
            grid.add_heading(heading, HEADED, shown(heading))
        else:
            skipped.append(shown(heading) if heading else f"column {place}, without a heading")
    if skipped:
        grid.notes.append(f"columns that belong to no player were skipped: {', '.join(skipped)}")


def _numbers(frame: pl.DataFrame) -> dict[int, int]:
    """Return the row of every number that may be a heading: as given, or else counted from 1."""
    column = _column(frame.columns, "number")
    if column is not None:
        heading_numbers = [heading_number(text or "") for text in frame[column].to_list()]
        numbered = {number: row for row, number in enumerate(heading_numbers) if number is not None}
        headed = {heading_number(heading) for heading in frame.columns} - {None}
        if len(numbered) == len(frame) and headed <= set(numbered):
            return numbered
    return {row + 1: row for row in range(len(frame))}


def _holds_results(column: pl.Series) -> bool:
    """Return whether a column contains only results."""
    kinds = {read_cell(cell or "").kind for cell in column.unique().to_list()}
    return "games" in kinds and "bad" not in kinds


def _add_cells(grid: Grid) -> None:
    """Read all cells that are not blank; record those that are not results."""
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
    # A half without any result counts as empty, whatever marks its cells have.
    halves = {row > other for (row, other), cell in grid.cells.items() if cell is not NONE}
    if len(halves) == 1:
        grid.cells = {at: cell for at, cell in grid.cells.items() if (at[0] > at[1]) in halves}


def _column(columns: Sequence[str], meaning: str) -> str | None:
    """Return the first column with this meaning, in any case of letters."""
    names = OF_CROSS_TABLES[meaning]
    return next((column for column in columns if column.strip().lower() in names), None)


#: Types that CSV cannot represent, in addition to lists and similar types.
_NO_TEXT = (pl.Binary, pl.Object, pl.Duration)
#: Rows of the largest cross table that is recognised.
_LARGEST = 5_000
FITTING = "must agree with the opponent's row"


def may_be_cross_table(table: Table) -> bool:
    """Return whether a table has a column for every row, or for every row but one."""
    frame = table.frame
    if not frame.width or len(frame) > _LARGEST:
        return False
    named = [column for column in frame.columns if spelling(column) in ("player", "name")]
    names = text_of(frame[named[0] if named else frame.columns[0]])
    return looks_like_cross_table(frame.columns, [name or "" for name in names.to_list()])


def looks_like_cross_table(header: list[str], first_column: list[str]) -> bool:
    """Return whether a table has a column for every row, or for every row but one.

    header : names of the columns; first_column : names of the players (the column player or name if
      there is one, else the first)
    """
    names = {tidy(name) for name in first_column} - {""}
    numbers = {heading_number(name) for name in header}
    by_name = len(names & {tidy(name) for name in header})
    by_number = sum(row + 1 in numbers for row in range(len(first_column)))
    return max(by_name, by_number) >= max(2, len(first_column) - 1)


def read_cross_table(table: Table) -> GameColumns:
    """Return the games of a cross table in the order of its rows; each pair of players occurs once.

    Raises : InvalidDataError   it is not a cross table; other problems are in the result
    """
    grid = read_grid(_as_text(table))
    bad = {(min(at), max(at)) for at in grid.bad}
    for one, other in sorted(bad | {(min(at), max(at)) for at in grid.cells}):
        if (one, other) in bad or grid.unusable[one] or grid.unusable[other]:
            grid.skipped.append((one, other))
        else:
            _add_pair(grid, one, other)
    names = id_array([name if name is not None else "" for name in grid.ids.to_list()])
    kinds = {"white": pl.Int64, "black": pl.Int64, "points": pl.Float64, "games": pl.Float64}
    frame = pl.DataFrame(grid.games, schema=kinds, orient="row")
    white, black, points, weight = (column.to_numpy() for column in frame)
    rating = grid.rating
    # If several games are not listed one by one, any number of them may be drawn.
    known = (weight == 1) | (points == 0) | (points == weight)
    return GameColumns(
        players=names,
        white=white,
        black=black,
        points=points,
        weight=None if (weight == 1).all() else weight,
        white_rating=None if rating is None else rating[white],
        black_rating=None if rating is None else rating[black],
        draws=(points % 1 != 0).astype(np.float64) if known.all() else None,
        others=np.flatnonzero(~grid.unusable),
        other_rating=None if rating is None else rating[~grid.unusable],
        left_out=Counter({"forfeit": grid.forfeits} if grid.forfeits else {}),
        problems=grid.problems(),
        notes=(*grid.table.notes, *grid.notes, *_notes(grid)),
        locate=lambda row: grid.table.places(white[[row]])[0],
        skipped=len(grid.skipped),
        dropped=tuple(f"{names[one]} - {names[other]}" for one, other in grid.skipped),
        refused=bool(grid.heading_problems),
        format=table.format,
        kind="crosstable",
    )


def _as_text(table: Table) -> Table:
    """Return a table whose cells are text, so that there is only one reader of cross tables."""
    if table.untyped:
        return table
    other = [
        column.name
        for column in table.frame
        if column.dtype.is_nested() or column.dtype in _NO_TEXT
    ]
    frame = table.frame.drop(other).select(pl.all().cast(pl.String).replace("", None))
    if not frame.width:
        refuse(table.name, PLAYERS, "no columns of text or numbers")
    return replace(table, frame=frame, untyped=True, by_commas=True)


def _add_pair(grid: Grid, one: int, other: int) -> None:
    """Record the games of two players, or a contradiction between both sides."""
    mine, theirs = (grid.cells.get(at, BLANK) for at in ((one, other), (other, one)))
    if mine is not BLANK and theirs is not BLANK and not agree(mine, theirs):
        there = f"line {grid.line(other)}, column {shown(grid.headings[one])}"
        got = f"{grid.text(one, other)}, while {there} has {grid.text(other, one)}"
        grid.add(one, grid.headings[other], FITTING, got)
        grid.skipped.append((one, other))
        return
    # Prefer the side that lists its games one by one.
    turned = mine.kind != "games" or (bool(theirs.results) and not mine.results)
    cell = theirs if turned else mine
    grid.forfeits += "forfeit" in (mine.kind, theirs.kind)
    if cell.kind != "games":
        return
    if mine.kind == theirs.kind:
        grid.two_sided += 1
    else:
        grid.one_sided += 1
    single = [(result, 1) for result in cell.results]
    for points, games in single or [(cell.points, cell.games)]:
        grid.games.append((one, other, games - points if turned else points, games))


def _notes(grid: Grid) -> Iterator[str]:
    """Yield notes for users on a table without problems."""
    if grid.problems():
        return
    if grid.one_sided and grid.two_sided:
        yield (
            f"{grid.one_sided:,} of {grid.one_sided + grid.two_sided:,} pairings "
            f"{'is' if grid.one_sided == 1 else 'are'} on only one side of the table"
        )
    if grid.total is None:
        return
    column, totals = grid.total
    scored = _scored(grid)
    differing = [
        row
        for row, total in enumerate(totals)
        if not math.isnan(total) and abs(total - scored[row]) > 1e-9
    ]
    if differing:
        row = differing[0]
        yield (
            f"{column} of {len(differing):,} of {counted(len(totals), 'player')} differ from the "
            f"sum of their results (the first on line {grid.line(row)}: {totals[row]:g} instead of "
            f"{scored[row]:g}); results count, not {column}"
        )


def _scored(grid: Grid) -> list[float]:
    """Return the points of every row, including one point for each win by forfeit."""
    scored = [0.0] * len(grid.ids)
    for white, black, points, games in grid.games:
        scored[white] += points
        scored[black] += games - points
    for (row, _), cell in grid.cells.items():
        scored[row] += cell.kind == "forfeit"
    return scored
