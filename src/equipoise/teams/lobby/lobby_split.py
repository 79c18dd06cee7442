"""Fair teams from a lobby.

Source: [TG2]_ section 13; READINGS A10 for the order among equals and for what gives way.
Departures: any number of teams. The rule for the top two then is for as many top players as there
are teams, the rule for uneven teams says that the top player is in one of the smaller teams.

Parties, locks and avoid pairs are always kept. The rules for the top players and for uneven teams
give way, in this order, where what is always kept leaves no split that obeys them.

How fair a split is: J of two teams, and of more.

Source: [TG2]_ (46)-(48). For more than two teams J is the largest over all pairs of teams. With
m the mean effective rating of a team and u = lambda U/sqrt(n) its weighted uncertainty,
|m - m'| + |u - u'| is the larger of |(m + u) - (m' + u')| and |(m - u) - (m' - u')|, so the
largest over all pairs is the larger of two ranges: linear in the number of teams.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.lobby import Balance, Constraint, ConstraintKind, Lobby, Split
from equipoise.errors import ConvergenceError, require
from equipoise.teams.lobby.feasibility import MOST_TRIED, NoPlacementError, impossible
from equipoise.teams.lobby.solve import Effort, RowTeams, Solution, solve
from equipoise.teams.lobby.task import Task, centred, units_of


class Parts(NamedTuple):
    """J, and its parts for the two teams furthest apart, in rating points."""

    objective: float
    rating_difference: float
    deviation_difference: float


def parts_of(
    strength: Floats, square: Floats, teams: Sequence[Sequence[int]], weight: float
) -> Parts:
    """Return J [TG2]_ (48) and its parts; of two teams, or of the pair of teams furthest apart.

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
    """Return the two pairs of teams of which one is the pair with the largest J."""
    pairs = []
    for sign in (1.0, -1.0):
        key = [m + sign * weight * u for m, u in zip(mean, spread, strict=True)]
        pairs.append((key.index(min(key)), key.index(max(key))))
    return pairs


def sum_difference(strength: Floats, teams: Sequence[Sequence[int]]) -> float:
    """Return the largest difference of the sums of effective ratings over pairs of teams."""
    sums = [math.fsum(strength[list(team)].tolist()) for team in teams]
    return max(sums) - min(sums)


#: "mean": J of [TG2]_ (48). "sum": the largest difference of the sums of effective ratings.
Objective: TypeAlias = Literal["mean", "sum"]
#: Share of the steps of a search that what a constraint cost is looked for with.
_COST_SHARE = 20


@dataclass(frozen=True, slots=True, eq=False)
class _Balancing:
    """A lobby in the order of its players, and what is asked of its teams."""

    lobby: Lobby
    order: Ints
    ids: Ids
    strength: Floats
    square: Floats
    weight: float
    by_sum: bool

    def split(self, teams: RowTeams) -> Split:
        """Return a split with its J."""
        parts = parts_of(self.strength, self.square, teams, self.weight)
        if self.by_sum:
            sums = sum_difference(self.strength, teams)
            parts = parts._replace(objective=sums, rating_difference=sums)
        named = tuple(tuple(self.ids[list(team)].tolist()) for team in teams)
        return Split(teams=named, **parts._asdict())


