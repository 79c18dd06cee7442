"""People of a pool: searched, looked up, followed; on both databases."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.reading.players import (
    leaderboard,
    player_history,
    rating_timeline,
    ratings_of_players,
    search_players,
)
from equipoise.store.connection import Store, open_store

NOW = 2_000_000_000_000_000
NAMES = ["Anna", "annabel", "Joanna", "bo", "100%", "1000", "a_b", "axb", "back\\slash", "Éva"]


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    found = open_store(database_url)
    matches = [
        MatchRequest(
            f"m{at}",
            [TeamRequest([NAMES[at % 10]], rank=1), TeamRequest([NAMES[(at + 1) % 10]], rank=2)],
            time=1_700_000_000 + at,
        )
        for at in range(40)
    ]
    create_pool(found, "pool", PoolRequest(system="glicko", placement_matches=9), NOW)
    create_pool(found, "other", PoolRequest(system="elo", times="none"), NOW)
    post_matches(found, "pool", [Post(matches, detailed=False)], NOW)
    untimed = [MatchRequest(one.match, one.teams) for one in matches[:5]]
    post_matches(found, "other", [Post(untimed, detailed=False)], NOW)
    yield found
    found.close()


def test_the_best_come_first_and_as_the_leaderboard_has_them(store: Store) -> None:
    """But for their places, which are not looked up."""
    board = leaderboard(store, "pool", provisional=True).players
    found = search_players(store, "pool", "a", limit=50)
    wanted = [row for row in board if "a" in row.player.lower()]
    assert found == [msgspec.structs.replace(row, place=None) for row in wanted]
    assert search_players(store, "pool", "a", limit=2) == found[:2]
    assert search_players(store, "pool", "\0", limit=50) == []
    with pytest.raises(InvalidParameterError):
        search_players(store, "pool", "a", limit=1_000)


def test_ratings_are_looked_up_together(store: Store) -> None:
    """Those whom the pool does not know are left out."""
    found = ratings_of_players(store, "pool", ["Anna", "nobody", "a\0b"])
    own = next(
        row for row in leaderboard(store, "pool", provisional=True).players if row.player == "Anna"
    )
    assert found == {"Anna": (own.rating, own.deviation)}
    assert ratings_of_players(store, "pool", []) == {}


def test_the_history_around_a_match_has_it_in_the_middle(store: Store) -> None:
    every = [one.match for one in player_history(store, "pool", "bo", limit=100).matches]
    assert len(every) == 8
    for at, match in enumerate(every):
        found = player_history(store, "pool", "bo", limit=4, around=match)
        begin = max(0, at - 2)
        assert [one.match for one in found.matches] == every[begin : begin + 4]
        assert (found.next is None) == (begin + 4 >= len(every))
    (alone,) = player_history(store, "pool", "bo", limit=1, around=every[3]).matches
    assert alone.match == every[3]
    untimed = player_history(store, "other", "bo", around="m3").matches
    assert [one.match for one in untimed] == ["m3", "m2"]
    with pytest.raises(NotFoundError, match="changed no rating of player 'bo'"):
        player_history(store, "pool", "bo", around="m0")
    with pytest.raises(NotFoundError):
        player_history(store, "pool", "bo", around="none")
    with pytest.raises(InvalidParameterError):
        player_history(store, "pool", "bo", around="m3", cursor="x")


def test_a_course_is_the_history_the_other_way_round(store: Store) -> None:
    """Oldest first; the oldest are left out where there are too many."""
    history = player_history(store, "pool", "bo", limit=100).matches[::-1]
    timeline = rating_timeline(store, "pool", "bo", most=100)
    assert timeline.matches == [one.match for one in history]
    assert timeline.times == [float(one.time or 0) for one in history]
    assert timeline.ratings == [one.rating for one in history]
    assert timeline.deviations == [one.deviation for one in history]
    assert timeline.changes == [one.change for one in history]
    assert timeline.ranks == [one.rank for one in history]
    assert timeline.left_out == 0
    short = rating_timeline(store, "pool", "bo", most=3)
    assert short.matches == timeline.matches[-3:]
    assert short.left_out == len(timeline.matches) - 3
    with pytest.raises(NotFoundError):
        rating_timeline(store, "pool", "nobody", most=3)
    # Without times, the matches are in the order of the log.
    timeline = rating_timeline(store, "other", "annabel", most=100)
    assert timeline.times is None
    assert timeline.matches == ["m0", "m1"]
    assert timeline.deviations == [None, None]
