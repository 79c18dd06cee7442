"""Partial play against the cases of trueskill, the exact posterior, and shares of 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from equipoise.data.history import History
from equipoise.errors import InvalidParameterError
from equipoise.rating.base_system import System
from equipoise.rating.one_match import OneMatch, history_of
from equipoise.rating.registry import make_system
from equipoise.rating.replay import replay

#: Every system with partial play.
PLAYING = ("bradley-terry", "plackett-luce", "thurstone-mosteller", "trueskill", "trueskill-spb")


def system_of(name: str, **parameters: Any) -> System:
    return make_system(name, {"shares": "play", **parameters})


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (
            [[1], [1, 1]],
            [(33.730671253, 7.317365246), (16.269328747, 7.317365246), (16.269328747, 7.317365246)],
        ),
        (
            [[0.5], [0.5, 0.5]],
            [(33.938908362, 7.311962397), (16.061091638, 7.311962397), (16.061091638, 7.311962397)],
        ),
        (
            [[1], [0, 1]],
            [(29.439753929, 7.166238892), (24.999556025, 8.333749979), (20.560246071, 7.166238892)],
        ),
        (
            [[1], [0.5, 1]],
            [(32.417335169, 7.056406102), (21.291332415, 8.033477356), (17.582664831, 7.056406102)],
        ),
    ],
)
def test_trueskills_cases_are_rated_the_same(
    share: list[list[float]], expected: list[tuple[float, float]]
) -> None:
    """github.com/sublee/trueskill, trueskilltest.py, commit 3f91835, test_partial_play.

    It has three decimals; these are what trueskill 0.4.5 returns, which stops sooner.
    """
    system = system_of(
        "trueskill", initial_rating=25, initial_deviation=25 / 3, beta=25 / 6, drift=25 / 300
    )
    new = system.rating()
    rated = system.rate([[new], [new, new]], share=share)
    found = [(one.rating, one.deviation) for team in rated for one in team]
    for one, wanted in zip(found, expected, strict=True):
        assert one == pytest.approx(wanted, abs=1e-6)


def posterior(share: list[float], ratings: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return moments of the skills after the first team beat the second, by their definition.

    The first player is alone against the others. The difference of the teams is normal; given that
    it is above the margin, its moments come from a fine sum, and those of each skill by regression.
    """
    beta, drift, draw = 175.0, 3.5, 0.1
    signs = [1.0, *(-1.0 for _ in share[1:])]
    a = [sign * part for sign, part in zip(signs, share, strict=True)]
    variance = [s * s + drift * drift for _, s in ratings]
    mean = sum(x * m for x, (m, _) in zip(a, ratings, strict=True))
    total = sum(x * x * (v + beta * beta) for x, v in zip(a, variance, strict=True))
    low, high = -1.0, 3.0
    for _ in range(200):  # the margin of a draw, by bisection
        middle = 0.5 * (low + high)
        low, high = (middle, high) if math.erf(middle / math.sqrt(2)) < draw else (low, middle)
    margin = low * math.sqrt(len(share)) * beta
    d = np.linspace(margin, margin + 40 * math.sqrt(total), 400_001)
    density = np.exp(-0.5 * (d - mean) ** 2 / total)
    density[0] *= 0.5
    after = float(np.sum(density * d) / np.sum(density))
    left = float(np.sum(density * (d - after) ** 2) / np.sum(density))
    return [
        (
            m + x * v / total * (after - mean),
            math.sqrt(v - (x * v) ** 2 / total * (1.0 - left / total)),
        )
        for x, v, (m, _) in zip(a, variance, ratings, strict=True)
    ]


@pytest.mark.parametrize("share", [[1.0, 0.3, 0.8], [0.6, 1.0, 0.05]])
def test_trueskill_with_shares_is_the_exact_posterior(share: list[float]) -> None:
    """Of two teams the chain is exact; the sum has an error of about 1e-7 of its width."""
    system = system_of("trueskill")
    known = [(1620.0, 200.0), (1480.0, 90.0), (900.0, 300.0)]
    one, *others = [system.rating(*each) for each in known]
    rated = system.rate([[one], others], share=[share[:1], share[1:]])
    found = [(each.rating, each.deviation) for team in rated for each in team]
    for each, wanted in zip(found, posterior(share, known), strict=True):
        assert each == pytest.approx(wanted, abs=2e-3)


