"""Posting matches: what is recorded, what is refused, and why."""

from __future__ import annotations

from equipoise.store.connection import Store
from equipoise.workflows.pools import pool_message
from workflows.pool_trials import Trial, duel


def test_a_late_match_that_is_not_rated_wants_no_replay(store: Store) -> None:
    """Nobody's rating could change; once corrected to one that counts, it does want one."""
    pool = Trial(store, late="replay")
    pool.post(duel("first", "ada", "bob", 10))
    (seen,) = pool.post(duel("friendly", "ada", "cyd", 5, rated=False))
    assert seen.status == "unrated"
    assert not pool_message(store, pool.name).pending
    assert pool.is_sound()
    pool.correct(duel("friendly", "ada", "cyd", 5))
    pool.settle()
    assert pool.is_sound()
    assert set(pool.ratings()) == {"ada", "bob", "cyd"}
