"""Times as whole numbers: which numbers are unambiguous, and how tables write times.

A whole number can be seconds since 1970, a date such as 20240131, a spreadsheet's count of days, or
the number of a round. Readers and writers share the limits below, so that reading a written table
gives the same times.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from equipoise.arrays import Flags, Floats, Ids, Ints

if TYPE_CHECKING:
    import polars as pl

#: Format of the times in the input, which the output uses too.
TimeKind: TypeAlias = Literal["seconds", "datetime", "date"]

MICROSECONDS = 1_000_000
MICROSECONDS_PER_DAY = 86_400_000_000
_EPOCH = datetime(1970, 1, 1)

#: The last number of an order without dates: rounds, seasons, years.
LAST_ORDER = 9_999
#: 1973-01-01. Every date YYYYMMDD and every serial number of a spreadsheet is a smaller number.
SECONDS_FROM = 94_694_400
#: Larger numbers (after the year 5138) can only be milliseconds.
SECONDS_LIMIT = 100_000_000_000
#: Seconds from 1970 back to the year 1: no earlier time can be written as a date.
YEAR_ONE = -62_135_596_800

#: Years of whole numbers that are read as dates YYYYMMDD.
COMPACT_YEARS = (1800, 2200)
#: The first and the last number that could also be a date and an hour, YYYYMMDDHH.
COMPACT_HOURS = (1970_01_01_00, 2099_12_31_23)


def compact_days(numbers: Ints) -> tuple[Ints, Flags]:
    """Return days since 1970 of whole numbers YYYYMMDD, and which of them are dates.

    The days of numbers that are not a date of the years 1800 to 2200 are 0.
    """
    year = numbers // 10_000
    low, high = COMPACT_YEARS
    days, exists = calendar_days(year, numbers // 100 % 100, numbers % 100)
    exists &= (year >= low) & (year <= high)
    return np.where(exists, days, 0), exists


def calendar_days(year: Ints, month: Ints, day: Ints) -> tuple[Ints, Flags]:
    """Return days since 1970 (0 if there is no such day), and which days exist."""
    exists: Flags = (year >= 1) & (year <= 9_999) & (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(exists, (year - 1970) * 12 + month - 1, 0)
    first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    after = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    exists &= day <= after - first
    return np.where(exists, first + day - 1, 0), exists


def are_compact_hours(numbers: Ints) -> bool:
    """Return whether all numbers could also be a date and an hour, YYYYMMDDHH."""
    low, high = COMPACT_HOURS
    if not len(numbers) or numbers.min() < low or numbers.max() > high:
        return False
    return bool(np.all(compact_days(numbers // 100)[1] & (numbers % 100 < 24)))


def read_as_seconds(low: int, high: int) -> bool:
    """Return whether a column of whole numbers from `low` to `high` is read as seconds since 1970.

    A column whose smallest number could be a date and an hour counts as ambiguous, whatever the
    other numbers are, so a writer need not check all of them.
    """
    return SECONDS_FROM <= low < COMPACT_HOURS[0] and high <= SECONDS_LIMIT


def as_written(time: Ints, kind: TimeKind) -> Ids:
    """Return times in microseconds since 1970 in the format of this kind."""
    if kind == "seconds":
        return time // MICROSECONDS
    stamps: Ids = time.astype("datetime64[us]")
    return stamps if kind == "datetime" else stamps.astype("datetime64[D]")


def iso(time: int) -> str:
    """Return microseconds since 1970 as text of ISO 8601, without a zone."""
    return (_EPOCH + timedelta(microseconds=time)).isoformat()


def day_in_words(time: int) -> str:
    """Return the day of microseconds since 1970, for a line of text; of any year."""
    return str(np.datetime64(time, "us").astype("datetime64[D]"))


def to_the_minute(time: object) -> str:
    """Return a time to the minute in UTC, or a day; for an order without dates, its number.

    time : a date, a time, seconds since 1970, or a small whole number
    """
    if isinstance(time, int) and time > LAST_ORDER:
        time = datetime.fromtimestamp(time, UTC)
    return f"{time:%Y-%m-%d %H:%M}" if isinstance(time, datetime) else str(time)


def table_kind(time: Ints, kind: TimeKind) -> TimeKind:
    """Return the kind in which a table should write times, so that reading gives the same times.

    Seconds that a reader would refuse or misread are written in ISO 8601.
    """
    if kind == "datetime" or not len(time):
        return kind
    if kind == "date":
        return kind if not np.any(time % MICROSECONDS_PER_DAY) else "datetime"
    low, high = int(time.min()), int(time.max())
    plain = read_as_seconds(low // MICROSECONDS, high // MICROSECONDS)
    return kind if plain and not np.any(time % MICROSECONDS) else "datetime"


def table_times(time: Ints, kind: TimeKind) -> Ids:
    """Return times in microseconds since 1970 in the format of a table; see `table_kind`."""
    return as_written(time, table_kind(time, kind))


def utc(days: float) -> datetime | None:
    """Return days since 1970 as a time in UTC, to the microsecond; None for NaN."""
    if days != days:
        return None
    since = timedelta(microseconds=round(days * MICROSECONDS_PER_DAY))
    return _EPOCH.replace(tzinfo=UTC) + since


def days_of(time: float | date | None) -> float | None:
    """Return a time in days since 1970; None stays None.

    time : days, a date (its beginning in UTC), or a date-time, which is in UTC without a zone
    """
    return microseconds_of_date(time) / MICROSECONDS_PER_DAY if isinstance(time, date) else time


def microseconds_of_date(time: date) -> int:
    """Return a date, or a date-time, in microseconds since 1970; see `days_of`."""
    if not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    since = (time.replace(tzinfo=UTC) if time.tzinfo is None else time) - _EPOCH.replace(tzinfo=UTC)
    return since // timedelta(microseconds=1)


def stamps_of(days: Floats, kind: TimeKind) -> Ids:
    """Return days since 1970 as datetime64[us], NaT for NaN.

    A day as float64 is exact to a microsecond. Times that came in as seconds are whole seconds.
    """
    known = ~np.isnan(days)
    microseconds = np.rint(days[known] * MICROSECONDS_PER_DAY).astype(np.int64)
    if kind == "seconds":
        microseconds = (microseconds + MICROSECONDS // 2) // MICROSECONDS * MICROSECONDS
    stamps: Ids = np.full(len(days), "NaT", "datetime64[us]")
    stamps[known] = microseconds.astype("datetime64[us]")
    return stamps


def utc_column(times: Ids) -> pl.Series:
    """Return times of a table as date-times in UTC; an order without dates stays as it is.

    times : datetime64, or whole numbers: an order up to `LAST_ORDER`, or seconds since 1970
    """
    import polars as pl

    if times.dtype.kind == "i":
        if not len(times) or times.max() <= LAST_ORDER:
            return pl.Series(times)
        times = (times * MICROSECONDS).astype("datetime64[us]")
    return pl.Series(times.astype("datetime64[us]")).dt.replace_time_zone("UTC")
