"""How fast are strengths from rankings, beside choix?

Every program gets the same rankings in its own form, made before the clock starts, and goes to the
maximum of the likelihood: ours with its defaults, choix' `ilsr_rankings` and `mm_rankings` until
a step changes no more than 1e-8 (its default), and `opt_rankings` (Newton-CG) with `alpha=0`.
"off" is the largest difference from our ratings in rating points, both with mean 0. "gradient" is
the largest difference of actual and expected choices of a player, which is 0 at the maximum. Ours
is the median of 5 runs, choix' one run, in the same process. A program that takes longer than LIMIT
seconds is stopped. Compilation is not measured.

Random: rankings of 5 or 10 among players of normal skill, by the model itself. Contests: the last
200 contests of Codeforces in which at least 10 of the players with the most contests took part;
only those players count, in the largest group in which everybody was beaten by everybody, directly
or through others. Their ties are broken at random, because choix has none.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import FrameType

import numpy as np
import polars as pl
from numpy.typing import NDArray

import equipoise as eq
from equipoise.tournament.rankings import _Likelihood, choices_of
from report import report

Floats = NDArray[np.float64]
Row = tuple[str, ...]

POINTS = 400.0 / math.log(10.0)
DATA = Path(__file__).parents[2] / "shared" / "data" / "codeforces.parquet"
#: Seconds after which a program is stopped.
LIMIT = 12
RUNS = 5


def random_rankings(players: int, rankings: int, size: int) -> list[list[int]]:
    """Return rankings by the model, and one of all players in reverse, so that all are linked."""
    rng = np.random.default_rng(7)
    skill = rng.normal(0.0, 1.0, players)
    made = []
    for _ in range(rankings):
        who = rng.choice(players, size, replace=False)
        made.append(who[np.argsort(-skill[who] - rng.gumbel(size=size))].tolist())
    return [*made, np.argsort(skill).tolist()]


def contest_rankings(players: int, contests: int) -> list[list[int]]:
    """Return rankings of Codeforces between players numbered from 0."""
    rows = pl.read_parquet(DATA)
    often = rows["player"].value_counts(sort=True)["player"].head(players)
    rows = rows.filter(pl.col("player").is_in(often.implode())).sort("time", maintain_order=True)
    rng = np.random.default_rng(7)
    rows = rows.with_columns(pl.Series("luck", rng.random(len(rows))))
    made = [
        one.sort("rank", "luck")["player"].to_list()
        for (_,), one in rows.group_by("match", maintain_order=True)
        if len(one) >= 10
    ][-contests:]
    return numbered(made)


def numbered(made: list[list[int]]) -> list[list[int]]:
    """Return the rankings within the largest linked group, with players numbered from 0."""
    try:
        eq.ranking_strengths(history_of(made))
        kept = sorted({one for ranking in made for one in ranking})
    except eq.NoStrengthsError as error:
        groups = [group for component in error.groups for group in component]
        kept = sorted(int(one) for one in max(groups, key=len))
    row_of = {one: row for row, one in enumerate(kept)}
    rankings = [[row_of[one] for one in ranking if one in row_of] for ranking in made]
    return [one for one in rankings if len(one) > 1]


def history_of(rankings: list[list[int]]) -> eq.History:
    """Return rankings as a history."""
    return eq.read_history(
        {
            "match": [match for match, one in enumerate(rankings) for _ in one],
            "player": [player for one in rankings for player in one],
            "rank": [place for one in rankings for place in range(len(one))],
        }
    )


def _stop(number: int, frame: FrameType | None) -> None:
    raise TimeoutError


def timed(work: Callable[[], Floats]) -> tuple[float, Floats] | None:
    """Return seconds and the result; None after LIMIT seconds."""
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(LIMIT)
    start = time.perf_counter()
    try:
        found = work()
    except TimeoutError:
        return None
    finally:
        signal.alarm(0)
    return time.perf_counter() - start, found


def compared(name: str, rankings: list[list[int]]) -> list[Row]:
    """Return the rows of one set of rankings."""
    import choix

    history = history_of(rankings)
    rows_total = sum(map(len, rankings))
    name = f"{name}: {history.players:,} players, {len(rankings):,} rankings, {rows_total:,} places"
    order = np.argsort(history.player_ids)
    likelihood = _Likelihood(
        choices_of(history, top=None, ties="refuse"), np.zeros(history.players, np.int64), 0.0
    )

    def gradient(x: Floats) -> float:
        by_row = np.empty(history.players)
        by_row[order] = x
        return float(np.max(np.abs(likelihood.at(by_row).gradient)))

    eq.ranking_strengths(history)
    runs = [timed(lambda: eq.ranking_strengths(history).rating) for _ in range(RUNS)]
    done = [one for one in runs if one is not None]
    seconds, ours = median(one for one, _ in done), done[0][1][order] / POINTS
    start = time.perf_counter()
    eq.ranking_strengths(history).errors()
    with_errors = time.perf_counter() - start
    remark = f"gradient {gradient(ours):.0e}; with all standard errors {1000 * with_errors:.0f} ms"
    rows: list[Row] = [(name, "equipoise", f"{1000 * seconds:.1f} ms", remark, "1")]
    players = history.players
    tuples = [tuple(one) for one in rankings]
    peers: list[tuple[str, Callable[[], Floats]]] = [
        ("choix, I-LSR", lambda: choix.ilsr_rankings(players, tuples)),
        ("choix, MM", lambda: choix.mm_rankings(players, tuples)),
        ("choix, Newton-CG", lambda: choix.opt_rankings(players, tuples, alpha=0.0)),
    ]
    for program, work in peers:
        try:
            found = timed(work)
        except RuntimeError as error:
            rows.append((name, program, "failed", str(error)[:60], ""))
            continue
        if found is None:
            rows.append((name, program, f"over {LIMIT} s", "stopped", f"> {LIMIT / seconds:,.0f}"))
            continue
        taken, theirs = found
        theirs = theirs - np.mean(theirs)
        off = POINTS * float(np.max(np.abs(theirs - ours)))
        remark = f"off {off:.1g}, gradient {gradient(theirs):.0e}"
        rows.append((name, program, f"{1000 * taken:.0f} ms", remark, f"{taken / seconds:,.0f}"))
    return rows


if __name__ == "__main__":
    table = [
        *compared("random", random_rankings(100, 1_000, 5)),
        *compared("random", random_rankings(1_000, 10_000, 10)),
    ]
    if DATA.exists():
        table += compared("contests", contest_rankings(1_000, 200))
    report("rankings", __doc__, ("rankings", "program", "time", "remark", "times ours"), table)
