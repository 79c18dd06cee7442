"""Tournaments for tests of performance ratings: published ones, made ones, and drawn ones."""

from __future__ import annotations

import csv

import numpy as np
from hypothesis import strategies as st

from equipoise.data.games import Games
from equipoise.tournament.pairs import Pairs, gather_pairs
from formats.comparing import real_data

#: [PRE]_ Table 1: rating and points of A, B and C, who met once each; the results follow from it.
TABLE_1 = {
    1: (
        {"C": 2000.0, "B": 2200.0, "A": 2450.0},
        [("C", "B", 0.5), ("C", "A", 1.0), ("B", "A", 0.5)],
    ),
    2: (
        {"A": 2450.0, "C": 2000.0, "B": 2200.0},
        [("A", "C", 0.5), ("A", "B", 1.0), ("C", "B", 0.5)],
    ),
}


#: Matches of four players of 2500; in the third and fourth column games and points of the first.
#: Player a is clearly the strongest, d the weakest, and the two have not met.
UNMET = [
    ("a", "b", 2.0, 1.5),
    ("a", "c", 2.0, 2.0),
    ("b", "c", 2.0, 1.0),
    ("b", "d", 2.0, 1.5),
    ("c", "d", 2.0, 2.0),
]


def table_1(number: int) -> Games:
    """Return one of the two tournaments of [PRE]_ Table 1."""
    rating, results = TABLE_1[number]
    white, black, points = zip(*results, strict=True)
    return Games.from_arrays(white, black, points, rating=rating)


def matches(results: list[tuple[str, str, float, float]], rating: float = 2500.0) -> Games:
    """Return matches of players who all have one rating."""
    white, black, games, points = zip(*results, strict=True)
    everybody = dict.fromkeys([*white, *black], rating)
    return Games.from_arrays(white, black, points, weight=games, rating=everybody)


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


def random_games(
    players: int, games: int, seed: int = 0, *, spread: float = 200.0, draws: float = 0.3
) -> Games:
    """Return games between players of normal skill, and a drawn game around a ring of all."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(0, spread, players)
    white = rng.integers(0, players, games)
    black = (white + rng.integers(1, players, games)) % players
    chance = 1 / (1 + 10 ** ((skill[black] - skill[white]) / 400))
    points = (rng.random(games) < chance).astype(float)
    points[rng.random(games) < draws] = 0.5
    ring = rng.permutation(players)
    return Games(
        player_ids=np.arange(players),
        white=np.concatenate([white, ring]),
        black=np.concatenate([black, np.roll(ring, 1)]),
        points=np.concatenate([points, np.full(players, 0.5)]),
        coloured=True,
    )


def side_by_side(*parts: Games, idle: int = 0) -> Games:
    """Return tournaments that share no player as one; `idle` more players have no games."""
    starts = np.cumsum([0, *(part.players for part in parts)])
    rated = [part.initial for part in parts]
    return Games(
        player_ids=np.arange(starts[-1] + idle),
        white=np.concatenate([part.white + at for part, at in zip(parts, starts, strict=False)]),
        black=np.concatenate([part.black + at for part, at in zip(parts, starts, strict=False)]),
        points=np.concatenate([part.points for part in parts]),
        rating=np.concatenate([*rated, np.full(idle, np.nan)]),
    )


def triples(games: Games) -> list[tuple[int, int, float, float]]:
    """Return games as the reference takes them."""
    columns = (games.white.tolist(), games.black.tolist(), games.points.tolist())
    return list(zip(*columns, games.weights.tolist(), strict=True))


def one_component(games: Games) -> tuple[Pairs, np.ndarray]:
    """Return the pairs, and the labels of a connected tournament."""
    return gather_pairs(games), np.zeros(games.players, dtype=np.int64)


@st.composite
def tournaments(draw: st.DrawFn, *, rated: bool = True, most: int = 8) -> Games:
    """Draw up to 8 players, games of any weight between any of them, wins, draws and shares."""
    players = draw(st.integers(2, most))
    rows = draw(st.integers(1, 16))
    white = draw(st.lists(st.integers(0, players - 1), min_size=rows, max_size=rows))
    step = draw(st.lists(st.integers(1, players - 1), min_size=rows, max_size=rows))
    weight = draw(st.lists(st.sampled_from([1.0, 1.0, 2.0, 0.25]), min_size=rows, max_size=rows))
    share = draw(st.lists(st.sampled_from([0, 0.5, 1, 0.25]), min_size=rows, max_size=rows))
    ratings = st.integers(800, 2800).map(float)
    if not rated:
        ratings = ratings | st.just(np.nan)
    rating = draw(st.lists(ratings, min_size=players, max_size=players))
    return Games(
        player_ids=np.arange(players),
        white=np.array(white),
        black=(np.array(white) + np.array(step)) % players,
        points=np.array(weight) * np.array(share),
        weight=np.array(weight),
        rating=np.array(rating),
    )


@st.composite
def result_lists(draw, max_players: int = 8, max_results: int = 16):
    """Draw (players, results): wins, draws and splits of weighted games, often disconnected."""
    players = draw(st.integers(2, max_players))
    rows = st.integers(0, players - 1)
    pair = st.tuples(rows, rows).filter(lambda one: one[0] != one[1])
    # Mostly whole wins, or nearly every drawn tournament would have an equilibrium.
    share = st.sampled_from([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 0.25])
    weight = st.sampled_from([1.0, 1.0, 2.0, 0.5, 3.0])
    drawn = draw(st.lists(st.tuples(pair, weight, share), max_size=max_results))
    return players, [(i, j, count, count * part) for (i, j), count, part in drawn]


@st.composite
def connected_tournaments(draw: st.DrawFn, max_players: int = 8, weighted: bool = True) -> Games:
    """Draw a connected tournament with weights, in which nobody was swept."""
    n = draw(st.integers(2, max_players))
    weights = st.floats(0.25, 4.0) if weighted else st.just(1.0)
    extra = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(1, n - 1)), max_size=12))
    pairs = [(i, (i + 1) % n) for i in range(n)] + [(i, (i + k) % n) for i, k in extra]
    weight = [draw(weights) for _ in pairs]
    # Around the ring everybody takes something off the next; else anything goes.
    shares = [draw(st.floats(0.05, 0.95)) for _ in range(n)]
    shares += [draw(st.sampled_from([0.0, 0.5, 1.0])) for _ in extra]
    return Games(
        player_ids=np.arange(n),
        white=np.array([one for one, _ in pairs]),
        black=np.array([other for _, other in pairs]),
        points=np.array(shares) * np.array(weight),
        weight=np.array(weight),
    )


#: Points of white for a result as it is written.
POINTS = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}


def chess(name: str) -> Games:
    """Return a tournament of the real data, or skip the test."""
    rating: dict[str, float] = {}
    with real_data(name).open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for side in ("white", "black"):
            if row[f"{side}_elo"]:
                rating[row[side]] = float(row[f"{side}_elo"])
    return Games.from_arrays(
        [row["white"] for row in rows],
        [row["black"] for row in rows],
        [POINTS[row["result"]] for row in rows],
        rating=rating or None,
        coloured=True,
    )


def palma_2017() -> Games:
    """Return the 81 games of the Grand Prix, or skip the test."""
    return chess("chess_palma2017_grandprix.csv")
