"""A log that cannot be rated to its end: the match at fault is voided, and the pool goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.data.history import History
from equipoise.errors import ConvergenceError, InvalidDataError
from equipoise.pools.amending import amendments
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.replay import replaying
from equipoise.rating.state import State
from equipoise.rating.systems.elo import Elo
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store
from pools.pool_trials import Trial, duel
from pools.test_replaying import filled

#: A weight of a match for which the system does not converge, or leaves nobody a rating.
_FAILS, _NO_RATING, _POISON = 13.0, 14.0, 15.0


@pytest.fixture(autouse=True)
def fails_for(monkeypatch: pytest.MonkeyPatch) -> set[float]:
    """Let Elo fail in three ways: at once, by a rating of NaN, and by what it does to later ones.

    Returns : weights of matches for which it fails at once
    """
    run, fails = Elo.run, {_FAILS}

    def breaks(
        self: Elo, state: State, history: History, start: int, stop: int, *more: Any
    ) -> None:
        ratings = state.column("rating")
        for match in range(start, stop):
            players = history.player[history.match_rows() == match]
            weight = history.weights()[match]
            if weight in fails or np.any(ratings[players] > 1e6):
                raise ConvergenceError("the test", 1, 1.0)
            run(self, state, history, match, match + 1, *more)
            if weight in (_NO_RATING, _POISON):
                ratings[players] = np.nan if weight == _NO_RATING else 1e7

    monkeypatch.setattr(Elo, "run", breaks)
    return fails


def settle(pool: Trial) -> None:
    """Replay as the service does, until nothing is pending."""
    for _ in range(10):
        replaying.replay_pool(pool.store, pool.name, owner="tester")
        if not pool_message(pool.store, pool.name).pending:
            return
    raise AssertionError("the pool still waits for a replay")


def voids(pool: Trial) -> dict[str, str]:
    """Return the matches that were voided by the service, and why."""
    page = amendments(pool.store, pool.name)
    return {str(one.match): one.reason for one in page.amendments if one.kind == "void"}


@pytest.mark.parametrize("weight", [_FAILS, _NO_RATING])
@pytest.mark.parametrize("piece", [3, 2000])
def test_a_correction_that_cannot_be_rated_does_not_hold_up_the_pool(
    store: Store, weight: float, piece: int
) -> None:
    """The match is voided with the reason; what was amended beside it counts."""
    store = Store(store.engine, Sizes(matches=piece))
    pool = filled(store)
    same = filled(store, name="same")
    pool.correct(duel("m5", "bob", "cyd", 5, weight=weight))
    pool.void("m7")
    settle(pool)
    assert set(voids(pool)) == {"m5", "m7"}
    assert "elo cannot rate this match" in voids(pool)["m5"]
    assert pool.is_sound()
    same.void("m5")
    same.void("m7")
    same.settle()
    assert pool.ratings() == same.ratings()
    pool.correct(duel("m5", "bob", "cyd", 5))
    pool.restore("m5")
    pool.restore("m7")
    settle(pool)
    assert pool.is_sound()
    assert pool.ratings() == filled(store, name="untouched").ratings()


def test_a_correction_that_breaks_a_later_match_is_what_is_voided(store: Store) -> None:
    """The later match is innocent."""
    pool = filled(store)
    pool.correct(duel("m2", "cyd", "dan", 2, weight=_POISON))
    settle(pool)
    (reason,) = [why for match, why in voids(pool).items() if match == "m2"]
    assert "after this one" in reason
    assert set(voids(pool)) == {"m2"}
    assert pool.is_sound()


def test_a_late_match_that_cannot_be_rated_is_voided(store: Store) -> None:
    pool = filled(store)
    pool.post(duel("late", "ada", "bob", 3, weight=_FAILS))
    settle(pool)
    assert set(voids(pool)) == {"late"}
    assert pool.is_sound()
    assert pool.ratings() == filled(store, name="without").ratings()


def test_several_are_voided_one_after_the_other(store: Store) -> None:
    pool = filled(store)
    for number in (3, 6, 9):
        pool.correct(duel(f"m{number}", "ada", "bob", number, weight=_FAILS))
    settle(pool)
    assert set(voids(pool)) == {"m3", "m6", "m9"}
    assert pool.is_sound()


def test_a_match_that_a_new_version_cannot_rate_is_voided_when_all_is_rated_anew(
    store: Store, fails_for: set[float]
) -> None:
    """Nothing waits that could be at fault but the match itself."""
    pool = Trial(store, late="replay")
    pool.post(duel("a", "ada", "bob", 1), duel("b", "ada", "bob", 2, weight=2.0))
    pool.post(duel("c", "ada", "bob", 3))
    fails_for.add(2.0)
    replaying.rerate(store, pool.name)
    settle(pool)
    assert set(voids(pool)) == {"b"}
    assert pool.is_sound()


def test_where_no_match_is_at_fault_the_failure_is_raised(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect in the replay itself voids nothing."""

    def defect(*_: object) -> None:
        raise InvalidDataError([], "a defect")

    pool = filled(store)
    pool.void("m3")
    monkeypatch.setattr(replaying, "_swap", defect)
    with pytest.raises(InvalidDataError, match="a defect"):
        replaying.replay_pool(store, pool.name, owner="tester")
    assert set(voids(pool)) == {"m3"}
