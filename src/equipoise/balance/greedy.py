"""Greedy: the party with the largest total goes to the team with the least, one by one.

Source: [MR]_ "Greedy"; READINGS D6. Step 3 of the document's table reads {G,H}. Departures: where
no attribute counts, a party's total is its size.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

from equipoise.balance.placing import Placing

#: Teams in all steps together that are listed; a match of thousands has steps nobody reads.
MOST_LISTED = 200_000


@dataclass(frozen=True, slots=True)
class GreedyStep:
    """Teams in the order of their totals (and these), who is placed, and where."""

    order: tuple[tuple[int, int], ...]
    party: int
    team: int


@dataclass(frozen=True, slots=True)
class Filled:
    """What the method did.

    order : parties, the largest total first; team_of : of every party, -1 for those left
    steps : empty where there would be too many
    stranded : the party for whom no team had room, which ends it; None: all are placed
    """

    order: tuple[int, ...]
    team_of: tuple[int, ...]
    steps: tuple[GreedyStep, ...]
    stranded: int | None


def fill(placing: Placing) -> Filled:
    """Return where the greedy method places every party.

    Ties: parties by arrival, teams by their number. Among equal totals arrival decides.
    """
    order = sorted(range(placing.parties), key=lambda party: (-placing.weight(party), party))
    counts = list(placing.counts)
    sums = placing.counts if placing.by_size else placing.sums
    teams = sorted((total, team) for team, total in enumerate(sums))
    team_of = [-1] * placing.parties
    listed = placing.parties * placing.teams <= MOST_LISTED
    steps: list[GreedyStep] = []
    for party in order:
        size = placing.sizes[party]
        at = _first_with_room(teams, counts, placing.capacity - size)
        if at is None:
            return Filled(tuple(order), tuple(team_of), tuple(steps), party)
        if listed:
            before = tuple((team, total) for total, team in teams)
            steps.append(GreedyStep(before, party, teams[at][1]))
        total, team = teams.pop(at)
        counts[team] += size
        team_of[party] = team
        bisect.insort(teams, (total + placing.weight(party), team))
    return Filled(tuple(order), tuple(team_of), tuple(steps), None)


def _first_with_room(teams: list[tuple[int, int]], counts: list[int], most: int) -> int | None:
    """Return the place of the first team with at most so many players; None where there is none."""
    for at, (_, team) in enumerate(teams):
        if counts[team] <= most:
            return at
    return None
