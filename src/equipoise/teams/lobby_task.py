"""A lobby as arrays: its chances, its constraints as units, and the fairness of its splits.

A system describes players by an outlook (`data.outlook`): the centre and the squared scale of a
team are sums or means over its players. With c and s of both teams, A beats B with probability
P(A, B) = F((c_A - c_B)/sqrt(s_A^2 + s_B^2)), and the chance of a team is the mean over the others.
For two teams, differences of at most the margin m of a system with draws are draws, and half a win.

The objective of a split is its highest chance minus its lowest. For a lower bound, let t and b be
the teams with the highest and the lowest centre of T teams, and G = F - 1/2. Then

    (T - 1) (chance of t - chance of b) = sum over all teams k of G(t over k) + G(k over b).

No term is negative. G is concave above 0, so G(x) + G(y) >= G(x + y), and a larger scale makes
every term smaller. So a team k whose centre is not known adds at least G of c_t - c_b at the
largest scale, and if no centre is known, the objective is at least T/(T - 1) times this G.

A pool that calibrates corrects c to c + s b.f and s to s exp(-a.f), with features f of the team.
Among teams of equal size, another division is then the fairest if their players differ in
experience or deviation. Sums, spans and bounds are of the centres without correction, so bounds
allow for the least and the largest b.f s and exp(-a.f) of a team: both are at ends of the ranges of
its features and its scale.

Rows are in the order of `Lobby.order`, with the top player first, so the order of players in the
lobby has no effect. Strengths are differences from their mean: J does not depend on the mean, and
sums stay small.

Players who must stay together form one unit. For two teams, an avoid pair says "opposite sides", as
do locks to different teams and the rule for the top two. Units connected by such pairs form a
component, which can be assigned to the two teams in only two ways. So with any constraints, every
split is a choice between two ways for each component.

Source: [TG2]_ (46)-(48) for the objective J, section 13.5 and READINGS A10 for the tie-breaks.

J of two teams is the difference of their mean effective ratings plus the weighted difference of
their uncertainties. For more teams J is the largest over all pairs of teams. With m the mean of a
team and u = lambda U/sqrt(n) its weighted uncertainty, |m - m'| + |u - u'| is the larger of
|(m + u) - (m' + u')| and |(m - u) - (m' - u')|. So the largest J over all pairs is the larger of
two ranges, and takes time linear in the number of teams.

Among the splits within 1e-9 of the least J, the ones with the least difference of mean long-term
ratings are taken; among these, the ones with the least difference of the uncertainties U, each
within 1e-9; among these, the one whose first team has the smallest sorted list of ids.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.outlook import Correct, Outlook, chance
from equipoise.numeric.graph import components

#: Halvings of an interval, after which it is as short as rounding allows.
_HALVINGS = 80
#: A range of differences is this much wider than computed, so that rounding excludes no split.
_SLACK = 1e-9

#: Objectives this close are equal, as are differences that break ties (READINGS A10).
TOLERANCE = 1e-9


class Chances:
    """What a system says of N players who are split into teams.

    outlook : of the players, the top player first
    teams : number of teams
    margin : for two teams, the largest difference that is a draw
    adds : whether the players of a team add up; else it plays at their mean
    strength : centres of the players minus their mean, which is rounded once
    own : the part of every squared scale that is a player's own
    experience, correct : of a pool that calibrates, as in `TeamModel`
    columns : ones, strength, own and the experience of the players; sums of teams have its rows
    """

    def __init__(
        self,
        outlook: Outlook,
        teams: int,
        margin: float,
        experience: Floats | None = None,
        correct: Correct | None = None,
    ) -> None:
        self.outlook = outlook
        self.correct = correct
        self.teams = teams
        self.margin = margin
        self.adds = outlook.team == "sum"
        self.own: Floats = np.maximum(outlook.scale**2 - outlook.shared, 0.0)
        self._players = len(outlook.centre)
        self._middle = math.fsum(outlook.centre.tolist()) / self._players
        self.strength: Floats = outlook.centre - self._middle
        self._largest_own = np.sort(self.own)[::-1]
        columns = [np.ones(self._players), self.strength, self.own]
        self.columns: Floats = np.stack([*columns, *(() if experience is None else experience)])
        #: Whether a team with a smaller scale may draw more, so that no bound holds.
        self._draws_freely = margin > 0.0 and not (self.adds and correct is None)

    def centre(self, sums: Floats, teams: int = 1) -> Floats:
        """Return the centres of teams minus the mean of all, from sums, without correction.

        teams : each entry is the sum of this many teams, of which the mean is returned
        """
        if not self.adds:
            mean: Floats = sums[1] / sums[0]
            return mean
        usual = teams * self._players / self.teams
        total: Floats = (sums[1] + self._middle * (sums[0] - usual)) / teams
        return total

    def square(self, sums: Floats) -> Floats:
        """Return the squared scales of teams, without correction."""
        own = sums[2] if self.adds else sums[2] / sums[0] ** 2
        square: Floats = self.outlook.shared + own
        return square

    def corrected(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the corrected centres minus the mean of all, and the squared scales, of teams."""
        centre, square = self.centre(sums), self.square(sums)
        if self.correct is None:
            return centre, square
        centre, scale = self.correct(sums, centre, np.sqrt(square))
        return centre, scale * scale

    @cached_property
    def _corrections(self) -> tuple[float, float, float]:
        """The least and the largest shift of a centre, and the largest factor of a squared scale.

        A shift is bilinear in the features and the scale, and the logarithm of the factor is linear
        in the features, so both have their extremes at ends of the ranges.
        """
        if self.correct is None:
            return 0.0, 0.0, 1.0
        corners = []
        for size in {self._players // self.teams, -(-self._players // self.teams)}:
            ascending = np.sort(self.columns[2:], axis=1)
            ends = [ascending[:, :size].sum(axis=1), ascending[:, -size:].sum(axis=1)]
            corners += [(size, 0.0, *corner) for corner in product(*np.transpose(ends).tolist())]
        sums = np.array(corners).T
        scale = np.sqrt(self.square(sums))
        shift, corrected = self.correct(sums, np.zeros(len(corners)), scale)
        factor = (corrected / scale) ** 2
        return float(shift.min()), float(shift.max()), float(factor.max()) * (1.0 + _SLACK)

    def line(self, size: int) -> tuple[float, float]:
        """Return (a, b): two teams differ by a S - b if the first has this size and strength S."""
        if self.adds:
            return 2.0, self._middle * (self._players - 2 * size)
        return 1.0 / size + 1.0 / (self._players - size), 0.0

    def of_two(self, difference: Floats, square: Floats) -> Floats:
        """Return the difference of the chances of two teams.

        difference : of the centres; square : sum of the squared scales
        """
        scale = np.sqrt(square)
        far = np.abs(difference)
        wins = chance((far - self.margin) / scale, self.outlook.curve)
        losses = chance((-far - self.margin) / scale, self.outlook.curve)
        gaps: Floats = wins - losses
        return gaps

    def pair_square(self, size: int, own: Floats, rest: Floats) -> Floats:
        """Return the sum of the squared scales of two teams.

        size : players of the first team; own, rest : sums of own parts in the first and the second
        """
        if self.adds:
            return 2.0 * self.outlook.shared + own + rest
        return 2.0 * self.outlook.shared + own / size**2 + rest / (self._players - size) ** 2

    def spread(self, sums: Floats) -> Floats:
        """Return the highest minus the lowest chance of splits, from sums of T teams."""
        centre, square = self.corrected(sums)
        if self.teams == 2:
            return self.of_two(centre[0] - centre[1], square[0] + square[1])
        if centre.ndim == 1:
            scale = np.sqrt(square[:, None] + square)
            total = chance((centre[:, None] - centre) / scale, self.outlook.curve).sum(axis=1)
            return np.asarray((total.max() - total.min()) / (self.teams - 1))
        total = np.empty_like(centre)
        for team in range(self.teams):
            z = (centre[team] - centre) / np.sqrt(square[team] + square)
            total[team] = chance(z, self.outlook.curve).sum(axis=0)
        mean_spread: Floats = (total.max(axis=0) - total.min(axis=0)) / (self.teams - 1)
        return mean_spread

    def of_split(self, teams: Sequence[Sequence[int]]) -> float:
        """Return the highest minus the lowest chance, as a prediction has them."""
        rows = np.array([row for team in teams for row in team])
        number = np.empty(len(rows), dtype=np.int64)
        number[rows] = np.repeat(np.arange(len(teams)), [len(team) for team in teams])
        prediction = self.outlook.of_teams(number, len(teams))
        if self.correct is not None:
            sums = np.array([np.bincount(number, each) for each in self.columns], np.float64)
            centre, scale = self.correct(sums, prediction.centre, prediction.scale)
            prediction = replace(prediction, centre=centre, scale=scale)
        if len(teams) == 2:
            return float(
                self.of_two(
                    prediction.centre[0] - prediction.centre[1], (prediction.scale**2).sum()
                )
            )
        expected = prediction.expected()
        return float(expected.max() - expected.min())

    def at_least(self, formed: Floats, rest: Floats) -> Floats:
        """Return a lower bound of the objective for all splits with some teams, shape (ways,).

        formed : sums of the teams formed, shape (rows, count, ways); rest : of all other players
        """
        left = self.teams - formed.shape[1]
        centre, square = self.corrected(formed)
        # Of the other teams, one is at or above their mean, and one at or below.
        others = self.centre(rest, left)
        least, largest, _ = self._corrections
        top = np.maximum(centre.max(axis=0), others + least)
        bottom = np.minimum(centre.min(axis=0), others + largest)
        scale = np.sqrt(square + self.widest)
        total = self._above_half((top - centre) / scale)
        total += self._above_half((centre - bottom) / scale)
        unknown = self._above_half((top - bottom) / math.sqrt(2.0 * self.widest))
        bound: Floats = (total.sum(axis=0) + left * unknown) / (self.teams - 1)
        return bound

    def bound_of(self, span: float) -> float:
        """Return a lower bound of the objective if the centres of two teams differ by `span`.

        span : without correction
        """
        least, largest, _ = self._corrections
        span -= largest - least
        if span <= 0.0 or self._draws_freely:
            return 0.0
        if self.teams == 2:
            return float(
                self.of_two(np.array(span), np.array(self._widest_pair(self._players // 2)))
            )
        half = float(self._above_half(np.array(span / math.sqrt(2.0 * self.widest))))
        return half * self.teams / (self.teams - 1)

    def uneven_span(self) -> float:
        """Return a span of the centres that the sizes of teams force, if their players add up."""
        small, larger = divmod(self._players, self.teams)
        smaller = self.teams - larger
        values = np.sort(self.outlook.centre)
        total, count = float(values.sum()), small * smaller
        spans = []
        # The smaller teams together have at least the weakest players, and at most the strongest.
        for held, sign in ((values[:count], 1.0), (values[::-1][:count], -1.0)):
            own = float(held.sum())
            spans.append(sign * (own / smaller - (total - own) / larger))
        return max(spans)

    def _above_half(self, z: Floats) -> Floats:
        """Return G(z)."""
        difference: Floats = chance(z, self.outlook.curve) - 0.5
        return difference

    @cached_property
    def widest(self) -> float:
        """The largest squared scale that a team can have."""
        return self._corrections[2] * self._widest_uncorrected()

    def _widest_uncorrected(self) -> float:
        own, largest = self._largest_own, -(-self._players // self.teams)
        if self.adds:
            return float(self.outlook.shared + own[:largest].sum())
        sizes = {self._players // self.teams, largest}
        return float(self.outlook.shared + max(own[:size].sum() / size**2 for size in sizes))

    def _widest_pair(self, size: int) -> float:
        """Return the largest sum of the squared scales of two teams, one of this size."""
        own, factor = self._largest_own, self._corrections[2]
        if self.adds:
            return factor * float(2.0 * self.outlook.shared + own.sum())
        small = min(size, len(own) - size)
        rest = own[small:].sum() / (len(own) - small) ** 2
        return factor * float(2.0 * self.outlook.shared + own[:small].sum() / small**2 + rest)

    def reach(self, limit: float, size: int) -> float:
        """Return a difference of centres, without correction, that no split within J exceeds.

        limit : J; size : players of one of the two teams
        """
        if self._draws_freely:
            return math.inf
        square = np.array(self._widest_pair(size))

        def within(difference: float) -> bool:
            return bool(self.of_two(np.array(difference), square) <= limit)

        high = math.sqrt(float(square)) + self.margin
        for _ in range(_HALVINGS):
            if not within(high):
                break
            high *= 2.0
        else:
            return math.inf
        low = 0.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if within(middle) else (low, middle)
        least, largest, _ = self._corrections
        return (high + largest - least) * (1.0 + _SLACK) + _SLACK


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Task:
    """The players to split into teams, and the constraints.

    strength : shape (N,), effective rating minus its mean
    rating : shape (N,), long-term rating minus its mean
    square : shape (N,), squared deviation
    chances : if the objective is the chance to win; then the three columns above are the centres
      minus their mean, the same again, and the players' own squared scales
    id_rank : shape (N,), position of the player's id among the sorted ids
    teams : number of teams
    weight : of the uncertainty in the objective, lambda of [TG2]_ (48)
    parties, locks : rows that stay in one team; different locks are in different teams
    avoid : pairs of rows in different teams
    top : the best players, as many as there are teams, must be in different teams
    uneven : the top player must be in a team of the smaller size
    """

    strength: Floats
    rating: Floats
    square: Floats
    id_rank: Ints
    teams: int
    weight: float
    parties: tuple[tuple[int, ...], ...] = ()
    locks: tuple[tuple[int, ...], ...] = ()
    avoid: tuple[tuple[int, int], ...] = ()
    top: bool = True
    uneven: bool = True
    chances: Chances | None = None

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.strength)

    @property
    def columns(self) -> Floats:
        """Ones, strength, square, experience and rating of the players, shape (rows, N)."""
        experience = () if self.chances is None else self.chances.columns[3:]
        ones = np.ones(self.players)
        return np.stack([ones, self.strength, self.square, *experience, self.rating])

    @property
    def smaller(self) -> int:
        """Size of the smaller teams."""
        return self.players // self.teams

    @property
    def larger_teams(self) -> int:
        """Number of teams that have one player more."""
        return self.players % self.teams

    @property
    def largest(self) -> int:
        """Size of the largest team."""
        return self.smaller + (self.larger_teams > 0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Units:
    """K units; each is a set of players who must stay together.

    of_player : shape (N,), unit of every player; units are numbered by their best player
    rows : the players of every unit
    columns : shape (rows, K), sums of `Task.columns` over the players
    size, strength, square : shape (K,), the first three of its rows
    separated : pairs of units in different teams, the lower number first
    """

    of_player: Ints
    rows: tuple[tuple[int, ...], ...]
    size: Ints
    strength: Floats
    square: Floats
    columns: Floats
    separated: tuple[tuple[int, int], ...]


def centred(values: Floats) -> Floats:
    """Return values minus their mean, which is rounded once."""
    return values - math.fsum(values.tolist()) / len(values)


def units_of(task: Task) -> Units | None:
    """Return the units of a task; None if two players of one unit must be separated."""
    together = [(group[0], row) for group in (*task.parties, *task.locks) for row in group[1:]]
    first, second = np.array(together, dtype=np.int64).reshape(-1, 2).T
    of_player = components(first, second, task.players, plain=True)
    units = range(int(of_player.max()) + 1)
    rows = tuple(tuple(np.flatnonzero(of_player == unit).tolist()) for unit in units)
    separated = set()
    for one, other in _separated_rows(task):
        pair = sorted((int(of_player[one]), int(of_player[other])))
        if pair[0] == pair[1]:
            return None
        separated.add((pair[0], pair[1]))
    if task.top:
        separated |= _top_pairs(task, of_player)
    columns = np.array(
        [[math.fsum(column[list(unit)].tolist()) for unit in rows] for column in task.columns]
    )
    return Units(
        of_player=of_player,
        rows=rows,
        size=columns[0].astype(np.int64),
        strength=columns[1],
        square=columns[2],
        columns=columns,
        separated=tuple(sorted(separated)),
    )


def _top_pairs(task: Task, of_player: Ints) -> set[tuple[int, int]]:
    """Return the pairs of units that contain the best players; a unit may contain several."""
    units = sorted(set(of_player[: task.teams].tolist()))
    return {(one, other) for at, one in enumerate(units) for other in units[at + 1 :]}


def _separated_rows(task: Task) -> list[tuple[int, int]]:
    """Return pairs of players in different teams: avoid pairs, and one player of each lock."""
    leads = [rows[0] for rows in task.locks]
    locked = [(one, other) for at, one in enumerate(leads) for other in leads[at + 1 :]]
    return [*task.avoid, *locked]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BipartiteComponents:
    """K components of separated units; column 0 is the side of the best player of a component.

    sides : the units on either side of every component
    columns : shape (rows, K, 2), sums of `Units.columns` over the units of a side
    """

    sides: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    columns: Floats


class ContradictionError(Exception):
    """Two teams cannot separate all these units: their pairs form an odd cycle."""

    def __init__(self, units: list[int]) -> None:
        super().__init__(f"two teams cannot separate all of the units {units}")
        self.units = units


def bipartite_components(units: Units) -> BipartiteComponents:
    """Return the components of units, the one with the top player first.

    Raises : ContradictionError
    """
    neighbours: list[list[int]] = [[] for _ in units.rows]
    for one, other in units.separated:
        neighbours[one].append(other)
        neighbours[other].append(one)
    side = [-1] * len(units.rows)
    sides: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for start in range(len(side)):
        if side[start] < 0:
            ring = _assign_sides(start, neighbours, side)
            sides.append(
                (
                    tuple(unit for unit in ring if side[unit] == 0),
                    tuple(unit for unit in ring if side[unit] == 1),
                )
            )
    sums = [
        [[column[list(side)].sum() for side in pair] for pair in sides] for column in units.columns
    ]
    return BipartiteComponents(sides=tuple(sides), columns=np.array(sums))


def _assign_sides(start: int, neighbours: list[list[int]], side: list[int]) -> list[int]:
    """Assign a side to every unit connected to `start`, and return these units in order."""
    side[start] = 0
    came_from = {start: -1}
    waiting = [start]
    for unit in waiting:  # grows during the loop
        for other in neighbours[unit]:
            if side[other] < 0:
                side[other] = 1 - side[unit]
                came_from[other] = unit
                waiting.append(other)
            elif side[other] == side[unit]:
                raise ContradictionError(_cycle(unit, other, came_from))
    return sorted(waiting)


def _cycle(one: int, other: int, came_from: dict[int, int]) -> list[int]:
    """Return the units of the odd cycle that the pair (one, other) closes."""
    paths = []
    for start in (one, other):
        path = [start]
        while came_from[path[-1]] >= 0:
            path.append(came_from[path[-1]])
        paths.append(path)
    while len(paths[0]) > 1 and len(paths[1]) > 1 and paths[0][-2] == paths[1][-2]:
        paths[0].pop()
        paths[1].pop()
    return sorted({*paths[0], *paths[1]})


class Parts(NamedTuple):
    """J, and its parts for the two teams that differ most, in rating points."""

    objective: float
    rating_difference: float
    deviation_difference: float


def parts_of(
    strength: Floats, square: Floats, teams: Sequence[Sequence[int]], weight: float
) -> Parts:
    """Return J [TG2]_ (48) and its parts for the pair of teams that differ most.

    Sums are rounded once, so neither the order of players nor of teams matters.

    strength, square : shape (N,), effective rating and squared deviation
    teams : rows of the players of every team
    """
    mean = [math.fsum(strength[list(team)].tolist()) / len(team) for team in teams]
    spread = [math.sqrt(math.fsum(square[list(team)].tolist()) / len(team)) for team in teams]
    worst = Parts(0.0, 0.0, 0.0)
    for one, other in _extreme_pairs(mean, spread, weight):
        rating = abs(mean[one] - mean[other])
        deviation = abs(spread[one] - spread[other])
        worst = max(worst, Parts(rating + weight * deviation, rating, deviation))
    return worst


def _extreme_pairs(
    mean: Sequence[float], spread: Sequence[float], weight: float
) -> list[tuple[int, int]]:
    """Return two pairs of teams, one of which has the largest J."""
    pairs = []
    for sign in (1.0, -1.0):
        key = [m + sign * weight * u for m, u in zip(mean, spread, strict=True)]
        pairs.append((key.index(min(key)), key.index(max(key))))
    return pairs


def sum_difference(strength: Floats, teams: Sequence[Sequence[int]]) -> float:
    """Return the largest difference of the sums of effective ratings over pairs of teams."""
    sums = [math.fsum(strength[list(team)].tolist()) for team in teams]
    return max(sums) - min(sums)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Splits into two teams, each given by the first team, which has the top player.

    objective : J; left, right : ways of both halves; size : players
    mean, spread : differences of the mean long-term ratings and of the uncertainties U
    members : the players of the first team; splits : total number of splits
    """

    objective: Floats
    left: Ints
    right: Ints
    size: Ints
    mean: Floats
    spread: Floats
    members: Members
    splits: int


class Members:
    """The players in the first team of a split, from the ways of both halves."""

    def __init__(self, units: Units, components: BipartiteComponents, middle: int) -> None:
        self._middle = middle
        self._place = np.zeros((len(units.of_player), 2), dtype=np.int64)
        for component, sides in enumerate(components.sides):
            for side, units_of_side in enumerate(sides):
                for unit in units_of_side:
                    self._place[list(units.rows[unit])] = component, side

    def has(self, player: int, left: Ints, right: Ints) -> Flags:
        """Return in which splits a player is in the first team."""
        component, side = self._place[player].tolist()
        if component == 0:
            return np.full(len(left), side == 0)
        ways, bit = (
            (left, component - 1) if component < self._middle else (right, component - self._middle)
        )
        inside: Flags = (ways >> bit) & 1 == side
        return inside


def ranked(task: Task, candidates: Candidates, keep: int) -> list[tuple[int, ...]]:
    """Return the rows of the first teams of the best splits, best first."""
    order = np.argsort(candidates.objective, kind="stable")
    sorted_ = candidates.objective[order]
    chosen: list[int] = []
    while len(order) and len(chosen) < keep:
        near = order[: np.searchsorted(sorted_, sorted_[0] + TOLERANCE, side="right")]
        for column in (candidates.mean, candidates.spread):
            values = column[near]
            near = near[values <= values.min() + TOLERANCE]
        best = _smallest_ids(task, candidates, near)
        chosen.append(best)
        left = order != best
        order, sorted_ = order[left], sorted_[left]
    return [_rows(task, candidates, best) for best in chosen]


def _smallest_ids(task: Task, candidates: Candidates, at: Ints) -> int:
    """Return which of some splits has the smallest sorted list of ids in its first team."""
    listed = 0
    for player in np.argsort(task.id_rank).tolist():
        if len(at) == 1:
            break
        over = at[candidates.size[at] == listed]
        if len(over):  # a list is smaller than its continuation
            return int(over[0])
        has = candidates.members.has(player, candidates.left[at], candidates.right[at])
        if has.any():
            at = at[has]
            listed += 1
    return int(at[0])


def _rows(task: Task, candidates: Candidates, best: int) -> tuple[int, ...]:
    """Return the players of the first team of a split."""
    at = np.array([best])
    left, right = candidates.left[at], candidates.right[at]
    return tuple(row for row in range(task.players) if candidates.members.has(row, left, right)[0])


def ranked_teams(
    task: Task, splits: Sequence[Sequence[tuple[int, ...]]], objective: Sequence[float]
) -> list[tuple[tuple[int, ...], ...]]:
    """Return splits into any number of teams, best first, with the tie-breaks of two teams.

    Differences are the largest between any two teams; lists of ids are compared team by team.

    splits : rows of the players of every team; objective : J of each
    """
    left = sorted(range(len(splits)), key=lambda at: objective[at])
    keys = [_tie_key(task, split) for split in splits]
    order = []
    while left:
        near = [at for at in left if objective[at] <= objective[left[0]] + TOLERANCE]
        for part in range(2):
            least = min(keys[at][0][part] for at in near)
            near = [at for at in near if keys[at][0][part] <= least + TOLERANCE]
        best = min(near, key=lambda at: keys[at][1])
        order.append(best)
        left.remove(best)
    return [tuple(splits[at]) for at in order]


def _tie_key(task: Task, teams: Sequence[tuple[int, ...]]) -> tuple[list[float], list[list[int]]]:
    """Return differences of mean ratings and of uncertainties, and the sorted ids of every team."""
    mean = [math.fsum(task.rating[list(team)].tolist()) / len(team) for team in teams]
    if task.chances is not None:
        sums = [[len(team), task.strength[list(team)].sum(), 0.0] for team in teams]
        mean = task.chances.centre(np.array(sums).T).tolist()
    spread = [math.sqrt(math.fsum(task.square[list(team)].tolist())) for team in teams]
    listed = [sorted(task.id_rank[list(team)].tolist()) for team in teams]
    return [max(mean) - min(mean), max(spread) - min(spread)], listed


def until(seconds: float | None) -> Callable[[], bool]:
    """Return whether a search may go on: for some seconds from now; None: always."""
    if seconds is None:
        return lambda: True
    deadline = time.monotonic() + seconds
    return lambda: time.monotonic() < deadline
