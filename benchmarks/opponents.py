"""What does `opponents=n` lose? Elo-MMR with the nearest-rated opponents only, against all of them.

Section 5.3 of the paper proposes to count only the opponents nearest in rating; its own runs count
500. The first 120 rated contests of Codeforces, the authors' parameters (0.23, 54), one thread: the
share of those who placed above somebody and whom somebody placed worse out-performs, which Theorem
5.2 rules out; the most points by which; and the time to rate. Then whether a thrown match can pay,
which Theorem 5.5 rules out: the search of `audit incentives` over the sample season, with its
defaults, as the gain of the player who gains most.
"""

from __future__ import annotations

import time
import warnings
from statistics import median

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.errors import ApproximationWarning
from equipoise.evaluate.incentives.audit import incentives
from equipoise.formats import read_history
from equipoise.numeric.workers import Workers
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from equipoise.rating.system import RatingSystem
from report import DATA, ROOT, Part, needs, report_parts

CONTESTS, RUNS = 120, 3
MODELS: tuple[type[EloMMRParameters], ...] = (EloMMR, EloMMX)
#: None counts all.
COUNTED = (100, 500, None)
OF_SEASON = (5, 10, 20, None)


def out_performed(history: History, performance: Floats) -> tuple[int, int, float]:
    """Return (who placed above somebody, who of them is out-performed, by how much at most).

    A tie is no better place; contests that were not rated are left out.
    performance : shape (N,), as the trace has it
    """
    above, beaten, most = 0, 0, 0.0
    for start, stop in zip(history.offsets[:-1], history.offsets[1:], strict=True):
        rank, shown = history.rank[start:stop], performance[start:stop]
        if np.isnan(shown).any():
            continue
        of_rank = np.full(int(rank.max()) + 2, -np.inf)
        np.maximum.at(of_rank, rank, shown)
        # The best performance among those placed worse than each.
        worse = np.maximum.accumulate(of_rank[::-1])[::-1][rank + 1]
        above += int(np.isfinite(worse).sum())
        beaten += int((worse > shown).sum())
        most = max(most, float((worse - shown).max()))
    return above, beaten, most


def performances(system: RatingSystem, history: History) -> Floats:
    """Return the performance of every participation, on one thread."""
    trace = np.full(history.participations, np.nan)
    with Workers(1) as workers:
        state = system.initial(history.players)
        system.run(state, history, 0, history.matches, {"performance": trace}, workers)
    return trace


def contests_part(history: History) -> Part:
    """Return what few opponents do to the order of performances, and how long they take."""
    rows = []
    for model in MODELS:
        for count in COUNTED:
            system = model(weight_limit=0.23, sigma_limit=54.0, opponents=count)
            taken = []
            for _ in range(RUNS):
                start = time.perf_counter()
                performance = performances(system, history)
                taken.append(time.perf_counter() - start)
            above, beaten, most = out_performed(history, performance)
            rows.append(
                (
                    system.name,
                    "all" if count is None else str(count),
                    f"{100 * beaten / above:.1f}",
                    f"{most:.0f}",
                    f"{median(taken):.2f}",
                )
            )
    columns = ("system", "opponents", "out-performed, %", "by at most, points", "seconds")
    note = f"{above:,} participations placed above somebody. Seconds: median of {RUNS} runs."
    return Part("Codeforces, the first 120 contests", columns, rows, note)


def season_part(history: History) -> Part:
    """Return what the search for thrown matches finds."""
    rows = []
    for model in MODELS:
        for count in OF_SEASON:
            system = model(opponents=count)
            best = max(incentives(system, history), key=lambda one: one.gain)
            thrown = int(best.thrown.sum())
            shown = "all" if count is None else str(count)
            rows.append((system.name, shown, f"{best.gain:+.1f}", str(thrown)))
    columns = ("system", "opponents", "gain, points", "matches thrown")
    return Part("Throwing matches in examples/contests.csv", columns, rows)


def main() -> None:
    """Measure and report."""
    contests = read_history(needs(DATA / "codeforces.parquet")).slice(0, CONTESTS)
    season = read_history(str(ROOT / "examples" / "contests.csv"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        for model in MODELS:
            performances(model(opponents=5), contests.slice(0, 5))
            performances(model(), contests.slice(0, 5))
        parts = [contests_part(contests), season_part(season)]
    report_parts("opponents", (__doc__ or "").strip(), parts)


if __name__ == "__main__":
    main()
