"""Plackett-Luce, Bradley-Terry and Thurstone-Mosteller against printed algorithms and openskill."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from drawing import WITHOUT_JIT, examples
from equipoise.analysis.reading import missing_notes
from equipoise.data.history import History
from equipoise.errors import InvalidDataError
from equipoise.rating.one_match import OneMatch, history_of
from equipoise.rating.registry import make_system
from equipoise.rating.replay import replay
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem
from rating.histories import standing
from reference import weng_lin as slow

MODELS = ("plackett-luce", "bradley-terry")


class Match:
    """A random match: sizes and ranks of teams, members' ratings and deviations."""

    def __init__(self, rng: np.random.Generator, teams: int, largest: int, spread: float) -> None:
        self.sizes = rng.integers(1, largest + 1, teams)
        self.ranks = np.unique(rng.integers(0, teams, teams), return_inverse=True)[1]
        self.rating = rng.normal(1500, spread, self.sizes.sum())
        self.deviation = rng.uniform(30, 400, self.sizes.sum())

    def history(self, weight: float = 1.0) -> History:
        return history_of([OneMatch(self.sizes.tolist(), self.ranks.tolist(), weight)])

    def teams(self, drift: float = 0.0) -> list[list[tuple[float, float]]]:
        members = [
            (m, math.hypot(s, drift)) for m, s in zip(self.rating, self.deviation, strict=True)
        ]
        ends = np.cumsum(self.sizes).tolist()
        return [
            members[end - size : end] for end, size in zip(ends, self.sizes.tolist(), strict=True)
        ]

    def rated(self, system: RatingSystem, weight: float = 1.0) -> State:
        state = standing(system, rating=self.rating, deviation=self.deviation)
        system.run(state, self.history(weight), 0, 1)
        return state


@pytest.mark.parametrize("model", MODELS)
@given(
    seed=st.integers(0, 10**6),
    teams=st.integers(2, 40),
    spread=st.sampled_from([0.0, 300.0, 3000.0]),
    weight=st.sampled_from([1.0, 0.3, 2.0]),
)
@examples(60)
def test_a_match_is_rated_as_the_printed_algorithm_has_it(
    model: str, seed: int, teams: int, spread: float, weight: float
) -> None:
    """Teams of one to four, ties, uneven sizes; 1e-9 points is rounding at magnitude 1e4."""
    match = Match(np.random.default_rng(seed), teams, 4, spread)
    system: Any = make_system(model, {"beta": 120.0, "drift": 10.0, "least_share": 0.05})
    state = match.rated(system, weight)
    before = match.teams(10.0)
    found = (slow.plackett_luce if model == "plackett-luce" else slow.bradley_terry)(
        before, match.ranks.tolist(), 120.0
    )
    after = [one for team in slow.updated(before, found, weight, 10.0, 0.05) for one in team]
    np.testing.assert_allclose(state.column("rating"), [mu for mu, _ in after], rtol=0, atol=1e-9)
    np.testing.assert_allclose(state.column("deviation"), [s for _, s in after], rtol=1e-12)


