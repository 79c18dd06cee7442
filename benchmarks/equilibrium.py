"""How fast are perfect performance ratings, and how much memory do they take?

1,000 players and 100,000 decided games: everything from games to ratings (pairs, existence,
Newton, the constant), median of 15 with its components, against maximum likelihood by choix
(`opt_pairwise`, exact), its spectral fits (`lsr_pairwise`, `ilsr_pairwise`) and the document's
iteration x <- f(x) in NumPy, until nobody moves by a millionth of a point. "off" is the largest
difference from our ratings, both with mean 0. Then random pairings, and pairings within 10 places
of skill ("banded"), each in a process of its own, whose peak memory is given, games included; with
and, the smaller one, without algebraic multigrid (pyamg). Compilation is not measured.

An equilibrium exists in all of them: around a ring of all players everybody beats the next (decided
games) or draws with the next.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from numpy.typing import NDArray

from equipoise.data.games import Games
from equipoise.tournament.equilibrium import Equilibrium, performance_equilibrium
from report import report, timed

Floats = NDArray[np.float64]
Row = tuple[str, ...]

POINTS = 400.0 / math.log(10.0)
SIZES = {
    "random": [(100_000, 1_000_000), (1_000_000, 10_000_000)],
    "banded": [(20_000, 200_000), (100_000, 1_000_000)],
}


def tournament(kind: str, players: int, games: int) -> Games:
    """Return games of players of N(1500, 200) skill; "decided" without draws."""
    rng = np.random.default_rng(7)
    skill = np.sort(rng.normal(1500, 200, players))
    white = rng.integers(0, players, games)
    if kind == "banded":
        apart = rng.integers(1, 11, games)
        black = np.where(white + apart < players, white + apart, white - apart)
        ring = np.concatenate([np.arange(0, players, 2), np.arange(1, players, 2)[::-1]])
    else:
        black = (white + rng.integers(1, players, games)) % players
        ring = rng.permutation(players)
    chance = 1.0 / (1.0 + 10.0 ** ((skill[black] - skill[white]) / 400.0))
    points = (rng.random(games) < chance).astype(np.float64)
    if kind != "decided":
        points[rng.random(games) < 0.3] = 0.5
    return Games(
        player_ids=np.arange(players),
        white=np.concatenate([white, ring]),
        black=np.concatenate([black, np.roll(ring, 1)]),
        points=np.concatenate([points, np.full(players, 1.0 if kind == "decided" else 0.5)]),
    )


def plain_iteration(games: Games) -> Floats:
    """Return where x <- f(x) ends, every f by bisection, all players side by side."""
    players, scored = games.players, games.scored()
    x = np.zeros(players)
    for _ in range(200):
        low, high = np.full(players, -5_000.0), np.full(players, 5_000.0)
        for _ in range(45):
            z = 0.5 * (low + high)
            of_white = 1.0 / (1.0 + 10.0 ** ((x[games.black] - z[games.white]) / 400.0))
            of_black = 1.0 / (1.0 + 10.0 ** ((x[games.white] - z[games.black]) / 400.0))
            expected = np.bincount(games.white, of_white, players)
            expected += np.bincount(games.black, of_black, players)
            less = expected < scored
            low, high = np.where(less, z, low), np.where(less, high, z)
        if np.max(np.abs(z - x)) < 1e-6:
            break
        x = z
    return x


def against_peers() -> list[Row]:
    """Measure 1,000 players with 100,000 games."""
    import choix

    games = tournament("decided", 1_000, 100_000)
    name = f"{games.players:,} players, {games.rows:,} games"
    performance_equilibrium(games)
    runs = [timed(lambda: performance_equilibrium(games).rating) for _ in range(15)]
    seconds, ours = median(one for one, _ in runs), runs[0][1]
    rows: list[Row] = [(name, "equipoise", f"{1000 * seconds:.0f} ms", "", "", "1.0")]
    won = games.points == 1.0
    winners = np.where(won, games.white, games.black).tolist()
    losers = np.where(won, games.black, games.white).tolist()
    pairs = list(zip(winners, losers, strict=True))
    peers: list[tuple[str, Callable[[], Floats]]] = [
        ("the document's iteration", lambda: plain_iteration(games)),
        ("choix, exact", lambda: POINTS * choix.opt_pairwise(1_000, pairs, tol=1e-10)),
        ("choix, spectral (LSR)", lambda: POINTS * choix.lsr_pairwise(1_000, pairs)),
        ("choix, iterated (I-LSR)", lambda: POINTS * choix.ilsr_pairwise(1_000, pairs)),
    ]
    for program, work in peers:
        taken, theirs = timed(work)
        apart = theirs - ours
        off = float(np.max(np.abs(apart - np.mean(apart))))
        rows.append(
            (
                name,
                program,
                f"{1000 * taken:.0f} ms",
                f"off {off:.1g}",
                "",
                f"{taken / seconds:.1f}",
            )
        )
    return rows


def measured(kind: str, players: int, games: int, threads: int, multigrid: bool) -> Row:
    """Return a row measured in a process of its own."""
    task = json.dumps([kind, players, games, threads, multigrid])
    done = subprocess.run(
        [sys.executable, __file__, task], capture_output=True, text=True, check=False
    )
    name = f"{players:,} players, {games:,} games, {kind}"
    program = f"equipoise, {threads} thread{'s' if threads > 1 else ''}"
    program += ", multigrid" if kind == "banded" and multigrid else ""
    if done.returncode:
        return (name, program, "failed", done.stderr.strip().splitlines()[-1][:80], "", "")
    seconds, steps, inner, residual, gigabytes = json.loads(done.stdout)
    remark = f"{steps} steps, {inner} iterations, residual {residual:.1g}"
    return (name, program, f"{seconds:.2f} s", remark, f"{gigabytes:.2f} GB", "")


def one(kind: str, players: int, games: int, threads: int, multigrid: bool) -> None:
    """Measure one tournament and print what was found."""
    performance_equilibrium(tournament(kind, 2_000, 400_000), threads=threads)  # compiles
    if not multigrid:
        sys.modules["pyamg"] = None  # type: ignore[assignment]  # as if it were not installed
    data = tournament(kind, players, games)
    start = time.perf_counter()
    found: Equilibrium = performance_equilibrium(data, threads=threads)
    seconds = time.perf_counter() - start
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    answer = [seconds, found.iterations, found.inner_iterations, found.residual, gigabytes]
    print(json.dumps(answer))


def main() -> None:
    """Measure and report, or measure the one tournament that is asked for."""
    if len(sys.argv) > 1:
        one(*json.loads(sys.argv[1]))
        return
    rows = against_peers()
    for players, games in SIZES["random"]:
        rows += [measured("random", players, games, threads, True) for threads in (1, 2)]
    for players, games in SIZES["banded"]:
        rows.append(measured("banded", players, games, 1, True))
    rows.insert(-1, measured("banded", *SIZES["banded"][0], 1, False))
    columns = ("tournament", "program", "time", "remark", "peak memory", "times ours")
    report("equilibrium", (__doc__ or "").strip(), columns, rows)


if __name__ == "__main__":
    main()
