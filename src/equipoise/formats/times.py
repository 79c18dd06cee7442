"""Times of a table -> microseconds since 1970 UTC, with the kind in which they were written."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Ints
from equipoise.data.history import TimeKind
from equipoise.errors import InvalidParameterError
from equipoise.formats.table import Fault

MICROSECONDS = 1_000_000
#: More seconds than this (the year 5138) can only be milliseconds.
SECONDS_LIMIT = 100_000_000_000

EVERYWHERE = "must be on all rows or on none"
TIME = "must be whole seconds since 1970, or a date or time as in ISO 8601"
SECONDS = "must be whole seconds since 1970, as on the other rows"
ISO = "must be a date or time as in ISO 8601, as on the other rows"
MILLISECONDS = "must be seconds since 1970, at most 100000000000 (milliseconds?)"

# Groups: day, time of day, zone. The space instead of T is RFC 3339's and everybody's habit.
_ISO_PATTERN = (
    r"^(\d{4}-\d{2}-\d{2})"
    r"(?:[Tt ](\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)\s?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$"
)
_SECONDS_PATTERN = r"^[+-]?\d+(\.0*)?$"
#: Seconds as a caller writes them; more digits than these are refused as text.
_SECONDS = re.compile(r"[+-]?[0-9]{1,100}")


class Times(NamedTuple):
    """Times of every row (0 on faulty rows), their kind, and the faults.

    scale : microseconds in a unit of `values`
    """

    values: Ints
    scale: int
    kind: TimeKind
    faults: tuple[Fault, ...]

    def at(self, rows: Ints) -> Ints:
        """Return the times of some rows in microseconds since 1970."""
        return self.values[rows] * self.scale


def read_times(column: pl.Series) -> Times | None:
    """Return the times of a column, or None if it is empty throughout."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype in (pl.Categorical, pl.Enum, pl.Binary):
        column = column.cast(pl.String, strict=False)
    if column.dtype == pl.String:
        column = column.str.strip_chars().replace("", None)
    if column.null_count() == len(column):
        return None
    if column.dtype == pl.String:
        return _from_text(column)
    if column.dtype.is_integer() or column.dtype.is_float() or column.dtype.is_decimal():
        return _from_seconds(column)
    if column.dtype == pl.Date or column.dtype == pl.Datetime:
        return _from_stamps(column)
    return Times(
        np.zeros(len(column), np.int64), 1, "seconds", (Fault(np.ones(len(column), bool), TIME),)
    )


def instant(value: object, name: str) -> int:
    """Return a caller's bound of time in microseconds since 1970.

    value : ISO 8601 text, a date, or seconds since 1970; zone-less is UTC
    Raises : InvalidParameterError
    """
    if isinstance(value, str):
        stripped = value.strip()
        value = int(stripped) if _SECONDS.fullmatch(stripped) else _iso(stripped, name)
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > SECONDS_LIMIT:
            raise InvalidParameterError(f"{name} {MILLISECONDS}; got {value}")
        return value * MICROSECONDS
    if isinstance(value, datetime):
        return _microseconds(value)
    if isinstance(value, date):
        return _microseconds(datetime(value.year, value.month, value.day))
    raise InvalidParameterError(f"{name} {TIME}; got {value!r}")


