"""Interprets the values of PGN tags: results, terminations, ratings, dates, and names of nobody.

`Values` interprets each distinct value once, and `Moments` keeps the dates and events of games.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Ids, Ints
from equipoise.data.times import calendar_days
from equipoise.formats.values import PROVISIONAL, describe_provisional, is_nobody
from equipoise.wording import counted

#: White's points if the game was finished; else the reason why it is not a game.
Outcome: TypeAlias = float | str

UNFINISHED: Final = "unfinished"
FORFEIT: Final = "forfeit"
ABANDONED: Final = "abandoned"
BYE: Final = "bye"
WITHOUT_MOVES: Final = "without moves"
FILTERED: Final = "filtered"

#: Higher than any rating list; a larger number is a typing error.
HIGHEST_RATING: Final = 5000

#: Results in the spelling of the PGN standard, which are looked up first.
STANDARD: Final[dict[bytes, Outcome]] = {
    b"1-0": 1.0,
    b"0-1": 0.0,
    b"1/2-1/2": 0.5,
    b"*": UNFINISHED,
}
#: Results without spaces, in small letters, with "-" for every dash and colon and "1/2" for every
#: half.
_PLAYED: dict[str, Outcome] = {
    "1-0": 1.0,
    "0-1": 0.0,
    "1.0-0.0": 1.0,
    "0.0-1.0": 0.0,
    "1/2-1/2": 0.5,
    "1/21/2": 0.5,
    "1/2": 0.5,
    "*": UNFINISHED,
}
_FORFEITED = frozenset(
    ["+--", "--+", "---", "+/-", "-/+", "-/-", "+-", "-+", "0-0", "0f-0f", "1f-0f", "0f-1f"]
)
_DASHES = {ord(dash): "-" for dash in ":\u2010\u2011\u2012\u2013\u2014\u2212"}
_FORFEIT_MARK = re.compile(r"\(?f{1,2}\)?$|\(?forfeit\)?$")
_NOTHING = frozenset(["", "?", "??"])

#: Values of Termination for a result that was not reached over the board. A "time forfeit" and an
#: "adjudication" were.
_TERMINATIONS: dict[str, str] = {
    "unterminated": UNFINISHED,
    "abandoned": ABANDONED,
    "forfeit": FORFEIT,
    "forfeited": FORFEIT,
    "default": FORFEIT,
    "no show": FORFEIT,
    "no-show": FORFEIT,
    "walkover": FORFEIT,
    "rules infraction": FORFEIT,
    "unplayed": FORFEIT,
    "bye": BYE,
}
_UNRATED = re.compile(r"[0?+-]*|unr|unrated")
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_PROVISIONAL = re.compile(PROVISIONAL)


def is_nothing(text: str) -> bool:
    """Return whether a value means "not known" in PGN."""
    return text in _NOTHING


def is_unknown(name: str) -> bool:
    """Return whether a name is unknown: empty, or question marks."""
    return not name.strip("?")


def outcome_of(text: str) -> Outcome | None:
    """Return the outcome of a Result tag; None if it is not a result."""
    plain = "".join(text.split()).casefold().translate(_DASHES)
    plain = plain.replace("\u00bd", "1/2").replace(",", ".").replace("0.5", "1/2")
    if plain in _PLAYED:
        return _PLAYED[plain]
    marked = _FORFEIT_MARK.sub("", plain)
    if plain in _FORFEITED or (marked != plain and marked in (*_PLAYED, *_FORFEITED)):
        return FORFEIT
    return None


def not_played(termination: str) -> str | None:
    """Return the reason, from a Termination tag, why this is not a game; None if it is one."""
    return _TERMINATIONS.get(" ".join(termination.split()).casefold())


def is_provisional(text: str) -> bool:
    """Return whether a rating is marked as provisional."""
    return _PROVISIONAL.match(text) is not None


def rating_of(text: str) -> float | None:
    """Return the rating of an Elo tag, NaN if it means unrated; None if it is neither.

    For a provisional rating this is the number.
    """
    if _UNRATED.fullmatch(text.casefold()):
        return float("nan")
    text = _PROVISIONAL.sub(r"\1", text)
    if not _NUMBER.fullmatch(text):
        return None
    rating = float(text)
    return rating if 1 <= rating <= HIGHEST_RATING else None


#: Largest number of characters of a name or a round.
LONGEST = 1000
#: Number of values that are cached, in addition to the names of players.
_KEPT = 50_000

_ESCAPED = re.compile(r'\\(["\\])')


class Values:
    """Meanings of the bytes between quotation marks.

    persons : value -> name, for all values that name a player
    """

    def __init__(self) -> None:
        self.persons: dict[bytes, str] = {}
        self._ratings: dict[bytes, float] = {}
        self._provisional: Counter[bytes] = Counter()
        self._texts: dict[bytes, str] = {}
        self._latin: dict[str, None] = {}

    def text(self, value: bytes | None) -> str:
        """Return a value as text without escapes and superfluous spaces; "" if it is empty."""
        if value is None:
            return ""
        known = self._texts.get(value)
        if known is not None:
            return known
        text = _ESCAPED.sub(r"\1", " ".join(self._decoded(value).split()))
        if len(self._texts) < _KEPT and len(value) <= LONGEST:
            self._texts[value] = text
        return text

    def name(self, value: bytes | None) -> str:
        """Return the text of a name, and add it to the persons if it names a player."""
        known = None if value is None else self.persons.get(value)
        if known is not None or value is None:
            return known or ""
        text = self.text(value)
        if not is_unknown(text) and not is_nobody(text) and len(text) <= LONGEST:
            self.persons[value] = text
        return text

    def rating(self, value: bytes | None) -> float | None:
        """Return the rating of an Elo tag, NaN for unrated; None if it is neither."""
        if value is None:
            return math.nan
        known = self._ratings.get(value)
        if known is not None:
            if self._provisional and value in self._provisional:
                self._provisional[value] += 1
            return known
        rating = rating_of(self.text(value))
        if rating is not None and is_provisional(self.text(value)):
            self._provisional[value] += 1
        if rating is not None and len(self._ratings) < _KEPT:
            self._ratings[value] = rating
        return rating

    def notes(self) -> list[str]:
        """Return notes on the spelling of values."""
        notes = []
        if self._latin:
            what = counted(len(self._latin), "value is", "values are")
            example = f"which holds Latin-1 (as {next(iter(self._latin))!r})"
            notes.append(f"{what} not UTF-8 and read as Windows-1252, {example}.")
        if self._provisional:
            example = self.text(next(iter(self._provisional)))
            notes.append(f"{describe_provisional(self._provisional.total(), example)}.")
        return notes

    def _decoded(self, value: bytes) -> str:
        """Return bytes as UTF-8, or else in the other encoding of PGN."""
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            pass
        try:
            text = value.decode("cp1252")
        except UnicodeDecodeError:
            text = value.decode("latin-1")
        if len(self._latin) < _KEPT:
            self._latin[text[:LONGEST]] = None
        return text


_DATE = r"^\s*([0-9]{4})[./-]([0-9]{1,2})[./-]([0-9]{1,2})\s*$"
_CLOCK = r"^\s*([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?\s*$"
#: What large sites write into Event if a game belongs to no event.
_NO_EVENT = re.compile(r"(?:rated|casual|unrated)\b.*\bgame|live chess\b.*|let's play!?|-", re.I)
_TAGS = (b"UTCDate", b"UTCTime", b"Date", b"Event")


@dataclass(slots=True)
class Moments:
    """The tags of games that say when and where they were played; equal values are kept once."""

    _values: dict[bytes, list[bytes | None]] = field(default_factory=lambda: {t: [] for t in _TAGS})
    _known: dict[bytes | None, bytes | None] = field(default_factory=dict)

    def add(self, tags: Mapping[bytes, bytes]) -> None:
        """Add the tags of a game."""
        for tag, values in self._values.items():
            value = tags.get(tag)
            values.append(self._known.setdefault(value, value))

    def times(self, kept: Flags) -> tuple[pl.Series | None, str, tuple[str, ...]]:
        """Return the times of some games, what they come from, and notes; None without any.

        Days alone are the times if a game with a day lacks the time of day.
        """
        if not self._known:
            return None, "", ()
        column = {
            tag: pl.Series(values, dtype=pl.Binary).filter(kept).cast(pl.String, strict=False)
            for tag, values in self._values.items()
        }
        in_utc = days_of(column[b"UTCDate"])
        days = in_utc.zip_with(in_utc.is_not_null(), days_of(column[b"Date"]))
        clocks = seconds_of(column[b"UTCTime"]).set(in_utc.is_null(), None)
        known, timed = days.is_not_null(), clocks.is_not_null()
        if not known.any():
            return None, "", ()
        if timed.equals(known):
            moments = (days * 86_400 + clocks) * 1_000_000
            return moments.cast(pl.Datetime("us")), "UTCDate and UTCTime", ()
        dated = days.cast(pl.Int32).cast(pl.Date)
        source = "UTCDate or Date" if in_utc.is_not_null().any() else "Date"
        if not timed.any():
            return dated, source, ()
        games = counted(int((known & ~timed).sum()), "game has", "games have")
        note = f"{games} no UTCDate and UTCTime, so only the day of every game counts"
        return dated, source, (note,)

    def events(self, kept: Flags, values: Values) -> Ids | None:
        """Return the event of some games, None if no game has one."""
        name_of = {value: _event_of(values.text(value)) for value in {*self._values[b"Event"]}}
        events = [name_of[value] for value in self._values[b"Event"]]
        if not any(events):
            return None
        names: Ids = np.empty(len(events), dtype=object)
        names[:] = events
        return names[kept]


def days_of(dates: pl.Series) -> pl.Series:
    """Return dates of PGN in days since 1970, null if they are not known."""
    year, month, day = _numbers(dates, _DATE)
    days, exist = calendar_days(year, month, day)
    return pl.Series(days).set(pl.Series(~exist), None)


def seconds_of(clocks: pl.Series) -> pl.Series:
    """Return times of day in seconds, null if they are not known."""
    hours, minutes, seconds = _numbers(clocks, _CLOCK)
    inside = (hours >= 0) & (hours < 24) & (minutes < 60) & (seconds < 60)
    return pl.Series(hours * 3600 + minutes * 60 + seconds).set(pl.Series(~inside), None)


def _numbers(texts: pl.Series, pattern: str) -> list[Ints]:
    """Return the groups of a pattern as numbers, -1 without a match."""
    groups = texts.str.extract_groups(pattern).struct.unnest()
    return [group.cast(pl.Int64).fill_null(-1).to_numpy() for group in groups]


def _event_of(text: str) -> str | None:
    return None if is_nothing(text) or _NO_EVENT.fullmatch(text) else text
