"""How much faster is elo-mmr than the authors' program, on the same contests in the same run?

Both in process, on two threads, reading excluded. The authors' program is elo-mmr-py (Rust): its
`mmr-fast` looks at about 100 opponents, its `mmr` at all of them, as ours does.
"""

from __future__ import annotations

import os
import sys
import time
from statistics import median

import numpy as np

os.environ.setdefault("RAYON_NUM_THREADS", "2")

from elo_mmr_py import Contest, EloMmrConfig, PlayerRating, rate_latest

from equipoise._jit import watch_compilation
from equipoise.data.history import History
from equipoise.formats import read_history
from equipoise.rating.elo_mmr.elo_mmr import EloMMR
from equipoise.rating.replay import replay
from report import DATA, needs, report, seconds

OURS = EloMMR(weight_limit=0.23, sigma_limit=54, rho=1.0)
LATE = 40


def contests_of(history: History) -> list[Contest]:
    """Return the same contests as the authors' program takes them."""
    first = np.zeros(history.participations, np.int64)
    last = np.zeros(history.participations, np.int64)
    for m in range(history.matches):
        rows = slice(history.offsets[m], history.offsets[m + 1])
        places = np.sort(history.rank[rows])
        first[rows] = np.searchsorted(places, history.rank[rows], side="left")
        last[rows] = np.searchsorted(places, history.rank[rows], side="right") - 1
    names = [str(player) for player in history.player_ids.tolist()]
    times = history.time // 1_000_000 if history.time is not None else np.zeros(history.matches)
    found = []
    for m in range(history.matches):
        low, high = history.offsets[m], history.offsets[m + 1]
        standing = zip(
            history.player[low:high].tolist(),
            first[low:high].tolist(),
            last[low:high].tolist(),
            strict=True,
        )
        standings = [(names[player], a, b) for player, a, b in standing]
        found.append(Contest(standings=standings, time_seconds=int(times[m])))
    return found


def largest_difference(history: History, theirs: dict[str, PlayerRating]) -> float:
    """Return the largest difference between our ratings and theirs, rating points."""
    ours = replay(OURS, history, threads=2).ratings
    rated = zip(ours.player_ids.tolist(), ours.rating.tolist(), strict=True)
    known = [(theirs[str(player)].mu, rating) for player, rating in rated if str(player) in theirs]
    return float(np.max(np.abs(np.diff(np.array(known), axis=1))))


def main() -> None:
    """Measure and report."""
    history = read_history(needs(DATA / "codeforces.parquet"))
    late = history.slice(history.matches - LATE, history.matches)
    fast = EloMmrConfig("mmr-fast", weight_limit=0.23, sig_limit=54)
    exact = EloMmrConfig("mmr", weight_limit=0.23, sig_limit=54)
    with watch_compilation() as compilation:
        replay(OURS, history.slice(0, 3), threads=2)
        replay(OURS, late.slice(LATE - 2, LATE), threads=2)
    ours_all = [seconds(lambda: replay(OURS, history, threads=2)) for _ in range(3)]
    print("ours, whole history:", ours_all, file=sys.stderr)
    contests = contests_of(history)
    theirs_all = seconds(lambda: rate_latest(contests, fast))
    print("theirs, whole history, fast:", theirs_all, file=sys.stderr)
    ours_all.append(seconds(lambda: replay(OURS, history, threads=2)))
    ours_late = [seconds(lambda: replay(OURS, late, threads=2)) for _ in range(5)]
    late_contests = contests[-LATE:]
    start = time.perf_counter()
    latest = rate_latest(late_contests, exact)
    theirs_late = time.perf_counter() - start
    played = f"{history.matches} contests, {history.participations:,} participations"
    played_late = f"{LATE} late contests, {late.participations:,} participations"
    rows = [
        row(played, "mmr-fast (approximate)", median(ours_all), theirs_all),
        row(played_late, "mmr (exact)", median(ours_late), theirs_late),
    ]
    columns = ("what", "peer", "ours, s", "peer, s", "ratio")
    difference = largest_difference(late, latest)
    note = (
        f"{__doc__.strip()} Our figure is a median (of {len(ours_all)} and {len(ours_late)}), the "
        f"peer's a single run. The exact ratings differ by at most {difference:.1e} points. "
        f"{compilation.kernels} kernels were compiled in {compilation.seconds:.1f} s before (0: "
        "they were cached)."
    )
    report("elo_mmr", note, columns, rows)


def row(what: str, peer: str, ours: float, theirs: float) -> tuple[str, ...]:
    """Return a line of the table."""
    return what, peer, f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.1f}x"


if __name__ == "__main__":
    main()
