"""Reads the times of a table as microseconds since 1970 UTC, and their kind.

The kind of times is not guessed. `time_format` gives it; without it, only a column with a single
meaning is read. Whole numbers have rules of their own, because they can be seconds, dates, days of
a spreadsheet or rounds; see `_from_numbers`.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.times import (
    LAST_ORDER,
    MICROSECONDS,
    MICROSECONDS_PER_DAY,
    SECONDS_FROM,
    SECONDS_LIMIT,
    YEAR_ONE,
    TimeKind,
    are_compact_hours,
    compact_days,
)
from equipoise.errors import InvalidParameterError, require
from equipoise.formats.table import Fault, faults_of, no_effect
from equipoise.wording import addressed

#: Formats of times that have a name; any other format is a pattern of strptime.
NAMED_FORMATS = ("iso", "s", "ms", "us", "excel")

EVERYWHERE = "must be on all rows or on none"
TIME = (
    "must be whole seconds since 1970, or a date or time as in ISO 8601; other formats need "
    "--time-format"
)
SECONDS = "must be whole seconds since 1970, as on the other rows"
WHOLE = "must be a whole number, the format of --time-format"
ISO = "must be a date or time as in ISO 8601, as on the other rows"
ISO_ONLY = "must be a date or time as in ISO 8601, the format of --time-format"
_OR_SECONDS = "or seconds since 1970 with --time-format s"
COMPACT = f"must be a date YYYYMMDD, as on the other rows, {_OR_SECONDS}"
ORDER = f"must be a whole number from 0 to {LAST_ORDER}, as on the other rows, {_OR_SECONDS}"
MILLISECONDS = "must be seconds since 1970, at most 100000000000 (milliseconds?)"
TOO_SMALL = (
    "must be a date YYYYMMDD on all rows, a number from 0 to 9999 on all rows, or seconds since "
    "1970 of at least 94694400 (1973-01-01); use --time-format s for earlier seconds, "
    "--time-format excel for days of a spreadsheet"
)
HOURS = (
    "must have one meaning, but this column can be seconds since 1970 (--time-format s) or dates "
    "with an hour (--time-format %Y%m%d%H): choose one"
)
YEARS = "must be in the years 1 to 9999"
EXCEL = "must be a spreadsheet's day number, from 61 (1900-03-01) to 2958465 (9999-12-31)"

# Polars takes digits of every script for \d, and casts only those of ASCII.
# Groups: day, time of day, zone. RFC 3339 allows a space instead of T, which is common.
_ISO_PATTERN = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?)"
    r"\s?([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?$"
)
_USUAL_DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_USUAL_CLOCK = "[0-9]{2}:[0-9]{2}:[0-9]{2}Z?$"
#: The usual forms: their expression, and the characters that Polars reads, by which pattern.
_USUAL = (
    (f"{_USUAL_DAY}T{_USUAL_CLOCK}", 19, "%Y-%m-%dT%H:%M:%S"),
    (f"{_USUAL_DAY} {_USUAL_CLOCK}", 19, "%Y-%m-%d %H:%M:%S"),
    (f"{_USUAL_DAY}$", 10, "%Y-%m-%d"),
)
#: Times looked at before all are, because most columns are clear from these.
_FIRST_RUNS = 100
_SECONDS_PATTERN = r"^[+-]?[0-9]+(\.0*)?$"
#: Seconds in an argument; numbers with more digits are refused as text.
_SECONDS = re.compile(r"[+-]?[0-9]{1,100}")
#: Whole numbers with more digits than this are beyond every limit.
_HUGE = 2**62

#: Directives of strptime for the year, and those for a time of day.
_YEARS = frozenset("YyGcx")
_CLOCKS = frozenset("HIMSfpcXzZ")
#: Microseconds of the first and of the last time that ISO 8601 can express.
_FIRST, _LAST = YEAR_ONE * MICROSECONDS, 253_402_300_800 * MICROSECONDS - 1

#: 1899-12-30, from which spreadsheets count days since 1900-03-01.
_EXCEL_EPOCH = -25_569
#: Day 60 of a spreadsheet is 1900-02-29, which did not exist, so days before 61 are ambiguous.
_EXCEL_FIRST, _EXCEL_LAST = 61, 2_958_466
#: Spreadsheets have milliseconds; the rest of a day's fraction is rounding.
_EXCEL_STEPS = 86_400_000

#: Patterns that are proposed for a column of text that is not ISO 8601.
_DAYS = (
    *("%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d.%m.%Y", "%m.%d.%Y", "%Y.%m.%d"),
    *("%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y", "%y/%m/%d", "%d.%m.%y", "%m.%d.%y"),
    *("%y.%m.%d", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d"),
    *("%d %b %Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y"),
    *("%a %b %d %Y", "%a %d %b %Y", "%a, %d %b %Y"),
)
_CLOCK_PATTERNS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


class Times(NamedTuple):
    """Times of every row (0 on faulty rows), their kind, and the faults.

    scale : microseconds in one unit of `values`; 1 for an order
    is_order : whether the values are numbers from 0 to 9999, an order without dates
    time_format : the format given by the caller
    """

    values: Ints
    scale: int
    kind: TimeKind
    faults: tuple[Fault, ...]
    is_order: bool = False
    time_format: str | None = None

    def bound(self, value: object, name: str) -> int:
        """Return a caller's bound in microseconds since 1970, or as a number of the order.

        Raises : InvalidParameterError
        """
        return order_bound(value, name) if self.is_order else moment(value, name, self.time_format)

    def within(self, since: object, until: object) -> Flags:
        """Return the rows with times in [since, until); None is no bound.

        Raises : InvalidParameterError   a bound does not suit these times
        """
        moments = self.values * self.scale
        inside = np.ones(len(moments), dtype=bool)
        if since is not None:
            inside &= moments >= self.bound(since, addressed("--from"))
        if until is not None:
            inside &= moments < self.bound(until, addressed("--until"))
        return inside


#: Seconds since 1970, perhaps with a fraction.
_PRECISE = re.compile(r"[0-9]{8,12}(\.[0-9]{1,9})?")

#: The start of a note on an order without dates.
ORDER_NOTE = "the times, "


def order_note(order: Ints) -> str:
    """Return a note on a history whose times are an order without dates."""
    numbers = f"numbers from {order[0]} to {order[-1]}"
    if order[0] == order[-1]:
        numbers = f"the number {order[0]} everywhere"
    return (
        f"{ORDER_NOTE}{numbers}, are read as an order without dates: matches are rated in this "
        "order, and no days are counted; --time-format s reads them as seconds since 1970"
    )


def check_time_format(time_format: object) -> str | None:
    """Return a checked format of times. Raises : InvalidParameterError."""
    if time_format is None or time_format in NAMED_FORMATS:
        return None if time_format is None else str(time_format)
    name = "time_format (--time-format)"
    rule = f"one of {', '.join(NAMED_FORMATS)}, or a pattern of strptime such as %d/%m/%Y"
    require(isinstance(time_format, str) and "%" in time_format, name, rule, time_format)
    pattern = str(time_format)
    try:
        datetime.strptime("", pattern)
    except ValueError as error:
        require("does not match" in str(error), name, f"{rule} ({error})", pattern)
    except re.error as error:
        raise InvalidParameterError(f"{name} must be {rule}; got {pattern!r}") from error
    require(bool(_YEARS & _directives(pattern)), name, "a pattern with a year, %Y or %y", pattern)
    return pattern


def has_clock(pattern: str) -> bool:
    """Return whether a pattern of strptime has a time of day."""
    return bool(_CLOCKS & _directives(pattern))


def _directives(pattern: str) -> set[str]:
    """Return the letters of the directives of a pattern of strptime."""
    return set(re.findall(r"%(.)", pattern))


#: A date, or a date and time, as readers of workbooks write them beside texts.
_CELL = r"^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d)?$"


def read_times(column: pl.Series, time_format: str | None = None) -> Times | None:
    """Return the times of a column, or None if it is empty.

    time_format : as `check_time_format` returns it
    Raises : InvalidParameterError   a format for a column that already has dates
    """
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype in (pl.Categorical, pl.Enum, pl.Binary):
        column = column.cast(pl.String, strict=False)
    text = column.dtype == pl.String
    if not text and column.null_count() == len(column):
        return None
    given = time_format
    if text and time_format is not None and "%" in time_format:
        column, time_format = _with_cells(column, time_format)
    numeric = column.dtype.is_integer() or column.dtype.is_float() or column.dtype.is_decimal()
    times: Times | None
    if column.dtype == pl.Date or column.dtype == pl.Datetime:
        times = _from_stamps(column, time_format)
    elif text or (numeric and time_format not in (None, "s", "ms", "us")):
        times = _from_runs(column, time_format)
    elif numeric:
        times = _from_whole(column, time_format)
    else:
        every = Fault(np.ones(len(column), bool), TIME)
        times = Times(np.zeros(len(column), np.int64), 1, "seconds", (every,))
    if times is None:
        return None
    if times.faults and time_format in (None, "s"):
        precise = _precise_seconds(column)
        times = times if precise is None else _from_stamps(precise, None)
    return times._replace(time_format=given)


def _with_cells(column: pl.Series, time_format: str) -> tuple[pl.Series, str | None]:
    """Return a column in which dates as in ISO 8601 are written in a format, as its texts are.

    A sheet may hold both: what was typed before its cells became dates stays text. If all are dates
    as in ISO 8601, they keep what the format leaves out, such as the time of day.
    """
    cells = column.str.contains(_CELL).fill_null(False)
    # Formats that begin like ISO 8601 may read the same texts with the day before the month.
    if not cells.any() or time_format.startswith("%Y-"):
        return column, time_format
    if cells.sum() == len(column) - column.null_count():
        return column, None
    whole = pl.select(
        pl.when(column.str.len_bytes() == _LONGEST_DAY).then(column + "T00:00:00").otherwise(column)
    ).to_series()
    # In UTC, because a format may have a zone.
    times = whole.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_zone="UTC", strict=False)
    written = times.dt.strftime(time_format)
    return written.zip_with(cells & written.is_not_null(), column), time_format


def _precise_seconds(column: pl.Series) -> pl.Series | None:
    """Return date-times if all values are seconds since 1970 (from 1973) and some have fractions.

    No other kind of time has such numbers. They are read to the microsecond; None if it is not so.
    """
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        if not column.str.contains(f"^({_PRECISE.pattern})$").all():
            return None
        column = column.cast(pl.Float64)
    elif not column.dtype.is_float():
        return None
    inside = (column >= SECONDS_FROM) & (column <= SECONDS_LIMIT)
    if not inside.all() or (column.floor() == column).all():
        return None
    return (column * MICROSECONDS).round().cast(pl.Int64).cast(pl.Datetime("us"))


def instant(value: object, name: str) -> int:
    """Return a time in microseconds since 1970; a whole number is always seconds since 1970.

    value : ISO 8601 text, a date, or seconds since 1970; without a zone it is UTC
    Raises : InvalidParameterError
    """
    if isinstance(value, str):
        stripped = value.strip()
        value = int(stripped) if _SECONDS.fullmatch(stripped) else _iso(stripped, name)
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _scaled(value, name, "s")
    if isinstance(value, datetime):
        return _microseconds(value)
    if isinstance(value, date):
        return _microseconds(datetime(value.year, value.month, value.day))
    raise InvalidParameterError(f"{name} {_MOMENT}; got {value!r}")


_MOMENT = "must be whole seconds since 1970, or a date or time as in ISO 8601"


def moment(value: object, name: str, time_format: str | None = None) -> int:
    """Return a bound for the times of a table, in microseconds since 1970.

    value : ISO 8601 text, a date, or text in `time_format`. Without a format, a whole number is a
      date YYYYMMDD or seconds since 1970 (from 1973), as in a table
    Raises : InvalidParameterError
    """
    text = value.strip() if isinstance(value, str) else None
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        text = str(value)
    if text is None:
        return instant(value, name)
    if time_format == "excel" and re.fullmatch(r"[0-9]{1,10}(\.[0-9]+)?", text):
        micros, faulty = _excel_days(np.array([float(text)]))
        require(not faulty.any(), name, EXCEL.removeprefix("must be "), value)
        return int(micros[0])
    if time_format is not None and time_format not in NAMED_FORMATS:
        parsed = _by_pattern(text, time_format)
        return instant(value, name) if parsed is None else parsed
    if not _SECONDS.fullmatch(text):
        return instant(value, name)
    number = int(text)
    if time_format in ("s", "ms", "us"):
        return _scaled(number, name, time_format)
    days, is_date = compact_days(np.array([number if abs(number) < _HUGE else 0]))
    if is_date[0]:
        return int(days[0]) * MICROSECONDS_PER_DAY
    if number < SECONDS_FROM:
        raise InvalidParameterError(
            f"{name} must be a date or time as in ISO 8601, a date YYYYMMDD, or seconds since 1970 "
            f"of at least {SECONDS_FROM} (1973-01-01); --time-format s reads earlier seconds; got "
            f"{value}"
        )
    return _scaled(number, name, "s")


def order_bound(value: object, name: str) -> int:
    """Return a bound of an order without dates. Raises : InvalidParameterError."""
    text: Any = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and _SECONDS.fullmatch(text):
        text = int(text)
    whole = isinstance(text, int | np.integer) and not isinstance(text, bool)
    if whole and 0 <= text <= LAST_ORDER + 1:
        return int(text)
    raise InvalidParameterError(
        f"{name} must be a number from 0 to {LAST_ORDER + 1}, because the times of this history "
        f"are an order without dates (--time-format s reads them as seconds since 1970); got "
        f"{value!r}"
    )


def check_bound(value: object, name: str, time_format: str | None) -> None:
    """Refuse a bound that suits no kind of times. Raises : InvalidParameterError."""
    text = value.strip() if isinstance(value, str) else str(value)
    whole = isinstance(value, str | int | np.integer) and not isinstance(value, bool)
    # What a whole number means depends on the times of the table.
    if not (whole and _SECONDS.fullmatch(text)):
        moment(value, name, time_format)


def _scaled(number: int, name: str, unit: str) -> int:
    """Return a number of seconds, milliseconds or microseconds since 1970 in microseconds."""
    scale = {"s": MICROSECONDS, "ms": 1_000, "us": 1}[unit]
    if unit == "s" and abs(number) > SECONDS_LIMIT:
        raise InvalidParameterError(f"{name} {MILLISECONDS}; got {number}")
    require(abs(number * scale) < _HUGE, name, "in the years 1 to 9999", number)
    return number * scale


def _iso(text: str, name: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidParameterError(f"{name} {_MOMENT}; got {text!r}") from error


def _microseconds(when: datetime) -> int:
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    apart = when - datetime(1970, 1, 1, tzinfo=UTC)
    return (apart.days * 86_400 + apart.seconds) * MICROSECONDS + apart.microseconds


def _absent(column: pl.Series) -> Flags | None:
    return column.is_null().to_numpy() if column.null_count() else None


def _beyond(micros: Ints) -> Flags | None:
    """Return which times ISO 8601 cannot express."""
    if not len(micros) or _FIRST <= micros.min() <= micros.max() <= _LAST:
        return None
    return (micros < _FIRST) | (micros > _LAST)


def _from_stamps(column: pl.Series, time_format: str | None) -> Times:
    if time_format not in (None, "iso"):
        raise no_effect(
            "time_format (--time-format) must be left out, because the time column already has "
            f"dates ({column.dtype}); got {time_format!r}",
            "a time column that has dates",
            "time_format",
        )
    kind: TimeKind = "date" if column.dtype == pl.Date else "datetime"
    micros = column.cast(pl.Datetime("us")) if kind == "date" else column.dt.cast_time_unit("us")
    values = micros.to_physical().fill_null(0).to_numpy()
    beyond = _beyond(values)
    if beyond is not None:
        values = np.where(beyond, 0, values)
    return Times(values, 1, kind, faults_of((_absent(column), EVERYWHERE), (beyond, YEARS)))


def _from_whole(column: pl.Series, time_format: str | None) -> Times:
    """Return the times of a column of numbers, which must be whole."""
    absent = _absent(column)
    fraction = None
    if not column.dtype.is_integer():
        column = column.cast(pl.Float64)
        whole = column.is_finite() & (column.floor() == column)
        fraction = (~whole).fill_null(False).to_numpy()
        column = column.set(~whole, None).clip(-1e18, 1e18)
    # Whole numbers too large for Int64 are beyond every limit.
    numbers = column.cast(pl.Int64, strict=False)
    huge = column.is_not_null() & numbers.is_null()
    numbers = numbers.set(huge, _HUGE) if huge.any() else numbers
    present = numbers.is_not_null().to_numpy() if numbers.null_count() else None
    times = _from_numbers(numbers.fill_null(0).to_numpy(), present, None, time_format)
    rule = TIME if time_format is None else WHOLE
    return times._replace(
        faults=(*faults_of((absent, EVERYWHERE), (fraction, rule)), *times.faults)
    )


def _from_numbers(
    numbers: Ints, there: Flags | None, often: Ints | None, time_format: str | None
) -> Times:
    """Return times of whole numbers.

    If all are dates YYYYMMDD of the years 1800 to 2200, they are dates. If all are from 0 to 9,999,
    they are an order without dates. If all are at least 94,694,400 (1973), they are seconds since
    1970, unless all could also be dates with an hour. Every other number is a fault.

    there : which rows have a number (others have 0), None for all; often : number of rows with each
      number
    """
    known = numbers if there is None else numbers[there]
    if time_format is not None or not len(known):
        return _in_unit(numbers, time_format or "s")
    low, high = int(known.min()), int(known.max())
    if low >= SECONDS_FROM:
        if are_compact_hours(known):
            every = np.ones(len(numbers), dtype=bool) if there is None else there
            return Times(np.zeros_like(numbers), MICROSECONDS, "seconds", faults_of((every, HOURS)))
        return _in_unit(numbers, "s")
    if low >= 0 and high <= LAST_ORDER:
        return Times(numbers, 1, "seconds", (), is_order=True)
    days, is_date = compact_days(numbers)
    present = np.ones(len(numbers), dtype=bool) if there is None else there
    rows = present.astype(np.int64) if often is None else present * often
    # The kind of most rows decides; the other rows are faults.
    if is_date.any() and 2 * int(rows[is_date].sum()) >= int(rows.sum()):
        bad = present & ~is_date
        return Times(days, MICROSECONDS_PER_DAY, "date", faults_of((bad, COMPACT)))
    small = present & (numbers < SECONDS_FROM)
    times = _in_unit(np.where(small, 0, numbers), "s")
    return times._replace(faults=(*faults_of((small, TOO_SMALL)), *times.faults))


def _in_unit(numbers: Ints, unit: str) -> Times:
    """Return times of seconds, milliseconds or microseconds since 1970."""
    scale = {"s": MICROSECONDS, "ms": 1_000, "us": 1}[unit]
    first, last = (-SECONDS_LIMIT, SECONDS_LIMIT) if unit == "s" else (_FIRST, _LAST)
    beyond, early, rule = None, None, MILLISECONDS
    if unit != "s":
        first, last, rule = -(-first // scale), last // scale, YEARS
    if len(numbers) and not max(first, YEAR_ONE) <= numbers.min() <= numbers.max() <= last:
        beyond = (numbers > last) | (numbers < first)
        early = (numbers * (unit == "s") < YEAR_ONE) & ~beyond
        numbers = np.where(beyond | early, 0, numbers)
    kind: TimeKind = "seconds" if unit == "s" else "datetime"
    return Times(numbers, scale, kind, faults_of((beyond, rule), (early, YEARS)))


class _Runs(NamedTuple):
    """Times of runs of equal values: a match's rows share their time, so each is read once.

    values : microseconds, or numbers of the kind in `times`; null if unread
    """

    values: pl.Series
    kind: TimeKind
    rule: str
    times: Times | None = None


def _from_runs(column: pl.Series, time_format: str | None) -> Times | None:
    """Return the times of a column of text, or of numbers that are read as text; None if empty."""
    if not len(column):
        return None
    new = column.ne_missing(column.shift(1)).to_numpy().copy()
    new[0] = True
    starts = np.flatnonzero(new)
    lengths = np.diff(np.append(starts, len(column)))
    runs = column.gather(starts)
    text = column.dtype == pl.String
    runs = runs.str.strip_chars().replace("", None) if text else _as_text(runs)
    rows = int(lengths[runs.is_not_null().to_numpy()].sum())
    if not rows:
        return None
    of_runs = _read_runs(runs, lengths, rows, time_format)
    values, times = of_runs.values, of_runs.times
    unread = (values.is_null() & runs.is_not_null()).to_numpy()
    micros = values.fill_null(0).to_numpy()
    beyond = None if times is not None else _beyond(micros)
    if beyond is not None:
        micros = np.where(beyond, 0, micros)
    faults = faults_of(
        (runs.is_null().to_numpy(), EVERYWHERE), (unread, of_runs.rule), (beyond, YEARS)
    )
    numbered = () if times is None else times.faults
    spread = tuple(
        Fault(np.repeat(rows_of_fault, lengths), rule)
        for rows_of_fault, rule in (*faults, *numbered)
    )
    spread_values = np.repeat(micros, lengths)
    if times is None:
        return Times(spread_values, 1, of_runs.kind, spread, time_format=time_format)
    return times._replace(values=spread_values, faults=spread, time_format=time_format)


def _as_text(numbers: pl.Series) -> pl.Series:
    """Return numbers as text, whole ones without a fraction."""
    if numbers.dtype.is_integer():
        return numbers.cast(pl.String)
    numbers = numbers.cast(pl.Float64)
    whole = numbers.is_finite() & (numbers.floor() == numbers) & (numbers.abs() < 2.0**53)
    text = numbers.cast(pl.String)
    at = np.flatnonzero(whole.fill_null(False).to_numpy())
    plain = numbers.gather(at).cast(pl.Int64).cast(pl.String)
    return text.scatter(at, plain) if len(at) else text


def _read_runs(runs: pl.Series, lengths: Ints, rows: int, time_format: str | None) -> _Runs:
    """Return the times of runs of text; rows : how many rows have a time."""
    if time_format == "excel":
        return _read_excel(runs)
    if time_format == "iso":
        values, only_days = _parse_iso(runs)
        return _Runs(values, "date" if only_days else "datetime", ISO_ONLY)
    if time_format is not None and time_format not in NAMED_FORMATS:
        return _read_pattern(runs, time_format)
    numeric = runs.str.contains(_SECONDS_PATTERN).fill_null(False)
    # The kind of most rows decides; the other rows are faults.
    most = 2 * int(lengths[numeric.to_numpy()].sum()) >= rows
    if time_format is not None or most:
        return _read_numbers(runs, numeric, lengths, time_format)
    values, only_days = _parse_iso(runs.set(numeric, None))
    rule = ISO if numeric.any() else TIME
    if values.null_count() > runs.null_count() and not numeric.any():
        rule = _proposal(runs.filter(values.is_null())) or rule
    return _Runs(values, "date" if only_days else "datetime", rule)


def _read_numbers(
    runs: pl.Series, numeric: pl.Series, lengths: Ints, time_format: str | None
) -> _Runs:
    """Return the times of runs of whole numbers; null for anything else."""
    if not numeric.all():
        runs = runs.set(~numeric, None)
    numbers = runs.cast(pl.Float64).cast(pl.Int64, strict=False)
    present = numbers.is_not_null().to_numpy() if numbers.null_count() else None
    times = _from_numbers(numbers.fill_null(0).to_numpy(), present, lengths, time_format)
    values = pl.Series(times.values)
    if present is not None:
        values = values.set(numbers.is_null(), None)
    if time_format is not None:
        rule = SECONDS if time_format == "s" and numeric.any() else WHOLE
    elif times.is_order:
        rule = ORDER
    else:
        rule = COMPACT if times.kind == "date" else SECONDS
    return _Runs(values, times.kind, rule, times)


def _read_excel(runs: pl.Series) -> _Runs:
    """Return the times of a spreadsheet's day numbers, with fractions."""
    days = runs.cast(pl.Float64, strict=False)
    present = (days.is_not_null() & days.is_finite()).fill_null(False)
    micros, bad = _excel_days(days.set(~present, None).fill_null(0.0).to_numpy())
    values = pl.Series(micros).set(~present | pl.Series(bad), None)
    only_days = not bool(np.any(micros % MICROSECONDS_PER_DAY))
    return _Runs(values, "date" if only_days else "datetime", EXCEL)


