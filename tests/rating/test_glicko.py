"""Glicko against Glickman's example and against its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.history import History
from equipoise.errors import InvalidParameterError
from equipoise.rating.state import State
from equipoise.rating.systems.glicko import Glicko
from reference import glicko as slow


def contest(ranks: list[int], weight: float = 1.0, time: int | None = None) -> History:
    """Return a history of one match of single players."""
    count = len(ranks)
    return History(
        match_ids=np.array([1]),
        player_ids=np.arange(count),
        offsets=np.array([0, count]),
        player=np.arange(count),
        team=np.arange(count),
        rank=np.unique(ranks, return_inverse=True)[1],
        weight=np.array([weight]),
        time=None if time is None else np.array([time]),
    )


def state_of(system: Glicko, ratings: list[float], deviations: list[float]) -> State:
    state = system.initial(len(ratings))
    state.column("rating")[:] = ratings
    state.column("deviation")[:] = deviations
    return state


def test_the_published_example() -> None:
    """[G1] p. 4: 1500 +- 200 beats 1400 +- 30, loses to 1550 +- 100 and 1700 +- 300."""
    system = Glicko(drift=0.0)
    state = state_of(system, [1500, 1400, 1550, 1700], [200, 30, 100, 300])
    system.run(state, contest([1, 2, 0, 0]), 0, 1)
    assert state.column("rating")[0] == pytest.approx(1464, abs=0.5)
    assert state.column("deviation")[0] == pytest.approx(151.4, abs=0.05)


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
    state = state_of(system, ratings.tolist(), deviations.tolist())
    system.run(state, contest(ranks, weight), 0, 1)
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
    state = state_of(system, [1500.0], [50.0])
    state.column("last_time")[:] = 100.0
    later = [system.at(state, np.array([0]), day)["deviation"][0] for day in (100.0, 130.0, 1e6)]
    np.testing.assert_allclose(later, [50.0, math.hypot(50.0, 63.2), 350.0])


def test_parameters_outside_their_range_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="drift must be from 0 to 1e9; got -1"):
        Glicko(drift=-1.0)
