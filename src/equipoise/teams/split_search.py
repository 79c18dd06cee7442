"""Good splits if there are too many to compare all: whether there is one, and a local search.

`packed` finds teams that keep every rule; a search starts from them. Units that have several
players or that must be separated are placed one by one, the largest first, with backtracking. The
other players fill the free places, which always works.

`impossible` explains in words why parties, locks and avoid pairs, which are always kept, leave no
split.

Iterated local search. Each step takes two teams and reassigns up to a dozen of their units: it
compares all ways that keep every rule and takes the best. This covers every swap of players and
every exchange of parties between the two teams. When no pair of teams can be improved, the search
perturbs some teams and starts again from the best split so far. The same seed gives the same
result, unless a time limit ends the search.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.lobby import Lobby
from equipoise.errors import InvalidDataError
from equipoise.teams.lobby_task import (
    TOLERANCE,
    ContradictionError,
    Task,
    Units,
    bipartite_components,
    units_of,
)
from equipoise.wording import counted

#: Largest number of placements tried.
MOST_TRIED = 200_000

#: Largest number of players named in a message.
_NAMED = 6

#: Units reassigned at once: 2^11 ways, or twice as many if some units stay.
MOST_REASSIGNED = 12
#: Steps without an improvement after which a pair of teams is skipped, if the units to reassign are
#: drawn at random.
_PATIENCE = 4
#: Perturbations without a better split before the search starts from a new split.
_FAILED_PERTURBATIONS = 200
#: Bounds of the number of pairs of teams that a perturbation reassigns (the second is excluded),
#: and number of best ways from which it draws one.
_PERTURBED_PAIRS = (6, 10)
_CHOICES = 8
#: Smaller changes are rounding errors.
_ROUNDING = 1e-12


class NoPlacementError(Exception):
    """No teams keep every rule; `proved` is False if the search reached its limit."""

    def __init__(self, proved: bool) -> None:
        super().__init__("no teams keep every rule")
        self.proved = proved


def packed(task: Task, units: Units, rng: np.random.Generator | None = None) -> Ints:
    """Return a team for every unit that keeps all rules and makes strengths roughly even.

    rng : varies the start; None always gives the same start
    Raises : NoPlacementError
    """
    strength = units.strength
    if rng is not None:
        strength = strength + rng.normal(0.0, 1.0, len(strength)) * np.std(strength)
    bound = sorted({unit for pair in units.separated for unit in pair})
    first = {0} if task.uneven and task.larger_teams else set()
    several = set(np.flatnonzero(units.size > 1).tolist())
    placed = sorted(
        {*bound, *several, *first},
        key=lambda unit: (unit not in first, -units.size[unit], -strength[unit], unit),
    )
    team = _Placement(task, units, placed, strength).solve()
    return _filled(task, units, team, strength)


class _Placement:
    """Backtracking over the units that are hard to place."""

    def __init__(self, task: Task, units: Units, placed: list[int], strength: Floats) -> None:
        self.task = task
        self.units = units
        self.placed = placed
        self.strength = strength
        self.team = np.full(len(units.rows), -1)
        self.load = [0] * task.teams
        self.total = [0.0] * task.teams
        self.separated: list[list[int]] = [[] for _ in units.rows]
        for one, other in units.separated:
            self.separated[one].append(other)
            self.separated[other].append(one)

    def solve(self) -> Ints:
        """Return the team of every unit that is hard to place, -1 for the others."""
        options = [self._options(0)] if self.placed else []
        tried = 0
        while len(options) <= len(self.placed) and options:
            depth = len(options) - 1
            unit = self.placed[depth]
            if self.team[unit] >= 0:
                self._put(unit, -1)
            if not options[-1]:
                options.pop()
                continue
            tried += 1
            if tried > MOST_TRIED:
                raise NoPlacementError(proved=False)
            self._put(unit, options[-1].pop())
            if depth + 1 == len(self.placed):
                return self.team
            options.append(self._options(depth + 1))
        if self.placed:
            raise NoPlacementError(proved=True)
        return self.team

    def _put(self, unit: int, team: int) -> None:
        """Put a unit into a team; team -1 takes it out."""
        sign, where = (1, team) if team >= 0 else (-1, int(self.team[unit]))
        self.load[where] += sign * int(self.units.size[unit])
        self.total[where] += sign * float(self.strength[unit])
        self.team[unit] = team

    def _options(self, depth: int) -> list[int]:
        """Return the teams that a unit may join, the most suitable last; at most one is empty."""
        unit = self.placed[depth]
        size = int(self.units.size[unit])
        taken = {int(self.team[other]) for other in self.separated[unit]}
        small = self.task.smaller
        spare = self.task.larger_teams - sum(load > small for load in self.load)
        options, empty = [], False
        for team, load in enumerate(self.load):
            if load == 0:
                if empty:
                    continue
                empty = True
            room = small - load + (spare > 0 or load > small)
            if self._holds_top(team, depth):
                room = small - load
            if size <= room and team not in taken:
                options.append(team)
        sign = 1.0 if self.strength[unit] >= 0 else -1.0
        return sorted(options, key=lambda team: (-sign * self.total[team], -team))

    def _holds_top(self, team: int, depth: int) -> bool:
        """Return whether a team must stay small because it has or will get the top player."""
        if not (self.task.uneven and self.task.larger_teams):
            return False
        return depth == 0 or int(self.team[0]) == team


def _filled(task: Task, units: Units, team: Ints, strength: Floats) -> Ints:
    """Return the team of every unit: each free player, the best first, joins the weakest team."""
    load = np.zeros(task.teams, dtype=np.int64)
    placed = team >= 0
    np.add.at(load, team[placed], units.size[placed])
    total = np.bincount(team[placed], weights=strength[placed], minlength=task.teams)
    room = _room(task, load, int(team[0]))
    for unit in np.argsort(-strength, kind="stable").tolist():
        if team[unit] < 0:
            open_ = np.flatnonzero(room > 0)
            best = int(open_[np.argmin(total[open_] / (load[open_] + room[open_]))])
            team[unit] = best
            room[best] -= 1
            load[best] += 1
            total[best] += strength[unit]
    return team


def _room(task: Task, load: Ints, top: int) -> Ints:
    """Return the number of free places of every team; the fullest teams become the larger ones."""
    size = np.full(task.teams, task.smaller)
    order = np.argsort(-load, kind="stable")
    if task.uneven and top >= 0:
        order = np.concatenate([order[order != top], order[order == top]])
    size[order[: task.larger_teams]] += 1
    room: Ints = size - load
    return room


def impossible(lobby: Lobby, teams: int, task: Task, order: Ints) -> InvalidDataError:
    """Return an error that explains why no split keeps parties, locks and avoid pairs."""
    ids = [str(player) for player in lobby.player_ids[order].tolist()]
    reason = (
        _too_many_locks(lobby, teams)
        or _too_large(lobby, task)
        or _too_large_together(task, ids)
        or _together_and_separated(task, ids)
        or (_cycle(task, ids) if teams == 2 else "")
        or _nothing_fits(task)
    )
    return InvalidDataError([], reason)


def _too_many_locks(lobby: Lobby, teams: int) -> str:
    labels = _labels(lobby, "team")
    if len(labels) <= teams:
        return ""
    named = _listed(sorted(labels))
    return f"players are locked to {len(labels)} teams ({named}), but there are only {teams} teams"


def _too_large(lobby: Lobby, task: Task) -> str:
    """Return a sentence on a party or a lock with more players than the largest team has places."""
    for name, template in (
        ("party", "party {0!r} has {1} players"),
        ("team", "{1} players are locked to team {0!r}"),
    ):
        for label, count in _labels(lobby, name).items():
            if count > task.largest:
                places = counted(task.largest, "place")
                return (
                    f"{template.format(label, count)}, but the largest team has {places} "
                    f"({task.players} players in {task.teams} teams)"
                )
    return ""


def _labels(lobby: Lobby, name: str) -> dict[str, int]:
    """Return the number of players of every party or lock."""
    column = getattr(lobby, name)
    sizes: dict[str, int] = {}
    for label in [] if column is None else column.tolist():
        if label is not None:
            sizes[label] = sizes.get(label, 0) + 1
    return sizes


def _too_large_together(task: Task, ids: Sequence[str]) -> str:
    units = units_of(_kept(task, avoid=()))
    if units is None or units.size.max() <= task.largest:
        return ""
    rows = units.rows[int(np.argmax(units.size))]
    return (
        f"{_listed([ids[row] for row in rows])} must stay together through parties and locks: "
        f"{counted(len(rows), 'player')}, but the largest team has {counted(task.largest, 'place')}"
    )


def _together_and_separated(task: Task, ids: Sequence[str]) -> str:
    """Return a sentence on players who must be both together and in different teams."""
    for one, other in task.avoid:
        if units_of(_kept(task, avoid=((one, other),))) is None:
            return (
                f"{ids[one]} and {ids[other]} avoid each other, but parties and locks keep them "
                "together"
            )
    if units_of(_kept(task, avoid=())) is None:
        return "parties keep players together who are locked to different teams"
    return ""


def _cycle(task: Task, ids: Sequence[str]) -> str:
    units = units_of(_kept(task, avoid=task.avoid))
    if units is None:
        return ""
    try:
        bipartite_components(units)
    except ContradictionError as error:
        names = [ids[units.rows[unit][0]] for unit in error.units]
        return (
            "two teams cannot separate all of these players, who avoid each other or are locked to "
            f"different teams: {_listed(names)}"
        )
    return ""


def _nothing_fits(task: Task) -> str:
    sizes = [task.smaller] * (task.teams - task.larger_teams)
    sizes += [task.smaller + 1] * task.larger_teams
    places = _listed([str(size) for size in sizes])
    return (
        f"no split into teams of {places} players keeps all parties, locks and avoid pairs: "
        "remove one of these, or change the number of teams"
    )


def _kept(task: Task, avoid: tuple[tuple[int, int], ...]) -> Task:
    """Return the task with only the constraints that are never waived."""
    return replace(task, top=False, uneven=False, avoid=avoid)


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in words; of many, the first few and the number of the others."""
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


