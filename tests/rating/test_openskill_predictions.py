"""What predict_win, predict_rank and predict_draw of openskill are, in terms of our outlook.

The numbers are those of openskill 6.2.0 (MIT), from running it, and of
tests/models/weng_lin/test_plackett_luce.py of vivekjoshy/openskill.py (commit 65a675d21d9a).
"""

from __future__ import annotations

import math
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.outlook import Outlook

BETA = 25 / 6
#: Without drift, and with the draw probability that openskill has for two players.
SYSTEM = eq.TrueSkill(
    initial_rating=25, initial_deviation=25 / 3, beta=BETA, drift=0, draw_probability=0.5
)
A, B, C = (SYSTEM.rating(*one) for one in ((30, 3), (25, 2), (22, 6)))


def test_a_duel_agrees() -> None:
    """predict_draw is the draw probability of TrueSkill at 0.5, predict_win leaves draws out."""
    found = SYSTEM.predict([A, B])
    assert found.draw == pytest.approx(0.3440409001003327, abs=1e-12)
    pair = found.outlook.pairs()
    assert pair[0, 1] == pytest.approx(0.7654011796044039, abs=1e-12)
    # Its test of equals has a half, because they are certain.
    certain = SYSTEM.rating(35.881, 1e-4)
    assert SYSTEM.predict([certain, certain]).draw == pytest.approx(0.5, abs=1e-6)


def test_single_players_agree_up_to_a_factor() -> None:
    """Of n players predict_win and predict_rank are 2/n times the expected score."""
    found = SYSTEM.predict([A, B, C])
    theirs = [0.5267568481259822, 0.2901077460427995, 0.18313540583121823]
    np.testing.assert_allclose(2 / 3 * np.array(found.expected), theirs, rtol=0, atol=1e-12)
    # It gives the ranks 1, 2, 3: the order of our expected places.
    assert np.argsort(found.expected_places).tolist() == [0, 1, 2]
    assert sum(found.expected_places) == pytest.approx(6)
    # None of its numbers is the chance of a place.
    first = [chances[0] for chances in found.places(samples=40_000)]
    assert abs(first[0] - theirs[0]) > 0.05


def draw_as_there(outlook: Outlook, sizes: list[int]) -> float:
    """Return predict_draw: a margin by the number of players, and 2 beta^2 for every two teams."""
    players = sum(sizes)
    margin = math.sqrt(players) * BETA * NormalDist().inv_cdf((1 + 1 / players) / 2)
    each = []
    for i, j in combinations(range(len(sizes)), 2):
        less = BETA**2 * (sizes[i] + sizes[j] - 2)
        scale = math.sqrt(outlook.scale[i] ** 2 + outlook.scale[j] ** 2 - less)
        apart = NormalDist(outlook.centre[i] - outlook.centre[j], scale)
        each.append(apart.cdf(margin) - apart.cdf(-margin))
    return sum(each) / len(each)


def test_its_own_cases_of_teams_are_that_formula_and_not_a_draw_of_the_model() -> None:
    """The three cases of its tests of predict_draw; ours has the noise of every player."""
    r = SYSTEM.rating
    a1, a2 = r(25, 25 / 3), r(32.444, 1.123)
    b1, b2 = r(35.881, 1e-4), r(25.188, 1e-5)
    two = SYSTEM.predict([[a1, a2], [b1, b2]])
    assert draw_as_there(two.outlook, [2, 2]) == pytest.approx(0.1919967, rel=1e-4)
    assert two.draw == pytest.approx(0.34953, abs=1e-5)
    five = SYSTEM.predict([[a1, a2], [b1, b2], [a1], [a2], [b1]])
    assert draw_as_there(five.outlook, [2, 2, 1, 1, 1]) == pytest.approx(0.0603735, rel=1e-4)
    assert five.draw is None
    same = SYSTEM.predict([[b1], [b1]])
    assert draw_as_there(same.outlook, [1, 1]) == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize(("size", "theirs"), [(1, 0.5), (2, 0.3477395132), (5, 0.2212798698)])
def test_it_counts_players_instead_of_draws(size: int, theirs: float) -> None:
    """Equal and certain teams; ours draw with the probability that the system is given."""
    one = SYSTEM.rating(25, 1e-6)
    found = SYSTEM.predict([[one] * size, [one] * size])
    assert draw_as_there(found.outlook, [size, size]) == pytest.approx(theirs, abs=1e-9)
    assert found.draw == pytest.approx(0.5, abs=1e-9)
