"""When the games of PGN were played, and at which event, from their tags.

`UTCDate` and `UTCTime` are the moment at which a game began. Without them `Date` is the day. A date
with question marks, or one that does not exist, is not known. The local `Time` is not used, because
PGN does not say where it holds.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Ids, Ints
from equipoise.formats.pgn.values import Values, is_nothing
from equipoise.wording import counted

#: A day or a time of day that is not known.
_UNKNOWN = -(2**31)
_DATE = re.compile(rb"\s*([0-9]{4})[./-]([0-9]{1,2})[./-]([0-9]{1,2})\s*\Z")
_CLOCK = re.compile(rb"\s*([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?\s*\Z")
#: What large sites write into Event if a game belongs to no event.
_NO_EVENT = re.compile(r"(?:rated|casual|unrated)\b.*\bgame|live chess\b.*|let's play!?|-", re.I)
_SECONDS_A_DAY = 86_400
_EPOCH = date(1970, 1, 1).toordinal()


def _whole() -> array[int]:
    return array("i")


@dataclass(slots=True)
class Moments:
    """The dates of games, a row each, and the event of each.

    day : days since 1970; clock : seconds of the day, if the day is that of UTC
    in_utc : whether any day is that of UTC
    """

    day: array[int] = field(default_factory=_whole)
    clock: array[int] = field(default_factory=_whole)
    event: list[str | None] = field(default_factory=list)
    in_utc: bool = False
    _days: dict[bytes | None, int] = field(default_factory=lambda: {None: _UNKNOWN})
    _clocks: dict[bytes | None, int] = field(default_factory=lambda: {None: _UNKNOWN})
    _events: dict[bytes | None, str | None] = field(default_factory=lambda: {None: None})

    def add(self, tags: Mapping[bytes, bytes], values: Values) -> None:
        """Add the date and the event of a game."""
        day, clock = self._day(tags.get(b"UTCDate")), _UNKNOWN
        if day == _UNKNOWN:
            day = self._day(tags.get(b"Date"))
        else:
            self.in_utc = True
            value = tags.get(b"UTCTime")
            known = self._clocks.get(value)
            clock = _remember(self._clocks, value, clock_of(value)) if known is None else known
        self.day.append(day)
        self.clock.append(clock)
        value = tags.get(b"Event")
        if value not in self._events:
            self._events[value] = _event_of(values.text(value))
        self.event.append(self._events[value])

    def times(self, kept: Flags) -> tuple[pl.Series | None, str, tuple[str, ...]]:
        """Return the times of some games, what they come from, and notes; None without any.

        Days alone are the times if a game with a day lacks the time of day.
        """
        if not self.day:
            return None, "", ()
        days = np.array(self.day, dtype=np.int64)[kept]
        clocks = np.array(self.clock, dtype=np.int64)[kept]
        known = days != _UNKNOWN
        if not known.any():
            return None, "", ()
        without = known & (clocks == _UNKNOWN)
        if not without.any():
            return _series(days * _SECONDS_A_DAY + clocks, known, pl.Datetime("us")), _MOMENT, ()
        dated, source = _series(days, known, pl.Date), _DAYS if self.in_utc else _DAY
        if without.all() or not (known & ~without).any():
            return dated, source, ()
        games = counted(int(without.sum()), "game has", "games have")
        note = f"{games} no UTCDate and UTCTime, so only the day of every game counts"
        return dated, source, (note,)

    def events(self, kept: Flags) -> Ids | None:
        """Return the event of some games, None if no game has one."""
        if not any(self.event):
            return None
        found: Ids = np.empty(len(self.event), dtype=object)
        found[:] = self.event
        return found[kept]

    def _day(self, value: bytes | None) -> int:
        known = self._days.get(value)
        return _remember(self._days, value, day_of(value)) if known is None else known


#: What the times come from.
_MOMENT, _DAYS, _DAY = "UTCDate and UTCTime", "UTCDate or Date", "Date"
#: Number of values that are cached of each kind.
_KEPT = 200_000


def _remember(cache: dict[bytes | None, int], value: bytes | None, number: int) -> int:
    if len(cache) < _KEPT:
        cache[value] = number
    return number


def day_of(value: bytes | None) -> int:
    """Return a date of PGN in days since 1970; a fixed number if it is not known."""
    found = None if value is None else _DATE.match(value)
    if found is None:
        return _UNKNOWN
    try:
        return date(*map(int, found.groups())).toordinal() - _EPOCH
    except ValueError:
        return _UNKNOWN


def clock_of(value: bytes | None) -> int:
    """Return a time of day in seconds; a fixed number if it is not known."""
    found = None if value is None else _CLOCK.match(value)
    if found is None:
        return _UNKNOWN
    hours, minutes, seconds = map(int, found.groups())
    inside = hours < 24 and minutes < 60 and seconds < 60
    return hours * 3600 + minutes * 60 + seconds if inside else _UNKNOWN


def _event_of(text: str) -> str | None:
    return None if is_nothing(text) or _NO_EVENT.fullmatch(text) else text


def _series(values: Ints, known: Flags, dtype: pl.Date | pl.Datetime | type[pl.Date]) -> pl.Series:
    """Return days, or seconds, as a column of dates, null where they are not known."""
    scale = 1 if dtype == pl.Date else 1_000_000
    column = pl.Series(np.where(known, values, 0) * scale).cast(
        pl.Int32 if scale == 1 else pl.Int64
    )
    return column.cast(dtype).set(pl.Series(~known), None)
