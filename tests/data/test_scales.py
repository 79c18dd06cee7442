"""A straight line from one scale of ratings to another."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.ratings import ScaleMapping
from equipoise.errors import InvalidParameterError
from equipoise.rating.pool_state import scale_difference
from equipoise.rating.registry import make_system


def known(rating: list[float], deviation: list[float]) -> eq.InitialRatings:
    ids = np.arange(len(rating))
    return eq.InitialRatings(player_ids=ids, rating=np.array(rating), deviation=np.array(deviation))


@pytest.mark.parametrize(
    ("name", "fits", "others"),
    [
        ("rating", [-1e9, 1e9], [-1.1e9, 1.1e9, np.nan]),
        ("deviation", [1e-6, 1e9, np.nan], [0.9e-6, 1.1e9, -1.0]),
    ],
)
def test_known_ratings_are_within_what_files_have(
    name: str, fits: list[float], others: list[float]
) -> None:
    for value in fits:
        known(**{"rating": [0.0], "deviation": [1.0], name: [value]})
    for value in others:
        with pytest.raises(InvalidParameterError, match=rf"^{name} must be from .* \(player 0\)"):
            known(**{"rating": [0.0], "deviation": [1.0], name: [value]})


def test_two_ratings_give_the_line() -> None:
    """1500 is 25 and 1850 is 33 exactly; a deviation is scaled; an unknown one stays unknown."""
    mapping = ScaleMapping(there=(1500.0, 1850.0), here=(25.0, 33.0))
    found = mapping.map(known([1500.0, 1850.0, 1150.0], [350.0, np.nan, 35.0]))
    np.testing.assert_allclose(found.rating, [25.0, 33.0, 17.0], rtol=1e-15)
    np.testing.assert_allclose(found.deviation, [8.0, np.nan, 0.8], rtol=1e-15)
    assert found.rating[0] == 25.0


def test_the_text_of_a_mapping() -> None:
    read = ScaleMapping.read("1500=25, 1850=33", "--initial-mapping")
    assert read == ScaleMapping(there=(1500.0, 1850.0), here=(25.0, 33.0))


@pytest.mark.parametrize("text", ["", "1500", "1500=25", "1500=25,1850=x", "1=1,2=2,3=3"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError, match="--initial-mapping takes FROM=TO"):
        ScaleMapping.read(text, "--initial-mapping")


@pytest.mark.parametrize(
    ("there", "here", "sentence"),
    [
        ((1500.0, 1500.0), (1.0, 2.0), "there must be two different ratings"),
        ((1500.0, 1800.0), (2.0, 1.0), "the higher rating must stay the higher one"),
        ((1500.0, 1800.0), (2.0, 2.0), "the higher rating must stay the higher one"),
        ((1500.0, float("inf")), (1.0, 2.0), "from -1e9 to 1e9"),
    ],
)
def test_a_line_must_exist_and_rise(
    there: tuple[float, float], here: tuple[float, float], sentence: str
) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        ScaleMapping(there=there, here=here)


def test_scales_are_compared_by_what_fixes_them() -> None:
    elo = make_system("elo")
    assert scale_difference(elo, make_system("elo", {"k": 20})) is None
    assert scale_difference(elo, make_system("glicko")) == "ratings of elo, not of glicko"
    other = make_system("elo", {"scale": 200, "initial_rating": 1000})
    found = scale_difference(other, elo)
    assert (
        found == "ratings of elo with initial_rating 1000.0, not 1500.0 and scale 200.0, not 400.0"
    )
