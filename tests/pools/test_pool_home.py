"""Pools with a home advantage, fixed or learned."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.pools import SeasonRequest, SeasonSettings
from equipoise.messages.questions import PredictRequest
from equipoise.pools import seasons
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.exchange.history_requests import requests_of
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.reading.questions import explain_player, predict_in_pool
from equipoise.rating.head_start import ADVANTAGE, MEAN, VARIANCE
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from pools.pool_trials import NOW, Trial, same_bits

LEARNED: dict[str, Any] = {"learn_home_advantage": True, "home_advantage": 30.0}


def duels(seed: int, count: int) -> list[MatchRequest]:
    """Return duels in which the side at home wins more often; some are on neutral ground."""
    rng, found = np.random.default_rng(seed), []
    sides = (("home", "away"), ("white", "black"), ("neutral", None))
    for number in range(count):
        one, other = rng.choice(9, 2, replace=False).tolist()
        kind = int(rng.choice(3, p=[0.45, 0.4, 0.15]))
        lead = rng.normal() + 0.2 * (other - one) + (0.8 if kind < 2 else 0.0)
        ranks = [0, 0] if abs(lead) < 0.2 else [int(lead < 0), int(lead > 0)]
        home, away = sides[kind]
        players = [
            ParticipationRequest(f"p{one}", side=home),
            ParticipationRequest(f"p{other}", side=away),
        ]
        teams = [TeamRequest([player], rank) for player, rank in zip(players, ranks, strict=True)]
        if number % 2:
            teams.reverse()
        found.append(MatchRequest(match=f"m{number}", teams=teams, time=100 * number))
    return found


def made(store: Store, name: str = "trial", system: str = "glicko2", **settings: Any) -> Trial:
    given = {"system": system, "parameters": LEARNED, "late": "replay", **settings}
    return Trial(store, name, **given)


def belief(trial: Trial) -> list[float]:
    with trial.store.read() as connection:
        return get_pool(connection, trial.name).shared[ADVANTAGE].tolist()


def test_a_learned_advantage_gives_the_same_bits_however_matches_come(
    sqlite_store: Store, tmp_path: Path
) -> None:
    """One of them is posted with nobody at home, and corrected later."""
    posted = duels(1, 40)
    teams = [TeamRequest([team.players[0].player], team.rank) for team in posted[5].teams]  # type: ignore[union-attr]
    wrong = MatchRequest(match=posted[5].match, teams=teams, time=posted[5].time)
    given = {"system": "elo", "parameters": {**LEARNED, "entry": "learned"}}
    assert belief(same_bits(sqlite_store, tmp_path, posted, wrong, **given))[MEAN] > 40.0


def test_sides_and_flags_of_one_pool_are_exported_and_imported_alike(
    store: Store, tmp_path: Path
) -> None:
    """Some posts say `at_home`, others `side`; readers ignore the side beside the other column."""
    pool = made(store, parameters={"home_advantage": 80.0})
    for number, more in enumerate(({"at_home": True}, {"side": "white"}, {"side": "black"}, {})):
        players = [ParticipationRequest("a", **more), ParticipationRequest("b")]  # type: ignore[arg-type]
        teams = [TeamRequest([one], rank) for rank, one in enumerate(players)]
        pool.post(MatchRequest(match=f"m{number}", teams=teams, time=100 * number))
    path = tmp_path / "log.csv"
    export_file(store, pool.name, "log", str(path))
    ratings = eq.replay(eq.Glicko2(home_advantage=80.0), eq.read_history(str(path))).ratings
    rated = dict(zip(ratings.player_ids.tolist(), ratings.rating.tolist(), strict=True))
    assert rated == pool.ratings()


def test_an_empty_flag_beside_a_side_is_imported_as_it_is_rated(store: Store) -> None:
    table = {
        "match": [1, 1, 2, 2],
        "player": ["a", "b", "a", "b"],
        "rank": [0, 1, 0, 1],
        "at_home": [True, None, None, None],
        "side": [None, None, "home", "red"],
        "time": [1, 1, 2, 2],
    }
    history = eq.read_history(table)
    pool = made(store, parameters={"home_advantage": 80.0})
    pool.post(*requests_of(history, 0, 2))
    ratings = eq.replay(eq.Glicko2(home_advantage=80.0), history).ratings
    rated = dict(zip(ratings.player_ids.tolist(), ratings.rating.tolist(), strict=True))
    assert rated == pool.ratings()


def test_predictions_and_explanations_know_the_home_side(store: Store) -> None:
    pool = made(store)
    pool.post(*duels(3, 60))
    pool_belief = belief(pool)
    mean, variance = (float(one) for one in pool_belief)
    told = f"learned home advantage: {mean:.1f} points, deviation {math.sqrt(variance):.1f}"
    assert told in pool_message(store, pool.name).notes
    at_home = predict_in_pool(store, pool.name, PredictRequest([["p1"], ["p2"]], home=0))
    away = predict_in_pool(store, pool.name, PredictRequest([["p1"], ["p2"]], home=1))
    neutral = predict_in_pool(store, pool.name, PredictRequest([["p1"], ["p2"]]))
    expected = [one.teams[0].expected for one in (at_home, neutral, away)]
    assert expected == sorted(expected, reverse=True)
    assert pool_belief[VARIANCE] < 87.5**2
    for number in (1, 17, 44):
        match = duels(3, 60)[number]
        for team in match.teams:
            name = team.players[0].player  # type: ignore[union-attr]
            why = explain_player(store, pool.name, str(name), f"m{number}")
            total = sum(part.change for part in why.contributions)
            assert total == pytest.approx(why.rating - why.rating_before, abs=1e-9)
            sides = {one.side for team in match.teams for one in team.players}  # type: ignore[union-attr]
            named = [part.name for part in why.contributions]
            assert ("home advantage" in named) == bool(sides & {"home", "white"})


def test_a_soft_reset_keeps_what_was_learned(store: Store) -> None:
    pool = made(store)
    pool.post(*duels(5, 40))
    before = belief(pool)
    request = SeasonRequest(season="1", reset="soft", settings=SeasonSettings())
    seasons.end_season(store, pool.name, request, key=None, now=NOW)
    assert belief(pool) == before
