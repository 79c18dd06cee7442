"""Histories for the tests of backtests and searches."""

from __future__ import annotations

import numpy as np
import polars as pl

from equipoise.data.history import History
from equipoise.evaluate.synthetic import ContestModel, simulate_contests
from equipoise.formats import read_history


def contests(count: int = 12, players: int = 20, seed: int = 1) -> History:
    """Return simulated contests with ties, of 70 % of the players each."""
    model = ContestModel(players=players, contests=count, attendance=0.7, score_step=60)
    return simulate_contests(model, rng=np.random.default_rng(seed))[0]


def duels(scores: list[float], players: int = 6, seed: int = 3) -> History:
    """Return duels of random pairs with these scores of the first player."""
    rng = np.random.default_rng(seed)
    pairs = [rng.permutation(players)[:2].tolist() for _ in scores]
    rows = [
        {"match": m, "player": f"p{one}", "rank": rank}
        for m, (pair, score) in enumerate(zip(pairs, scores, strict=True))
        for one, rank in zip(pair, (int(score < 0.5), int(score > 0.5)), strict=True)
    ]
    return read_history(pl.DataFrame(rows))


def with_draws(matches: int = 90) -> History:
    rng = np.random.default_rng(1)
    return duels(rng.choice([1.0, 0.5, 0.0], matches, p=[0.5, 0.3, 0.2]).tolist())
