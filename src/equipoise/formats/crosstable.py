"""Cross tables (CSV, TSV) -> games: a row and a column for each player, results where they meet.

A table may hold every result twice, once from each side, or only the half above or below its
diagonal. Where both sides are given they are held against each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from equipoise.data.games import id_array
from equipoise.formats.cross_cells import BLANK, agree
from equipoise.formats.cross_grid import Grid, heading_number, read_grid, tidy
from equipoise.formats.delimited import read_delimited
from equipoise.formats.game_columns import GameColumns
from equipoise.formats.table import shown
from equipoise.wording import counted

FITTING = "must fit what the row of the opponent says"


@dataclass(slots=True)
class _Found:
    """Games of a table: rows of players, points of the first, number of games.

    skipped : pairings that break a rule
    one_sided, two_sided : pairings whose games stand in one cell, and in both
    """

    white: list[int] = field(default_factory=list)
    black: list[int] = field(default_factory=list)
    points: list[float] = field(default_factory=list)
    weight: list[int] = field(default_factory=list)
    forfeits: int = 0
    skipped: int = 0
    one_sided: int = 0
    two_sided: int = 0


def looks_like_cross_table(header: list[str], first_column: list[str]) -> bool:
    """Return whether a table has a column for each of its rows, or for each but one.

    header : names of the columns; first_column : names of the players (the column player or
        name where there is one, else the first)
    """
    names = {tidy(one) for one in first_column} - {""}
    numbers = {heading_number(one) for one in header}
    by_name = len(names & {tidy(one) for one in header})
    by_number = sum(row + 1 in numbers for row in range(len(first_column)))
    return max(by_name, by_number) >= max(2, len(first_column) - 1)


def read_cross_table(data: bytes, name: str, delimiter: str) -> GameColumns:
    """Return the games of a cross table, in the order of its rows, each pair of players once.

    Raises : InvalidDataError   it is no cross table at all; else its problems are in the columns
    """
    grid = read_grid(read_delimited(data, name, delimiter))
    found = _Found()
    bad = {(min(at), max(at)) for at in grid.bad}
    for one, other in sorted(bad | {(min(at), max(at)) for at in grid.cells}):
        if (one, other) in bad or grid.unusable[one] or grid.unusable[other]:
            found.skipped += 1
        else:
            _add_pair(grid, one, other, found)
    names = id_array([one if one is not None else "" for one in grid.ids.to_list()])
    white, black = (np.array(rows, dtype=np.int64) for rows in (found.white, found.black))
    points = np.array(found.points, dtype=np.float64)
    weight = np.array(found.weight, dtype=np.float64)
    rating = grid.rating
    # Of several games whose results are not told one by one, any number may have been drawn.
    known = (weight == 1) | (points == 0) | (points == weight)
    return GameColumns(
        white=names[white],
        black=names[black],
        points=points,
        weight=None if (weight == 1).all() else weight,
        white_rating=None if rating is None else rating[white],
        black_rating=None if rating is None else rating[black],
        draws=(points % 1 != 0).astype(np.float64) if known.all() else None,
        others=names[~grid.unusable],
        other_rating=None if rating is None else rating[~grid.unusable],
        left_out=Counter({"forfeit": found.forfeits} if found.forfeits else {}),
        problems=grid.problems(),
        notes=(*grid.table.notes, *grid.notes, *_notes(grid, found)),
        locate=lambda row: grid.table.places(white[[row]])[0],
        skipped=found.skipped,
        refused=bool(grid.heading_problems),
    )


def _add_pair(grid: Grid, one: int, other: int, found: _Found) -> None:
    """Record the games of two players, or that the two sides tell different things."""
    mine, theirs = (grid.cells.get(at, BLANK) for at in ((one, other), (other, one)))
    if mine is not BLANK and theirs is not BLANK and not agree(mine, theirs):
        there = f"line {grid.line(other)}, column {shown(grid.headings[one])}"
        got = f"{grid.text(one, other)}, while {there} has {grid.text(other, one)}"
        grid.add(one, grid.headings[other], FITTING, got)
        found.skipped += 1
        return
    # Better the side that tells its games one by one.
    turned = mine.kind != "games" or (bool(theirs.results) and not mine.results)
    said = theirs if turned else mine
    found.forfeits += "forfeit" in (mine.kind, theirs.kind)
    if said.kind != "games":
        return
    if mine.kind == theirs.kind:
        found.two_sided += 1
    else:
        found.one_sided += 1
    single = [(result, 1) for result in said.results]
    for points, games in single or [(said.points, said.games)]:
        found.white.append(one)
        found.black.append(other)
        found.points.append(games - points if turned else points)
        found.weight.append(games)


def _notes(grid: Grid, found: _Found) -> Iterator[str]:
    """Yield what a user should know about a table in which nothing is wrong."""
    if grid.problems():
        return
    if found.one_sided and found.two_sided:
        yield (
            f"{found.one_sided:,} of {found.one_sided + found.two_sided:,} pairings "
            f"{'stands' if found.one_sided == 1 else 'stand'} on one side of the table only"
        )
    if grid.total is None:
        return
    column, totals = grid.total
    scored = _scored(grid, found)
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


def _scored(grid: Grid, found: _Found) -> list[float]:
    """Return the points of every row, with a point for each win by forfeit."""
    scored = [0.0] * len(grid.ids)
    rows = zip(found.white, found.black, found.points, found.weight, strict=True)
    for white, black, points, games in rows:
        scored[white] += points
        scored[black] += games - points
    for (row, _), cell in grid.cells.items():
        scored[row] += cell.kind == "forfeit"
    return scored
