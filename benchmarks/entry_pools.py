"""Simulated pools that newcomers join, for the study of the entry."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.history import History


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """A pool that newcomers join: their skills by arrival and experience.

    contests : number of them, or of rounds; joining : newcomers of each
    side : players of a team: a round is split at random into matches of two such teams, which
        perform as their members add up; 0: a round is one contest
    attendance, staying : chances that a player takes part, and stays after taking part
    mean_change : of the newcomers' mean skill from the first contest to the last
    lack, learning : points that a newcomer is short of his skill, and contests in which the lack
        shrinks to 1/e
    skill_deviation, performance_deviation, drift_deviation : as in `ContestModel`
    """

    contests: int = 400
    joining: int = 15
    side: int = 0
    attendance: float = 0.3
    staying: float = 0.96
    mean_change: float = 0.0
    lack: float = 0.0
    learning: float = 10.0
    skill_deviation: float = 300.0
    performance_deviation: float = 200.0
    drift_deviation: float = 10.0


#: What is simulated.
POOLS = {
    "equal newcomers": Arrivals(),
    "newcomers grow weaker by 600": Arrivals(mean_change=-600.0),
    "newcomers grow stronger by 600": Arrivals(mean_change=600.0),
    "newcomers begin 300 short and improve": Arrivals(lack=300.0),
}

#: The same changes of newcomers in duels, and in matches of two teams of three.
DUELS = {f"duels, {name}": replace(pool, side=1) for name, pool in POOLS.items()}
TEAMS = {f"teams of three, {name}": replace(pool, side=3) for name, pool in POOLS.items()}


def simulate_arrivals(pool: Arrivals, rng: np.random.Generator) -> tuple[History, Floats]:
    """Return a history and the true skill of every participation."""
    skill, played = np.zeros(0), np.zeros(0, np.int64)
    here = np.zeros(0, bool)
    players, teams, ranks, skills, sizes = [], [], [], [], []
    for m in range(pool.contests):
        mean = 1500.0 + pool.mean_change * m / max(pool.contests - 1, 1)
        joined = rng.normal(mean, pool.skill_deviation, pool.joining)
        present = here & (rng.random(len(skill)) < pool.attendance)
        skill, played = np.append(skill, joined), np.append(played, np.zeros(pool.joining, int))
        here = np.append(here, np.ones(pool.joining, bool))
        rows = np.flatnonzero(np.append(present, np.ones(pool.joining, bool)))
        true = skill[rows] - pool.lack * np.exp(-played[rows] / pool.learning)
        performance = true + rng.normal(0.0, pool.performance_deviation, len(rows))
        for field in _fields(pool, len(rows), rng):
            team = np.arange(len(field)) // max(pool.side, 1)
            of_team = np.bincount(team, weights=performance[field])
            players.append(rows[field])
            teams.append(team)
            ranks.append(np.unique(-of_team, return_inverse=True)[1][team])
            skills.append(true[field])
            sizes.append(len(field))
            played[rows[field]] += 1
        here[rows] = rng.random(len(rows)) < pool.staying
        skill = skill + rng.normal(0.0, pool.drift_deviation, len(skill))
    history = History(
        match_ids=np.arange(len(sizes)),
        player_ids=np.arange(len(skill)),
        offsets=np.cumsum([0, *sizes]).astype(np.int64),
        player=np.concatenate(players).astype(np.int64),
        team=np.concatenate(teams).astype(np.int64),
        rank=np.concatenate(ranks).astype(np.int64),
    )
    return history, np.concatenate(skills)


def _fields(pool: Arrivals, present: int, rng: np.random.Generator) -> list[Ints]:
    """Return who of a round plays in each match; who is left over does not play."""
    if pool.side == 0:
        return [np.arange(present)]
    size = 2 * pool.side
    order = rng.permutation(present)[: present // size * size]
    return list(order.reshape(-1, size))
