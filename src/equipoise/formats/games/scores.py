"""Reads the scores of both sides of a match, and whether the ground was neutral."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Flags, Floats, Ints
from equipoise.formats.findings import faulty_rows
from equipoise.formats.games.rows import UNFINISHED, GameRows, Totals
from equipoise.formats.tables.columns import mask, read_truths, text_of

#: Words for a score of a match that was not played yet.
_NO_SCORE = ("", "na", "n/a", "nan", "-", "?", "*")


class SideScores(NamedTuple):
    """The scores of both sides of every row, NaN if it has none, and why it is no game.

    reason : a number of `REASONS`
    """

    first: Floats
    second: Floats
    reason: Ints


def read_side_scores(rows: GameRows) -> SideScores:
    """Return the scores of both sides; without both, a row is not played yet."""
    names = ("white_score", "black_score")
    absent = [_without_score(rows.column(name)) for name in names]
    coming = absent[0] & absent[1]
    scores = []
    for name in names:
        column = rows.column(name)
        if coming.any():
            column = column.set(pl.Series(coming), None)
        scores.append(rows.numbers_of(name, column, ~coming))
    return SideScores(scores[0], scores[1], np.where(coming, UNFINISHED, 0))


def read_scored_games(rows: GameRows) -> Totals:
    """Return games that were won by the higher score, after recording faults."""
    first, second, reason = read_side_scores(rows)
    points = (1.0 + np.sign(first - second)) / 2
    return Totals(points, np.ones(len(points)), (points == 0.5).astype(np.float64), reason)


def _without_score(column: pl.Series) -> Flags:
    text = text_of(column).str.strip_chars().str.to_lowercase()
    return mask(text.is_null() | text.is_in(_NO_SCORE))


def read_neutral(rows: GameRows) -> Flags | None:
    """Return the matches on neutral ground, None if the table does not say."""
    if not rows.has("neutral"):
        return None
    truths, faults = read_truths(rows.column("neutral"))
    rows.add("neutral", *faults)
    flags: Flags = truths & ~mask(rows.column("neutral").is_null())
    return flags & ~faulty_rows(faults, len(flags))
