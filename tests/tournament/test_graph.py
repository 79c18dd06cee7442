"""Existence of finite ratings: against the document's own condition, and slow reachability."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.games import Games
from equipoise.tournament.existence import Existence, existence
from equipoise.tournament.pairs import gather_pairs
from reference import existence as slow
from tournament.tournaments import pairs_of, result_lists

COLUMNS = ("component", "class_of", "above", "below", "games")


def found(players, results, **options) -> Existence:
    return existence(pairs_of(players, results), players, **options)


def relation(answer: Existence, a: int, b: int) -> str:
    """Return how class a stands to class b by chains of sweeps."""
    down, up = bool(answer._reach[a, b]), bool(answer._reach[b, a])
    return {(1, 1): "same", (1, 0): "above", (0, 1): "below", (0, 0): "incomparable"}[down, up]


def test_every_tournament_of_up_to_four_players() -> None:
    """4,164 tournaments: each pair did not meet, was won, lost, or split. [PRE] Theorem 1."""
    count = 0
    for players in (2, 3, 4):
        pairs = list(combinations(range(players), 2))
        for points in product((None, 0.0, 1.0, 0.5), repeat=len(pairs)):
            results = [
                (i, j, 1.0, got)
                for (i, j), got in zip(pairs, points, strict=True)
                if got is not None
            ]
            count += 1
            assert found(players, results).exists == slow.exists(players, results), results
    assert count == 4 + 64 + 4096


@examples(150)
@given(result_lists(max_players=7))
def test_sweeps_tell_exactly_the_cuts_at_which_non_dominance_fails(tournament) -> None:
    """S sweeps the rest if and only if it holds whole classes, with all that stand above them.

    And each sweep named is part of such a cut: that of the winners with all above them.
    """
    players, results = tournament
    answer = found(players, results)
    for component in slow.components(players, results):
        numbers = sorted({int(answer.class_of[i]) for i in component})
        closed = []
        for size in range(1, len(numbers)):
            for chosen in combinations(numbers, size):
                ups = {a for a in numbers for b in chosen if relation(answer, a, b) == "above"}
                if ups <= set(chosen):
                    closed.append({i for i in component if answer.class_of[i] in chosen})
        cuts = slow.dominated_cuts(component, results)
        assert sorted(map(sorted, cuts)) == sorted(map(sorted, closed))
        for a, b in zip(answer.above, answer.below, strict=True):
            if a in numbers:
                over = {i for i in component if relation(answer, answer.class_of[i], a) == "above"}
                winners = over | set(answer.members(a).tolist())
                assert winners in cuts
                assert not winners & set(answer.members(b).tolist())


@examples(200)
@given(result_lists(max_players=9, max_results=22), st.data())
def test_components_classes_and_sweeps_are_those_of_slow_reachability(tournament, data) -> None:
    """With contracted players too: the reference calls all of them by one name."""
    players, results = tournament
    anchors = data.draw(st.lists(st.integers(0, players - 1), max_size=4))
    contracted = np.array(anchors, dtype=np.int64)
    answer = found(players, results, contracted=contracted)
    renamed, node = slow.joined(results, anchors)
    rows = np.array([node.get(i, i) for i in range(players)])
    components = slow.components(players, renamed)
    classes = slow.classes(players, renamed)
    for numbers, parts in ((answer.component, components), (answer.class_of, classes)):
        expected = [
            next((k for k, part in enumerate(parts) if i in part), -1) for i in rows.tolist()
        ]
        assert numbers.tolist() == expected
    assert (answer.components, answer.classes) == (len(components), len(classes))
    arcs = zip(answer.above.tolist(), answer.below.tolist(), strict=True)
    assert dict(zip(arcs, answer.games.tolist(), strict=True)) == slow.sweeps(players, renamed)
    arcs = list(zip(answer.above.tolist(), answer.below.tolist(), strict=True))
    assert arcs == sorted(arcs)
    assert answer.exists == (not arcs)


@examples(100)
@given(result_lists(max_players=9, max_results=20))
def test_the_partial_order_is_reachability(tournament) -> None:
    players, results = tournament
    answer = found(players, results)
    arcs, apart = slow.took_points(results), []
    for a, b in product(range(answer.classes), repeat=2):
        first, second = int(answer.members(a)[0]), int(answer.members(b)[0])
        down, up = second in slow.reachable(first, arcs), first in slow.reachable(second, arcs)
        names = {(1, 1): "same", (1, 0): "above", (0, 1): "below", (0, 0): "incomparable"}
        assert relation(answer, a, b) == names[down, up]
        if a < b and not (down or up) and answer.component[first] == answer.component[second]:
            apart.append([a, b])
    assert answer.incomparable_pairs().tolist() == apart


def random_tournament(seed: int, players: int, results: int) -> Games:
    rng = np.random.default_rng(seed)
    white = rng.integers(0, players, results)
    black = (white + rng.integers(1, players, results)) % players
    weight = rng.choice([0.5, 1.0, 3.0], results)
    better = (white < black) ^ (rng.random(results) < 0.1)
    return Games(
        player_ids=np.arange(players),
        white=white,
        black=black,
        weight=weight,
        points=weight * np.where(rng.random(results) < 0.05, 0.5, better),
    )


@pytest.mark.parametrize("seed", range(0, 12, 3))
@pytest.mark.parametrize("contracted", [None, np.array([7, 2, 5, 11, 3])])
def test_kernels_and_plain_python_give_the_same_numbers(seed, contracted) -> None:
    """Of sizes from a dozen to two thousand players."""
    players = (12, 40, 300, 2000)[seed % 4]
    pairs = gather_pairs(random_tournament(seed, players, int(players * (0.7 + 0.3 * seed))))
    plain = existence(pairs, players, contracted=contracted, plain=True)
    compiled = existence(pairs, players, contracted=contracted, plain=False)
    assert (plain.exists, plain.components, plain.classes) == (
        compiled.exists,
        compiled.components,
        compiled.classes,
    )
    for name in COLUMNS:
        one, other = getattr(plain, name), getattr(compiled, name)
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    assert np.all(plain.above < plain.below)
    assert plain.classes > 1


@pytest.mark.parametrize("plain", [True, False])
def test_long_chains_need_no_recursion(plain) -> None:
    """Each of 5,000 players beat the next: 5,000 classes in a row; a last result closes a ring."""
    players = 5_000
    chain = [(i, i + 1, 1.0, 1.0) for i in range(players - 1)]
    answer = found(players, chain, plain=plain)
    assert answer.class_of.tolist() == list(range(players))
    assert relation(answer, 0, players - 1) == "above"
    assert relation(answer, players - 1, 0) == "below"
    ring = found(players, [*chain, (0, players - 1, 1.0, 0.0)], plain=plain)
    assert (ring.exists, ring.classes) == (True, 1)


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("players", [0, 3])
def test_a_tournament_without_games_has_no_components(players, plain) -> None:
    """Nothing is in the way of ratings then."""
    answer = found(players, [], plain=plain)
    assert (answer.exists, answer.components, answer.classes) == (True, 0, 0)
    assert answer.component.tolist() == answer.class_of.tolist() == [-1] * players
    assert answer.sweeps_of(np.arange(players)) == ()


def test_sweeps_have_ids_in_the_order_of_rows_and_differences() -> None:
    games = Games.from_arrays(["bo", "al", "cy", "bo"], ["al", "bo", "al", "cy"], [1, 1, 0, 1])
    answer = existence(gather_pairs(games), games.players)
    (sweep,) = answer.sweeps_of(games.player_ids, np.array([12.5]))
    assert (sweep.winners, sweep.losers) == (("bo", "al"), ("cy",))
    assert (sweep.games, sweep.difference) == (2.0, 12.5)
    (plain,) = answer.sweeps_of(games.player_ids)
    assert np.isnan(plain.difference)
