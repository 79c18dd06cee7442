"""A history of single players as a table of games, one match a row, that our readers read again.

White, or the side at home, comes first if the history says who it is; else the player listed first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.history import HOME_SIDES, OF_MATCHES, History
from equipoise.errors import InvalidDataError
from equipoise.formats.games.layout import side_ratings
from equipoise.wording import counted

#: Results by the points of the first side.
_RESULTS = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}
#: Columns of the two sides, by what the first side is.
_SIDES = {
    "white": ("white", "black"),
    "home": ("home", "away"),
    "first": ("player_1", "player_2"),
}
#: Columns that the two sides themselves say.
_SAID = ("side", "at_home")
#: Columns of the table, which no kept column may replace.
_OWN = ("match", "time", "round", "result", "neutral", "winner", "points")


def game_table(history: History) -> tuple[pl.DataFrame, list[str]]:
    """Return a table with a row for each match of two single players, and what it lacks.

    Raises : InvalidDataError   no match is between two single players
    """
    sides = _two_sides(history)
    names = _SIDES[sides.words]
    columns: dict[str, pl.Series] = {"match": _series(history.match_ids[sides.matches])}
    times = history.table_times()
    if times is not None:
        columns["round" if history.time is None else "time"] = pl.Series(times[sides.matches])
    for name, ids in zip(names, sides.players(), strict=True):
        columns[name] = _series(ids)
    kept = {*_SAID}
    scores = _scores(sides)
    if scores is None:
        columns["result"] = pl.Series([_RESULTS[one] for one in sides.points.tolist()])
    else:
        kept.add("score")
        for name, of_side in zip(names, scores, strict=True):
            columns[f"{name}_score"] = _whole(of_side)
    if sides.words == "home" and sides.neutral.any():
        columns["neutral"] = pl.Series(sides.neutral)
    for name in OF_MATCHES:
        of_match: Floats | None = getattr(history, name)
        if of_match is not None:
            columns[name] = pl.Series(of_match[sides.matches]).fill_nan(None)
            kept.add(name)
    kept |= _keep_attributes(sides, columns)
    return pl.DataFrame(columns), [*_lost(sides, kept)]


def _keep_attributes(sides: _TwoSides, columns: dict[str, pl.Series]) -> set[str]:
    """Add the columns that have one value for each match, and ratings; return their names."""
    kept = set()
    attributes = sides.history.attributes
    for name in attributes:
        if name in _SAID or (name == "score" and "result" not in columns):
            continue
        values = _attribute_of_matches(sides, name)
        if values is not None and (name == "round" or name not in {*_OWN, *columns}):
            columns.setdefault(name, _series(values))
            kept.add(name)
    without = side_ratings(columns) == (None, None)
    if "rating" in attributes and "rating" not in kept and without:
        for name, rows in (("white_elo", sides.first), ("black_elo", sides.second)):
            columns[name] = _series(attributes["rating"][rows])
        kept.add("rating")
    return kept


def _scores(sides: _TwoSides) -> tuple[Floats, Floats] | None:
    """Return the scores of both sides, if every match has both and the higher one won."""
    try:
        scores = sides.history.scores()
    except InvalidDataError:
        return None
    if scores is None:
        return None
    one, other = scores[sides.first], scores[sides.second]
    if not np.array_equal(np.sign(one - other), np.sign(sides.points - 0.5)):
        return None  # also where one is unknown, because NaN equals nothing
    return one, other


def _lost(sides: _TwoSides, kept: set[str]) -> Iterator[str]:
    yield from _describe_left_out(
        sides.left_out, "that are not between two single players were left out"
    )
    if sides.words == "first" and _said(sides.history):
        yield "who is at home is left out: in some matches both sides are, or in all neither is"
    if sides.words == "white" and sides.neutral.any():
        yield "matches on neutral ground are no longer marked"
    yield from _lost_of_history(sides.history, kept)


def _said(history: History) -> bool:
    return bool({*_SAID} & set(history.attributes))


def _whole(numbers: Floats) -> pl.Series:
    whole = np.all(numbers == np.floor(numbers))
    return pl.Series(numbers.astype(np.int64) if whole else numbers)


def _series(values: Ids) -> pl.Series:
    if values.dtype == object:
        return pl.Series(values.tolist(), strict=False)
    return pl.Series(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TwoSides:
    """G matches between two single players.

    matches : shape (G,), rows of matches; first, second : shape (G,), rows of participations
    points : shape (G,), of the first side
    words : what the first side is: "white", "home", or "first" if nobody knows
    neutral : shape (G,), matches on neutral ground
    """

    history: History
    matches: Ints
    first: Ints
    second: Ints
    points: Floats
    words: Literal["white", "home", "first"]
    neutral: Flags

    @property
    def left_out(self) -> int:
        """Return the number of matches of more or fewer players, or with teams."""
        return self.history.matches - len(self.matches)

    def players(self) -> tuple[Ids, Ids]:
        """Return the ids of the first and of the second player of each match."""
        ids, player = self.history.player_ids, self.history.player
        return ids[player[self.first]], ids[player[self.second]]


def _two_sides(history: History) -> _TwoSides:
    """Return the matches between two single players.

    Raises : InvalidDataError   there is none
    """
    matches = np.flatnonzero((history.sizes() == 2) & (history.teams() == 2))
    if not len(matches):
        raise InvalidDataError(
            [],
            "no match of this history is between two single players; leave out --as to write its "
            "table",
        )
    first = history.offsets[matches]
    second = first + 1
    home = history.at_home()
    words: Literal["white", "home", "first"] = "first"
    neutral = np.zeros(len(matches), dtype=bool)
    if home is not None:
        swapped = ~home[first] & home[second]
        first, second = first + swapped, second - swapped
        neutral = ~home[first] & ~home[second]
        both = home[first] & home[second]
        if not both.any() and not neutral.all():
            words = _words(history, first[~neutral])
    points = (1.0 + np.sign(history.rank[second] - history.rank[first])) / 2
    return _TwoSides(
        history=history,
        matches=matches,
        first=first,
        second=second,
        points=points,
        words=words,
        neutral=neutral,
    )


def _words(history: History, first: Ints) -> Literal["white", "home"]:
    """Return whether the side at home is called white."""
    side = history.attributes.get("side")
    if "at_home" in history.attributes or side is None:
        return "home"
    return "white" if np.all(side[first].astype(str) == HOME_SIDES[1]) else "home"


def _attribute_of_matches(sides: _TwoSides, name: str) -> Ids | None:
    """Return a column that has one value for each match; None if the sides have two."""
    values = sides.history.attributes[name]
    one, other = values[sides.first], values[sides.second]
    return one if _equal(one, other) else None


def _equal(one: Ids, other: Ids) -> bool:
    if one.dtype.kind == "f":
        return bool(np.array_equal(one, other, equal_nan=True))
    return bool(np.array_equal(one, other))


def _lost_of_history(history: History, kept: set[str]) -> Iterator[str]:
    """Yield what a format does not have of a history.

    kept : names of the columns that it has
    """
    there = ("performance_ceiling", "performance", "share", "weight", "beta", "gamma")
    names = [name for name in there if getattr(history, name) is not None and name not in kept]
    names += [name for name in history.statistics if name not in kept]
    names += [name for name in history.attributes if name not in kept]
    if names:
        yield f"left out, because this format has no such columns: {', '.join(names)}"
    if history.team_labels is not None and "team" not in kept:
        yield "the names of teams are left out"


def _describe_left_out(count: int, what: str) -> Iterator[str]:
    """Yield how many matches a format cannot have; what : which they are."""
    if count:
        yield f"{counted(count, 'match', 'matches')} {what}"