class Assignment:
    """The teams of K units, T teams; changed in place.

    team : shape (K,), team of every unit
    sums : shape (rows, T), players, strength, square and experience of every team
    """

    def __init__(self, task: Task, units: Units, team: Ints) -> None:
        self.task = task
        self.units = units
        self.team = team.copy()
        self.columns = units.columns[:-1]
        self.sums: Floats = np.array(
            [np.bincount(team, column, task.teams) for column in self.columns]
        )
        self.separated = separation_matrix(units)
        #: m + u and m - u of every team, shape (2, T): J is the larger of their ranges.
        self.keys = keys_of(task, self.sums)
        # The spread of teams is measured from this value; any constant is possible.
        self.middle = task.weight * float(np.sqrt(units.square.sum() / task.players))

    def copy(self) -> Assignment:
        """Return an independent copy."""
        other = copy(self)
        other.team, other.sums, other.keys = self.team.copy(), self.sums.copy(), self.keys.copy()
        return other

    def distance(self) -> float:
        """Return J, or the largest difference of centres, which stands for that of the chances."""
        return float((self.keys.max(axis=1) - self.keys.min(axis=1)).max())

    def objective(self) -> float:
        """Return the objective of the task."""
        chances = self.task.chances
        return self.distance() if chances is None else float(chances.spread(self.sums))

    def move(self, moved: Ints, team: Ints) -> None:
        """Put units into teams."""
        changed = sorted({*self.team[moved].tolist(), *team.tolist()})
        self.team[moved] = team
        for one in changed:
            # Summed again instead of updated, so that rounding errors do not add up.
            self.sums[:, one] = self.columns[:, self.team == one].sum(axis=1)
        self.keys[:, changed] = keys_of(self.task, self.sums[:, changed])

    def signature(self) -> bytes:
        """Return a key that does not depend on how the teams are numbered."""
        first = np.full(self.task.teams, -1)
        seen, name = 0, np.empty_like(self.team)
        for unit, team in enumerate(self.team.tolist()):
            if first[team] < 0:
                first[team] = seen
                seen += 1
            name[unit] = first[team]
        return name.tobytes()


