"""Settings of a pool: changed by records of the log, tiers, and what a leaderboard shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.analysis.reading import HistoryRequest
from equipoise.errors import ConflictError, InvalidDataError
from equipoise.messages.pools import (
    PoolChange,
    PoolMessage,
    PoolRequest,
    SeasonRequest,
    SeasonSettings,
    Tier,
)
from equipoise.pools.amending import amendment, amendments
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.exchange.importing import ImportRequest, import_pool
from equipoise.pools.pool.access import audit_page
from equipoise.pools.pool.pools import create_pool, pool_message
from equipoise.pools.pool.rules import PoolRules, rules_of, settings_json
from equipoise.pools.pool.settings import change_settings, update_leaderboard
from equipoise.pools.reading.players import leaderboard, player
from equipoise.pools.replay.replaying import maintain_pool, pending_pools, rerate
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from equipoise.web.page.rendering import in_units, units
from pools.pool_trials import NOW, Trial, duel

DAY = 86_400


def change(trial: Trial, **settings: Any) -> PoolMessage:
    """Change settings of a pool."""
    return change_settings(trial.store, trial.name, PoolChange(**settings), NOW, key=7)


def tended(trial: Trial) -> Trial:
    """Return a pool once nothing waits in the background."""
    while pending_pools(trial.store):
        maintain_pool(trial.store, trial.name, owner="tester", stop=lambda: False)
    return trial


def imported(store: Store, path: Path, pool: str, **settings: object) -> Trial:
    """Return the pool that a log makes."""
    request = ImportRequest(
        history=HistoryRequest(source=str(path)), create=True, settings=settings
    )
    import_pool(store, pool, request, NOW)
    return Trial.existing(store, pool)


def test_late_holds_from_its_place_in_the_log(store: Store, tmp_path: Path) -> None:
    """What was refused before is taken after, and an import takes each match as the pool did."""
    pool = Trial(store)
    pool.post(duel("a", "ana", "ben", 100))
    assert isinstance(pool.refused(duel("b", "ben", "cyd", 50)), InvalidDataError)
    assert change(pool, late="append", reason="slow uploads").late == "append"
    (late,) = pool.post(duel("b", "ben", "cyd", 50))
    assert (late.time, late.played) == (100, 50)
    change(pool, late="replay")
    assert pool.post(duel("c", "cyd", "ana", 60))[0].status == "pending"
    change(pool, late="reject")
    pool.refused(duel("d", "cyd", "ana", 60))
    pool.check()
    path = tmp_path / "log.ndjson"
    export_file(store, pool.name, "log", str(path))
    assert json.loads(path.read_text().splitlines()[0])["settings"]["late"] == "reject"
    again = imported(store, path, "again")
    assert again.is_sound()
    assert again.ratings() == pool.ratings()
    assert pool_message(store, "again").late == "reject"
    export_file(store, "again", "log", str(tmp_path / "again.ndjson"))
    lines = [path.read_text().splitlines()[1:] for path in sorted(tmp_path.glob("*.ndjson"))]
    assert [json.loads(one) | {"key": None} for one in lines[0]] == [
        json.loads(one) | {"key": None} for one in lines[1]
    ]
    # Run again, also with settings given on purpose, it finds all of it there.
    imported(store, path, "again")
    imported(store, path, "again", late="reject")
    with pytest.raises(ConflictError, match="late is 'reject', you sent 'append'"):
        imported(store, path, "again", late="append")
    assert pool_message(store, "again").last_seq == pool_message(store, pool.name).last_seq


def test_a_change_is_a_record_with_old_and_new(store: Store) -> None:
    """In the log, in the audit log, and nowhere where nothing is changed."""
    pool = Trial(store)
    changed = change(pool, public=True, inactive_days=30, reason="open league")
    assert (changed.public, changed.inactive_days, changed.last_seq) == (True, 30.0, 1)
    told = amendment(store, pool.name, 1)
    assert (told.kind, told.status, told.reason) == ("settings", "done", "open league")
    assert told.settings == {"public": True, "inactive_days": 30.0}
    assert told.settings_before == {"public": False, "inactive_days": None}
    assert change(pool, public=True, late="reject", system="elo") == changed
    assert len(amendments(store, pool.name).amendments) == 1
    (entry, made) = audit_page(store, pool=pool.name).entries
    assert (entry.what, entry.key, made.what) == ("pool.changed", 7, "pool.created")
    assert entry.detail["settings"] == told.settings
    assert change(pool, inactive_days=None).inactive_days is None
    assert pool.is_sound()


@pytest.mark.parametrize("piece", [3, 2_500])
def test_the_board_follows_what_is_shown(store: Store, piece: int) -> None:
    """Provisional players, shown ratings and decay, at once or in small steps, and back again."""
    store = Store(store.engine, Sizes(board=piece))
    pool = Trial(store, system="glicko")
    names = ["ana", "ben", "cyd", "dee", "eve", "fay", "gus"]
    for at in range(20):
        pool.post(duel(f"m{at}", names[at % 7], names[(at + 1 + at % 3) % 7], at * DAY))
    before = leaderboard(store, pool.name)
    change(pool, placement_matches=6, display_deviations=2.0, display_floor=1000.0)
    assert pool.is_sound(), "those who wait for their place are not compared"
    tended(pool)
    assert pool.is_sound()
    seen = leaderboard(store, pool.name, provisional=True)
    assert {row.player: row.provisional for row in seen.players} == {
        row.player: row.matches < 6 for row in before.players
    }
    for row in seen.players:
        assert row.display == max(row.rating - 2.0 * (row.deviation or 0.0), 1000.0)
    change(pool, display_decay_per_day=5.0, display_decay_after_days=1.0)
    tended(pool)
    decayed = leaderboard(store, pool.name, provisional=True)
    assert decayed.players != seen.players
    shown = {"placement_matches": 6, "display_deviations": 2.0, "display_floor": 1000.0}
    decay = {"display_decay_per_day": 5.0, "display_decay_after_days": 1.0}
    alike = Trial(store, "alike", system="glicko", **shown, **decay)
    for at in range(20):
        alike.post(duel(f"m{at}", names[at % 7], names[(at + 1 + at % 3) % 7], at * DAY))
    tended(alike)
    assert leaderboard(store, "alike", provisional=True).players == decayed.players
    change(
        pool, placement_matches=0, display_deviations=0.0, display_floor=None,
        display_decay_per_day=0.0, display_decay_after_days=30.0,
    )  # fmt: skip
    tended(pool)
    assert pool.is_sound()
    assert leaderboard(store, pool.name).players == before.players


def test_a_change_while_a_replay_is_under_way(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replay writes ratings by the old settings; once it is in place they follow the new."""
    from equipoise.pools.replay import replaying

    pool = Trial(store)
    for at in range(12):
        pool.post(duel(f"m{at}", "ana", f"p{at % 4}", at))
    rerate(store, pool.name)
    swap = replaying._swap

    def changed_first(replay: Any) -> Any:
        change(pool, placement_matches=5)
        return swap(replay)

    monkeypatch.setattr(replaying, "_swap", changed_first)
    assert pool.replay()
    monkeypatch.undo()
    tended(pool)
    assert pool.is_sound()
    assert [row.player for row in leaderboard(store, pool.name).players] == ["ana"]