@checks_arguments("uncertainty_weight", "objective", "time_limit")
def balance(
    lobby: Lobby,
    teams: int = 2,
    *,
    uncertainty_weight: float = 0.8,
    objective: Objective = "mean",
    top_two: bool = True,
    uneven: bool = True,
    alternatives: int = 5,
    costs: bool = True,
    steps: int = 4000,
    seed: int = 0,
    time_limit: float | None = None,
) -> Balance:
    """Return the fairest teams of a lobby, whose sizes differ by at most one [TG2]_ (48).

    Two teams of up to 24 players are split exactly, and larger ones wherever it is feasible;
    parties and pairs who avoid each other count as one. For more teams, a search gives teams and
    a bound.

    teams : number of teams, from 2 to the number of players
    uncertainty_weight : lambda of (48), at least 0
    objective : "mean", or "sum" for the largest difference of the sums of effective ratings,
        without uncertainty; for teams of equal size
    top_two : as many top players as there are teams are in different teams
    uneven : where sizes differ, the top player is in a smaller team
    alternatives : how many of the next best splits to return
    costs : whether to find what every constraint cost
    steps, seed : of a search; the same numbers give the same teams
    time_limit : seconds after which a search ends, whatever its steps; None for no limit
    Raises : InvalidParameterError   an argument is out of its range
    Raises : InvalidDataError        no split keeps all parties, locks and avoid pairs
    Raises : ConvergenceError        none was found, though one may exist
    """
    require(isinstance(lobby, Lobby), "lobby", "a Lobby", type(lobby).__name__)
    require(teams >= 2 and int(teams) == teams, "teams", "a whole number from 2", teams)
    require(teams <= lobby.players, "teams", f"at most {lobby.players}, the players", teams)
    _check_numbers(uncertainty_weight, objective, alternatives, steps, seed, time_limit)
    by_sum = objective == "sum"
    require(
        not by_sum or lobby.players % teams == 0,
        "objective",
        f"'mean' where {lobby.players} players do not make {teams} equal teams",
        objective,
    )
    order = lobby.order()
    whole = bool(np.all(lobby.strength == np.rint(lobby.strength)))
    deadline = None if time_limit is None else time.monotonic() + time_limit
    effort = Effort(
        steps=steps,
        seed=seed,
        in_time=lambda: deadline is None or time.monotonic() < deadline,
        whole=lobby.players // teams if by_sum and whole else 0,
    )
    asked = _Balancing(
        lobby=lobby,
        order=order,
        ids=lobby.player_ids[order],
        strength=lobby.strength[order],
        square=lobby.deviation[order] ** 2,
        weight=0.0 if by_sum else uncertainty_weight,
        by_sum=by_sum,
    )
    task = _task(asked, teams, top_two, uneven)
    try:
        task, solution = _solved(asked, task, effort, alternatives + 1)
    except NoPlacementError:
        raise ConvergenceError("placing parties, locks and avoid pairs", MOST_TRIED, 1.0) from None
    constraints = _constraints(asked, task, solution, effort, (top_two, uneven), costs)
    return _answer(asked, solution, constraints)


def _check_numbers(
    weight: float,
    objective: str,
    alternatives: int,
    steps: int,
    seed: int,
    time_limit: float | None,
) -> None:
    rule = "a finite number from 0"
    require(0 <= weight < np.inf, "uncertainty_weight", rule, weight)
    require(objective in get_args(Objective), "objective", "'mean' or 'sum'", objective)
    require(0 <= alternatives <= 1000, "alternatives", "from 0 to 1000", alternatives)
    require(steps >= 0, "steps", "at least 0", steps)
    require(seed >= 0, "seed", "at least 0", seed)
    require(time_limit is None or time_limit >= 0, "time_limit", "at least 0 seconds", time_limit)


def _task(asked: _Balancing, teams: int, top_two: bool, uneven: bool) -> Task:
    """Return the lobby as numbers, its players in order."""
    lobby, order = asked.lobby, asked.order
    row_of = np.empty(len(order), dtype=np.int64)
    row_of[order] = np.arange(len(order))
    avoid = sorted(
        (min(pair), max(pair))
        for pair in ((int(row_of[a]), int(row_of[b])) for a, b in lobby.avoid_rows())
    )
    return Task(
        strength=centred(asked.strength),
        rating=centred(lobby.rating[order]),
        square=asked.square,
        id_rank=np.argsort(np.argsort(asked.ids, kind="stable"), kind="stable"),
        teams=teams,
        weight=asked.weight,
        parties=_groups(lobby.party, order),
        locks=_groups(lobby.team, order),
        avoid=tuple(avoid),
        top=top_two,
        uneven=uneven and lobby.players % teams > 0,
    )


def _groups(labels: Ids | None, order: Ints) -> tuple[tuple[int, ...], ...]:
    """Return the rows of every label, the labels in their order."""
    if labels is None:
        return ()
    ordered = labels[order].tolist()
    names = sorted({label for label in ordered if label is not None})
    return tuple(tuple(row for row, one in enumerate(ordered) if one == name) for name in names)


def _solved(asked: _Balancing, task: Task, effort: Effort, keep: int) -> tuple[Task, Solution]:
    """Return the task with the rules that can be kept, and its solution.

    Raises : InvalidDataError   there is none even without the rules that may give way
    """
    for rules in _rules_to_try(task):
        relaxed = replace(task, top=rules[0], uneven=rules[1])
        solution = solve(relaxed, effort, keep)
        if solution is not None:
            return relaxed, solution
    raise impossible(asked.lobby, task.teams, task, asked.order)


