"""The recursive performance."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from equipoise.data.games import Games
from equipoise.errors import ConvergenceError, InvalidParameterError
from equipoise.numeric.graph import components
from equipoise.tournament.formulas import (
    DENSE_PLAYERS,
    rating_difference,
    recursive_performance,
    solve_recursive,
)
from reference import performance as slow
from tournament.tournaments import UNMET, matches, palma_2017, table_1, tournaments


def by_rounds(games: Games, rounds: int = 4000) -> np.ndarray:
    """Return what the authors' iteration gives, from the average rating."""
    start = dict.fromkeys(games.player_ids.tolist(), float(np.nanmean(games.initial)))
    listed = [
        (games.player_ids[games.white[row]], games.player_ids[games.black[row]], points, weight)
        for row, (points, weight) in enumerate(zip(games.points, games.weights, strict=True))
    ]
    worth = rating_difference(games.scored(), games.played())
    found = slow.recursive_performance(
        listed, start, dict(zip(start, worth.tolist(), strict=True)), rounds
    )
    return np.array(list(found.values()))


def test_table_1_by_hand() -> None:
    """Round robin of three, 75 %, 50 % and 25 %: dp 193, 0, -193, their mean 0.

    x = (sum - x)/2 + dp gives x = sum/3 + 2 dp/3 with the sum of 2000, 2200 and 2450.
    """
    found = recursive_performance(table_1(1))
    assert found == pytest.approx(6650 / 3 + 2 / 3 * np.array([193, 0, -193]), abs=1e-9)


@pytest.mark.parametrize("dense", [True, False])
def test_palma_2017_is_what_the_iteration_tends_to(dense: bool) -> None:
    """1e-6: what is left of the iteration after 4000 rounds is less, by both ways to solve."""
    games = palma_2017()
    found = solve_recursive(games, dense_players=DENSE_PLAYERS if dense else 0)
    np.testing.assert_allclose(found, by_rounds(games), rtol=0, atol=1e-6)
    assert games.played() @ found == pytest.approx(81 * 2 * games.initial.mean())


@given(tournaments(), st.booleans())
def test_everybody_is_as_good_as_opponents_and_score_say(games: Games, dense: bool) -> None:
    """The definition, but for one number common to each component; its mean is the average rating.

    1e-6 points: tolerance of the solver, times how far it may be from there to the answer.
    """
    found = solve_recursive(games, dense_players=DENSE_PLAYERS if dense else 0)
    played = games.played()
    worth = rating_difference(games.scored(), played)
    component = components(games.white, games.black, games.players)
    opponents = np.bincount(games.white, games.weights * found[games.black], games.players)
    opponents += np.bincount(games.black, games.weights * found[games.white], games.players)
    for number in range(component.max() + 1):
        own = component == number
        if not played[own].all():
            assert np.isnan(found[own]).all()
            continue
        common = found[own] - opponents[own] / played[own] - worth[own]
        np.testing.assert_allclose(common, common[0], rtol=0, atol=1e-6)
        mean = np.average(found[own], weights=played[own])
        assert mean == pytest.approx(games.initial[own].mean(), abs=1e-6)


@given(tournaments(rated=False), st.integers(0, 2800))
def test_ratings_fix_one_number_only(games: Games, anchor: int) -> None:
    """Differences are the same from any ratings, from an anchor, and from nothing."""
    assume(not np.isnan(games.initial).all())
    blank = dataclasses.replace(games, rating=None)
    found = recursive_performance(blank, anchor=float(anchor))
    shape = recursive_performance(blank)
    np.testing.assert_allclose(found, anchor + shape, rtol=0, atol=1e-6)
    component = components(games.white, games.black, games.players)
    apart = recursive_performance(games) - shape
    for number in range(component.max() + 1):
        own = apart[component == number]
        np.testing.assert_allclose(own, own[0], rtol=0, atol=1e-6)


def test_a_win_can_lower_it() -> None:
    """The example of docs/equations/performance-ratings.md: a beats the weak d.

    The rise of a's percentage is worth less than the fall of a's average opponent.
    """
    before = recursive_performance(matches(UNMET))
    after = recursive_performance(matches([*UNMET, ("a", "d", 1.0, 1.0)]))
    assert before == pytest.approx([2831.5, 2498.3, 2498.3, 2173.5], abs=0.05)
    assert after == pytest.approx([2805.0, 2500.0, 2500.0, 2195.0], abs=0.05)
    # Nor is it the common constant: a's lead over everybody shrinks too.
    assert (after[0] - after[1:] < before[0] - before[1:]).all()


def test_by_the_elo_curve_it_says_nothing_at_100_per_cent() -> None:
    games = Games.from_arrays(
        ["a", "b", "x"], ["b", "c", "y"], [1, 0.5, 0.5], rating={"a": 1500, "x": 1700}
    )
    found = recursive_performance(games, correction="elo")
    assert games.player_ids.tolist() == ["a", "b", "c", "x", "y"]
    assert np.isnan(found[:3]).all()
    assert found[3:].tolist() == [1700, 1700]


def test_corrections_differ_in_what_a_score_is_worth() -> None:
    """A match at 3 : 1; each is half the worth from the middle, 400 log10(3) or 400 (2 p - 1)."""
    games = matches([("a", "b", 4.0, 3.0)])
    for correction, worth in (("fide", 193), ("elo", 400 * np.log10(3)), ("linear", 200)):
        found = recursive_performance(games, correction=correction)  # type: ignore[arg-type]
        assert found == pytest.approx([2500 + worth / 2, 2500 - worth / 2], abs=1e-9)
    assert recursive_performance(games, scale=2)[0] == pytest.approx(2500 + 193)


def test_what_is_not_solved_is_an_error() -> None:
    with pytest.raises(ConvergenceError, match="recursive performance"):
        solve_recursive(palma_2017(), dense_players=0, most_steps=2)


@pytest.mark.parametrize(
    ("choice", "rule"),
    [
        ({"scale": 0.0}, "scale must be a number above 0"),
        ({"correction": "glicko"}, "correction must be one of fide, elo, linear"),
        ({"anchor": np.nan}, "anchor must be a number"),
    ],
)
def test_choices_out_of_range_are_refused(choice: dict[str, object], rule: str) -> None:
    with pytest.raises(InvalidParameterError, match=rule):
        recursive_performance(table_1(1), **choice)  # type: ignore[arg-type]
