"""How much faster is team-glicko2 than openskill and trueskill, on the same matches in one run?

5v5 matches in a random order of lobbies, seeded, with performances that follow skill, each peer
from its own newcomers on. All in process and on one core, in processor time, so that what else
the machine does counts for nobody; making the matches is excluded for all, reading the final
ratings included for ours. The peers update a match at a time, as they are meant to be used;
openskill is compiled (mypyc), trueskill is plain Python with its own normal distribution.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from openskill.models import PlackettLuce
from trueskill import TrueSkill

from equipoise._jit import watch_compilation
from equipoise.data.history import History
from equipoise.rating.replay import replay
from equipoise.rating.systems.team_glicko2 import TeamGlicko2
from report import report

MATCHES, PLAYERS, SIDE = 100_000, 20_000, 5
SKILL_DEVIATION, PERFORMANCE_DEVIATION = 1.0, 1.0

#: Matches that the peers rate, the first of all; they take long.
OPENSKILL_MATCHES, TRUESKILL_MATCHES = 20_000, 3_000

#: Bounds that the project has set itself: matches a second, and times the peers'.
LEAST, LEAST_OPENSKILL, LEAST_TRUESKILL = 500_000, 15, 100

REPEATS = 9

#: A match as the peers take it: rows of players of both teams, and their ranks.
Lobby = tuple[list[list[int]], list[int]]


def season(rng: np.random.Generator) -> History:
    """Return matches ten minutes apart; the team with the better performances wins."""
    skill = rng.normal(0, SKILL_DEVIATION, PLAYERS)
    player = np.array([rng.choice(PLAYERS, 2 * SIDE, replace=False) for _ in range(MATCHES)])
    performance = skill[player] + rng.normal(0, PERFORMANCE_DEVIATION, player.shape)
    strength = performance.reshape(MATCHES, 2, SIDE).sum(axis=2)
    rank = np.argsort(np.argsort(-strength, axis=1), axis=1)
    return History(
        match_ids=np.arange(MATCHES),
        player_ids=np.arange(PLAYERS),
        offsets=2 * SIDE * np.arange(MATCHES + 1),
        player=player.ravel(),
        team=np.tile(np.repeat([0, 1], SIDE), MATCHES),
        rank=np.repeat(rank.ravel(), SIDE),
        time=600_000_000 * np.arange(MATCHES),
        performance=performance.ravel(),
    )


def lobbies_of(history: History, count: int) -> list[Lobby]:
    """Return the first matches as the peers take them."""
    players = history.player.reshape(-1, 2, SIDE)[:count].tolist()
    ranks = history.rank.reshape(-1, 2, SIDE)[:count, :, 0].tolist()
    return list(zip(players, ranks, strict=True))


def rate_by_peer(
    rate: Callable[..., Sequence[Sequence[Any]]],
    newcomer: Callable[[], Any],
    lobbies: Sequence[Lobby],
) -> list[Any]:
    """Rate matches one by one; return everyone's rating."""
    ratings = [newcomer() for _ in range(PLAYERS)]
    for teams, ranks in lobbies:
        after = rate([[ratings[row] for row in team] for team in teams], ranks=ranks)
        for team, updated in zip(teams, after, strict=True):
            for row, rating in zip(team, updated, strict=True):
                ratings[row] = rating
    return ratings


def seconds(work: Callable[[], object]) -> float:
    """Return how much processor time `work` takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def agreement(history: History, theirs: Sequence[Any], count: int) -> float:
    """Return the rank correlation of our ratings with a peer's, after the same matches."""
    ours = replay(TeamGlicko2(), history.slice(0, count)).ratings
    played = ours.matches > 0
    places = [
        np.argsort(np.argsort(column[played]))
        for column in (ours.rating, np.array([one.mu for one in theirs]))
    ]
    return float(np.asarray(np.corrcoef(places))[0, 1])


def main() -> None:
    """Measure and report."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    system, history = TeamGlicko2(), season(np.random.default_rng(4))
    everything = replace(system, conserve=True, max_change=100.0)
    with watch_compilation() as compilation:
        replay(system, history.slice(0, 3))
    print("kernels compiled:", compilation.kernels, file=sys.stderr)
    plackett_luce, true_skill = PlackettLuce(), TrueSkill()
    found, ours = {}, []
    for name, rate, newcomer, count in (
        ("openskill", plackett_luce.rate, plackett_luce.rating, OPENSKILL_MATCHES),
        ("trueskill", true_skill.rate, true_skill.create_rating, TRUESKILL_MATCHES),
    ):
        lobbies = lobbies_of(history, count)
        # Before and after each peer: a shared core is not always as fast.
        ours += [seconds(lambda: replay(system, history)) for _ in range(REPEATS)]
        start = time.process_time()
        ratings = rate_by_peer(rate, newcomer, lobbies)
        speed = count / (time.process_time() - start)
        found[name] = (count, speed, agreement(history, ratings, count))
        print(name, speed, file=sys.stderr)
    ours += [seconds(lambda: replay(system, history)) for _ in range(REPEATS)]
    bent = median(seconds(lambda: replay(everything, history)) for _ in range(REPEATS))
    speed = MATCHES / median(ours)
    rows = [
        ("team-glicko2", f"{MATCHES:,}", f"{speed:,.0f}", "", f"{LEAST:,}/s", ""),
        ("the same, conserve and max_change", f"{MATCHES:,}", f"{MATCHES / bent:,.0f}", "", "", ""),
        *(
            (what, f"{count:,}", f"{peer:,.0f}", f"{speed / peer:.0f}x", f"{least}x", f"{like:.3f}")
            for what, least, (count, peer, like) in (
                ("openskill, PlackettLuce", LEAST_OPENSKILL, found["openskill"]),
                ("trueskill, TrueSkill", LEAST_TRUESKILL, found["trueskill"]),
            )
        ),
    ]
    columns = ("what", "matches", "matches/s", "ours is", "asked for", "rank correlation with ours")
    note = (
        f"{(__doc__ or '').strip()} Our figure is a median of {len(ours)}, at best "
        f"{MATCHES / min(ours):,.0f}/s; a player's update takes "
        f"{1e9 * median(ours) / history.participations:.0f} ns. A peer's figure is a single run."
    )
    report("team_glicko2", note, columns, rows)


if __name__ == "__main__":
    main()
