"""Matches that are posted with a beta or a gamma of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

import equipoise as eq
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.exchange.history_requests import requests_of
from equipoise.store.connection import Store
from pools.pool_trials import Trial, duel

SEASON = (
    duel("1", "ada", "bob", 10, beta=120.0),
    duel("2", "bob", "cyd", 20, gamma=0.0, beta=300.0),
    duel("3", "cyd", "ada", 30),
    duel("4", "cyd", "bob", 40, gamma=90.0, weight=2.0),
)


@pytest.mark.parametrize("name", ["elo-mmr", "elo-mmx"])
def test_the_ratings_are_those_of_the_history(
    sqlite_store: Store, tmp_path: Path, name: str
) -> None:
    """One by one and together; the exported table has the columns, and gives them again."""
    pool = Trial(sqlite_store, system=name)
    pool.post(SEASON[0])
    pool.post(*SEASON[1:])
    path = tmp_path / "log.csv"
    export_file(sqlite_store, pool.name, "log", str(path))
    history = eq.read_history(path)
    assert history.beta is not None
    assert history.gamma is not None
    assert history.beta.tolist()[:2] == [120.0, 300.0]
    assert history.gamma.tolist()[1::2] == [0.0, 90.0]
    rated = eq.replay(eq.make_system(name), history).ratings
    assert pool.ratings() == dict(zip(rated.player_ids, rated.rating, strict=True))
    assert pool.is_sound()
    pool.void("1")
    pool.settle()
    assert pool.is_sound()
    again = requests_of(history, 0, 4)
    assert [(one.beta, one.gamma) for one in again] == [(one.beta, one.gamma) for one in SEASON]
