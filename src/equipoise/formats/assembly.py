"""Checked rows -> `History`: matches in order of time, players in order of id."""

from __future__ import annotations

import numpy as np
import polars as pl

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import History
from equipoise.formats.checks import Rows
from equipoise.formats.columns import keep_used, read_attribute, read_ids, text_objects
from equipoise.formats.grouping import Grouping, dense_ranks, number_teams
from equipoise.formats.options import CANONICAL
from equipoise.formats.table import Table
from equipoise.formats.times import Times


def assemble(
    frame: pl.DataFrame,
    table: Table,
    match_ids: pl.Series,
    times: Times | None,
    rows: Rows,
    grouping: Grouping,
) -> tuple[History, tuple[str, ...]]:
    """Return the history, and notes on columns that could not be kept.

    frame : the rows in play, from which labels and attributes are taken
    match_ids : id of every match of `grouping`
    """
    moments = None if times is None else times.at(rows.place[grouping.first])
    order, offsets, permutation = _order(moments, grouping)
    sorted_moments = None if moments is None else moments[order]
    dated = times is None or not times.is_order

    def arranged(column: Ids) -> Ids:
        return _owned(column, table) if permutation is None else column[permutation]

    def of_matches(name: str) -> Ids | None:
        column = rows.columns.get(name)
        return None if column is None else column[grouping.first[order]]

    def of_rows(name: str) -> Floats | None:
        column = rows.columns.get(name)
        return None if column is None else arranged(column)

    team, labels = _teams(frame, table, rows, grouping, offsets, permutation)
    player, player_ids = keep_used(rows.player, rows.player_ids)
    attributes, notes = _attributes(frame, table, rows, permutation)
    history = History(
        match_ids=_id_array(match_ids)[order],
        player_ids=player_ids,
        offsets=offsets,
        player=arranged(player),
        team=team,
        rank=dense_ranks(offsets, arranged(_ranks(rows))),
        time=sorted_moments if dated else None,
        time_kind="seconds" if times is None else times.kind,
        order=None if dated else sorted_moments,
        weight=of_matches("weight"),
        performance_ceiling=_if_any(of_matches("performance_ceiling")),
        performance=_if_any(of_rows("performance")),
        share=of_rows("share"),
        statistics={name: arranged(column) for name, column in rows.statistics.items()},
        attributes=attributes,
        team_labels=labels,
    )
    return history, notes


def _order(moments: Ints | None, grouping: Grouping) -> tuple[Ints | slice, Ints, Ints | None]:
    """Return the order of matches, their offsets, and the order of rows (None: as it is).

    Stable: matches of one time, and the rows of a match, keep the order of the file.
    """
    total = len(grouping.of_row)
    if moments is None or np.all(moments[1:] >= moments[:-1]):
        if grouping.adjacent:
            return slice(None), np.append(grouping.first, total), None
        order = np.arange(grouping.matches)
    else:
        order = np.argsort(moments, kind="stable")
    sizes = np.bincount(grouping.of_row, minlength=grouping.matches)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    by_match = None if grouping.adjacent else np.argsort(grouping.of_row, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(sizes[order])])
    rows = np.arange(total) + np.repeat(starts[order] - offsets[:-1], sizes[order])
    return order, offsets, rows if by_match is None else by_match[rows]


def _ranks(rows: Rows) -> Ints:
    """Return the rank of every row; the winner's label decides where it is given."""
    if rows.labels is None or rows.labels.winner is None:
        return rows.columns["rank"]
    team, winner = rows.labels.team, rows.labels.winner
    return np.where((winner >= 0) & (winner != team), 1, 0)


def _teams(
    frame: pl.DataFrame,
    table: Table,
    rows: Rows,
    grouping: Grouping,
    offsets: Ints,
    permutation: Ints | None,
) -> tuple[Ints, Ids | None]:
    """Return the team of every row within its match, and the labels if there were any."""
    has_labels = "team" in frame.columns and frame["team"].null_count() < len(frame)
    if rows.labels is None or not has_labels or not np.any(rows.labels.team >= 0):
        return _numbers_within(offsets), None
    team = number_teams(grouping, rows.labels.team)
    place = rows.place
    if permutation is not None:
        team, place = team[permutation], place[permutation]
    labels, _ = read_ids(frame["team"], table.untyped)
    return team, _owned(_label_objects(labels.gather(place)), table)


def _numbers_within(offsets: Ints) -> Ints:
    """Return the number from 0 of every row within its match."""
    numbers = np.ones(offsets[-1], np.int64)
    numbers[offsets[1:-1]] -= np.diff(offsets)[:-1]
    numbers[0] = 0
    return np.cumsum(numbers, out=numbers)


def _label_objects(labels: pl.Series) -> Ids:
    if labels.dtype == pl.String:
        return text_objects(labels)
    if labels.null_count():
        return np.array(labels.to_list(), dtype=object)
    return labels.to_numpy()


def _attributes(
    frame: pl.DataFrame, table: Table, rows: Rows, permutation: Ints | None
) -> tuple[dict[str, Ids], tuple[str, ...]]:
    """Return every column without a meaning of its own, and notes on nested ones."""
    place = rows.place if permutation is None else rows.place[permutation]
    moved = permutation is not None or len(place) < len(frame)
    kept: dict[str, Ids] = {}
    notes = []
    for name in frame.columns:
        if name in CANONICAL or name in rows.statistics:
            continue
        values = read_attribute(frame[name].gather(place) if moved else frame[name], table.untyped)
        if values is None:
            notes.append(f"column {name!r} is left out: its values are nested")
        else:
            kept[name] = _owned(values, table)
    return kept, tuple(notes)


def _id_array(ids: pl.Series) -> Ids:
    return ids.to_numpy().astype(object) if ids.dtype == pl.String else ids.to_numpy()


def _if_any(numbers: Floats | None) -> Floats | None:
    """Return numbers, or None if all of them are absent."""
    return None if numbers is None or np.isnan(numbers).all() else numbers


def _owned(array: Ids, table: Table) -> Ids:
    """Return an array that nobody else can change: a history never changes."""
    return array.copy() if table.borrowed and not array.flags.owndata else array
