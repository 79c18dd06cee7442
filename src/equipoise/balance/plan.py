"""Teams in the making: which unit is in which team, with the sums that the objective needs."""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.balance.task import Task, Units


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
