"""A history of single players as a table of games, one match a row, that our readers read again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from equipoise.arrays import Floats, Ids
from equipoise.data.history import OF_MATCHES, History
from equipoise.errors import InvalidDataError
from equipoise.formats.converting.two_sides import (
    RESULTS,
    TwoSides,
    attribute_of_matches,
    describe_left_out,
    lost_of_history,
    two_sides,
)
from equipoise.formats.games.layout import side_ratings

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
    sides = two_sides(history)
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
        columns["result"] = pl.Series([RESULTS[one] for one in sides.points.tolist()])
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


def _keep_attributes(sides: TwoSides, columns: dict[str, pl.Series]) -> set[str]:
    """Add the columns that have one value for each match, and ratings; return their names."""
    kept = set()
    attributes = sides.history.attributes
    for name in attributes:
        if name in _SAID or (name == "score" and "result" not in columns):
            continue
        values = attribute_of_matches(sides, name)
        if values is not None and (name == "round" or name not in {*_OWN, *columns}):
            columns.setdefault(name, _series(values))
            kept.add(name)
    without = side_ratings(columns) == (None, None)
    if "rating" in attributes and "rating" not in kept and without:
        for name, rows in (("white_elo", sides.first), ("black_elo", sides.second)):
            columns[name] = _series(attributes["rating"][rows])
        kept.add("rating")
    return kept


def _scores(sides: TwoSides) -> tuple[Floats, Floats] | None:
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


def _lost(sides: TwoSides, kept: set[str]) -> Iterator[str]:
    yield from describe_left_out(
        sides.left_out, "that are not between two single players were left out"
    )
    if sides.words == "first" and _said(sides.history):
        yield "who is at home is left out: in some matches both sides are, or in all neither is"
    if sides.words == "white" and sides.neutral.any():
        yield "matches on neutral ground are no longer marked"
    yield from lost_of_history(sides.history, kept)


def _said(history: History) -> bool:
    return bool({*_SAID} & set(history.attributes))


def _whole(numbers: Floats) -> pl.Series:
    whole = np.all(numbers == np.floor(numbers))
    return pl.Series(numbers.astype(np.int64) if whole else numbers)


def _series(values: Ids) -> pl.Series:
    if values.dtype == object:
        return pl.Series(values.tolist(), strict=False)
    return pl.Series(values)
