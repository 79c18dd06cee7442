"""Unit, tiers and the provisional deviation of a pool: kept, changed, used in answers."""

from __future__ import annotations

import pytest

from equipoise.errors import InvalidDataError
from equipoise.messages.pools import PoolChange, PoolRequest, Tier
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.pool.rules import PoolRules, settings_json
from equipoise.pools.pool.settings import change_settings
from equipoise.pools.reading.players import leaderboard, player
from equipoise.store.connection import Store
from equipoise.web.page.rendering import in_units, units
from pools.pool_trials import NOW, Trial, duel

TWO = [Tier(1500.0, "Lower league", "Lower", 1), Tier(1510.0, "Upper league", "Upper", 5)]


def change(store: Store, **settings: object) -> None:
    """Change settings of the pool."""
    change_settings(store, "trial", PoolChange(**settings), NOW, key=None)  # type: ignore[arg-type]


def test_defaults_are_not_stored() -> None:
    """So that a program of an earlier version reads the settings of pools that do not use them."""
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
    change(store, tiers="codeforces", unit="party")
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
        ({"tiers": TWO[::-1]}, "tiers[1].lower"),
        ({"tiers": [Tier(0.0, "", "x", 1)]}, "tiers[0].name"),
        ({"tiers": [Tier(0.0, "x", "y" * 41, 1)]}, "tiers[0].short"),
        ({"tiers": [Tier(float(at), "x", "x", 1) for at in range(31)]}, "tiers"),
        ({"unit": ""}, "unit"),
        ({"unit": "x" * 31}, "unit"),
        ({"provisional_deviation": -1.0}, "provisional_deviation"),
    ],
)
def test_rejects_settings_beyond_the_limits(
    sqlite_store: Store, settings: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidDataError) as error:
        Trial(sqlite_store, **settings)
    assert [one.field for one in error.value.problems] == [field]


def test_a_large_deviation_makes_a_player_provisional(store: Store) -> None:
    """As posted, after a change of the setting, and after a replay."""
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
    change(store, provisional_deviation=None)
    assert provisional() == []
    change(store, provisional_deviation=100.0)
    assert provisional() == ["ana", "bo", "cy", "dan"]
    change(store, provisional_deviation=250.0)
    pool.post(duel("late", "ana", "cy", 5))
    pool.settle()
    assert "bo" in provisional()
