"""Worse places by their definition: the whole pool is put back before every match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.history import History
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem


def matches_of(history: History, player: int) -> list[int]:
    """Return the matches of two or more teams that a player is in."""
    teams = history.teams()
    rows = history.match_rows()
    return [int(m) for m in rows[history.player == player] if teams[m] > 1]


def all_ranks(history: History, match: int, player: int) -> list[Ints]:
    """Return the ranks of a match as it was, then with every worse place of the player's team.

    The others keep their order. Worse is: fewer teams are strictly below, or tied, than before.
    """
    span = slice(int(history.offsets[match]), int(history.offsets[match + 1]))
    rank, team, who = history.rank[span], history.team[span], history.player[span]
    own = team == team[who == player][0]

    def standing(ranks: Ints) -> float:
        mine = ranks[own][0]
        others = {int(t): int(r) for t, r in zip(team[~own], ranks[~own], strict=True)}
        return sum(1.0 if r > mine else 0.5 if r == mine else 0.0 for r in others.values())

    found = {standing(rank): rank}
    for half in range(2 * int(rank.max()) + 2):
        moved = np.where(own, half, 2 * rank)
        dense = np.unique(moved, return_inverse=True)[1].astype(np.int64)
        found.setdefault(standing(dense), dense)
    return [found[score] for score in sorted(found, reverse=True) if score <= standing(rank)]


def with_ranks(history: History, changed: dict[int, Ints]) -> History:
    rank = history.rank.copy()
    for match, ranks in changed.items():
        rank[history.offsets[match] : history.offsets[match + 1]] = ranks
    return replace(history, rank=rank)


def states_before(system: RatingSystem, history: History) -> list[State]:
    """Return everybody's state before every match of the honest history."""
    state, states = system.initial(history.players), []
    for match in range(history.matches):
        states.append(state.copy())
        system.run(state, history, match, match + 1)
    return states


def frozen_ratings(
    system: RatingSystem, honest: History, player: int, changed: dict[int, Ints]
) -> Floats:
    """Return the player's rating after each match, all others being put back before it."""
    recorded, altered = states_before(system, honest), with_ranks(honest, changed)
    others = np.delete(np.arange(honest.players), player)
    state, ratings = system.initial(honest.players), []
    for match in matches_of(honest, player):
        state.put(others, recorded[match].take(others))
        system.run(state, altered, match, match + 1)
        ratings.append(rating(system, state, player))
    return np.array(ratings)


def replayed_ratings(
    system: RatingSystem, honest: History, player: int, changed: dict[int, Ints]
) -> Floats:
    """Return the player's rating after each match, everything being rated anew."""
    altered, state, ratings = with_ranks(honest, changed), system.initial(honest.players), []
    mine = matches_of(honest, player)
    for match in range(honest.matches):
        system.run(state, altered, match, match + 1)
        if match in mine:
            ratings.append(rating(system, state, player))
    return np.array(ratings)


def rating(system: RatingSystem, state: State, player: int) -> float:
    return float(system.at(state, np.array([player]), None)["rating"][0])


def best(
    system: RatingSystem, history: History, player: int, matches: Sequence[int], *, frozen: bool
) -> tuple[float, int]:
    """Return the highest last rating over all combinations of worse places, and their number."""
    ratings = frozen_ratings if frozen else replayed_ratings
    options = [all_ranks(history, match, player) for match in matches]
    finals = [
        ratings(system, history, player, dict(zip(matches, ranks, strict=True)))[-1]
        for ranks in product(*options)
    ]
    return float(max(finals)), len(finals)
