"""Voids, corrections and disqualifications: what they change, from where on, and for whom."""

from __future__ import annotations

import pytest

from equipoise.errors import ConflictError, InvalidParameterError, NotFoundError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.reading.matches import match
from equipoise.pools.reading.players import leaderboard, player
from equipoise.store import log
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from pools.pool_trials import Trial, duel, rated_alone


@pytest.mark.parametrize(
    ("since", "status", "counted"),
    [(50, "pending", False), (100, "pending", False), (101, "done", True)],
)
def test_a_disqualification_holds_from_its_time_on(
    store: Store, since: int, status: str, counted: bool
) -> None:
    """Where no match was posted with so late a time, too: a correction may have moved one.

    One behind all matches is done at once, and holds for what is posted from then on.
    """
    pool = Trial(store)
    pool.post(duel("first", "ada", "bob", 10), duel("second", "ada", "cyd", 20))
    pool.correct(duel("first", "ada", "bob", 100))
    pool.settle()
    before = pool.ratings()
    assert pool.disqualify("bob", since=since).status == status
    pool.settle()
    assert pool.is_sound()
    assert (pool.ratings() == before) == counted
    assert (pool.ratings()["bob"] == 1500.0) == (not counted)
    (seen,) = pool.post(duel("third", "ada", "bob", 101))
    assert [one.players[0].counted for one in seen.teams] == [False, False]


def test_a_disqualification_from_a_void_match_is_done_at_once(store: Store) -> None:
    """And holds when the match is restored."""
    pool = Trial(store)
    pool.post(duel("first", "ada", "bob", 10), duel("second", "cyd", "bob", 20))
    pool.void("first")
    pool.settle()
    before = pool.ratings()
    assert pool.disqualify("ada", None, match="first").status == "done"
    assert pool.ratings() == before
    pool.restore("first")
    pool.settle()
    assert pool.is_sound()
    told = match(store, pool.name, "first")
    assert [one.players[0].counted for one in told.teams] == [False, False]


def test_a_correction_to_before_the_epoch_leaves_the_last_time(store: Store) -> None:
    """A pool whose last match took place at second 0 does not forget that."""
    pool = Trial(store, late="replay")
    pool.post(duel("first", "ada", "bob", 0), duel("second", "ada", "cyd", 0))
    pool.correct(duel("first", "ada", "bob", -5))
    assert pool_message(store, "trial").last_time == 0
    (seen,) = pool.post(duel("third", "bob", "cyd", -3))
    assert seen.status == "pending"
    pool.settle()
    assert pool.is_sound()
    order = [("first", "ada", "bob"), ("third", "bob", "cyd"), ("second", "ada", "cyd")]
    same = [duel(*one, time) for time, one in enumerate(order)]
    assert pool.ratings() == rated_alone(store, same)


def test_a_player_is_disqualified_from_one_match_alone(store: Store) -> None:
    """That match counts without the player, all others with, whatever holds from a time on."""
    pool = Trial(store, late="replay")

    def three(match: str, time: int) -> MatchRequest:
        teams = [TeamRequest([name], rank) for rank, name in enumerate(["ada", "bob", "cyd"])]
        return MatchRequest(match=match, teams=teams, time=time)

    first, second = three("first", 10), three("second", 20)
    pool.post(first, second)
    before = pool.ratings()
    seen = pool.disqualify("ada", None, match="first")
    assert (seen.match, seen.player, seen.status) == ("first", "ada", "pending")
    assert match(store, pool.name, "first").status == "pending"
    pool.settle()
    assert pool.is_sound()
    without = [duel("first", "bob", "cyd", 10), second]
    alone = rated_alone(store, without)
    assert pool.ratings() == alone
    told = match(store, pool.name, "first")
    assert [one.players[0].counted for one in told.teams] == [False, True, True]
    row = next(one for one in leaderboard(store, pool.name).players if one.player == "ada")
    assert (row.disqualified, row.place) == (False, 1)
    assert player(store, pool.name, "ada").disqualified is None
    # A ban and its end leave it as it is, and so does an import.
    pool.disqualify("ada", 15)
    pool.settle()
    pool.reinstate("ada", 15)
    pool.settle()
    assert pool.ratings() == alone
    pool.reinstate("ada", None, match="first")
    pool.settle()
    assert pool.is_sound()
    assert pool.ratings() == before


def test_a_disqualification_from_one_match_needs_that_match(store: Store) -> None:
    pool = Trial(store)
    pool.post(duel("first", "ada", "bob", 10), duel("second", "cyd", "bob", 20))
    with pytest.raises(NotFoundError, match="no match 'third'"):
        pool.disqualify("ada", None, match="third")
    with pytest.raises(NotFoundError, match="'ada' did not take part in match 'second'"):
        pool.disqualify("ada", None, match="second")
    with pytest.raises(InvalidParameterError, match="since cannot be combined with match"):
        pool.disqualify("ada", 5, match="first")
    with pytest.raises(ConflictError, match="not disqualified from match 'first' alone"):
        pool.reinstate("ada", None, match="first")
    assert pool.disqualify("ada", None, match="first", preview=True).kind == "preview"
    pool.disqualify("ada", None, match="first")
    with pytest.raises(ConflictError, match="already disqualified from match 'first' alone"):
        pool.disqualify("ada", None, match="first")


def test_amendments_are_listed_through_a_record(sqlite_store: Store) -> None:
    """That one included, and none that came after it: a webhook is told what a replay was for."""
    pool = Trial(sqlite_store)
    pool.post(duel("a", "ana", "ben", 1), duel("b", "ben", "ana", 2))
    pool.void("a")
    pool.void("b")
    with sqlite_store.read() as connection:
        number = get_pool(connection, pool.name).id
        listed = [
            [one.seq for one in log.amendments(connection, number, through=through)]
            for through in (2, 3, 4, None)
        ]
    assert listed == [[], [3], [3, 4], [3, 4]]
