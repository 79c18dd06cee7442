"""The canonical long table -> a history: select, check, skip what may be skipped, assemble."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Ids
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import InvalidParameterError, Problem
from equipoise.formats.arrangement import arrange_columns
from equipoise.formats.assembly import assemble
from equipoise.formats.checks import (
    Rows,
    check_matches,
    check_matches_with_bad_rows,
    check_rows,
)
from equipoise.formats.columns import mask, read_truths, required_ids, text_of
from equipoise.formats.game_notes import describe_strangers
from equipoise.formats.grouping import Grouping, group_ids, regroup
from equipoise.formats.options import Options, SkipBad
from equipoise.formats.selection import select
from equipoise.formats.synonyms import strangers
from equipoise.formats.table import Fault, Findings, Table
from equipoise.formats.times import Times, order_note, read_times

LEFT = "must leave at least one match"


@dataclass(slots=True)
class _Keys:
    """The columns that tell matches apart and which of them are asked for.

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


def build_history(table: Table, options: Options) -> HistoryReading:
    """Return the history of a table, and everything that is wrong with it.

    Raises : InvalidDataError        required columns, or all rows, are missing
    Raises : InvalidParameterError   the options do not suit the table
    """
    frame, notes = arrange_columns(table, options)
    reading = HistoryReading(history=None, notes=(*table.notes, *notes))
    if options.synonyms:
        names = text_of(frame["player"]).drop_nulls().unique().to_list()
        unknown = describe_strangers(strangers(options.synonyms, names))
        reading = replace(reading, notes=(*reading.notes, *unknown))
    keys = _read_keys(frame, table.untyped, options.time_format)
    grouping = group_ids(keys.ids)
    nameless = mask(keys.ids.is_null())
    chosen = select(frame, grouping, nameless, keys.times, keys.rated, options)
    reading = replace(reading, unrated=chosen.unrated, filtered=chosen.filtered)
    if chosen.rows is not None:
        if not chosen.rows.any():
            return _nothing_left(reading, table, "none that is rated and asked for")
        keys = keys.keep(chosen.rows)
        grouping = regroup(grouping.of_row[chosen.rows])[0]
    findings = Findings(table, keys.place)
    for name, faults in keys.faults.items():
        findings.add_faults(name, faults, keys.frame[name])
    rows = check_rows(keys.frame, table.untyped, grouping, findings, options)
    if keys.times is not None:
        rows.columns["time"] = keys.times.values
    if keys.rated is not None:
        rows.columns["rated"] = keys.rated
    return _judge(table, options, reading, keys, grouping, findings, rows)


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


def _judge(
    table: Table,
    options: Options,
    reading: HistoryReading,
    keys: _Keys,
    grouping: Grouping,
    findings: Findings,
    rows: Rows,
) -> HistoryReading:
    """Return the history of the good rows if nothing is wrong or what is wrong may be skipped."""
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
            return _nothing_left(reading, table, "none without a problem")
        rows = rows.keep(good)
        grouping, _ = regroup(rows.match)
    history, notes = _assembled(table, keys, ids, rows, grouping)
    return replace(reading, history=history, notes=(*reading.notes, *notes))


def _beyond_repair(skip_bad: SkipBad | None, has_bad_row: Flags, matches: Ids) -> Flags:
    """Return the matches that go because of bad rows: all that have one, or that lost all."""
    if skip_bad == "matches":
        return has_bad_row
    lost = np.ones(len(has_bad_row), dtype=bool)
    lost[matches] = False
    return lost


def _account(
    reading: HistoryReading, findings: Findings, grouping: Grouping, bad: Flags, ids: pl.Series
) -> HistoryReading:
    """Return the reading with what is dropped; rows without a match id belong to no match."""
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
    """Return the history of rows that obey every rule, and notes on columns left out."""
    match_ids = ids.gather(rows.match[grouping.first])
    history, notes = assemble(keys.frame, table, match_ids, keys.times, rows, grouping)
    if history.order is not None:
        notes = (*notes, order_note(history.order))
    return history, notes
