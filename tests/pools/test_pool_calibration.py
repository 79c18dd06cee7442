"""Pools that calibrate: a curve learned from the log corrects their predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.data.matchmaking import MatchRuleset, Ticket
from equipoise.data.rebalancing import MatchedPlayer
from equipoise.matchmaking.ticking import tick
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.pools import PoolChange, SeasonRequest
from equipoise.messages.questions import BalanceRequest, PredictRequest
from equipoise.pools import seasons
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.pool.settings import change_settings
from equipoise.pools.reading.questions import (
    balance_in_pool,
    chances_now,
    predict_in_pool,
    ratings_in_pool,
)
from equipoise.rating.calibration_curve import CALIBRATION, NUMBERS, LearnedCurve
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from pools.pool_trials import NOW, SMALL, Trial, same_bits


def matches(seed: int, count: int, sides: tuple[int, ...] = (1, 1)) -> list[MatchRequest]:
    """Return matches of teams of these sizes; results are nearly certain, and newcomers appear."""
    rng, found = np.random.default_rng(seed), []
    for number in range(count):
        names = rng.choice(max(8, sum(sides)) + number // 10, sum(sides), replace=False)
        parts = np.split(names, np.cumsum(sides)[:-1])
        strength = [-part.mean() + 0.3 * rng.normal() for part in parts]
        ranks = np.argsort(np.argsort(-np.array(strength)))
        teams = [
            TeamRequest([ParticipationRequest(f"p{one}", side=side) for one in part], int(rank))
            for part, rank, side in zip(parts, ranks, sides_of(len(parts)), strict=True)
        ]
        context = ("clay", "grass", None)[number % 3]
        found.append(MatchRequest(f"m{number}", teams, time=100 * number, context=context))
    return found


def sides_of(teams: int) -> list[str]:
    """Return where the teams of a match play: the first at home."""
    return ["home"] + ["away"] * (teams - 1)


def curve(trial: Trial) -> list[float]:
    """Return the curve of a pool as it is stored."""
    with trial.store.read() as connection:
        found: list[float] = get_pool(connection, trial.name).shared[CALIBRATION].tolist()
    return found


@pytest.mark.parametrize(
    ("system", "parameters", "sides"),
    [
        ("glicko2", {"learn_home_advantage": True}, (1, 1)),
        ("trueskill", {}, (2, 1, 1)),
        ("elo-mmr", {}, (1,) * 11),
    ],
)
def test_the_curve_follows_from_the_log_to_the_bit(
    sqlite_store: Store,
    tmp_path: Path,
    system: str,
    parameters: dict[str, Any],
    sides: tuple[int, ...],
) -> None:
    """Single posts, late, void and corrected matches, imports and a replay give the same curve."""
    posted = matches(1, 40, sides)
    wrong = MatchRequest("m5", posted[6].teams, time=posted[5].time, context="wrong")
    given = {"system": system, "parameters": parameters, "calibrate": True}
    whole = same_bits(sqlite_store, tmp_path, posted, wrong, **given)
    numbers = curve(whole)
    assert any(numbers[:NUMBERS])
    assert numbers[-1] == len(posted)


def test_turning_it_on_and_off_replays_the_log(store: Store) -> None:
    posted = matches(2, 60)
    store = Store(store.engine, SMALL)
    pool = Trial(store, system="glicko2", late="replay")
    pool.post(*posted[:40])
    ratings = pool.ratings()
    told = change_settings(store, pool.name, PoolChange(calibrate=True), NOW)
    assert (told.pending, told.calibrate) == (True, False)
    pool.post(*posted[40:])
    assert pool.is_sound()
    pool.settle()
    assert pool.is_sound()
    assert pool_message(store, pool.name).calibrate
    other = Trial(store, "other", system="glicko2", calibrate=True)
    other.post(*posted)
    assert curve(other) == curve(pool)
    assert other.ratings() == pool.ratings() != ratings

    change_settings(store, pool.name, PoolChange(calibrate=False), NOW)
    pool.settle()
    assert pool.is_sound()
    assert not pool_message(store, pool.name).calibrate
    with store.read() as connection:
        assert CALIBRATION not in get_pool(connection, pool.name).shared


def test_predictions_and_teams_give_the_calibrated_chance_beside_the_uncorrected(
    store: Store,
) -> None:
    posted = matches(3, 120)
    pool = Trial(store, system="glicko2", calibrate=True)
    plain = Trial(store, "uncorrected", system="glicko2")
    for one in (pool, plain):
        one.post(*posted)
    request = PredictRequest([["p0"], ["p7"]], at=12_000)
    found = predict_in_pool(store, pool.name, request)
    uncorrected = predict_in_pool(store, plain.name, request)
    assert uncorrected.uncalibrated is None
    assert found.uncalibrated == [one.expected for one in uncorrected.teams]
    expected = [one.expected for one in found.teams]
    # Results are surer than Glicko-2 expects.
    assert expected[1] < 0.7 * found.uncalibrated[1]
    assert sum(expected) == pytest.approx(1.0)
    assert found.pairs is not None
    assert found.pairs[0][1] == expected[0]
    assert any("calibrated" in note for note in found.notes)
    assert not any("calibrated" in note for note in uncorrected.notes)
    now = 12_000 * 10**6
    assert chances_now(store, pool.name, "p0", ["p7"], now=now) == [tuple(expected)]

    lobby = BalanceRequest([f"p{number}" for number in range(4)], at=12_000)
    teams = balance_in_pool(store, pool.name, lobby)
    predicted = predict_in_pool(store, pool.name, PredictRequest(teams.teams, at=12_000))
    assert teams.expected == [one.expected for one in predicted.teams]
    assert teams.uncalibrated == predicted.uncalibrated
    low, high = found.calibrated_range or (0.0, 0.0)
    assert low < expected[0] < high
    assert uncorrected.calibrated_range is None
    assert balance_in_pool(store, plain.name, lobby).uncalibrated is None


@pytest.mark.parametrize(("system", "sides"), [("glicko2", (1, 1)), ("trueskill", (2, 3))])
def test_matchmaking_waits_for_the_calibrated_chance(
    store: Store, system: str, sides: tuple[int, int]
) -> None:
    """A match is made once its price is between the measures of the two chances."""
    posted = matches(6, 120, sides)
    pool = Trial(store, system=system, calibrate=True)
    pool.post(*posted)
    now, players = 12_000, [f"p{3 * number}" for number in range(sum(sides))]
    teams = [players[: sides[0]], players[sides[0] :]]
    found = predict_in_pool(store, pool.name, PredictRequest(teams, at=now))
    assert found.win is not None
    assert found.uncalibrated is not None
    # The measure is half of the difference of the chances, also with draws.
    calibrated = abs(found.win[0] - found.win[1]) / 2
    uncalibrated = abs(found.uncalibrated[0] - 0.5)
    assert abs(calibrated - uncalibrated) > 1e-4
    rules = MatchRuleset(
        min_number=2, max_number=2, player_min_number=min(sides), player_max_number=max(sides)
    )
    tickets = [
        Ticket(
            ticket=f"t{number}",
            created_at=0.0,
            players=tuple(MatchedPlayer(player=one) for one in team),
        )
        for number, team in enumerate(teams)
    ]
    rater, ratings, curve = ratings_in_pool(store, pool.name, players, now=now * 10**6)
    assert curve is not None

    def makes(measure: float, curve: LearnedCurve | None) -> bool:
        answer = tick(
            tickets,
            [],
            rules,
            100.0,
            objective="fair",
            system=rater,
            ratings=ratings,
            curve=curve,
            waiting_price=measure / 100.0,
        )
        return len(answer.matches) == 1

    for given, measure in ((curve, calibrated), (None, uncalibrated)):
        assert makes(1.0001 * measure, given)
        assert not makes(0.9999 * measure, given)


def test_a_season_begins_without_correction(store: Store) -> None:
    pool = Trial(store, system="elo", calibrate=True)
    pool.post(*matches(4, 30))
    before = curve(pool)
    seasons.end_season(store, pool.name, SeasonRequest(season="1"), key=None, now=NOW)
    posted = [
        MatchRequest(f"n{one.match}", one.teams, time=10_000 + int(str(one.time)))
        for one in matches(5, 10)
    ]
    pool.post(*posted)
    assert curve(pool)[-1] == 10
    assert curve(pool) != before
    assert pool.is_sound()
