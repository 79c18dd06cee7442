"""Builds a history from a long table: selects, checks and skips rows, and assembles the rest.

The matches of a history are in order of time, and its players in order of id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import InvalidParameterError, Problem
from equipoise.formats.findings import Fault, Findings
from equipoise.formats.games.columns import describe_strangers
from equipoise.formats.opening.same_matches import check_order, order_of_files, tell_apart
from equipoise.formats.options import CANONICAL, Options, SkipBad
from equipoise.formats.synonyms import strangers
from equipoise.formats.table import Table, nested_note
from equipoise.formats.tables.checks import (
    Rows,
    check_matches,
    check_matches_with_bad_rows,
    check_rows,
)
from equipoise.formats.tables.columns import (
    arrange_columns,
    keep_used,
    mask,
    read_attribute,
    read_ids,
    read_truths,
    required_ids,
    text_objects,
    text_of,
)
from equipoise.formats.tables.matches import (
    Grouping,
    dense_ranks,
    group_ids,
    number_teams,
    regroup,
    select,
)
from equipoise.formats.times import Times, order_note, read_times


def assemble(
    frame: pl.DataFrame,
    table: Table,
    match_ids: pl.Series,
    times: Times | None,
    rows: Rows,
    grouping: Grouping,
) -> tuple[History, tuple[str, ...]]:
    """Return the history, and notes on columns that could not be kept.

    frame : the rows that are left, from which labels and attributes are taken
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
        beta=_if_any(of_matches("beta")),
        gamma=_if_any(of_matches("gamma")),
        performance=_if_any(of_rows("performance")),
        share=of_rows("share"),
        statistics={name: arranged(column) for name, column in rows.statistics.items()},
        attributes=attributes,
        team_labels=labels,
    )
    return history, notes


def _order(moments: Ints | None, grouping: Grouping) -> tuple[Ints | slice, Ints, Ints | None]:
    """Return the order of matches, their offsets, and the order of rows (None: unchanged).

    The order is stable: matches of the same time, and the rows of a match, stay in file order.
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
    """Return the rank of every row; the winner's label decides if it is given."""
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
    """Return the team of every row within its match, and the labels if there are any."""
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
    """Return the number of every row within its match, from 0."""
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
    """Return every column without a reserved meaning, and notes on nested ones."""
    place = rows.place if permutation is None else rows.place[permutation]
    moved = permutation is not None or len(place) < len(frame)
    kept: dict[str, Ids] = {}
    notes = []
    for name in frame.columns:
        if name in CANONICAL or name in rows.statistics:
            continue
        values = read_attribute(frame[name].gather(place) if moved else frame[name], table.untyped)
        if values is None:
            notes.append(nested_note(name))
        else:
            kept[name] = _owned(values, table)
    return kept, tuple(notes)


def _id_array(ids: pl.Series) -> Ids:
    return ids.to_numpy().astype(object) if ids.dtype == pl.String else ids.to_numpy()


def _if_any(numbers: Floats | None) -> Floats | None:
    """Return numbers, or None if all of them are absent."""
    return None if numbers is None or np.isnan(numbers).all() else numbers


def _owned(array: Ids, table: Table) -> Ids:
    """Return an array that no other code can change, because a history never changes."""
    return array.copy() if table.borrowed and not array.flags.owndata else array


LEFT = "must leave at least one match"


@dataclass(slots=True)
class _Keys:
    """The columns that identify and select matches.

    place : number in the table of every row
    """

    frame: pl.DataFrame
    place: Ids
    ids: pl.Series
    times: Times | None
    rated: Flags | None
    faults: dict[str, tuple[Fault, ...]]

    def keep(self, rows: Flags) -> _Keys:
        """Return the keys of some of the rows."""
        times = self.times
        if times is not None:
            times = times._replace(values=times.values[rows])
        return _Keys(
            self.frame.filter(rows),
            self.place[rows],
            self.ids.filter(rows),
            times,
            None if self.rated is None else self.rated[rows],
            {
                name: tuple(fault._replace(rows=fault.rows[rows]) for fault in faults)
                for name, faults in self.faults.items()
            },
        )


