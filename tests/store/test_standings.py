"""The order of players kept in memory: what it says is what the table of ratings says."""

from __future__ import annotations

import itertools
import random
import statistics

import pytest

from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.pools.pool.settings import update_leaderboard
from equipoise.pools.reading.overview import overview
from equipoise.pools.reading.players import search_players
from equipoise.store import ratings
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from equipoise.store.ratings import all_ratings, standing_of
from pools.pool_trials import Trial, duel

NAMES = [
    *("Anna", "annabel", "Joanna", "bo", "100%", "1000", "a_b", "axb", "back\\slash", "Éva", "éva"),
    *("İ", "ß", "\U0001f600a", "\uffffb", "aa", "aaa", "b\u0301", " ", "zz"),
]
TEXTS = [*NAMES, "a", "A", "an", "%", "_", "é", "É", "ss", "nobody", "\n", "\ud800", "i"]


def check_answers(store: Store, pool: str) -> None:
    """Compare places, searches and totals with what all rows of the table say."""
    with store.read() as connection:
        record = get_pool(connection, pool)
        pieces = all_ratings(connection, record.id, record.generation)
        rows = [row for piece in pieces for row in piece]
        for provisional, disqualified in itertools.product((False, True), repeat=2):
            listed = [
                (row.ordering, row.player)
                for row in rows
                if row.provisional <= provisional and row.disqualified <= disqualified
            ]
            which = {"provisional": provisional, "disqualified": disqualified}
            assert ratings.place_of(connection, record, None, **which) == 1 + len(listed)
            for row in rows:
                before = sum(other < (row.ordering, row.player) for other in listed)
                assert ratings.place_of(connection, record, row, **which) == 1 + before
    ordered = sorted(rows, key=lambda row: (row.disqualified, row.ordering, row.player))
    for text in TEXTS:
        wanted = text.encode(errors="replace").lower()
        matching = [row.player for row in ordered if wanted in row.player.encode().lower()]
        for limit in (2, 50):
            found = search_players(store, pool, text, limit=limit)
            assert [row.player for row in found] == matching[:limit], text
    shown = [-row.ordering for row in rows]
    seen = overview(store, pool)
    assert sum(one.players for one in seen.ratings) == len(rows)
    assert seen.provisional == sum(row.provisional for row in rows)
    assert seen.mean == pytest.approx(statistics.fmean(shown), rel=1e-12)


# The third seed is the second kind once more.
@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.nightly)])
def test_a_standing_says_what_the_database_says(
    store: Store, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While matches are posted, voided and replayed, and players join, tie and are disqualified."""
    if seed:
        # Texts that some have in common count as frequent.
        monkeypatch.setattr(ratings, "_FEW", 1)
        monkeypatch.setattr(ratings, "_BEST", 4)
    rng = random.Random(seed)
    trial = Trial(store, placement_matches=2, late="replay", display_floor=1480.0)
    posted = 0
    for step in range(8):
        several = []
        for _ in range(rng.choice([1, 1, 5])):
            one, other = rng.sample(NAMES[: 6 + 2 * step], 2)
            several.append(duel(f"m{posted}", one, other, 1_700_000_000 + posted // 3))
            posted += 1
        trial.post(*several)
        if step == 3:
            alone = [TeamRequest(["single"], 0)]
            trial.post(MatchRequest("alone", alone, 1_700_000_000 + posted // 3))
        if step == 4:
            trial.disqualify(several[0].teams[0].players[0])  # type: ignore[arg-type]
        if step == 5:
            trial.void("m1")
            check_answers(store, trial.name)
            trial.settle()
        check_answers(store, trial.name)


def test_a_standing_is_made_from_the_one_before(store: Store) -> None:
    """And readers of an older moment get the older one."""
    trial = Trial(store)
    trial.post(*(duel(f"m{at}", f"p{at}", f"p{at + 1}", at) for at in range(30)))
    with store.read() as older:
        before = standing_of(older, get_pool(older, trial.name))
        trial.post(duel("next", "p29", "new", 40))
        with store.read() as newer:
            after = standing_of(newer, get_pool(newer, trial.name))
        assert before is standing_of(older, get_pool(older, trial.name))
    assert set(after.names) - set(before.names) == {"new"}
    changed = [
        name
        for name, one in zip(before.names, before.ordering.tolist(), strict=True)
        if after.ordering[after.names.index(name)] != one
    ]
    assert changed == ["p29"]


def test_a_standing_follows_the_decay(store: Store) -> None:
    """The order changes without a record in the log."""
    trial = Trial(store, display_decay_per_day=9.0, display_decay_after_days=0.0)
    trial.post(duel("m", "a", "b", 0), duel("n", "aa", "bo", 86_400 * 20))
    check_answers(store, trial.name)
    update_leaderboard(store, trial.name)
    check_answers(store, trial.name)
    trial.post(duel("o", "a", "zz", 86_400 * 20))
    check_answers(store, trial.name)
