"""Solving a task: exactly where two teams or few players allow it, else by search with a bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Ints
from equipoise.balance.bound import lower_bound
from equipoise.balance.exhaustive import MOST_UNITS, all_best
from equipoise.balance.packing import NoPlacementError
from equipoise.balance.ranking import ranked, ranked_teams
from equipoise.balance.search import Found, search
from equipoise.balance.task import Task, Units, units_of
from equipoise.balance.two_sides import ContradictionError, knots_of
from equipoise.balance.two_teams import best_splits

#: Steps of the search before all splits are looked at.
_SHORT = 60
#: Rows of the players of every team.
RowTeams = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a search may take.

    steps : pairs of teams laid anew, at most
    seed : of its random choices
    in_time : asked after every step
    whole : strengths are whole numbers, of which `whole` times a J without uncertainty is one
    """

    steps: int
    seed: int
    in_time: Callable[[], bool] = lambda: True
    whole: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The best splits, the best first.

    bound : proved for J; None where the first split is proved to be the best
    compared : number of splits there are, where all were looked at or passed over
    """

    splits: tuple[RowTeams, ...]
    bound: float | None = None
    compared: int | None = None
    stopped: bool = False


def solve(task: Task, effort: Effort, keep: int, start: Ints | None = None) -> Solution | None:
    """Return the `keep` best splits of a task; None where there is no split at all.

    start : team of every player, from which a search sets out
    Raises : NoPlacementError   none was found, but that none exists is not proved
    """
    units = units_of(task)
    if units is None:
        return None
    if task.teams == 2:
        try:
            knots = knots_of(units)
        except ContradictionError:
            return None
        found = best_splits(task, units, knots, keep)
        if found is not None:
            first_teams = ranked(task, found, keep)
            if not first_teams:
                return None
            splits = tuple(_with_rest(task, first) for first in first_teams)
            return Solution(splits=splits, compared=found.splits)
    return _searched(task, units, effort, keep, start)


def _with_rest(task: Task, first: tuple[int, ...]) -> RowTeams:
    return first, tuple(sorted(set(range(task.players)) - set(first)))


def _searched(
    task: Task, units: Units, effort: Effort, keep: int, start: Ints | None
) -> Solution | None:
    # What a constraint cost is looked for from a split that is known, and needs no bound.
    bound = lower_bound(task, units) if start is None else 0.0
    if effort.whole:
        # Differences of whole sums are whole; less a little for rounding.
        bound = math.ceil(bound * effort.whole - 1e-6) / effort.whole
    leads = [rows[0] for rows in units.rows]

    def look(steps: int) -> Found:
        return search(
            task,
            units,
            rng=np.random.default_rng(effort.seed),
            keep=keep,
            steps=steps,
            enough=bound,
            start=None if start is None else start[leads],
            in_time=effort.in_time,
        )

    every = None
    try:
        # Where all splits can be looked at, a short search tells which need not be.
        found = look(min(effort.steps, _SHORT) if len(leads) <= MOST_UNITS else effort.steps)
        if len(leads) <= MOST_UNITS:
            limit = found.plans[-1][0] if len(found.plans) == keep else np.inf
            every = all_best(task, units, limit, keep) or None
            found = look(effort.steps) if every is None and not found.stopped else found
    except NoPlacementError as missing:
        if missing.proved:
            return None
        raise
    plans = found.plans if every is None else every
    splits = [_row_teams(units, team) for _, team in plans]
    return Solution(
        splits=tuple(ranked_teams(task, splits, [one for one, _ in plans])[:keep]),
        bound=bound if every is None else None,
        stopped=found.stopped and every is None,
    )


def _row_teams(units: Units, team: Ints) -> RowTeams:
    """Return the rows of every team, the team of the top player first."""
    of_player = team[units.of_player]
    teams = [tuple(np.flatnonzero(of_player == one).tolist()) for one in np.unique(of_player)]
    return tuple(sorted(teams))
