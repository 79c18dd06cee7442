"""The home advantage against other projects: scalachess' Glicko-2, and Ordo's white advantage.

Figures alone are taken from them, and their sources named.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import equipoise as eq
from equipoise.arrays import Floats
from equipoise.rating.base_system import belief_of

#: scalachess' names for its values, in rating points (rating/src/main/scala/glicko/model.scala).
ZERO, STANDARD, CRAZYHOUSE = 0.0, 11.782457, 20.30966

#: lichess-org/scalachess, commit cbffc9d7e2c6f8ba33381c5403e1b4f992199626,
#: test-kit/src/test/scala/rating/glicko/GlickoCalculatorWithColorAdvantageTest.scala:
#: (rating, deviation, volatility) of white and of black before the game -> for each score of white
#: the ratings, deviations and volatilities of both after it, with each advantage.
Side = tuple[float, float, float]
CASES: list[tuple[Side, Side, float, float, tuple[float, ...]]] = [
    *(
        ((1500, 350, 0.06), (1500, 350, 0.06), score, advantage, numbers)
        for score, advantage, numbers in [
            (1.0, ZERO, (1662.21, 1337.79, 290.2305, 290.2305, 0.0599993, 0.0599993)),
            (1.0, STANDARD, (1658.56, 1341.44, 290.2538, 290.2538, 0.0599992, 0.0599992)),
            (1.0, CRAZYHOUSE, (1655.95, 1344.05, 290.2998, 290.2998, 0.0599992, 0.0599992)),
            (0.0, ZERO, (1337.79, 1662.21, 290.2305, 290.2305, 0.0599993, 0.0599993)),
            (0.0, STANDARD, (1334.08, 1665.92, 290.2538, 290.2538, 0.0599993, 0.0599993)),
            (0.0, CRAZYHOUSE, (1331.37, 1668.63, 290.2998, 290.2998, 0.0599994, 0.0599994)),
            (0.5, ZERO, (1500.00, 1500.00, 290.2305, 290.2305, 0.0599977, 0.0599977)),
            (0.5, STANDARD, (1496.32, 1503.68, 290.2538, 290.2538, 0.0599977, 0.0599977)),
            (0.5, CRAZYHOUSE, (1493.66, 1506.34, 290.2998, 290.2998, 0.0599977, 0.0599977)),
        ]
    ),
    *(
        ((1400, 79, 0.06), (1550, 110, 0.065), score, advantage, numbers)
        for score, advantage, numbers in [
            (1.0, ZERO, (1422.63, 1506.32, 77.4956, 105.8706, 0.06, 0.065)),
            (1.0, STANDARD, (1422.16, 1507.28, 77.4603, 105.7716, 0.06, 0.065)),
            (1.0, CRAZYHOUSE, (1421.81, 1507.98, 77.4359, 105.7032, 0.06, 0.065)),
            (0.0, ZERO, (1389.99, 1568.90, 77.4956, 105.8706, 0.06, 0.065)),
            (0.0, STANDARD, (1389.55, 1569.75, 77.4603, 105.7716, 0.06, 0.065)),
            (0.0, CRAZYHOUSE, (1389.22, 1570.37, 77.4359, 105.7032, 0.06, 0.065)),
            (0.5, ZERO, (1406.31, 1537.61, 77.4956, 105.8706, 0.06, 0.065)),
            (0.5, STANDARD, (1405.85, 1538.51, 77.4603, 105.7716, 0.06, 0.065)),
            (0.5, CRAZYHOUSE, (1405.52, 1539.17, 77.4359, 105.7032, 0.06, 0.065)),
        ]
    ),
    *(
        ((1200, 60, 0.053), (1850, 200, 0.062), score, advantage, numbers)
        for score, advantage, numbers in [
            (1.0, ZERO, (1216.73, 1635.99, 59.9006, 196.9873, 0.053013, 0.062028)),
            (1.0, STANDARD, (1216.68, 1636.77, 59.8952, 196.7954, 0.053013, 0.062028)),
            (1.0, CRAZYHOUSE, (1216.65, 1637.36, 59.8912, 196.6495, 0.053013, 0.062028)),
            (0.0, ZERO, (1199.29, 1855.42, 59.9006, 196.9873, 0.052999, 0.061999)),
            (0.0, STANDARD, (1199.25, 1855.77, 59.8952, 196.7954, 0.052999, 0.061999)),
            (0.0, CRAZYHOUSE, (1199.22, 1856.04, 59.8912, 196.6495, 0.052999, 0.061999)),
            (0.5, ZERO, (1208.01, 1745.71, 59.9006, 196.9873, 0.053002, 0.062006)),
            (0.5, STANDARD, (1207.97, 1746.27, 59.8952, 196.7954, 0.053002, 0.062006)),
            (0.5, CRAZYHOUSE, (1207.94, 1746.70, 59.8912, 196.6495, 0.053002, 0.062006)),
        ]
    ),
]

#: Rating points of a unit of the internal scale.
SCALE = 173.7178


@pytest.mark.parametrize(("white", "black", "score", "advantage", "after"), CASES)
def test_changes_of_a_game_are_those_of_scalachess(
    white: Side, black: Side, score: float, advantage: float, after: tuple[float, ...]
) -> None:
    """Its tests leave out step 6 of Glicko-2: the volatility of the game does not widen deviations.

    Our `glicko2` always takes that step. So the change is compared, per variance that each of the
    two gives a game: change/deviation^2 after it is g (score - E), which step 6 does not enter. The
    information of the game, 1/v, is compared as well.
    """
    system = eq.Glicko2(tau=0.75, home_advantage=advantage)
    ranks = [int(score < 0.5), int(score > 0.5)]
    both = [
        system.rating(rating, deviation, volatility=volatility)
        for rating, deviation, volatility in (white, black)
    ]
    found = system.rate(both, ranks=ranks, home=0 if advantage else None)
    for i, before in enumerate((white, black)):
        rating, deviation, volatility = after[i], after[2 + i], after[4 + i]
        one = found[i]
        pull = (rating - before[0]) / deviation**2
        # Their figures are rounded to 0.005 points and 0.00005 points.
        tolerance = 0.0051 / deviation**2 + 2 * abs(pull) * 0.00005 / deviation
        assert (one.rating - before[0]) / one.deviation**2 == pytest.approx(pull, abs=tolerance)
        known = 1 / deviation**2 - 1 / before[1] ** 2
        starred = before[1] ** 2 + (SCALE * one.volatility) ** 2
        ours = 1 / one.deviation**2 - 1 / starred
        assert ours == pytest.approx(known, abs=2.2 * 0.00005 / deviation**3)
        # The volatility in our variance moves the volatility itself by less than 1e-6.
        digits = 1e-5 if before[2] in (0.06, 0.065) and before[1] < 350 else 1.1e-6
        assert one.volatility == pytest.approx(volatility, abs=digits)


#: michiguel/Ordo, commit 17eec774f2e4b9fdd2b1b38739f55ea221fb851a (program 1.2.6), on the games of
#: `round_robins`: ordo -W -D -z 200.2404 -a 0 -p games.pgn. White advantage, and two ratings, which
#: Ordo computes to about 0.001.
ORDO_WHITE, ORDO_BEST, ORDO_WORST = 58.81, 108.191, -142.314


def round_robins(white: float = 45.0) -> list[tuple[int, int, float]]:
    """Return 2,640 games of twelve players: white, black, white's score."""
    rng = np.random.default_rng(7)
    strength = 120.0 * np.linspace(-1, 1, 12)
    pairs = [(i, j) for _ in range(20) for i in range(12) for j in range(12) if i != j]
    found = []
    for k in np.argsort(rng.random(len(pairs))).tolist():
        i, j = pairs[k]
        expected = 1 / (1 + 10 ** (-(strength[i] - strength[j] + white) / 400))
        draw = min(1.2 * expected * (1 - expected), 2 * expected, 2 * (1 - expected))
        win, drawn = expected - draw / 2, rng.random()
        found.append((i, j, 1.0 if drawn < win else 0.5 if drawn < win + draw else 0.0))
    return found