def _iso(text: str, name: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidParameterError(f"{name} {TIME}; got {text!r}") from error


def _microseconds(moment: datetime) -> int:
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    apart = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (apart.days * 86_400 + apart.seconds) * MICROSECONDS + apart.microseconds


def _faults(*candidates: tuple[Flags | None, str]) -> tuple[Fault, ...]:
    return tuple(Fault(rows, rule) for rows, rule in candidates if rows is not None and rows.any())


def _absent(column: pl.Series) -> Flags | None:
    return column.is_null().to_numpy() if column.null_count() else None


def _from_stamps(column: pl.Series) -> Times:
    kind: TimeKind = "date" if column.dtype == pl.Date else "datetime"
    micros = column.cast(pl.Datetime("us")) if kind == "date" else column.dt.cast_time_unit("us")
    values = micros.to_physical().fill_null(0).to_numpy()
    return Times(values, 1, kind, _faults((_absent(column), EVERYWHERE)))


def _from_seconds(column: pl.Series) -> Times:
    absent = _absent(column)
    fraction = None
    if not column.dtype.is_integer():
        column = column.cast(pl.Float64)
        whole = column.is_finite() & (column.floor() == column)
        fraction = (~whole).fill_null(False).to_numpy()
        column = column.set(~whole, None).clip(-1e18, 1e18)
    # Whole numbers too large for Int64 are beyond the limit anyway.
    seconds = column.fill_null(0).cast(pl.Int64, strict=False).fill_null(2**62).to_numpy()
    beyond = None
    if len(seconds) and not -SECONDS_LIMIT <= seconds.min() <= seconds.max() <= SECONDS_LIMIT:
        beyond = (seconds > SECONDS_LIMIT) | (seconds < -SECONDS_LIMIT)
        seconds = np.where(beyond, 0, seconds)
    faults = _faults((absent, EVERYWHERE), (fraction, TIME), (beyond, MILLISECONDS))
    return Times(seconds, MICROSECONDS, "seconds", faults)


def _from_text(column: pl.Series) -> Times:
    """Parse one value of every run of equal values: a match's rows share their time."""
    new = column.ne_missing(column.shift(1)).to_numpy().copy()
    new[0] = True
    starts = np.flatnonzero(new)
    lengths = np.diff(np.append(starts, len(column)))
    runs = column.gather(starts)
    numeric = runs.str.contains(_SECONDS_PATTERN).fill_null(False)
    # What most rows are decides; the others are then told to be like them.
    if 2 * int(lengths[numeric.to_numpy()].sum()) >= len(column) - column.null_count():
        seconds, kind, rule = runs.set(~numeric, None).cast(pl.Float64), "seconds", SECONDS
        times = _from_seconds(seconds.cast(pl.Int64, strict=False))
        values, scale = pl.Series(times.values).set(seconds.is_null(), None), MICROSECONDS
        beyond = [fault.rows for fault in times.faults if fault.rule == MILLISECONDS]
    else:
        values, only_days = _parse_iso(runs.set(numeric, None))
        kind, rule, beyond, scale = ("date" if only_days else "datetime"), ISO, [], 1
    if not numeric.any() or numeric.all():
        rule = TIME
    unread = (values.is_null() & runs.is_not_null()).to_numpy()
    faults = _faults(
        (runs.is_null().to_numpy(), EVERYWHERE),
        (unread, rule),
        (beyond[0] if beyond else None, MILLISECONDS),
    )
    spread = tuple(Fault(np.repeat(rows, lengths), rule) for rows, rule in faults)
    kinds: dict[str, TimeKind] = {"seconds": "seconds", "date": "date", "datetime": "datetime"}
    spread_values = np.repeat(values.fill_null(0).to_numpy(), lengths)
    return Times(spread_values, scale, kinds[kind], spread)


def _parse_iso(runs: pl.Series) -> tuple[pl.Series, bool]:
    """Return microseconds (null where unreadable), and whether all are days without a time."""
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
    rest = np.flatnonzero((micros.is_null() & runs.is_not_null()).to_numpy())
    if len(rest):
        micros = micros.scatter(rest, [_other_iso(text) for text in runs.gather(rest)])
    only_days = bool(parts.get_columns()[1].is_null().all()) and not micros.gather(rest).count()
    return micros, only_days


def _other_iso(text: str) -> int | None:
    """Return the rarer spellings of ISO 8601 (basic, week dates) in microseconds."""
    try:
        return _microseconds(datetime.fromisoformat(text))
    except ValueError:
        return None
