"""Groups the rows of a table into matches, numbers their teams and ranks, and selects matches.

A selection follows `where`, `since`, `until` and `rated`; it keeps or drops complete matches.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.arrays import Flags, Ids, Ints
from equipoise.errors import InvalidParameterError
from equipoise.formats.options import Options
from equipoise.formats.tables.recognised import unknown_column
from equipoise.formats.times import Times
from equipoise.wording import counted

#: Type of the match of a row, with half the memory of row numbers.
Matches: TypeAlias = NDArray[np.int32]
#: A table of all (match, value) pairs is used if it has at most this many cells for each row.
_CELLS_A_ROW = 8


@dataclass(frozen=True, slots=True)
class Grouping:
    """Rows grouped into matches, which are numbered in order of first appearance.

    of_row : shape (N,), match of every row
    first : shape (M,), first row of every match
    starts, of_run : first row and match of every run of adjacent rows of one match
    """

    of_row: Matches
    first: Ints
    starts: Ints
    of_run: Ints

    @property
    def matches(self) -> int:
        """Number of matches."""
        return len(self.first)

    @property
    def adjacent(self) -> bool:
        """Whether the rows of every match are adjacent."""
        return len(self.starts) == len(self.first)

    def any(self, rows: Flags) -> Flags:
        """Return for every match whether the mask is true on any of its rows."""
        found = np.zeros(self.matches, dtype=bool)
        found[self.of_row[rows]] = True
        return found

    def differs(self, values: Ints) -> Flags | None:
        """Return the rows whose value differs from the first row of their match, or None."""
        changes = values[1:] != values[:-1]
        changes[self.starts[1:] - 1] = False
        firsts = values[self.starts]
        if not changes.any() and np.array_equal(firsts, values[self.first][self.of_run]):
            return None
        differs: Flags = values != values[self.first][self.of_row]
        return differs


def group_ids(ids: pl.Series) -> Grouping:
    """Return the grouping of rows by id; all rows without an id are one group."""
    if ids.dtype == pl.Int64 and ids.null_count() == 0:
        values = ids.to_numpy()
        starts = _starts(values[1:] != values[:-1])
        return _group_runs(starts, values[starts], len(values))
    changes = ids.ne_missing(ids.shift(1)).to_numpy()
    starts = _starts(changes[1:])
    runs = ids.gather(starts)
    distinct = runs.unique(maintain_order=True)
    keys = runs.replace_strict(distinct, np.arange(len(distinct)), return_dtype=pl.Int64)
    return _group_runs(starts, keys.to_numpy(), len(ids))


def regroup(of_row: Matches) -> tuple[Grouping, Matches]:
    """Return the grouping of some rows of another grouping, and the old number of every match."""
    if not len(of_row):
        nothing = np.zeros(0, np.int64)
        return Grouping(of_row, nothing, nothing, nothing), of_row
    starts = _starts(of_row[1:] != of_row[:-1])
    grouping = _group_runs(starts, of_row[starts], len(of_row))
    return grouping, of_row[grouping.first]


def number_teams(grouping: Grouping, labels: Ints) -> Ints:
    """Return the team of every row, numbered within the match by first appearance.

    labels : from 0; -1 is a player without a team
    """
    alone = labels < 0
    if alone.any():
        labels = labels.copy()
        labels[alone] = np.flatnonzero(alone) + labels.max() + 1
    first = first_of_pair(grouping.of_row, labels)
    leads = np.flatnonzero(first == np.arange(len(first)))
    # First rows of teams in order of match, then of appearance; their positions count the teams.
    order = np.argsort(grouping.of_row[leads], kind="stable")
    matches = grouping.of_row[leads[order]]
    opens = np.flatnonzero(_opens(matches))
    number = np.empty(len(first), np.int64)
    number[leads[order]] = np.arange(len(leads)) - np.repeat(
        opens, np.diff(np.append(opens, len(leads)))
    )
    return number[first]


def first_of_pair(matches: Matches, values: Ints) -> Ints:
    """Return for every row the first row with the same match and the same value from 0."""
    width = int(values.max(initial=0)) + 1
    cells = (int(matches.max(initial=0)) + 1) * width
    rows = len(values)
    keys = matches.astype(np.int64) * width + values
    if cells <= _CELLS_A_ROW * rows + 4096:
        table = np.empty(cells, np.int64)
        # Assigned from the last row to the first, so that the first one stays.
        table[keys[::-1]] = np.arange(rows - 1, -1, -1)
        found: Ints = table[keys]
        return found
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    found = first[inverse].astype(np.int64, copy=False)
    return found


def dense_ranks(offsets: Ints, ranks: Ints) -> Ints:
    """Return dense ranks from 0 within every match; rows are sorted by match."""
    if not len(ranks):
        return ranks
    step = np.empty(len(ranks), np.int64)
    np.subtract(ranks[1:], ranks[:-1], out=step[1:])
    step[offsets[:-1]] = 0
    if step.min() >= 0:  # already in order of rank
        np.minimum(step, 1, out=step)
        # The first row of a match subtracts the sum of the match before it.
        step[offsets[1:-1]] = -np.add.reduceat(step, offsets[:-1])[:-1]
        return np.cumsum(step, out=step)
    return _dense_unsorted(offsets, np.diff(offsets), ranks)


def repeated_rows(grouping: Grouping, players: Ints) -> Flags | None:
    """Return the rows that repeat a player of their match, or None if there are none."""
    width = int(players.max(initial=0)) + 1
    if grouping.matches == len(players):
        return None
    # Numbers of half the width are sorted in less than half the time.
    small = grouping.matches * width < 2**32
    keys = grouping.of_row.astype(np.uint32 if small else np.int64)
    np.multiply(keys, width, out=keys, casting="unsafe")
    np.add(keys, players, out=keys, casting="unsafe")
    keys.sort()
    if not np.any(keys[1:] == keys[:-1]):
        return None
    keys = np.multiply(grouping.of_row, width, dtype=np.int64) + players
    return (~pl.Series(keys).is_first_distinct()).to_numpy()


def _dense_unsorted(offsets: Ints, sizes: Ints, ranks: Ints) -> Ints:
    highest = np.maximum.reduceat(ranks, offsets[:-1])
    if int(highest.max()) < 2**40 and int(highest.sum()) <= _CELLS_A_ROW * len(ranks) + 4096:
        base = np.concatenate([[0], np.cumsum(highest + 1)])
        keys = ranks + np.repeat(base[:-1], sizes)
        taken = np.zeros(base[-1], dtype=bool)
        taken[keys] = True
        before = np.cumsum(taken) - 1
        found: Ints = before[keys] - np.repeat(before[base[:-1]] - taken[base[:-1]] + 1, sizes)
        return found
    matches = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((ranks, matches))
    step = np.empty(len(ranks), np.int64)
    step[1:] = ranks[order][1:] != ranks[order][:-1]
    step[offsets[:-1]] = 0
    np.cumsum(step, out=step)
    dense = np.empty(len(ranks), np.int64)
    dense[order] = step - np.repeat(step[offsets[:-1]], sizes)
    return dense


def _opens(values: Ids) -> Flags:
    opens = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=opens[1:])
    return opens


def _starts(changes: Flags) -> Ints:
    """Return the first row of every run from the mask of changes between neighbours."""
    return np.concatenate([np.zeros(1, np.int64), np.flatnonzero(changes) + 1])


def _group_runs(starts: Ints, keys: Ids, rows: int) -> Grouping:
    lengths = np.diff(np.append(starts, rows))
    _, first_run, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first_run)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    of_run = number[inverse]
    return Grouping(
        np.repeat(of_run.astype(np.int32), lengths), starts[first_run[order]], starts, of_run
    )


class Selection(NamedTuple):
    """The rows that stay (None: all), and the number of dropped matches by reason."""

    rows: Flags | None
    unrated: int
    filtered: int


def select(
    frame: pl.DataFrame,
    grouping: Grouping,
    without_id: Flags,
    times: Times | None,
    rated: Flags | None,
    options: Options,
) -> Selection:
    """Return the selected rows; matches are kept or dropped completely.

    without_id : rows that belong to no match; only `where` can exclude them
    Raises : InvalidParameterError   wrong usage: unknown column, no times, a filter that splits a
      match
    """
    bounded = options.since is not None or options.until is not None
    if rated is None and not options.where and not bounded:
        return Selection(None, 0, 0)
    holds = _where(frame, options)
    chosen = _whole(frame, grouping, without_id, holds, options)
    in_time = _in_time(grouping, times, options)
    rated_matches = np.ones(grouping.matches, bool) if rated is None else grouping.any(rated)
    nameless = grouping.any(without_id)
    unrated = ~rated_matches & ~nameless
    filtered = ~(chosen & in_time) & ~unrated & ~nameless
    rows = ~(unrated | filtered)[grouping.of_row]
    if holds is not None:
        rows &= holds | ~without_id
    counts = int(unrated.sum()), int(filtered.sum())
    return Selection(None if rows.all() else rows, *counts)


def _where(frame: pl.DataFrame, options: Options) -> Flags | None:
    """Return the rows on which every filter holds; None without filters."""
    holds = None
    for name, value in options.where:
        if name not in frame.columns:
            raise InvalidParameterError(unknown_column("where (--where)", name, frame.columns))
        equal = equal_rows(frame[name], value)
        holds = equal if holds is None else holds & equal
    return holds


def _whole(
    frame: pl.DataFrame,
    grouping: Grouping,
    without_id: Flags,
    holds: Flags | None,
    options: Options,
) -> Flags:
    """Return the matches in which the filters hold on all rows; refuse to split a match."""
    if holds is None:
        return np.ones(grouping.matches, dtype=bool)
    chosen = grouping.any(holds & ~without_id)
    torn = np.flatnonzero(chosen & grouping.any(~holds & ~without_id))
    if len(torn):
        some = counted(len(torn), "match", "matches")
        match = frame["match"][int(grouping.first[torn[0]])]
        filters = " and ".join(f"{name}={value}" for name, value in options.where)
        raise InvalidParameterError(
            f"where (--where) must hold on all rows of a match or on none; {filters} holds on only "
            f"some rows of {some}, of which the first is {match!r}"
        )
    return chosen


def equal_rows(column: pl.Series, value: object) -> Flags:
    """Return the rows that have a value, compared as numbers if both are numbers, else as text."""
    if value is None or value == "":
        empty = column.is_null()
        return (empty | (column == "") if column.dtype == pl.String else empty).to_numpy()
    if isinstance(value, bool | np.bool_):
        text = "true" if value else "false"
    elif isinstance(value, datetime | date):
        text = value.isoformat()
    else:
        text = str(value)
    if column.dtype.is_float():
        try:
            return (column == float(text)).fill_null(False).to_numpy()
        except ValueError:
            return np.zeros(len(column), dtype=bool)
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return np.zeros(len(column), dtype=bool)
    return (column.cast(pl.String, strict=False) == text).fill_null(False).to_numpy()


def _in_time(grouping: Grouping, times: Times | None, options: Options) -> Flags:
    """Return which matches are in [since, until); a match has the time of its first row.

    A match without a readable time stays, so that it is reported.
    """
    inside = np.ones(grouping.matches, dtype=bool)
    if options.since is None and options.until is None:
        return inside
    if times is None:
        raise InvalidParameterError(
            "since and until (--from, --until) need a history with times; this one has none"
        )
    inside = within(times.at(grouping.first), times, options)
    for rows, _ in times.faults:
        inside |= grouping.any(rows)
    return inside


def within(moments: Ints, times: Times, options: Options) -> Flags:
    """Return which times, in the unit of `times.at`, are in [since, until).

    Raises : InvalidParameterError   a bound does not suit these times
    """
    inside = np.ones(len(moments), dtype=bool)
    if options.since is not None:
        inside &= moments >= times.bound(options.since, "since")
    if options.until is not None:
        inside &= moments < times.bound(options.until, "until")
    return inside
