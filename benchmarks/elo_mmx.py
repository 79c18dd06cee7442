"""How much faster is elo-mmx than the authors' program, on the same contests in the same run?

Both in process, on two threads, reading excluded, as in `elo_mmr.py`; the authors' `mmx-fast` looks
at about 100 opponents, ours at all of them.
"""

from __future__ import annotations

from statistics import median

from elo_mmr import contests_of, row
from elo_mmr_py import EloMmrConfig, rate_latest

from equipoise.formats import read_history
from equipoise.rating.elo_mmr.elo_mmr import EloMMX
from equipoise.rating.replay import replay
from report import DATA, needs, report, seconds

OURS = EloMMX(weight_limit=0.16, sigma_limit=74)


def main() -> None:
    """Measure and report."""
    history = read_history(needs(DATA / "codeforces.parquet"))
    replay(OURS, history.slice(history.matches - 2, history.matches), threads=2)
    ours = [seconds(lambda: replay(OURS, history, threads=2)) for _ in range(3)]
    contests = contests_of(history)
    fast = EloMmrConfig("mmx-fast", weight_limit=0.16, sig_limit=74)
    theirs = seconds(lambda: rate_latest(contests, fast))
    ours += [seconds(lambda: replay(OURS, history, threads=2)) for _ in range(2)]
    played = f"{history.matches} contests, {history.participations:,} participations"
    columns = ("what", "peer", "ours, s", "peer, s", "ratio")
    note = (
        f"{(__doc__ or '').strip()} Our figure is a median of {len(ours)} (from {min(ours):.2f} to "
        f"{max(ours):.2f} s), the peer's a single run."
    )
    report("elo_mmx", note, columns, [row(played, fast.system, median(ours), theirs)])


if __name__ == "__main__":
    main()
