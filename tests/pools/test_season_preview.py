"""What the end of a season would do: exactly what it then does."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.errors import ConflictError, InvalidDataError, NotFoundError
from equipoise.messages.matches import DisqualifyRequest, ReasonRequest
from equipoise.messages.pools import SeasonRequest, SeasonSettings
from equipoise.messages.upkeep import WebhookRequest
from equipoise.pools.amending import disqualify, void_match
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.reading.players import leaderboard
from equipoise.pools.seasons import SAMPLE, end_season, preview_season, seasons
from equipoise.pools.webhooks import create_webhook
from equipoise.store.connection import Store
from pools.test_seasons import NOW, PLAYERS, duels, ended, ladder, post, settle


def preview(store: Store, season: str = "s1", **how: Any) -> Any:
    return preview_season(store, "ladder", SeasonRequest(season=season, **how))


@pytest.mark.parametrize(
    ("system", "how"),
    [
        ("glicko2", {"keep": 0.25, "widen": 60.0}),
        ("glicko2", {"towards": "initial", "keep": 1.0, "widen": 0.0}),
        ("glicko2", {"reset": "hard"}),
        ("elo", {}),
        ("elo-mmr", {"keep": 0.25}),
    ],
)
def test_what_is_shown_is_what_is_done(store: Store, system: str, how: dict[str, Any]) -> None:
    """To the last bit, for systems with and without deviations; showing it changes nothing."""
    ladder(store, system=system)
    before = {row.player: row for row in leaderboard(store, "ladder").players}
    shown = preview(store, **how)
    assert seasons(store, "ladder").seasons == []
    done = ended(store, "s1", **how)
    after = {row.player: row for row in leaderboard(store, "ladder").players}
    for name in ("archive", "players", "matches", "reset", "keep", "widen", "towards", "centre"):
        assert getattr(shown, name) == getattr(done, name), name
    assert {one.player for one in shown.sample} == set(PLAYERS)
    for one in shown.sample:
        old, new = before[one.player], after.get(one.player)
        assert (one.rating_before, one.deviation_before) == (old.rating, old.deviation)
        if new is None:
            assert (one.rating, one.deviation, one.change) == (None, None, None)
        else:
            assert (one.rating, one.deviation) == (new.rating, new.deviation)


def test_a_few_players_are_shown_from_the_best_to_the_last(store: Store) -> None:
    """Both ends among them."""
    ladder(store)
    names = [f"p{at:02}" for at in range(40)]
    for at, (first, second) in enumerate(zip(names, reversed(names), strict=True)):
        one = duels(1, 100 + at)[0]
        teams = [type(one.teams[0])([first], 0), type(one.teams[0])([second], 1)]
        post(store, "ladder", [type(one)(one.match, teams, time=one.time)])
    board = sorted(leaderboard(store, "ladder", limit=100).players, key=lambda row: -row.rating)
    found = [one.rating_before for one in preview(store).sample]
    assert len(found) == SAMPLE
    assert found == sorted(found, reverse=True)
    assert (found[0], found[-1]) == (board[0].rating, board[-1].rating)


def test_who_stays_disqualified_and_what_goes_on_is_counted(store: Store) -> None:
    """Unless they return, and without what is disabled."""
    ladder(store)
    disqualify(store, "ladder", "ana", DisqualifyRequest(), key=None, now=NOW)
    create_webhook(store, "ladder", WebhookRequest(url="https://e.org"), key=None, now=NOW)
    settle(store, "ladder")
    assert (preview(store).barred, preview(store).webhooks) == (1, 1)
    assert preview(store, disqualified="return").barred == 0


def test_an_empty_pool_can_end_its_season(store: Store) -> None:
    """Nobody is shown, and there is no centre."""
    ladder(store, matches=0)
    found = preview(store)
    assert (found.players, found.centre, found.sample) == (0, None, [])


def test_what_could_not_be_done_is_not_shown(store: Store) -> None:
    """With the same errors as when it is tried."""
    ladder(store)
    with pytest.raises(NotFoundError):
        preview_season(store, "nowhere", SeasonRequest(season="s1"))
    with pytest.raises(InvalidDataError, match="season could not be ended: 1 problem"):
        preview(store, season="s" * 40, settings=SeasonSettings(placement_matches=-1))
    with pytest.raises(InvalidDataError):
        preview(store, settings=SeasonSettings(system="elo"))
    ended(store, "s1")
    with pytest.raises(ConflictError, match="another name"):
        preview(store)
    with pytest.raises(ConflictError, match="closed"):
        preview_season(store, "ladder.s1", SeasonRequest(season="s2"))
    post(store, "ladder", duels(2, 50))
    void_match(store, "ladder", "m50", ReasonRequest(), key=None, now=NOW)
    assert pool_message(store, "ladder").pending
    with pytest.raises(ConflictError, match="waits for a replay"):
        preview(store, season="s2")
    with pytest.raises(ConflictError, match="waits for a replay"):
        end_season(store, "ladder", SeasonRequest(season="s2"), key=None, now=NOW)