def keys_of(task: Task, sums: Floats) -> Floats:
    """Return m + u and m - u of teams, shape (2, T), from columns of players, strength, square.

    With chances, both are the centre, as a curve corrects it.
    """
    keys, weight = np.empty((2, sums.shape[1])), task.weight
    if task.chances is None:
        mean = sums[1] / sums[0]
    elif task.chances.correct is None:
        mean = task.chances.centre(sums)
    else:
        mean = task.chances.corrected(sums)[0]
    if weight == 0.0:
        keys[:] = mean
        return keys
    spread = weight * np.sqrt(sums[2] / sums[0])
    np.add(mean, spread, out=keys[0])
    np.subtract(mean, spread, out=keys[1])
    return keys


def separation_matrix(units: Units) -> Flags:
    """Return which units must be in different teams, shape (K, K)."""
    matrix = np.zeros((len(units.rows), len(units.rows)), dtype=bool)
    for one, other in units.separated:
        matrix[one, other] = matrix[other, one] = True
    return matrix


class TeamPair(NamedTuple):
    """Two teams: the units that may change sides, and the units that stay.

    free : units that may change sides
    stay : units that stay in the first and in the second team
    base : sums of the units that stay in the first and in the second team, each of shape (rows, 1)
    """

    free: Ints
    stay: tuple[Ints, Ints]
    base: tuple[Floats, Floats]


