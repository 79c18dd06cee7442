"""How fast is `codeforces` by the platform's rules, and what does a contest cost by its size?

Three real contests, whose changes all come out exactly, and drawn ones of up to 100,000 players, on
one thread. The peer is the calculator of the chat bot TLE (Python, NumPy), which adds up all pairs
by a Fourier transform; `python benchmarks/codeforces_platform.py rating_calculator.py` takes a copy
of its file tle/util/ranklist/rating_calculator.py. Without one, ours alone are measured.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from equipoise.arrays import Floats, Ints
from equipoise.rating.systems.codeforces_platform import platform_round
from report import DATA, needs, report

SLOPE = math.log(10.0) / 400.0
SIZES = (1_000, 5_000, 20_000, 100_000)


def seconds(once: Callable[[], object]) -> float:
    """Return the median time of nine calls, after one more."""
    once()
    taken = []
    for _ in range(9):
        start = time.perf_counter()
        once()
        taken.append(time.perf_counter() - start)
    return median(taken)


def changes(before: Floats, rank: Ints) -> Floats:
    """Return our changes of rating."""
    done = platform_round(before, rank, SLOPE, 0.5)
    return np.asarray(done.changes + done.from_everyone + done.for_the_best)


def peer_of(path: str) -> Any:
    """Return the class of the peer."""
    spec = importlib.util.spec_from_file_location("rating_calculator", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules["rating_calculator"] = module
    spec.loader.exec_module(module)
    return module.CodeforcesRatingCalculator


def real(table: pl.DataFrame, number: int, peer: Any) -> tuple[str, ...]:
    """Return a line on a real contest."""
    contest = table.filter(pl.col("contest") == number)
    before = contest["rating_before"].cast(pl.Float64).to_numpy()
    rank = contest["rank"].to_numpy()
    exact = int(np.sum(changes(before, rank) == contest["change"].to_numpy()))
    ours = seconds(lambda: changes(before, rank))
    what = f"contest {number}, {exact:,} of {contest.height:,} changes exact"
    if peer is None:
        return (what, f"{1000 * ours:.1f}", "", "")
    rows = list(contest.select("player", "points", "penalty", "rating_before").iter_rows())
    theirs = seconds(lambda: peer(rows))
    return (what, f"{1000 * ours:.1f}", f"{1000 * theirs:.0f}", f"{theirs / ours:.0f}x")


def drawn(n: int) -> tuple[str, ...]:
    """Return a line on a contest of n players with normal ratings."""
    rng = np.random.default_rng(n)
    before, rank = np.rint(rng.normal(1500.0, 350.0, n)), rng.permutation(n)
    ours = seconds(lambda: changes(before, rank))
    return (f"{n:,} players, {len(np.unique(before)):,} ratings", f"{1000 * ours:.1f}", "", "")


def main() -> None:
    """Measure and report."""
    file = needs(DATA.parent / "golden" / "codeforces_platform_changes.csv")
    peer = peer_of(sys.argv[1]) if len(sys.argv) > 1 else None
    order = pl.struct(-pl.col("points"), "penalty").rank("dense").over("contest")
    table = pl.read_csv(file).with_columns((order.cast(pl.Int64) - 1).alias("rank"))
    lines = [real(table, number, peer) for number in (1342, 1349, 1305)]
    lines += [drawn(n) for n in SIZES]
    columns = ("what", "ours, ms", "peer, ms", "ratio")
    report("codeforces_platform", (__doc__ or "").strip(), columns, lines)


if __name__ == "__main__":
    main()
