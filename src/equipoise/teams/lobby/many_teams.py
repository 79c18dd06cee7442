"""Teams in the making: which unit is in which team, with the sums that the objective needs.

More than two teams, exactly, where the lobby is small: a dozen players, or not many more.

Teams are formed one after the other, each with the best player left. A team that is already further
from an earlier one, or from what the rest can be on average, than the best splits known is given
up with all that would follow.

Good splits where there are too many to look at all: many teams, or large lobbies.

Iterated local search. A step takes two teams and lays their units anew in the best of all ways
that keep every rule (of a dozen units at a time), which contains every swap of players and every
exchange of parties between the two. When no pair of teams can be bettered, some teams are shaken
and it starts over from the best split so far. The same seed gives the same answer, unless a time
limit ends it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.teams.lobby.feasibility import packed
from equipoise.teams.lobby.task import TOLERANCE, Task, Units


class Plan:
    """K units in T teams; changed in place.

    team : shape (K,), team of every unit
    sums : shape (3, T), players, strength and square of every team
    """

    def __init__(self, task: Task, units: Units, team: Ints) -> None:
        self.task = task
        self.units = units
        self.team = team.copy()
        self.columns: Floats = np.stack([units.size * 1.0, units.strength, units.square])
        self.sums: Floats = np.zeros((3, task.teams))
        for row, column in enumerate(self.columns):
            self.sums[row] = np.bincount(team, weights=column, minlength=task.teams)
        self.apart = apart_matrix(units)
        #: m + u and m - u of every team, shape (2, T): J is the larger of their ranges.
        self.keys = keys_of(self.sums, task.weight)
        # From where spreads are measured; any constant would do.
        self.middle = task.weight * float(np.sqrt(units.square.sum() / task.players))

    def copy(self) -> Plan:
        """Return a plan of its own with the same teams."""
        other = copy(self)
        other.team, other.sums, other.keys = self.team.copy(), self.sums.copy(), self.keys.copy()
        return other

    def objective(self) -> float:
        """Return J."""
        return float((self.keys.max(axis=1) - self.keys.min(axis=1)).max())

    def move(self, moved: Ints, team: Ints) -> None:
        """Put units into teams."""
        changed = sorted({*self.team[moved].tolist(), *team.tolist()})
        self.team[moved] = team
        for one in changed:
            # Anew, not by differences: rounding must not add up.
            self.sums[:, one] = self.columns[:, self.team == one].sum(axis=1)
        self.keys[:, changed] = keys_of(self.sums[:, changed], self.task.weight)

    def signature(self) -> bytes:
        """Return what is the same for two plans with the same teams, however numbered."""
        first = np.full(self.task.teams, -1)
        seen, name = 0, np.empty_like(self.team)
        for unit, team in enumerate(self.team.tolist()):
            if first[team] < 0:
                first[team] = seen
                seen += 1
            name[unit] = first[team]
        return name.tobytes()


def keys_of(sums: Floats, weight: float) -> Floats:
    """Return m + u and m - u for columns of players, strength and square: one axis stays."""
    keys = np.empty((2, sums.shape[1]))
    mean = sums[1] / sums[0]
    if weight == 0.0:
        keys[:] = mean
        return keys
    spread = weight * np.sqrt(sums[2] / sums[0])
    np.add(mean, spread, out=keys[0])
    np.subtract(mean, spread, out=keys[1])
    return keys


def apart_matrix(units: Units) -> Flags:
    """Return which units must be in different teams, shape (K, K)."""
    matrix = np.zeros((len(units.rows), len(units.rows)), dtype=bool)
    for one, other in units.apart:
        matrix[one, other] = matrix[other, one] = True
    return matrix


class Pool(NamedTuple):
    """Units of two teams that may change sides, and what stays.

    free : units that may change sides
    stay : units that stay in the first and in the second team
    base : sums of what stays in the first and in the second team, each of shape (3, 1)
    """

    free: Ints
    stay: tuple[Ints, Ints]
    base: tuple[Floats, Floats]


def pool_of(plan: Plan, one: int, other: int, most: int, rng: np.random.Generator) -> Pool:
    """Return at most `most` units of two teams that may change sides; chance chooses."""
    inside = np.flatnonzero((plan.team == one) | (plan.team == other))
    # Teams have no names: where nothing stays, one unit may keep its side; half the work.
    stay, free = inside[:1], inside[1:]
    if len(inside) > most:
        mixed = rng.permutation(inside)
        stay, free = np.sort(mixed[most:]), np.sort(mixed[:most])
    mine = stay[plan.team[stay] == one]
    rest = stay[plan.team[stay] == other]
    return Pool(
        free=free,
        stay=(mine, rest),
        base=(
            plan.columns[:, mine].sum(axis=1)[:, None],
            plan.columns[:, rest].sum(axis=1)[:, None],
        ),
    )


class Ways(NamedTuple):
    """Ways to lay the free units of a pool, and the sums of both teams, of shape (3, ways).

    Bit j of a way's number says that free unit j goes to the first team.
    """

    number: Ints
    first: Floats
    second: Floats


def allowed_ways(plan: Plan, pool: Pool) -> Ways:
    """Return all ways to lay the free units that keep every rule."""
    free = subset_sums(plan.columns[:, pool.free])
    # The subset that goes to the second team has the other bits: it is counted from the end.
    first, second = pool.base[0] + free, pool.base[1] + free[:, ::-1]
    size = first[0]
    players = int(size[0] + second[0, 0])
    small = players // 2
    good = (size == small) | (size == players - small)
    ways = np.flatnonzero(good)
    ways = ways[_keeps_apart(plan, pool, ways)]
    if players != 2 * small and plan.task.uneven:
        ways = ways[_top_is_in_smaller(pool, ways, size[ways] == small)]
    return Ways(ways, first[:, ways], second[:, ways])


def subset_sums(columns: Floats) -> Floats:
    """Return the sums over every subset of the columns, shape (3, 2^count).

    Bit j of a subset's number says that column j is in it.
    """
    middle = columns.shape[1] // 2
    low, high = columns[:, :middle], columns[:, middle:]
    sums = (_table(high) @ high.T).T[:, :, None] + (_table(low) @ low.T).T[:, None, :]
    return sums.reshape(len(columns), -1)


def _table(columns: Floats) -> Floats:
    """Return which of some columns are in each of their subsets, as 0 and 1."""
    return _tables(columns.shape[1])


@lru_cache(maxsize=16)
def _tables(count: int) -> Floats:
    bits = (np.arange(1 << count)[:, None] >> np.arange(count)) & 1
    return bits.astype(np.float64)


def _top_is_in_smaller(pool: Pool, ways: Ints, first_is_smaller: Flags) -> Flags:
    """Return in which ways the top player, if in the pool, is in the smaller of the two teams."""
    for number, stay in enumerate(pool.stay):
        if (stay == 0).any():
            return first_is_smaller if number == 0 else ~first_is_smaller
    at = np.flatnonzero(pool.free == 0)
    if not len(at):
        return np.ones(len(ways), dtype=bool)
    in_first = (ways >> int(at[0])) & 1 == 1
    agrees: Flags = in_first == first_is_smaller
    return agrees


def _keeps_apart(plan: Plan, pool: Pool, ways: Ints) -> Flags:
    """Return which ways keep apart who must be."""
    good = np.ones(len(ways), dtype=bool)
    if not plan.units.apart:
        return good
    among = plan.apart[np.ix_(pool.free, pool.free)]
    for one, other in np.argwhere(np.triu(among)).tolist():
        good &= ((ways >> one) ^ (ways >> other)) & 1 == 1
    for number, stay in enumerate(pool.stay):
        bound = plan.apart[np.ix_(pool.free, stay)].any(axis=1)
        for one in np.flatnonzero(bound).tolist():
            good &= (ways >> one) & 1 == number
    return good


#: Teams begun, at most; each takes about a tenth of a millisecond.
MOST_BEGUN = 3000
#: Units, at most: there are 2^17 ways to choose companions for the first.
MOST_UNITS = 18


class TooManySplitsError(Exception):
    """There are too many splits to look at."""


def all_best(task: Task, units: Units, limit: float, keep: int) -> list[tuple[float, Ints]] | None:
    """Return the `keep` best splits, J and a team for every unit; None: too many to look at.

    limit : a J that at least `keep` splits do not exceed, or infinity
    """
    if len(units.rows) > MOST_UNITS:
        return None
    growing = _Growing(task, units, limit + 2.0 * TOLERANCE, keep)
    try:
        growing.grow(np.arange(len(units.rows)), task.larger_teams, 0, np.zeros((2, 0)))
    except TooManySplitsError:
        return None
    return sorted(growing.found, key=lambda one: one[0])


class _Growing:
    """The teams formed so far, and the best splits found."""

    def __init__(self, task: Task, units: Units, limit: float, keep: int) -> None:
        self.task = task
        self.columns = np.stack([units.size.astype(np.float64), units.strength, units.square])
        self.apart = apart_matrix(units)
        self.team = np.zeros(len(units.rows), dtype=np.int64)
        self.limit = limit
        self.keep = keep
        self.begun = 0
        self.found: list[tuple[float, Ints]] = []

    def grow(self, left: Ints, larger: int, number: int, keys: Floats) -> None:
        """Form team `number` of the units left, and all that follow.

        larger : how many teams with one player more are still to be formed
        keys : m + u and m - u of the teams formed, shape (2, number)
        """
        self.begun += 1
        if self.begun > MOST_BEGUN:
            raise TooManySplitsError
        ways, sums, rest = self._ways(left, larger, number)
        is_last = number == self.task.teams - 2
        reach = self._reach(keys, keys_of(sums, self.task.weight), rest, exact=is_last)
        near = np.flatnonzero(reach <= self.limit)
        for at in near[np.argsort(reach[near], kind="stable")].tolist():
            if reach[at] > self.limit:  # the limit has come down meanwhile
                break
            inside = np.append(True, (ways[at] >> np.arange(len(left) - 1)) & 1 == 1)
            self.team[left[inside]] = number
            others = left[~inside]
            if is_last:
                self._keep(others, float(reach[at]))
                continue
            own = keys_of(sums[:, [at]], self.task.weight)
            spare = larger - int(sums[0, at] > self.task.smaller)
            self.grow(others, spare, number + 1, np.concatenate([keys, own], axis=1))

    def _ways(self, left: Ints, larger: int, number: int) -> tuple[Ints, Floats, Floats]:
        """Return the ways to give the first unit companions, and sums of its team and the rest."""
        companions = subset_sums(self.columns[:, left[1:]])
        # Those who are not companions have the other bits: they are counted from the end.
        sums, rest = self.columns[:, left[:1]] + companions, companions[:, ::-1]
        small, teams_left = self.task.smaller, self.task.teams - number
        good = (sums[0] == small) & (larger < teams_left)
        if larger and not (self.task.uneven and number == 0):
            good |= sums[0] == small + 1
        ways = np.flatnonzero(good)
        ways = ways[self._keeps_apart(left, ways)]
        return ways, sums[:, ways], rest[:, ways]

    def _keeps_apart(self, left: Ints, ways: Ints) -> Flags:
        """Return in which ways nobody is with somebody to be kept apart from."""
        good = np.ones(len(ways), dtype=bool)
        among = self.apart[np.ix_(left, left)]
        for one, other in np.argwhere(np.triu(among)).tolist():
            # The first unit is in the team anyway; the others are counted from it.
            with_one = True if one == 0 else (ways >> (one - 1)) & 1 == 1
            good &= ~(with_one & ((ways >> (other - 1)) & 1 == 1))
        return good

    def _reach(self, keys: Floats, own: Floats, rest: Floats, *, exact: bool) -> Floats:
        """Return J of the teams formed and the next, and what the rest adds to it at least.

        exact : the rest is one team
        """
        low = np.minimum(own, keys.min(axis=1, initial=np.inf)[:, None])
        high = np.maximum(own, keys.max(axis=1, initial=-np.inf)[:, None])
        others = keys_of(rest, self.task.weight)
        if exact:
            whole: Floats = (np.maximum(high, others) - np.minimum(low, others)).max(axis=0)
            return whole
        # Some team of the rest has at most the m + u, and at least the m - u, of all of it.
        beside = np.maximum(high[0] - others[0], others[1] - low[1])
        least: Floats = np.maximum((high - low).max(axis=0), beside)
        return least

    def _keep(self, last: Ints, objective: float) -> None:
        """Keep a split whose last team has these units, if it keeps apart who must be."""
        if self.apart[np.ix_(last, last)].any():
            return
        self.team[last] = self.task.teams - 1
        self.found.append((objective, self.team.copy()))
        if len(self.found) >= self.keep:
            values = sorted(one for one, _ in self.found)
            self.limit = min(self.limit, values[self.keep - 1] + 2.0 * TOLERANCE)
            self.found = [one for one in self.found if one[0] <= self.limit]


#: Units laid anew at once: 2^11 ways, or twice that where something stays.
MOST_REASSIGNED = 12
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
        pool = pool_of(plan, one, other, MOST_REASSIGNED, rng)
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
        pool = pool_of(plan, one, other, MOST_REASSIGNED, rng)
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
        pool = pool_of(best, one, other, MOST_REASSIGNED, rng)
        ways = allowed_ways(best, pool)
        objective, _ = _judged(best, one, other, ways)
        for at in np.argsort(objective, kind="stable")[: found.keep].tolist():
            plan = best.copy()
            _lay(plan, one, other, pool, int(ways.number[at]))
            found.add(plan)


def _near_pairs(plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield pairs of teams; of very many teams some."""
    return itertools.islice(itertools.combinations(range(plan.task.teams), 2), 200)
