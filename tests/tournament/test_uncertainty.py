"""Standard errors: NumPy's pseudo-inverse, simulation, and large as small."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from equipoise.data.games import Games
from equipoise.errors import InvalidParameterError, NoEquilibriumError
from equipoise.tournament.curves import DavidsonCurve, EloCurve, NormalCurve
from equipoise.tournament.equilibrium import known_draws, performance_equilibrium
from equipoise.tournament.newton import laplacian
from equipoise.tournament.pairs import gather_pairs
from equipoise.tournament.solving import solve
from equipoise.tournament.uncertainty import Uncertainty
from tournament.tournaments import one_component, random_games, side_by_side

CURVES = [EloCurve(), NormalCurve(), DavidsonCurve(1.0)]


def by_pseudo_inverse(pairs, ratings, curve, scale=1.0):
    """Return H^+ V H^+ as it is written."""
    t = (ratings[pairs.first] - ratings[pairs.second]) / scale
    hessian = laplacian(pairs, pairs.weight * curve.slope(t) / scale, len(ratings))
    variance = laplacian(pairs, pairs.weight * curve.variance(t), len(ratings))
    inverse = np.linalg.pinv(hessian, hermitian=True)
    return inverse @ variance @ inverse


def difference_error(found, one, other):
    """Return the standard error of one player's rating minus another's, from covariances."""
    covariance = found.covariance(np.array([one, other]))
    return math.sqrt(covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1])


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
    assert difference_error(found, 3, 7) == pytest.approx(math.sqrt(apart), rel=1e-9)


def test_two_players_by_hand():
    """k games at p: the difference has the error 1/(rate sqrt(k p (1 - p))), each half of it."""
    games = Games(player_ids=np.arange(2), white=[0], black=[1], points=[3], weight=[4])
    found = performance_equilibrium(games)
    error = 400 / math.log(10) / math.sqrt(4 * 0.75 * 0.25)
    assert difference_error(found.uncertainty, 0, 1) == pytest.approx(error, rel=1e-9)
    assert found.errors() == pytest.approx([error / 2, error / 2], rel=1e-9)
    better = found.superiority(np.array([0, 1]), "flat")[0, 1]
    z = (found.rating[0] - found.rating[1]) / error
    assert better == pytest.approx(0.5 * math.erfc(-z / math.sqrt(2)), rel=1e-9)


@pytest.mark.parametrize("curve", CURVES, ids=lambda one: one.name)
@pytest.mark.parametrize("held", [(), (2, 11)])
def test_large_as_small(curve, held):
    """Chosen players by systems, as by the inverse; slopes in float32 leave seven digits."""
    pairs, label = one_component(random_games(30, 150))
    ratings = solve(pairs, 30, label, curve=curve).ratings
    stays = np.isin(np.arange(30), held)
    rows = np.array([5, 2, 17])
    small = Uncertainty(pairs, ratings, label, curve=curve, held=stays)
    one, errors = small.covariance(rows), small.errors(rows)
    large = Uncertainty(pairs, ratings, label, curve=curve, held=stays, dense_players=10)
    assert np.allclose(large.covariance(rows), one, rtol=1e-6, atol=1e-4)
    assert np.allclose(large.errors(rows), errors, rtol=1e-6)
    assert np.all(np.isnan(large.errors()))
    assert (errors[1] == 0) == bool(held)


def test_components_cannot_be_compared():
    """Two tournaments and a player without games: NaN between, errors as in each alone."""
    one, two = random_games(6, 30, 1), random_games(9, 50, 2)
    found = performance_equilibrium(side_by_side(one, two, idle=1))
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


def test_rows_beyond_the_players_are_refused():
    pairs, label = one_component(random_games(5, 20))
    ratings = solve(pairs, 5, label, curve=EloCurve()).ratings
    with pytest.raises(InvalidParameterError, match="rows must be rows of players"):
        Uncertainty(pairs, ratings, label, curve=EloCurve()).errors(np.array([5]))


# --- dispersion ----------------------------------------------------------------------------------


def with_draws(players, rounds, draws, rng, reach=150.0):
    """Return (games, true ratings) of a round robin with draws of chance 4 d E (1 - E)."""
    truth = np.linspace(-reach, reach, players)
    one, other = (np.tile(side, rounds) for side in np.triu_indices(players, 1))
    expected = EloCurve().expected(truth[one] - truth[other])
    chance = np.minimum(
        4 * draws * expected * (1 - expected), 2 * np.minimum(expected, 1 - expected)
    )
    shown = rng.random(len(one))
    win = expected - chance / 2
    points = np.where(shown < win, 1.0, np.where(shown < win + chance, 0.5, 0.0))
    games = Games(player_ids=np.arange(players), white=one, black=other, points=points)
    return games, truth


def slow_dispersion(games, found):
    """Solve the equation at the head of `uncertainty` by bisection, with a pseudo-inverse."""
    x, curve = found.rating, found.curve
    information = np.zeros((len(x), len(x)))
    edges = []
    for one, other, weight in zip(games.white, games.black, games.weights, strict=True):
        edge = np.zeros(len(x))
        edge[one], edge[other] = 1.0, -1.0
        slope = weight * float(curve.slope(np.array(x[one] - x[other])))
        information += slope * np.outer(edge, edge)
        edges.append((edge, slope))
    inverse = np.linalg.pinv(information, hermitian=True)
    squares = coins = 0.25
    terms = []
    for k, (edge, slope) in enumerate(edges):
        t = np.array(edge @ x)
        leverage, variance = slope * edge @ inverse @ edge, float(curve.variance(t))
        if leverage < 1 - 1e-9:
            score = games.points[k] / games.weights[k]
            squares += games.weights[k] * (score - float(curve.expected(t))) ** 2
            coins += variance
            terms.append((variance, leverage))
    if squares >= coins:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(100):
        phi = (low + high) / 2
        right = phi * (0.25 + sum(v * (1 - h) / (1 - phi * h) for v, h in terms))
        low, high = (phi, high) if right < squares else (low, phi)
    return low


@pytest.mark.parametrize("curve", ["elo", "normal"])
@pytest.mark.parametrize("draws", [0.0, 0.3, 0.8])
def test_the_dispersion_equals_the_slow_reference(curve, draws):
    games, _ = with_draws(9, 2, draws, np.random.default_rng(7))
    weighted = replace(games, weight=np.full(72, 2.0), points=2 * games.points)
    for one in (games, weighted):
        found = performance_equilibrium(one, curve=curve)
        phi = found.uncertainty.dispersion(4)
        assert phi == pytest.approx(slow_dispersion(one, found), rel=1e-8)
        coins = Uncertainty(
            gather_pairs(one), found.rating, found.component, curve=found.curve
        ).covariance(np.arange(9))
        assert np.allclose(found.uncertainty.covariance(np.arange(9)), phi * coins, rtol=1e-9)


@pytest.mark.parametrize(
    ("players", "rounds", "draws", "least", "most"),
    [
        (20, 2, 0.3, 0.94, 0.96),
        (12, 1, 0.6, 0.92, 0.98),
    ],
)
def test_error_bars_hold_as_often_as_they_promise(players, rounds, draws, least, most):
    """95 % bars of drawn tournaments; benchmarks/error_bars.py draws more of them.

    300 tournaments: the ratings of one depend on one another little, so the error is below 0.005.
    """
    rng = np.random.default_rng(11)
    held = []
    for _ in range(300):
        games, truth = with_draws(players, rounds, draws, rng)
        try:
            found = performance_equilibrium(games)
        except NoEquilibriumError:
            continue
        away = np.abs(found.rating - found.rating.mean() - truth)
        held.append(away <= 1.96 * found.errors())
    assert len(held) > 250
    assert least <= np.mean(held) <= most


def test_superiority_of_players_found_on_top_is_not_too_sure():
    """Ten equal players: who is best is luck, so one half is true of the best two of each."""
    rng, field, flat = np.random.default_rng(4), [], []
    while len(field) < 60:
        games, _ = with_draws(10, 1, 0.0, rng)
        shown = replace(games, points=rng.integers(0, 2, len(games.points)).astype(float))
        try:
            found = performance_equilibrium(shown)
        except NoEquilibriumError:
            continue
        best = np.argsort(-found.rating)[:2]
        field.append(found.superiority(best)[0, 1])
        flat.append(found.superiority(best, "flat")[0, 1])
    assert np.mean(flat) > 0.62
    assert 0.5 < np.mean(field) < 0.59


def test_superiority_in_a_field_is_the_posterior_of_three_players():
    """Integrated over strengths on a grid, with the chances of the games, and over the spread."""
    pairs = ((0, 1, 9, 3), (0, 2, 6, 2), (1, 2, 4, 4))
    white, black = (
        np.repeat([pair[side] for pair in pairs], [12, 8, 8]).tolist() for side in (0, 1)
    )
    points = np.concatenate([np.repeat([1.0, 0.0], pair[2:]) for pair in pairs])
    found = performance_equilibrium(Games.from_arrays(white, black, points))
    axis = np.linspace(-700, 700, 141)
    # Strengths relative to the mean; an unknown mean leaves two differences of three players.
    one, two = axis[:, None], axis[None, :]
    strengths = np.stack(np.broadcast_arrays(one, two, -one - two))
    chance = EloCurve().expected
    fit = sum(
        won * np.log(chance(strengths[i] - strengths[j]))
        + lost * np.log(chance(strengths[j] - strengths[i]))
        for i, j, won, lost in pairs
    )
    typical = 1 / np.mean(1 / found.errors() ** 2)
    posterior = 0.0
    for share in np.linspace(0.01, 0.99, 50):
        spread = typical * (3 * math.tan(0.5 * math.pi * share)) ** 2
        prior = -np.sum(strengths**2, axis=0) / (2 * spread) - math.log(spread)
        posterior = posterior + np.exp(fit + prior - fit.max())
    ahead = 0.5 + 0.5 * np.sign(strengths[0] - strengths[1])
    truth = np.sum(posterior * ahead) / np.sum(posterior)
    better = found.superiority(np.array([0, 1]))[0, 1]
    assert better == pytest.approx(truth, abs=0.02)
    assert found.superiority(np.array([0, 1]), "flat")[0, 1] > truth + 0.02


def test_results_that_cannot_tell_are_coins():
    """One game each, a chain, a match entered as one result: every result is fitted exactly."""
    for white, black, points, weight in (
        ([0], [1], [0.5], [1]),
        ([0, 1, 2], [1, 2, 3], [0.5, 0.5, 0.5], [1, 1, 1]),
        ([0], [1], [6.5], [10]),
    ):
        players = max(black) + 1
        games = Games(
            player_ids=np.arange(players), white=white, black=black, points=points, weight=weight
        )
        found = performance_equilibrium(games)
        assert found.uncertainty.dispersion(0) == 1.0
        assert np.all(found.errors() > 0)


def test_ratings_that_do_not_fit_keep_the_errors_of_coins():
    """A beats B, B beats C, C beats A, 1,000 times each: no ratings explain that."""
    games = Games(
        player_ids=np.arange(3),
        white=[0, 1, 2],
        black=[1, 2, 0],
        points=[900, 900, 900],
        weight=[1000, 1000, 1000],
    )
    assert performance_equilibrium(games).uncertainty.dispersion(1) == 1.0


def test_davidsons_model_has_no_dispersion():
    games, _ = with_draws(8, 2, 0.5, np.random.default_rng(5))
    found = performance_equilibrium(games, draws="davidson")
    assert found.uncertainty.dispersion(0) == 1.0
    pairs = gather_pairs(known_draws(games))
    same = Uncertainty(pairs, found.rating, found.component, curve=found.curve).errors()
    assert np.array_equal(found.errors(), same)


def test_components_have_dispersions_of_their_own():
    drawn, _ = with_draws(6, 4, 0.8, np.random.default_rng(3))
    decided, _ = with_draws(6, 4, 0.0, np.random.default_rng(4))
    uncertainty = performance_equilibrium(side_by_side(drawn, decided, idle=1)).uncertainty
    for row, alone in ((0, drawn), (6, decided)):
        phi = performance_equilibrium(alone).uncertainty.dispersion(0)
        assert uncertainty.dispersion(row) == pytest.approx(phi, rel=1e-7)
    assert math.isnan(uncertainty.dispersion(12))


def test_the_dispersion_of_a_large_component_is_nearly_that_of_a_small_one():
    """Leverages by the games of the two players: in a round robin of 30 good to a thousandth."""
    games, _ = with_draws(30, 2, 0.4, np.random.default_rng(6))
    found = performance_equilibrium(games)
    small, errors = found.uncertainty.dispersion(3), found.errors(np.array([3, 4]))
    pairs, label = one_component(games)
    again = Uncertainty(
        pairs, found.rating, label, curve=found.curve, games=games, dense_players=10
    )
    error = again.errors(np.array([3, 4]))
    large = again.dispersion(3)
    assert large == pytest.approx(small, rel=1e-3)
    assert error == pytest.approx(errors * math.sqrt(large / small), rel=1e-6)
