"""Why a lobby cannot be split, in words: what is always kept may leave no split at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from equipoise.arrays import Ints
from equipoise.balance.task import Task, units_of
from equipoise.balance.two_sides import ContradictionError, knots_of
from equipoise.data.lobby import Lobby
from equipoise.errors import InvalidDataError
from equipoise.wording import counted

#: Players named in a sentence.
_NAMED = 6


def impossible(lobby: Lobby, teams: int, task: Task, order: Ints) -> InvalidDataError:
    """Return the error that says why no split keeps parties, locks and avoid pairs."""
    ids = [str(one) for one in lobby.player_ids[order].tolist()]
    reason = (
        _too_many_locks(lobby, teams)
        or _too_large(lobby, task)
        or _too_large_together(task, ids)
        or _together_and_apart(task, ids)
        or (_ring(task, ids) if teams == 2 else "")
        or _nothing_fits(task)
    )
    return InvalidDataError([], reason)


def _too_many_locks(lobby: Lobby, teams: int) -> str:
    labels = _labels(lobby, "team")
    if len(labels) <= teams:
        return ""
    named = _listed(sorted(labels))
    return f"players are locked to {len(labels)} teams ({named}), but only {teams} are made"


def _too_large(lobby: Lobby, task: Task) -> str:
    """Return which party, or which lock, has more players than a team has places."""
    for name, said in (
        ("party", "party {0!r} has {1} players"),
        ("team", "{1} players are locked to team {0!r}"),
    ):
        for label, count in _labels(lobby, name).items():
            if count > task.largest:
                places = f"{task.largest} place{'' if task.largest == 1 else 's'}"
                return (
                    f"{said.format(label, count)}, but the largest of {task.teams} teams of "
                    f"{task.players} players has {places}"
                )
    return ""


def _labels(lobby: Lobby, name: str) -> dict[str, int]:
    """Return the labels of parties or locks and how many players have each."""
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


def _together_and_apart(task: Task, ids: Sequence[str]) -> str:
    """Return which pair avoids each other although others tie them together."""
    for one, other in task.avoid:
        if units_of(_kept(task, avoid=((one, other),))) is None:
            return (
                f"{ids[one]} and {ids[other]} avoid each other, but parties and locks keep them "
                "together"
            )
    if units_of(_kept(task, avoid=())) is None:
        return "parties tie together players who are locked to different teams"
    return ""


def _ring(task: Task, ids: Sequence[str]) -> str:
    units = units_of(_kept(task, avoid=task.avoid))
    if units is None:
        return ""
    try:
        knots_of(units)
    except ContradictionError as found:
        names = [ids[units.rows[unit][0]] for unit in found.units]
        return (
            f"two teams cannot keep all of these apart who avoid each other or are locked: "
            f"{_listed(names)}"
        )
    return ""


def _nothing_fits(task: Task) -> str:
    sizes = [task.smaller] * (task.teams - task.larger_teams)
    sizes += [task.smaller + 1] * task.larger_teams
    places = _listed([str(size) for size in sizes])
    return (
        f"no split into teams of {places} players keeps all parties, locks and avoid pairs: "
        "leave one out, or change the number of teams"
    )


def _kept(task: Task, avoid: tuple[tuple[int, int], ...]) -> Task:
    """Return the task with only what is never waived."""
    return replace(task, top=False, uneven=False, avoid=avoid)


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in words, the first few."""
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
