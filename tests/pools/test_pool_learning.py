"""Pools that learn: an entry and a level, a home advantage, a calibration, offsets in contexts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.matchmaking import MatchRuleset, Ticket
from equipoise.data.rebalancing import MatchedPlayer
from equipoise.errors import InvalidParameterError
from equipoise.matchmaking.ticking import tick
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.pools import PoolChange, PoolRequest, SeasonRequest, SeasonSettings
from equipoise.messages.questions import BalanceRequest, PredictRequest
from equipoise.pools import seasons
from equipoise.pools.amending import amendment
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.exchange.histories import requests_of
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.pool.settings import change_settings, preview_settings
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.posting.running import StateCache
from equipoise.pools.precompiling import precompile
from equipoise.pools.reading.matches import match as get_match
from equipoise.pools.reading.players import leaderboard, player, player_history
from equipoise.pools.reading.questions import (
    balance_in_pool,
    chances_now,
    explain_player,
    predict_in_pool,
    ratings_in_pool,
)
from equipoise.pools.replay.replaying import maintain_pool, pending_pools
from equipoise.pools.replay.states import PoolPast
from equipoise.rating.calibration_curve import CALIBRATION, NUMBERS, LearnedCurve
from equipoise.rating.head_start import ADVANTAGE, VARIANCE
from equipoise.rating.newcomers import ENTRY, LEVEL, MU, TARGET, WEIGHT
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from pools.pool_trials import (
    NOW,
    SMALL,
    Trial,
    duel,
    every_change,
    everything,
    import_file,
    same_bits,
)

#: Newcomers move the entry quickly, and two matches make a player experienced.
LEARNED: dict[str, Any] = {
    "entry": "learned",
    "entry_half_life": 20.0,
    "entry_weight": 2.0,
    "hold_level": 0.3,
    "hold_level_matches": 4,
    "level_experienced": 2,
    "level_memory": 20.0,
}


def contests(seed: int, count: int, first: int = 0, most: int = 5) -> list[MatchRequest]:
    """Return contests in which newcomers are weaker than the others, and some are tied."""
    rng, found = np.random.default_rng(seed), []
    for number in range(first, first + count):
        size = int(rng.integers(2, most + 1))
        # Later players have higher numbers, and appear only later.
        names = rng.choice(6 + number // 2, size, replace=False)
        strength = -0.15 * names + rng.normal(size=size)
        ranks = np.argsort(np.argsort(-strength))
        if rng.random() < 0.15:
            ranks[:] = 0
        teams = [
            TeamRequest([f"p{name}"], int(rank)) for name, rank in zip(names, ranks, strict=True)
        ]
        found.append(MatchRequest(match=f"m{number}", teams=teams, time=100 * number))
    return found


def learned(store: Store, name: str = "trial", system: str = "elo-mmr", **settings: Any) -> Trial:
    """Return a pool, by default with a learned entry and a held level."""
    given = {"system": system, "parameters": LEARNED, "late": "replay", **settings}
    return Trial(store, name, **given)


def numbers(trial: Trial, name: str = ENTRY) -> list[float]:
    """Return numbers of a pool: by default the entry, its weight, the level and its target."""
    with trial.store.read() as connection:
        return get_pool(connection, trial.name).shared[name].tolist()


def test_whoever_was_only_in_skipped_matches_has_the_entry_of_the_last(store: Store) -> None:
    """So the row of such a player is the same however the matches after it were posted."""
    skipped = MatchRequest(
        match="tied", teams=[TeamRequest([name], 0) for name in ("x", "y", "z")], time=1_500
    )
    posted = contests(3, 40)
    posted.insert(16, skipped)
    whole, single = learned(store, "whole"), learned(store, "single")
    whole.post(*posted)
    for one in posted:
        single.post(one)
    assert everything(whole) == everything(single)
    assert whole.is_sound()
    shown = player(store, "whole", "x")
    assert shown.rating == shown.display == whole.ratings()["x"]
    assert shown.rating not in (1500.0, numbers(whole)[MU])
    # A new match begins at the entry of today.
    now = predict_in_pool(store, "whole", PredictRequest([["x"], ["nobody"]]), now=NOW)
    assert {one.rating for team in now.teams for one in team.players} == {numbers(whole)[MU]}


def test_explanations_from_partial_checkpoints_are_complete(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They add up to the change, say where a newcomer started, and need no other states."""
    store = Store(store.engine, SMALL)
    pool, cache = learned(store), StateCache()
    for one in contests(4, 40):
        post_matches(store, pool.name, [Post([one])], NOW, cache)
    with store.read() as connection:
        found = every_change(connection, get_pool(connection, pool.name))
    monkeypatch.setattr(PoolPast, "running_before", None)
    started, adjusted = 0, 0
    seen: set[str] = set()
    for row in found:
        message = explain_player(store, pool.name, row.player, f"m{row.seq - 1}")
        assert (message.rating_before, message.rating) == (row.rating_before, row.rating)
        parts = {part.name: part.change for part in message.contributions}
        assert sum(parts.values()) == pytest.approx(message.change, abs=1e-6)
        adjusted += "level adjustment" in parts
        said = [one.meaning for one in message.quantities if one.name == "entry"]
        assert bool(said) == (row.player not in seen)
        if said:
            assert said[0].startswith(f"Started at {row.rating_before:.0f}, learned")
            started += 1
        seen.add(row.player)
    assert started == len(seen) > 10
    assert adjusted > 5


