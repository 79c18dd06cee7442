"""Steps that every table of games shares: which rows are asked for, who plays, ratings, places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.games import LARGEST, RATING
from equipoise.errors import InvalidParameterError
from equipoise.formats.columns import (
    NOT_EMPTY,
    NUMBER,
    faults_of,
    mask,
    number_ids,
    read_ids,
    read_numbers,
    text_objects,
    text_of,
)
from equipoise.formats.game_layout import Layout, source_column
from equipoise.formats.options import Options
from equipoise.formats.pgn_results import PROVISIONAL, describe_provisional, is_nobody
from equipoise.formats.selection import equal_rows, within
from equipoise.formats.table import Fault, Findings, Table
from equipoise.formats.times import Times, read_times

#: What stands for "no rating", beside nothing and 0.
_UNRATED = ("-", "--", "?", "unrated", "unr", "n/a", "na", "nan", "none", "null")
#: Bytes of the longest name that stands for nobody.
_LONGEST_BYE = 10


class Players(NamedTuple):
    """Rows of the first and of the second player (-1 where absent) among `ids`.

    bye : rows on which somebody had no opponent
    """

    first: Ints
    second: Ints
    ids: Ids
    bye: Flags


@dataclass(slots=True)
class GameRows:
    """The rows of a table that are asked for.

    frame : these rows, under the names of the source
    columns : meaning -> name in the source
    filtered : how many rows were not asked for
    notes : what a user should know of the values read, as sentences
    """

    table: Table
    frame: pl.DataFrame
    columns: dict[str, str]
    findings: Findings
    filtered: int
    notes: list[str] = field(default_factory=list)

    def has(self, meaning: str) -> bool:
        """Return whether the table has a column of this meaning."""
        return meaning in self.columns

    def column(self, meaning: str) -> pl.Series:
        """Return the column of a meaning as it came."""
        return self.frame[self.columns[meaning]]

    def add(self, meaning: str, *faults: Fault) -> None:
        """Record faults of the column of a meaning."""
        if faults:
            self.findings.add_faults(self.columns[meaning], faults, self.column(meaning))

    def numbers(self, meaning: str, default: float | None = None) -> Floats:
        """Return a column of numbers, NaN on faulty rows; empty is a fault without a default."""
        values, absent, faults = read_numbers(self.column(meaning))
        values = np.where(_told(faults, len(values)), np.nan, values)
        if absent is not None:
            if default is None:
                faults = (*faults, *faults_of((absent & ~_told(faults, len(values)), NUMBER)))
            else:
                values = np.where(absent, default, values)
        self.add(meaning, *faults)
        return values

    def ratings(self, meaning: str) -> Floats | None:
        """Return a column of ratings, NaN where unrated; None if there is no such column."""
        if not self.has(meaning):
            return None
        values, faults, notes = read_ratings(self.column(meaning))
        self.add(meaning, *faults)
        self.notes += notes
        return values

    def rounds(self, kept: Ints) -> Ids | None:
        """Return the round of some rows, None if there is no such column."""
        if not self.has("round"):
            return None
        return text_objects(text_of(self.column("round").gather(kept)))

    def locate(self, kept: Ints) -> Callable[[int], tuple[str, int | None]]:
        """Return the way from a row among `kept` to its file and line."""
        places: list[tuple[str, int | None]] = []

        def place(row: int) -> tuple[str, int | None]:
            # Lines are counted through the whole file, so once for all.
            if not places:
                places.extend(self.table.places(self.findings.rows[kept]))
            return places[row]

        return place


def choose_rows(table: Table, layout: Layout, options: Options) -> GameRows:
    """Return the rows on which every filter holds, and rows that could not be taken apart.

    Raises : InvalidParameterError   a filter names no column, or there are no times
    """
    chosen = np.ones(len(table.frame), dtype=bool)
    for name, value in options.where:
        column = source_column(name, table.frame, options.columns, "where (--where)")
        chosen &= equal_rows(table.frame[column], value)
    times = _times(table, layout, options)
    if times is not None:
        chosen &= _in_time(times, options)
    chosen[[broken.row for broken in table.broken_rows]] = True
    kept = np.flatnonzero(chosen)
    frame = table.frame if chosen.all() else table.frame.filter(chosen)
    filtered = len(table.frame) - len(kept)
    rows = GameRows(table, frame, dict(layout.columns), Findings(table, kept), filtered)
    if times is not None:
        rows.add("time", *(Fault(fault.rows[kept], fault.rule) for fault in times.faults))
    return rows


def _times(table: Table, layout: Layout, options: Options) -> Times | None:
    """Return the time of every row, if times are asked for."""
    if options.since is None and options.until is None and options.time_format is None:
        return None
    times = None
    if "time" in layout.columns:
        times = read_times(table.frame[layout.columns["time"]], options.time_format)
    if times is None:
        raise InvalidParameterError(
            "since, until and time_format (--from, --until, --time-format) need a column time; "
            "this table has none"
        )
    return times


def _in_time(times: Times, options: Options) -> Flags:
    """Return the rows in [since, until); one without a readable time stays, to be reported."""
    inside = within(times.values * times.scale, times, options)
    for rows, _ in times.faults:
        inside |= rows
    return inside


class Ratings(NamedTuple):
    """A column of ratings: NaN where there is none or a fault, the faults, and notes."""

    values: Floats
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]


def read_ratings(column: pl.Series) -> Ratings:
    """Return ratings; nothing, 0 and some words stand for none, and marks such as 1500? go."""
    values, _, faults = read_numbers(column)
    notes: tuple[str, ...] = ()
    if faults and column.dtype in (pl.String, pl.Categorical, pl.Enum):
        text = column.cast(pl.String).str.strip_chars()
        text = text.set(text.str.to_lowercase().is_in(_UNRATED), None)
        provisional = text.str.contains(PROVISIONAL)
        if provisional.any():
            marked = text.filter(provisional)
            notes = (describe_provisional(len(marked), marked[0]),)
            text = text.str.replace(PROVISIONAL, "$1")
        values, _, faults = read_numbers(text)
    values = np.where((values == 0) | _told(faults, len(values)), np.nan, values)
    faults = (*faults, *faults_of((np.abs(values) > LARGEST, RATING)))
    return Ratings(np.where(np.abs(values) > LARGEST, np.nan, values), faults, notes)


def _told(faults: Sequence[Fault], rows: int) -> Flags:
    """Return the rows that have a fault already."""
    told = np.zeros(rows, dtype=bool)
    for fault in faults:
        told |= fault.rows
    return told


def read_players(rows: GameRows, names: Sequence[str], byes: Flags | None = None) -> Players:
    """Return who plays on every row, numbered over both columns in order of appearance.

    names : meanings of the two columns
    byes : rows that are known to lack an opponent
    """
    pair = [_tidy(rows.column(name)) for name in names]
    called_bye = [_called_bye(one) for one in pair]
    ids = [
        read_ids(one.set(bye, None) if bye is not None else one, rows.table.untyped)
        for one, bye in zip(pair, called_bye, strict=True)
    ]
    if ids[0][0].dtype != ids[1][0].dtype:
        # Numbers on one side only: they are text like the others.
        ids = [(one.cast(pl.String), faults) for one, faults in ids]
    empty = [mask(one.is_null()) for one, _ in ids]
    bye = np.zeros(len(rows.frame), dtype=bool) if byes is None else byes.copy()
    for called in called_bye:
        bye |= False if called is None else mask(called)
    lacking = bye & ~(empty[0] & empty[1])
    for name, (_, faults), absent in zip(names, ids, empty, strict=True):
        untold = absent & ~lacking & ~_told(faults, len(absent))
        rows.add(name, *faults, *faults_of((untold, NOT_EMPTY)))
    return _numbered(ids[0][0], ids[1][0], empty, bye)


def _tidy(column: pl.Series) -> pl.Series:
    """Return text without spaces around it."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    return column.str.strip_chars() if column.dtype == pl.String else column


