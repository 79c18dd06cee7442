"""A service on a damaged database: requests get a sentence, and it is no longer ready."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, event

pytest.importorskip("starlette")

from equipoise.store.connection import open_store
from equipoise.store.keys import create_key
from equipoise.web.application import create_application
from equipoise.web.settings import ServiceSettings
from pools.pool_trials import NOW, Trial, duel
from web.asking import Running
from web.conftest import Serve
from web.conftest import duel as web_duel

#: It starts processes, and waits for their ends.
pytestmark = pytest.mark.slow


def test_a_service_on_a_damaged_file(tmp_path: Path) -> None:
    """What can be read is answered until then; afterwards /readyz says why it is not ready."""
    path = tmp_path / "service.db"
    store = open_store(f"sqlite:///{path}")
    _, secret = create_key(store, "admin", "admin", None, None, NOW)
    Trial(store).post(*(duel(f"m{number}", "ana", "ben", number) for number in range(300)))
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'log'"
        (page,) = connection.execute(query).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = bytes(size)
    path.write_bytes(content)
    settings = ServiceSettings(database=f"sqlite:///{path}")
    with Running(create_application(settings)) as running:
        headers = {"Authorization": f"Bearer {secret}"}
        deadline = time.monotonic() + 240  # the kernels are compiled first
        while (ready := running.request("GET", "/readyz")).status_code != 200:
            assert time.monotonic() < deadline, ready.text
            time.sleep(0.1)
        board = running.request("GET", "/v1/pools/trial/leaderboard", headers=headers)
        assert board.status_code == 200
        answer = running.request("GET", "/v1/pools/trial/matches", headers=headers)
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "damaged"
        two = [{"players": ["ana"], "rank": 1}, {"players": ["ben"], "rank": 2}]
        match = {"match": "new", "teams": two, "time": 400}
        posted = running.request("POST", "/v1/pools/trial/matches", headers=headers, json=match)
        assert posted.status_code == 503
        shown = running.request("GET", "/pools/trial/matches", headers=headers)
        assert shown.status_code in (303, 503)
        ready = running.request("GET", "/readyz")
        assert ready.status_code == 503
        assert "restore a backup" in ready.json()["error"]["message"]
        assert running.request("GET", "/healthz").status_code == 200


def test_a_full_disk_is_said_and_posts_go_on_when_there_is_room(serve: Serve) -> None:
    served = serve()
    path = f"/v1/pools/{served.pool()}/matches"
    engine = served.app.state.service.store.engine
    with engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()

    def limit(connection: Connection) -> None:
        connection.connection.cursor().execute(f"PRAGMA max_page_count = {pages}")

    event.listen(engine, "begin", limit, insert=True)
    answers = (
        served.post(path, [web_duel(f"{batch}-{at}") for at in range(200)]) for batch in range(50)
    )
    full = next(answer for answer in answers if answer.status_code != 200)
    assert full.status_code == 503
    message = full.json()["error"]["message"]
    assert message == "the disk of the database is full; try again later"
    for _ in range(2):
        ready = served.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["error"]["message"] == "posts fail: the disk of the database is full"
    pages = 2**30
    assert served.get("/readyz").status_code == 200
    assert served.post(path, web_duel("later")).status_code == 200
    with closing(sqlite3.connect(engine.url.database)) as connection:
        assert (
            connection.execute("SELECT * FROM sqlite_master WHERE name = 'room'").fetchall() == []
        )
