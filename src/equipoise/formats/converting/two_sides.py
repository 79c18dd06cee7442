"""The matches of a history that are between two single players, with one row for each side.

White, or the side at home, comes first if the history says who it is; else the player listed first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.history import HOME_SIDES, History
from equipoise.errors import InvalidDataError
from equipoise.formats.games.layout import side_ratings
from equipoise.wording import counted

#: Results by the points of the first side.
RESULTS = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSides:
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

    def ratings(self) -> tuple[list[Ids | None], set[str]]:
        """Return the ratings that the source has of both sides, and the columns they are in.

        They are in two columns of the match, such as white_elo and black_elo, or in `rating`.
        """
        attributes = self.history.attributes
        pair = side_ratings(attributes)
        if pair != (None, None):
            rows = (self.first, self.second)
            of_sides = [
                None if name is None else attributes[name][at]
                for name, at in zip(pair, rows, strict=True)
            ]
            return of_sides, {name for name in pair if name is not None}
        rating = attributes.get("rating")
        if rating is None:
            return [None, None], set()
        return [rating[self.first], rating[self.second]], {"rating"}


def two_sides(history: History) -> TwoSides:
    """Return the matches between two single players.

    Raises : InvalidDataError   there is none
    """
    matches = np.flatnonzero((history.sizes() == 2) & (history.teams() == 2))
    if not len(matches):
        raise InvalidDataError(
            [],
            "no match of this history is between two single players; leave out --as to write its "
            "table, or use --as contests",
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
    return TwoSides(
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


def attribute_of_matches(sides: TwoSides, name: str) -> Ids | None:
    """Return a column that has one value for each match; None if the sides have two."""
    values = sides.history.attributes[name]
    one, other = values[sides.first], values[sides.second]
    return one if _equal(one, other) else None


def _equal(one: Ids, other: Ids) -> bool:
    if one.dtype.kind == "f":
        return bool(np.array_equal(one, other, equal_nan=True))
    return bool(np.array_equal(one, other))


def lost_of_history(history: History, kept: set[str]) -> Iterator[str]:
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


def describe_left_out(count: int, what: str) -> Iterator[str]:
    """Yield how many matches a format cannot have; what : which they are."""
    if count:
        yield f"{counted(count, 'match', 'matches')} {what}"
