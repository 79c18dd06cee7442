"""openskill's own test cases, whose numbers are in `openskill_cases.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from equipoise.rating.base_system import System
from equipoise.rating.registry import make_system

CASES = json.loads((Path(__file__).parent / "openskill_cases.json").read_text())["models"]

#: openskill's window of 4, and means over pairs.
PARTIAL = {"pairing": "partial", "window": 4, "average": True}


class Case(NamedTuple):
    """A match of newcomers: sizes of its teams, and what `rate` and the system are given."""

    sizes: list[int]
    given: dict[str, Any]
    parameters: dict[str, Any]


def parts_of(weights: list[list[float]]) -> list[list[float]]:
    """Return openskill's weights as shares: it scales those of a team, so only ratios count."""
    return [[one / max(team) for one in team] for team in weights]


MATCHES = {
    "normal": Case([1, 2], {}, {}),
    "ranks": Case([1, 2, 1, 2], {"ranks": [2, 1, 4, 3]}, {}),
    "scores": Case([1, 2], {"scores": [1, 2]}, {}),
    "margins": Case(
        [2] * 5,
        {"scores": [10, 5, 5, 2, 1], "share": parts_of([[1, 2], [2, 1], [1, 2], [3, 1], [1, 2]])},
        {"shares": "contribution", "margin": 2},
    ),
    "limit_sigma": Case([1, 2, 3], {"ranks": [2, 1, 3]}, {"limit_deviation": True}),
    # openskill's model keeps the last `limit_sigma` that it was called with.
    "ties": Case([1, 2, 3], {"ranks": [1, 2, 1]}, {"limit_deviation": True}),
    "weights": Case(
        [3, 2, 3, 2],
        {"ranks": [2, 1, 4, 3], "share": parts_of([[2, 0, 0], [1, 2], [0, 0, 1], [0, 1]])},
        {"shares": "contribution", "limit_deviation": True},
    ),
    # Its option `balance` changes nothing between equal players, as these are.
    "balance": Case([2, 2], {"ranks": [1, 2]}, {}),
}


def system_of(model: str, parameters: dict[str, Any]) -> System:
    """Return the system of a model with openskill's defaults."""
    name, _, pairing = model.partition(" ")
    mu, sigma = CASES[model]["model"]
    return make_system(
        name,
        {
            "initial_rating": mu,
            "initial_deviation": sigma,
            "beta": 25 / 6,
            "drift": 25 / 300,
            **({"eps": 0.1} if name == "thurstone-mosteller" else {}),
            **(PARTIAL if pairing == "partial" else {}),
            **parameters,
        },
    )


@pytest.mark.parametrize("case", MATCHES)
@pytest.mark.parametrize("model", CASES)
def test_openskills_cases_are_rated_the_same(model: str, case: str) -> None:
    """openskill itself compares to one part in 10,000; these agree to nine digits and more."""
    sizes, given, parameters = MATCHES[case]
    system = system_of(model, parameters)
    teams = [[system.rating() for _ in range(size)] for size in sizes]
    rated = system.rate(teams, **given)
    found = [[[one.rating, one.deviation] for one in team] for team in rated]
    for team, expected in zip(found, CASES[model][case], strict=True):
        for one, wanted in zip(team, expected, strict=True):
            assert one == pytest.approx(wanted, rel=1e-9)
