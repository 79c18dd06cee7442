"""Values of PGN tags as text and numbers; each is understood once, however often it comes."""

from __future__ import annotations

import math
import re
from collections import Counter

from equipoise.formats.pgn_results import (
    describe_provisional,
    is_nobody,
    is_provisional,
    is_unknown,
    rating_of,
)
from equipoise.wording import counted

#: Characters of a name or a round.
LONGEST = 1000
#: Values whose meaning is kept at hand, beside the names of players.
_KEPT = 50_000

_ESCAPED = re.compile(r'\\(["\\])')


class Values:
    """Bytes between quotation marks -> what they mean.

    persons : value -> name, of all values that name a player
    """

    def __init__(self) -> None:
        self.persons: dict[bytes, str] = {}
        self._ratings: dict[bytes, float] = {}
        self._provisional: Counter[bytes] = Counter()
        self._texts: dict[bytes, str] = {}
        self._latin: dict[str, None] = {}

    def text(self, value: bytes | None) -> str:
        """Return a value as text without escapes and needless spaces; "" where there is none."""
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
        """Return the text of a name, which becomes one of the persons if it is a player's."""
        known = None if value is None else self.persons.get(value)
        if known is not None or value is None:
            return known or ""
        text = self.text(value)
        if not is_unknown(text) and not is_nobody(text) and len(text) <= LONGEST:
            self.persons[value] = text
        return text

    def rating(self, value: bytes | None) -> float | None:
        """Return the rating an Elo tag gives, NaN for unrated; None where it gives neither."""
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
        """Return what should be known about how values were written."""
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
        """Return bytes as UTF-8, or where they are not, as the other encoding of PGN."""
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
