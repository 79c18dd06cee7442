"""Strengths from rankings, against choix, SciPy, the definition and the equilibrium."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.reference import rankings as reference

import equipoise as eq
from equipoise.tournament import rankings as strengths

POINTS = 400.0 / math.log(10.0)

#: The test data of choix 0.4.1 (tests/data/testcase-*.json, MIT), with its maximum likelihood
#: estimates in natural units.
CHOIX_RANKINGS = [
    ([(0, 1, 2), (1, 2, 0), (2, 0, 1)], [0.0, 0.0, 0.0]),
    ([(0, 1, 2), (3, 2, 0), (1, 3)], [-0.44328117, 0.69506219, -0.67061442, 0.4188334]),
]
CHOIX_TOP1 = [
    ([(0, (1, 2)), (1, (0, 2)), (2, (0, 1))], [0.0, 0.0, 0.0]),
    ([(0, (1,)), (1, (2,)), (2, (0, 1))], [0.16040395, -0.32080789, 0.16040394]),
]


def history_of(matches, weights=None):
    """Return a history of matches, each a list of (player, rank); all players are known in it."""
    rows = [(number, *row) for number, match in enumerate(matches) for row in match]
    table = {
        "match": [row[0] for row in rows],
        "player": [row[1] for row in rows],
        "rank": [row[2] for row in rows],
    }
    if weights is not None:
        table["weight"] = [float(weights[row[0]]) for row in rows]
    return eq.read_history(table)


def in_order(rankings):
    return history_of([[(player, place) for place, player in enumerate(one)] for one in rankings])


def with_winner(choices):
    return history_of([[(won, 1), *((one, 2) for one in others)] for won, others in choices])


def natural(found, column=None):
    """Return a column by player 0, 1, ..., ratings in natural units."""
    values = found.rating / POINTS if column is None else column
    return values[np.argsort(found.player_ids.astype(np.int64))]


def drawn(seed, players=8, matches=14, ties=True):
    """Return random partial rankings, some with ties and a shared last place, and weights."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(matches):
        size = int(rng.integers(2, players + 1))
        who = rng.choice(players, size, replace=False).tolist()
        ranks = rng.integers(0, size, size) if ties else rng.permutation(size)
        made.append([(one, int(rank)) for one, rank in zip(who, ranks, strict=True)])
    return made, rng.choice([0.5, 1.0, 2.0], matches)


@pytest.mark.parametrize(("data", "theirs"), CHOIX_RANKINGS)
def test_rankings_of_choix(data, theirs):
    """Its second estimate stops early: its largest gradient is 2e-5."""
    found = eq.ranking_strengths(in_order(data))
    ranked = [[(player, place) for place, player in enumerate(one)] for one in data]
    made = [choice for match in ranked for choice in reference.choices(match, 1.0, None)]
    gradient, _ = reference.derivatives(np.array(theirs), made, 0.0)
    off = np.max(np.abs(natural(found) - theirs))
    assert off < 1e-8 or (off < 5e-5 and np.max(np.abs(gradient)) > 1e-5)
    assert found.residual < 1e-12


@pytest.mark.parametrize(("data", "theirs"), CHOIX_TOP1)
def test_top_1_choices_of_choix(data, theirs):
    found = eq.ranking_strengths(with_winner(data))
    np.testing.assert_allclose(natural(found), theirs, atol=2e-8)


@pytest.mark.parametrize("seed", range(2))
def test_rankings_of_any_length_are_those_of_three_methods_of_choix(seed):
    choix = pytest.importorskip("choix", reason="choix is not installed")
    rng = np.random.default_rng(seed)
    skill = rng.normal(0, 1, 12)
    rankings = []
    for _ in range(60):
        who = rng.choice(12, int(rng.integers(2, 8)), replace=False)
        rankings.append(tuple(who[np.argsort(-skill[who] - rng.gumbel(size=len(who)))].tolist()))
    rankings.append(tuple(np.argsort(skill).tolist()))  # so that nobody can be split off
    ours = natural(eq.ranking_strengths(in_order(rankings)))
    for theirs in (
        choix.ilsr_rankings(12, rankings, tol=1e-12),
        choix.mm_rankings(12, rankings, tol=1e-12),
        choix.opt_rankings(12, rankings, alpha=0.0, tol=1e-12),
    ):
        np.testing.assert_allclose(ours, theirs - theirs.mean(), atol=1e-7)


@pytest.mark.parametrize("prior", [0.0, 0.7])
@pytest.mark.parametrize("top", [None, 2])
@pytest.mark.parametrize("seed", range(2))
def test_ties_weights_and_prior_by_definition(seed, top, prior):
    """Gradient zero, likelihood, expected choices and errors, by the definition."""
    matches, weights = drawn(seed, players=6, matches=25)
    made = [
        choice
        for match, weight in zip(matches, weights.tolist(), strict=True)
        for choice in reference.choices(match, weight, top)
    ]
    assert reference.has_maximum(made, 6)
    history = history_of(matches, weights)
    found = eq.ranking_strengths(history, ties="breslow", top=top, prior=prior)
    x = natural(found)
    gradient, information = reference.derivatives(x, made, prior)
    assert np.max(np.abs(gradient)) < 1e-9
    plain = reference.log_likelihood(x, made, 0.0)
    assert found.log_likelihood == pytest.approx(plain, rel=1e-12)
    inverse = np.linalg.inv(information) if prior else np.linalg.pinv(information)
    errors = np.sqrt(np.diag(inverse)) * POINTS
    np.testing.assert_allclose(natural(found, found.errors()), errors, rtol=1e-8)


