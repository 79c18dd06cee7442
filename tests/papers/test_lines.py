"""When a printed number counts as reproduced."""

from __future__ import annotations

import math

import pytest
from papers.lines import agrees, compared, dropped, half_unit, holds, largest, never


@pytest.mark.parametrize(
    ("printed", "half"), [("14.9", 0.05), ("2,999", 0.5), ("0.06", 0.005), ("1e3", 500.0)]
)
def test_half_of_the_last_printed_digit(printed: str, half: float) -> None:
    assert half_unit(printed) == pytest.approx(half)


def test_a_number_is_reproduced_if_it_rounds_to_what_is_printed() -> None:
    assert compared("x", "78.5", 78.467).outcome == "reproduced"
    assert compared("x", "78.5", 78.45).outcome == "reproduced"
    line = compared("x", "78.5", 78.449, reason="other data")
    assert (line.outcome, line.reason, line.ours) == ("differs", "other data", "78.45")
    assert compared("x", "78.5", 78.467, reason="other data").reason == ""


def test_a_formula_agrees_within_its_bound() -> None:
    assert agrees("x", 1e-10, 1e-9, 1000).ours == "within 1e-09 in 1,000 cases"
    assert agrees("x", 2e-9, 1e-9, 1000).outcome == "differs"
    assert agrees("x", math.nan, 1e-9, 1).outcome == "differs"


def test_violations_are_counted() -> None:
    assert never("x", 0, 20, of="match").ours == "0 in 20 matches"
    assert never("x", 1, 20).outcome == "differs"
    assert dropped("x", 7, 20, of="lobby").ours == "7 in 20 lobbies"
    assert dropped("x", 7, 20).outcome == "beyond"


def test_what_is_stored_says_so_even_if_it_is_reproduced() -> None:
    stored = "Stored: commit 1234."
    assert compared("x", "78.5", 78.467, reason="other data", source=stored).reason == stored
    assert compared("x", "78.5", 78.4, reason="Other.", source=stored).reason == f"Other. {stored}"
    assert holds("x", "ahead", "+1", True, source=stored).reason == stored


@pytest.mark.parametrize("values", [(1.0, math.nan), (math.nan, 1.0)])
def test_a_value_that_is_no_number_is_not_passed_over(values: tuple[float, float]) -> None:
    assert math.isnan(largest(*values))
    assert agrees("x", largest(*values), 1e-9, 2).outcome == "differs"
    assert largest(1.0, 3.0, 2.0) == 3.0
