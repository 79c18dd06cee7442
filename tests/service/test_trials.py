"""Trials under load, in small: kills, voids, many clients, slow readers, large matches."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from trials.concurrency import concurrency_trial
from trials.crash import crash_trial
from trials.large_matches import large_matches_trial
from trials.server import make_key, running
from trials.slow_readers import slow_readers_trial
from trials.void import void_trial
from web.inbox import Inbox

pytest.importorskip("uvicorn")


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(
    database_url: str, tmp_path: Path
) -> None:
    """Every match is there once, and the ratings are those of the library, bit for bit.

    Single posts, arrays and streams are under way at every kill, and a replay after a void.
    """
    result = crash_trial(database_url, tmp_path, matches=1200, kills=3)
    assert not result.lost
    assert not result.missing
    assert not result.twice
    assert not result.different
    assert result.interrupted > 0
    assert result.voided > 0


@pytest.mark.slow
@pytest.mark.parametrize("kills", [3, pytest.param(8, marks=pytest.mark.nightly)])
def test_nothing_is_lost_or_doubled_when_one_of_two_services_is_stopped_or_killed(
    postgres_url: str, tmp_path: Path, kills: int
) -> None:
    """Both post to one pool. A stopped one goes on under load, after what the other committed."""
    hits = ("stop", "kill", "stop", "all")
    result = crash_trial(
        postgres_url, tmp_path, matches=400 * kills, kills=kills, services=2, hits=hits, voids=False
    )
    assert not result.lost
    assert not result.missing
    assert not result.twice
    assert not result.different


pytest.importorskip("uvicorn")


@pytest.mark.slow
def test_posting_and_reading_go_on_while_a_pool_is_replayed(
    database_url: str, tmp_path: Path
) -> None:
    """No request is refused, the ratings are swapped whole, and they are those of the library."""
    result = void_trial(database_url, tmp_path, matches=2500)
    assert not result.errors
    assert not result.different
    assert result.changed > 0
    assert len(result.generations) == 2
    assert result.posted > 0


pytest.importorskip("uvicorn")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "services"),
    [("postgres_url", 2), pytest.param("sqlite_url", 1, marks=pytest.mark.nightly)],
)
def test_no_update_is_lost_when_many_post_at_once(
    url: str, services: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Nothing is refused, and ratings and answers are what the library makes of the log."""
    database = request.getfixturevalue(url)
    result = concurrency_trial(database, tmp_path, matches=400, services=services)
    assert not result.refused
    assert not result.missing
    assert not result.different
    assert not result.answered_otherwise
    assert result.compared > 250


pytest.importorskip("uvicorn")

#: SQLite copies its WAL into the database when it has 128 MB, and a transaction may add to that.
#: With exports in one transaction it grew with every post: 625 MB in 20 s.
_MOST_WAL = 200_000_000
#: Matches that take 235 MB in the database, so that a WAL which kept them all would be too large.
_ENOUGH = 60_000


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["log", "ratings"])
def test_slow_readers_hold_up_nobody(sqlite_url: str, tmp_path: Path, what: str) -> None:
    found = slow_readers_trial(
        sqlite_url, tmp_path, before=6000, seconds=15.0, what=what, enough=_ENOUGH
    )
    assert found.posted > 2000
    assert found.third is not None
    assert found.wal < _MOST_WAL


@pytest.mark.slow
def test_a_reader_below_the_minimum_rate_is_cut_off(sqlite_url: str, tmp_path: Path) -> None:
    """The service stops waiting for both slow readers, and its log says why."""
    settings = {"EQUIPOISE_EXPORT_RATE": "1000000"}
    found = slow_readers_trial(
        sqlite_url,
        tmp_path,
        before=6000,
        seconds=40.0,
        settings=settings,
        until=lambda log: log.count("an export was cut off") == 2,
    )
    assert found.log.count("an export was cut off") == 2


pytest.importorskip("uvicorn")


@pytest.mark.slow
def test_a_large_match_stops_nobody(sqlite_url: str, tmp_path: Path) -> None:
    """Its page is small, and small posts are acknowledged while it is read.

    One whose post takes too long is not recorded, does not hold up the end of the service, and may
    be sent again.
    """
    found = large_matches_trial(
        sqlite_url,
        tmp_path,
        players=20_000,
        large=2,
        seconds=3.0,
        patience=0.1,  # a post takes 0.2 s and more
        system="codeforces",
    )
    assert all(seconds < 30.0 for seconds in found.posted)
    assert found.page < 200_000
    assert found.message < 1_000_000
    assert found.pages > 0
    assert found.posts
    assert found.failed == 0
    assert max(found.health) < 5.0
    assert found.given_up == 504
    assert not found.recorded
    assert found.end < 10.0
    assert found.again == 200


MATCHES = 60


@pytest.mark.slow
def test_no_webhook_event_is_lost_when_the_server_is_killed(
    sqlite_url: str, tmp_path: Path
) -> None:
    """Some come twice, with the same id; none is missing, and none comes before another's turn."""
    key = make_key(sqlite_url, "admin")
    settings = {"EQUIPOISE_PRIVATE_WEBHOOKS": "true", "EQUIPOISE_WEBHOOK_SECONDS": "0.5"}
    with (
        Inbox(seconds=0.03) as inbox,
        running(sqlite_url, tmp_path / "log", settings=settings) as server,
        server.client(key) as client,
    ):
        client.create_pool("ladder", PoolRequest(system="elo"))
        client.create_webhook("ladder", inbox.url)

        def post() -> None:
            for number in range(MATCHES):
                teams = [TeamRequest(["ana"], 0), TeamRequest(["ben"], 1)]
                client.post_match("ladder", MatchRequest(f"m{number}", teams))

        posting = threading.Thread(target=post)
        posting.start()
        inbox.waits_for(10)
        server.kill()
        time.sleep(0.2)
        server.start()
        posting.join()
        inbox.waits_for(MATCHES)
        end = time.monotonic() + 120.0
        while len({one.headers["webhook-id"] for one in inbox.received}) < MATCHES:
            assert time.monotonic() < end
            time.sleep(0.05)
        firsts: dict[str, str] = {}
        for one in inbox.received:
            match = one.told["data"]["match"]
            assert firsts.setdefault(one.headers["webhook-id"], match) == match
        assert list(firsts.values()) == [f"m{number}" for number in range(MATCHES)]
