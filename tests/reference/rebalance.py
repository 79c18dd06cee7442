"""Rebalancing as the document says it: every sequence, one by one. Slow and obvious.

Source: [MR], READINGS D. Parties are lists of (player, value); a team is a list of parties.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

TOLERANCE = 1e-9

Party = list[tuple[str, float]]
Team = list[Party]


@dataclass(frozen=True)
class Lobby:
    """Parties, the teams they find, and how many players a team has."""

    parties: list[Party]
    teams: list[Team]
    least: int
    most: int


@dataclass
class Row:
    """A sequence and its teams."""

    sequence: list[Party]
    teams: list[Team]

    @property
    def difference(self) -> int:
        return difference(self.teams)

    @property
    def distance(self) -> float:
        return distance(self.teams)


def count(team: Team) -> int:
    return sum(len(party) for party in team)


def total(team: Team) -> float:
    return sum(value for party in team for _, value in party)


def difference(teams: list[Team]) -> int:
    counts = [count(team) for team in teams]
    return max(counts) - min(counts)


def distance(teams: list[Team]) -> float:
    """Return D1: the sum of |team mean - mean of the team means|; empty teams do not count."""
    means = [total(team) / count(team) for team in teams if count(team)]
    if not means:
        return 0.0
    middle = sum(means) / len(means)
    return sum(abs(mean - middle) for mean in means)


def swap_order(items: list[int], k: int = 0) -> Iterator[list[int]]:
    """Yield all orders as D2 says: swap(k, i), recurse, swap back."""
    if k == len(items):
        yield list(items)
        return
    for i in range(k, len(items)):
        items[k], items[i] = items[i], items[k]
        yield from swap_order(items, k + 1)
        items[k], items[i] = items[i], items[k]


def permutation_rows(lobby: Lobby) -> Iterator[Row]:
    """Yield every sequence that places everyone."""
    for order in swap_order(list(range(len(lobby.parties)))):
        sequence = [lobby.parties[one] for one in order]
        teams = placed(lobby, sequence)
        if teams is not None:
            yield Row(sequence, teams)


def placed(lobby: Lobby, sequence: list[Party]) -> list[Team] | None:
    """Return the teams of a sequence by D2; None where somebody finds no room."""
    teams = [list(team) for team in lobby.teams]
    for party in sequence:
        best = None
        for at, team in enumerate(teams):
            if count(team) + len(party) > lobby.most:
                continue
            after = [[*one, party] if one is team else one for one in teams]
            new = (difference(after), distance(after), at)
            if (
                best is None
                or new[0] < best[0]
                or (new[0] == best[0] and new[1] < best[1] - TOLERANCE)
            ):
                best = new
        if best is None:
            return None
        teams[best[2]] = [*teams[best[2]], party]
    return teams if all(count(team) >= lobby.least for team in teams) else None


def combination_rows(lobby: Lobby) -> Iterator[Row]:
    """Yield D3: every choice of parties that fills team 1, then team 2 from the rest, and so on.

    Of choices that begin alike the one with more parties comes first.
    """

    def fill(at: int, left: list[int]) -> Iterator[list[list[int]]]:
        if at == len(lobby.teams):
            if not left:
                yield []
            return
        choices = [
            choice
            for size in range(len(left) + 1)
            for choice in itertools.combinations(left, size)
            if lobby.least
            <= count(lobby.teams[at]) + sum(len(lobby.parties[one]) for one in choice)
            <= lobby.most
        ]
        for choice in sorted(choices, key=lambda one: (*one, len(lobby.parties))):
            rest = [one for one in left if one not in choice]
            for others in fill(at + 1, rest):
                yield [list(choice), *others]

    for filling in fill(0, list(range(len(lobby.parties)))):
        teams = [
            [*team, *(lobby.parties[one] for one in chosen)]
            for team, chosen in zip(lobby.teams, filling, strict=True)
        ]
        yield Row([lobby.parties[one] for chosen in filling for one in chosen], teams)


def all_rows(lobby: Lobby) -> Iterator[Row]:
    """Yield every assignment of parties to teams that keeps the sizes."""
    for assigned in itertools.product(range(len(lobby.teams)), repeat=len(lobby.parties)):
        teams = [list(team) for team in lobby.teams]
        for party, at in zip(lobby.parties, assigned, strict=True):
            teams[at].append(party)
        if all(lobby.least <= count(team) <= lobby.most for team in teams):
            yield Row(lobby.parties, teams)


def best(rows: list[Row]) -> Row:
    """Return D4: the least difference, then the least distance; of equals the last."""
    least = min(row.difference for row in rows)
    rows = [row for row in rows if row.difference == least]
    shortest = min(row.distance for row in rows)
    return [row for row in rows if row.distance <= shortest + TOLERANCE][-1]


def greedy_teams(lobby: Lobby) -> list[Team] | None:
    """Return D6: the largest total first, to the least total with room; None: no room."""
    teams = [list(team) for team in lobby.teams]
    for party in sorted(lobby.parties, key=lambda one: -total([one])):
        open_ = [team for team in teams if count(team) + len(party) <= lobby.most]
        if not open_:
            return None
        min(open_, key=total).append(party)
    return teams if all(count(team) >= lobby.least for team in teams) else None
