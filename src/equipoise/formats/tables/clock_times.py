"""Puts a column of clock times together with the column of dates beside it.

Tables of football have `Date` and `Time`: neither is the time of a match alone. The column of clock
times becomes the time, so that both readers of tables find it under its own name. Where it cannot,
it has the dates instead, and a note says so.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from equipoise.formats.options import Options
from equipoise.formats.table import Table
from equipoise.formats.tables.columns import text_of
from equipoise.formats.tables.recognised import spelling
from equipoise.formats.times import NAMED_FORMATS, has_clock

_CLOCK = r"(?i)^\s*([01]?[0-9]|2[0-3])[:.][0-5][0-9](:[0-5][0-9])?(\s?[ap]\.?m\.?)?\s*$"
#: Clock times that may follow a date in ISO 8601.
_PLAIN = r"^\s*([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?\s*$"
_DATES = ("date", "matchdate", "gamedate", "utcdate")


def join_clock_times(table: Table, options: Options) -> Table:
    """Return the table with dates and clock times together in the column `time`, if it has both."""
    names = table.frame.columns
    clocks = [name for name in names if spelling(name) == "time"]
    dates = [name for name in names if spelling(name) in _DATES]
    if len(clocks) != 1 or len(dates) != 1 or "time" in options.columns:
        return table
    (clock,), (date,) = clocks, dates
    if clock in options.columns.values() or date in options.columns.values():
        return table
    times, days = table.frame[clock], table.frame[date]
    if times.dtype == pl.Time:
        times = times.dt.to_string("%H:%M:%S")
    if times.dtype != pl.String:
        return table
    there = times.str.contains(r"\S").fill_null(False)
    if not there.any() or not times.filter(there).str.contains(_CLOCK).all():
        return table
    pattern = options.time_format
    by_pattern = pattern is not None and pattern not in NAMED_FORMATS
    plain = there.all() and times.str.contains(_PLAIN).all()
    if pattern is not None and by_pattern != has_clock(pattern):
        plain = False
    elif by_pattern:
        plain = bool(there.all())
    if plain and days.dtype in (pl.Date, pl.String):
        joined = text_of(days).str.strip_chars() + " " + times.str.strip_chars()
        note = f"{date} and {clock} together are the times"
    else:
        joined = days
        note = f"the times are those of {date}; {clock}, times of day, is left out"
    frame = table.frame.with_columns(joined.alias(clock))
    return replace(table, frame=frame, notes=(*table.notes, note))
