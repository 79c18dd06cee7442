"""A service on a PostgreSQL with a synchronous standby: what is answered while commits wait."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from equipoise.store.connection import checked_url, open_store
from equipoise.store.upkeep.checking import checks_of
from equipoise.web.application import create_application
from equipoise.web.settings import ServiceSettings
from trials.postgres import Postgres
from trials.standby import StandbyPair
from web.asking import Running
from web.conftest import Serve, Served, duel

#: It starts servers, and waits for them.
pytestmark = pytest.mark.slow


def _ready(served: Served, status: int) -> Any:
    """Return the answer of /readyz, once it has this status."""
    until = time.monotonic() + 60
    while (answer := served.get("/readyz", None)).status_code != status:
        assert time.monotonic() < until, answer.text
        time.sleep(0.05)
    return answer.json()


def test_posts_wait_for_the_standby(
    standby_servers: StandbyPair, standby_url: str, serve: Serve
) -> None:
    """A cancelled wait is answered with "unknown"; posted again, the match waits once more.

    Another process of the service, which commits nothing itself, is not ready either.
    """
    served = serve(database=standby_url, commit_wait_seconds=0.5)
    other = serve(database=standby_url, commit_wait_seconds=0.5)
    patient = serve(database=standby_url, commit_wait_seconds=0.0)
    pool = served.pool()
    path = f"/v1/pools/{pool}/matches"
    assert served.post(path, duel("before")).status_code == 200
    _ready(served, 200)
    standby_servers.standby.signal(signal.SIGSTOP)
    try:
        posted = served.running.start("POST", path, served.admin, json=duel("new", "b", "a"))
        process = standby_servers.wait_for_commit()
        error = _ready(served, 503)["error"]
        assert error["code"] == "unavailable"
        assert error["message"].startswith("posts are not acknowledged: a commit has been under")
        assert _ready(other, 503)["error"]["message"].startswith("posts are not acknowledged")
        assert _ready(patient, 200) == {"status": "ready"}
        assert served.get(f"/v1/pools/{pool}/leaderboard").status_code == 200
        assert not posted.done()

        standby_servers.primary.query(f"SELECT pg_cancel_backend({process})")
        unknown = posted.result(60)
        assert unknown.status_code == 503, unknown.text
        assert unknown.json()["error"]["code"] == "unconfirmed"
        assert unknown.headers["retry-after"] == "1"
        assert served.get(f"{path}/new").status_code == 200  # recorded, on the primary alone

        again = served.running.start("POST", path, served.admin, json=duel("new", "b", "a"))
        standby_servers.wait_for_commit()
        time.sleep(0.5)
        assert not again.done()  # it is known, but that is no reason to acknowledge it
        standby_servers.standby.signal(signal.SIGCONT)
        confirmed = again.result(60)
        assert confirmed.status_code == 200, confirmed.text
    finally:
        standby_servers.standby.signal(signal.SIGCONT)
    _ready(served, 200)
    _ready(other, 200)
    assert served.post(path, duel("after")).status_code == 200
    matches = served.get(path).json()["matches"]
    assert sorted(one["match"] for one in matches) == ["after", "before", "new"]


def test_an_array_may_be_unknown_when_the_connection_breaks(
    standby_servers: StandbyPair, standby_url: str, serve: Serve
) -> None:
    served = serve(database=standby_url)
    path = f"/v1/pools/{served.pool()}/matches"
    standby_servers.standby.signal(signal.SIGSTOP)
    try:
        posted = served.running.start("POST", path, served.admin, json=[duel("1"), duel("2")])
        process = standby_servers.wait_for_commit()
        standby_servers.primary.query(f"SELECT pg_terminate_backend({process})")
        unknown = posted.result(60)
    finally:
        standby_servers.standby.signal(signal.SIGCONT)
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (503, "unconfirmed")
    again = served.post(path, [duel("1"), duel("2")])
    assert again.status_code == 200, again.text
    assert again.json()["new"] + again.json()["known"] == 2


def test_a_service_on_a_standby_is_not_ready(
    standby_servers: StandbyPair, standby_url: str, serve: Serve
) -> None:
    """As an address may lead to one for a moment. Nothing posted there is recorded."""
    served = serve(database=standby_url)
    pool = served.pool()
    standby_servers.wait_until_replayed()
    name = checked_url(standby_url).database
    alone = f"postgresql+psycopg://postgres@127.0.0.1:{standby_servers.standby.port}/{name}"
    with Running(create_application(ServiceSettings(database=alone, page=False))) as running:
        there = Served(served.app, running, served.store, served.admin)
        until = time.monotonic() + 120
        while "starting" in (message := there.get("/readyz", None).json()["error"]["message"]):
            assert time.monotonic() < until
            time.sleep(0.1)
        assert message == "the database takes no writes: it is a standby"
        refused = there.post(f"/v1/pools/{pool}/matches", duel("1"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "unavailable")
    assert served.get(f"/v1/pools/{pool}/matches").json()["matches"] == []


@pytest.mark.parametrize("option", ["", "?prepare_threshold=none"])
def test_checks_take_every_address(standby_url: str, option: str) -> None:
    """One with several hosts, and with an option of the driver."""
    open_store(standby_url).close()
    found = {one.check: one.status for one in checks_of(f"{standby_url}{option}")}
    assert found == {"schema": "ok", "indexes": "ok", "free space": "skipped"}


def test_pools_are_read_from_the_standby(
    standby_servers: StandbyPair, standby_url: str, serve: Serve
) -> None:
    """The header says how far it is behind; while it is away, the primary answers, without it."""
    name = checked_url(standby_url).database
    alone = f"postgresql+psycopg://postgres@127.0.0.1:{standby_servers.standby.port}/{name}"
    served = serve(database=standby_url, replica=alone)
    pool = served.pool()
    path = f"/v1/pools/{pool}"
    assert served.post(f"{path}/matches", duel("1")).status_code == 200
    standby_servers.wait_until_replayed()
    for what in ("leaderboard", "players/a", "players/a/history", "matches", "matches/1"):
        answer = served.get(f"{path}/{what}")
        assert answer.status_code == 200, answer.text
        assert float(answer.headers["x-replica-lag"]) < 60
    assert served.get(f"{path}/leaderboard").json()["players_in_pool"] == 2

    standby_servers.standby.query("SELECT pg_wal_replay_pause()")
    try:
        assert served.post(f"{path}/matches", duel("2")).status_code == 200
        time.sleep(1.0)
        behind = served.get(f"{path}/matches")
        assert [one["match"] for one in behind.json()["matches"]] == ["1"]
        assert float(behind.headers["x-replica-lag"]) >= 1.0
        missing = served.get(f"{path}/matches/2")  # what is not there yet, the primary has
        assert missing.status_code == 200
        assert "x-replica-lag" not in missing.headers
    finally:
        standby_servers.standby.query("SELECT pg_wal_replay_resume()")
    standby_servers.wait_until_replayed()

    away = serve(database=standby_url, replica=alone.replace(name or "", "absent"))
    answer = away.get(f"{path}/matches")
    assert answer.status_code == 200
    assert "x-replica-lag" not in answer.headers
    assert len(answer.json()["matches"]) == 2


def test_pages_and_exports_are_read_from_the_standby(
    standby_servers: StandbyPair, standby_url: str, serve: Serve
) -> None:
    """Those of readers are; who may post reads the primary, and so do copies of the whole log."""
    name = checked_url(standby_url).database
    alone = f"postgresql+psycopg://postgres@127.0.0.1:{standby_servers.standby.port}/{name}"
    served = serve(database=standby_url, replica=alone, page=True, secure_cookies="never")
    pool = served.pool(public=True)
    path = f"/v1/pools/{pool}"
    assert served.post(f"{path}/matches", duel("1")).status_code == 200
    standby_servers.wait_until_replayed()
    pages = ("", "/leaderboard", "/names?text=a", "/players/a?wait=1", "/course/a", "/matches")
    for page in (*pages, "/matches/1"):
        answer = served.get(f"/pools/{pool}{page}", None)
        assert answer.status_code == 200, answer.text
        assert float(answer.headers["x-replica-lag"]) < 60, page
    for what in ("players/a/explain", "seasons", "export?what=ratings", "export?format=csv"):
        answer = served.get(f"{path}/{what}")
        assert answer.status_code == 200, answer.text
        assert "x-replica-lag" in answer.headers, what
    assert "x-replica-lag" not in served.get(f"{path}/export").headers

    standby_servers.standby.query("SELECT pg_wal_replay_pause()")
    try:
        assert served.post(f"{path}/matches", duel("2", "c", "d")).status_code == 200
        hidden = served.pool(public=True)
        assert served.get(f"/pools/{hidden}", None).status_code == 200  # not there yet
        assert "2 matches" not in served.get(f"/pools/{pool}", None).text
        assert served.get(f"/pools/{pool}/players/c?wait=1", None).status_code == 200
        assert len(served.get(f"{path}/export").text.splitlines()) == 1 + 2
        # What only the primary knows decides who may read.
        change = {"public": False, "reason": "no more"}
        assert served.ask("PATCH", path, json=change).status_code == 200
        for page in pages:
            assert served.get(f"/pools/{pool}{page}", None).status_code == 303
        assert served.get(f"{path}/leaderboard", None).status_code == 401
        writer = sign_in(served, served.key("writer", pool))
        own = served.get(f"/pools/{pool}/matches", None, headers={"cookie": writer})
        assert "x-replica-lag" not in own.headers
        assert ">2<" in own.text
    finally:
        standby_servers.standby.query("SELECT pg_wal_replay_resume()")
    metrics = served.get("/metrics", None).text
    assert counted(metrics, "replica") > 10
    assert counted(metrics, "primary") > 0


def test_a_standby_too_far_behind_is_not_read(
    standby_servers: StandbyPair, standby_url: str, serve: Serve
) -> None:
    """The primary answers instead, until the standby has caught up."""
    name = checked_url(standby_url).database
    alone = f"postgresql+psycopg://postgres@127.0.0.1:{standby_servers.standby.port}/{name}"
    served = serve(database=standby_url, replica=alone, replica_lag_seconds=2.0)
    pool = served.pool()
    path = f"/v1/pools/{pool}"
    assert served.post(f"{path}/matches", duel("1")).status_code == 200
    standby_servers.wait_until_replayed()
    # Where the machine is busy, the standby may be behind for a moment.
    wait_until(lambda: "x-replica-lag" in served.get(f"{path}/matches").headers)

    standby_servers.standby.query("SELECT pg_wal_replay_pause()")
    try:
        assert served.post(f"{path}/matches", duel("2")).status_code == 200
        wait_until(lambda: "x-replica-lag" not in served.get(f"{path}/matches").headers)
        for what in ("matches", "players/a/explain", "export?format=csv", "leaderboard"):
            answer = served.get(f"{path}/{what}")
            assert answer.status_code == 200, answer.text
            assert "x-replica-lag" not in answer.headers, what
        assert len(served.get(f"{path}/matches").json()["matches"]) == 2
        lag = "equipoise_replica_lag_seconds "
        metrics = served.get("/metrics", None).text.splitlines()
        (shown,) = [line.removeprefix(lag) for line in metrics if line.startswith(lag)]
        assert float(shown) > 2.0
    finally:
        standby_servers.standby.query("SELECT pg_wal_replay_resume()")
    standby_servers.wait_until_replayed()
    wait_until(lambda: "x-replica-lag" in served.get(f"{path}/matches").headers)


def test_an_earlier_pool_of_the_same_name_is_not_shown(
    standby_servers: StandbyPair, standby_url: str, serve: Serve
) -> None:
    """It was private, and the new one is public; the standby still has the old one."""
    name = checked_url(standby_url).database
    alone = f"postgresql+psycopg://postgres@127.0.0.1:{standby_servers.standby.port}/{name}"
    served = serve(database=standby_url, replica=alone, page=True)
    pool = served.pool()
    path = f"/v1/pools/{pool}"
    assert served.post(f"{path}/matches", duel("old", "secret", "b")).status_code == 200
    standby_servers.wait_until_replayed()
    assert "x-replica-lag" in served.get(f"{path}/matches").headers

    standby_servers.standby.query("SELECT pg_wal_replay_pause()")
    try:
        assert served.ask("DELETE", f"{path}?confirm={pool}").status_code < 300
        made = served.ask("PUT", path, json={"system": "elo", "public": True})
        assert made.status_code < 300, made.text
        for what in ("leaderboard", "matches", "seasons", "export?format=csv"):
            answer = served.get(f"{path}/{what}", None)
            assert answer.status_code == 200, answer.text
            assert "x-replica-lag" not in answer.headers, what
            assert "secret" not in answer.text, what
        for what in ("players/secret", "players/secret/explain", "matches/old"):
            assert served.get(f"{path}/{what}", None).status_code == 404, what
        for page in ("", "/leaderboard", "/matches"):
            shown = served.get(f"/pools/{pool}{page}", None)
            assert shown.status_code == 200, shown.text
            assert "secret" not in shown.text, page
    finally:
        standby_servers.standby.query("SELECT pg_wal_replay_resume()")
    standby_servers.wait_until_replayed()
    assert "x-replica-lag" in served.get(f"{path}/matches", None).headers


def wait_until(done: Callable[[], bool]) -> None:
    """Wait until something holds, for a minute."""
    until = time.monotonic() + 60
    while not done():
        assert time.monotonic() < until
        time.sleep(0.05)


def counted(metrics: str, by: str) -> float:
    """Return how many reads that were meant for the standby were answered by it, or not."""
    start = f'equipoise_replica_reads_total{{by="{by}"}} '
    return next(
        float(line.removeprefix(start)) for line in metrics.splitlines() if line.startswith(start)
    )


def sign_in(served: Served, secret: str) -> str:
    """Return the cookie of a browser that signs in with a key."""
    headers = {"sec-fetch-site": "same-origin"}
    answer = served.ask(
        "POST", "/sign-in", None, headers=headers, data={"key": secret, "next": "/"}
    )
    assert answer.status_code == 303, answer.text
    return str(answer.headers["set-cookie"].partition(";")[0])


def test_while_the_standby_hangs_the_primary_answers(
    standby_servers: StandbyPair, standby_url: str, serve: Serve
) -> None:
    """A stopped server takes connections and answers nothing. Reads waited for it for ever."""
    name = checked_url(standby_url).database
    alone = f"postgresql+psycopg://postgres@127.0.0.1:{standby_servers.standby.port}/{name}"
    served = serve(database=standby_url, replica=alone, readers=2)
    pool = served.pool()
    path = f"/v1/pools/{pool}/matches"
    assert served.post(path, duel("1")).status_code == 200
    standby_servers.wait_until_replayed()
    assert "x-replica-lag" in served.get(path).headers
    # Commits must not wait for it.
    standby_servers.primary.query("ALTER SYSTEM SET synchronous_standby_names = ''")
    standby_servers.primary.query("SELECT pg_reload_conf()")
    standby_servers.standby.signal(signal.SIGSTOP)
    try:
        asked = [served.running.start("GET", path, served.admin) for _ in range(8)]
        for one in asked:
            answer = one.result(25)
            assert answer.status_code == 200, answer.text
            assert "x-replica-lag" not in answer.headers
        began = time.monotonic()
        for _ in range(20):
            assert served.get(path).status_code == 200
        assert time.monotonic() - began < 20
    finally:
        standby_servers.standby.signal(signal.SIGCONT)
        standby_servers.synchronise()
    until = time.monotonic() + 60
    while "x-replica-lag" not in served.get(path).headers:
        assert time.monotonic() < until
        time.sleep(0.2)


@pytest.mark.usefixtures("standby_servers")
def test_another_server_is_no_replica(
    standby_url: str, postgres: Postgres, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as one with a copy of the database, which has the same pools and does not follow."""
    with postgres.database() as other:
        open_store(other).close()
        served = serve(database=standby_url, replica=other)
        path = f"/v1/pools/{served.pool()}/matches"
        answer = served.get(path)
        assert answer.status_code == 200
        assert "x-replica-lag" not in answer.headers
        assert "it is no standby of the database, but another server" in caplog.text
