"""Other ways for newcomers to enter, which the study compares, and simulated pools for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from entry_prototype import LEVEL, MU, POOL, EntryPrototype, FirstChanges

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.history import History
from equipoise.rating.state import State


@dataclass(frozen=True, kw_only=True)
class AtLevel(EntryPrototype):
    """Newcomers enter at the level of the experienced plus a constant gap; nothing is learned."""

    gap: float = 0.0

    def _entry(self, state: State, experienced: Ints) -> float:
        return float(state.shared[POOL][LEVEL]) + self.gap


@dataclass(frozen=True, kw_only=True)
class AtField(EntryPrototype):
    """The entry is learned relative to the experienced participants of the match."""

    def _entry(self, state: State, experienced: Ints) -> float:
        mu = float(state.shared[POOL][MU])
        if not len(experienced):
            return mu
        ratings = self.system.at(state, experienced, None)["rating"]
        start = float(self.system.initial_rating)  # type: ignore[attr-defined]
        return math.fsum(ratings) / len(ratings) + mu - start


@dataclass(frozen=True, kw_only=True)
class BothWays(EntryPrototype):
    """The level is held from above too: delta may be negative."""

    def _delta(self, level: float, target: float) -> float:
        step = self.parameters.level_step * self._spread()
        return float(min(max(self.parameters.hold_level * (target - level), -step), step))


@dataclass(frozen=True, kw_only=True)
class Unweighted(EntryPrototype):
    """Every first performance counts the same, whatever its weight."""

    def _learn(
        self, state: State, history: History, match: int, new: Flags, found: FirstChanges
    ) -> None:
        w = np.clip(found.weight, 1e-6, 1.0)
        # c/w is the performance less mu; it deviates by sigma/sqrt(w).
        plain = FirstChanges(found.change / w, np.ones(len(w)), found.deviation / np.sqrt(w))
        super()._learn(state, history, match, new, plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """A pool that newcomers join: their skills by arrival and experience.

    contests : number of them; joining : newcomers of each
    attendance, staying : chances that a player takes part, and stays after taking part
    mean_change : of the newcomers' mean skill from the first contest to the last
    lack, learning : points that a newcomer is short of his skill, and contests in which the lack
        shrinks to 1/e
    skill_deviation, performance_deviation, drift_deviation : as in `ContestModel`
    """

    contests: int = 400
    joining: int = 15
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


def simulate_arrivals(pool: Arrivals, rng: np.random.Generator) -> tuple[History, Floats]:
    """Return a history and the true skill of every participation."""
    skill, played = np.zeros(0), np.zeros(0, np.int64)
    here = np.zeros(0, bool)
    players, ranks, skills, sizes = [], [], [], []
    for m in range(pool.contests):
        mean = 1500.0 + pool.mean_change * m / max(pool.contests - 1, 1)
        joined = rng.normal(mean, pool.skill_deviation, pool.joining)
        present = here & (rng.random(len(skill)) < pool.attendance)
        skill, played = np.append(skill, joined), np.append(played, np.zeros(pool.joining, int))
        here = np.append(here, np.ones(pool.joining, bool))
        rows = np.flatnonzero(np.append(present, np.ones(pool.joining, bool)))
        true = skill[rows] - pool.lack * np.exp(-played[rows] / pool.learning)
        performance = true + rng.normal(0.0, pool.performance_deviation, len(rows))
        players.append(rows)
        ranks.append(np.unique(-performance, return_inverse=True)[1])
        skills.append(true)
        sizes.append(len(rows))
        played[rows] += 1
        here[rows] = rng.random(len(rows)) < pool.staying
        skill = skill + rng.normal(0.0, pool.drift_deviation, len(skill))
    history = History(
        match_ids=np.arange(pool.contests),
        player_ids=np.arange(len(skill)),
        offsets=np.cumsum([0, *sizes]).astype(np.int64),
        player=np.concatenate(players).astype(np.int64),
        team=np.concatenate([np.arange(size) for size in sizes]).astype(np.int64),
        rank=np.concatenate(ranks).astype(np.int64),
    )
    return history, np.concatenate(skills)


def everybody(variant: EntryPrototype) -> EntryPrototype:
    """Return a variant in which the level is held by shifting all participants."""
    parameters = replace(variant.parameters, hold_level_matches=10**9)
    return replace(variant, parameters=parameters)
