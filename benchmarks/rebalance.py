"""How fast are rebalanced teams, and how far from the most even ones?

Times: median of 15 requests with players' mmr N(1500, 300), rounded to points. "Listed" is the same
request with every sequence listed, up to a million, as the document describes the method.

Gaps: of 1,000 random matches, with a quarter of the parties pairs and a seventh threes. The gap is
the distance less the least distance that any teams have, in mmr points; member counts are always
as alike as they can be. "Gives way" counts matches in which the method leaves a party without a
place and another one is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

from equipoise.data.rebalancing import (
    MatchedParty,
    MatchedPlayer,
    Method,
    RebalanceRequest,
    Rule,
    Ruleset,
)
from equipoise.teams.rebalance import rebalance
from report import report, timed

RULES = (Rule(attribute="mmr", reference=100, max=3000),)
RUNS, MATCHES = 15, 1_000
#: Sizes of parties, and how often they come.
SIZES, SHARES = (1, 2, 3), (0.6, 0.25, 0.15)
EIGHT = (1, 1, 1, 1, 2, 2, 2, 2)


def match(sizes: list[int], teams: int, seed: int, *, loose: bool = False) -> RebalanceRequest:
    """Return a match of parties of these sizes."""
    rng = np.random.default_rng(seed)
    players = sum(sizes)
    mmr = iter(np.round(rng.normal(1500, 300, players)).tolist())
    ids = iter(range(players))
    most = -(-players // teams)
    return RebalanceRequest(
        ruleset=Ruleset(
            min_number=teams,
            max_number=teams,
            player_min_number=1 if loose else most,
            player_max_number=most,
            rules=RULES,
        ),
        parties=tuple(
            MatchedParty(
                players=tuple(
                    MatchedPlayer(player=next(ids), attributes={"mmr": next(mmr)})
                    for _ in range(size)
                )
            )
            for size in sizes
        ),
    )


def mixed_sizes(players: int, seed: int) -> list[int]:
    """Return sizes of parties that make so many players."""
    rng = np.random.default_rng(10_000 + seed)
    sizes: list[int] = []
    while sum(sizes) < players:
        size = int(rng.choice(SIZES, p=SHARES))
        sizes.append(min(size, players - sum(sizes)))
    return sizes


def time_row(
    name: str,
    make: Callable[[int], RebalanceRequest],
    method: Method | None = None,
    *,
    listed: bool = False,
    runs: int = RUNS,
) -> tuple[str, ...]:
    """Measure one kind of match."""
    found = []
    for seed in range(runs):
        asked = make(seed)
        work = partial(rebalance, asked, method=method, candidates=listed, max_sequences=1_000_000)
        found.append(timed(work))
    results = [result for _, result in found]
    proved = sum(one.optimum is not None and one.optimum.proved for one in results)
    exact = sum(not one.truncated for one in results)
    remark = f"{results[0].sequences:,} sequences" if results[0].sequences > 1 else ""
    if method == "optimal":
        remark = f"proved in {proved} of {runs}"
    elif exact < runs:
        remark += f"; cut off in {runs - exact} of {runs}"
    used = results[0].method + (", listed" if listed else "")
    return name, used, f"{1000 * median(one for one, _ in found):.2f} ms", "", remark


def gap_rows(players: int, teams: int) -> list[tuple[str, ...]]:
    """Measure how far every method is from the most even teams."""
    methods: tuple[Method, ...] = ("permutation", "combination", "greedy")
    gaps: dict[str, list[float]] = {method: [] for method in methods}
    gave_way = dict.fromkeys(methods, 0)
    counted = 0
    seed = 0
    while counted < MATCHES:
        asked = match(mixed_sizes(players, seed), teams, seed)
        seed += 1
        try:
            best = rebalance(asked, method="optimal")
        except ValueError:
            continue  # the parties fit into no teams
        assert best.optimum is not None
        assert best.optimum.proved
        counted += 1
        for method in methods:
            found = rebalance(asked, method=method)
            if found.method != method:
                gave_way[method] += 1
            else:
                gaps[method].append(found.distance - best.distance)
    return [
        (
            f"{MATCHES:,} matches, {teams} x {players // teams}",
            method,
            "",
            _quantiles(gaps[method]),
            f"gives way in {gave_way[method]}",
        )
        for method in methods
    ]


def _quantiles(gaps: list[float]) -> str:
    """Return how large gaps are."""
    none = 100 * float(np.mean(np.array(gaps) <= 1e-9))
    half, most = np.quantile(gaps, [0.5, 0.9]).tolist()
    return f"none in {none:.0f} %, median {half:.1f}, 90 % up to {most:.1f}, most {max(gaps):.1f}"


def main() -> None:
    """Measure and report."""
    rebalance(match([1] * 4, 2, 0))
    rows = [
        time_row(
            f"12 solo players, {teams} teams",
            partial(match, [1] * 12, teams, loose=True),
        )
        for teams in (2, 3, 4, 6)
    ]
    eight = partial(match, list(EIGHT), 2, loose=True)
    rows += [
        time_row("8 parties, 12 players, 2 teams", eight),
        time_row("8 parties, 12 players, 2 teams", eight, listed=True, runs=3),
        time_row("12 solo players, 2 x 6", partial(match, [1] * 12, 2)),
        time_row("12 solo players, 2 x 6", partial(match, [1] * 12, 2), listed=True),
        time_row("200 solo players, 20 x 10", partial(match, [1] * 200, 20)),
    ]
    for players, teams in ((14, 2), (20, 2), (15, 3), (20, 4), (40, 4), (200, 20)):
        name = f"{players} solo players, {teams} x {players // teams}"
        make = partial(match, [1] * players, teams)
        rows.append(time_row(name, make, "optimal", runs=5))
    rows += gap_rows(12, 2)
    rows += gap_rows(16, 4)
    columns = ("match", "method", "time", "gap, mmr points", "remark")
    report("rebalance", (__doc__ or "").strip(), columns, rows)


if __name__ == "__main__":
    main()
