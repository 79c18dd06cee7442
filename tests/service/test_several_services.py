"""Services on one PostgreSQL: keys are those of all of them, rate limits of each."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from trials.pace import allow
from trials.server import Server, make_key, running_together

pytest.importorskip("uvicorn")
pytestmark = pytest.mark.slow

#: Connections to each server.
CONNECTIONS = 8


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


def test_a_revoked_key_ends_everywhere_within_5_seconds(postgres_url: str, tmp_path: Path) -> None:
    """It is in use on all connections, so that every service has it in its cache."""
    limits = {"EQUIPOISE_FAILED_KEYS": "0"}
    with (
        running_together(postgres_url, tmp_path, 2, settings=limits) as servers,
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
        # No service accepts it again.
        for _ in range(5):
            assert {status(one, made.secret) for one in every} == {401}


@pytest.mark.nightly
def test_each_service_counts_a_rate_limit_by_itself(postgres_url: str, tmp_path: Path) -> None:
    """A key may send 100 requests to each, and one more every 1,000 seconds."""
    limits = {"EQUIPOISE_RATE_LIMIT": "0.001", "EQUIPOISE_RATE_BURST": "100"}
    with (
        running_together(postgres_url, tmp_path, 2, settings=limits) as servers,
        connections(servers) as every,
    ):
        key = make_key(postgres_url, "reader")
        for of_one in (every[:CONNECTIONS], every[CONNECTIONS:]):
            found = [status(of_one[at % CONNECTIONS], key) for at in range(102)]
            assert found[:100] == [200] * 100
            assert 429 in found[100:]
