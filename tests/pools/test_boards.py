"""What a leaderboard shows: floors, decay by the day, provisional players."""

from __future__ import annotations

import pytest

from equipoise.errors import InvalidDataError
from equipoise.messages.pools import PoolRequest, SeasonRequest, SeasonSettings
from equipoise.pools.pool.pools import create_pool, pool_message
from equipoise.pools.pool.settings import update_leaderboard
from equipoise.pools.reading.players import leaderboard, player
from equipoise.pools.replay.replaying import maintain_pool, pending_pools, rerate
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.store.connection import Store
from pools.pool_trials import NOW, Trial, duel

DAY = 86_400


def shown(trial: Trial, **more: object) -> dict[str, float]:
    """Return what the leaderboard shows, in its order."""
    rows = leaderboard(trial.store, trial.name, **more).players  # type: ignore[arg-type]
    return {row.player: row.display for row in rows}


def test_the_floor_holds_what_is_shown_and_not_the_rating(store: Store) -> None:
    trial = Trial(store, display_floor=1500.0)
    trial.post(duel("1", "ana", "ben", 0), duel("2", "ana", "cyd", 10))
    assert trial.ratings()["ben"] < 1500.0
    assert shown(trial)["ben"] == shown(trial)["cyd"] == 1500.0
    assert player(store, "trial", "ben").display == 1500.0
    assert player(store, "trial", "ben", at=20).display == 1500.0
    assert trial.is_sound()


def test_whoever_stays_away_falls_on_the_board_and_keeps_the_rating(store: Store) -> None:
    """A day after ten days away costs 4 points; playing again ends that."""
    trial = Trial(store, display_decay_per_day=4.0, display_decay_after_days=10.0)
    trial.post(duel("1", "ana", "ben", 0))
    top = trial.ratings()["ana"]
    trial.post(duel("2", "cyd", "dee", 12 * DAY + 5))
    assert shown(trial)["ana"] == top
    assert pending_pools(store) == ["trial"]
    maintain_pool(store, "trial", owner="me", stop=lambda: False)
    assert pending_pools(store) == []
    assert shown(trial)["ana"] == top - 8.0
    assert list(shown(trial)) == ["cyd", "ana", "dee", "ben"]
    assert trial.ratings()["ana"] == top
    assert player(store, "trial", "ana").display == top - 8.0
    assert player(store, "trial", "ana", at=15 * DAY + 3).display == top - 20.0
    trial.post(duel("3", "ben", "ana", 12 * DAY + 9))
    assert shown(trial) == trial.ratings()
    assert trial.is_sound()


def test_a_replay_keeps_the_order_of_the_board(store: Store) -> None:
    trial = Trial(store, display_decay_per_day=1.0, display_decay_after_days=0.0, late="replay")
    trial.post(*(duel(str(n), "ana" if n < 3 else "cyd", f"p{n}", n * DAY) for n in range(30)))
    maintain_pool(store, "trial", owner="me", stop=lambda: False)
    before = shown(trial)
    assert before["ana"] == trial.ratings()["ana"] - 27.0
    rerate(store, "trial")
    trial.settle()
    assert shown(trial) == before


def test_one_who_is_stopped_leaves_the_board_for_later(store: Store) -> None:
    trial = Trial(store, display_decay_per_day=1.0, display_decay_after_days=0.0)
    trial.post(duel("1", "ana", "ben", 0), duel("2", "cyd", "dee", 3 * DAY))
    before = shown(trial)
    update_leaderboard(store, "trial", stop=lambda: True)
    assert shown(trial) == before
    update_leaderboard(store, "trial")
    fallen = {name: value for name, value in before.items() if shown(trial)[name] != value}
    assert fallen.keys() == {"ana", "ben"}
    assert pool_message(store, "trial").display_decay_per_day == 1.0


def test_players_are_provisional_until_they_have_been_placed(store: Store) -> None:
    """Placement matches count anew in every season."""
    trial = Trial(store, placement_matches=2, display_deviations=2.0, system="glicko2")
    trial.post(duel("1", "ana", "ben", 0))
    assert shown(trial) == {}
    assert set(shown(trial, provisional=True)) == {"ana", "ben"}
    trial.post(duel("2", "ana", "cyd", 10))
    assert set(shown(trial)) == {"ana"}
    assert player(store, "trial", "ana").place == 1
    assert player(store, "trial", "ben").place is None
    end_season(store, "trial", SeasonRequest(season="s"), key=None, now=NOW)
    assert shown(trial) == {}
    trial.post(duel("3", "ana", "ben", 20), duel("4", "ana", "cyd", 30))
    assert set(shown(trial)) == {"ana"}
    assert verify_pool(store, "trial").identical


def test_the_settings_of_the_board_are_checked_and_kept_over_a_season(store: Store) -> None:
    for wrong in (
        {"display_floor": float("inf")},
        {"display_decay_per_day": -1.0},
        {"display_decay_after_days": -1.0},
    ):
        with pytest.raises(InvalidDataError):
            create_pool(store, "wrong", PoolRequest(**wrong), NOW)  # type: ignore[arg-type]
    trial = Trial(store, display_floor=1000.0)
    settings = SeasonSettings(display_decay_per_day=2.0, display_decay_after_days=0.0)
    request = SeasonRequest(season="s", reset="hard", settings=settings)
    end_season(store, "trial", request, key=None, now=NOW)
    trial.post(duel("1", "ana", "ben", 0), duel("2", "cyd", "dee", 5 * DAY))
    maintain_pool(store, "trial", owner="me", stop=lambda: False)
    assert shown(trial)["ana"] == trial.ratings()["ana"] - 10.0
    assert pool_message(store, "trial").display_floor == 1000.0


def test_a_season_can_change_every_setting_of_a_pool() -> None:
    assert set(SeasonSettings.__struct_fields__) == set(PoolRequest.__struct_fields__)
