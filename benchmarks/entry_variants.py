"""Other ways for newcomers to enter, which the study compares, and simulated pools for it.

All of them extend the prototype; none is in the package.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from entry_prototype import (
    LEVEL,
    MU,
    POOL,
    SEEDED,
    EntryPrototype,
    FirstChanges,
    N,
    diffused,
)

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.history import History
from equipoise.numeric.workers import Workers
from equipoise.rating.registry import parameters_of
from equipoise.rating.state import State
from equipoise.rating.system import TraceColumns

#: Names in `State.shared` of what some variants learn.
_SPREAD, _GROWTH = "entry_spread", "entry_growth"

#: The learned deviation stays within this factor of the fixed one.
_WIDEST = 4.0

#: A squared first change counts for at most so many variances.
_LARGEST_SQUARE = 4.0


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


@dataclass(frozen=True, kw_only=True)
class AtMean(EntryPrototype):
    """Newcomers enter at the mean rating of all players who have played; nothing is learned."""

    def _entry(self, state: State, experienced: Ints) -> float:
        played = state.column("matches") > 0
        if not played.any():
            return float(state.shared[POOL][MU])
        return float(np.mean(state.column("rating")[played]))


@dataclass(frozen=True, kw_only=True)
class LearnedDeviation(EntryPrototype):
    """The deviation of newcomers is learned too, from the squares of their first changes.

    The square of c has the mean w sigma^2 if the deviation is right. Squares are clipped like the
    changes, and the logarithm of the variance moves as mu does.
    """

    def initial(self, players: int) -> State:
        """Return the state with the logarithm of (learned/fixed variance), which begins at 0."""
        state = super().initial(players)
        state.shared[_SPREAD] = np.zeros(1)
        return state

    def _set_entry(self, state: State, rows: Ints, mu: float) -> None:
        super()._set_entry(state, rows, mu)
        variance = self._variance(state)
        state.column("deviation")[rows] = math.sqrt(variance)
        if "gaussian_weight" in state.initial:
            state.column("gaussian_weight")[rows] = 1.0 / variance
            state.column("curvature")[rows] = 1.0 / variance

    def _variance(self, state: State) -> float:
        return self._spread() ** 2 * math.exp(float(state.shared[_SPREAD][0]))

    def _learn(
        self, state: State, history: History, match: int, new: Flags, found: FirstChanges
    ) -> None:
        # The changes come with the fixed deviation; what diffusion added is the same.
        added = found.deviation**2 - self._spread() ** 2
        before = self._variance(state) + added
        after = (1.0 - found.weight) * found.deviation**2
        w = np.clip(1.0 - after / before, 1e-6, 1.0)
        super()._learn(state, history, match, new, FirstChanges(found.change, w, np.sqrt(before)))
        square = np.minimum(found.change**2 / (w * before), _LARGEST_SQUARE)
        bound = math.sqrt(_LARGEST_SQUARE)
        inside = math.erf(bound / math.sqrt(2.0))
        density = math.exp(-0.5 * bound * bound) / math.sqrt(2.0 * math.pi)
        expected = inside - 2.0 * bound * density + _LARGEST_SQUARE * (1.0 - inside)
        step = math.fsum(w * (square - expected)) / state.shared[POOL][N]
        limit = 2.0 * math.log(_WIDEST)
        moved = float(state.shared[_SPREAD][0]) + step
        state.shared[_SPREAD][0] = min(max(moved, -limit), limit)


@dataclass(frozen=True, kw_only=True)
class FirstTwo(EntryPrototype):
    """The second performance of a newcomer counts like the first."""

    def run(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
        workers: Workers | None = None,
    ) -> None:
        """Rate matches start:stop, and learn from second matches as well."""
        for m in range(start, stop):
            rows = slice(int(history.offsets[m]), int(history.offsets[m + 1]))
            players = history.player[rows]
            second = (state.column("matches")[players] == 1) & (state.shared[SEEDED][players] == 0)
            before = self.at(state, players[second], None)
            delta = self._delta(*state.shared[POOL][LEVEL:])
            super().run(state, history, m, m + 1, trace, workers)
            after = self.at(state, players[second], None)
            if second.any() and after["matches"][0] == 2:
                found = self._second_changes(state, before, after, delta)
                self._learn(state, history, m, second, found)

    def _second_changes(
        self,
        state: State,
        before: dict[str, Floats],
        after: dict[str, Floats],
        delta: float,
    ) -> FirstChanges:
        """Return the change and weight that the second performance would have had as a first."""
        first = self._spread() ** 2
        added = diffused(self.system, parameters_of(self.system), after, 1.0) ** 2 - first
        now = before["deviation"] ** 2 + added
        w = np.clip(1.0 - after["deviation"] ** 2 / now, 1e-6, 1.0 - 1e-9)
        performance = before["rating"] + (after["rating"] - before["rating"] - delta) / w
        noise = now * (1.0 / w - 1.0)
        weight = (first + added) / (first + added + noise)
        change = weight * (performance - state.shared[POOL][MU])
        return FirstChanges(change, weight, np.sqrt(first + added) * np.ones(len(w)))


@dataclass(frozen=True, kw_only=True)
class Capped(EntryPrototype):
    """The newcomers of one contest count as at most `cap` newcomers."""

    cap: float = 10.0

    def _shares(self, newcomers: Floats) -> Floats:
        shares = super()._shares(newcomers)
        return shares * min(1.0, self.cap / math.fsum(shares))


@dataclass(frozen=True, kw_only=True)
class StillExperienced(EntryPrototype):
    """After a match all participants are shifted so that the experienced keep their mean."""

    def run(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
        workers: Workers | None = None,
    ) -> None:
        """Rate matches start:stop, and shift the participants after each."""
        for m in range(start, stop):
            rows = slice(int(history.offsets[m]), int(history.offsets[m + 1]))
            players = history.player[rows]
            old = players[state.column("matches")[players] >= self.parameters.level_experienced]
            before = state.column("rating")[old]
            super().run(state, history, m, m + 1, trace, workers)
            if len(old):
                change = state.column("rating")[old] - before
                self._shift(state, players, -math.fsum(change) / len(old))


@dataclass(frozen=True, kw_only=True)
class Growth(EntryPrototype):
    """Young players get after each match what recent young players gained on average.

    It is learned until young players neither gain nor lose, instead of holding the level.
    """

    def initial(self, players: int) -> State:
        """Return the state with the growth, which begins at 0."""
        state = super().initial(players)
        state.shared[_GROWTH] = np.zeros(1)
        return state

    def run(
        self,
        state: State,
        history: History,
        start: int,
        stop: int,
        trace: TraceColumns | None = None,
        workers: Workers | None = None,
    ) -> None:
        """Rate matches start:stop, and shift the young after each."""
        own, growth = self.parameters, state.shared[_GROWTH]
        most = own.level_step * self._spread()
        for m in range(start, stop):
            rows = slice(int(history.offsets[m]), int(history.offsets[m + 1]))
            players = history.player[rows]
            matches = state.column("matches")[players]
            young = players[(matches >= 1) & (matches < own.hold_level_matches)]
            before, given = state.column("rating")[young], float(growth[0])
            super().run(state, history, m, m + 1, trace, workers)
            if not len(young):
                continue
            change = math.fsum(state.column("rating")[young] - before) / len(young)
            gain = 1.0 - 2.0 ** (-len(young) / own.level_memory)
            growth[0] = min(max(given + gain * change, -most), most)
            self._shift(state, young, given)


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


def everybody(variant: EntryPrototype) -> EntryPrototype:
    """Return a variant in which the level is held by shifting all participants."""
    parameters = replace(variant.parameters, hold_level_matches=10**9)
    return replace(variant, parameters=parameters)
