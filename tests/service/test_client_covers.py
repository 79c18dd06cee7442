"""The client can ask for all that the service answers."""

from __future__ import annotations

import pytest

from trials.calls import EVERYTHING

pytest.importorskip("starlette")

#: For machines that watch the service, and for people.
NOT_CLIENTS = {"/healthz", "/docs"}


def test_the_client_has_a_method_for_every_endpoint() -> None:
    """And asks for nothing that the service does not have."""
    from equipoise.web.api import ENDPOINTS
    from equipoise.web.application import PathTable

    table = PathTable(ENDPOINTS)
    asked = {"GET /v1/pools/{pool}/export"}  # a file, so it has no shape to be tried with
    for _, line in EVERYTHING:
        method, _, target = line.partition(" ")
        found = table.find(target.partition("?")[0].encode())
        assert found is not None, line
        asked.add(f"{method} {found.endpoints[method].path}")
    there = {f"{one.method} {one.path}" for one in ENDPOINTS if one.path not in NOT_CLIENTS}
    assert there - asked == set()
