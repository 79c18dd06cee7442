"""Interprets the values of PGN tags: results, terminations, ratings, and names that mean no player.

`Values` interprets each distinct value once.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final, TypeAlias

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
#: Names that mean that a round has no opponent.
_NOBODY = frozenset(["bye", "(bye)", "-", "--", "not paired", "spielfrei"])
_UNRATED = re.compile(r"[0?+-]*|unr|unrated")
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
#: Marks of a rating from few games: 1500?, 1500P in the notation of FICS, 1500P12 and 1500/12
#: (twelve games) in that of the US federation. The first group is the number.
PROVISIONAL: Final = r"^\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(?:\?|[Pp][0-9]{0,2}|/[0-9]{1,2})\s*$"
_PROVISIONAL = re.compile(PROVISIONAL)


def is_nothing(text: str) -> bool:
    """Return whether a value means "not known" in PGN."""
    return text in _NOTHING


def is_nobody(name: str) -> bool:
    """Return whether a name means a round without an opponent."""
    return name.casefold() in _NOBODY


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


def describe_provisional(count: int, example: str) -> str:
    """Return a note on ratings that are marked as provisional."""
    ratings = counted(count, "rating is", "ratings are")
    return f"{ratings} marked as provisional (as {example!r}); the number is read"


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
        return [*self._told_latin(), *self._told_provisional()]

    def _told_provisional(self) -> list[str]:
        count = self._provisional.total()
        if not count:
            return []
        return [f"{describe_provisional(count, self.text(next(iter(self._provisional))))}."]

    def _told_latin(self) -> list[str]:
        if not self._latin:
            return []
        count, one = len(self._latin), next(iter(self._latin))
        what = counted(count, "value is", "values are")
        return [f"{what} not UTF-8 and read as Windows-1252, which holds Latin-1 (as {one!r})."]

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
