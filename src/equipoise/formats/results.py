"""Results as tables of games write them -> points of the first side, or why it is no game."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ints
from equipoise.formats.columns import mask, text_of

RESULT = "must be a result: 1-0, 0-1, 1/2-1/2, 1, 0, 0.5, a forfeit (+/-, 1-0F) or * if unfinished"

#: Reasons for which a result is no game, by number; 0 is a game.
REASONS = ("", "unfinished", "forfeit", "bye", "adjudged")
_UNFINISHED, _FORFEIT, BYE, _ADJUDGED = 1, 2, 3, 4
_FAULTY = -1

_WORDS = {
    "white": 1.0,
    "home": 1.0,
    "win": 1.0,
    "won": 1.0,
    "black": 0.0,
    "away": 0.0,
    "loss": 0.0,
    "lost": 0.0,
    "draw": 0.5,
    "drawn": 0.5,
    "tie": 0.5,
    "tie(bothbad)": 0.5,  # of data sets in which people compare language models
    "=": 0.5,
    "=-=": 0.5,
}
_SHARES = {"1": 1.0, "0": 0.0, "0.5": 0.5, "1/2": 0.5}
_NOT_PLAYED = {
    "*": _UNFINISHED,
    "?": _UNFINISHED,
    "*-*": _UNFINISHED,
    "unfinished": _UNFINISHED,
    "bye": BYE,
    "+": _FORFEIT,
    "-": _FORFEIT,
    "forfeit": _FORFEIT,
    "0-0": _FORFEIT,  # nobody came
}
#: Plus and minus between any sign or none: +/-, -:+, +--, --.
_SIGNS = re.compile(r"[+-][/-]?[+-]")
_NUMBERS = re.compile(r"([01]|1/2|0\.5)(f*)-([01]|1/2|0\.5)(f*)(forfeit)?")


class Results(NamedTuple):
    """A row each: points of the first side (NaN if no game), number of the reason, faults.

    draw : whether the game was drawn
    """

    points: Floats
    reason: Ints
    faulty: Flags


def read_results(column: pl.Series, first: str, second: str) -> Results:
    """Return the results of a column; values are parsed once each.

    first, second : names of the columns of the two sides, which may stand for the winner
    """
    text = text_of(column)
    codes = text.cast(pl.Categorical)
    distinct = codes.unique()
    numbers = codes.to_physical()
    highest = int(numbers.fill_null(0).to_numpy().max(initial=0))
    table = np.full((highest + 1, 2), np.nan)
    sides = {_squeezed(first): 1.0, _squeezed(second): 0.0}
    for number, one in zip(distinct.to_physical().to_list(), distinct.to_list(), strict=True):
        if one is not None:
            table[number] = _parsed(one, sides)
    taken = table[numbers.fill_null(0).to_numpy()]
    taken[mask(text.is_null())] = np.nan, _FAULTY
    reason = taken[:, 1].astype(np.int64)
    return Results(np.ascontiguousarray(taken[:, 0]), np.maximum(reason, 0), reason == _FAULTY)


def _parsed(text: str, sides: dict[str, float]) -> tuple[float, int]:
    """Return points of the first side and the number of the reason."""
    plain = _squeezed(text)
    for known in (_WORDS, _SHARES, sides):
        if plain in known:
            return known[plain], 0
    if plain in _NOT_PLAYED:
        return np.nan, _NOT_PLAYED[plain]
    if _SIGNS.fullmatch(plain):
        return np.nan, _FORFEIT
    numbers = _NUMBERS.fullmatch(plain)
    if numbers is None:
        return np.nan, _FAULTY
    one, forfeited, other, also, said = numbers.groups()
    if forfeited or also or said:
        return np.nan, _FORFEIT
    points = _SHARES[one]
    together = points + _SHARES[other]
    if together > 1:
        return np.nan, _FAULTY
    # 1/2-0: an arbiter's word, not a result of play.
    return (points, 0) if together == 1 else (np.nan, _ADJUDGED)


def _squeezed(text: str) -> str:
    """Return text in one spelling: small letters, no spaces, one dash, one half, one point."""
    plain = re.sub(r"\s", "", text).casefold().replace("\u00bd", "1/2").replace(",", ".")
    plain = re.sub(r"[\u2010-\u2015\u2212:]", "-", plain)
    return re.sub(r"(?<![\d.])(\d*)\.(\d*?)0*(?!\d)", _number, plain)


def _number(found: re.Match[str]) -> str:
    """Return a decimal number without zeros that say nothing: 1.0, .5, 0.50."""
    whole, part = found.groups()
    if not whole and not part:
        return found.group()
    return (whole or "0") + (f".{part}" if part else "")
