"""Match quality: the cases of the trueskill package, and the estimate of the other systems.

The cases are those of trueskilltest.py of sublee/trueskill (commit 3ff78b26c837, BSD), which has 18
qualities to three decimals (one to four); facts only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.outlook import Outlook, chance
from equipoise.rating.predicting import estimated_quality

#: The numbers of the package: newcomers at 25, with a deviation of 25/3.
SCALE = {"initial_rating": 25, "initial_deviation": 25 / 3, "beta": 25 / 6, "drift": 25 / 300}
NEW = (25.0, 25 / 3)


def newcomers(*sizes: int) -> list[list[tuple[float, float]]]:
    return [[NEW] * size for size in sizes]


CASES: list[tuple[list[list[tuple[float, float]]], float]] = [
    (newcomers(1, 1), 0.447),
    (newcomers(2, 2), 0.447),
    (newcomers(4, 4), 0.447),
    (newcomers(1, 2), 0.135),
    (newcomers(1, 3), 0.012),
    (newcomers(1, 7), 0.0),
    (newcomers(1, 1, 1), 0.200),
    (newcomers(1, 1, 1, 1), 0.089),
    (newcomers(*[1] * 5), 0.040),
    (newcomers(*[1] * 8), 0.004),
    (
        [[(40, 4), (45, 3)], [(20, 7), (19, 6), (30, 9), (10, 4)], [(50, 5), (30, 2)]],
        0.367,
    ),
    (newcomers(1, 2, 1), 0.047),
    ([[NEW], [(50, 12.5)]], 0.110),
    ([[(20, 8), (25, 6)], [(35, 7), (40, 5)]], 0.084),
    ([[(28, 7), (27, 6), (26, 5)], [(30, 4), (31, 3)]], 0.254),
    ([[(10 + 5 * k, 8 - k)] for k in range(8)], 0.000),
]


@pytest.mark.parametrize("name", ["trueskill", "trueskill-spb"])
@pytest.mark.parametrize(("teams", "quality"), CASES)
def test_the_package_has_the_same_quality(
    name: str, teams: list[list[tuple[float, float]]], quality: float
) -> None:
    """Half a unit of the last decimal that it prints. Quality does not depend on the margin."""
    more: dict[str, Any] = {"beta": 25 / 6, "eps": 0.1} if name == "trueskill-spb" else SCALE
    system: Any = eq.make_system(name, {**more, "initial_rating": 25, "initial_deviation": 25 / 3})
    found = system.predict([[system.rating(m, s) for m, s in team] for team in teams])
    assert found.quality == pytest.approx(quality, abs=5e-4)
    assert found.quality_by == name


@pytest.mark.parametrize("curve", ["logistic", "normal"])
def test_the_estimate_is_a_ratio_of_densities(curve: Any) -> None:
    """Of the difference of two performances at 0, by a difference quotient of the curve."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        least = rng.uniform(50, 200, 2)
        scale = np.hypot(least, rng.uniform(0, 200, 2))
        centre = rng.normal(1500, 150, 2)
        found = estimated_quality(
            Outlook(centre=centre, scale=scale, curve=curve),
            math.hypot(*least),
        )
        wide, narrow = math.hypot(*scale), math.hypot(*least)
        margin = 1e-3
        z = (centre[0] - centre[1] + np.array([margin, -margin])) / wide
        meet = -float(np.diff(chance(z, curve))[0])
        equal = -float(np.diff(chance(np.array([margin, -margin]) / narrow, curve))[0])
        assert found == pytest.approx(meet / equal, rel=1e-6)


def test_the_estimate_of_elo_is_the_draw_over_that_of_equals() -> None:
    """4 E (1 - E): no rating is uncertain, so equals have 1, whatever the draw rate."""
    system = eq.Elo()
    for rate in (0.05, 0.3):
        found = system.predict([system.rating(1650), system.rating(1500)], draw_rate=rate)
        assert found.draw is not None
        assert found.quality == pytest.approx(found.draw / rate, rel=1e-12)
    assert system.predict([system.rating(), system.rating()]).quality == 1.0


@pytest.mark.parametrize("name", ["glicko", "glicko2", "elo-mmr", "elo-mmx", "plackett-luce"])
def test_the_estimate_falls_with_uncertainty_and_difference(name: str) -> None:
    """As quality does in trueskill: certain equals have 1."""
    system: Any = eq.make_system(name)
    values = [
        system.predict([system.rating(1500 + apart, deviation), system.rating(1500, deviation)])
        for apart, deviation in ((0, 1e-6), (0, 100), (100, 100), (100, 200))
    ]
    first, *others = (one.quality for one in values)
    assert first == pytest.approx(1, abs=1e-9)
    assert sorted(others, reverse=True)[0] < 1
    assert others[0] > others[1]
    assert {one.quality_by for one in values} == {"estimate"}


def test_more_than_two_teams_have_no_estimate() -> None:
    """The curve says how pairs meet, not how many do; teams that cannot be rated have none."""
    system = eq.PlackettLuce()
    found = system.predict([system.rating()] * 3)
    assert found.quality is found.quality_by is None
    duels = eq.Glicko2()
    unrated = duels.predict([[duels.rating(), duels.rating()], [duels.rating()]])
    assert (unrated.by, unrated.quality) == ("team mean", None)


@pytest.mark.parametrize("name", ["trueskill", "trueskill-spb", "thurstone-mosteller", "elo"])
def test_the_quality_knows_who_plays_at_home(name: str) -> None:
    """A head start that makes two teams even makes the match as good as one of even teams."""
    system: Any = eq.make_system(name, {"home_advantage": 100.0})
    strong, weak = system.rating(1600), system.rating(1500)
    even = system.predict([strong, strong])
    assert system.predict([strong, weak], home=1).quality == pytest.approx(even.quality, rel=1e-12)
    assert system.predict([strong, weak]).quality < even.quality
    assert system.predict([strong, weak], home=0).quality < system.predict([strong, weak]).quality
