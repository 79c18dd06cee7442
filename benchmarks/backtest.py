"""What does scoring add to rating, what does rho change, and how much memory does it take?

Codeforces with the authors' parameters for elo-mmr, of nine tenths of the contests, on two threads:
rating alone against rating and scoring, in turns, and the metrics for several rho. Then the peak
memory of a process that backtests ten million participations: a hundred simulated contests of
100,000 players each, all of whom play.
"""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import time

import numpy as np

from equipoise.data.backtest import Backtest, SystemScores
from equipoise.data.history import History
from equipoise.evaluate.backtest import backtest
from equipoise.evaluate.synthetic import ContestModel, simulate_contests
from equipoise.formats import read_history
from equipoise.rating.elo_mmr.elo_mmr import EloMMR
from equipoise.rating.replay import replay
from report import DATA, needs, report

RHOS = (0.0, 0.04, 0.2, 1.0, math.inf)
THREADS = 2
LARGE = ContestModel(players=100_000, contests=100)


def system(rho: float) -> EloMMR:
    """Return elo-mmr with the authors' parameters for Codeforces."""
    return EloMMR(weight_limit=0.23, sigma_limit=54, rho=rho)


def scored(history: History, rhos: tuple[float, ...], ties_as_authors: bool = False) -> Backtest:
    """Return the backtest of some rho."""
    return backtest(
        {f"{rho:g}": system(rho) for rho in rhos},
        history,
        rng=np.random.default_rng(0),
        first=history.matches // 10,
        ties_as_authors=ties_as_authors,
        threads=THREADS,
    )


def spent() -> tuple[float, float]:
    """Return seconds on the wall and of the processor, from some beginning."""
    return time.perf_counter(), time.process_time()


def turns(history: History) -> str:
    """Return what rating alone and a backtest take, in turns."""
    alone, both = [], []
    for _ in range(5):
        begun = spent()
        replay(system(0.04), history, threads=THREADS)
        rated = spent()
        scored(history, (0.04,))
        done = spent()
        alone.append(np.subtract(rated, begun))
        both.append(np.subtract(done, rated))
    before, after = np.median(alone, axis=0), np.median(both, axis=0)
    wall, processor = 100 * (after / before - 1)
    return (
        f"Rating alone {before[0]:.2f} s, with scoring and the baseline {after[0]:.2f} s: "
        f"{wall:+.0f} %; of processor time {before[1]:.2f} s and {after[1]:.2f} s: "
        f"{processor:+.0f} % (medians of five)"
    )


def peak_of_large() -> str:
    """Return what the process that backtests ten million participations says of itself."""
    command = [sys.executable, __file__, "large"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def large() -> None:
    """Backtest ten million participations and print participations, seconds and peak memory."""
    history, _ = simulate_contests(LARGE, rng=np.random.default_rng(1))
    start = time.perf_counter()
    backtest({"it": system(0.04)}, history, rng=np.random.default_rng(0), threads=THREADS)
    seconds = time.perf_counter() - start
    # Kilobytes on Linux.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{history.participations:,} participations: {seconds:.0f} s, {peak:.2f} GB at most")


def row(label: str, scores: SystemScores) -> tuple[str, ...]:
    """Return a line of the table: a metric and the half-width of its interval."""
    cells = []
    for name, digits in (
        ("pair_inversion", 3),
        ("rank_deviation", 3),
        ("pair_inversion_top100", 3),
        ("rank_deviation_top100", 3),
        ("log_loss", 5),
        ("brier", 5),
        ("ndcg", 5),
    ):
        lower, upper = scores.intervals[name]
        half = (upper - lower) / 2
        cells.append(f"{scores.metrics[name]:.{digits}f} ± {half:.{digits}f}")
    return label, *cells, f"{scores.calibration.error:.4f}"


def differences(found: Backtest) -> str:
    """Return a sentence on how far the other rho are from 0.04."""
    parts = []
    for one in found.differences:
        if "0.04" not in (one.first, one.second):
            continue
        sign = 1 if one.second == "0.04" else -1
        other = one.first if one.second == "0.04" else one.second
        bounds = sorted(sign * bound for bound in one.intervals["pair_inversion"])
        change = sign * one.metrics["pair_inversion"]
        parts.append(f"{other}: {change:+.3f} ({bounds[0]:+.3f} to {bounds[1]:+.3f})")
    return "Pair inversion less that of rho 0.04: " + ", ".join(parts) + "."


def main() -> None:
    """Measure and report."""
    history = read_history(needs(DATA / "codeforces.parquet"))
    scored(history.slice(0, 60), (0.04,))
    time_taken = turns(history)
    found = scored(history, RHOS)
    rows = [row(f"rho {one.label}", one) for one in found.systems[:-1]]
    rows.append(row("baseline", found.systems[-1]))
    authors = scored(history, (0.04,), ties_as_authors=True)
    rows.append(row("rho 0.04, ties as authors", authors.systems[0]))
    columns = (
        *("system", "pair inversion, %", "rank deviation, %"),
        *("pair inversion, top 100", "rank deviation, top 100"),
        *("log loss", "Brier", "NDCG", "calibration error"),
    )
    note = (
        f"{(__doc__ or '').strip()}\n\n{time_taken}. "
        f"{peak_of_large()}.\n\n{differences(found)}\n\nScored: {found.matches:,} contests, "
        f"{found.participations:,} participations. ± is half of the 95 % interval."
    )
    report("backtest", note, columns, rows)


if __name__ == "__main__":
    large() if sys.argv[1:] == ["large"] else main()