def test_turning_it_on_replays_the_whole_log(store: Store) -> None:
    """First a preview, then a record of the log."""
    posted = contests(6, 30)
    store = Store(store.engine, SMALL)
    pool = learned(store, parameters={"rho": 0.5})
    pool.post(*posted[:20])
    fixed = pool.ratings()
    request = PoolChange(parameters=LEARNED, reason="newcomers are weaker")
    shown = preview_settings(store, pool.name, request, NOW)
    assert (shown.kind, shown.seq, pool.ratings()) == ("preview", None, fixed)
    assert shown.settings == {"parameters": LEARNED}
    assert shown.settings_before["parameters"]["entry"] == "fixed"
    assert shown.difference.changed > 0

    told = change_settings(store, pool.name, request, NOW)
    assert (told.pending, "entry" in told.parameters) == (True, False)
    assert amendment(store, pool.name, 21).status == "pending"
    # Until the replay, the pool rates as before.
    assert pool.ratings() == fixed
    pool.post(*posted[20:25])
    assert pool.is_sound()
    while pending_pools(store):
        maintain_pool(store, pool.name, owner="tester", stop=lambda: False)
    pool.post(*posted[25:])
    assert pool.is_sound()
    done = amendment(store, pool.name, 21)
    assert (done.status, done.settings) == ("done", shown.settings)
    now = pool_message(store, pool.name)
    assert {name: now.parameters[name] for name in LEARNED} == LEARNED
    assert (now.parameters["rho"], now.pending) == (0.5, False)


@pytest.mark.parametrize("towards", ["mean", "initial"])
def test_a_soft_season_maps_entry_level_and_target(store: Store, towards: Any) -> None:
    """They move as ratings do, the weight stays, and players carried over are no newcomers."""
    store = Store(store.engine, SMALL)
    pool = learned(store)
    pool.post(*contests(7, 26))
    mu, weight, level, target = numbers(pool)
    request = SeasonRequest(season="1", reset="soft", keep=0.25, towards=towards)
    foreseen = seasons.preview_season(store, pool.name, request)
    ended = seasons.end_season(store, pool.name, request, key=None, now=NOW)
    centre = ended.centre
    assert centre is not None
    mapped = [centre + 0.25 * (one - centre) for one in (mu, level, target)]
    assert np.array(numbers(pool))[[MU, LEVEL, TARGET]].tolist() == mapped
    assert numbers(pool)[WEIGHT] == weight
    assert foreseen.start == mapped[0]
    assert pool.is_sound()

    begun = contests(8, 12, first=200)
    pool.post(*begun)
    assert pool.is_sound()
    old = f"{pool.name}.1"
    carried = set(Trial.existing(store, old).ratings())
    with store.read() as connection:
        rows = every_change(connection, get_pool(connection, pool.name))
    first = {}
    for row in rows:
        first.setdefault(row.player, row)
    for name, row in first.items():
        said = explain_player(store, pool.name, name, f"m{200 + row.seq - 1}")
        assert (name in carried) != any(one.name == "entry" for one in said.quantities)
        if name in carried:
            assert "level adjustment" not in [part.name for part in said.contributions]
    assert set(first) - carried


