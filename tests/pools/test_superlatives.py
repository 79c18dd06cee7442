"""The records of a pool, by hand."""

from __future__ import annotations

import pytest

from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.pools.reading import superlatives as module
from equipoise.pools.reading.players import player_history
from equipoise.pools.reading.superlatives import superlatives
from equipoise.store.connection import Store
from pools.pool_trials import Trial, duel


def test_records_are_those_of_all_matches_also_before_1970(store: Store) -> None:
    """Ada wins seven times and loses at last; a draw ends no series without a loss."""
    pool = Trial(store, system="elo", placement_matches=3, parameters={"k": 100})
    draw = MatchRequest("draw", [TeamRequest(["bob"], 1), TeamRequest(["ada"], 1)], -500)
    wins = [duel(f"win {at}", "ada", "bob", at - 1000) for at in range(7)]
    pool.post(*wins, draw, duel("upset", "bob", "ada", 900), duel("new", "cyd", "dan", 1000))
    found = superlatives(store, pool.name)
    best = max(player_history(store, pool.name, "ada").matches, key=lambda one: one.rating)
    assert found.highest is not None
    assert (found.highest.player, found.highest.rating) == ("ada", best.rating)
    assert found.unbeaten is not None
    assert (found.unbeaten.player, found.unbeaten.matches) == ("ada", 8)
    assert found.upset is not None
    assert found.upset.match == "upset"
    assert found.busiest is not None
    assert found.busiest[1] == 9
    assert found.pair == ("ada", "bob", 9)


def test_newcomers_set_no_records_of_ratings(store: Store) -> None:
    pool = Trial(store, system="elo", placement_matches=3)
    pool.post(duel("a", "ada", "bob", 1), duel("b", "ada", "bob", 2))
    found = superlatives(store, pool.name)
    assert (found.highest, found.upset) == (None, None)


def test_contests_have_no_series_and_a_large_pool_no_records(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Trial(store, system="elo-mmr")
    assert superlatives(store, pool.name) == module.Superlatives()
    teams = [TeamRequest([name], rank) for rank, name in enumerate("abc")]
    pool.post(MatchRequest("cup", teams, 1))
    found = superlatives(store, pool.name)
    assert (found.unbeaten, found.upset, found.pair) == (None, None, None)
    assert found.highest is not None
    monkeypatch.setattr(module, "MOST_CHANGES", 2)
    assert superlatives(store, pool.name) == module.Superlatives()
