"""Glicko-2 against Glickman's example and against a slow, obvious reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.history import History
from equipoise.data.outlook import GLICKO2_SCALE
from equipoise.errors import InvalidParameterError
from equipoise.formats import read_history
from equipoise.rating.registry import make_system
from equipoise.rating.replay import replay
from equipoise.rating.systems.glicko2 import Glicko2
from rating.histories import shared_file
from reference.glicko2 import Player, rate_periods

DAY = 86_400_000_000


def duels(games: list[tuple[float, int, int, float]], players: int) -> History:
    """Return a history of (day, first, second, score of the first)."""
    count = len(games)
    ranks = {1.0: (0, 1), 0.5: (0, 0), 0.0: (1, 0)}
    return History(
        match_ids=np.arange(count),
        player_ids=np.arange(players),
        offsets=2 * np.arange(count + 1),
        player=np.array([row for _, a, b, _ in games for row in (a, b)]),
        team=np.tile([0, 1], count),
        rank=np.array([rank for *_, score in games for rank in ranks[score]]),
        time=np.array([int(day * DAY) for day, *_ in games]),
        time_kind="datetime",
    )


def test_glickmans_worked_example() -> None:
    """[G2] section "Example": one player, three games in one period, to every printed digit.

    The paper prints mu' = -0.2069, phi' = 0.8722, sigma' = 0.05999, RD' = 151.52 and
    r' = 1464.06. The last is 173.7178 times the rounded -0.2069; unrounded it is 1464.05.
    """
    system = Glicko2(tau=0.5, period_days=1)
    state = system.initial(4)
    state.column("rating")[:] = [1500, 1400, 1550, 1700]
    state.column("deviation")[:] = [200, 30, 100, 300]
    history = duels([(0, 0, 1, 1.0), (0, 0, 2, 0.0), (0, 0, 3, 0.0)], players=4)
    system.run(state, history, 0, 3)
    hero = {name: column[0] for name, column in system.at(state, np.array([0]), None).items()}
    mu = (hero["rating"] - 1500) / GLICKO2_SCALE
    assert round(mu, 4) == -0.2069
    assert round(1500 + GLICKO2_SCALE * round(mu, 4), 2) == 1464.06
    assert hero["rating"] == pytest.approx(1464.0506705393013, abs=1e-9)
    assert round(hero["deviation"] / GLICKO2_SCALE, 4) == 0.8722
    assert round(hero["deviation"], 2) == 151.52
    # The paper cuts 0.0599960 off after five digits.
    assert math.floor(hero["volatility"] * 1e5) / 1e5 == 0.05999


@st.composite
def seasons(draw: st.DrawFn) -> list[tuple[float, int, int, float]]:
    """Return games in time order between five players."""
    day, games = 0.0, []
    for _ in range(draw(st.integers(1, 15))):
        day += draw(st.sampled_from([0.0, 0.25, 1.0, 3.0, 40.0]))
        a, b = draw(st.permutations(range(5)))[:2]
        games.append((day, a, b, draw(st.sampled_from([1.0, 0.5, 0.0]))))
    return games


@given(games=seasons(), tau=st.sampled_from([0.2, 0.5, 1.2]), later=st.sampled_from([0, 3, 90]))
@examples(60)
def test_periods_equal_the_reference(
    games: list[tuple[float, int, int, float]], tau: float, later: int
) -> None:
    """The streaming form equals Glickman's steps taken a period at a time.

    Tolerance: the reference bisects the volatility to 1e-13, which moves ratings by far less.
    """
    system = Glicko2(tau=tau, period_days=2.0)
    history = duels(games, players=5)
    state = system.initial(5)
    system.run(state, history, 0, history.matches)
    end = games[-1][0] + later
    ours = system.at(state, np.arange(5), end)
    theirs = rate_periods(games, players=5, period=2.0, tau=tau, end=end)
    for row, player in enumerate(theirs):
        assert ours["rating"][row] == pytest.approx(player.rating, abs=1e-8)
        assert ours["deviation"][row] == pytest.approx(player.deviation, abs=1e-8)
        assert ours["volatility"][row] == pytest.approx(player.volatility, abs=1e-12)


def test_inactivity_composes_and_is_capped() -> None:
    """k empty periods at once are k single ones, and nobody gets less certain than a newcomer."""
    system = Glicko2(period_days=1, initial_volatility=0.3)
    state = system.initial(2)
    system.run(state, duels([(0, 0, 1, 1.0)], players=2), 0, 1)
    rows = np.array([0])
    now = system.at(state, rows, None)
    later = system.at(state, rows, 6.0)["deviation"][0]
    stepwise = now["deviation"][0] / GLICKO2_SCALE
    for _ in range(5):
        stepwise = math.hypot(stepwise, now["volatility"][0])
    assert later == pytest.approx(stepwise * GLICKO2_SCALE, rel=1e-12)
    assert system.at(state, rows, 1e6)["deviation"][0] == 350.0


@pytest.mark.parametrize("gap", [1e3, 1e4, 5e4])
@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_huge_gaps_stay_finite(gap: float, score: float) -> None:
    """READINGS A6: neither e^x nor E(1 - E) leaves the range, and an upset costs something."""
    system = Glicko2()
    state = system.initial(2)
    state.column("rating")[:] = [1500 + gap, 1500]
    system.run(state, duels([(0, 0, 1, score)], players=2), 0, 1)
    after = system.at(state, np.arange(2), None)
    assert all(np.all(np.isfinite(column)) for column in after.values())
    assert (after["rating"][0] < 1500 + gap) == (score < 1.0)
    assert np.all(after["volatility"] < 1.0)


def test_a_weight_of_two_is_the_game_twice() -> None:
    """In one period two equal games and one of weight two are the same evidence."""
    system = Glicko2(period_days=1)
    twice = duels([(0, 0, 1, 1.0), (0, 0, 1, 1.0)], players=2)
    once = duels([(0, 0, 1, 1.0)], players=2)
    heavy = History(
        **{
            name: getattr(once, name)
            for name in ("match_ids", "player_ids", "offsets", "player", "team", "rank", "time")
        },
        weight=np.array([2.0]),
    )
    results = []
    for history in (twice, heavy):
        state = system.initial(2)
        system.run(state, history, 0, history.matches)
        results.append(system.at(state, np.arange(2), None))
    np.testing.assert_allclose(results[0]["rating"], results[1]["rating"], rtol=1e-13)
    np.testing.assert_allclose(results[0]["deviation"], results[1]["deviation"], rtol=1e-13)


def test_the_reference_knows_the_example_too() -> None:
    """The slow code is held against the paper before anything is held against it."""
    hero = Player(1500, 200, 0.06)
    opponents = [Player(1400, 30, 0.06), Player(1550, 100, 0.06), Player(1700, 300, 0.06)]
    after = hero.after_games(list(zip(opponents, [1.0, 0.0, 0.0], strict=True)), tau=0.5)
    assert after.rating == pytest.approx(1464.05, abs=0.005)
    assert after.deviation == pytest.approx(151.52, abs=0.005)
    assert after.volatility == pytest.approx(0.05999, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "value"),
    [("tau", 0), ("tau", 2.1), ("initial_deviation", -1), ("period_days", 0)],
)
def test_parameters_outside_their_range_are_refused(name: str, value: float) -> None:
    """The message names the parameter, the rule and the value."""
    with pytest.raises(InvalidParameterError, match=f"{name} must be .*got {value}"):
        Glicko2(**{name: value})


# Without the compiler NumPy warns of the infinities that kernels are written for.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("weight", [1e3, 1e9])
def test_the_volatility_is_capped(weight: float) -> None:
    """Matches of large weights, lost and won by turns, drive it; the rating stays a number."""
    count = 60
    history = History(
        match_ids=np.arange(count),
        player_ids=np.arange(2),
        offsets=np.arange(count + 1) * 2,
        player=np.tile([0, 1], count),
        team=np.tile([0, 1], count),
        rank=np.concatenate([[m % 2, 1 - m % 2] for m in range(count)]),
        weight=np.where(np.arange(count) % 3 == 0, weight, 1.0),
    )
    for name in ("glicko2", "team-glicko2"):
        capped = replay(make_system(name), history, trace=True)
        assert np.all(np.isfinite(capped.ratings.rating))
        assert capped.trace is not None
        assert capped.trace.columns["volatility"].max() == 2.0
        tighter = replay(make_system(name, {"max_volatility": 0.5}), history, trace=True)
        assert tighter.trace is not None
        assert tighter.trace.columns["volatility"].max() == 0.5
        # A larger initial one is its own cap.
        settings = {"max_volatility": 0.5, "initial_volatility": 0.7}
        larger = replay(make_system(name, settings), history, trace=True)
        assert larger.trace is not None
        assert larger.trace.columns["volatility"].max() == 0.7
        with pytest.raises(InvalidParameterError, match="max_volatility must be positive; got 0"):
            make_system(name, {"max_volatility": 0})


def test_real_volatilities_are_far_below_the_cap() -> None:
    """With and without it every rating of a real league has the same bits."""
    history = read_history(shared_file("data", "football.parquet")).slice(0, 3_000)
    found = [
        replay(make_system("glicko2", settings), history).ratings
        for settings in ({}, {"max_volatility": 1e300}, {"max_volatility": 0.061})
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].rating, other.rating)
        np.testing.assert_array_equal(found[0].deviation, other.deviation)
