"""Reading a pool: pages of the leaderboard, players, their matches, and what waits."""

from __future__ import annotations

import pytest

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.messages.matches import LeaderboardMessage, MatchRequest, ReasonRequest, TeamRequest
from equipoise.pools.amending import restore_match, void_match
from equipoise.pools.pool.pools import encode_cursor
from equipoise.pools.reading.matches import match, matches, posted_match
from equipoise.pools.reading.players import leaderboard, player, player_history, rating_timeline
from equipoise.pools.reading.questions import explain_player
from equipoise.store.connection import Store
from pools.pool_trials import NOW, Trial, duel


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


@pytest.mark.parametrize(
    ("limit", "provisional", "inactive"),
    [(1, False, False), (3, True, False), (3, False, True), (1, True, True)],
)
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


def test_a_match_tells_what_counts_and_what_waits(store: Store) -> None:
    """Until its replay a match shows what it was rated as, wherever it is moved to."""
    pool = Trial(store, late="replay")
    pool.post(duel("first", "ada", "bob", 1), duel("second", "ada", "bob", 5))
    pool.post(duel("other", "ada", "bob", 6, rated=False))
    rated = match(store, pool.name, "first")
    pool.correct(duel("first", "ada", "bob", 9))
    waiting = match(store, pool.name, "first")
    assert (waiting.status, waiting.time, waiting.corrected) == ("pending", 9, 4)
    assert waiting.teams == rated.teams
    pool.void("second")
    listed = matches(store, pool.name, limit=10).matches
    assert {one.match: one.status for one in listed} == {
        "first": "pending",
        "second": "pending",
        "other": "unrated",
    }
    pool.settle()
    listed = matches(store, pool.name, limit=10).matches
    assert {one.match: one.status for one in listed} == {
        "first": "rated",
        "second": "void",
        "other": "unrated",
    }
    void = match(store, pool.name, "second")
    assert [team.players[0].counted for team in void.teams] == [False, False]
    moved = match(store, pool.name, "first")
    assert [team.players[0].counted for team in moved.teams] == [True, True]


