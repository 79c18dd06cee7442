"""A service behind PgBouncer, which gives each transaction any connection of the server."""

from __future__ import annotations

import signal
from typing import Any, Literal

import pytest

from equipoise.store.connection import checked_url, open_store
from trials import pgbouncer as bouncer
from trials.standby import StandbyPair
from web.conftest import Serve, duel, lines

#: It starts servers, and waits for them.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not bouncer.is_installed(), reason=bouncer.ABSENT),
]


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_the_service_runs_behind_pgbouncer(
    mode: Literal["session", "transaction"],
    standby_servers: StandbyPair,
    standby_url: str,
    serve: Serve,
) -> None:
    """Posts, replays, pages of readers and exports; a wait that is cancelled is not confirmed."""
    name = checked_url(standby_url).database
    with bouncer.pgbouncer(standby_servers.primary.port, mode) as port:
        url = f"postgresql+psycopg://postgres@127.0.0.1:{port}/{name}"
        served = serve(database=url, page=True, readers=4)
        pool = served.pool(public=True, late="replay")
        path = f"/v1/pools/{pool}"
        # More often than after which the driver prepares a statement.
        for number in range(30):
            posted = served.post(f"{path}/matches", duel(f"m{number}", f"p{number % 5}", "q"))
            assert posted.status_code == 200, posted.text
            for what in ("leaderboard", "players/q/history", "matches", "players/q"):
                assert served.get(f"{path}/{what}").status_code == 200, what
        streamed = served.stream(pool, lines(*(duel(f"s{at}") for at in range(300))))
        assert streamed.status_code == 200, streamed.text
        voided = served.post(f"{path}/matches/m3/void?wait=20", {"reason": "a trial"})
        assert voided.status_code == 200, voided.text
        assert served.get(path).json()["matches"] == 330
        assert len(served.get(f"{path}/export").text.splitlines()) > 330
        assert served.get(f"/pools/{pool}", None).status_code == 200

        standby_servers.standby.signal(signal.SIGSTOP)
        try:
            post: dict[str, Any] = {"json": duel("late")}
            waiting = served.running.start("POST", f"{path}/matches", served.admin, **post)
            process = standby_servers.wait_for_commit()
            standby_servers.primary.query(f"SELECT pg_cancel_backend({process})")
            unknown = waiting.result(60)
        finally:
            standby_servers.standby.signal(signal.SIGCONT)
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (503, "unconfirmed")
        assert served.post(f"{path}/matches", duel("late")).status_code == 200
        for one in served.key("reader"), served.key("reader", pool):
            assert served.get(f"{path}/leaderboard", one).status_code == 200


def test_prepares_statements_unless_pooled(standby_servers: StandbyPair, standby_url: str) -> None:
    """In the next transaction PgBouncer may give another connection, unless the address is sure."""
    name = checked_url(standby_url).database
    direct = f"postgresql+psycopg://postgres@127.0.0.1:{standby_servers.primary.port}/{name}"
    with bouncer.pgbouncer(standby_servers.primary.port, "session") as port:
        pooled = f"postgresql+psycopg://postgres@127.0.0.1:{port}/{name}"
        for url, expected in (
            (direct, 5),
            (f"{direct}?prepare_threshold=none", None),
            (pooled, None),
            (f"{pooled}?prepare_threshold=7", 7),
        ):
            store = open_store(url)
            with store.read() as connection:
                assert connection.connection.driver_connection.prepare_threshold == expected, url
            store.close()
