"""Which matches of a table are asked for: `where`, `since`, `until`, and `rated`."""

from __future__ import annotations

from datetime import date, datetime
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Ints
from equipoise.errors import InvalidParameterError
from equipoise.formats.grouping import Grouping
from equipoise.formats.options import Options
from equipoise.formats.times import Times
from equipoise.wording import counted


class Selection(NamedTuple):
    """The rows that stay (None: all), and how many matches went for which reason."""

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
    """Return which rows are asked for; matches stay or go whole.

    without_id : rows that belong to no match; they go only where `where` excludes them
    Raises : InvalidParameterError   wrong usage: unknown column, no times, a match torn apart
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
            raise InvalidParameterError(
                f"where (--where) must name a column of the table ({', '.join(frame.columns)}); "
                f"got {name!r}"
            )
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
    """Return the matches on all of whose rows the filters hold; refuse to tear one apart."""
    if holds is None:
        return np.ones(grouping.matches, dtype=bool)
    chosen = grouping.any(holds & ~without_id)
    torn = np.flatnonzero(chosen & grouping.any(~holds & ~without_id))
    if len(torn):
        some = counted(len(torn), "match", "matches")
        match = frame["match"][int(grouping.first[torn[0]])]
        filters = " and ".join(f"{name}={value}" for name, value in options.where)
        raise InvalidParameterError(
            f"where (--where) must hold on all rows of a match or on none; {filters} holds on "
            f"some rows only of {some}, of which the first is {match!r}"
        )
    return chosen


def equal_rows(column: pl.Series, value: object) -> Flags:
    """Return the rows that have a value, compared as numbers where both are, else as text."""
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
    """Return which matches lie in [since, until); a match has the time of its first row.

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
    """Return which moments, in the unit of `times.at`, lie in [since, until).

    Raises : InvalidParameterError   a bound that is none of these times
    """
    inside = np.ones(len(moments), dtype=bool)
    if options.since is not None:
        inside &= moments >= times.bound(options.since, "since")
    if options.until is not None:
        inside &= moments < times.bound(options.until, "until")
    return inside