def test_what_the_system_reads_cannot_be_changed(store: Store) -> None:
    """The sentence names what differs, and what to do instead."""
    pool = Trial(store)
    for settings, told in (
        ({"system": "glicko2"}, "system is 'elo', you sent 'glicko2'"),
        ({"parameters": {"k": 20.0}}, r"parameters\.k is 32\.0, you sent 20\.0"),
        ({"statistics": {"kills": 1.0}}, r"statistics is \{\}, you sent \{\"kills\":1\.0\}"),
        ({"times": "none"}, "times is 'seconds', you sent 'none'"),
    ):
        with pytest.raises(ConflictError, match=told) as refused:
            change(pool, late="append", **settings)
        assert "late" not in str(refused.value).partition("Its matches")[0]
        assert "end the season" in str(refused.value)
    assert pool_message(store, pool.name).late == "reject"
    assert change(pool, times="datetime", parameters={"k": 32}).times == "datetime"
    with pytest.raises(InvalidDataError):
        change(pool, placement_matches=-1)
    with pytest.raises(InvalidDataError):
        change(pool, reason="x" * 2001)


def test_making_a_pool_again_names_every_difference(store: Store) -> None:
    """A parameter that is given as its default is no difference."""
    assert create_pool(store, "x", PoolRequest(system="elo"), NOW).placement_matches == 3
    same = PoolRequest(system="elo", placement_matches=3, parameters={"k": 32.0})
    assert create_pool(store, "x", same, NOW).pool == "x"
    told = (
        "late is 'reject', you sent 'append'; placement_matches is 3, you sent 0. "
        "Use PATCH /v1/pools/x to change them"
    )
    with pytest.raises(ConflictError, match=told):
        create_pool(store, "x", PoolRequest("elo", late="append", placement_matches=0), NOW)
    told = "system is 'elo', you sent 'glicko2'. system cannot be changed: use another name"
    with pytest.raises(ConflictError, match=told):
        create_pool(store, "x", PoolRequest(system="glicko2", placement_matches=3), NOW)


