"""Reading a pool: pages of the leaderboard, players, their matches, and what waits."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.messages.matches import LeaderboardMessage, MatchRequest, ReasonRequest, TeamRequest
from equipoise.messages.pools import PoolRequest, ProfileRequest, ProfilesRequest
from equipoise.pools.amending import restore_match, void_match
from equipoise.pools.pool.pools import create_pool, encode_cursor, pool_message
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.profiles import set_profiles
from equipoise.pools.reading.matches import match, matches, posted_match
from equipoise.pools.reading.overview import search, similar
from equipoise.pools.reading.players import (
    leaderboard,
    player,
    player_history,
    rating_timeline,
    ratings_of_players,
    search_players,
)
from equipoise.pools.reading.questions import explain_player
from equipoise.store.connection import Store, open_store
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


def found_in(store: Store, text: str, name: str = "trial") -> tuple[list[str], list[str]]:
    """Return the players and the matches that a search finds."""
    result = search(store, [pool_message(store, name)], text)
    every = result.found
    return (
        [row.player for one in every for row in one.players],
        [line.match for one in every for line in one.matches],
    )


def test_titles_are_found_after_thousands_of_players_and_as_corrected(store: Store) -> None:
    """Only the end of a long content is read, and the last title counts."""
    pool = Trial(store, system="elo-mmr", late="replay")
    crowd = [TeamRequest([f"player-{at:04}"], at) for at in range(600)]
    pool.post(MatchRequest("big", crowd, 10, title="Grand Final 100 %"))
    pool.post(duel("small", "ada", "bob", 20, title="Semi_final"))
    assert found_in(store, "grand final") == ([], ["big"])
    assert found_in(store, "100 %") == ([], ["big"])
    assert found_in(store, "FINAL") == ([], ["small", "big"])
    # The signs of patterns stand for themselves.
    assert found_in(store, "semi_") == ([], ["small"])
    assert found_in(store, "semi%") == ([], [])
    assert found_in(store, 'x\\"y') == ([], [])
    pool.correct(duel("small", "ada", "bob", 20, title='The "last" \\ Zoë'))
    assert found_in(store, "semi") == ([], [])
    assert found_in(store, '"last" \\ zo') == ([], ["small"])


def test_ids_and_names_are_found(store: Store) -> None:
    pool = Trial(store)
    pool.post(duel("Cup 1", "ada", "bob", 1), duel("cup 2", "ada", "cyd", 2))
    profile = ProfilesRequest([ProfileRequest("cyd", "José Álvarez")])
    set_profiles(store, "trial", profile, key=None, now=NOW)
    assert found_in(store, "jose al") == (["cyd"], [])
    assert found_in(store, "AD") == (["ada"], [])
    # Ids of matches are found as they are written, from their beginning.
    assert found_in(store, "Cup") == ([], ["Cup 1"])
    assert found_in(store, "up 1") == ([], [])


@pytest.mark.parametrize(
    ("name", "player"),
    [
        ("ada fox", "Ada Fox"),
        ("Ada-Fox", "ada fox"),
        ("José", "Jose"),
        ("Adda Fox", "Ada Fox"),
        ("Ada Fo", "Ada Fox"),
        ("Ida Fox", "Ada Fox"),
    ],
)
def test_case_accents_and_one_letter_are_similar(name: str, player: str) -> None:
    """Whichever of the two is the newcomer."""
    assert similar([name], [player]) == {name: player}
    assert similar([player], [name]) == {player: name}


@pytest.mark.parametrize(
    ("name", "player"),
    [("player 7", "player 8"), ("Bo", "Cy"), ("Ana", "Ada"), ("Ada Fox", "Ida Fix")],
)
def test_digits_short_names_and_two_letters_differ(name: str, player: str) -> None:
    """They are different players more often than misspelled ones."""
    assert similar([name], [player]) == {}


def test_the_later_of_two_similar_newcomers_is_named() -> None:
    """And a name is never similar to itself."""
    assert similar(["Ada Fox", "Adda Fox"], ["Ada Fox", "Adda Fox"]) == {"Adda Fox": "Ada Fox"}


LATER = 2_000_000_000_000_000
NAMES = ["Anna", "annabel", "Joanna", "bo", "100%", "1000", "a_b", "axb", "back\\slash", "Éva"]


@pytest.fixture
def people(database_url: str) -> Iterator[Store]:
    found = open_store(database_url)
    matches = [
        MatchRequest(
            f"m{at}",
            [TeamRequest([NAMES[at % 10]], rank=1), TeamRequest([NAMES[(at + 1) % 10]], rank=2)],
            time=1_700_000_000 + at,
        )
        for at in range(40)
    ]
    create_pool(found, "pool", PoolRequest(system="glicko", placement_matches=9), LATER)
    create_pool(found, "other", PoolRequest(system="elo", times="none"), LATER)
    post_matches(found, "pool", [Post(matches, detailed=False)], LATER)
    untimed = [MatchRequest(one.match, one.teams) for one in matches[:5]]
    post_matches(found, "other", [Post(untimed, detailed=False)], LATER)
    yield found
    found.close()


def test_the_best_come_first_and_as_the_leaderboard_has_them(people: Store) -> None:
    """But for their places, which are not looked up."""
    board = leaderboard(people, "pool", provisional=True).players
    wanted = [row for row in board if "a" in row.player.lower()]
    expected = [msgspec.structs.replace(row, place=None) for row in wanted]
    assert search_players(people, "pool", "a", limit=50) == expected
    with pytest.raises(InvalidParameterError):
        search_players(people, "pool", "a", limit=1_000)


def test_ratings_are_looked_up_together(people: Store) -> None:
    """Those whom the pool does not know are left out."""
    found = ratings_of_players(people, "pool", ["Anna", "nobody", "a\0b"])
    own = next(
        row for row in leaderboard(people, "pool", provisional=True).players if row.player == "Anna"
    )
    assert found == {"Anna": (own.rating, own.deviation)}
    assert ratings_of_players(people, "pool", []) == {}


def test_the_history_around_a_match_has_it_in_the_middle(people: Store) -> None:
    every = [one.match for one in player_history(people, "pool", "bo", limit=100).matches]
    assert len(every) == 8
    for at, name in enumerate(every):
        found = player_history(people, "pool", "bo", limit=4, around=name)
        begin = max(0, at - 2)
        assert [one.match for one in found.matches] == every[begin : begin + 4]
        assert (found.next is None) == (begin + 4 >= len(every))
    (alone,) = player_history(people, "pool", "bo", limit=1, around=every[3]).matches
    assert alone.match == every[3]
    untimed = player_history(people, "other", "bo", around="m3").matches
    assert [one.match for one in untimed] == ["m3", "m2"]
    with pytest.raises(NotFoundError, match="changed no rating of player 'bo'"):
        player_history(people, "pool", "bo", around="m0")
    with pytest.raises(NotFoundError):
        player_history(people, "pool", "bo", around="none")
    with pytest.raises(InvalidParameterError):
        player_history(people, "pool", "bo", around="m3", cursor="x")


def test_a_course_is_the_history_the_other_way_round(people: Store) -> None:
    """Oldest first; the oldest are left out where there are too many."""
    history = player_history(people, "pool", "bo", limit=100).matches[::-1]
    timeline = rating_timeline(people, "pool", "bo", most=100)
    assert timeline.matches == [one.match for one in history]
    assert timeline.times == [float(one.time or 0) for one in history]
    assert timeline.ratings == [one.rating for one in history]
    assert timeline.deviations == [one.deviation for one in history]
    assert timeline.changes == [one.change for one in history]
    assert timeline.ranks == [one.rank for one in history]
    assert timeline.left_out == 0
    short = rating_timeline(people, "pool", "bo", most=3)
    assert short.matches == timeline.matches[-3:]
    assert short.left_out == len(timeline.matches) - 3
    with pytest.raises(NotFoundError):
        rating_timeline(people, "pool", "nobody", most=3)
    # Without times, the matches are in the order of the log.
    timeline = rating_timeline(people, "other", "annabel", most=100)
    assert timeline.times is None
    assert timeline.matches == ["m0", "m1"]
    assert timeline.deviations == [None, None]
