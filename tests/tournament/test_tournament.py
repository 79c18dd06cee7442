"""The whole table of a tournament: published tables, sweeps, bounds, orders, options."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from equipoise.data.games import Games
from equipoise.data.tournament import STATUSES, TournamentPerformance
from equipoise.errors import (
    InvalidParameterError,
    NoEquilibriumError,
    NotFoundError,
)
from equipoise.tournament.equilibrium import performance_equilibrium
from equipoise.tournament.tournament import half_width, performance


def games_of(results: str, rating: dict[str, float] | None = None, **more: Any) -> Games:
    """Return games written as "A-B 1, B-C =, C-A 0": the result is that of the first."""
    white, black, points = [], [], []
    for text in results.split(","):
        names, result = text.split()
        white.append(names[0])
        black.append(names[2])
        points.append({"1": 1.0, "0": 0.0, "=": 0.5}[result])
    return Games.from_arrays(white, black, points, rating=rating, **more)


def row(found: TournamentPerformance, player: str) -> int:
    return found.player_ids.tolist().index(player)


#: [PRE]_ Table 1, Tournament 1: the lowest rated wins, the highest rated comes last.
UPSET = games_of("C-B 1, C-A =, B-A 1", {"A": 2450.0, "B": 2200.0, "C": 2000.0})
#: A wins everything; B, C and D beat one another in a circle.
SWEPT = "A-B 1, A-C 1, A-D 1, B-C 1, C-D 1, D-B 1"


def test_the_first_tournament_of_table_one() -> None:
    """[PRE]_ Table 1; the exact values are in READINGS C5. CPR and FIDE's number by hand.

    C: average 2325, k = 2, m = 1.5: CPR 2325 - 1.5 x 400 log10(1/2) = 2505.62; 75 % is +193.
    """
    games = games_of("C-B =, C-A 1, B-A =", {"A": 2450.0, "B": 2200.0, "C": 2000.0})
    found = performance(games)
    assert found.exists
    assert not found.sweeps
    table = found.table
    assert table["player"].to_list() == ["C", "B", "A"]
    # The last is printed as what two rounded ones leave; it is 2085.2826.
    np.testing.assert_allclose(table["ppr"], [2348.0507577, 2216.6666667, 2085.2825757], atol=1e-5)
    np.testing.assert_allclose(table["tpr"], [2538.52, 2225.0, 1894.68], atol=0.005)
    np.testing.assert_allclose(table["expected"], table["points"], rtol=0, atol=1e-9)
    assert table["cpr"][0] == pytest.approx(2325 + 600 * math.log10(2), abs=1e-9)
    assert table["fide"][0] == 2325 + 193
    assert table["status"].to_list() == ["ok"] * 3


def test_without_an_equilibrium_classes_are_solved_by_themselves() -> None:
    """A took every point of B, C, D, who beat each other in a circle and so are equal."""
    found = performance(games_of(SWEPT, {"A": 2100.0, "B": 1900.0, "C": 1800.0, "D": 1700.0}))
    one = found.standing
    assert not found.exists
    assert [(sweep.winners, sweep.losers, sweep.games) for sweep in found.sweeps] == [
        (("A",), ("B", "C", "D"), 3.0)
    ]
    assert np.all(np.isnan(one.ppr))
    assert np.all(np.isnan(one.expected))
    # In the circle everybody took one point of two: all are at its average, 1800.
    np.testing.assert_allclose(one.class_ppr, [np.nan, 1800.0, 1800.0, 1800.0], atol=1e-9)
    assert [STATUSES[number] for number in one.status] == ["all-won", "swept", "swept", "swept"]
    assert one.class_of.tolist() == [0, 1, 1, 1]
    assert found.table["player"].to_list() == ["A", "B", "C", "D"]
    assert found.table["ppr"].null_count() == 4


def test_a_sweep_bounds_from_one_side() -> None:
    """Three games won against players at 1800 have probability 1 - 0.95 at psi(d) = 0.05^(1/3)."""
    found = performance(games_of(SWEPT, {"B": 1800.0, "C": 1800.0, "D": 1800.0}))
    psi = 0.05 ** (1.0 / 3.0)
    least = 400.0 * math.log10(psi / (1.0 - psi))
    assert found.standing.lower[0] == pytest.approx(1800.0 + least, abs=1e-6)
    assert found.sweeps[0].difference == pytest.approx(least, abs=1e-6)
    assert math.isnan(found.standing.upper[0])
    # Nothing is known of A's own level, so A bounds nobody.
    assert np.all(np.isnan(found.standing.upper))


def test_strict_raises_with_the_sweeps() -> None:
    with pytest.raises(
        NoEquilibriumError, match=r"A took every point of B, C, D \(3 games\)"
    ) as at:
        performance(games_of(SWEPT), strict=True)
    assert at.value.sweeps[0].winners == ("A",)
    assert "(prior=1 gives some)" in str(at.value)


def test_a_class_is_rated_like_a_tournament_of_its_own() -> None:
    """Within a class only the games within it count."""
    inner = "B-C 1, C-D 1, D-B 1, B-C =, C-D ="
    whole = performance(games_of(f"A-B 1, A-C 1, {inner}", {"B": 2000.0, "D": 2100.0}))
    alone = performance_equilibrium(games_of(inner, {"B": 2000.0, "D": 2100.0}))
    np.testing.assert_allclose(whole.standing.class_ppr[1:], alone.rating, rtol=0, atol=1e-9)


def test_a_component_with_an_equilibrium_keeps_it_beside_one_without() -> None:
    """E and F drew; A swept the others. The two groups never met."""
    found = performance(games_of(f"{SWEPT}, E-F ="))
    assert found.components == 2
    assert not found.exists
    for player in "EF":
        assert STATUSES[found.standing.status[row(found, player)]] == "ok"
        assert found.standing.ppr[row(found, player)] == pytest.approx(0.0, abs=1e-9)
    assert math.isnan(found.standing.ppr[row(found, "A")])
    assert found.relative


def test_a_prior_always_answers_and_is_told() -> None:
    """Drawn games against an average player give even A a number, which is no equilibrium."""
    found = performance(games_of(SWEPT), prior=1.0)
    assert not found.exists
    assert found.prior == 1.0
    assert np.all(np.isfinite(found.standing.ppr))
    assert found.standing.ppr[0] == found.standing.ppr.max()
    # The prior changes no fact: A won everything, and class ratings are of another kind.
    assert STATUSES[found.standing.status[0]] == "all-won"
    assert np.all(np.isnan(found.standing.class_ppr))
    assert abs(found.standing.expected[0] - found.standing.points[0]) > 0.1


def test_players_without_games_are_listed() -> None:
    games = Games(
        player_ids=np.array(["A", "B", "X"], dtype=object),
        white=np.array([0]),
        black=np.array([1]),
        points=np.array([0.5]),
    )
    found = performance(games)
    assert STATUSES[found.standing.status[2]] == "no-games"
    assert found.table["player"].to_list() == ["A", "B", "X"]
    assert found.table["class"].to_list() == [0, 0, None]
    assert math.isnan(found.standing.ppr[2])


def test_superiority_is_antisymmetric_and_follows_the_ratings() -> None:
    found = performance(UPSET, superiority=True)
    p = found.superiority.probability
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose((p + p.T)[off], 1.0, atol=1e-12)
    assert np.all(np.isnan(np.diag(p)))
    assert np.all(p[np.triu_indices(3, 1)] >= 0.5)


@pytest.mark.parametrize(("confidence", "width"), [(0.95, 1.959964), (0.5, 0.674490)])
def test_half_widths_are_those_of_the_normal_distribution(confidence: float, width: float) -> None:
    assert half_width(confidence) == pytest.approx(width, abs=1e-6)


def test_further_columns_are_added_when_asked_for() -> None:
    found = performance(UPSET, also=("linear", "recursive"))
    assert {"linear", "recursive"} <= set(found.table.columns)
    # B: one point of two against 2000 and 2450.
    assert found.extra["linear"][row(found, "B")] == pytest.approx(2225.0)


def test_wrong_usage_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="confidence must be above 0 and at most"):
        performance(UPSET, confidence=1.0)
    with pytest.raises(InvalidParameterError, match=r"scale must be from 0.001 to 20; got 400"):
        performance(UPSET, scale=400)
    with pytest.raises(NotFoundError, match="not among the 3 players: Z"):
        performance(UPSET, players=["Z"])
    wrong: Any = ["quadratic"]
    with pytest.raises(InvalidParameterError, match="also must be one of linear, recursive"):
        performance(UPSET, also=wrong)


def test_games_that_weigh_too_unevenly_have_no_error_bars() -> None:
    """Weights 1e9 and 1e-9: elimination would say 0 or anything; the ratings are right even so.

    d is below c by one game of two drawn, and so on along the chain: all are equal.
    """
    games = Games.from_arrays(list("abc"), list("bcd"), [5e8, 5e-10, 1.0], weight=[1e9, 1e-9, 2.0])
    found = performance(games)
    np.testing.assert_allclose(found.standing.ppr, 0.0, atol=1e-6)
    assert np.all(np.isnan(found.standing.error))


def test_a_model_of_draws_leaves_the_ratings_before_the_tournament_alone() -> None:
    """TPR goes by what the opponents were worth before, on the scale of those ratings."""
    ratings = {"A": 2450.0, "B": 2200.0, "C": 2000.0}
    games = games_of("C-B =, C-A 1, B-A =, A-C 1, B-C 1, A-B 1", ratings)
    plain, drawn = performance(games), performance(games, draws="davidson")
    assert drawn.draw_parameter > 0
    np.testing.assert_array_equal(plain.standing.tpr, drawn.standing.tpr)


def test_with_players_held_the_reason_is_about_the_others() -> None:
    found = performance(UPSET, anchors={"A": 2000.0, "B": 2400.0})
    assert found.reasons[0].startswith("Finite ratings predict the score of every player whose")
