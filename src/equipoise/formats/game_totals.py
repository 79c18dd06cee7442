"""What the rows of a table of games add up to, handed over as columns of games."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.games import DRAWS
from equipoise.formats.columns import faults_of
from equipoise.formats.game_columns import GameColumns
from equipoise.formats.game_rows import GameRows, Players
from equipoise.formats.results import REASONS, RESULT, read_results


class Totals(NamedTuple):
    """What rows tell, each shape (rows,).

    points : of the first player; games : number of games; draws : how many of them were drawn,
    None where that is not known; reason : why the row is no game, by number in `REASONS`
    """

    points: Floats
    games: Floats
    draws: Floats | None
    reason: Ints


def read_single_results(rows: GameRows, first: str, second: str) -> Totals:
    """Return the totals of rows with the result of one game each, after recording faults.

    first, second : meanings of the columns of the two players
    """
    column = rows.column("result")
    results = read_results(column, rows.columns[first], rows.columns[second])
    rows.add("result", *faults_of((results.faulty, RESULT)))
    draws = (results.points == 0.5).astype(np.float64)
    return Totals(results.points, np.ones(len(draws)), draws, results.reason)


def read_draws(rows: GameRows, points: Floats, games: Floats) -> Floats | None:
    """Return the number of draws of every row; None without such a column."""
    if not rows.has("draws"):
        return None
    draws = rows.numbers("draws")
    wins, losses = points - draws / 2, games - points - draws / 2
    rows.add("draws", *faults_of(((draws < 0) | (wins < 0) | (losses < 0), DRAWS)))
    return draws


def hand_over(
    rows: GameRows,
    players: Players,
    totals: Totals,
    ratings: Sequence[Floats | None],
    kept: Ints,
    *,
    coloured: bool = False,
    notes: Sequence[str] = (),
    skipped: int = 0,
) -> GameColumns:
    """Return some rows as games, and those who stand on the others as players all the same.

    ratings : of the first and the second player of every row; kept : the rows that are games
    skipped : how many results break a rule beside the bad rows
    """
    beside = ~rows.findings.bad
    reasons = totals.reason[beside]
    beside[kept] = False
    others, other_rating = _named(players, np.flatnonzero(beside), ratings)
    games = totals.games[kept]
    return GameColumns(
        white=players.first[kept],
        black=players.second[kept],
        points=totals.points[kept],
        weight=None if np.all(games == 1) else games,
        draws=None if totals.draws is None else totals.draws[kept],
        white_rating=None if ratings[0] is None else ratings[0][kept],
        black_rating=None if ratings[1] is None else ratings[1][kept],
        coloured=coloured,
        round=rows.rounds(kept),
        players=players.ids,
        others=others,
        other_rating=other_rating,
        left_out=_left_out(reasons, rows.filtered),
        problems=rows.findings.problems(),
        notes=(*rows.table.notes, *rows.notes, *notes),
        locate=rows.locate(kept),
        skipped=int(rows.findings.bad.sum()) + skipped,
    )


def _left_out(reasons: Ints, filtered: int) -> Counter[str]:
    """Return how many rows were left out for which reason."""
    counts = np.bincount(reasons, minlength=len(REASONS)).tolist()
    # The first reason is that of games: none.
    left_out = Counter(dict(zip(REASONS[1:], counts[1:], strict=True)))
    left_out["filtered"] = filtered
    return +left_out


def _named(players: Players, rows: Ints, ratings: Sequence[Floats | None]) -> tuple[Ids, Floats]:
    """Return the players of some rows and their ratings there, each pair of them once."""
    who = np.stack([players.first[rows], players.second[rows]], axis=1).ravel()
    given = [np.full(len(rows), np.nan) if one is None else one[rows] for one in ratings]
    rating = np.stack(given, axis=1).ravel()
    there = who >= 0
    frame = pl.DataFrame({"who": who[there], "rating": rating[there]})
    frame = frame.unique(maintain_order=True)
    return players.ids[frame["who"].to_numpy()], frame["rating"].to_numpy()
