"""`System.predict`: the same numbers as a pool's prediction, match quality and places."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import InvalidParameterError
from equipoise.rating.replay import predict
from rating.one_call.matches import BY_SPEED, system_of


@pytest.mark.parametrize(("name", "parameters"), BY_SPEED)
@pytest.mark.parametrize("teams", [["ab", "c"], ["a", "b"], ["a", "b", "c"]])
def test_a_prediction_is_that_of_a_pool(
    name: str, parameters: dict[str, object], teams: list[str]
) -> None:
    """Also where the system cannot rate such teams, and compares their means."""
    system = system_of(name, parameters)
    pool = eq.Pool(system, initial={"a": 1620, "b": 1500, "c": 1555})
    pool.rate(["a", "b"], time=100)
    pool.rate(["c", "a"], time=103)
    home = 0 if "at_home" in system.capabilities.uses else None
    ids = [list(team) for team in teams]
    expected = predict(system, pool.state, ids, at=140.0, home=home)
    found = system.predict([[pool[one] for one in team] for team in ids], time=140, home=home)
    assert found.expected == expected.expected
    assert found.win == expected.win
    assert (found.draw, found.by) == (expected.draw, expected.by)
    modelled = name.startswith(("trueskill", "thurstone"))
    assert found.quality == expected.quality
    assert (found.quality is None) == (found.by != name or (len(teams) > 2 and not modelled))
    by = name if modelled else "estimate"
    assert found.quality_by == (None if found.quality is None else by)
    assert pool.predict(ids, time=140, home=home) == found


def test_match_quality_of_two_is_that_of_the_paper() -> None:
    """Equation (7) of [TS]; two newcomers with the paper's proportions have 1/sqrt(5)."""
    system = eq.TrueSkill()
    newcomers = system.predict([system.rating(), system.rating()])
    assert newcomers.quality == pytest.approx(1 / math.sqrt(5), rel=1e-12)
    a, b, beta = system.rating(1600, 80), system.rating(1450, 120), system.beta
    spread = 2 * beta**2 + 80**2 + 120**2
    expected = math.sqrt(2 * beta**2 / spread) * math.exp(-(150**2) / (2 * spread))
    assert system.predict([a, b]).quality == pytest.approx(expected, rel=1e-12)


def test_the_chances_of_places_add_up() -> None:
    system = eq.TrueSkill()
    players = [system.rating(1500 + 40 * k, 60) for k in range(5)]
    found = system.predict(players)
    places = found.places(samples=20_000, seed=3)
    assert places == found.places(samples=20_000, seed=3)
    assert places != found.places(samples=20_000, seed=4)
    table = np.array(places)
    assert table.shape == (5, 5)
    np.testing.assert_allclose(table.sum(axis=0), 1, atol=1e-12)
    np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-12)
    # The mean place follows from the expected scores; five standard errors.
    mean = table @ np.arange(1, 6)
    np.testing.assert_allclose(mean, 5 - 4 * np.array(found.expected), atol=5 * 1.5 / 141)


def test_the_chances_of_two_are_exact() -> None:
    system = eq.Elo()
    found = system.predict({"a": system.rating(1600), "b": system.rating(1500)})
    assert found.places() == [list(found.expected), list(found.expected[::-1])]
    assert (found.win, found.draw, found.loss, found.draw_by) == (None, None, None, None)
    assert "elo does not model draws" in found.draw_note


TRUESKILL = eq.TrueSkill()
T = TRUESKILL.rating()
DATED = TRUESKILL.rate([T, T], time=100)[0]


@pytest.mark.parametrize(
    ("attempt", "sentence"),
    [
        (lambda: TRUESKILL.predict([T]), "teams must be at least two"),
        (lambda: TRUESKILL.predict([T, eq.Elo().rating()]), "the rating is of elo, not trueskill"),
        (lambda: TRUESKILL.predict([T, T], home=1), "has no home advantage"),
        (lambda: TRUESKILL.predict([DATED, T], time=99), "must not be before the last match"),
        (lambda: TRUESKILL.predict([T] * 101).places(), "for up to 100 teams; got 101: use"),
        (lambda: TRUESKILL.predict([T] * 3).places(seed=-1), "seed must be at least 0"),
        (lambda: TRUESKILL.predict([T] * 3).places(samples=0), "samples must be from 1"),
    ],
)
def test_what_cannot_be_predicted_gets_a_sentence(
    attempt: Callable[[], Any], sentence: str
) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        attempt()
