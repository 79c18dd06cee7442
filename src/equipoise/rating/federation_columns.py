"""What federations know of a player in a match beside the result, as numbers for kernels.

These are columns of a history, each optional and with one value for each participation:

    event           name of the tournament, team match or league season that the match belongs to
    birth_year      year of birth
    games_before    number of the player's rated games before the first match of the pool
    events_before   number of the player's rated events before the first match of the pool
    handicap        stones that the player receives; 1 is a game without komi, 0 or empty none
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ids
from equipoise.data.history import History
from equipoise.errors import InvalidDataError, Problem

#: Name of the column that is text; the others are whole numbers with these bounds.
EVENT = "event"
_BOUNDS: Mapping[str, tuple[int, int, str]] = {
    "birth_year": (1800, 2200, "must be a year from 1800 to 2200, or empty"),
    "games_before": (0, 10**6, "must be a whole number of games from 0 to 1e6, or empty"),
    "events_before": (0, 10**6, "must be a whole number of events from 0 to 1e6, or empty"),
    "handicap": (0, 25, "must be a whole number of stones from 0 to 25, or empty"),
}

#: The columns, in the order in which messages list them.
FACTS: tuple[str, ...] = (EVENT, *_BOUNDS)

#: Those that say something of a player, for whom one value is enough.
FACTS_OF_PLAYERS = ("birth_year", "games_before", "events_before")

#: Characters of a wrong value that messages show.
_SHOWN = 200

#: Every code of an event is larger, so that it is the number of no month.
_LEAST_CODE = 2.0**32


#: Values of the column `rated` of a player's state: no rating yet, a rating of this pool, or one
#: that was known before the first match.
UNRATED, RATED_HERE, KNOWN = 0.0, 1.0, 2.0

#: What `rated` is for newcomers, by the parameter `newcomers` of federations; and what `equipoise
#: systems` says of it.
NEWCOMERS = {"unrated": int(UNRATED), "rated": int(RATED_HERE)}
NEWCOMERS_NOTE = (
    "rate newcomers from their first match on (rated) or, like the federation, only after enough "
    "games against rated players (unrated); unrated needs known ratings"
)


class Facts(NamedTuple):
    """The columns of N participations, NaN where nothing is known.

    event : codes of the names: equal names have equal codes
    """

    event: Floats
    birth_year: Floats
    games_before: Floats
    events_before: Floats
    handicap: Floats


def facts_of(
    history: History, uses: frozenset[str], low: int = 0, high: int | None = None
) -> Facts:
    """Return the facts of participations low:high; nothing is known of those not in `uses`.

    Raises : InvalidDataError
    """
    high = history.participations if high is None else high
    facts = Facts(*(np.full(high - low, np.nan) for _ in FACTS))
    for name, values in zip(FACTS, facts, strict=True):
        column = history.attributes.get(name) if name in uses else None
        if column is None:
            continue
        if name == EVENT:
            values[:] = codes_of(column[low:high])
        else:
            values[:] = _numbers(name, column[low:high], history, low)
    return facts


def codes_of(column: Ids) -> Floats:
    """Return a number for every name of an event or a context, NaN where there is none."""
    values = column.tolist()
    known = {
        value: math.nan if _absent(value) else _code(_text(value))
        for value in dict.fromkeys(values)
    }
    return np.array([known[value] for value in values], np.float64)


def _code(text: str) -> float:
    """Return a whole number from 2^32 to 2^53 that names a text, the same on every machine."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    # 53 bits are exact in float64.
    return max(float(int.from_bytes(digest, "little") >> 11), _LEAST_CODE)


def _text(value: object) -> str:
    """Return a name as text; a table may have read whole numbers as numbers."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _numbers(name: str, column: Ids, history: History, low: int) -> Floats:
    """Return whole numbers of a column. Raises : InvalidDataError."""
    numbers = np.full(len(column), np.nan)
    for row, value in enumerate(column.tolist()):
        if _absent(value):
            continue
        rule = broken_rule(name, value)
        if rule is not None:
            match = history.match_ids[int(np.searchsorted(history.offsets, low + row, "right")) - 1]
            text = repr(value)
            shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
            problem = Problem("", None, name, rule, f"{shown} in match {match}")
            raise InvalidDataError([problem])
        numbers[row] = _number(value)
    return numbers


def broken_rule(name: str, value: object) -> str | None:
    """Return the rule that a value of a column breaks, None if it may stand there."""
    if name == EVENT or _absent(value):
        return None
    least, most, rule = _BOUNDS[name]
    number = _number(value)
    return None if least <= number <= most and number == math.floor(number) else rule


def _number(value: object) -> float:
    """Return a value as a number, NaN if it is none."""
    if isinstance(value, bool):
        return math.nan
    try:
        return float(str(value))
    except ValueError:
        return math.nan


def _absent(value: object) -> bool:
    # NaN is the only value that differs from itself.
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def players_without(history: History, name: str) -> int:
    """Return how many players of a history have no value in a column of it."""
    column = history.attributes[name].tolist()
    has_value = np.array([not _absent(value) for value in column], bool)
    return history.players - len(np.unique(history.player[has_value]))


def players_with_several(history: History, name: str) -> int:
    """Return how many players of a history have different values in a column of it."""
    values: dict[int, set[str]] = {}
    column = history.attributes[name].tolist()
    for player, value in zip(history.player.tolist(), column, strict=True):
        if not _absent(value):
            values.setdefault(player, set()).add(_text(value))
    return sum(len(several) > 1 for several in values.values())


def matches_of_two_events(history: History) -> int:
    """Return the number of matches in which not all players have the same event, or none."""
    codes = np.nan_to_num(codes_of(history.attributes[EVENT]), nan=0.0)
    offsets = history.offsets[:-1]
    if not len(offsets):
        return 0
    return int(np.sum(np.minimum.reduceat(codes, offsets) != np.maximum.reduceat(codes, offsets)))


def stones_on_both_sides(history: History) -> int | None:
    """Return the first match in which more than one player receives stones, None without any."""
    column = history.attributes.get("handicap")
    if column is None:
        return None
    # What is no number is refused when the match is rated.
    has_stones = np.array(
        [not _absent(value) and _number(value) > 0.0 for value in column.tolist()], bool
    )
    counts = np.bincount(history.match_rows()[has_stones], minlength=history.matches)
    return int(np.argmax(counts > 1)) if (counts > 1).any() else None
