"""Paths are split before they are decoded, so that an id may hold any sign."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.web.api import ENDPOINTS
from equipoise.web.application import PathTable, sent_path
from trials.calls import EVERYTHING

TABLE = PathTable(ENDPOINTS)


@pytest.mark.parametrize(
    ("path", "name", "values"),
    [
        (b"/v1/pools", "listPools", {}),
        (b"/v1/pools/x", "showPool", {"pool": "x"}),
        (b"/v1/pools/x/players/a%2Fb", "showPlayer", {"pool": "x", "player": "a/b"}),
        (b"/v1/pools/x/players/history", "showPlayer", {"pool": "x", "player": "history"}),
        (b"/v1/pools/x/players/%2e%2e/history", "showPlayerHistory", {"pool": "x", "player": ".."}),
        (b"/v1/pools/x/players/%25", "showPlayer", {"pool": "x", "player": "%"}),
        (b"/v1/pools/x/players/%C3%A9", "showPlayer", {"pool": "x", "player": "é"}),
        ("/v1/pools/x/players/é".encode(), "showPlayer", {"pool": "x", "player": "é"}),
    ],
)
def test_paths_lead_to_endpoints_and_ids(path: bytes, name: str, values: dict[str, str]) -> None:
    found = TABLE.find(path)
    assert found is not None
    assert found.endpoints["GET"].name == name
    assert found.decoded() == values


@pytest.mark.parametrize(
    "path", [b"/", b"", b"/v1", b"/v1/pools/", b"/v1/pools//leaderboard", b"/v1/pools/x/players/"]
)
def test_other_paths_lead_nowhere(path: bytes) -> None:
    """An empty part is no id, and a path is not another one with a slash at its end."""
    assert TABLE.find(path) is None


def test_every_endpoint_is_found_by_its_own_path() -> None:
    for endpoint in ENDPOINTS:
        path = endpoint.path.replace("{", "").replace("}", "").encode()
        found = TABLE.find(path)
        assert found is not None
        assert found.endpoints[endpoint.method] is endpoint


def test_names_of_endpoints_are_unique() -> None:
    names = [endpoint.name for endpoint in ENDPOINTS]
    assert len(set(names)) == len(names)


def test_a_server_that_keeps_no_sent_path_is_served_too() -> None:
    scope: dict[str, Any] = {"path": "/v1/pools/x y"}
    assert sent_path(scope) == b"/v1/pools/x%20y"
    assert sent_path({"path": "", "raw_path": b"/a?b"}) == b"/a"


def test_the_client_has_a_method_for_every_endpoint() -> None:
    asked = {"GET /v1/pools/{pool}/export"}  # a file, so it has no shape to be tried with
    for _, line in EVERYTHING:
        method, _, target = line.partition(" ")
        route = TABLE.find(target.partition("?")[0].encode())
        assert route is not None, line
        asked.add(f"{method} {route.endpoints[method].path}")
    # These are for machines that watch the service, and for people.
    others = {"GET /healthz", "GET /docs"}
    assert {f"{endpoint.method} {endpoint.path}" for endpoint in ENDPOINTS} - others <= asked
