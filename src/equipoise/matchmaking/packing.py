"""Whether parties fit into the teams of an alliance."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from equipoise.data.matchmaking import Alliance

#: Largest number of placements tried for parties.
_STEPS = 5_000
#: Number of parties up to which every division is tried.
FEW = 48
#: Largest number of divisions compared where players must be kept apart.
DIVISIONS = 500


class TooManyStepsError(Exception):
    """Too many placements were tried."""


class Fit(NamedTuple):
    """Whether parties fit into teams, None if that takes too many placements; and their number."""

    possible: bool | None
    steps: int


@lru_cache(maxsize=1 << 16)
def fits(sizes: tuple[int, ...], alliance: Alliance, loads: tuple[int, ...] | None) -> Fit:
    """Return whether parties fit into teams.

    sizes : players of each party, the largest first
    loads : players already in each team of a session, which needs no minimum; None for a new match
    """
    if loads is None and _levelled(sizes, alliance):
        return Fit(True, 0)
    if loads is None and len(sizes) > FEW:
        return Fit(None, 0)
    steps = [_STEPS]
    try:
        possible = next(divisions(sizes, alliance, loads, steps=steps), None) is not None
    except TooManyStepsError:
        return Fit(None, _STEPS)
    return Fit(possible, _STEPS - steps[0])


def _levelled(sizes: tuple[int, ...], alliance: Alliance) -> bool:
    """Return whether giving each party to the smallest team makes teams of allowed sizes."""
    low, high, least, most = alliance
    total = sum(sizes)
    teams = max(low, -(-total // most))
    if teams > min(high, len(sizes)) or teams * least > total:
        return False
    load = [0] * teams
    for size in sizes:
        heapq.heapreplace(load, load[0] + size)
    return load[0] >= least and max(load) <= most


def divisions(
    sizes: Sequence[int],
    alliance: Alliance,
    loads: tuple[int, ...] | None,
    apart: Sequence[Collection[int]] = (),
    closed: Sequence[Collection[int]] = (),
    steps: list[int] | None = None,
) -> Iterator[tuple[int, ...]]:
    """Yield divisions as the team of each party; those with the most teams come first.

    apart : for each party, the parties that must be in another team
    closed : for each party, the teams of a session that it may not join
    steps : number of placements that may still be tried, in a list; it is counted down
    """
    low, high, least, most = alliance
    total = sum(sizes) + sum(loads or ())
    if loads is None:
        counts = range(min(high, len(sizes), total // least), low - 1, -1)
    else:
        least = 0
        used = max((at + 1 for at, load in enumerate(loads) if load), default=0)
        teams = min(high, max(len(loads), used) + len(sizes))
        counts = range(teams, teams - 1, -1)
    steps = [_STEPS] if steps is None else steps

    def barred(at: int, team: int, chosen: Sequence[int]) -> bool:
        if closed and team in closed[at]:
            return True
        others = (other for other in (apart[at] if apart else ()) if other < len(chosen))
        return any(chosen[other] == team for other in others)

    rest = [sum(sizes[at:]) for at in range(len(sizes) + 1)]
    for teams in counts:
        if total > teams * most:
            return
        load = list(loads or ())[:teams] + [0] * (teams - len(loads or ()))
        chosen: list[int] = []

        def place(at: int, load: list[int] = load, chosen: list[int] = chosen) -> Iterator[None]:
            team = -1
            while True:
                steps[0] -= 1
                if steps[0] < 0:
                    raise TooManyStepsError
                team = _next_team(team + 1, load, sizes[at], most)
                while team < len(load) and barred(at, team, chosen):
                    team = _next_team(team + 1, load, sizes[at], most)
                if team == len(load) or sum(least - x for x in load if x < least) > rest[at]:
                    return
                chosen.append(team)
                load[team] += sizes[at]
                yield
                load[chosen.pop()] -= sizes[at]

        for _ in backtrack(len(sizes), place):
            if min(load) >= least:
                yield tuple(chosen)


def backtrack(depth: int, choices: Callable[[int], Iterator[None]]) -> Iterator[None]:
    """Yield whenever a choice is made at every level, depth first.

    choices : of a level, makes a choice before it yields, and takes it back when it goes on
    """
    levels = [choices(0)] if depth else []
    if not depth:
        yield
    while levels:
        if next(levels[-1], levels) is levels:
            levels.pop()
        elif len(levels) == depth:
            yield
        else:
            levels.append(choices(len(levels)))


def _next_team(start: int, load: list[int], size: int, most: int) -> int:
    """Return the next team with room; of teams without players only the first."""
    for team in range(start, len(load)):
        if load[team] + size <= most and not (load[team] == 0 and 0 in load[:team]):
            return team
    return len(load)
