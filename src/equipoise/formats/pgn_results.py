"""What the values of a PGN game mean: spellings of results, endings, ratings, names of nobody."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from equipoise.wording import counted

#: Points of white where the game was played to an end; else why it is not a game.
Outcome: TypeAlias = float | str

UNFINISHED: Final = "unfinished"
FORFEIT: Final = "forfeit"
ABANDONED: Final = "abandoned"
BYE: Final = "bye"
WITHOUT_MOVES: Final = "without moves"
FILTERED: Final = "filtered"

#: Above every rating list; what is higher is a slip of the finger.
HIGHEST_RATING: Final = 5000

#: As the standard of PGN writes results; they are looked up before anything else.
STANDARD: Final[dict[bytes, Outcome]] = {
    b"1-0": 1.0,
    b"0-1": 0.0,
    b"1/2-1/2": 0.5,
    b"*": UNFINISHED,
}
#: Without spaces, in small letters, with "-" for every dash and colon and "1/2" for every half.
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

#: The tag Termination says that the result was not reached over the board. A "time forfeit" was,
#: and so was an "adjudication".
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
#: Names that stand where a round has no opponent.
_NOBODY = frozenset(["bye", "(bye)", "-", "--", "not paired", "spielfrei"])
_UNRATED = re.compile(r"[0?+-]*|unr|unrated")
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
#: Marks of a rating from few games: 1500?, 1500P as FICS writes it, 1500P12 and 1500/12 (of twelve
#: games) as the US federation does. The first group is the number.
PROVISIONAL: Final = r"^\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(?:\?|[Pp][0-9]{0,2}|/[0-9]{1,2})\s*$"
_PROVISIONAL = re.compile(PROVISIONAL)


def is_nothing(text: str) -> bool:
    """Return whether a value is one that PGN writes for "not known"."""
    return text in _NOTHING


def is_nobody(name: str) -> bool:
    """Return whether a name stands for a round without an opponent."""
    return name.casefold() in _NOBODY


def is_unknown(name: str) -> bool:
    """Return whether a name names no one: nothing, or question marks."""
    return not name.strip("?")


def outcome_of(text: str) -> Outcome | None:
    """Return what a Result tag tells; None where it is not the spelling of a result."""
    plain = "".join(text.split()).casefold().translate(_DASHES)
    plain = plain.replace("\u00bd", "1/2").replace(",", ".").replace("0.5", "1/2")
    if plain in _PLAYED:
        return _PLAYED[plain]
    marked = _FORFEIT_MARK.sub("", plain)
    if plain in _FORFEITED or (marked != plain and marked in (*_PLAYED, *_FORFEITED)):
        return FORFEIT
    return None


def not_played(termination: str) -> str | None:
    """Return why a Termination tag says that this is not a game, None where it is one."""
    return _TERMINATIONS.get(" ".join(termination.split()).casefold())


def is_provisional(text: str) -> bool:
    """Return whether a rating is marked as one from few games."""
    return _PROVISIONAL.match(text) is not None


def describe_provisional(count: int, example: str) -> str:
    """Return a note on ratings that are marked so."""
    ratings = counted(count, "rating is", "ratings are")
    return f"{ratings} marked as provisional (as {example!r}); the number is read"


def rating_of(text: str) -> float | None:
    """Return the rating of an Elo tag, NaN where it says unrated; None where it is neither.

    Of a provisional rating it is the number.
    """
    if _UNRATED.fullmatch(text.casefold()):
        return float("nan")
    text = _PROVISIONAL.sub(r"\1", text)
    if not _NUMBER.fullmatch(text):
        return None
    rating = float(text)
    return rating if 1 <= rating <= HIGHEST_RATING else None