def test_a_pool_made_before_keeps_its_placement_matches(store: Store, tmp_path: Path) -> None:
    """In its season, in the next, in a copy, and if the request that made it is sent again."""
    assert rules_of('{"system":"elo"}').placement_matches == 0
    pool = Trial(store)
    assert create_pool(store, pool.name, PoolRequest(system="elo"), NOW).placement_matches == 0
    table = tmp_path / "history.csv"
    table.write_text("match,time,player,rank\nm,1700000000,ana,1\nm,1700000000,ben,2\n")
    assert imported(store, table, pool.name, system="elo").is_sound()
    log = tmp_path / "log.ndjson"
    export_file(store, pool.name, "log", str(log))
    imported(store, log, "copy")
    end_season(store, pool.name, SeasonRequest(season="one"), key=None, now=NOW)
    for name in ("trial", "trial.one", "copy"):
        assert pool_message(store, name).placement_matches == 0


def test_a_pool_has_a_title_and_a_description(store: Store, tmp_path: Path) -> None:
    """Once it is empty again, it is stored as earlier versions wrote it."""
    pool = Trial(store)
    changed = change(pool, title="Friday league", description="Five a side.")
    assert (changed.title, changed.description) == ("Friday league", "Five a side.")
    log = tmp_path / "log.ndjson"
    export_file(store, pool.name, "log", str(log))
    imported(store, log, "copy")
    assert pool_message(store, "copy").title == "Friday league"
    with pytest.raises(InvalidDataError, match="title: must have at most 100 characters and no c"):
        change(pool, title="x" * 101)
    assert change(pool, title="").title == ""
    with store.read() as connection:
        assert "title" not in get_pool(connection, pool.name).settings


TWO = [Tier(1500.0, "Lower league", "Lower", 1), Tier(1510.0, "Upper league", "Upper", 5)]


def changed_to(store: Store, **settings: object) -> None:
    """Change settings of the pool."""
    change_settings(store, "trial", PoolChange(**settings), NOW, key=None)  # type: ignore[arg-type]


def test_defaults_are_not_stored_and_seasons_can_change_every_setting() -> None:
    """So a program of an earlier version reads the settings of pools that do not use them."""
    assert set(SeasonSettings.__struct_fields__) == set(PoolRequest.__struct_fields__)
    stored = settings_json(PoolRequest(placement_matches=3))
    later = ("unit", "tiers", "provisional_deviation", "title", "description", "package")
    assert not [name for name in later if name in stored]


def test_answers_have_the_tier_of_the_rating_shown(store: Store) -> None:
    pool = Trial(store, tiers=TWO, unit="contest")
    pool.post(duel("m1", "ana", "bo", 10))
    shown = {row.player: (row.display, row.tier) for row in leaderboard(store, "trial").players}
    assert shown["ana"][0] > 1510 > shown["bo"][0]
    assert (shown["ana"][1], shown["bo"][1]) == ("Upper league", "Lower league")
    assert player(store, "trial", "ana").tier == "Upper league"
    message = pool_message(store, "trial")
    assert (message.unit, message.tiers) == ("contest", TWO)
    changed_to(store, tiers="codeforces", unit="party")
    message = pool_message(store, "trial")
    assert (len(message.tiers), message.tiers[-1].name) == (10, "Legendary grandmaster")
    assert player(store, "trial", "ana").tier == "Specialist"
    assert (units(message), in_units(1, message)) == ("parties", "1 party")
    assert pool.is_sound()


