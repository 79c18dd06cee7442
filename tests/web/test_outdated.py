"""A service that runs while a later version takes away a part of the schema that it needs."""

from __future__ import annotations

import time
from pathlib import Path

from equipoise.store.connection import open_store
from trials.later_versions import CONTRACTED, EXPANDED, later_version
from web.conftest import Serve, duel


def test_it_goes_on_until_the_schema_is_contracted(serve: Serve, tmp_path: Path) -> None:
    """Then it says so, records nothing more and is not ready, so a load balancer leaves it out."""
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    served = serve(database=url)
    path = f"/v1/pools/{served.pool()}/matches"
    assert served.post(path, duel("1")).status_code == 200
    with later_version(EXPANDED):
        open_store(url).close()
    time.sleep(1.5)  # it looks every second
    assert served.get("/readyz", None).status_code == 200
    assert served.post(path, duel("2")).status_code == 200

    with later_version(CONTRACTED):
        open_store(url).close()
    until = time.monotonic() + 60
    while (ready := served.get("/readyz", None)).status_code == 200:
        assert time.monotonic() < until
        time.sleep(0.1)
    refused = served.post(path, duel("3"))
    for answer in (ready, refused):
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        error = answer.json()["error"]
        assert error["code"] == "unavailable"
        assert f"schema {CONTRACTED}" in error["message"]
        assert "use the version that wrote it, or a later one" in error["message"]
    assert len(served.get(path).json()["matches"]) == 2
