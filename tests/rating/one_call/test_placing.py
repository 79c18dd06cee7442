"""Sampled places: they agree with the chances of pairs, up to the error of sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.data.outlook import Curve, Outlook, PlaceDistribution
from equipoise.data.places import place_distribution
from equipoise.errors import InvalidParameterError

#: A study of many replays: `make test` has the tests of its parts.
pytestmark = pytest.mark.slow

SAMPLES = 40_000


def outlook(centre: list[float], scale: list[float], curve: Curve) -> Outlook:
    return Outlook(centre=np.array(centre), scale=np.array(scale), curve=curve)


def places(of: Outlook, samples: int = SAMPLES, seed: int = 1) -> PlaceDistribution:
    return place_distribution(of, rng=np.random.default_rng(seed), samples=samples)


@pytest.mark.parametrize("curve", ["logistic", "normal"])
@pytest.mark.parametrize("apart", [0.0, 40.0, 150.0, 600.0])
def test_two_place_as_the_chance_of_the_pair_says(curve: Curve, apart: float) -> None:
    """Performances that were logistic themselves would be 0.01 off here: four deviations."""
    one = outlook([1500 + apart, 1500], [100, 100], curve)
    chance = one.pairs()[0, 1]
    error = math.sqrt(chance * (1 - chance) / SAMPLES)
    assert places(one).chance[0, 0] == pytest.approx(chance, abs=3.5 * error + 2e-6)


@pytest.mark.parametrize("curve", ["logistic", "normal"])
def test_mean_places_follow_from_expected_scores(curve: Curve) -> None:
    """A team's place is one more than the number of those who beat it."""
    rng = np.random.default_rng(3)
    one = outlook(rng.normal(1500, 150, 150).tolist(), [120.0] * 150, curve)
    found = places(one)
    expected = 1 + (1 - one.expected()) * 149
    # A place lies within 1 to 150: its deviation is 75 at most, here about 40.
    np.testing.assert_allclose(found.mean, expected, atol=4.5 * 40 / math.sqrt(SAMPLES))
    assert found.mean.mean() == pytest.approx(75.5, abs=1e-9)


def test_the_same_seed_gives_the_same_places_and_another_does_not() -> None:
    one = outlook([1500, 1520, 1480, 1600], [90, 100, 110, 95], "logistic")
    first, again, other = places(one), places(one), places(one, seed=2)
    np.testing.assert_array_equal(first.mean, again.mean)
    np.testing.assert_array_equal(first.chance, again.chance)
    assert not np.array_equal(first.mean, other.mean)


def test_what_makes_no_sense_is_refused() -> None:
    rng, one = np.random.default_rng(0), outlook([1.0, 2.0], [1.0, 1.0], "normal")
    with pytest.raises(InvalidParameterError, match="samples must be from 1 to 10,000,000; got 0"):
        place_distribution(one, rng=rng, samples=0)
    with pytest.raises(InvalidParameterError, match="within must be from 1 to 100; got 101"):
        place_distribution(one, rng=rng, within=(101,))
    with pytest.raises(InvalidParameterError, match="of at least two teams; got 1"):
        place_distribution(outlook([1.0], [1.0], "normal"), rng=rng)
