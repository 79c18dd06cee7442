"""The tournaments and tables of the document, as bundled facts, and random tournaments.

`table1.csv`, `table2.csv` and `table3.csv` are the document's tables, retyped. The games are in no
table of it. They are public results, as lists of white, black and result:

- Palma de Mallorca 1970 and 2017: records of the games, without moves. In 2017 one game has no
  record: its result and its colours follow from the totals. News reports of rounds 1, 2, 3, 5, 6
  and 9 (TASS, armnoc.am, FIDE, World Chess, November 2017) have the same results.
- Sharjah 2017: news reports of the rounds. Gulf News has all games of round 1, Chessdom of round 3,
  R-Sport of round 8; schach.com, Chess.com, World Chess, ChessBase and chess24 have others (18 to
  28 February 2017). They name 56 of 81 games. The other 25 are those that the printed TPRs leave:
  with any other opponents at least one TPR would be off (tests/papers/test_sharjah.py). The printed
  PPRs were not used for that. Colours may be wrong; nothing here uses them.

The column `reconstructed` says what no source shows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from equipoise.arrays import Floats
from equipoise.data.games import Games
from equipoise.formats.games import read_games

#: The tournaments of Table 2, as its column `tournament` names them.
GrandPrix: TypeAlias = Literal["palma", "sharjah"]
GRANDS_PRIX: tuple[GrandPrix, ...] = ("palma", "sharjah")

#: Average rating that the document estimated for 1970, in whole points.
AVERAGE_1970 = 2557.0


@cache
def table(name: str) -> pl.DataFrame:
    """Return a bundled table by the name of its file."""
    return pl.read_csv(Path(__file__).parent / f"{name}.csv")


@cache
def grand_prix(where: GrandPrix) -> Games:
    """Return the 81 games of one of the tournaments of 2017."""
    return read_games(table(f"{where}2017").drop("reconstructed"))


def of(games: Games, values: Floats) -> dict[str, float]:
    """Return values by player."""
    return dict(zip(games.player_ids.tolist(), values.tolist(), strict=True))


def weighted(games: Games, weight: Floats) -> Games:
    """Return games that all counted once, with weights."""
    return replace(games, points=games.points * weight, weight=weight)


def tournament_average(games: Games) -> float:
    """Return the mean rating before the tournament."""
    return float(np.mean(games.initial))


@cache
def interzonal(complete: bool) -> Games:
    """Return the games of 1970; complete : with that of Rubinetti and Jimenez (READINGS C5)."""
    games = table("interzonal1970")
    missing = (pl.col("white") == "Rubinetti") & (pl.col("black") == "Jimenez")
    return read_games(games if complete else games.filter(~missing))


@cache
def round_robin(number: int) -> Games:
    """Return one of the two tournaments of Table 1: its points leave only these results."""
    rows = table("table1").filter(pl.col("tournament") == number)
    first, middle, last = rows["player"].to_list()
    rating = {one: float(value) for one, value in rows.select("player", "rating").iter_rows()}
    return Games.from_arrays(
        [first, first, middle], [middle, last, last], [0.5, 1.0, 0.5], rating=rating
    )


def random_tournaments(
    cases: int, seed: int, *, connected: bool = False, closed: bool = False
) -> list[Games]:
    """Return tournaments of 2 to 8 players, with weights, wins, draws and shares.

    connected : games link all players; closed : no group took every point from the others
    """
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(cases):
        players = int(rng.integers(2, 9))
        count = int(rng.integers(1, 17))
        white = rng.integers(0, players, count)
        black = (white + rng.integers(1, players, count)) % players
        weight = rng.choice([1.0, 1.0, 2.0, 0.25], count)
        share = rng.choice([0.0, 0.5, 1.0, 0.25], count)
        if connected or closed:
            # A line, or a ring, through all players.
            order = rng.permutation(players)
            last = players if closed else players - 1
            white = np.concatenate([white, order[:last]])
            black = np.concatenate([black, np.roll(order, -1)[:last]])
            weight = np.concatenate([weight, np.ones(last)])
            more = rng.choice([0.5, 0.75], last) if closed else rng.choice([0.0, 0.5, 1.0], last)
            share = np.concatenate([share, more])
        found.append(
            Games(
                player_ids=np.arange(players),
                white=white.astype(np.int64),
                black=black.astype(np.int64),
                points=weight * share,
                weight=weight,
                rating=rng.integers(800, 2800, players).astype(np.float64),
            )
        )
    return found
