"""Fair teams from a lobby.

Source: [TG2]_ section 13; READINGS A10 for the order among equals and for the rules that may be
waived. Departures: any number of teams. With n teams, the rule for the top two covers the top n
players, and the rule for uneven teams says that the top player is in one of the smaller teams. If
the lobby has the model of a system that predicts such teams, the objective is the chance to win
(`chances`), and the two rules hold only if asked for.

Parties, locks and avoid pairs are always kept. The rules for the top players and for uneven teams
are waived, in this order, if no split keeps them too.

For two teams, all splits are compared if the lobby allows it (`two_teams`); for more teams, if the
lobby is small (`many_teams`). For other lobbies a search (`local_search`) finds a good split, and a
lower bound (`bound`) limits its distance from the best.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias, get_args

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.lobby import Balance, Constraint, ConstraintKind, Lobby, Objective, Split, Teams
from equipoise.errors import ConvergenceError, require
from equipoise.teams.exact_splits import MOST_UNITS, all_best, best_splits, lower_bound
from equipoise.teams.lobby_task import (
    Chances,
    ContradictionError,
    Task,
    Units,
    bipartite_components,
    centred,
    parts_of,
    ranked,
    ranked_teams,
    sum_difference,
    units_of,
    until,
)
from equipoise.teams.split_search import MOST_TRIED, Found, NoPlacementError, impossible, search

#: The rows of every team's players.
RowTeams: TypeAlias = tuple[tuple[int, ...], ...]
#: A search for the cost of a constraint takes this fraction of the steps.
_COST_SHARE = 20
#: Steps of the search before a comparison of all splits.
_SHORT = 60
#: A search by chances ends if no split can be fairer by more than this.
_ENOUGH = 1e-6


@dataclass(frozen=True, slots=True)
class Effort:
    """Limits of a search.

    steps : largest number of pairs of teams to reassign
    seed : random seed
    in_time : called after every step; False ends the search
    whole : the objective times this number must be a whole number; 0 if it need not
    """

    steps: int
    seed: int
    in_time: Callable[[], bool] = lambda: True
    whole: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The best splits, best first.

    bound : a proven lower bound of the objective; None if the first split is proved to be the best
    compared : number of splits, if all of them were compared
    stopped : the time limit ended the search
    """

    splits: tuple[RowTeams, ...]
    bound: float | None = None
    compared: int | None = None
    stopped: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _OrderedLobby:
    """The columns of a lobby, the top player first, and the objective of its teams."""

    lobby: Lobby
    order: Ints
    ids: Ids
    strength: Floats
    square: Floats
    weight: float
    by_sum: bool
    chances: Chances | None

    def split(self, teams: RowTeams) -> Split:
        """Return a split with its objective."""
        parts = parts_of(self.strength, self.square, teams, self.weight)
        if self.chances is not None:
            parts = parts._replace(objective=self.chances.of_split(teams))
        if self.by_sum:
            sums = sum_difference(self.strength, teams)
            parts = parts._replace(objective=sums, rating_difference=sums)
        named = tuple(tuple(self.ids[list(team)].tolist()) for team in teams)
        return Split(teams=named, **parts._asdict())


