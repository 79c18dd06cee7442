"""Tournaments for the tests of performance ratings: drawn, and turned into pairs."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import strategies as st

from equipoise.data.games import Games
from equipoise.tournament.pairs import Pairs, gather_pairs
from formats.comparing import real_data


def games_of(players: int, results: list[tuple[int, int, float, float]]) -> Games:
    """Return games from (i, j, number of games, points of i)."""
    columns = list(zip(*results, strict=True)) or [(), (), (), ()]
    return Games(
        player_ids=np.arange(players),
        white=np.array(columns[0], dtype=np.int64),
        black=np.array(columns[1], dtype=np.int64),
        weight=np.array(columns[2], dtype=np.float64),
        points=np.array(columns[3], dtype=np.float64),
    )


def pairs_of(players: int, results: list[tuple[int, int, float, float]]) -> Pairs:
    return gather_pairs(games_of(players, results))


@st.composite
def tournaments(draw, max_players: int = 8, max_results: int = 16):
    """Draw (players, results): wins, draws and splits of weighted games, often disconnected."""
    players = draw(st.integers(2, max_players))
    rows = st.integers(0, players - 1)
    pair = st.tuples(rows, rows).filter(lambda one: one[0] != one[1])
    # Mostly whole wins, or nearly every drawn tournament would have an equilibrium.
    share = st.sampled_from([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.25])
    weight = st.sampled_from([1.0, 1.0, 2.0, 0.5, 3.0])
    drawn = draw(st.lists(st.tuples(pair, weight, share), max_size=max_results))
    return players, [(i, j, count, count * part) for (i, j), count, part in drawn]


#: Points of white for a result as it is written.
POINTS = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}


def palma_2017() -> Games:
    """Return the 81 games of the Grand Prix, or skip the test."""
    frame = pl.read_csv(real_data("chess_palma2017_grandprix.csv"))
    points = [POINTS[one] for one in frame["result"]]
    return Games.from_arrays(frame["white"].to_list(), frame["black"].to_list(), points)


def world_cup_2022() -> Games:
    """Return the 64 matches of men's football in Qatar, penalties as draws, or skip the test."""
    frame = pl.read_parquet(real_data("football.parquet")).filter(
        pl.col("tournament") == "FIFA World Cup", pl.col("time").dt.year() == 2022
    )
    pairs = frame.group_by("match", maintain_order=True).agg("player", "rank")
    first, second = zip(*pairs["player"].to_list(), strict=True)
    points = [0.5 + 0.5 * (b - a) for a, b in pairs["rank"].to_list()]
    return Games.from_arrays(list(first), list(second), points)