def team_pair(
    assignment: Assignment, one: int, other: int, most: int, rng: np.random.Generator
) -> TeamPair:
    """Return at most `most` units of two teams that may change sides, drawn at random."""
    inside = np.flatnonzero((assignment.team == one) | (assignment.team == other))
    # Teams have no names: if no unit stays, one may keep its side, which halves the work.
    stay, free = inside[:1], inside[1:]
    if len(inside) > most:
        mixed = rng.permutation(inside)
        stay, free = np.sort(mixed[most:]), np.sort(mixed[:most])
    mine = stay[assignment.team[stay] == one]
    rest = stay[assignment.team[stay] == other]
    return TeamPair(
        free=free,
        stay=(mine, rest),
        base=(
            assignment.columns[:, mine].sum(axis=1)[:, None],
            assignment.columns[:, rest].sum(axis=1)[:, None],
        ),
    )


class Ways(NamedTuple):
    """Ways to assign the free units of two teams, and sums of both teams, of shape (rows, ways).

    Bit j of a way's number says that free unit j goes to the first team.
    """

    number: Ints
    first: Floats
    second: Floats


def allowed_ways(assignment: Assignment, pair: TeamPair) -> Ways:
    """Return all ways to assign the free units that keep every rule."""
    free = subset_sums(assignment.columns[:, pair.free])
    # The complement of a subset has the inverted bits, so it is counted from the end.
    first, second = pair.base[0] + free, pair.base[1] + free[:, ::-1]
    size = first[0]
    players = int(size[0] + second[0, 0])
    small = players // 2
    good = (size == small) | (size == players - small)
    ways = np.flatnonzero(good)
    ways = ways[_separates(assignment, pair, ways)]
    if players != 2 * small and assignment.task.uneven:
        ways = ways[_top_is_in_smaller(pair, ways, size[ways] == small)]
    return Ways(ways, first[:, ways], second[:, ways])


def subset_sums(columns: Floats) -> Floats:
    """Return the sums over every subset of the columns, shape (rows, 2^count).

    Bit j of a subset's number says that column j is in it.
    """
    middle = columns.shape[1] // 2
    low, high = columns[:, :middle], columns[:, middle:]
    of_high, of_low = _subsets(high.shape[1]) @ high.T, _subsets(middle) @ low.T
    sums = of_high.T[:, :, None] + of_low.T[:, None, :]
    return sums.reshape(len(columns), -1)


@lru_cache(maxsize=16)
def _subsets(count: int) -> Floats:
    """Return which of `count` columns are in each of their subsets, as 0 and 1."""
    bits = (np.arange(1 << count)[:, None] >> np.arange(count)) & 1
    return bits.astype(np.float64)


def _top_is_in_smaller(pair: TeamPair, ways: Ints, first_is_smaller: Flags) -> Flags:
    """Return in which ways the top player, if in either team, is in the smaller one."""
    for number, stay in enumerate(pair.stay):
        if (stay == 0).any():
            return first_is_smaller if number == 0 else ~first_is_smaller
    at = np.flatnonzero(pair.free == 0)
    if not len(at):
        return np.ones(len(ways), dtype=bool)
    in_first = (ways >> int(at[0])) & 1 == 1
    agrees: Flags = in_first == first_is_smaller
    return agrees