def _called_bye(column: pl.Series) -> pl.Series | None:
    """Return the rows in which a name says that there is nobody; None where no row does."""
    if column.dtype != pl.String:
        return None
    short = column.filter(column.str.len_bytes() <= _LONGEST_BYE).unique()
    byes = [name for name in short.to_list() if is_nobody(name)]
    return column.is_in(byes).fill_null(False) if byes else None


def _numbered(first: pl.Series, second: pl.Series, empty: Sequence[Flags], bye: Flags) -> Players:
    both = pl.concat([first.alias("id"), second.alias("id")])
    codes, ids = code_ids(both)
    rows = len(first)
    codes, ids = by_appearance(codes[:rows], codes[rows:], ids, empty)
    return Players(codes[:rows], codes[rows:], ids, bye)


def code_ids(ids: pl.Series) -> tuple[Ints, Ids]:
    """Return a number for every id, in no particular order, and the id of every number."""
    if ids.dtype != pl.String:
        return number_ids(ids)
    coded = ids.cast(pl.Categorical)
    numbers = coded.to_physical().fill_null(0).cast(pl.Int64).to_numpy()
    distinct = coded.drop_nulls().unique()
    names = np.full(int(numbers.max(initial=0)) + 1, None, dtype=object)
    names[distinct.to_physical().to_numpy()] = distinct.cast(pl.String).to_list()
    return numbers, names


def by_appearance(
    first: Ints, second: Ints, ids: Ids, empty: Sequence[Flags] | None = None
) -> tuple[Ints, Ids]:
    """Return codes of both columns in order of first appearance (row by row), and their ids.

    empty : rows of each column that have no player; they get -1
    """
    rows, beyond = len(first), 2 * len(first)
    seen = np.full(len(ids), beyond, np.int64)
    for side, codes in ((1, second), (0, first)):
        earliest = np.full(len(ids), beyond, np.int64)
        there = np.arange(rows) if empty is None else np.flatnonzero(~empty[side])
        # Assigned from the last row to the first, so that the first one stays.
        earliest[codes[there[::-1]]] = 2 * there[::-1] + side
        np.minimum(seen, earliest, out=seen)
    order = np.argsort(seen, kind="stable")[: int((seen < beyond).sum())]
    number = np.full(max(len(ids), 1), -1, np.int64)  # absent players have code 0
    number[order] = np.arange(len(order))
    both = number[np.concatenate([first, second])]
    if empty is not None:
        both[np.concatenate(empty)] = -1
    return both, ids[order]
