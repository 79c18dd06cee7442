"""Voids, corrections and disqualifications: what they change, from where on, and for whom."""

from __future__ import annotations

from equipoise.store.connection import Store
from equipoise.workflows.pools import pool_message
from workflows.pool_trials import Trial, duel, rated_alone


def test_a_disqualification_holds_for_matches_moved_behind_it(store: Store) -> None:
    """Also where no match was posted with so late a time: a correction may have moved one."""
    pool = Trial(store)
    pool.post(duel("first", "ada", "bob", 10), duel("second", "ada", "cyd", 20))
    pool.correct(duel("first", "ada", "bob", 100))
    pool.settle()
    assert pool.disqualify("bob", since=50).status == "pending"
    pool.settle()
    assert pool.is_sound()
    assert "bob" not in pool.ratings()


def test_a_disqualification_behind_all_matches_needs_no_replay(store: Store) -> None:
    """It is done at once, and holds for what is posted from then on: a duel counts for nobody."""
    pool = Trial(store)
    pool.post(duel("first", "ada", "bob", 10))
    before = pool.ratings()
    assert pool.disqualify("bob", since=11).status == "done"
    (seen,) = pool.post(duel("second", "ada", "bob", 11))
    assert [one.players[0].counted for one in seen.teams] == [False, False]
    assert pool.ratings() == before
    assert pool.is_sound()


def test_a_correction_to_before_the_epoch_leaves_the_last_time(store: Store) -> None:
    """A pool whose last match took place at second 0 does not forget that."""
    pool = Trial(store, late="replay")
    pool.post(duel("first", "ada", "bob", 0), duel("second", "ada", "cyd", 0))
    pool.correct(duel("first", "ada", "bob", -5))
    assert pool_message(store, "trial").last_time == 0
    (seen,) = pool.post(duel("third", "bob", "cyd", -3))
    assert seen.status == "pending"
    pool.settle()
    assert pool.is_sound()
    order = [("first", "ada", "bob"), ("third", "bob", "cyd"), ("second", "ada", "cyd")]
    same = [duel(*one, time) for time, one in enumerate(order)]
    assert pool.ratings() == rated_alone(store, same)
