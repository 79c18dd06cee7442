"""Reads a column in which every player of a match has won, lost or drawn, as places.

This has one reading if a match has two players, or two teams: one side has won and the other lost,
or all have drawn. Three players without teams of whom two have won may be a team, so they are
refused.
"""

from __future__ import annotations

import polars as pl

from equipoise.errors import InvalidDataError, Problem
from equipoise.formats.table import Table

OUTCOMES = (
    "must be won on one side and lost on the other, or drawn on all rows of a match; matches of "
    "more than two players need a column team"
)
#: Names of such columns, in the spelling of `recognised.spelling`.
NAMES = ("result", "outcome")
_WON, _DRAWN, _LOST = 1, 2, 3
_WORDS = {
    **dict.fromkeys(("win", "won", "w", "victory"), _WON),
    **dict.fromkeys(("draw", "drawn", "d", "tie", "tied", "t"), _DRAWN),
    **dict.fromkeys(("loss", "lost", "lose", "l", "defeat"), _LOST),
}


def holds_outcomes(column: pl.Series) -> bool:
    """Return whether all values of a column are words such as win and loss."""
    if column.dtype != pl.String or not len(column):
        return False
    first = column.head(1).str.strip_chars().str.to_lowercase().to_list()[0]
    if first not in _WORDS:
        return False  # the usual case, at once
    return bool(_lowered(column).is_in(list(_WORDS)).fill_null(False).all())


def outcomes_as_places(frame: pl.DataFrame, table: Table, name: str) -> pl.DataFrame:
    """Return the table with places for the outcomes in its column `rank`.

    frame : with `match`, `rank` and perhaps `team`; name : of the column in the source
    Raises : InvalidDataError   a match does not have one winning and one losing side, or draws
    """
    places = _lowered(frame["rank"]).replace_strict(_WORDS, return_dtype=pl.Int64)
    keys = pl.DataFrame(
        {
            "match": frame["match"],
            "place": places,
            "row": pl.Series(range(len(frame)), dtype=pl.Int64),
            "team": frame["team"] if "team" in frame.columns else pl.Series([None] * len(frame)),
        }
    )
    matches = keys.group_by("match", maintain_order=True).agg(
        pl.col("row").first(),
        pl.len().alias("players"),
        pl.col("team").drop_nulls().n_unique().alias("teams"),
        *((pl.col("place") == place).sum().alias(f"{place}") for place in (_WON, _DRAWN, _LOST)),
    )
    won, drawn, lost, players = (pl.col(f"{one}") for one in (1, 2, 3, "players"))
    decided = (won > 0) & (lost > 0) & (drawn == 0)
    sides = (players == 2) | (pl.col("teams") == 2)
    bad = matches.filter(~(sides & (decided | (drawn == players)) | (players == 1)))
    if len(bad):
        where = table.places(bad["row"].to_numpy())
        problems = []
        for one, (file, line) in zip(bad.iter_rows(named=True), where, strict=True):
            got = f"{one['1']} won, {one['2']} drawn and {one['3']} lost in match {one['match']!r}"
            problems.append(Problem(file, line, name, OUTCOMES, got))
        raise InvalidDataError(problems)
    return frame.with_columns(places.alias("rank"))


def _lowered(column: pl.Series) -> pl.Series:
    return column.str.strip_chars().str.to_lowercase()