@checks_arguments("uncertainty_weight", "time_limit")
def balance(
    lobby: Lobby,
    teams: int = 2,
    *,
    uncertainty_weight: float = 0.8,
    objective: Objective | None = None,
    top_two: bool | None = None,
    uneven: bool | None = None,
    alternatives: int = 5,
    costs: bool = True,
    steps: int = 4000,
    seed: int = 0,
    time_limit: float | None = None,
) -> Balance:
    """Return the fairest teams of a lobby, whose sizes differ by at most one.

    Two teams of up to 24 players are split exactly, and larger ones if it is feasible; players of a
    party or an avoid pair count as one. For more teams, a search gives teams and a lower bound.

    teams : number of teams, from 2 to the number of players
    uncertainty_weight : lambda of [TG2]_ (48), at least 0
    objective : "chance" for the highest minus the lowest chance to win of a team, as the system of
        the lobby predicts them; "mean" for J of [TG2]_ (48); "sum" for the largest difference of
        the sums of effective ratings, without uncertainty, for teams of equal size. None means
        "chance" if the lobby has a system that predicts such teams (`lobby_of`), else "mean"
    top_two : keep the best players, as many as there are teams, in different teams
    uneven : if sizes differ, keep the top player in a smaller team. None means that either rule
        holds, but not with "chance"
    alternatives : number of next best splits to return
    costs : whether to compute the cost of every constraint
    steps, seed : steps and random seed of a search; the same numbers give the same teams
    time_limit : seconds after which a search ends, even if steps are left; None for no limit
    Raises : InvalidParameterError   an argument is out of its range
    Raises : InvalidDataError        no split keeps all parties, locks and avoid pairs
    Raises : ConvergenceError        no split was found, though one may exist

    Examples
    --------
    >>> lobby = eq.read_lobby("examples/lobby.csv")
    >>> found = eq.balance(lobby)
    >>> found.teams[0]
    ('amber-fox', 'cedar-elk', 'grove-wren', 'hazel-crow', 'iris-mole')
    >>> round(found.objective, 2)
    39.74
    """
    require(teams >= 2, "teams", "a whole number from 2", teams)
    require(
        teams <= lobby.players, "teams", f"at most {lobby.players}, the number of players", teams
    )
    weight_fits = 0 <= uncertainty_weight < np.inf
    require(weight_fits, "uncertainty_weight", "a finite number from 0", uncertainty_weight)
    require(0 <= alternatives <= 1000, "alternatives", "from 0 to 1000", alternatives)
    require(steps >= 0, "steps", "at least 0", steps)
    require(seed >= 0, "seed", "at least 0", seed)
    require(time_limit is None or time_limit >= 0, "time_limit", "at least 0 seconds", time_limit)
    sizes = [lobby.players // teams + (at < lobby.players % teams) for at in range(teams)]
    kind = _kind(lobby, sizes, objective)
    rules = (kind != "chance", kind != "chance")
    rules = (rules[0] if top_two is None else top_two, rules[1] if uneven is None else uneven)
    whole = bool(np.all(lobby.strength == np.rint(lobby.strength)))
    effort = Effort(
        steps=steps,
        seed=seed,
        in_time=until(time_limit),
        whole=sizes[0] if kind == "sum" and whole else 0,
    )
    ordered = _ordered(lobby, teams, kind, uncertainty_weight)
    task = _task(ordered, teams, *rules)
    try:
        if ordered.chances is None:
            task, solution = _solved(ordered, task, effort, alternatives + 1)
        else:
            # Half of the time is for the search by mean ratings.
            half = until(None if time_limit is None else 0.5 * time_limit)
            by_chance = replace(effort, in_time=half)
            task, solution = _solved(ordered, task, by_chance, alternatives + 1)
            by_mean = _ordered(lobby, teams, "mean", uncertainty_weight)
            solution = _no_worse(ordered, task, solution, by_mean, effort)
    except NoPlacementError:
        raise ConvergenceError("placing parties, locks and avoid pairs", MOST_TRIED, 1.0) from None
    constraints = _constraints(ordered, task, solution, effort, rules, costs)
    return _answer(ordered, solution, constraints, kind)


def _kind(lobby: Lobby, sizes: list[int], objective: Objective | None) -> Objective:
    """Return the objective to use. Raises : InvalidParameterError."""
    why: dict[Objective, str] = {}
    if lobby.model is None:
        why["chance"] = "without a system"
    elif not lobby.model.fits(sizes):
        why["chance"] = f"as {lobby.model.by} cannot predict such teams"
    if sizes[0] != sizes[-1]:
        why["sum"] = f"as {sum(sizes)} players do not make {len(sizes)} equal teams"
    if objective is None:
        return "mean" if "chance" in why else "chance"
    possible = [f"'{name}'" for name in get_args(Objective) if name not in why]
    rule = f"{' or '.join(possible)}, {' and '.join(why.values())}"
    require(objective not in why, "objective", rule, objective)
    return objective


def _ordered(lobby: Lobby, teams: int, kind: Objective, weight: float) -> _OrderedLobby:
    """Return the lobby with the top player first, and its objective."""
    order, chances = lobby.order(), None
    if kind == "chance" and lobby.model is not None:
        outlook = lobby.model.outlook(lobby.rating[order], lobby.deviation[order])
        margin = lobby.model.margin(lobby.rating) if teams == 2 else 0.0
        experience = lobby.model.experience
        known = None if experience is None else experience(lobby.player_ids[order])
        chances = Chances(outlook, teams, margin, known, lobby.model.correct)
    return _OrderedLobby(
        lobby=lobby,
        order=order,
        ids=lobby.player_ids[order],
        strength=lobby.strength[order],
        square=lobby.deviation[order] ** 2,
        weight=weight if kind == "mean" else 0.0,
        by_sum=kind == "sum",
        chances=chances,
    )


def _no_worse(
    ordered: _OrderedLobby,
    task: Task,
    solution: Solution,
    by_mean: _OrderedLobby,
    effort: Effort,
) -> Solution:
    """Return a solution that is no less fair than the best split by mean ratings and its rules."""
    least = ordered.split(solution.splits[0]).objective
    if solution.bound is None or least <= solution.bound + _ENOUGH:
        return solution
    rules = _task(by_mean, task.teams, True, True)
    kept, other = _solved(by_mean, rules, effort, 1)
    if (task.top and not kept.top) or (task.uneven and not kept.uneven):
        return solution
    teams = other.splits[0]
    if ordered.split(teams).objective >= least:
        return solution
    return replace(solution, splits=(teams, *solution.splits[:-1]))


def _task(ordered: _OrderedLobby, teams: int, top_two: bool, uneven: bool) -> Task:
    """Return the lobby as arrays, the top player first."""
    lobby, order = ordered.lobby, ordered.order
    row_of = np.empty(len(order), dtype=np.int64)
    row_of[order] = np.arange(len(order))
    avoid = sorted(
        (min(pair), max(pair))
        for pair in ((int(row_of[a]), int(row_of[b])) for a, b in lobby.avoid_rows())
    )
    chances = ordered.chances
    return Task(
        strength=centred(ordered.strength) if chances is None else chances.strength,
        rating=centred(lobby.rating[order]) if chances is None else chances.strength,
        square=ordered.square if chances is None else chances.own,
        id_rank=np.argsort(np.argsort(ordered.ids, kind="stable"), kind="stable"),
        teams=teams,
        weight=ordered.weight,
        parties=_groups(lobby.party, order),
        locks=_groups(lobby.team, order),
        avoid=tuple(avoid),
        top=top_two,
        uneven=uneven and lobby.players % teams > 0,
        chances=chances,
    )


def _groups(labels: Ids | None, order: Ints) -> tuple[tuple[int, ...], ...]:
    """Return the rows of every label, the labels in their order."""
    return tuple(rows for _, rows in _named_groups(labels, order))


def _named_groups(labels: Ids | None, order: Ints) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield every label of a party or lock, in their order, with its rows."""
    if labels is None:
        return
    ordered = labels[order].tolist()
    for name in sorted({label for label in ordered if label is not None}):
        yield name, tuple(row for row, label in enumerate(ordered) if label == name)


def _solved(ordered: _OrderedLobby, task: Task, effort: Effort, keep: int) -> tuple[Task, Solution]:
    """Return the task with the rules that can be kept, and its solution.

    Raises : InvalidDataError   there is none even without the rules that may be waived
    """
    for rules in _rules_to_try(task):
        relaxed = replace(task, top=rules[0], uneven=rules[1])
        solution = solve(relaxed, effort, keep)
        if solution is not None:
            return relaxed, solution
    raise impossible(ordered.lobby, task.teams, task, ordered.order)


def _rules_to_try(task: Task) -> Iterator[tuple[bool, bool]]:
    """Yield whether to keep the rules for top players and for uneven teams, in the order to try."""
    tops = (True, False) if task.top else (False,)
    unevens = (True, False) if task.uneven else (False,)
    yield from sorted(itertools.product(tops, unevens), key=lambda rules: (-sum(rules), rules[0]))


def solve(task: Task, effort: Effort, keep: int, start: Ints | None = None) -> Solution | None:
    """Return the `keep` best splits of a task; None if there is no split.

    start : team of every player at the start of a search; None lets it choose a start
    Raises : NoPlacementError   no split was found, though one may exist
    """
    units = units_of(task)
    if units is None:
        return None
    if task.teams == 2:
        try:
            components = bipartite_components(units)
        except ContradictionError:
            return None
        candidates = best_splits(task, units, components, keep)
        if candidates is not None:
            first_teams = ranked(task, candidates, keep)
            if not first_teams:
                return None
            everyone = set(range(task.players))
            splits = tuple((first, tuple(sorted(everyone - {*first}))) for first in first_teams)
            return Solution(splits=splits, compared=candidates.splits)
    return _searched(task, units, effort, keep, start)


def _searched(
    task: Task, units: Units, effort: Effort, keep: int, start: Ints | None
) -> Solution | None:
    # The cost of a constraint is searched for from a known split and needs no bound.
    bound = _bound(task, units) if start is None else 0.0
    if effort.whole:
        # Differences of whole sums are whole; subtract a little for rounding.
        bound = math.ceil(bound * effort.whole - 1e-6) / effort.whole
    leads = [rows[0] for rows in units.rows]

    def searched(steps: int) -> Found:
        return search(
            task,
            units,
            rng=np.random.default_rng(effort.seed),
            keep=keep,
            steps=steps,
            enough=bound if task.chances is None else bound + _ENOUGH,
            start=None if start is None else start[leads],
            in_time=effort.in_time,
        )

    every = None
    try:
        # If all splits can be compared, a short search shows which ones can be skipped.
        result = searched(min(effort.steps, _SHORT) if len(leads) <= MOST_UNITS else effort.steps)
        if len(leads) <= MOST_UNITS:
            limit = result.splits[-1][0] if len(result.splits) == keep else np.inf
            every = all_best(task, units, limit, keep) or None
            result = searched(effort.steps) if every is None and not result.stopped else result
    except NoPlacementError as missing:
        if missing.proved:
            return None
        raise
    best = result.splits if every is None else every
    splits = [_row_teams(units, team) for _, team in best]
    return Solution(
        splits=tuple(ranked_teams(task, splits, [objective for objective, _ in best])[:keep]),
        bound=bound if every is None else None,
        stopped=result.stopped and every is None,
    )


def _bound(task: Task, units: Units) -> float:
    """Return a lower bound of the objective."""
    if task.chances is None:
        return lower_bound(task, units)
    if not task.chances.adds:
        return task.chances.bound_of(lower_bound(task, units))
    if task.larger_teams == 0:
        # The sums of equal teams differ by as many times their means as they have players.
        return task.chances.bound_of(lower_bound(task, units) * task.smaller)
    return task.chances.bound_of(task.chances.uneven_span())


def _row_teams(units: Units, team: Ints) -> RowTeams:
    """Return the rows of every team, the team of the top player first."""
    of_player = team[units.of_player]
    teams = [tuple(np.flatnonzero(of_player == team).tolist()) for team in np.unique(of_player)]
    return tuple(sorted(teams))


def _constraints(
    ordered: _OrderedLobby,
    task: Task,
    solution: Solution,
    effort: Effort,
    rules: tuple[bool, bool],
    costs: bool,
) -> tuple[Constraint, ...]:
    """Return every constraint, whether it was kept, and J without it."""
    least = ordered.split(solution.splits[0]).objective
    start = np.empty(task.players, dtype=np.int64)
    for number, team in enumerate(solution.splits[0]):
        start[list(team)] = number
    effort = replace(effort, steps=effort.steps // _COST_SHARE)
    constraints = []
    for kind, rows, label, without in _relaxed(ordered, task, rules):
        about = Constraint(
            kind=kind,
            players=tuple(ordered.ids[list(rows)].tolist()),
            label=label,
            status="held",
            objective_without=None,
        )
        if without is None:
            constraints.append(replace(about, status="waived", objective_without=least))
            continue
        other = None
        if costs and effort.in_time():
            solved = solve(without, effort, 1, start)
            other = (
                None if solved is None else min(ordered.split(solved.splits[0]).objective, least)
            )
        constraints.append(replace(about, objective_without=other))
    return tuple(constraints)


def _relaxed(
    ordered: _OrderedLobby, task: Task, rules: tuple[bool, bool]
) -> Iterator[tuple[ConstraintKind, tuple[int, ...], str | None, Task | None]]:
    """Yield the kind, rows and label of every constraint, and the task without it or None.

    The task is None if the constraint is waived.

    The other constraints stay as they were kept. For example, top players of one party need not be
    separated when the party is left out.
    """
    lobby, top_pairs = ordered.lobby, _top_pairs(task)
    kept = replace(task, top=False, avoid=task.avoid + top_pairs)
    if rules[0]:
        held = task.top and len(top_pairs) == task.teams * (task.teams - 1) // 2
        top = tuple(range(task.teams))
        yield "top-two", top, None, replace(task, top=False) if held else None
    if rules[1] and task.larger_teams:
        yield "uneven", (0,), None, replace(kept, uneven=False) if task.uneven else None
    for name, rows in _named_groups(lobby.party, ordered.order):
        if len(rows) > 1:
            others = tuple(party for party in task.parties if party != rows)
            yield "party", rows, name, replace(kept, parties=others)
    for name, rows in _named_groups(lobby.team, ordered.order):
        for row in rows:
            locks = [tuple(r for r in lock if r != row) for lock in task.locks]
            without = replace(kept, locks=tuple(lock for lock in locks if lock))
            yield "lock", (row,), name, without
    for pair in task.avoid:
        rest = tuple(other for other in task.avoid if other != pair)
        yield "avoid", pair, None, replace(kept, avoid=rest + top_pairs)


def _top_pairs(task: Task) -> tuple[tuple[int, int], ...]:
    """Return the pairs of top players that must be separated: players of different units."""
    units = units_of(task)
    if not task.top or units is None:
        return ()
    unit = units.of_player[: task.teams].tolist()
    pairs = itertools.combinations(range(task.teams), 2)
    return tuple((one, other) for one, other in pairs if unit[one] != unit[other])


def _answer(
    ordered: _OrderedLobby,
    solution: Solution,
    constraints: tuple[Constraint, ...],
    kind: Objective,
) -> Balance:
    splits = [ordered.split(teams) for teams in solution.splits]
    best = splits[0]
    bound = best.objective
    if solution.bound is not None:
        size = ordered.lobby.players // len(best.teams) if ordered.by_sum else 1
        bound = min(solution.bound * size, best.objective)
    return Balance(
        best=best,
        constraints=constraints,
        alternatives=tuple(splits[1:]),
        bound=bound,
        gap=best.objective - bound,
        objective_kind=kind,
        compared=solution.compared,
        stopped=solution.stopped,
        notes=tuple(_notes(ordered.lobby, best.teams, kind)),
    )


def _notes(lobby: Lobby, teams: Teams, kind: Objective) -> Iterator[str]:
    """Yield notes on what the objective does not count."""
    if kind == "chance":
        return
    if not lobby.deviation.any():
        by = "rating" if np.array_equal(lobby.strength, lobby.rating) else "effective rating"
        yield f"The lobby has no deviations: it is balanced by {by} alone (deviation 0)."
    sizes = [len(team) for team in teams]
    if lobby.model is not None and not lobby.model.fits(sizes):
        yield f"{lobby.model.by} cannot predict such teams, so their ratings are compared."
    if min(sizes) != max(sizes):
        yield "The sizes of the teams differ, and a comparison of mean ratings ignores this."