def test_a_hard_season_starts_afresh_and_a_soft_one_keeps_the_advantage(store: Store) -> None:
    """The entry and level of a hard one are those of a new pool."""
    pool = learned(store)
    fresh = numbers(pool)
    pool.post(*contests(9, 20))
    assert numbers(pool) != fresh
    request = SeasonRequest(season="1", reset="hard")
    seasons.end_season(store, pool.name, request, key=None, now=NOW)
    assert numbers(pool) == fresh
    assert pool.is_sound()
    home = learned(store, "home", system="glicko2", parameters=ADVANTAGE_LEARNED)
    home.post(*duels(5, 40))
    before = numbers(home, ADVANTAGE)
    request = SeasonRequest(season="1", reset="soft", settings=SeasonSettings())
    seasons.end_season(store, "home", request, key=None, now=NOW)
    assert numbers(home, ADVANTAGE) == before


def test_it_can_be_turned_on_and_off_within_a_season_and_between_two(
    store: Store, tmp_path: Path
) -> None:
    """The seed of a season that began without it serves the season with it, and the reverse."""
    pool = learned(store, parameters={})
    pool.post(*contests(10, 30))
    seasons.end_season(store, pool.name, SeasonRequest(season="1"), key=None, now=NOW)
    seeded = pool.ratings()
    pool.post(*contests(11, 20, first=200))
    change_settings(store, pool.name, PoolChange(parameters=LEARNED), NOW)
    pool.check()
    # Level and target began at the mean of the players carried over.
    assert numbers(pool)[TARGET] == pytest.approx(sum(seeded.values()) / len(seeded))
    export_file(store, pool.name, "log", str(tmp_path / "log.ndjson"))
    import_file(store, "copy", tmp_path / "log.ndjson")
    assert Trial.existing(store, "copy").is_sound()
    assert numbers(Trial.existing(store, "copy")) == numbers(pool)

    learned_numbers = numbers(pool)
    seasons.end_season(store, pool.name, SeasonRequest(season="2", keep=1.0), key=None, now=NOW)
    assert numbers(pool)[WEIGHT] == learned_numbers[WEIGHT]
    pool.post(*contests(12, 20, first=400))
    change_settings(store, pool.name, PoolChange(parameters={"hold_level": 0.1}), NOW)
    pool.check()
    assert numbers(pool)[TARGET] == learned_numbers[TARGET]
    off = PoolChange(parameters={"entry": "fixed", "hold_level": 0.0})
    change_settings(store, pool.name, off, NOW)
    pool.check()
    with store.read() as connection:
        assert ENTRY not in get_pool(connection, pool.name).shared
    again = SeasonRequest(season="3", settings=SeasonSettings(parameters=LEARNED))
    seasons.end_season(store, pool.name, again, key=None, now=NOW)
    pool.post(*contests(13, 20, first=600))
    assert pool.is_sound()


ADVANTAGE_LEARNED: dict[str, Any] = {"learn_home_advantage": True, "home_advantage": 30.0}


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


