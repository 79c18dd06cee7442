"""Lines of players in the columns of TRF16 -> players, and what each says of every round."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from equipoise.errors import Problem
from equipoise.formats.table import shown
from equipoise.formats.trf_lines import BEFORE_ROUNDS, ROUND, PlayerLine

START = "must be a start number from 1, in columns 5 to 8"
ONCE = "must be the start number of one player only"
RATING = "must be a whole number, 0 or blank, in columns 49 to 52"
OPPONENT = "must be a start number, 0000 or blank"
COLOUR = "must be w, b, - or blank"
RESULT = "must be one of 1 = 0 + - W D L H F U Z, or blank"
APART = "must be an opponent, a colour and a result, with blanks between their columns"
NOT_ALONE = "must have an opponent where there is a colour and the result of a game"
ALONE = "must have no opponent where the result is a bye"
OTHER = "must be another player"

#: Results of games, played and not rated, and of games that did not take place.
GAMES = frozenset("10=WDL")
UNRATED = frozenset("WDL")
FORFEITS = frozenset("+-")
BYES = frozenset("HFUZ")
#: What a result adds to the points of a player where nothing else is said; without an opponent
#: reports of 2006 wrote +, = and - for byes of a point, of half a point and of none.
_POINTS = {"1": 1.0, "W": 1.0, "+": 1.0, "F": 1.0, "U": 1.0, "=": 0.5, "D": 0.5, "H": 0.5}

_RESULTS = GAMES | FORFEITS | BYES | {" "}
_BLANK = " " * ROUND
#: Players with equal names who are listed before the rest is only counted.
_LISTED = 6


class Entry(NamedTuple):
    """What a line says of a round: opponent (0: none), colour (w, b or -), result (" ": none)."""

    opponent: int
    colour: str
    result: str


#: A round of which nothing is said, and one whose entry breaks a rule.
NOTHING = Entry(0, "-", "")
BROKEN = Entry(0, "-", "?")


@dataclass(frozen=True, slots=True)
class Player:
    """A player as the report has them; `rating` is NaN where unrated.

    points : in the standings, NaN where not given; scored : sum of the results as usual
    """

    line: int
    number: int
    name: str
    fide: str
    rating: float
    points: float
    scored: float
    entries: tuple[Entry, ...]

    def entry(self, at: int) -> Entry:
        """Return what is said of a round, from 0."""
        return self.entries[at] if at < len(self.entries) else NOTHING

    def block(self, at: int) -> str:
        """Return the entry of a round as it stands in the report."""
        entry = self.entry(at)
        if entry is NOTHING:
            return "nothing"
        return repr(f"{entry.opponent or '0000'} {entry.colour} {entry.result}".rstrip())


@dataclass(slots=True)
class Players:
    """The players of a report by their start numbers, and what is wrong with their lines.

    doubtful : numbers of more than one line; nothing is said about entries that name them
    complete : whether every line has a start number
    """

    by_number: dict[int, Player] = field(default_factory=dict)
    doubtful: set[int] = field(default_factory=set)
    complete: bool = True
    problems: list[Problem] = field(default_factory=list)


def read_players(lines: list[PlayerLine], name: str) -> Players:
    """Return the players of a report."""
    found = Players()
    for line, text in lines:
        number = _whole(text[4:8])
        if not number or text[3] != " " or text[8].isdigit():
            found.complete = False
            found.problems.append(Problem(name, line, "start number", START, shown(text[3:9])))
            continue
        player = _player(line, number, text, name, found.problems)
        first = found.by_number.setdefault(number, player)
        if first is not player:
            found.doubtful.add(number)
            got = f"{number}, which line {first.line} has for {shown(first.name)}"
            found.problems.append(Problem(name, line, "start number", ONCE, got))
    return found


def ids_of(players: list[Player]) -> tuple[list[str], str]:
    """Return an id for every player, and what to tell about those who share a name.

    The id is the name; of players with one name, the name and in brackets the FIDE number, or the
    start number where that does not tell them apart.
    """
    names = [one.name or f"no. {one.number}" for one in players]
    sharing = Counter(names)
    known = Counter((one.name, one.fide) for one in players)
    taken = set(sharing)
    ids = []
    for one, name in zip(players, names, strict=True):
        own = name
        if sharing[name] > 1:
            told = one.fide if one.fide and known[one.name, one.fide] == 1 else f"no. {one.number}"
            own = f"{name} ({told})"
            while own in taken:  # Somebody is really called so.
                own += "'"
            taken.add(own)
        ids.append(own)
    twice = [one for one, name in zip(ids, names, strict=True) if sharing[name] > 1]
    listed = "; ".join(twice[:_LISTED])
    if len(twice) > _LISTED:
        listed += f"; and {len(twice) - _LISTED:,} more"
    return ids, f"players with equal names are told apart: {listed}" if twice else ""


def _player(line: int, number: int, text: str, name: str, problems: list[Problem]) -> Player:
    """Return the player of a line; add what is wrong with the line."""
    rating = _whole(text[48:52])
    # A digit beside its columns is a rating that is shifted; a letter, a name that is too long.
    if rating is None or text[47].isdigit() or text[52].isdigit():
        problems.append(Problem(name, line, "rating", RATING, shown(text[47:53])))
    entries = []
    scored = 0.0
    for at, start in enumerate(range(BEFORE_ROUNDS, len(text), ROUND)):
        block = text[start : start + ROUND]
        if block == _BLANK:
            entries.append(NOTHING)
            continue
        entry = _entry(block, number)
        if isinstance(entry, str):
            problems.append(Problem(name, line, f"round {at + 1}", entry, shown(block)))
            entry = BROKEN
        entries.append(entry)
        scored += _POINTS.get(entry.result, 0.0)
    fide = text[57:68].strip().lstrip("0")
    return Player(
        line=line,
        number=number,
        name=" ".join(text[14:47].split()),
        fide=fide,
        rating=float(rating) if rating else math.nan,
        points=_points(text[80:84]),
        scored=scored,
        entries=tuple(entries),
    )


def _entry(block: str, number: int) -> Entry | str:
    """Return what ten characters say of a round, or the rule that they break."""
    said = _colour_and_result(block[4:])
    if isinstance(said, str):
        return said
    opponent = _whole(block[:4])
    if opponent is None:
        return OPPONENT
    if opponent == number:
        return OTHER
    colour, result = said
    if opponent:
        return ALONE if result in BYES else Entry(opponent, colour, result)
    return NOT_ALONE if result in GAMES and colour != "-" else Entry(0, colour, result)


@lru_cache(maxsize=512)
def _colour_and_result(text: str) -> tuple[str, str] | str:
    """Return the colour and the result that stand behind an opponent, or the broken rule."""
    if text[0] != " " or text[2] != " " or text[4:] != "  ":
        return APART
    colour, result = text[1].lower(), text[3].upper()
    if colour not in "wb- ":
        return COLOUR
    if result not in _RESULTS:
        return RESULT
    return "-" if colour == " " else colour, result


@lru_cache(maxsize=32768)
def _whole(text: str) -> int | None:
    """Return a whole number among blanks, 0 for blanks, None for anything else."""
    text = text.strip(" ")
    if not text:
        return 0
    return int(text) if text.isascii() and text.isdigit() else None


def _points(text: str) -> float:
    """Return a number of points, NaN where there is none; a comma may stand for the point."""
    try:
        points = float(text.replace(",", "."))
    except ValueError:
        return math.nan
    return points if math.isfinite(points) else math.nan
