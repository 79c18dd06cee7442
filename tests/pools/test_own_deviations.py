"""Matches that are posted with a beta or a gamma of their own."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import equipoise as eq
from equipoise.errors import InvalidDataError
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


def test_pools_of_other_systems_refuse_them(sqlite_store: Store) -> None:
    """With the field and the value, like everything that cannot be rated."""
    refused = Trial(sqlite_store, system="glicko2").refused(SEASON[1])
    assert isinstance(refused, InvalidDataError)
    assert [(one.field, one.rule) for one in refused.problems] == [
        ("beta", "must be left out: glicko2 has no beta for each match"),
        ("gamma", "must be left out: glicko2 has no gamma for each match"),
    ]


def test_values_out_of_range_are_refused(sqlite_store: Store) -> None:
    pool = Trial(sqlite_store, system="elo-mmr")
    for value in (0.0, -1.0, math.inf, math.nan, 1e7):
        refused = pool.refused(duel("1", "ada", "bob", 10, beta=value))
        assert isinstance(refused, InvalidDataError)
        (problem,) = refused.problems
        assert problem.rule == "must be from 0.01 to 1e6, in rating points"
    refused = pool.refused(duel("1", "ada", "bob", 10, gamma=-1.0))
    assert "gamma: must be from 0 to 1e6, in rating points; got -1.0" in str(refused)