def _excel_days(days: Floats) -> tuple[Ints, Flags]:
    """Return microseconds since 1970 of a spreadsheet's days, to the millisecond, and faults."""
    bad: Flags = (days < _EXCEL_FIRST) | (days >= _EXCEL_LAST)
    whole = np.floor(np.where(bad, _EXCEL_FIRST, days))
    steps = np.rint((np.where(bad, _EXCEL_FIRST, days) - whole) * _EXCEL_STEPS)
    micros = (whole.astype(np.int64) + _EXCEL_EPOCH) * MICROSECONDS_PER_DAY
    micros += steps.astype(np.int64) * (MICROSECONDS_PER_DAY // _EXCEL_STEPS)
    return np.where(bad, 0, micros), bad


def _read_pattern(runs: pl.Series, pattern: str) -> _Runs:
    """Return the times of text in a pattern of strptime; each distinct text is read once."""
    distinct = runs.drop_nulls().unique()
    micros = [_by_pattern(text, pattern) for text in distinct.to_list()]
    read = pl.Series(micros, dtype=pl.Int64)
    values = runs.replace_strict(distinct, read, default=None, return_dtype=pl.Int64)
    kind: TimeKind = "datetime" if has_clock(pattern) else "date"
    return _Runs(values, kind, f"must be a time in the format of --time-format, {pattern}")


def _by_pattern(text: str, pattern: str) -> int | None:
    """Return microseconds of text in a pattern of strptime, or None."""
    try:
        return _microseconds(datetime.strptime(text, pattern))
    except (ValueError, OverflowError):
        return None


def _proposal(runs: pl.Series) -> str | None:
    """Return a rule that names the patterns that fit all these times; None if there are none.

    Texts without a digit, such as those of a row of totals, are no times in any pattern.
    """
    texts = runs.filter(runs.str.contains("[0-9]")).unique().to_list()
    if not texts:
        return None
    # Patterns that give the same times count as one.
    pattern_of: dict[tuple[int, ...], str] = {}
    for day, clock in product(_DAYS, _CLOCK_PATTERNS):
        values = _all_by_pattern(texts, f"{day}{clock}")
        if values is not None:
            pattern_of.setdefault(values, f"{day}{clock}")
    fitting = [f"--time-format {_quoted(pattern)}" for pattern in pattern_of.values()]
    if len(fitting) > 1:
        return f"must have one meaning, but this column can be read with {' or '.join(fitting)}"
    if fitting:
        return f"must be a date or time as in ISO 8601, or be read with {fitting[0]}"
    return None


def _all_by_pattern(texts: list[str], pattern: str) -> tuple[int, ...] | None:
    """Return microseconds of all texts by a pattern of strptime, None if one does not fit."""
    values = []
    for text in texts:
        value = _by_pattern(text, pattern)
        if value is None:
            return None
        values.append(value)
    return tuple(values)


def _quoted(pattern: str) -> str:
    return f"'{pattern}'" if " " in pattern else pattern


def _parse_iso(runs: pl.Series) -> tuple[pl.Series, bool]:
    """Return microseconds (null if unreadable), and whether all are days without a time."""
    usual = _parse_usual(runs)
    return _parse_any_iso(runs) if usual is None else usual


def _parse_usual(runs: pl.Series) -> tuple[pl.Series, bool] | None:
    """Return what `_parse_iso` does if all are existing times in one usual form, else None.

    This takes a sixth of the time.
    """
    for expression, length, pattern in _USUAL:
        if all(some.str.contains(expression).all() for some in (runs.head(_FIRST_RUNS), runs)):
            stamps = runs.str.head(length).str.to_datetime(pattern, time_unit="us", strict=False)
            micros = stamps.to_physical()
            complete = micros.null_count() == runs.null_count()
            return (micros, length == _LONGEST_DAY) if complete else None
    return None


def _parse_any_iso(runs: pl.Series) -> tuple[pl.Series, bool]:
    """Return what `_parse_iso` does, whatever the forms are."""
    parts = runs.str.extract_groups(_ISO_PATTERN).struct.unnest()
    day, clock, zone = parts.get_columns()
    clock = clock.fill_null("00:00").str.replace(",", ".", literal=True)
    clock = (
        clock
        + pl.select(
            pl.when(clock.str.len_bytes() == 5).then(pl.lit(":00")).otherwise(pl.lit(""))
        ).to_series()
    )
    stamps = (day + " " + clock).str.to_datetime(
        "%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False
    )
    offset = zone.str.replace(":", "", literal=True).str.replace(r"(?i)^z$", "+0000")
    minutes = offset.str.slice(1, 2).cast(pl.Int64) * 60 + offset.str.slice(3, 2).replace(
        "", "00"
    ).cast(pl.Int64)
    sign = pl.select(pl.when(offset.str.starts_with("-")).then(-1).otherwise(1)).to_series()
    micros = stamps.to_physical() - (minutes * sign).fill_null(0) * (60 * MICROSECONDS)
    only_days = bool(parts.get_columns()[1].is_null().all())
    rest = np.flatnonzero((micros.is_null() & runs.is_not_null()).to_numpy())
    if len(rest):
        texts = runs.gather(rest).to_list()
        micros = micros.scatter(rest, [_other_iso(text) for text in texts])
        # Only the long ones of the rarer spellings have a time of day.
        only_days &= all(len(text) <= _LONGEST_DAY and "T" not in text for text in texts)
    return micros, only_days


#: Number of characters of the longest day: 2024-01-31 or 2024-W05-3.
_LONGEST_DAY = 10


def _other_iso(text: str) -> int | None:
    """Return the rarer spellings of ISO 8601 (basic, week dates) in microseconds."""
    try:
        return _microseconds(datetime.fromisoformat(text))
    except ValueError:
        return None
