"""Does rating one contest cost the same per participant whatever its size?

One contest without ties between players whose ratings spread by 300, for 1e4, 1e5 and 1e6 of
them; median of five, on one thread and on two.
"""

from __future__ import annotations

import time
from statistics import median

import numpy as np

from equipoise.data.history import History
from equipoise.numeric.workers import Workers
from equipoise.rating.elo_mmr.elo_mmr import EloMMR
from equipoise.rating.state import State
from report import report

SYSTEM = EloMMR(weight_limit=0.23, sigma_limit=54, rho=0.04)
SIZES = (10_000, 100_000, 1_000_000)


def contest(players: int, rng: np.random.Generator) -> tuple[History, State]:
    """Return a contest and the state of its players before it."""
    skill = rng.normal(1500, 300, players)
    finish = np.argsort(-(skill + rng.normal(0, 150, players)))
    rank = np.empty(players, np.int64)
    rank[finish] = np.arange(players)
    history = History(
        match_ids=np.array([1]),
        player_ids=np.arange(players),
        offsets=np.array([0, players]),
        player=np.arange(players),
        team=np.arange(players),
        rank=rank,
    )
    state = SYSTEM.initial(players)
    state.column("rating")[:] = skill
    state.column("gaussian_mean")[:] = skill
    deviation = rng.uniform(54, 200, players)
    state.column("deviation")[:] = deviation
    state.column("gaussian_weight")[:] = 1 / deviation**2
    state.column("curvature")[:] = 1 / deviation**2
    return history, state


def cost(history: History, state: State, workers: Workers) -> float:
    """Return nanoseconds a participant."""
    times = []
    for _ in range(5):
        fresh = state.copy()
        start = time.perf_counter()
        SYSTEM.run(fresh, history, 0, 1, workers=workers)
        times.append(time.perf_counter() - start)
    return median(times) / history.participations * 1e9


def main() -> None:
    """Measure and report."""
    rng = np.random.default_rng(1)
    cases = [contest(players, rng) for players in SIZES]
    with Workers(1) as one, Workers(2) as two:
        cost(*cases[0], two)
        cost(*cases[0], one)
        figures = [(cost(*case, one), cost(*case, two)) for case in cases]
    rows = [
        (
            f"{size:,}",
            f"{single:.0f}",
            f"{single / figures[0][0]:.2f}",
            f"{double:.0f}",
            f"{double / figures[0][1]:.2f}",
        )
        for size, (single, double) in zip(SIZES, figures, strict=True)
    ]
    columns = ("players", "ns each, 1 thread", "to 1e4", "ns each, 2 threads", "to 1e4")
    report("contest_size", (__doc__ or "").strip(), columns, rows)


if __name__ == "__main__":
    main()