@pytest.mark.parametrize("model", ["bradley-terry", "thurstone-mosteller"])
@given(
    seed=st.integers(0, 10**6),
    teams=st.integers(2, 9),
    window=st.integers(0, 3),
    average=st.booleans(),
)
@examples(40)
def test_pairs_are_compared_as_the_formulas_have_it(
    model: str, seed: int, teams: int, window: int, average: bool
) -> None:
    """Both models, full (a window of 0) and partial, sums and means, draws included."""
    match = Match(np.random.default_rng(seed), teams, 3, 60.0)
    match.rating -= 1500.0
    parameters: dict[str, object] = {"beta": 120.0, "drift": 10.0, "average": average}
    if window:
        parameters |= {"pairing": "partial", "window": window}
    normal = model == "thurstone-mosteller"
    if normal:
        parameters["eps"] = 90.0
    state = match.rated(make_system(model, parameters), 0.7)
    before, ranks = match.teams(10.0), match.ranks.tolist()
    near = slow.neighbours(ranks, window or teams)
    eps, stretch = (90.0, 2.0 if window else 1.0) if normal else (None, 1.0)
    found = slow.pairs(before, ranks, 120.0, near, eps, stretch)
    if average:
        found = [
            [part / len(others) for part in one] for one, others in zip(found, near, strict=True)
        ]
    after = [one for team in slow.updated(before, found, 0.7, 10.0, 1e-4) for one in team]
    np.testing.assert_allclose(state.column("rating"), [mu for mu, _ in after], rtol=0, atol=1e-8)
    np.testing.assert_allclose(state.column("deviation"), [s for _, s in after], rtol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_a_field_of_thousands_far_apart_stays_finite(model: str) -> None:
    """Ratings from 0 to 100,000 neither overflow nor vanish, whoever wins."""
    count = 400 if WITHOUT_JIT else 2000
    match = Match(np.random.default_rng(3), count, 1, 0.0)
    match.rating = np.linspace(0.0, 1e5, count)
    for ranks in (np.arange(count), np.arange(count)[::-1].copy()):
        match.ranks = ranks
        state = match.rated(make_system(model))
        assert np.all(np.isfinite(state.table[:, :2]))
        assert np.all(state.column("deviation") > 0)


def test_expected_scores_of_thurstone_mosteller_are_those_of_the_page() -> None:
    """The trace has the normal curve with both variances and twice the square of beta."""
    system = make_system("thurstone-mosteller")
    history = history_of([OneMatch((1, 1), (0, 1))] * 4, [[0, 1], [0, 1], [0, 2], [0, 1]])
    trace = replay(system, history, trace=True).trace
    last = trace.to_polars().tail(2)
    rating, deviation = last["rating_before"].to_numpy(), last["deviation_before"].to_numpy()
    found = last["expected"].to_list()
    c = math.sqrt(float(np.sum(deviation**2)) + 2 * 3.5**2 + 2 * 175.0**2)
    z = float(rating[0] - rating[1]) / c
    expected = 0.5 * math.erfc(-z / math.sqrt(2))
    assert found[0] == pytest.approx(expected, rel=1e-12)
    assert sum(found) == pytest.approx(1.0, rel=1e-12)


def crowds(teams: int, matches: int) -> History:
    """Return matches of single players out of three times as many, the order drawn."""
    rng = np.random.default_rng(1)
    skill = rng.normal(0.0, 200.0, 3 * teams)
    player = np.array([rng.choice(3 * teams, teams, replace=False) for _ in range(matches)])
    played = skill[player] + rng.normal(0.0, 175.0, player.shape)
    ranks = np.argsort(np.argsort(-played, axis=1), axis=1).tolist()
    return history_of([OneMatch((1,) * teams, one) for one in ranks], player.tolist())


@pytest.mark.parametrize(("name", "most"), [("thurstone-mosteller", 8), ("bradley-terry", 30)])
def test_large_fields_are_noted(name: str, most: int) -> None:
    system = make_system(name)
    assert missing_notes(system, crowds(most, 1), resumed=False) == []
    (note,) = missing_notes(system, crowds(most + 1, 1), resumed=False)
    assert f"with more than {most} " in note
    assert "average=true or pairing=partial" in note
    (own,) = system.notes
    assert f"more than {most} teams" in own
    for remedy in ({"average": True}, {"pairing": "partial"}):
        mended = make_system(name, remedy)
        assert missing_notes(mended, crowds(most + 1, 1), resumed=False) == []
        assert mended.notes == ()


def test_ratings_that_run_away_are_refused() -> None:
    far = np.array([1500.0, -3e9])
    system = eq.ThurstoneMosteller()
    with pytest.raises(InvalidDataError, match="set average=true or pairing=partial"):
        system.check_ratings(far, crowds(9, 1))
    system.check_ratings(far, crowds(8, 1))
    for mended in (eq.ThurstoneMosteller(average=True), eq.ThurstoneMosteller(pairing="partial")):
        mended.check_ratings(far, crowds(9, 1))
