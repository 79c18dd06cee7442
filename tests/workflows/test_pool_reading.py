"""Reading a pool: pages of the leaderboard, players, their matches, and what waits."""

from __future__ import annotations

import pytest

from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.players import LeaderboardMessage
from equipoise.store.connection import Store
from equipoise.workflows.pool_reading import leaderboard
from workflows.pool_trials import Trial, duel


def ladder(store: Store, players: int = 9, **settings: object) -> Trial:
    """Return a pool in which p0 is best, p1 next and so on; the last two have played once.

    A match an hour; the even ones played the first of the two, the others the last as well.
    """
    pool = Trial(store, **{"placement_matches": 2, "inactive_days": 0.03, **settings})
    names = [f"p{number}" for number in range(players)]

    def contest(match: str, names: list[str], time: int) -> MatchRequest:
        teams = [TeamRequest([name], rank) for rank, name in enumerate(names)]
        return MatchRequest(match=match, teams=teams, time=time)

    pool.post(
        contest("first", names, 0),
        contest("second", names[:-2], 3600),
        contest("third", [name for name in names[:-2] if int(name[1:]) % 2], 7200),
    )
    return pool


def pages(pool: Trial, start: LeaderboardMessage, way: str, **asked: object) -> list[str]:
    """Return the players of a page and of all after it, or before it, in order."""
    found = [row.player for row in start.players]
    page = start
    while (cursor := getattr(page, way)) is not None:
        page = leaderboard(pool.store, pool.name, cursor=cursor, **asked)  # type: ignore[arg-type]
        names = [row.player for row in page.players]
        found = [*found, *names] if way == "next" else [*names, *found]
    return found


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@pytest.mark.parametrize("provisional", [False, True])
@pytest.mark.parametrize("inactive", [False, True])
def test_pages_list_every_player_once(
    store: Store, limit: int, provisional: bool, inactive: bool
) -> None:
    """Forwards from the top, backwards from the end, and both ways around a player."""
    pool = ladder(store)
    asked = {"limit": limit, "provisional": provisional, "inactive": inactive}
    whole = leaderboard(store, pool.name, **{**asked, "limit": 1000})  # type: ignore[arg-type]
    names = [row.player for row in whole.players]
    assert [row.place for row in whole.players] == list(range(1, len(names) + 1))
    assert (len(names) == 9) == (provisional and inactive)
    top = leaderboard(store, pool.name, **asked)  # type: ignore[arg-type]
    assert pages(pool, top, "next", **asked) == names
    last = top
    while last.next is not None:
        last = leaderboard(store, pool.name, cursor=last.next, **asked)  # type: ignore[arg-type]
    assert pages(pool, last, "previous", **asked) == names
    middle = leaderboard(store, pool.name, around=names[len(names) // 2], **asked)  # type: ignore[arg-type]
    after = pages(pool, middle, "next", **asked)
    before = pages(pool, middle, "previous", **asked)
    assert before[: -len(middle.players)] + after == names


def test_a_player_who_is_not_listed_takes_no_place(store: Store) -> None:
    """Asked for by id, one is shown among the others, who keep the places that they have."""
    pool = Trial(store, placement_matches=2)
    pool.post(duel("first", "ada", "bob", 1), duel("second", "ada", "bob", 2))
    pool.post(duel("third", "ada", "new", 3), duel("fourth", "cyd", "bob", 4))
    listed = leaderboard(store, pool.name, limit=10)
    assert [(row.place, row.player) for row in listed.players] == [(1, "ada"), (2, "bob")]
    around = leaderboard(store, pool.name, around="cyd", limit=2)
    assert [(row.place, row.player) for row in around.players] == [(1, "ada"), (None, "cyd")]
    after = leaderboard(store, pool.name, cursor=around.next, limit=1)
    assert [(row.place, row.player) for row in after.players] == [(2, "bob")]
