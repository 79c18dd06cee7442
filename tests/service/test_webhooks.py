"""Webhooks of a server that is killed: everything arrives, in order."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from trials.server import make_key, running
from web.inbox import Inbox

MATCHES = 60


@pytest.mark.slow
def test_nothing_is_lost_when_the_server_is_killed(sqlite_url: str, tmp_path: Path) -> None:
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
