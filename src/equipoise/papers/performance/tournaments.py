"""The tournaments and tables of the document, as bundled facts, and random tournaments.

`table1.csv`, `table2.csv` and `table3.csv` are the document's tables, retyped. The games are in no
table of it: those of Palma de Mallorca 2017 and 1970 are public results, as lists of white, black
and result. In `palma2017.csv` the column `reconstructed` says what no record of the game shows and
what follows from the totals. The games of Sharjah 2017 are not at hand.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np
import polars as pl

from equipoise.data.tournaments.games import Games
from equipoise.formats.games.reading import read_games

#: Average rating that the document estimated for 1970, in whole points.
AVERAGE_1970 = 2557.0


@cache
def table(name: str) -> pl.DataFrame:
    """Return a bundled table: table1, table2, table3, palma2017 or interzonal1970."""
    source = files("equipoise") / "papers" / "performance" / f"{name}.csv"
    return pl.read_csv(source.read_bytes())


@cache
def palma_2017() -> Games:
    """Return the 81 games of the Grand Prix."""
    return read_games(table("palma2017").drop("reconstructed"))


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
