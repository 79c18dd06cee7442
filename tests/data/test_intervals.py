"""The 95 % range of a rating, and how it is written."""

from __future__ import annotations

from statistics import NormalDist

import pytest

from equipoise.display import HALF_WIDTH, half_width_in_words


def test_the_range_holds_95_percent_of_a_normal_distribution() -> None:
    inside = NormalDist().cdf(HALF_WIDTH) - NormalDist().cdf(-HALF_WIDTH)
    assert inside == pytest.approx(0.95, abs=1e-4)


@pytest.mark.parametrize(
    ("deviation", "words"),
    [(350.0, "686"), (80.99, "159"), (25.0, "49.0"), (1.2, "2.35"), (0, "0.00")],
)
def test_it_is_written_with_two_or_three_digits(deviation: float, words: str) -> None:
    assert half_width_in_words(deviation) == words
