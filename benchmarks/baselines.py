"""How much faster are codeforces and topcoder than the authors' program's, on the same contests?

In process, reading excluded, one pair of runs after the other. The authors' program is elo-mmr-py
(Rust), two threads: its `cfsys` and `tcsys` meet every player with every other, as the platforms'
rules say, and ours compute the same sums in linear time. The peer takes every 50th contest, which
is what it does in a minute or two; our whole history, and the cost of one contest a participant,
stand beside it.
"""

from __future__ import annotations

import os
import sys
import time
from statistics import median
from typing import Literal, TypeAlias

import numpy as np

os.environ.setdefault("RAYON_NUM_THREADS", "2")

from elo_mmr import contests_of, row
from elo_mmr_py import PlayerRating, rate_latest

from equipoise.data.history import History
from equipoise.formats import read_history
from equipoise.numeric.workers import Workers
from equipoise.rating.replay import replay
from equipoise.rating.system import RatingSystem
from equipoise.rating.systems.codeforces import Codeforces
from equipoise.rating.systems.topcoder import TopCoder
from report import DATA, needs, report, seconds

Peer: TypeAlias = Literal["cfsys", "tcsys"]

#: Ours with the defaults, which are the peer's.
PAIRS: tuple[tuple[RatingSystem, Peer], ...] = ((Codeforces(), "cfsys"), (TopCoder(), "tcsys"))
EVERY = 50
SIZES = (10_000, 100_000, 1_000_000)


def sample(history: History) -> History:
    """Return every 50th contest as a history of its own."""
    kept = np.arange(0, history.matches, EVERY)
    low, high = history.offsets[kept], history.offsets[kept + 1]
    rows = np.concatenate([np.arange(a, b) for a, b in zip(low, high, strict=True)])
    return History(
        match_ids=history.match_ids[kept],
        player_ids=history.player_ids,
        offsets=np.concatenate([[0], np.cumsum(high - low)]),
        player=history.player[rows],
        team=history.team[rows],
        rank=history.rank[rows],
        time=None if history.time is None else history.time[kept],
        time_kind=history.time_kind,
    )


def largest_difference(
    system: RatingSystem, history: History, theirs: dict[str, PlayerRating]
) -> float:
    """Return the largest difference between our ratings and theirs, rating points."""
    ours = replay(system, history).ratings
    rated = zip(ours.player_ids.tolist(), ours.rating.tolist(), strict=True)
    apart: list[float] = [abs(theirs[str(one)].mu - mu) for one, mu in rated if str(one) in theirs]
    return max(apart)


def against_peer(system: RatingSystem, peer: Peer, part: History) -> tuple[tuple[str, ...], float]:
    """Return a line of the table, and the largest difference of ratings."""
    contests = contests_of(part)
    before = [seconds(lambda: replay(system, part, threads=2)) for _ in range(5)]
    start = time.perf_counter()
    theirs = rate_latest(contests, peer)
    taken = time.perf_counter() - start
    after = [seconds(lambda: replay(system, part, threads=2)) for _ in range(5)]
    what = f"{part.matches} contests, {part.participations:,} participations, {system.name}"
    line = row(what, peer, median([*before, *after]), taken)
    return line, largest_difference(system, part, theirs)


def whole_history(system: RatingSystem, history: History, threads: int) -> tuple[str, ...]:
    """Return the line of our time for everything."""
    times = [seconds(lambda: replay(system, history, threads=threads)) for _ in range(3)]
    played = f"all {history.matches}, {history.participations:,} participations"
    on = "one thread" if threads == 1 else f"{threads} threads"
    return f"{played}, {system.name}, {on}", "", f"{median(times):.2f}", "", ""


def one_contest(system: RatingSystem, players: int) -> float:
    """Return nanoseconds a participant of one contest, on one thread, a median of five."""
    rng = np.random.default_rng(1)
    skill = rng.normal(1500, 300, players)
    rank = np.empty(players, np.int64)
    rank[np.argsort(-(skill + rng.normal(0, 150, players)))] = np.arange(players)
    history = History(
        match_ids=np.array([1]),
        player_ids=np.arange(players),
        offsets=np.array([0, players]),
        player=np.arange(players),
        team=np.arange(players),
        rank=rank,
    )
    state = system.initial(players)
    state.column("rating")[:] = skill
    if "deviation" in state.initial:
        state.column("deviation")[:] = np.exp(rng.uniform(np.log(60), np.log(400), players))
    times = []
    for _ in range(5):
        fresh = state.copy()
        start = time.perf_counter()
        system.run(fresh, history, 0, 1, workers=Workers(1))
        times.append(time.perf_counter() - start)
    return median(times) / players * 1e9


def main() -> None:
    """Measure and report."""
    history = read_history(needs(DATA / "codeforces.parquet"))
    part = sample(history)
    rows, differences, costs = [], [], []
    for system, peer in PAIRS:
        replay(system, history.slice(0, 5), threads=2)
        replay(system, history.slice(history.matches - 2, history.matches), threads=2)
        line, difference = against_peer(system, peer, part)
        print(line, file=sys.stderr)
        rows += [line, whole_history(system, history, 1), whole_history(system, history, 2)]
        differences.append(f"{difference:.1e} ({system.name})")
        figures = [f"{one_contest(system, size):.0f} of {size:,}" for size in SIZES]
        costs.append(f"{system.name} {', '.join(figures)}")
    columns = ("what", "peer", "ours, s", "peer, s", "ratio")
    note = (
        f"{(__doc__ or '').strip()} Our figures are medians (of ten and of three), the peer's a "
        f"single run. Ratings differ by at most {', '.join(differences)} points. "
        f"Nanoseconds a participant of one contest on one thread: {'; '.join(costs)}."
    )
    report("baselines", note, columns, rows)


if __name__ == "__main__":
    main()