@pytest.mark.parametrize("name", ["bradley-terry", "plackett-luce", "thurstone-mosteller"])
def test_a_closed_form_moves_by_the_slope_of_the_likelihood(name: str) -> None:
    """[WL]_ sec. 3: mu_j moves by sigma_j^2 times the derivative of the log likelihood."""
    system = system_of(name, drift=0.0)
    shares = [0.4, 0.9, 1.0]
    known = [(300.0, 200.0), (-100.0, 90.0), (150.0, 120.0)]
    players = [system.rating(*each) for each in known]
    rated = system.rate([players[:2], players[2:]], share=[shares[:2], shares[2:]])
    found = [one.rating for team in rated for one in team]

    def log_likelihood(ratings: list[float]) -> float:
        strength = shares[0] * ratings[0] + shares[1] * ratings[1] - shares[2] * ratings[2]
        variance = sum(w * w * s * s for w, (_, s) in zip(shares, known, strict=True))
        c = math.sqrt(variance + 2.0 * 175.0**2)
        if name == "thurstone-mosteller":
            return math.log(0.5 * math.erfc(-(strength - 4.2) / c / math.sqrt(2)))
        return -math.log1p(math.exp(-strength / c))

    start = [mu for mu, _ in known]
    for j, (mu, sigma) in enumerate(known):
        up, down = ([m + h * (i == j) for i, m in enumerate(start)] for h in (0.5, -0.5))
        slope = log_likelihood(up) - log_likelihood(down)
        assert found[j] == pytest.approx(mu + sigma**2 * slope, abs=1e-3)


def season(share: list[float]) -> History:
    """Return four matches of two teams of two, with these shares in each."""
    rng = np.random.default_rng(5)
    players = [rng.permutation(6)[:4].tolist() for _ in range(4)]
    return history_of([OneMatch((2, 2), (0, 1), share=share)] * 4, players)


@pytest.mark.parametrize("name", PLAYING)
def test_shares_of_one_change_no_bit(name: str) -> None:
    """Under every rule."""
    rules = ["play"] if name.startswith("trueskill") else ["play", "contribution"]
    plain = replay(make_system(name), season([1.0] * 4)).ratings
    for rule in rules:
        ratings = replay(make_system(name, {"shares": rule}), season([1.0] * 4)).ratings
        np.testing.assert_array_equal(ratings.rating, plain.rating)
        np.testing.assert_array_equal(ratings.deviation, plain.deviation)


@pytest.mark.parametrize("name", PLAYING)
def test_a_share_that_is_not_used_is_refused_with_the_parameter_that_uses_it(name: str) -> None:
    system = make_system(name)
    new = system.rating()
    with pytest.raises(InvalidParameterError, match="unless shares is set"):
        system.rate([[new], [new]], share=[[1], [0.5]])


def test_a_deviation_can_be_kept_from_growing() -> None:
    """With a large drift, a match between certain players teaches less than the drift forgets."""
    for limit in (False, True):
        system = make_system("plackett-luce", {"drift": 40, "limit_deviation": limit})
        winner, _ = system.rate([system.rating(3000, 40), system.rating(0, 40)])
        assert (winner.deviation <= 40) == limit


def test_a_margin_needs_scores_that_are_numbers() -> None:
    plain, system = make_system("bradley-terry"), make_system("bradley-terry", {"margin": 2})
    a, b = system.rating(1700, 100), system.rating(1500, 100)
    near, far = (system.rate([a, b], scores=scores)[0].rating for scores in ([3, 1], [9, 1]))
    won = plain.rate([plain.rating(1700, 100), plain.rating(1500, 100)])[0].rating
    assert far > near == won
    with pytest.raises(InvalidParameterError, match="scores must be numbers"):
        system.rate([a, b], scores=[(3, 1), (1, 2)])
