"""Cells of a cross table -> results of the games of one player against another."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

CELL = (
    "must be results of games (1, 0, 1/2, 0.5, =, or several of them), points/games, +, - or blank"
)

#: Ways to write the result of one game.
_RESULTS = {
    **dict.fromkeys(("1", "1.0", "1,0"), 1.0),
    **dict.fromkeys(("0", "0.0", "0,0"), 0.0),
    **dict.fromkeys(("\u00bd", "=", "1/2", "0.5", "0,5", ".5", ",5"), 0.5),
}
#: Letters of a cell that holds several results without blanks between them.
_LETTERS = re.compile(r"[10=\u00bd]{2,}\Z")
_SHARE = re.compile(r"(\d{1,6}(?:[.,][05]0*)?|\d{0,6}\u00bd)/(\d{1,6})\Z")
_APART = re.compile(r"[\s;|]+")
#: What stands where two players did not meet, or a player meets themself.
_NOTHING = frozenset(("-", "\u2013", "\u2014", "\u2212", "*", "x", "X", "\u00d7", ".", "#"))


class Cell(NamedTuple):
    """What a cell says; of games only.

    games : number of games; points : of the player of the row; NaN where the cell says nothing
    results : the points of each game, where they are told one by one
    kind : "games", "forfeit" (a win without a game), "none" (not met, or lost without a game),
        "blank" or "bad"
    """

    kind: str
    results: tuple[float, ...] = ()
    points: float = math.nan
    games: int = 0


BLANK, NONE, FORFEIT, BAD = Cell("blank"), Cell("none"), Cell("forfeit"), Cell("bad")


def read_cell(text: str) -> Cell:
    """Return what a cell says."""
    text = "/".join(part.strip() for part in text.split("/"))
    if not text:
        return BLANK
    if text in _NOTHING:
        return NONE
    if text == "+":
        return FORFEIT
    share = None if text in _RESULTS else _SHARE.match(text)
    if share is not None:
        return _share(share[1], int(share[2]))
    results: list[float] = []
    for part in filter(None, _APART.split(text)):
        if part in _RESULTS:
            results.append(_RESULTS[part])
        elif _LETTERS.match(part):
            results += [_RESULTS[letter] for letter in part]
        else:
            return BAD
    return Cell("games", tuple(results), sum(results), len(results)) if results else BAD


def agree(one: Cell, other: Cell) -> bool:
    """Return whether two cells tell the same games from both sides; their order does not matter."""
    if one.kind != "games" or other.kind != "games":
        # Both forfeits, or games of which the other side knows nothing, contradict each other.
        return {one.kind, other.kind} <= {"none", "blank"} or {one.kind, other.kind} in (
            {"forfeit", "none"},
            {"forfeit", "blank"},
        )
    if one.games != other.games or one.points + other.points != one.games:
        return False
    if not one.results or not other.results:
        return True
    return sorted(one.results) == sorted(1.0 - result for result in other.results)


def points_of(text: str) -> float:
    """Return a total of points, NaN where it is none; halves and a decimal comma are known."""
    text = text.strip().replace("\u00bd", ".5").replace(",", ".")
    try:
        points = float(text)
    except ValueError:
        return math.nan
    return points if math.isfinite(points) else math.nan


def _share(points: str, games: int) -> Cell:
    """Return the cell of so many points of so many games."""
    scored = points_of(points)
    if not games or not 0.0 <= scored <= games:
        return BAD
    return Cell("games", (scored,) if games == 1 else (), scored, games)
