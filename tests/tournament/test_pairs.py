"""Gathering games to pairs: against a dictionary, and compiled against NumPy, bit by bit."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from equipoise.data.games import Games
from equipoise.tournament.pairs import gather_pairs, with_prior
from tournament.tournaments import random_games


def by_hand(games: Games, coloured: bool) -> dict[tuple[int, int], list[float]]:
    """Return weight, points and draws of every pair, summed in the order of the games."""
    found: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    draws = np.full(games.rows, np.nan) if games.draws is None else games.draws
    rows = zip(games.white, games.black, games.points, games.weights, draws, strict=True)
    for white, black, points, weight, drawn in rows:
        turned = white > black and not coloured
        cell = found[(black, white) if turned else (white, black)]
        cell[0] += weight
        cell[1] += weight - points if turned else points
        cell[2] += drawn
    return dict(sorted(found.items()))


def tournament(players: int, games: int, *, weighted: bool, drawn: bool) -> Games:
    """Return games with everything that may be missing."""
    plain = random_games(players, games, 3)
    rng = np.random.default_rng(4)
    weight = rng.uniform(0.1, 3.0, plain.rows) if weighted else None
    points = plain.points * plain.weights if weight is None else plain.points * weight
    draws = np.minimum(points, plain.weights - points) if drawn and not weighted else None
    return replace(plain, points=points, weight=weight, draws=draws)


@pytest.mark.parametrize("coloured", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("players", "games"), [(6, 300), (1500, 900)])
def test_pairs_are_what_a_dictionary_gathers(players, games, weighted, coloured):
    """Three ways (a table of all pairs, sorting, compiled), the same bits."""
    data = tournament(players, games, weighted=weighted, drawn=True)
    truth = by_hand(data, coloured)
    for many in (10**9, 0):
        found = gather_pairs(data, coloured=coloured, many_results=many)
        assert list(zip(found.first, found.second, strict=True)) == list(truth)
        columns = np.array(list(truth.values()))
        assert np.array_equal(found.weight, columns[:, 0])
        assert np.array_equal(found.points, columns[:, 1])
        assert np.array_equal(found.draws, columns[:, 2], equal_nan=True)


def test_no_games_are_no_pairs():
    """Also where nobody plays at all."""
    for many in (10**9, 0):
        for players in (0, 3):
            data = Games(player_ids=np.arange(players), white=[], black=[], points=[])
            assert [len(column) for column in gather_pairs(data, many_results=many)] == [0] * 5


def test_a_long_row_is_sorted_too():
    """One player meets 200 others, twice, in no order: rows beyond insertion sort."""
    others = np.random.default_rng(0).permutation(np.tile(np.arange(1, 201), 2))
    white = np.zeros(400, dtype=int)
    data = Games(player_ids=np.arange(201), white=white, black=others, points=np.ones(400))
    found = gather_pairs(data, many_results=0)
    assert np.array_equal(found.second, np.arange(1, 201))
    assert np.array_equal(found.weight, np.full(200, 2.0))
    assert np.array_equal(found.points, np.full(200, 2.0))


@pytest.mark.parametrize("coloured", [False, True])
def test_a_prior_is_drawn_games_against_one_more_player(coloured):
    """Everyone who played draws `games`; colours are shared; nobody counts them as known draws."""
    data = Games(
        player_ids=np.arange(4), white=[0, 2, 0], black=[2, 0, 3], points=[1, 1, 0.5], coloured=True
    )
    before = gather_pairs(data, coloured=coloured)
    after = with_prior(before, 4, 3.0, coloured=coloured)
    more = np.array([3, 0, 3, 3, 9])
    assert np.array_equal(after.played(5), before.played(5) + more)
    assert np.array_equal(after.scored(5), before.scored(5) + more / 2)
    keys = after.first * 5 + after.second
    assert np.all(np.diff(keys) > 0)
    with_virtual = (after.first == 4) | (after.second == 4)
    assert np.all(np.isnan(after.draws[with_virtual]))
    if coloured:
        assert after.weight[after.first == 4].sum() == after.weight[after.second == 4].sum() == 4.5