def _rules_to_try(task: Task) -> Iterator[tuple[bool, bool]]:
    """Yield which of the two rules to keep: both, then without the first, then the second."""
    tops = (True, False) if task.top else (False,)
    unevens = (True, False) if task.uneven else (False,)
    yield from sorted(itertools.product(tops, unevens), key=lambda rules: (-sum(rules), rules[0]))


def _constraints(
    asked: _Balancing,
    task: Task,
    solution: Solution,
    effort: Effort,
    rules: tuple[bool, bool],
    costs: bool,
) -> tuple[Constraint, ...]:
    """Return every constraint, whether it was kept, and J without it."""
    least = asked.split(solution.splits[0]).objective
    start = np.empty(task.players, dtype=np.int64)
    for number, team in enumerate(solution.splits[0]):
        start[list(team)] = number
    effort = replace(effort, steps=effort.steps // _COST_SHARE)
    found = []
    for kind, rows, label, without in _relaxed(asked, task, rules):
        about = Constraint(
            kind=kind,
            players=tuple(asked.ids[list(rows)].tolist()),
            label=label,
            status="held",
            objective_without=None,
        )
        if without is None:
            found.append(replace(about, status="waived", objective_without=least))
            continue
        other = None
        if costs and effort.in_time():
            solved = solve(without, effort, 1, start)
            other = None if solved is None else min(asked.split(solved.splits[0]).objective, least)
        found.append(replace(about, objective_without=other))
    return tuple(found)


def _relaxed(
    asked: _Balancing, task: Task, rules: tuple[bool, bool]
) -> Iterator[tuple[ConstraintKind, tuple[int, ...], str | None, Task | None]]:
    """Yield the kind, rows and label of every constraint, and the task without it or None.

    The task is None where the constraint is waived.

    All else stays as it is kept: top players who are together as a party need not be apart
    without it.
    """
    lobby, top_pairs = asked.lobby, _top_pairs(task)
    kept = replace(task, top=False, avoid=task.avoid + top_pairs)
    if rules[0]:
        held = task.top and len(top_pairs) == task.teams * (task.teams - 1) // 2
        top = tuple(range(task.teams))
        yield "top-two", top, None, replace(task, top=False) if held else None
    if rules[1] and task.larger_teams:
        yield "uneven", (0,), None, replace(kept, uneven=False) if task.uneven else None
    for name, rows in _named_groups(lobby.party, asked.order):
        if len(rows) > 1:
            others = tuple(party for party in task.parties if party != rows)
            yield "party", rows, name, replace(kept, parties=others)
    for name, rows in _named_groups(lobby.team, asked.order):
        for row in rows:
            locks = [tuple(r for r in lock if r != row) for lock in task.locks]
            without = replace(kept, locks=tuple(lock for lock in locks if lock))
            yield "lock", (row,), name, without
    for pair in task.avoid:
        rest = tuple(other for other in task.avoid if other != pair)
        yield "avoid", pair, None, replace(kept, avoid=rest + top_pairs)


def _top_pairs(task: Task) -> tuple[tuple[int, int], ...]:
    """Return the pairs of top players who are kept apart: all who do not belong together."""
    units = units_of(task)
    if not task.top or units is None:
        return ()
    unit = units.of_player[: task.teams].tolist()
    pairs = itertools.combinations(range(task.teams), 2)
    return tuple((one, other) for one, other in pairs if unit[one] != unit[other])


def _named_groups(labels: Ids | None, order: Ints) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the label and the rows of every party or lock."""
    if labels is not None:
        names = sorted({label for label in labels.tolist() if label is not None})
        yield from zip(names, _groups(labels, order), strict=True)


def _answer(asked: _Balancing, solution: Solution, constraints: tuple[Constraint, ...]) -> Balance:
    splits = [asked.split(teams) for teams in solution.splits]
    best = splits[0]
    bound = best.objective
    if solution.bound is not None:
        size = asked.lobby.players // len(best.teams) if asked.by_sum else 1
        bound = min(solution.bound * size, best.objective)
    return Balance(
        best=best,
        constraints=constraints,
        alternatives=tuple(splits[1:]),
        bound=bound,
        gap=best.objective - bound,
        compared=solution.compared,
        stopped=solution.stopped,
        notes=_notes(asked.lobby),
    )


def _notes(lobby: Lobby) -> tuple[str, ...]:
    """Return what to say of a lobby in which no deviation is known."""
    if lobby.deviation.any():
        return ()
    by = "rating" if np.array_equal(lobby.strength, lobby.rating) else "effective rating"
    return (f"The lobby has no deviations: it is balanced by {by} alone (deviation 0).",)