def test_sides_and_flags_of_one_pool_are_exported_and_imported_alike(
    store: Store, tmp_path: Path
) -> None:
    """Some posts say `at_home`, others `side`; readers ignore the side beside the other column."""
    pool = learned(store, system="glicko2", parameters={"home_advantage": 80.0})
    white: dict[str, Any] = {"side": "white"}
    given = ({"at_home": True}, white, {"side": "black"}, {}, {"at_home": False, **white})
    for number, more in enumerate(given):
        players = [ParticipationRequest("a", **more), ParticipationRequest("b")]  # type: ignore[arg-type]
        teams = [TeamRequest([one], rank) for rank, one in enumerate(players)]
        pool.post(MatchRequest(match=f"m{number}", teams=teams, time=100 * number))
    lines = player_history(store, pool.name, "a").matches
    assert [line.at_home for line in lines] == [False, None, False, True, True]
    path = tmp_path / "log.csv"
    export_file(store, pool.name, "log", str(path))
    ratings = eq.replay(eq.Glicko2(home_advantage=80.0), eq.read_history(str(path))).ratings
    rated = dict(zip(ratings.player_ids.tolist(), ratings.rating.tolist(), strict=True))
    assert rated == pool.ratings()
    # An empty flag beside a side is imported as it is rated.
    table = {
        "match": [1, 1, 2, 2],
        "player": ["a", "b", "a", "b"],
        "rank": [0, 1, 0, 1],
        "at_home": [True, None, None, None],
        "side": [None, None, "home", "red"],
        "time": [1, 1, 2, 2],
    }
    history = eq.read_history(table)
    pool = learned(store, "flags", system="glicko2", parameters={"home_advantage": 80.0})
    pool.post(*requests_of(history, 0, 2))
    ratings = eq.replay(eq.Glicko2(home_advantage=80.0), history).ratings
    rated = dict(zip(ratings.player_ids.tolist(), ratings.rating.tolist(), strict=True))
    assert rated == pool.ratings()


def test_predictions_and_explanations_know_the_home_side(store: Store) -> None:
    pool = learned(store, system="glicko2", parameters=ADVANTAGE_LEARNED)
    pool.post(*duels(3, 60))
    pool_belief = numbers(pool, ADVANTAGE)
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
    pool.check()
    assert pool_message(store, pool.name).calibrate
    other = Trial(store, "other", system="glicko2", calibrate=True)
    other.post(*posted)
    assert curve(other) == curve(pool)
    assert other.ratings() == pool.ratings() != ratings

    change_settings(store, pool.name, PoolChange(calibrate=False), NOW)
    pool.check()
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


CONTEXTS: dict[str, Any] = {"context_deviation": 60.0}


def in_contexts(seed: int, count: int, contexts: str = "abc-") -> list[MatchRequest]:
    """Return duels in which p0 is much stronger on a than on b; "-" is no context."""
    rng, found = np.random.default_rng(seed), []
    for number in range(count):
        one, other = rng.choice(6, 2, replace=False).tolist()
        context = contexts[int(rng.integers(len(contexts)))]
        lift = {"a": 2.0, "b": -2.0}.get(context, 0.0)
        lead = rng.normal() + 0.2 * (other - one) + lift * ((one == 0) - (other == 0))
        teams = [TeamRequest([f"p{one}"], int(lead < 0)), TeamRequest([f"p{other}"], int(lead > 0))]
        where = None if context == "-" else context
        found.append(MatchRequest(f"m{number}", teams, time=100 * number, context=where))
    return found


def contextual(
    store: Store, name: str = "trial", system: str = "glicko2", **settings: Any
) -> Trial:
    given = {"system": system, "parameters": CONTEXTS, "late": "replay", **settings}
    return Trial(store, name, **given)


def test_a_pool_gives_the_bits_of_the_library(store: Store, tmp_path: Path) -> None:
    pool = contextual(store)
    posted = in_contexts(2, 40)
    # A player's attribute goes before the context of the match.
    own = ParticipationRequest("p1", attributes={"context": "c"})
    teams = [TeamRequest([own], 0), TeamRequest(["p0"], 1)]
    pool.post(*posted, MatchRequest("own", teams, time=5000, context="a"))
    export_file(store, pool.name, "log", str(tmp_path / "log.csv"))
    history = eq.read_history(str(tmp_path / "log.csv"))
    assert history.attributes["context"][-2:].tolist() == ["c", "a"]
    ratings = eq.replay(eq.Glicko2(**CONTEXTS), history).ratings
    rated = dict(zip(ratings.player_ids.tolist(), ratings.rating.tolist(), strict=True))
    assert rated == pool.ratings()
    again = contextual(store, "again")
    requests = requests_of(history, 0, history.matches)
    assert [one.context for one in requests[:40]] == [one.context for one in posted]
    again.post(*requests)
    assert again.ratings() == pool.ratings()


