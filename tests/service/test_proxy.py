"""HAProxy with the configuration of `deploy` in front of two servers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from equipoise.client import Client
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from trials.proxy import CONFIGURATION, haproxy, proxied
from trials.server import PATIENT, Server, make_key, new_pool, running

pytest.importorskip("uvicorn")
POOLS = [f"pool{at}" for at in range(8)]


def commits(server: Server, key: str) -> int:
    """Return how many matches a server has committed."""
    with server.client(key) as client:
        text = client.metrics()
    (line,) = [one for one in text.splitlines() if one.startswith("equipoise_batch_matches_sum")]
    return int(float(line.split()[1]))


@pytest.mark.nightly
@pytest.mark.skipif(haproxy() is None, reason="HAProxy is not installed")
def test_each_pool_has_one_server_until_that_server_is_gone(
    postgres_url: str, tmp_path: Path
) -> None:
    """Posts of a pool are committed by one server; when it is stopped, the other takes them."""
    with (
        running(postgres_url, tmp_path / "one.log") as one,
        running(postgres_url, tmp_path / "two.log") as two,
        proxied([one, two]) as port,
    ):
        key = make_key(postgres_url, "admin")
        with Client(f"http://127.0.0.1:{port}", key, retries=PATIENT) as client:
            for name in POOLS:
                new_pool(client, name, PoolRequest(system="elo"))
            post(client, "first")
            owned = [commits(server, key) for server in (one, two)]
            assert sum(owned) == 10 * len(POOLS)
            assert {count % 10 for count in owned} == {0}
            assert min(owned) > 0
            one.stop()
            post(client, "second")
            assert commits(two, key) == owned[1] + 10 * len(POOLS)
            assert [client.pool(name).matches for name in POOLS] == [20] * len(POOLS)


def post(client: Client, prefix: str) -> None:
    """Post ten matches to each pool."""
    for name in POOLS:
        for at in range(10):
            client.post_match(name, duel(f"{prefix}{at}"))


def duel(match: str) -> MatchRequest:
    return MatchRequest(match, [TeamRequest(["ann"], 1), TeamRequest(["ben"], 2)])


@pytest.mark.skipif(haproxy() is None, reason="HAProxy is not installed")
def test_haproxy_accepts_the_configuration(tmp_path: Path) -> None:
    program = haproxy()
    assert program is not None
    done = subprocess.run(
        [program, "-c", "-f", str(CONFIGURATION)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
