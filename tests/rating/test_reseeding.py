"""Players who begin with a rating from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.errors import InvalidParameterError
from equipoise.rating.federation_columns import KNOWN
from equipoise.rating.pool_state import seeded_state, soft_reset
from equipoise.rating.registry import SYSTEMS, make_system
from equipoise.rating.system import RatingSystem

NAMES = sorted(SYSTEMS)


def start_of(system: RatingSystem) -> tuple[float, float]:
    """Return rating and deviation of a newcomer."""
    first = system.at(system.initial(1), np.zeros(1, np.int64), None)
    return float(first["rating"][0]), float(first["deviation"][0])


@pytest.mark.parametrize("name", NAMES)
def test_a_seeded_player_has_the_rating_and_is_a_newcomer_in_all_else(name: str) -> None:
    """Reading the state gives what was wanted; glicko2 goes through its own scale and back."""
    system = make_system(name)
    rating, deviation = start_of(system)
    spread = deviation if deviation == deviation else 100.0
    wanted = rating + spread * np.array([-1.25, 0.0, 0.7])
    unsure = spread * np.array([0.3, 1.0, 0.55])
    every = np.arange(3)
    state = seeded_state(system, wanted, unsure)
    now = system.at(state, every, None)
    new = system.at(system.initial(3), every, None)
    np.testing.assert_array_equal(now["rating"], wanted)
    if "deviation" in state.initial:
        np.testing.assert_array_almost_equal_nulp(now["deviation"], unsure, 1)
    else:
        np.testing.assert_array_equal(now["deviation"], new["deviation"])
    for column in set(now) - {"rating", "deviation", "effective_rating"}:
        np.testing.assert_array_equal(now[column], new[column])


@pytest.mark.parametrize("name", NAMES)
def test_seeding_with_a_newcomers_numbers_makes_a_newcomer(name: str) -> None:
    """A season that begins so is one that begins with nobody."""
    system = make_system(name)
    rating, deviation = start_of(system)
    state = seeded_state(system, np.full(2, rating), np.full(2, deviation))
    new = system.initial(2)
    if "rated" in new.initial:
        # Federations tell known ratings from those of newcomers.
        new.column("rated")[:] = KNOWN
    np.testing.assert_array_equal(state.table, new.table)


def test_a_soft_reset_moves_ratings_and_widens_deviations_up_to_a_newcomers() -> None:
    rating, deviation = soft_reset(
        np.array([1000.0, 2000.0, 1500.0]),
        np.array([30.0, 340.0, np.nan]),
        centre=1400.0,
        keep=0.5,
        widen=40.0,
        most=350.0,
    )
    assert rating.tolist() == [1200.0, 1700.0, 1450.0]
    assert deviation.tolist() == [50.0, np.hypot(340.0, 40.0), 350.0]
    assert (
        soft_reset(rating, deviation, centre=0.0, keep=1.0, widen=1e4, most=350.0)[1].tolist()
        == [350.0] * 3
    )


@pytest.mark.parametrize(
    ("rating", "deviation"), [(np.nan, 1.0), (np.inf, 1.0), (0.0, 0.0), (0.0, np.nan)]
)
def test_what_is_no_rating_is_refused(rating: float, deviation: float) -> None:
    with pytest.raises(InvalidParameterError, match="every"):
        seeded_state(make_system("glicko2"), np.array([rating]), np.array([deviation]))
