"""The end of the service at SIGTERM: within its grace, whatever still runs, and quietly."""

from __future__ import annotations

import http.client
import json
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

from equipoise.messages.pools import PoolRequest
from equipoise.web.serve import UNFINISHED
from trials.server import Server, make_key, new_pool, running
from web.test_processes import GAMES, long_games

#: Less than the long calculation takes on a quick machine.
GRACE = 1.0
#: Seconds for the machine to do anything at all.
_SOON = 60.0
_SETTINGS = {"EQUIPOISE_GRACE_SECONDS": f"{GRACE:g}", "EQUIPOISE_CALCULATORS": "1"}


def ask(server: Server, method: str, path: str, body: str | bytes, key: str) -> closing:  # type: ignore[type-arg]
    """Send a request, and return the connection on which its answer comes."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=_SOON)
    connection.request(method, path, body, {"Authorization": f"Bearer {key}"})
    return closing(connection)


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    ends = time.monotonic() + _SOON
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.05)


def stopped(server: Server) -> tuple[int, float]:
    """Return the exit status of a server, and the seconds from SIGTERM to its end."""
    started = time.monotonic()
    return server.stop(), time.monotonic() - started


def started(server: Server, key: str) -> None:
    """Wait until it has started, and calculate something."""
    until(lambda: "Application startup complete" in server.log.read_text())
    for _ in range(2):
        with ask(server, "POST", "/v1/performance?format=csv", GAMES, key) as small:
            assert small.getresponse().read()


@pytest.mark.alone
def test_a_long_calculation_is_ended_within_grace_seconds(tmp_path: Path) -> None:
    """Beyond the grace there is only what the processes of an idle service take to end.

    Its caller gets 504. The log has one line about it, and no traceback.
    """
    database = f"sqlite:///{tmp_path / 'a.db'}"
    seconds = {}
    for name in ("idle", "busy"):
        log = tmp_path / name
        with running(database, log, settings=_SETTINGS) as server:
            key = make_key(database, "reader")
            started(server, key)
            with ExitStack() as stack:
                if name == "busy":
                    path = "/v1/performance?format=pgn&superiority=true"
                    long = stack.enter_context(ask(server, "POST", path, long_games(), key))
                    time.sleep(0.5)
                status, seconds[name] = stopped(server)
                assert status in (0, -signal.SIGTERM)
                if name == "busy":
                    answer = long.getresponse()
                    assert answer.status == 504
                    assert b"the service stops" in answer.read()
                    answer.close()
    assert seconds["busy"] < GRACE + seconds["idle"] + 0.5
    events = [json.loads(line) for line in (tmp_path / "busy").read_text().splitlines()]
    assert not [event for event in events if "exception" in event]
    assert sum(event["level"] == "error" for event in events) == 1
    assert sum(event.get("status") == 504 for event in events) == 1


@pytest.mark.alone
def test_a_locked_database_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """A thread that waits for the lock cannot be ended; its process can. Nothing is half there."""
    file = tmp_path / "a.db"
    database = f"sqlite:///{file}"
    with running(database, tmp_path / "log", settings=_SETTINGS) as server:
        key = make_key(database, "admin")
        with server.client(key) as admin:
            new_pool(admin, "p", PoolRequest(system="elo"))
        started(server, key)
        match = {
            "match": "m",
            "teams": [{"players": ["a"], "rank": 0}, {"players": ["b"], "rank": 1}],
        }
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            body = json.dumps(match)
            with ask(server, "POST", "/v1/pools/p/matches", body, key):
                time.sleep(1.0)
                status, seconds = stopped(server)
        assert status == UNFINISHED
        assert seconds < GRACE + 3.0
        assert (
            f"was not finished {GRACE:g} s after the signal to stop"
            in (tmp_path / "log").read_text()
        )
        with closing(sqlite3.connect(file)) as after:
            assert after.execute("SELECT count(*) FROM ratings").fetchone() == (0,)