def build_history(table: Table, options: Options, *, own_names: bool = False) -> HistoryReading:
    """Return the history of a table, and all of its problems.

    own_names : the columns have the exact names, because Equipoise made them
    Raises : InvalidDataError        required columns, or all rows, are missing
    Raises : InvalidParameterError   the options do not suit the table
    """
    frame, options, columns, taken, notes = arrange_columns(table, options, own_names=own_names)
    table, frame, more = tell_apart(table, frame)
    notes = (*notes, *more)
    reading = HistoryReading(
        history=None,
        notes=(*table.notes, *notes),
        format=table.format,
        kind="history",
        columns=columns,
    )
    if options.synonyms:
        names = text_of(frame["player"]).drop_nulls().unique().to_list()
        unknown = describe_strangers(strangers(options.synonyms, names))
        reading = replace(reading, notes=(*reading.notes, *unknown))
    keys = _read_keys(frame, table.untyped, options.time_format)
    if keys.times is None:
        reading = replace(reading, notes=(*reading.notes, *order_of_files(table)))
    grouping = group_ids(keys.ids)
    nameless = mask(keys.ids.is_null())
    chosen = select(frame, grouping, nameless, keys.times, keys.rated, options)
    reading = replace(reading, unrated=chosen.unrated, filtered=chosen.filtered)
    if chosen.rows is not None:
        if not chosen.rows.any():
            return _nothing_left(reading, table, "no match is rated and selected")
        keys = keys.keep(chosen.rows)
        grouping = regroup(grouping.of_row[chosen.rows])[0]
    if keys.times is not None and keys.times.is_order:
        check_order(table, keys.times.values, keys.place)
    findings = Findings(table, keys.place)
    for name, faults in keys.faults.items():
        findings.add_faults(name, faults, keys.frame[name])
    rows = check_rows(keys.frame, table.untyped, grouping, findings, options)
    if keys.times is not None:
        rows.columns["time"] = keys.times.values
    if keys.rated is not None:
        rows.columns["rated"] = keys.rated
    reading = _apply_skip_policy(table, options, reading, keys, grouping, findings, rows)
    return replace(
        reading,
        problems=in_file(reading.problems, taken),
        notes=(*reading.notes, *findings.notes),
    )


def in_file(problems: tuple[Problem, ...], named: Mapping[str, str]) -> tuple[Problem, ...]:
    """Return problems with the names that columns have in the file.

    named : column of the long table -> column of the file
    """
    if not named:
        return problems
    return tuple(
        replace(problem, field=named.get(problem.field, problem.field)) for problem in problems
    )


def _read_keys(frame: pl.DataFrame, untyped: bool, time_format: str | None) -> _Keys:
    ids, id_faults = required_ids(frame["match"], untyped)
    faults = {"match": id_faults}
    times = read_times(frame["time"], time_format) if "time" in frame.columns else None
    if times is not None:
        faults["time"] = times.faults
    elif time_format is not None:
        raise InvalidParameterError(
            "time_format (--time-format) needs a history with times; this one has none"
        )
    rated = None
    if "rated" in frame.columns:
        rated, faults["rated"] = read_truths(frame["rated"])
    return _Keys(frame, np.arange(len(frame)), ids, times, rated, faults)


def _apply_skip_policy(
    table: Table,
    options: Options,
    reading: HistoryReading,
    keys: _Keys,
    grouping: Grouping,
    findings: Findings,
    rows: Rows,
) -> HistoryReading:
    """Return the history of the good rows, if there are no problems or they may be skipped."""
    ids = keys.ids.gather(grouping.first)
    has_bad_row = grouping.any(findings.bad)
    whole = grouping
    matches: Ids = np.arange(grouping.matches)
    bad = np.zeros(whole.matches, dtype=bool)
    if has_bad_row.any():
        if options.skip_bad != "rows":
            touched = rows.keep(has_bad_row[rows.match])
            check_matches_with_bad_rows(touched, keys.frame, findings)
        rows = rows.keep(~findings.bad)
        grouping, matches = regroup(rows.match)
    if len(matches):
        reported = has_bad_row[matches] & (options.skip_bad != "rows")
        bad[matches] = check_matches(rows, grouping, keys.frame, findings, reported)
    problems = findings.problems()
    reading = replace(reading, problems=problems)
    if problems and options.skip_bad is None:
        return reading
    if problems:
        bad |= _beyond_repair(options.skip_bad, has_bad_row, matches)
        reading = _account(reading, findings, whole, bad, ids)
        good = ~bad[rows.match]
        if not good.any():
            return _nothing_left(reading, table, "every match has a problem")
        rows = rows.keep(good)
        grouping, _ = regroup(rows.match)
    history, notes = _assembled(table, keys, ids, rows, grouping)
    return replace(reading, history=history, notes=(*reading.notes, *notes))


def _beyond_repair(skip_bad: SkipBad | None, has_bad_row: Flags, matches: Ids) -> Flags:
    """Return the matches to drop because of bad rows: all that have one, or only have bad ones."""
    if skip_bad == "matches":
        return has_bad_row
    lost = np.ones(len(has_bad_row), dtype=bool)
    lost[matches] = False
    return lost


def _account(
    reading: HistoryReading, findings: Findings, grouping: Grouping, bad: Flags, ids: pl.Series
) -> HistoryReading:
    """Return the reading with counts of what is dropped; rows without an id have no match."""
    named = bad & mask(ids.is_not_null())
    rows = findings.bad & ~named[grouping.of_row]
    return replace(
        reading,
        dropped_matches=tuple(str(one) for one in ids.filter(named)),
        dropped_rows=int(rows.sum()),
    )


def _nothing_left(reading: HistoryReading, table: Table, got: str) -> HistoryReading:
    problem = Problem(table.name, None, "", LEFT, got)
    return replace(reading, problems=(*reading.problems, problem))


def _assembled(
    table: Table, keys: _Keys, ids: pl.Series, rows: Rows, grouping: Grouping
) -> tuple[History, tuple[str, ...]]:
    """Return the history of valid rows, and notes on columns left out."""
    match_ids = ids.gather(rows.match[grouping.first])
    history, notes = assemble(keys.frame, table, match_ids, keys.times, rows, grouping)
    if history.order is not None:
        notes = (*notes, order_note(history.order))
    return history, notes