@pytest.mark.parametrize(
    ("system", "preset", "rating", "name"),
    [
        ("elo", "chess", 1999.9, "Class A"),
        ("elo", "chess", 2000.0, "Expert"),
        ("elo", "codeforces", -50.0, "Newbie"),
        ("elo", "five", 1500.0, "Gold"),
        ("elo", "five", 1299.0, "Bronze"),
        ("elo", "five", 1900.0, "Diamond"),
        ("elo", [], 1500.0, None),
    ],
)
def test_ready_made_tiers_have_their_bounds(
    system: str, preset: str, rating: float, name: str | None
) -> None:
    rules = PoolRules(PoolRequest(system=system, tiers=preset))  # type: ignore[arg-type]
    assert rules.tier(rating) == name


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"system": "eloo"}, "system"),
        ({"parameters": {"k": -1}}, "parameters.k"),
        ({"parameters": {"kk": 1}}, "parameters.kk"),
        ({"tiers": TWO[::-1]}, "tiers[1].lower"),
        ({"tiers": [Tier(0.0, "", "x", 1)]}, "tiers[0].name"),
        ({"tiers": [Tier(0.0, "x", "y" * 41, 1)]}, "tiers[0].short"),
        ({"tiers": [Tier(float(at), "x", "x", 1) for at in range(31)]}, "tiers"),
        ({"unit": ""}, "unit"),
        ({"unit": "x" * 31}, "unit"),
        ({"provisional_deviation": -1.0}, "provisional_deviation"),
        ({"display_floor": float("inf")}, "display_floor"),
        ({"display_decay_per_day": -1.0}, "display_decay_per_day"),
        ({"display_decay_after_days": -1.0}, "display_decay_after_days"),
        ({"title": "x" * 101}, "title"),
        ({"description": "a\x00b"}, "description"),
    ],
)
def test_rejects_settings_beyond_the_limits(
    sqlite_store: Store, settings: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidDataError) as error:
        Trial(sqlite_store, **settings)
    assert [one.field for one in error.value.problems] == [field]


def test_a_large_deviation_makes_a_player_provisional(store: Store) -> None:
    """As posted, after a changed_to of the setting, and after a replay."""
    pool = Trial(store, system="glicko2", provisional_deviation=250.0, late="replay")
    pool.post(duel("m1", "ana", "bo", 10))
    for at in range(2, 6):
        pool.post(duel(f"m{at}", "cy", "dan", 10 * at))

    def provisional() -> list[str]:
        rows = leaderboard(store, "trial", provisional=True).players
        assert pool.is_sound()
        limit = pool_message(store, "trial").provisional_deviation or 1e9
        marked = {row.player for row in rows if row.provisional}
        assert marked == {row.player for row in rows if (row.deviation or 0.0) > limit}
        return sorted(marked)

    assert provisional() == ["ana", "bo"]
    changed_to(store, provisional_deviation=None)
    assert provisional() == []
    changed_to(store, provisional_deviation=100.0)
    assert provisional() == ["ana", "bo", "cy", "dan"]
    changed_to(store, provisional_deviation=250.0)
    pool.post(duel("late", "ana", "cy", 5))
    pool.settle()
    assert "bo" in provisional()


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


def test_the_settings_of_the_board_are_kept_over_a_season(store: Store) -> None:
    trial = Trial(store, display_floor=1000.0)
    settings = SeasonSettings(display_decay_per_day=2.0, display_decay_after_days=0.0)
    request = SeasonRequest(season="s", reset="hard", settings=settings)
    end_season(store, "trial", request, key=None, now=NOW)
    trial.post(duel("1", "ana", "ben", 0), duel("2", "cyd", "dee", 5 * DAY))
    maintain_pool(store, "trial", owner="me", stop=lambda: False)
    assert shown(trial)["ana"] == trial.ratings()["ana"] - 10.0
    assert pool_message(store, "trial").display_floor == 1000.0
