"""Standard errors: NumPy's pseudo-inverse, simulation, and large as small."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.data.games import Games
from equipoise.errors import InvalidParameterError
from equipoise.performance import uncertainty
from equipoise.performance.curves import DavidsonCurve, EloCurve, NormalCurve
from equipoise.performance.dense import laplacian
from equipoise.performance.equilibrium import performance_equilibrium
from equipoise.performance.solving import solve
from equipoise.performance.uncertainty import Uncertainty
from performance.solved_tournaments import one_component, random_games

CURVES = [EloCurve(), NormalCurve(), DavidsonCurve(1.0)]


def by_pseudo_inverse(pairs, ratings, curve, scale=1.0):
    """Return H^+ V H^+ as it is written."""
    t = (ratings[pairs.first] - ratings[pairs.second]) / scale
    hessian = laplacian(pairs, pairs.weight * curve.slope(t) / scale, len(ratings))
    variance = laplacian(pairs, pairs.weight * curve.variance(t), len(ratings))
    inverse = np.linalg.pinv(hessian, hermitian=True)
    return inverse @ variance @ inverse


@pytest.mark.parametrize("curve", CURVES, ids=lambda one: one.name)
def test_covariances_are_the_sandwich(curve):
    """Also where it is Fisher's information that is inverted: Elo, Davidson."""
    pairs, label = one_component(random_games(15, 80))
    ratings = solve(pairs, 15, label, curve=curve, scale=1.5).ratings
    truth = by_pseudo_inverse(pairs, ratings, curve, 1.5)
    found = Uncertainty(pairs, ratings, label, curve=curve, scale=1.5)
    assert np.allclose(found.covariance(np.arange(15)), truth, rtol=1e-9, atol=1e-8)
    assert np.allclose(found.errors(), np.sqrt(np.diag(truth)), rtol=1e-9)
    apart = truth[3, 3] + truth[7, 7] - 2 * truth[3, 7]
    assert found.difference_error(3, 7) == pytest.approx(math.sqrt(apart), rel=1e-9)


def test_two_players_by_hand():
    """k games at p: the difference has the error 1/(rate sqrt(k p (1 - p))), each half of it."""
    games = Games(player_ids=np.arange(2), white=[0], black=[1], points=[3], weight=[4])
    found = performance_equilibrium(games)
    error = 400 / math.log(10) / math.sqrt(4 * 0.75 * 0.25)
    assert found.uncertainty.difference_error(0, 1) == pytest.approx(error, rel=1e-9)
    assert found.errors() == pytest.approx([error / 2, error / 2], rel=1e-9)
    better = found.superiority(np.array([0, 1]))[0, 1]
    z = (found.rating[0] - found.rating[1]) / error
    assert better == pytest.approx(0.5 * math.erfc(-z / math.sqrt(2)), rel=1e-9)


def test_errors_are_how_far_ratings_scatter():
    """300 tournaments of 3,000 games played at known ratings; a tenth is 2.4 errors of an error."""
    rng = np.random.default_rng(0)
    truth = np.linspace(-150, 150, 6)
    truth -= truth.mean()
    white, black = np.nonzero(~np.eye(6, dtype=bool))
    chance = EloCurve().expected(truth[white] - truth[black])
    ratings = []
    for _ in range(300):
        points = rng.binomial(100, chance)
        games = Games(
            player_ids=np.arange(6),
            white=white,
            black=black,
            points=points,
            weight=np.full(30, 100),
        )
        pairs, label = one_component(games)
        ratings.append(solve(pairs, 6, label, curve=EloCurve()).ratings)
    found = Uncertainty(pairs, truth, label, curve=EloCurve()).errors()
    assert np.allclose(np.std(ratings, axis=0) / found, 1.0, atol=0.1)


@pytest.mark.parametrize("curve", CURVES, ids=lambda one: one.name)
@pytest.mark.parametrize("held", [(), (2, 11)])
def test_large_as_small(curve, held, monkeypatch):
    """Chosen players by systems, as by the inverse; slopes in float32 leave seven digits."""
    pairs, label = one_component(random_games(30, 150))
    ratings = solve(pairs, 30, label, curve=curve).ratings
    stays = np.isin(np.arange(30), held)
    rows = np.array([5, 2, 17])
    small = Uncertainty(pairs, ratings, label, curve=curve, held=stays)
    one, errors = small.covariance(rows), small.errors(rows)
    monkeypatch.setattr(uncertainty, "DENSE_PLAYERS", 10)
    large = Uncertainty(pairs, ratings, label, curve=curve, held=stays)
    assert np.allclose(large.covariance(rows), one, rtol=1e-6, atol=1e-4)
    assert np.allclose(large.errors(rows), errors, rtol=1e-6)
    assert np.all(np.isnan(large.errors()))
    assert (errors[1] == 0) == bool(held)


def test_components_cannot_be_compared():
    """Two tournaments and a player without games: NaN between, errors as in each alone."""
    one, two = random_games(6, 30, 1), random_games(9, 50, 2)
    both = Games(
        player_ids=np.arange(16),
        white=np.concatenate([one.white, two.white + 6]),
        black=np.concatenate([one.black, two.black + 6]),
        points=np.concatenate([one.points, two.points]),
    )
    found = performance_equilibrium(both)
    errors = found.errors()
    assert np.isnan(errors[15])
    alone = [performance_equilibrium(each).errors() for each in (one, two)]
    assert np.allclose(errors[:15], np.concatenate(alone), rtol=1e-7)
    better = found.superiority(np.array([0, 8, 3, 15]))
    assert np.array_equal(
        np.isnan(better),
        np.array([[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]], dtype=bool),
    )
    assert better[0, 2] + better[2, 0] == pytest.approx(1.0, abs=1e-15)


def test_an_anchor_takes_its_own_error_to_the_others():
    """Relative to a held player the error is that of the difference."""
    games = random_games(8, 40)
    free = performance_equilibrium(games)
    held = performance_equilibrium(games, anchors={2: 1500.0})
    errors = held.errors()
    assert errors[2] == 0
    assert errors[5] == pytest.approx(free.uncertainty.difference_error(2, 5), rel=1e-7)


def test_rows_beyond_the_players_are_refused():
    pairs, label = one_component(random_games(5, 20))
    ratings = solve(pairs, 5, label, curve=EloCurve()).ratings
    with pytest.raises(InvalidParameterError, match="rows must be rows of players"):
        Uncertainty(pairs, ratings, label, curve=EloCurve()).errors(np.array([5]))
