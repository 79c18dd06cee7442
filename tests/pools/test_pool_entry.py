"""Pools with a learned entry, a held level, and a home advantage, fixed or learned."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.pools import PoolChange, SeasonRequest, SeasonSettings
from equipoise.messages.questions import PredictRequest
from equipoise.pools import seasons
from equipoise.pools.amending import amendment
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.exchange.histories import requests_of
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.pool.settings import change_settings, preview_settings
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.posting.running import StateCache
from equipoise.pools.reading.players import player, player_history
from equipoise.pools.reading.questions import explain_player, predict_in_pool
from equipoise.pools.replay.replaying import maintain_pool, pending_pools
from equipoise.pools.replay.states import PoolPast
from equipoise.rating.head_start import ADVANTAGE, MEAN, VARIANCE
from equipoise.rating.newcomers import ENTRY, LEVEL, MU, TARGET, WEIGHT
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from pools.pool_trials import NOW, SMALL, Trial, every_change, everything, import_file, same_bits

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


@pytest.mark.parametrize(
    ("system", "more", "most"), [("elo-mmr", {}, 5), ("glicko2", {"period_days": 0.01}, 2)]
)
def test_a_learned_entry_gives_the_same_bits_however_matches_come(
    sqlite_store: Store, tmp_path: Path, system: str, more: dict[str, Any], most: int
) -> None:
    posted = contests(1, 40, most=most)
    teams = [
        TeamRequest(team.players, (team.rank or 0) + at) for at, team in enumerate(posted[5].teams)
    ]
    wrong = MatchRequest(match=posted[5].match, teams=teams, time=posted[5].time)
    given = {"system": system, "parameters": {**LEARNED, **more}}
    whole = same_bits(sqlite_store, tmp_path, posted, wrong, **given)
    assert numbers(whole)[MU] != 1500.0
    assert numbers(whole)[LEVEL] != numbers(whole)[TARGET]


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


def test_a_learned_advantage_gives_the_same_bits_however_matches_come(
    sqlite_store: Store, tmp_path: Path
) -> None:
    """One of them is posted with nobody at home, and corrected later."""
    posted = duels(1, 40)
    teams = [TeamRequest([team.players[0].player], team.rank) for team in posted[5].teams]  # type: ignore[union-attr]
    wrong = MatchRequest(match=posted[5].match, teams=teams, time=posted[5].time)
    given = {"system": "elo", "parameters": {**ADVANTAGE_LEARNED, "entry": "learned"}}
    pool = same_bits(sqlite_store, tmp_path, posted, wrong, **given)
    assert numbers(pool, ADVANTAGE)[MEAN] > 40.0


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
