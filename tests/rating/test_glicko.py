"""Glicko, with and without rating periods, against Glickman's example and a slow reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.history import History
from equipoise.errors import InvalidDataError
from equipoise.rating.replay import replay
from equipoise.rating.systems.glicko import Glicko
from rating.histories import Contest, history_of, one_contest, standing
from reference import glicko as slow


@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([2, 3, 10, 120]),
    weight=st.sampled_from([1.0, 0.5, 3.0]),
    drift=st.sampled_from([0.0, 35.0]),
)
@example(seed=158, size=120, weight=1.0, drift=0.0)
@example(seed=240_941, size=120, weight=3.0, drift=0.0)
@examples(30)
def test_a_contest_is_a_period_of_all_pairs(
    seed: int, size: int, weight: float, drift: float
) -> None:
    """To 1e-9 points and 1e-11 of the change, which is what linear time leaves of the sums.

    Changes here are up to 10,000 points: a sure upset in a field of 120 is so many games. The sums
    are good to a part of the whole field (`numeric.field_scores`), of which whoever stands far from
    the others has little: against 80-bit arithmetic, 5 of 400 fields of 120 had a player whose
    change was off by more than 1e-12 of it, the worst by 3.7e-12; two of those are among the
    examples.
    """
    rng = np.random.default_rng(seed)
    ratings, deviations = rng.normal(1500, 400, size), rng.uniform(30, 340, size)
    ranks = rng.integers(0, size, size).tolist()
    system = Glicko(drift=drift)
    state = standing(system, rating=ratings, deviation=deviations)
    system.run(state, one_contest(ranks, weight=weight), 0, 1)
    widths = np.minimum(np.hypot(deviations, drift), 350.0)
    for i in range(size):
        games = [
            (ratings[j], widths[j], 0.5 if ranks[i] == ranks[j] else float(ranks[i] < ranks[j]))
            for j in range(size)
            if j != i
        ]
        rating, deviation = slow.updated(ratings[i], widths[i], games, weight)
        left = 1e-9 + 1e-11 * abs(rating - ratings[i])
        assert state.column("rating")[i] == pytest.approx(rating, abs=left)
        assert state.column("deviation")[i] == pytest.approx(deviation, abs=1e-9)


def test_days_without_matches_widen_up_to_the_cap() -> None:
    """[G1] step 1: sqrt(RD^2 + c^2 t), at most 350; his c^2 is a variance a period."""
    system = Glicko(drift=0.0, drift_per_day=63.2**2 / 30.0)
    state = standing(system, rating=[1500.0], deviation=50.0, last_time=100.0)
    later = [system.at(state, np.array([0]), day)["deviation"][0] for day in (100.0, 130.0, 1e6)]
    np.testing.assert_allclose(later, [50.0, math.hypot(50.0, 63.2), 350.0])


# --- rating periods --------------------------------------------------------------------------

#: (day, players, ranks, weight)
Played = tuple[float, list[int], list[int], float]

PLAYERS = 5


def season_of(contests: list[Played], players: int = PLAYERS) -> History:
    """Return a history of contests of single players."""
    return history_of(
        [
            Contest(tuple(field), tuple(ranks), day, weight)
            for day, field, ranks, weight in contests
        ],
        players,
    )


GAMES: list[Played] = [(day, [0, day], [day > 1, day == 1], 1.0) for day in (1, 2, 3)]


@pytest.mark.parametrize(
    ("system", "history"),
    [
        (Glicko(drift=0.0), one_contest([1, 2, 0, 0])),
        (Glicko(period_days=30, drift=34.6), season_of(GAMES, players=4)),
    ],
    ids=["one contest", "a period of three games"],
)
def test_the_published_example(system: Glicko, history: History) -> None:
    """[G1] p. 4: 1500 +- 200 beats 1400 +- 30, loses to 1550 +- 100 and 1700 +- 300.

    Glickman prints 1464 and 151.4, from an E of three digits for each game.
    """
    state = standing(system, rating=[1500, 1400, 1550, 1700], deviation=[200, 30, 100, 300])
    system.run(state, history, 0, history.matches)
    found = system.at(state, np.arange(4), None)
    assert found["rating"][0] == pytest.approx(1464, abs=0.5)
    assert found["deviation"][0] == pytest.approx(151.4, abs=0.05)
    exact = slow.updated(1500, 200, [(1400, 30, 1.0), (1550, 100, 0.0), (1700, 300, 0.0)])
    assert (found["rating"][0], found["deviation"][0]) == pytest.approx(exact, abs=1e-9)


def test_c_is_the_drift_of_a_period() -> None:
    """[G1] p. 3: with c = 63.2 a deviation of 50 is 350 after 30 periods, of two months each.

    Glickman rounds c: 50^2 + 30 c^2 is 350^2 at c = 63.25.
    """
    for system in (
        Glicko(period_days=60, drift=63.2),
        Glicko(period_days=60, drift=0, drift_per_day=63.2**2 / 60),
    ):
        state = standing(system, rating=[1500.0], deviation=50.0, period=0.0)
        later = [system.at(state, np.array([0]), 60.0 * k)["deviation"][0] for k in (0, 1, 30)]
        np.testing.assert_allclose(later[:2], [50.0, math.hypot(50.0, 63.2)])
        assert later[2] == pytest.approx(350.0, abs=0.5)


@st.composite
def seasons(draw: st.DrawFn) -> list[Played]:
    """Return contests in time order."""
    day, contests = 0.0, []
    for _ in range(draw(st.integers(1, 12))):
        day += draw(st.sampled_from([0.0, 0.25, 1.0, 3.0, 40.0]))
        size = draw(st.integers(2, PLAYERS))
        field = draw(st.permutations(range(PLAYERS)))[:size]
        ranks = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
        contests.append((day, list(field), ranks, draw(st.sampled_from([1.0, 0.5, 3.0]))))
    return contests


@given(contests=seasons(), c=st.sampled_from([0.0, 34.6, 120.0]), later=st.sampled_from([0, 3, 90]))
@examples(60)
def test_periods_equal_the_reference(contests: list[Played], c: float, later: int) -> None:
    """Matches one at a time equal Glickman's steps taken a period at a time, for all pairs."""
    system = Glicko(drift=c, period_days=2.0)
    history = season_of(contests)
    state = system.initial(PLAYERS)
    system.run(state, history, 0, history.matches)
    end = contests[-1][0] + later
    ours = system.at(state, np.arange(PLAYERS), end)
    theirs = slow.rate_periods(contests, PLAYERS, period=2.0, c=c, end=end)
    np.testing.assert_allclose(ours["rating"], [rating for rating, _ in theirs], atol=1e-8)
    np.testing.assert_allclose(ours["deviation"], [width for _, width in theirs], atol=1e-8)


def test_a_history_without_times_is_refused() -> None:
    with pytest.raises(InvalidDataError, match="no times"):
        replay(Glicko(period_days=7), one_contest([0, 1]))
