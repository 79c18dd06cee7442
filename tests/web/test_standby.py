"""A service on a PostgreSQL with a synchronous standby: what is answered while commits wait."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from equipoise.pools.backups import checks_of
from equipoise.store.connection import checked_url, open_store
from equipoise.web.application import create_application
from equipoise.web.settings import ServiceSettings
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


def test_waits_for_standby(standby_servers: StandbyPair, standby_url: str, serve: Serve) -> None:
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


def test_array_is_unconfirmed(standby_servers: StandbyPair, standby_url: str, serve: Serve) -> None:
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


def test_standby_is_not_ready(standby_servers: StandbyPair, standby_url: str, serve: Serve) -> None:
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
    open_store(standby_url).close()
    found = {one.check: one.status for one in checks_of(f"{standby_url}{option}")}
    assert found == {"schema": "ok", "indexes": "ok", "free space": "skipped"}
