"""Times, ids and cursors that nobody honest would send: refused, and no match makes others late."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.analysis.reading import HistoryRequest
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import SeasonRequest
from equipoise.pools import amending
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.exchange.importing import ImportRequest, import_pool
from equipoise.pools.pool.pools import encode_cursor, pool_message
from equipoise.pools.posting.posting import Post, post_matches, preview_match
from equipoise.pools.reading import matches, players
from equipoise.pools.reading.matches import match
from equipoise.pools.reading.players import leaderboard
from equipoise.pools.replay.replaying import maintain_pool
from equipoise.pools.replay.verifying import verify_pool
from equipoise.pools.seasons import end_season
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import get_pool
from pools.pool_trials import NOW, Trial, duel, rated_alone

#: The year 5138, in seconds.
FAR = 99_972_403_200
#: The clock of the service and the last time that it takes, in seconds.
CLOCK = NOW // 1_000_000
LATEST = CLOCK + 86_400


def far(trial: Trial, *matches: MatchRequest) -> None:
    """Post matches as a service did that had no limit."""
    post = Post(matches, detailed=False)
    (answer,) = post_matches(trial.store, trial.name, [post], NOW, future_seconds=None)
    assert not isinstance(answer, Exception), answer


def last_time(trial: Trial) -> int | str | None:
    """Return the last time of the pool."""
    return pool_message(trial.store, trial.name).last_time


def test_a_match_far_ahead_of_the_clock_is_refused(store: Store) -> None:
    """So is its preview, and a correction that moves a match there; the limit itself is not."""
    trial = Trial(store)
    trial.post(duel("a", "ana", "ben", 100))
    sentence = "must not be more than 86,400 s ahead of the clock of the service, 2030-03-17T17:46"
    for time in (FAR, LATEST + 1):
        error = trial.refused(duel("x", "ana", "ben", 200), duel("far", "ana", "ben", time))
        assert isinstance(error, InvalidDataError)
        (problem,) = error.problems
        assert (problem.line, problem.field, problem.got) == (2, "time", str(time))
        assert problem.rule.startswith(sentence)
        with pytest.raises(InvalidDataError, match="ahead of the clock"):
            preview_match(store, "trial", duel("far", "ana", "ben", time), NOW)
        for preview in (True, False):
            with pytest.raises(InvalidDataError, match="ahead of the clock"):
                trial.correct(duel("a", "ana", "ben", time), preview=preview)
    assert last_time(trial) == 100
    trial.post(duel("x", "ana", "ben", LATEST))
    assert last_time(trial) == LATEST
    # What is recorded already is answered as known.
    far(trial, duel("far", "ana", "ben", FAR))
    assert trial.post(duel("far", "ana", "ben", FAR))[0].status == "rated"


@pytest.mark.parametrize("late", ["reject", "append", "replay"])
def test_voiding_a_far_match_lets_the_pool_go_on(store: Store, late: str) -> None:
    """At once: what is posted before the replay waits for it, and verifies before and after."""
    trial = Trial(store, late=late)
    first = duel("a", "ana", "ben", 100)
    trial.post(first)
    far(trial, duel("far", "cyd", "ana", FAR))
    if late == "reject":
        assert "must not be before" in str(trial.refused(duel("b", "ben", "ana", 200)))
    trial.void("far")
    assert last_time(trial) == 100
    (seen,) = trial.post(duel("b", "ben", "ana", 200))
    assert (seen.status, seen.time) == ("pending", 200)
    assert last_time(trial) == 200
    assert trial.is_sound()
    trial.settle()
    assert match(store, "trial", "b").status == "rated"
    (seen,) = trial.post(duel("c", "ben", "cyd", 300))
    assert (seen.status, seen.time) == ("rated", 300)
    assert trial.is_sound()
    three = [first, duel("b", "ben", "ana", 200), duel("c", "ben", "cyd", 300)]
    assert trial.ratings() == rated_alone(store, three)
    assert rated_to(trial) == 300_000_000


def rated_to(trial: Trial) -> int | None:
    """Return the time after which the pool has rated nothing."""
    with trial.store.read() as connection:
        return get_pool(connection, trial.name).rated_to


def test_matches_posted_into_a_replay_are_not_lost_behind_void_ones(sqlite_url: str) -> None:
    """A void match far ahead is in the log: a replay that has read it still finds later posts."""
    store = open_store(sqlite_url, sizes=Sizes(matches=2, rows=1, players_left=0))
    trial = Trial(store, late="replay")
    trial.post(*(duel(f"m{n}", "ana", "ben", n) for n in range(6)))
    far(trial, *(duel(f"far{n}", "cyd", "dan", FAR + n) for n in range(5)))
    for number in range(5):
        trial.void(f"far{number}")
    trial.settle()
    trial.void("m1")
    posted: list[int] = []

    def stop() -> bool:
        if len(posted) < 3:
            number = len(posted)
            (seen,) = trial.post(duel(f"new{number}", "ben", "ana", 10 + number))
            posted.append(seen.seq)
            assert seen.status == "rated"
        return False

    assert trial.replay(stop=stop)
    assert len(posted) == 3
    assert trial.is_sound()
    trial.check()
    store.close()


def test_a_board_that_decayed_to_a_far_match_comes_back(store: Store) -> None:
    trial = Trial(store, display_decay_per_day=1.0, display_decay_after_days=10.0)
    trial.post(duel("a", "ana", "ben", 100))
    before = trial.ratings()["ana"]
    far(trial, duel("far", "cyd", "dan", FAR))
    maintain_pool(store, "trial", owner="me", stop=lambda: False)
    assert trial.ratings()["ana"] == before

    def shown() -> dict[str, float | None]:
        rows = leaderboard(store, "trial").players
        return {row.player: row.display for row in rows}

    assert (shown()["ana"] or 0.0) < 0.0
    trial.void("far")
    for _ in range(2):
        maintain_pool(store, "trial", owner="me", stop=lambda: False)
    assert shown()["ana"] == before
    assert trial.is_sound()


def test_a_season_that_ends_after_a_void_far_match_starts_free(store: Store) -> None:
    """The archive keeps the last time that counts; it and the new pool verify."""
    trial = Trial(store)
    trial.post(duel("a", "ana", "ben", 100))
    far(trial, duel("far", "cyd", "ana", FAR))
    trial.void("far")
    trial.settle()
    end_season(store, "trial", SeasonRequest(season="one", reset="soft"), key=None, now=NOW)
    assert pool_message(store, "trial.one").last_time == 100
    trial.post(duel("b", "ben", "ana", 200))
    assert last_time(trial) == 200
    for name in ("trial", "trial.one"):
        assert verify_pool(store, name).identical


def test_an_import_refuses_far_times_unless_they_are_allowed(store: Store, tmp_path: Path) -> None:
    """Before it records anything. A log with a far match that was voided gives the same pool."""
    trial = Trial(store, late="append")
    trial.post(duel("a", "ana", "ben", 100))
    far(trial, duel("far", "cyd", "ana", FAR))
    trial.void("far")
    trial.settle()
    trial.post(duel("b", "ben", "ana", 200))
    path = tmp_path / "trial.ndjson"
    export_file(store, "trial", "log", str(path))
    request = ImportRequest(history=HistoryRequest(source=str(path)), create=True)
    with pytest.raises(InvalidDataError, match="--allow-future") as refused:
        import_pool(store, "copy", request, NOW)
    assert refused.value.problems[0].line == 3
    done = import_pool(store, "copy", replace(request, future_seconds=None), NOW)
    assert (done.matches, done.amendments) == (3, 1)
    assert verify_pool(store, "copy").identical
    assert pool_message(store, "copy").last_time == 200
    assert Trial.existing(store, "copy").ratings() == trial.ratings()
    table = tmp_path / "history.csv"
    table.write_text(
        "match,player,rank,time\n1,ana,0,100\n1,ben,1,100\n2,ana,0,99972403200\n2,ben,1,99972403200\n"
    )
    history = ImportRequest(history=HistoryRequest(source=str(table), time_format="s"), create=True)
    with pytest.raises(InvalidDataError, match="match 2, time: must not be more than 86,400 s"):
        import_pool(store, "table", history, NOW)
    assert pool_message(store, "table").matches == 0
    assert import_pool(store, "table", replace(history, future_seconds=None), NOW).matches == 2


def test_a_late_match_waits_for_a_replay_also_in_the_post_that_makes_it_late(store: Store) -> None:
    """The matches before it in the same transaction count, although they are not committed yet."""
    trial = Trial(store, late="replay")
    trial.post(duel("a", "ana", "ben", 50))
    seen = trial.post(duel("b", "ana", "ben", 100), duel("c", "ben", "ana", 80))
    assert [one.status for one in seen] == ["rated", "pending"]
    assert trial.is_sound()
    trial.check()
    # A single team changes nothing, but its match counts as rated.
    trial.post(MatchRequest("one", [TeamRequest(["ana"], 0)], time=200))
    assert last_time(trial) == 200
    assert trial.is_sound()


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