def _separates(assignment: Assignment, pair: TeamPair, ways: Ints) -> Flags:
    """Return which ways separate all units that must be in different teams."""
    good = np.ones(len(ways), dtype=bool)
    if not assignment.units.separated:
        return good
    among = assignment.separated[np.ix_(pair.free, pair.free)]
    for one, other in np.argwhere(np.triu(among)).tolist():
        good &= ((ways >> one) ^ (ways >> other)) & 1 == 1
    for number, stay in enumerate(pair.stay):
        bound = assignment.separated[np.ix_(pair.free, stay)].any(axis=1)
        for one in np.flatnonzero(bound).tolist():
            good &= (ways >> one) & 1 == number
    return good


@dataclass(slots=True)
class Found:
    """The best splits seen.

    keep : number of splits to keep; splits : best first; steps : number of pairs of teams
      reassigned
    stopped : the time limit ended the search
    """

    keep: int
    splits: list[tuple[float, Ints]] = field(default_factory=list)
    steps: int = 0
    stopped: bool = False
    _seen: set[bytes] = field(default_factory=set)

    @property
    def objective(self) -> float:
        """J of the best split."""
        return self.splits[0][0] if self.splits else np.inf

    def add(self, assignment: Assignment) -> None:
        """Keep a split if it is among the best and new."""
        objective = assignment.objective()
        if len(self.splits) == self.keep and objective >= self.splits[-1][0]:
            return
        signature = assignment.signature()
        if signature in self._seen:
            return
        self._seen.add(signature)
        self.splits.append((objective, assignment.team.copy()))
        self.splits.sort(key=lambda split: split[0])
        del self.splits[self.keep :]


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

    keep : number of different splits
    steps : pairs of teams to reassign, at most
    enough : a J that cannot be improved
    start : team of every unit to start from; None packs the units
    in_time : called after every step; False ends the search
    Raises : NoPlacementError   no start keeps every rule
    """
    result = Found(keep)
    assignment = Assignment(task, units, packed(task, units) if start is None else start)
    best = assignment.copy()
    since = 0
    while True:
        _descend(assignment, rng, result, steps, in_time)
        result.add(assignment)
        if assignment.objective() < best.objective() - _ROUNDING:
            best, since = assignment.copy(), 0
        elif assignment.objective() <= best.objective() + _ROUNDING:
            best = assignment.copy()
        if result.objective <= enough + TOLERANCE or result.stopped or result.steps >= steps:
            break
        since += 1
        if since % _FAILED_PERTURBATIONS == 0:
            best = Assignment(task, units, packed(task, units, rng))
        assignment = best.copy()
        _perturb(assignment, rng)
    _add_neighbours(result, task, units, rng)
    return result


def _descend(
    assignment: Assignment,
    rng: np.random.Generator,
    result: Found,
    steps: int,
    in_time: Callable[[], bool],
) -> None:
    """Improve pairs of teams, those that differ most first, until none can be improved."""
    teams = assignment.task.teams
    never = np.tri(teams, dtype=np.int64) * _PATIENCE  # each pair once, and no team with itself
    failed = never.copy()
    while result.steps < steps:
        next_pair = _next_pair(assignment, failed)
        if next_pair is None:
            return
        if not in_time():
            result.stopped = True
            return
        result.steps += 1
        one, other = next_pair
        pair = team_pair(assignment, one, other, MOST_REASSIGNED, rng)
        whole = len(pair.free) + 1 >= np.count_nonzero(
            (assignment.team == one) | (assignment.team == other)
        )
        if _reassign(assignment, one, other, pair):
            for team in (one, other):
                failed[team, :] = never[team, :]
                failed[:, team] = never[:, team]
        failed[one, other] += _PATIENCE if whole else 1


def _next_pair(assignment: Assignment, failed: Ints) -> tuple[int, int] | None:
    """Return the two teams that differ most, of the pairs that may still be improved."""
    keys = assignment.keys
    difference = np.abs(np.subtract.outer(keys[0], keys[0]))
    if assignment.task.weight > 0:
        np.maximum(difference, np.abs(np.subtract.outer(keys[1], keys[1])), out=difference)
    difference[failed >= _PATIENCE] = -1.0
    at = int(difference.argmax())
    one, other = divmod(at, len(difference))
    return None if difference[one, other] < 0 else (one, other)


def _reassign(assignment: Assignment, one: int, other: int, pair: TeamPair) -> bool:
    """Reassign the units of two teams in the best way, if it is better; return whether it is.

    Better is a smaller distance, or the same one and a smaller spread of the two teams.
    """
    ways = allowed_ways(assignment, pair)
    objective, spread = _scored(assignment, one, other, ways)
    before = assignment.distance()
    spread_before = float(
        _spread(assignment, assignment.keys[:, [one]], assignment.keys[:, [other]])[0]
    )
    near = np.flatnonzero(objective <= float(objective.min()) + _ROUNDING)
    at = int(near[np.argmin(spread[near])])
    better = objective[at] < before - _ROUNDING or (
        objective[at] <= before + _ROUNDING and spread[at] < spread_before - _ROUNDING
    )
    if better:
        _assign(assignment, one, other, pair, int(ways.number[at]))
    return bool(better)


def _scored(assignment: Assignment, one: int, other: int, ways: Ways) -> tuple[Floats, Floats]:
    """Return the distance of the split and the spread of the two teams for every way."""
    mine, rest = (keys_of(assignment.task, sums) for sums in (ways.first, ways.second))
    low, high = np.minimum(mine, rest), np.maximum(mine, rest)
    if assignment.task.teams > 2:
        keys = np.delete(assignment.keys, [one, other], axis=1)
        low = np.minimum(low, keys.min(axis=1)[:, None])
        high = np.maximum(high, keys.max(axis=1)[:, None])
    return (high - low).max(axis=0), _spread(assignment, mine, rest)


def _spread(assignment: Assignment, mine: Floats, rest: Floats) -> Floats:
    """Return the squared distances of two teams from the middle, added up."""
    # (m + u - c)^2 + (m - u + c)^2 is twice m^2 + (u - c)^2.
    total: Floats = (mine[0] - assignment.middle) ** 2 + (mine[1] + assignment.middle) ** 2
    total += (rest[0] - assignment.middle) ** 2 + (rest[1] + assignment.middle) ** 2
    return total


def _assign(assignment: Assignment, one: int, other: int, pair: TeamPair, way: int) -> None:
    """Assign the free units of two teams according to a way."""
    in_first = (way >> np.arange(len(pair.free))) & 1 == 1
    moved = np.concatenate([pair.free, *pair.stay])
    team = np.concatenate(
        [
            np.where(in_first, one, other),
            np.full(len(pair.stay[0]), one),
            np.full(len(pair.stay[1]), other),
        ]
    )
    assignment.move(moved, team)


def _perturb(assignment: Assignment, rng: np.random.Generator) -> None:
    """Reassign some pairs of teams in one of their better ways, which stay nearly as even."""
    teams = assignment.task.teams
    for _ in range(1 if teams == 2 else int(rng.integers(*_PERTURBED_PAIRS))):
        one, other = sorted(rng.permutation(teams)[:2].tolist())
        pair = team_pair(assignment, one, other, MOST_REASSIGNED, rng)
        ways = allowed_ways(assignment, pair)
        _, spread = _scored(assignment, one, other, ways)
        count = min(len(spread), _CHOICES)
        better = np.argpartition(spread, count - 1)[:count]
        _assign(assignment, one, other, pair, int(ways.number[better[rng.integers(count)]]))


def _add_neighbours(result: Found, task: Task, units: Units, rng: np.random.Generator) -> None:
    """Add the best splits that differ from the best one in two teams."""
    if result.keep == 1:
        return
    best = Assignment(task, units, result.splits[0][1])
    # At most 200 pairs of teams.
    for one, other in itertools.islice(itertools.combinations(range(task.teams), 2), 200):
        pair = team_pair(best, one, other, MOST_REASSIGNED, rng)
        ways = allowed_ways(best, pair)
        objective, _ = _scored(best, one, other, ways)
        for at in np.argsort(objective, kind="stable")[: result.keep].tolist():
            assignment = best.copy()
            _assign(assignment, one, other, pair, int(ways.number[at]))
            result.add(assignment)
