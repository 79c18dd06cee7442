"""The records of a pool, by hand."""

from __future__ import annotations

import pytest

from equipoise.messages.matches import (
    MatchRequest,
    MeetingsRecord,
    MostMatches,
    RecordsMessage,
    TeamRequest,
)
from equipoise.pools.reading import highlights
from equipoise.pools.reading.highlights import pool_overview, records
from equipoise.pools.reading.players import overview, player_history
from equipoise.store.connection import Store
from pools.pool_trials import Trial, duel


def test_records_are_those_of_all_matches_also_before_1970(store: Store) -> None:
    """Ada wins seven times and loses at last; a draw ends no series without a loss."""
    pool = Trial(store, system="elo", placement_matches=3, parameters={"k": 100})
    draw = MatchRequest("draw", [TeamRequest(["bob"], 1), TeamRequest(["ada"], 1)], -500)
    wins = [duel(f"win {at}", "ada", "bob", at - 1000) for at in range(7)]
    pool.post(*wins, draw, duel("upset", "bob", "ada", 900), duel("new", "cyd", "dan", 1000))
    whole = pool_overview(store, pool.name)
    assert whole.overview == overview(store, pool.name)
    assert whole.highlights == highlights.highlights(store, pool.name)
    found = whole.records
    best = max(player_history(store, pool.name, "ada").matches, key=lambda one: one.rating)
    assert found.highest is not None
    assert (found.highest.player, found.highest.rating) == ("ada", best.rating)
    assert found.unbeaten is not None
    assert (found.unbeaten.player, found.unbeaten.matches) == ("ada", 8)
    assert found.upset is not None
    assert found.upset.match == "upset"
    assert found.most_matches == MostMatches("ada", 9)
    assert found.most_met == MeetingsRecord(["ada", "bob"], 9)
    assert found.results == 20


def test_newcomers_set_no_records_of_ratings(store: Store) -> None:
    pool = Trial(store, system="elo", placement_matches=3)
    pool.post(duel("a", "ada", "bob", 1), duel("b", "ada", "bob", 2))
    found = records(store, pool.name)
    assert (found.highest, found.upset) == (None, None)


def test_the_first_of_equal_records_counts_by_the_time_of_the_match(store: Store) -> None:
    pool = Trial(store, system="elo", placement_matches=1, late="replay")
    pool.post(duel("cyd", "cyd", "dan", 20), duel("eve", "eve", "fay", 30))
    pool.post(duel("ada", "ada", "bob", 10))
    pool.replay()
    found = records(store, pool.name)
    assert found.highest is not None
    assert (found.highest.player, found.highest.match) == ("ada", "ada")
    assert found.unbeaten is not None
    assert found.unbeaten.player == "ada"
    assert found.upset is None
    assert found.most_met == MeetingsRecord(["ada", "bob"], 1)
    assert found.largest is not None
    assert found.largest.match == "ada"


def test_contests_have_no_series_and_an_empty_pool_no_records(store: Store) -> None:
    pool = Trial(store, system="elo-mmr")
    assert records(store, pool.name) == RecordsMessage(None, None, None)
    teams = [TeamRequest([name], rank) for rank, name in enumerate("abc")]
    pool.post(MatchRequest("cup", teams, 1))
    found = records(store, pool.name)
    assert (found.unbeaten, found.upset, found.most_met) == (None, None, None)
    assert found.highest is not None


def test_players_of_a_large_pool_are_settled_by_matches_before_its_newest_results(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Trial(store, system="elo", placement_matches=3)
    pool.post(*(duel(f"{at}", "ada", f"p{at}", at) for at in range(1, 5)))
    whole = records(store, pool.name)
    monkeypatch.setattr(highlights, "MOST_RESULTS", 2)
    found = records(store, pool.name)
    assert found.results == 2
    assert found.highest == whole.highest
    assert found.most_matches == MostMatches("ada", 4)
    assert found.unbeaten is not None
    assert found.unbeaten.matches == 1
