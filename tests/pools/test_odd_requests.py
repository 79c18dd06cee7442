"""Ids, cursors and times that nobody honest would send: refused in a sentence on every database."""

from __future__ import annotations

import pytest

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.pools import amending
from equipoise.pools.pool.pools import encode_cursor, pool_message
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.reading import matches, players
from equipoise.store.connection import Store
from pools.pool_trials import NOW, Trial, duel

#: Names that are text, but could be taken for something else on the way to a database.
ODD = [
    "NULL",
    "null",
    '"',
    "\\",
    "{a,b}",
    "x'; DROP TABLE log; --",
    "%s",
    ":wanted",
    "🎉",
    "e\u0301",
    "\u00e9",
    " ",
    "a,b",
    "\u2028",
    "[1]",
    "<b>",
    "1.0",
    "x" * 200,
]


def test_names_that_no_database_can_hold_are_not_found(store: Store) -> None:
    """NUL characters and halves of surrogate pairs, wherever an id is asked for."""
    pool = Trial(store)
    pool.post(duel("first", "ada", "bob", 10))
    for odd in ("ada\0", "\ud800", "\udfff\0"):
        for ask in (
            lambda: pool_message(store, odd),  # noqa: B023
            lambda: players.player(store, pool.name, odd),  # noqa: B023
            lambda: players.player_history(store, pool.name, odd),  # noqa: B023
            lambda: matches.match(store, pool.name, odd),  # noqa: B023
            lambda: players.leaderboard(store, pool.name, around=odd),  # noqa: B023
            lambda: pool.void(odd),  # noqa: B023
        ):
            with pytest.raises(NotFoundError, match="no "):
                ask()


def test_cursors_that_are_made_up_are_refused(store: Store) -> None:
    """Whoever makes a cursor up is told so, of every kind of page."""
    pool, number = Trial(store), 2**63
    pool.post(duel("first", "ada", "bob", 10))
    for place in ((number, 1), (1, number), (-(2**70), 1)):
        for ask in (players.player_history, matches.matches):
            names = (pool.name, "ada") if ask is players.player_history else (pool.name,)
            with pytest.raises(InvalidParameterError, match="cursor must come from"):
                ask(store, *names, cursor=encode_cursor(place))  # type: ignore[operator]
    with pytest.raises(InvalidParameterError, match="cursor must come from"):
        amending.amendments(store, pool.name, cursor=encode_cursor(number))
    for place in ((False, 0.0, "ada", number), (False, 0.0, "a\0", 1)):
        with pytest.raises(InvalidParameterError, match="cursor must come from"):
            players.leaderboard(store, pool.name, cursor=encode_cursor(place))
    for cursor in ("", "x", "!!!", "é", "bnVsbA", "W10", "WzEsMl0gWzFd", "=" * 9):
        for ask in (players.leaderboard, matches.matches, amending.amendments):
            with pytest.raises(InvalidParameterError, match="cursor must come from"):
                ask(store, pool.name, cursor=cursor)


def test_names_come_back_as_they_were_posted(store: Store) -> None:
    """Whatever they look like to SQL, JSON or an array of PostgreSQL; letters are not folded."""
    pool = Trial(store, times="none")
    teams = [TeamRequest([name], rank) for rank, name in enumerate(ODD)]
    for name in ODD:
        (seen,) = pool.post(MatchRequest(match=name, teams=teams))
        assert seen.match == name
        assert [team.players[0].player for team in seen.teams] == ODD
    for name in ODD:
        assert players.player(store, pool.name, name).matches == len(ODD)
        assert matches.match(store, pool.name, name).match == name
        around = players.leaderboard(store, pool.name, around=name, limit=1)
        assert [row.player for row in around.players] == [name]
    pool.void("\\")
    pool.check()
    assert len(pool.ratings()) == len(ODD)


def test_times_before_the_year_1_are_refused(store: Store) -> None:
    """They could not be answered as dates."""
    pool = Trial(store, times="datetime")
    (problem,) = pool.refused(duel("first", "ada", "bob", -62_135_596_801)).problems  # type: ignore[attr-defined]
    assert (problem.field, problem.rule) == ("time", "must not be before the year 1")
    (seen,) = pool.post(duel("first", "ada", "bob", -62_135_596_800))
    assert seen.time == "0001-01-01T00:00:00Z"
    post = Post([duel("last", "ada", "bob", 100_000_000_000)])
    ((seen,),) = post_matches(store, pool.name, [post], NOW, future_seconds=None)
    assert seen.time == "5138-11-16T09:46:40Z"
    assert pool.is_sound()
