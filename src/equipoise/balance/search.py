"""Good splits where there are too many to look at all: many teams, or large lobbies.

Iterated local search. A step takes two teams and lays their units anew in the best of all ways
that keep every rule (of a dozen units at a time), which contains every swap of players and every
exchange of parties between the two. When no pair of teams can be bettered, some teams are shaken
and it starts over from the best split so far. The same seed gives the same answer, unless a time
limit ends it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.balance.packing import packed
from equipoise.balance.plan import Plan, Pool, Ways, allowed_ways, keys_of, pool_of
from equipoise.balance.task import TOLERANCE, Task, Units

#: Units laid anew at once: 2^11 ways, or twice that where something stays.
MOST_UNITS = 12
#: Steps in which a pair of teams may fail to get better before it is left alone, where chance
#: chooses its units.
_PATIENCE = 4
#: Shakes without a better split before a new start is made.
_SHAKES = 200
#: Pairs of teams laid anew in a shake, from and below; and in one of how many ways.
_SHAKEN = (6, 10)
_CHOICES = 8
#: Changes below this are rounding.
_ROUNDING = 1e-12


@dataclass(slots=True)
class Found:
    """The best splits seen.

    keep : how many; plans : the best first; steps : pairs of teams that were laid anew
    stopped : the time limit ended the search
    """

    keep: int
    plans: list[tuple[float, Ints]] = field(default_factory=list)
    steps: int = 0
    stopped: bool = False
    _seen: set[bytes] = field(default_factory=set)

    @property
    def objective(self) -> float:
        """J of the best split."""
        return self.plans[0][0] if self.plans else np.inf

    def add(self, plan: Plan) -> None:
        """Keep a split if it is among the best and not yet there."""
        objective = plan.objective()
        if len(self.plans) == self.keep and objective >= self.plans[-1][0]:
            return
        signature = plan.signature()
        if signature in self._seen:
            return
        self._seen.add(signature)
        self.plans.append((objective, plan.team.copy()))
        self.plans.sort(key=lambda one: one[0])
        del self.plans[self.keep :]


def search(
    task: Task,
    units: Units,
    *,
    rng: np.random.Generator,
    keep: int,
    steps: int,
    enough: float,
    start: Ints | None = None,
    in_time: Callable[[], bool] = lambda: True,
) -> Found:
    """Return the best splits found.

    keep : how many different ones
    steps : pairs of teams laid anew, at most
    enough : a J of which nothing is left to gain
    start : team of every unit to start from; None packs the units
    in_time : asked after every step; False ends the search
    Raises : NoPlacementError   no start keeps every rule
    """
    found = Found(keep)
    plan = Plan(task, units, packed(task, units) if start is None else start)
    best = plan.copy()
    since = 0
    while True:
        _descend(plan, rng, found, steps, in_time)
        found.add(plan)
        if plan.objective() < best.objective() - _ROUNDING:
            best, since = plan.copy(), 0
        elif plan.objective() <= best.objective() + _ROUNDING:
            best = plan.copy()
        if found.objective <= enough + TOLERANCE or found.stopped or found.steps >= steps:
            break
        since += 1
        if since % _SHAKES == 0:
            best = Plan(task, units, packed(task, units, rng))
        plan = best.copy()
        _shake(plan, rng)
    _add_neighbours(found, task, units, rng)
    return found


def _descend(
    plan: Plan,
    rng: np.random.Generator,
    found: Found,
    steps: int,
    in_time: Callable[[], bool],
) -> None:
    """Better pairs of teams, those furthest apart first, until none can be bettered."""
    teams = plan.task.teams
    never = np.tri(teams, dtype=np.int64) * _PATIENCE  # each pair once, and no team with itself
    failed = never.copy()
    while found.steps < steps:
        pair = _next_pair(plan, failed)
        if pair is None:
            return
        if not in_time():
            found.stopped = True
            return
        found.steps += 1
        one, other = pair
        pool = pool_of(plan, one, other, MOST_UNITS, rng)
        whole = len(pool.free) + 1 >= np.count_nonzero((plan.team == one) | (plan.team == other))
        if _lay_anew(plan, one, other, pool):
            for team in pair:
                failed[team, :] = never[team, :]
                failed[:, team] = never[:, team]
        failed[one, other] += _PATIENCE if whole else 1


def _next_pair(plan: Plan, failed: Ints) -> tuple[int, int] | None:
    """Return the pair of teams furthest apart of those that may still get better."""
    keys = plan.keys
    apart = np.abs(np.subtract.outer(keys[0], keys[0]))
    if plan.task.weight > 0:
        np.maximum(apart, np.abs(np.subtract.outer(keys[1], keys[1])), out=apart)
    apart[failed >= _PATIENCE] = -1.0
    at = int(apart.argmax())
    one, other = divmod(at, len(apart))
    return None if apart[one, other] < 0 else (one, other)


def _lay_anew(plan: Plan, one: int, other: int, pool: Pool) -> bool:
    """Lay the units of two teams in the best way; return whether that was better than before.

    Better is a smaller J, or the same J and teams that are closer together on the whole.
    """
    ways = allowed_ways(plan, pool)
    objective, spread = _judged(plan, one, other, ways)
    before = plan.objective()
    spread_before = float(_spread(plan, plan.keys[:, [one]], plan.keys[:, [other]])[0])
    near = np.flatnonzero(objective <= float(objective.min()) + _ROUNDING)
    at = int(near[np.argmin(spread[near])])
    better = objective[at] < before - _ROUNDING or (
        objective[at] <= before + _ROUNDING and spread[at] < spread_before - _ROUNDING
    )
    if better:
        _lay(plan, one, other, pool, int(ways.number[at]))
    return bool(better)


def _judged(plan: Plan, one: int, other: int, ways: Ways) -> tuple[Floats, Floats]:
    """Return J of the whole, and the spread of the two teams, for every way."""
    weight = plan.task.weight
    mine, rest = keys_of(ways.first, weight), keys_of(ways.second, weight)
    low, high = np.minimum(mine, rest), np.maximum(mine, rest)
    if plan.task.teams > 2:
        keys = np.delete(plan.keys, [one, other], axis=1)
        low = np.minimum(low, keys.min(axis=1)[:, None])
        high = np.maximum(high, keys.max(axis=1)[:, None])
    return (high - low).max(axis=0), _spread(plan, mine, rest)


def _spread(plan: Plan, mine: Floats, rest: Floats) -> Floats:
    """Return how far two teams are from the middle of all, squared."""
    # (m + u - c)^2 + (m - u + c)^2 is twice m^2 + (u - c)^2.
    total: Floats = (mine[0] - plan.middle) ** 2 + (mine[1] + plan.middle) ** 2
    total += (rest[0] - plan.middle) ** 2 + (rest[1] + plan.middle) ** 2
    return total


def _lay(plan: Plan, one: int, other: int, pool: Pool, way: int) -> None:
    """Put the free units of two teams where a way says."""
    in_first = (way >> np.arange(len(pool.free))) & 1 == 1
    moved = np.concatenate([pool.free, *pool.stay])
    team = np.concatenate(
        [
            np.where(in_first, one, other),
            np.full(len(pool.stay[0]), one),
            np.full(len(pool.stay[1]), other),
        ]
    )
    plan.move(moved, team)


def _shake(plan: Plan, rng: np.random.Generator) -> None:
    """Lay some pairs of teams anew, in one of their better ways: other teams, nearly as even."""
    teams = plan.task.teams
    for _ in range(1 if teams == 2 else int(rng.integers(*_SHAKEN))):
        one, other = sorted(rng.permutation(teams)[:2].tolist())
        pool = pool_of(plan, one, other, MOST_UNITS, rng)
        ways = allowed_ways(plan, pool)
        _, spread = _judged(plan, one, other, ways)
        count = min(len(spread), _CHOICES)
        better = np.argpartition(spread, count - 1)[:count]
        _lay(plan, one, other, pool, int(ways.number[better[rng.integers(count)]]))


def _add_neighbours(found: Found, task: Task, units: Units, rng: np.random.Generator) -> None:
    """Look for other good splits around the best one: all that differ in two teams."""
    if found.keep == 1:
        return
    best = Plan(task, units, found.plans[0][1])
    for one, other in _near_pairs(best):
        pool = pool_of(best, one, other, MOST_UNITS, rng)
        ways = allowed_ways(best, pool)
        objective, _ = _judged(best, one, other, ways)
        for at in np.argsort(objective, kind="stable")[: found.keep].tolist():
            plan = best.copy()
            _lay(plan, one, other, pool, int(ways.number[at]))
            found.add(plan)


def _near_pairs(plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield pairs of teams; of very many teams some."""
    return itertools.islice(itertools.combinations(range(plan.task.teams), 2), 200)
