"""How fast is `lichess`, beside `glicko2` and the Python package glicko2?

The same duels of real football in the same order for all three, on one thread. Ours are replays of
a history without a trace; the package's players are changed one after the other, with each other's
numbers before the match. The package rates a part of the matches, as it takes as long for each.
With the tau and the volatility of Lichess the search for the volatility takes more steps, so there
is a row of `glicko2` with these. Rounds take turns in one process; the table has the median of the
processor time over all rounds, and the median of the ratios of neighbouring rounds. Kernels are
compiled before.

    python -m venv PEERS && PEERS/bin/pip install glicko2
    python benchmarks/lichess.py --peers PEERS/lib/python3.11/site-packages
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import equipoise as eq
from equipoise.data.history import History
from equipoise.numeric.workers import Workers
from report import DATA, needs, report

#: Rounds of each, and matches that the package rates in a round.
ROUNDS, PART = 25, 5_000

#: Advantage of White in standard chess on Lichess, rating points; here of the team at home.
ADVANTAGE = 11.782457


def of_ours(system: eq.System, history: History) -> Callable[[], int]:
    """Return what rates the history and returns the number of matches."""

    def work() -> int:
        with Workers(1) as workers:
            system.run(system.initial(history.players), history, 0, history.matches, None, workers)
        return history.matches

    return work


def of_package(history: History) -> Callable[[], int]:
    """Return what rates the first matches by the package and returns their number."""
    player: Any = importlib.import_module("glicko2").Player
    part = history.slice(0, PART)
    pairs = part.player.reshape(-1, 2).tolist()
    ranks = part.rank.reshape(-1, 2).tolist()

    def work() -> int:
        known = [player() for _ in range(part.players)]
        for (i, j), (a, b) in zip(pairs, ranks, strict=True):
            first, second = known[i], known[j]
            score = 0.5 if a == b else float(a < b)
            mine = first.rating, first.rd
            first.update_player([second.rating], [second.rd], [score])
            second.update_player([mine[0]], [mine[1]], [1.0 - score])
        return PART

    return work


def pace_of(work: Callable[[], int]) -> float:
    """Return the matches that are rated in a second of processor time."""
    start = time.process_time()
    matches = work()
    return matches / (time.process_time() - start)


def main() -> None:
    """Measure all in turn and report."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--peers", help="folder of packages in which glicko2 is")
    peers = options.parse_args().peers
    if peers is not None:
        sys.path.append(peers)
    history = eq.read_history(needs(DATA / "football.parquet"))
    works = {
        "`lichess`": of_ours(eq.Lichess(), history),
        "`lichess`, home advantage": of_ours(eq.Lichess(home_advantage=ADVANTAGE), history),
        "`glicko2`": of_ours(eq.Glicko2(), history),
        "`glicko2`, starting as `lichess`": of_ours(
            eq.Glicko2(tau=0.75, initial_volatility=0.09, initial_deviation=500, max_deviation=500),
            history,
        ),
        "the package glicko2": of_package(history),
    }
    for work in works.values():
        work()
    paces: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            paces[name].append(pace_of(work))
    first = paces["`lichess`"]
    rows = [
        (
            name,
            f"{median(found):,.0f}",
            f"{median(a / b for a, b in zip(first, found, strict=True)):.3g}",
        )
        for name, found in paces.items()
    ]
    question = (
        "How fast is `lichess`, beside `glicko2` and the package glicko2? "
        f"{history.matches:,} duels of football on one thread, the package {PART:,} of them; "
        f"medians of {ROUNDS} rounds. "
        "Ratio: how many times as many matches `lichess` rates in the same processor time."
    )
    report("lichess", question, ("system", "duels a second of processor time", "ratio"), rows)


if __name__ == "__main__":
    main()
