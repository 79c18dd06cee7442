"""Lists of games: a row each, with two players and a result.

Columns, in any spelling that `game_layout` knows: `white`, `black` and `result`, or instead of a
result `points` of white in `games` games (1 where there is no such column); optional `white_elo`,
`black_elo`, `weight` (multiplies games and points), `draws`, `round`, `time`.
"""

from __future__ import annotations

import numpy as np

from equipoise.data.games import OTHER, POINTS, WEIGHT
from equipoise.formats.columns import faults_of
from equipoise.formats.game_columns import GameColumns
from equipoise.formats.game_layout import Layout
from equipoise.formats.game_rows import GameRows, choose_rows, read_players
from equipoise.formats.game_totals import Totals, hand_over, read_draws, read_single_results
from equipoise.formats.options import Options
from equipoise.formats.results import BYE
from equipoise.formats.table import Table


def read_game_list(table: Table, layout: Layout, options: Options) -> GameColumns:
    """Return the games of a list, and everything that is wrong with it.

    Raises : InvalidParameterError   the options do not suit the table
    """
    rows = choose_rows(table, layout, options)
    single = rows.has("result")
    totals = read_single_results(rows, "white", "black") if single else _read_points(rows)
    players = read_players(rows, ("white", "black"), totals.reason == BYE)
    totals = totals._replace(reason=np.where(players.bye, BYE, totals.reason))
    same = (players.first == players.second) & (players.first >= 0)
    rows.add("black", *faults_of((same, OTHER)))
    totals = _weighted(rows, totals)
    ratings = [rows.ratings(name) for name in ("white_elo", "black_elo")]
    kept = np.flatnonzero(~rows.findings.bad & (totals.reason == 0))
    return hand_over(rows, players, totals, ratings, kept, coloured=layout.coloured)


def _read_points(rows: GameRows) -> Totals:
    """Return points of white in so many games, after recording what is wrong with them."""
    games = np.ones(len(rows.frame))
    if rows.has("games"):
        games = rows.numbers("games")
        rows.add("games", *faults_of((games <= 0, WEIGHT)))
    points = rows.numbers("points")
    rows.add("points", *faults_of(((points < 0) | (points > games), POINTS)))
    draws = read_draws(rows, points, games)
    return Totals(points, games, draws, np.zeros(len(games), np.int64))


def _weighted(rows: GameRows, totals: Totals) -> Totals:
    """Return totals times the weight of their rows, which is 1 where it is empty."""
    if not rows.has("weight"):
        return totals
    weight = rows.numbers("weight", default=1.0)
    rows.add("weight", *faults_of((weight <= 0, WEIGHT)))
    points, games, draws, reason = totals
    draws = None if draws is None else draws * weight
    return Totals(points * weight, games * weight, draws, reason)
