"""Rows -> matches, and numbers within a match: teams by appearance, ranks by order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.arrays import Flags, Ids, Ints

#: Matches of rows: half the memory of row numbers, which are many.
Matches: TypeAlias = NDArray[np.int32]
#: A table of all (match, value) pairs is used while it has at most this many cells a row.
_CELLS_A_ROW = 8


@dataclass(frozen=True, slots=True)
class Grouping:
    """Rows grouped into matches, which are numbered in order of first appearance.

    of_row : shape (N,), match of every row
    first : shape (M,), first row of every match
    starts, of_run : first row and match of every run of rows that belong to one match
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
        """Return for every match whether the mask holds on any of its rows."""
        found = np.zeros(self.matches, dtype=bool)
        found[self.of_row[rows]] = True
        return found

    def differs(self, values: Ints) -> Flags | None:
        """Return the rows whose value is not that of the first row of their match, or None."""
        changes = values[1:] != values[:-1]
        changes[self.starts[1:] - 1] = False
        firsts = values[self.starts]
        if not changes.any() and np.array_equal(firsts, values[self.first][self.of_run]):
            return None
        differs: Flags = values != values[self.first][self.of_row]
        return differs


def group_ids(ids: pl.Series) -> Grouping:
    """Return the grouping of rows by their id; all rows without an id are one group."""
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
    """Return the grouping of some of the rows of another, and the old number of every match."""
    if not len(of_row):
        nothing = np.zeros(0, np.int64)
        return Grouping(of_row, nothing, nothing, nothing), of_row
    starts = _starts(of_row[1:] != of_row[:-1])
    grouping = _group_runs(starts, of_row[starts], len(of_row))
    return grouping, of_row[grouping.first]


def number_teams(grouping: Grouping, labels: Ints) -> Ints:
    """Return the team of every row, numbered within the match by first appearance.

    labels : from 0; -1 stands for a player alone
    """
    alone = labels < 0
    if alone.any():
        labels = labels.copy()
        labels[alone] = np.flatnonzero(alone) + labels.max() + 1
    first = first_of_pair(grouping.of_row, labels)
    leads = np.flatnonzero(first == np.arange(len(first)))
    # Leads in order of match, then of appearance; their places in it count the teams.
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
    """Return ranks numbered densely from 0 within every match; rows lie match by match."""
    if not len(ranks):
        return ranks
    step = np.empty(len(ranks), np.int64)
    np.subtract(ranks[1:], ranks[:-1], out=step[1:])
    step[offsets[:-1]] = 0
    if step.min() >= 0:  # in order of rank already
        np.minimum(step, 1, out=step)
        # The first row of a match takes back what the match before it has summed up.
        step[offsets[1:-1]] = -np.add.reduceat(step, offsets[:-1])[:-1]
        return np.cumsum(step, out=step)
    return _dense_unsorted(offsets, np.diff(offsets), ranks)


def repeated_rows(grouping: Grouping, players: Ints) -> Flags | None:
    """Return the rows that repeat a player within a match, or None if there are none."""
    width = int(players.max(initial=0)) + 1
    if grouping.matches == len(players):
        return None
    # Half the width sorts in less than half the time.
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
