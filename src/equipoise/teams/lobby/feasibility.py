"""Whether a lobby can be split: a first placement, or the reason why there is none.

`packed` finds teams that keep every rule; a search starts from them. Units that have several
players or that must be separated are placed one by one, the largest first, with backtracking. The
other players fill the free places, which always works.

`impossible` explains in words why parties, locks and avoid pairs, which are always kept, leave no
split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.lobby import Lobby
from equipoise.errors import InvalidDataError
from equipoise.teams.lobby.task import (
    ContradictionError,
    Task,
    Units,
    bipartite_components,
    units_of,
)
from equipoise.wording import counted

#: Largest number of placements tried.
MOST_TRIED = 200_000


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
        found, empty = [], False
        for team, load in enumerate(self.load):
            if load == 0:
                if empty:
                    continue
                empty = True
            room = small - load + (spare > 0 or load > small)
            if self._holds_top(team, depth):
                room = small - load
            if size <= room and team not in taken:
                found.append(team)
        sign = 1.0 if self.strength[unit] >= 0 else -1.0
        return sorted(found, key=lambda team: (-sign * self.total[team], -team))

    def _holds_top(self, team: int, depth: int) -> bool:
        """Return whether a team must stay small because it has or will get the top player."""
        if not (self.task.uneven and self.task.larger_teams):
            return False
        return depth == 0 or int(self.team[0]) == team


def _filled(task: Task, units: Units, team: Ints, strength: Floats) -> Ints:
    """Return the team of every unit: each free player, the best first, joins the weakest team."""
    load = np.zeros(task.teams, dtype=np.int64)
    there = team >= 0
    np.add.at(load, team[there], units.size[there])
    total = np.bincount(team[there], weights=strength[there], minlength=task.teams)
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


#: Largest number of players named in a message.
_NAMED = 6


def impossible(lobby: Lobby, teams: int, task: Task, order: Ints) -> InvalidDataError:
    """Return an error that explains why no split keeps parties, locks and avoid pairs."""
    ids = [str(one) for one in lobby.player_ids[order].tolist()]
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
    for name, said in (
        ("party", "party {0!r} has {1} players"),
        ("team", "{1} players are locked to team {0!r}"),
    ):
        for label, count in _labels(lobby, name).items():
            if count > task.largest:
                places = counted(task.largest, "place")
                return (
                    f"{said.format(label, count)}, but the largest team has {places} "
                    f"({task.players} players in {task.teams} teams)"
                )
    return ""


def _labels(lobby: Lobby, name: str) -> dict[str, int]:
    """Return the number of players of every party or lock."""
    column = getattr(lobby, name)
    found: dict[str, int] = {}
    for label in [] if column is None else column.tolist():
        if label is not None:
            found[label] = found.get(label, 0) + 1
    return found


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
    except ContradictionError as found:
        names = [ids[units.rows[unit][0]] for unit in found.units]
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
