"""A service that is stopped in the middle of a transaction does not stop the posts to the pool."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from equipoise.client import Retries
from equipoise.messages.matches import MatchMessage
from equipoise.messages.pools import PoolRequest
from equipoise.store.connection import open_store
from pools.pool_trials import duel
from trials.matches import logged
from trials.server import make_key, new_pool, running

pytest.importorskip("uvicorn")
pytestmark = pytest.mark.nightly

POOL = "hot"
_WAITING = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE wait_event_type = 'Lock' AND datname = current_database()"
)


def test_others_commit_while_a_whole_service_is_stopped_in_a_transaction(
    postgres_url: str, tmp_path: Path
) -> None:
    """Nobody ends it, so PostgreSQL undoes the transaction. What it was posted is kept."""
    store = open_store(postgres_url)
    with (
        running(postgres_url, tmp_path / "stopped.log") as stopped,
        running(postgres_url, tmp_path / "other.log") as other,
        ThreadPoolExecutor(1) as thread,
        stopped.client(make_key(postgres_url, "admin"), Retries(attempts=1)) as client,
        other.client(make_key(postgres_url, "admin")) as second,
    ):
        new_pool(client, POOL, PoolRequest(system="elo", times="none"))
        first = client.post_match(POOL, duel("first", "ada", "bob", None))
        assert second.post_match(POOL, duel("first", "ada", "bob", None)) == first
        with store.write() as connection:
            connection.exec_driver_sql("SELECT id FROM pools FOR UPDATE")
            waiting = thread.submit(client.post_match, POOL, duel("mine", "ada", "bob", None))
            # Its writer waits for the lock, and gets it while it is stopped.
            while not connection.exec_driver_sql(_WAITING).scalar():
                time.sleep(0.01)
            os.killpg(stopped.pid, signal.SIGSTOP)
        try:
            found = second.post_match(POOL, duel("other", "ada", "cyd", None))
        finally:
            os.killpg(stopped.pid, signal.SIGCONT)
        assert found.seq == 2
        mine: MatchMessage = waiting.result(120)
        assert mine.seq == 3
        assert [line.match for line in logged(second, POOL)] == ["first", "other", "mine"]
    store.close()
