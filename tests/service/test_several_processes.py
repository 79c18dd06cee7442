"""Workers, and services on one PostgreSQL: keys and rate limits are those of all of them."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from trials.pace import allow
from trials.server import Server, make_key, running

pytest.importorskip("uvicorn")
pytestmark = pytest.mark.slow

#: Connections to each server: each stays with the worker that took it.
CONNECTIONS = 8


@contextmanager
def several(
    database: str, folder: Path, workers: Sequence[int], settings: dict[str, str]
) -> Iterator[list[Server]]:
    """Give services on one database, with so many workers."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                running(database, folder / f"{at}.log", workers=count, settings=settings)
            )
            for at, count in enumerate(workers)
        ]


@contextmanager
def connections(servers: Sequence[Server]) -> Iterator[list[http.client.HTTPConnection]]:
    """Give open connections to all servers."""
    found = [
        http.client.HTTPConnection("127.0.0.1", server.port, timeout=60.0)
        for server in servers
        for _ in range(CONNECTIONS)
    ]
    try:
        yield found
    finally:
        for one in found:
            one.close()


def status(connection: http.client.HTTPConnection, key: str, path: str = "/v1/pools") -> int:
    """Return the status of a request."""
    connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


@pytest.mark.parametrize("workers", [(2,), (1, 1), (2, 1)])
def test_a_revoked_key_ends_everywhere_within_5_seconds(
    postgres_url: str, tmp_path: Path, workers: tuple[int, ...]
) -> None:
    """It is in use on all connections, so that every process has it in its cache."""
    limits = {"EQUIPOISE_FAILED_KEYS": "0"}
    with (
        several(postgres_url, tmp_path, workers, limits) as servers,
        connections(servers) as every,
        servers[0].client(make_key(postgres_url, "admin")) as admin,
    ):
        made = admin.create_key("reader", "reader")
        assert {status(one, made.secret) for one in every} == {200}
        admin.revoke_key(made.key.key)
        until = time.monotonic() + allow(5.0)
        while (found := {status(one, made.secret) for one in every}) != {401}:
            assert time.monotonic() < until, found
            time.sleep(0.05)
        # No process accepts it again.
        for _ in range(5):
            assert {status(one, made.secret) for one in every} == {401}


@pytest.mark.parametrize(("url", "workers"), [("postgres_url", (1, 1)), ("sqlite_url", (2,))])
def test_a_rate_limit_holds_for_all_processes_together(
    url: str, workers: tuple[int, ...], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Once the limit is used up in one process, the others refuse, too.

    A key may send 1,000 requests, and one more every 1,000 seconds: whatever the machine's pace,
    no more than one for each process and a burst come in between. By itself, each process would
    let 1,000 through.
    """
    database = request.getfixturevalue(url)
    limits = {"EQUIPOISE_RATE_LIMIT": "0.001", "EQUIPOISE_RATE_BURST": "1000"}
    with several(database, tmp_path, workers, limits) as servers, connections(servers) as every:
        key = make_key(database, "reader")
        first = every[0]
        used = 0
        while status(first, key) != 429:
            used += 1
        assert used == 1000
        # A process that has not heard of it does so once it has something to tell.
        passed = 0
        until = time.monotonic() + 120.0
        while time.monotonic() < until:
            found = [status(one, key) for one in every]
            passed += found.count(200)
            if set(found) == {429}:
                break
            time.sleep(0.05)
        assert set(found) == {429}
        assert passed < 1000