def most_likely(games: list[tuple[int, int, float]]) -> tuple[Floats, float, float]:
    """Return ratings with mean 0, the advantage and its standard error by Newton's method."""
    slope, players = math.log(10) / 400, 12
    design = np.zeros((len(games), players + 1))
    for k, (i, j, _) in enumerate(games):
        design[k, [i, j, players]] = 1, -1, 1
    score, found = np.array([game[2] for game in games]), np.zeros(players + 1)
    for _ in range(30):
        p = 1 / (1 + np.exp(-slope * (design @ found)))
        information = slope**2 * design.T @ (design * (p * (1 - p))[:, None])
        found += np.linalg.pinv(information) @ (slope * design.T @ (score - p))
    error = math.sqrt(np.linalg.pinv(information)[players, players])
    return found[:players] - found[:players].mean(), float(found[players]), error


def test_what_is_learned_is_near_the_most_likely_value_which_is_that_of_ordo() -> None:
    """Systems that rate one game after the other come within one standard error of it."""
    games = round_robins()
    rating, advantage, error = most_likely(games)
    assert advantage == pytest.approx(ORDO_WHITE, abs=0.006)
    assert (rating[11], rating[0]) == pytest.approx((ORDO_BEST, ORDO_WORST), abs=0.001)
    history = eq.read_history(
        {
            "match": np.repeat(np.arange(len(games)), 2),
            "player": np.array([game[:2] for game in games]).ravel(),
            "rank": np.array([[one < 0.5, one > 0.5] for *_, one in games]).astype(int).ravel(),
            "side": np.tile(["white", "black"], len(games)),
        }
    )
    for system in (
        eq.Elo(learn_home_advantage=True),
        eq.Elo(k=8, learn_home_advantage=True),
        eq.Glicko(drift=0, learn_home_advantage=True),
        eq.Glicko2(learn_home_advantage=True),
    ):
        learned = belief_of(eq.replay(system, history).state.state)
        assert learned is not None
        assert abs(learned[0] - advantage) < error
        assert learned[1] == pytest.approx(error, rel=0.06)