def test_predictions_and_explanations_know_the_context(store: Store) -> None:
    pool = contextual(store)
    pool.post(*in_contexts(3, 80))
    chances = {
        context: predict_in_pool(
            store, pool.name, PredictRequest([["p0"], ["p1"]], context=context)
        )
        .teams[0]
        .expected
        for context in ("a", None, "b")
    }
    assert chances["a"] > chances[None] > chances["b"]
    last = player_history(store, pool.name, "p0", limit=1).matches[0]
    why = explain_player(store, pool.name, "p0", last.match)
    total = sum(part.change for part in why.contributions)
    assert total == pytest.approx(why.rating - why.rating_before, abs=1e-9)
    named = [part.name for part in why.contributions]
    assert ("the context" in named) == (get_match(store, pool.name, last.match).context is not None)
    # The chance of a match is what a prediction answered before it.
    pool = contextual(store, "chances")
    posted = in_contexts(4, 60, "ab")
    pool.post(*posted[:-1])
    last = posted[-1]
    teams = [list(team.players) for team in last.teams]
    asked = PredictRequest(teams, at=last.time, context=last.context)  # type: ignore[arg-type]
    told = predict_in_pool(store, pool.name, asked)
    pool.post(last)
    found = get_match(store, pool.name, str(last.match))
    assert [one.chance for one in found.teams] == pytest.approx(
        [one.expected for one in told.teams], abs=1e-9
    )


def test_players_have_offsets_and_leaderboards_follow_them(store: Store) -> None:
    pool = contextual(store, placement_matches=0)
    pool.post(*in_contexts(5, 120, "ab"))
    offsets = {one.context: one.offset for one in player(store, pool.name, "p0").contexts}
    assert list(offsets) == ["a", "b"]
    assert offsets["a"] > 0 > offsets["b"]
    plain, strong, weak = (
        {one.player: one for one in leaderboard(store, pool.name, context=name).players}
        for name in (None, "a", "b")
    )
    assert strong["p0"].rating == pytest.approx(plain["p0"].rating + offsets["a"])
    assert weak["p0"].place > strong["p0"].place  # type: ignore[operator]
    assert [one.place for one in weak.values()] == list(range(1, 7))
    assert [one.display for one in weak.values()] == sorted(
        (one.display for one in weak.values()), reverse=True
    )
    # Pages follow one another.
    whole = leaderboard(store, pool.name, context="b").players
    first = leaderboard(store, pool.name, context="b", limit=4)
    second = leaderboard(store, pool.name, context="b", limit=4, cursor=first.next)
    assert [*first.players, *second.players] == whole
    assert second.next is None
    back = leaderboard(store, pool.name, context="b", limit=4, cursor=second.previous)
    assert back.players == first.players
    around = leaderboard(store, pool.name, context="b", limit=3, around=whole[2].player)
    assert around.players == whole[1:4]


def test_a_pool_without_contexts_tells_that_they_are_not_used(store: Store) -> None:
    pool = contextual(store, parameters={})
    pool.post(*in_contexts(6, 3, "a"))
    assert get_match(store, pool.name, "m0").unused == ["context"]
    assert player(store, pool.name, "p0").contexts == []
    with pytest.raises(InvalidParameterError, match="unless context_deviation is set"):
        leaderboard(store, pool.name, context="a")


@pytest.mark.parametrize("parameters", [CONTEXTS, {"learn_home_advantage": True}])
def test_kernels_can_be_compiled_ahead(parameters: dict[str, Any]) -> None:
    assert precompile(PoolRequest(system="glicko", parameters=parameters))


def scored_season() -> list[MatchRequest]:
    """Return matches of two against two with scores and shares."""
    rng, posted = np.random.default_rng(3), []
    for m in range(20):
        players = [f"p{one}" for one in rng.permutation(7)[:4]]
        scores = rng.integers(0, 9, 2).tolist()
        share = rng.choice([1.0, 0.5, 0.0], 4).tolist()
        listed = [ParticipationRequest(*one) for one in zip(players, share, strict=True)]
        teams = [
            TeamRequest([*listed[2 * at : 2 * at + 2]], score=float(score))
            for at, score in enumerate(scores)
        ]
        posted.append(MatchRequest(f"m{m}", teams, time=100 * m))
    return posted


