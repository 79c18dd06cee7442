"""Tournaments to test with. In all of them an equilibrium exists: somebody drew around a ring."""

from __future__ import annotations

import csv

import numpy as np
from hypothesis import strategies as st

from equipoise.data.games import Games
from equipoise.tournament.pairs import Pairs, gather_pairs
from formats.comparing import real_data

RESULT = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}


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


def round_robin(scores: list[list[float]]) -> Games:
    """Return a round robin; scores[i][j] is what i scored against j, for i < j."""
    n = len(scores)
    met = [(i, j, scores[i][j]) for i in range(n) for j in range(i + 1, n)]
    white, black, points = zip(*met, strict=True)
    return Games(player_ids=np.arange(n), white=white, black=black, points=points)


@st.composite
def tournaments(draw: st.DrawFn, max_players: int = 8, weighted: bool = True) -> Games:
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


def triples(games: Games) -> list[tuple[int, int, float, float]]:
    """Return games as the reference takes them."""
    columns = (games.white.tolist(), games.black.tolist(), games.points.tolist())
    return list(zip(*columns, games.weights.tolist(), strict=True))


def one_component(games: Games) -> tuple[Pairs, np.ndarray]:
    """Return the pairs, and the labels of a connected tournament."""
    return gather_pairs(games), np.zeros(games.players, dtype=np.int64)


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
        [RESULT[row["result"]] for row in rows],
        rating=rating or None,
        coloured=True,
    )