def test_duels_have_the_ratings_of_the_equilibrium():
    rng = np.random.default_rng(3)
    white = np.r_[rng.integers(0, 9, 80), np.arange(9)]
    black = np.r_[(white[:80] + rng.integers(1, 9, 80)) % 9, (np.arange(9) + 1) % 9]
    history = in_order(list(zip(white.tolist(), black.tolist(), strict=True)))
    found = eq.ranking_strengths(history, scale=0.8, anchor=1500.0)
    games = eq.Games(player_ids=np.arange(9), white=white, black=black, points=np.ones(len(white)))
    same = eq.performance_equilibrium(games, select="mean", anchor=1500.0, scale=0.8)
    by_id = found.rating[np.argsort(found.player_ids)]
    np.testing.assert_allclose(by_id, same.rating, atol=1e-6)


@pytest.mark.parametrize("seed", range(16))
def test_strengths_exist_exactly_if_nobody_can_be_split_off(seed):
    matches, _ = drawn(seed, players=7, matches=5 + seed % 4)
    made = [choice for match in matches for choice in reference.choices(match, 1.0, None)]
    history = history_of(matches)
    if reference.has_maximum(made, 7):
        assert eq.ranking_strengths(history, ties="breslow").residual < 1e-8
    else:
        with pytest.raises(eq.NoStrengthsError):
            eq.ranking_strengths(history, ties="breslow")
        assert eq.ranking_strengths(history, ties="breslow", prior=1.0).residual < 1e-8


def test_the_group_that_was_never_beaten_is_named():
    rankings = [("ann", "ben", "cid", "dan"), ("ben", "ann", "dan", "cid"), ("eve", "fay")]
    with pytest.raises(eq.NoStrengthsError, match="ann, ben were never beaten by cid, dan") as got:
        eq.ranking_strengths(in_order(rankings))
    assert got.value.groups == ((("ann", "ben"), ("cid", "dan")), (("eve",), ("fay",)))
    assert "eve was never beaten by fay" in str(got.value)


def test_groups_that_never_met_each_have_the_mean():
    found = eq.ranking_strengths(in_order([(0, 1), (1, 0), (0, 1), (2, 3), (3, 2)]), anchor=1000.0)
    assert found.component.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(found.rating[:2].mean(), 1000.0)
    np.testing.assert_allclose(found.rating[2:], [1000.0, 1000.0], atol=1e-9)
    np.testing.assert_allclose(found.rating[0] - found.rating[1], POINTS * math.log(2), rtol=1e-9)


def test_players_without_a_choice_have_no_rating():
    """One alone in a match, and two who share its only place."""
    found = eq.ranking_strengths(
        history_of([[(0, 1), (1, 2)], [(1, 1), (0, 2)], [(2, 1)], [(3, 1), (4, 1)]]),
        ties="breslow",
    )
    assert np.isnan(found.rating).tolist() == [False, False, True, True, True]
    assert found.matches.tolist() == [2, 2, 0, 0, 0]
    assert np.isnan(found.errors()).tolist() == [False, False, True, True, True]


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_errors_of_many_players_are_those_of_the_full_matrix(monkeypatch, prior):
    matches, _ = drawn(1, players=8, matches=40, ties=False)
    found = eq.ranking_strengths(history_of(matches), prior=prior)
    full = found.errors()
    monkeypatch.setattr(strengths, "DENSE_PLAYERS", 0)
    np.testing.assert_allclose(found.errors(), full, rtol=1e-8)
    np.testing.assert_allclose(found.errors(np.array([3])), full[3:4], rtol=1e-8)


def test_very_unequal_weights_converge():
    history = history_of([[(0, 1), (1, 2)], [(1, 1), (0, 2)]], weights=[1e9, 1e-3])
    found = eq.ranking_strengths(history)
    np.testing.assert_allclose(found.rating[0] - found.rating[1], 4800.0, rtol=1e-6)


def test_an_unfinished_search_is_an_error(monkeypatch):
    monkeypatch.setattr(strengths, "MAX_STEPS", 1)
    matches, _ = drawn(1, players=8, matches=40, ties=False)
    with pytest.raises(eq.ConvergenceError, match="the strengths did not converge"):
        eq.ranking_strengths(history_of(matches))


def test_ties_above_the_last_place_are_refused_and_named():
    tied = history_of([[(0, 1), (1, 1), (2, 2)], [(0, 1), (1, 2), (2, 2)], [(0, 1), (1, 1)]])
    with pytest.raises(eq.InvalidDataError, match="ties in match 0, 2"):
        eq.ranking_strengths(tied)


def test_teams_are_refused():
    table = {"match": [1, 1, 1], "player": ["a", "b", "c"], "team": [1, 1, 2], "rank": [1, 1, 2]}
    with pytest.raises(eq.InvalidDataError, match="one player in every team"):
        eq.ranking_strengths(eq.read_history(table))


@pytest.mark.parametrize(
    ("name", "value"),
    [("top", 0), ("prior", -1.0), ("scale", 0.0), ("anchor", 1e9), ("ties", "drop")],
)
def test_parameters_outside_their_range_are_refused(name, value):
    with pytest.raises(eq.InvalidParameterError, match=name):
        eq.ranking_strengths(in_order([(0, 1), (1, 0)]), **{name: value})