def test_pages_of_matches_and_of_a_player_list_each_once(store: Store) -> None:
    """Newest first, across equal times."""
    pool = Trial(store)
    pool.post(*(duel(f"m{n}", "ada", "bob" if n % 2 else "cyd", n // 3) for n in range(10)))
    expected = [f"m{n}" for n in reversed(range(10))]
    for limit in (1, 3, 10, 11):
        found, cursor = [], None
        while True:
            page = matches(store, pool.name, cursor=cursor, limit=limit)
            found += [one.match for one in page.matches]
            cursor = page.next
            if cursor is None:
                break
        assert found == expected
        found = []
        while True:
            history = player_history(store, pool.name, "ada", cursor=cursor, limit=limit)
            found += [one.match for one in history.matches]
            cursor = history.next
            if cursor is None:
                break
        assert found == expected
    mine = player_history(store, pool.name, "bob", limit=100).matches
    assert [one.match for one in mine] == [name for name in expected if int(name[1:]) % 2]
    assert [one.rank for one in mine] == [2] * 5


def test_a_player_is_shown_as_of_a_time(store: Store) -> None:
    """Uncertainty grows with time; a time before the last match is refused."""
    pool = Trial(store, system="glicko", parameters={"drift_per_day": 5}, display_deviations=1.0)
    day = 86_400
    pool.post(duel("first", "ada", "bob", day))
    now = player(store, pool.name, "ada")
    later = player(store, pool.name, "ada", at=400 * day)
    assert (now.at, later.at, now.last_time) == (None, 400 * day, day)
    assert now.deviation is not None
    assert later.deviation is not None
    assert later.deviation > now.deviation
    assert later.display < now.display
    assert player(store, pool.name, "ada", at="1970-01-02").deviation == now.deviation
    for at in (day - 1, "1970-01-01", "yesterday"):
        with pytest.raises(InvalidParameterError, match="at must"):
            player(store, pool.name, "ada", at=at)
    timeless = Trial(store, "timeless", times="none")
    timeless.post(duel("first", "ada", "bob", None))
    assert player(store, "timeless", "ada").last_time is None
    with pytest.raises(InvalidParameterError, match="no times"):
        player(store, "timeless", "ada", at=1)


def test_limits_of_pages_are_bounded(sqlite_store: Store) -> None:
    """From 1 to 1000; a cursor and a player to list around exclude each other."""
    pool = Trial(sqlite_store)
    pool.post(duel("first", "ada", "bob", 1))
    for limit in (0, -1, 1001, 2**70):
        for ask in (leaderboard, matches):
            with pytest.raises(InvalidParameterError, match="limit must be from 1 to 1000"):
                ask(sqlite_store, pool.name, limit=limit)
    cursor = leaderboard(sqlite_store, pool.name, limit=1).next
    with pytest.raises(InvalidParameterError, match="around cannot be combined with cursor"):
        leaderboard(sqlite_store, pool.name, cursor=cursor, around="ada")


@pytest.mark.parametrize(("limit", "provisional"), [(2, True), (4, False)])
def test_who_is_disqualified_comes_last_without_a_place(
    store: Store, limit: int, provisional: bool
) -> None:
    """On pages forwards, backwards and around anybody; `ranked` gives the order by ratings."""
    pool = ladder(store)
    asked = {"limit": limit, "provisional": provisional, "inactive": True}
    every = leaderboard(store, pool.name, **{**asked, "limit": 1000})  # type: ignore[arg-type]
    by_rating = [row.player for row in every.players]
    pool.disqualify("p0", since=0)
    pool.disqualify("p4")
    pool.disqualify("p2")
    pool.reinstate("p2")
    whole = leaderboard(store, pool.name, **{**asked, "limit": 1000})  # type: ignore[arg-type]
    names = [row.player for row in whole.players]
    barred = {"p0", "p4"}
    assert names == [one for one in by_rating if one not in barred] + ["p0", "p4"]
    assert [row.place for row in whole.players] == [*range(1, len(names) - 1), None, None]
    assert {row.player for row in whole.players if row.disqualified} == barred
    top = leaderboard(store, pool.name, **asked)  # type: ignore[arg-type]
    assert pages(pool, top, "next", **asked) == names
    last = top
    while last.next is not None:
        last = leaderboard(store, pool.name, cursor=last.next, **asked)  # type: ignore[arg-type]
    assert pages(pool, last, "previous", **asked) == names
    places = {row.player: row.place for row in whole.players}
    for name in names:
        page = leaderboard(store, pool.name, around=name, **asked)  # type: ignore[arg-type]
        assert {row.player: row.place for row in page.players}.items() <= places.items()
        assert name in [row.player for row in page.players]
        after, before = pages(pool, page, "next", **asked), pages(pool, page, "previous", **asked)
        assert before[: len(before) - len(page.players)] + after == names
    ranked = {**asked, "disqualified": "ranked"}
    first = leaderboard(store, pool.name, **ranked)  # type: ignore[arg-type]
    assert pages(pool, first, "next", **ranked) == by_rating
    all_ranked = leaderboard(store, pool.name, **{**ranked, "limit": 1000}).players  # type: ignore[arg-type]
    assert [row.place for row in all_ranked] == list(range(1, len(names) + 1))
    assert {row.player for row in all_ranked if row.disqualified} == barred
    assert player(store, pool.name, "p0").place is None
    assert player(store, pool.name, by_rating[0]).place == 1
    assert pool.is_sound()
    pool.check()
    # p0 may be rated in nothing, so that the others moved, and still has a page.
    assert player(store, pool.name, "p0").matches == 0


def test_a_cursor_of_an_earlier_version_leads_on(store: Store) -> None:
    """It knew nothing of those who are disqualified."""
    pool = ladder(store)
    first = leaderboard(store, pool.name, limit=2, provisional=True)
    row = first.players[-1]
    old = encode_cursor((False, -row.display, row.player, 3))
    page = leaderboard(store, pool.name, limit=2, provisional=True, cursor=old)
    assert page == leaderboard(store, pool.name, limit=2, provisional=True, cursor=first.next)
    assert [one.place for one in page.players] == [3, 4]


def test_a_newcomer_who_is_disqualified_to_come_is_marked_at_once(store: Store) -> None:
    """The first rating of one who may play until then; the page says from when on."""
    pool = Trial(store)
    pool.disqualify("new", since=100)
    assert pool.post(duel("a", "new", "bob", 10))
    assert player(store, pool.name, "new").disqualified == 100
    pool.reinstate("new")
    assert player(store, pool.name, "new").disqualified is None
    pool.disqualify("new")
    assert player(store, pool.name, "new").disqualified == "2030-03-17T17:46:40Z"
    rows = leaderboard(store, pool.name).players
    assert [(row.player, row.place, row.disqualified) for row in rows] == [
        ("bob", 1, False),
        ("new", None, True),
    ]
    assert pool.is_sound()


def test_a_match_without_a_time_says_that_it_was_received(store: Store) -> None:
    """In every answer; a match that was rated later than it was played says when that was."""
    pool = Trial(store, late="append")
    pool.post(duel("a", "ana", "ben", 100), duel("b", "ben", "ana", None))
    now = NOW // 1_000_000
    (late,) = pool.post(duel("c", "ana", "ben", 50))
    assert (late.time, late.played) == (now, 50)
    lines = {one.match: (one.time, one.played) for one in matches(store, pool.name).matches}
    assert lines == {"a": (100, 100), "b": (now, None), "c": (now, 50)}
    assert match(store, pool.name, "b").played is None
    history = player_history(store, pool.name, "ana").matches
    assert {one.match: (one.time, one.played) for one in history} == lines
    assert rating_timeline(store, pool.name, "ana", most=10).played == [True, False, True]
    assert explain_player(store, pool.name, "ana", "b").played is None
    assert explain_player(store, pool.name, "ana", "a").played == 100
    # A correction without a time leaves it so, one with a time gives it one.
    pool.correct(posted_match(store, pool.name, "b"))
    pool.settle()
    assert match(store, pool.name, "b").played is None
    pool.correct(duel("b", "ben", "ana", 200))
    pool.settle()
    assert (match(store, pool.name, "b").time, match(store, pool.name, "b").played) == (200, 200)
    assert pool.is_sound()


def test_a_page_of_matches_can_be_around_one_and_leads_both_ways(store: Store) -> None:
    """Every page but the first has a previous one, which ends where this one begins."""
    pool = Trial(store)
    pool.post(*(duel(f"m{at}", "ada", "bob", at) for at in range(9)))
    page = matches(store, pool.name, around="m4", limit=3)
    assert [one.match for one in page.matches] == ["m5", "m4", "m3"]
    assert page.next is not None
    older = matches(store, pool.name, cursor=page.next, limit=3)
    assert [one.match for one in older.matches] == ["m2", "m1", "m0"]
    assert older.next is None
    assert older.previous is not None
    again = matches(store, pool.name, cursor=older.previous, limit=3)
    assert again.matches == page.matches
    assert again.previous is not None
    newest = matches(store, pool.name, cursor=again.previous, limit=3)
    assert [one.match for one in newest.matches] == ["m8", "m7", "m6"]
    assert newest.previous is None
    assert matches(store, pool.name, around="m8", limit=3).matches[0].match == "m8"
    with pytest.raises(InvalidParameterError, match="around cannot be combined with cursor"):
        matches(store, pool.name, around="m4", cursor=page.next)
    with pytest.raises(NotFoundError):
        matches(store, pool.name, around="nothing")


def test_a_void_match_says_why(store: Store) -> None:
    pool = Trial(store, late="replay")
    pool.post(duel("a", "ada", "bob", 1), duel("b", "ada", "bob", 2))
    void_match(store, pool.name, "b", ReasonRequest("wrong players"), key=None, now=NOW)
    pool.settle()
    found = match(store, pool.name, "b")
    assert (found.status, found.void_reason) == ("void", "wrong players")
    assert match(store, pool.name, "a").void_reason is None
    restore_match(store, pool.name, "b", ReasonRequest(), key=None, now=NOW)
    assert match(store, pool.name, "b").void_reason is None