def with_own_deviations() -> list[MatchRequest]:
    """Return duels of which some have a deviation of performances, or a transfer, of their own."""
    names, own = "abcd", ({"beta": 120.0}, {"gamma": 0.0, "beta": 300.0}, {}, {"gamma": 90.0})
    return [
        duel(f"m{at}", names[at % 4], names[(at + 1 + at // 4) % 4], 100 * at, **own[at % 4])
        if (at + 1 + at // 4) % 4 != at % 4
        else duel(f"m{at}", names[at % 4], "e", 100 * at, **own[at % 4])
        for at in range(12)
    ]


def turned(teams: Sequence[TeamRequest]) -> list[TeamRequest]:
    """Return teams with the results of one another, and without details of their players."""
    names = [[getattr(one, "player", one) for one in team.players] for team in teams]
    results = [(team.rank, team.score) for team in reversed(teams)]
    return [
        TeamRequest(players, rank, score=score)
        for players, (rank, score) in zip(names, results, strict=True)
    ]


SAME_BITS = {
    "learned entry": (contests(1, 24), {"system": "elo-mmr", "parameters": LEARNED}),
    "learned entry in periods": (
        contests(1, 24, most=2),
        {"system": "glicko2", "parameters": {**LEARNED, "period_days": 0.01}},
    ),
    "learned advantage": (
        duels(1, 24),
        {"system": "elo", "parameters": {**ADVANTAGE_LEARNED, "entry": "learned"}},
    ),
    "calibrated duels": (
        matches(1, 24),
        {"system": "glicko2", "parameters": {"learn_home_advantage": True}, "calibrate": True},
    ),
    "calibrated teams": (matches(1, 24, (2, 1, 1)), {"system": "trueskill", "calibrate": True}),
    "calibrated contests": (matches(1, 24, (1,) * 11), {"system": "elo-mmr", "calibrate": True}),
    "contexts": (in_contexts(1, 40), {"system": "trueskill", "parameters": CONTEXTS}),
    "scores": (
        scored_season(),
        {"system": "elo", "parameters": {"margin_rule": "fivethirtyeight"}},
    ),
    "shares": (
        scored_season(),
        {"system": "plackett-luce", "parameters": {"shares": "play", "margin": 2.0}},
    ),
    "own deviations": (with_own_deviations(), {"system": "elo-mmr"}),
    "own deviations of elo-mmx": (with_own_deviations(), {"system": "elo-mmx"}),
}


@pytest.mark.parametrize("name", SAME_BITS)
def test_the_same_bits_however_matches_come(sqlite_store: Store, tmp_path: Path, name: str) -> None:
    """Single posts, late, void and corrected matches, imports and a replay.

    The sixth is first posted with its results turned round, in another context, without details.
    """
    posted, given = SAME_BITS[name]
    wrong = MatchRequest("m5", turned(posted[5].teams), time=posted[5].time, context="wrong")
    whole = same_bits(sqlite_store, tmp_path, posted, wrong, **given)
    learned, fresh = whole.record.shared, Trial(sqlite_store, "fresh", **given).record.shared
    assert learned.keys() >= fresh.keys()
    assert not [name for name in fresh if np.array_equal(fresh[name], learned[name])]
    if CALIBRATION in learned:
        assert any(learned[CALIBRATION][:NUMBERS])
        assert learned[CALIBRATION][-1] == len(posted)
    if "parameters" in given:
        plain = Trial(sqlite_store, "plain", system=given["system"])
        plain.post(*posted)
        assert plain.ratings() != whole.ratings()
    if "own" in name:
        history = eq.read_history(tmp_path / "log.csv")
        again = requests_of(history, 0, history.matches)
        assert [(one.beta, one.gamma) for one in again] == [(one.beta, one.gamma) for one in posted]
