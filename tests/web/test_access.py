"""Who may do what, and in which order it is checked: the key, its right, the pool, the body."""

from __future__ import annotations

import time
from typing import Any

import pytest

from equipoise.web.api import ENDPOINTS
from equipoise.web.http.access import ExpiringCache
from equipoise.web.http.endpoints import Endpoint
from web.conftest import Serve, Served, duel

MATCHES = "/v1/pools/{pool}/matches"
BAD = {"no": "match"}


def status(answer: Any) -> tuple[int, str]:
    """Return an answer's status and the name of its error."""
    error = answer.json().get("error") if answer.content else None
    return answer.status_code, error["code"] if error else ""


def test_without_a_key_only_public_pools_are_read(served: Served) -> None:
    """Private ones and ones that do not exist cannot be told apart."""
    public, private = served.pool(public=True), served.pool()
    assert served.get(f"/v1/pools/{public}/leaderboard", None).status_code == 200
    for pool in (private, "nothing"):
        answer = served.get(f"/v1/pools/{pool}/leaderboard", None)
        assert status(answer) == (401, "unauthorised")
        assert answer.headers["www-authenticate"] == "Bearer"
    assert status(served.post(f"/v1/pools/{public}/matches", BAD, None))[0] == 401


@pytest.mark.parametrize(
    "header", ["Bearer x", "Bearer eqp_1_", "Bearer ", "Basic YTpi", "x", "Bearer " + "x" * 9999]
)
def test_a_key_that_is_none_is_refused_everywhere(served: Served, header: str) -> None:
    """Also where no key is needed: whoever shows one means to be known."""
    public = served.pool(public=True)
    for path in (f"/v1/pools/{public}/leaderboard", "/v1/pools", "/v1/pools/nothing"):
        answer = served.get(path, None, headers={"Authorization": header})
        assert status(answer) == (401, "unauthorised")


def test_expired_and_revoked_keys_are_refused(served: Served) -> None:
    """At once where the service itself revoked them."""
    pool = served.pool()
    expired = served.key("reader", expires=time.time_ns() // 1000 - 1)
    assert status(served.get(f"/v1/pools/{pool}", expired))[0] == 401
    key = served.key("reader")
    assert served.get(f"/v1/pools/{pool}", key).status_code == 200
    served.post(f"/v1/keys/{key.split('_')[1]}/revoke")
    assert status(served.get(f"/v1/pools/{pool}", key))[0] == 401


def test_roles_may_do_what_those_before_them_may(served: Served) -> None:
    """Reading, posting, amending; what is not allowed is refused before the body is read."""
    pool = served.pool()
    reader, writer = served.key("reader"), served.key("writer")
    matches = f"/v1/pools/{pool}/matches"
    assert served.post(matches, duel("1"), writer).status_code == 200
    assert served.get(f"{matches}/1", writer).status_code == 200
    assert status(served.post(matches, BAD, reader)) == (403, "forbidden")
    assert status(served.post(f"{matches}/1/void", BAD, writer)) == (403, "forbidden")
    assert status(served.put("/v1/pools/new", BAD, writer)) == (403, "forbidden")
    assert status(served.get("/v1/keys", writer)) == (403, "forbidden")
    assert status(served.post(matches, BAD, writer)) == (422, "invalid-data")


def test_a_key_of_one_pool_sees_no_other(served: Served) -> None:
    """Whether or not there is another one; public ones are for everybody, so for it too."""
    mine, private, public = served.pool(), served.pool(), served.pool(public=True)
    key = served.key("admin", mine)
    assert served.get(f"/v1/pools/{mine}", key).status_code == 200
    for other in (private, "nothing"):
        for path in ("", "/leaderboard", "/players/a"):
            assert status(served.get(f"/v1/pools/{other}{path}", key)) == (403, "forbidden")
        assert status(served.post(f"/v1/pools/{other}/matches", duel("1"), key))[0] == 403
    assert served.get(f"/v1/pools/{public}", key).status_code == 200
    assert status(served.post(f"/v1/pools/{public}/matches", duel("1"), key))[0] == 403
    assert status(served.get("/v1/keys", key))[0] == 403
    listed = {one["pool"] for one in served.get("/v1/pools", key).json()["pools"]}
    assert mine in listed
    assert public in listed
    assert private not in listed


def test_whether_a_pool_exists_is_told_before_what_is_wrong_with_the_body(served: Served) -> None:
    assert status(served.post("/v1/pools/nothing/matches", BAD)) == (404, "not-found")
    assert status(served.get("/v1/pools/nothing/leaderboard?limit=0")) == (404, "not-found")
    assert status(served.put("/v1/pools/nothing", {"system": 1})) == (422, "invalid-data")


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.name)
def test_every_endpoint_is_guarded_as_it_is_declared(served: Served, endpoint: Endpoint) -> None:
    """No endpoint answers whom its declaration does not let in."""
    path = endpoint.path.format(pool="nothing", match="m", player="p", seq=1, key=1, webhook=1)
    answer = served.ask(endpoint.method, path, None)
    if endpoint.right is None:
        assert answer.status_code == 200
        return
    assert answer.status_code == 401
    if endpoint.right != "reader":
        assert served.ask(endpoint.method, path, served.key("reader")).status_code == 403
    if endpoint.of_pool or endpoint.all_pools:
        other = served.key("admin", "other")
        assert served.ask(endpoint.method, path, other).status_code == 403


def test_calculations_may_be_for_everybody(serve: Serve) -> None:
    served = serve(calculations="open")
    assert served.post("/v1/rebalance", {}, None).status_code == 422


def test_each_caller_has_a_rate(serve: Serve) -> None:
    """A key, and an address without one; what watches over the service has none."""
    served = serve(rate_limit=0.01, rate_burst=2)
    reader = served.key("reader")
    for key in (None, reader):
        found = [served.get("/v1/pools", key) for _ in range(3)]
        assert [one.status_code for one in found] == [200, 200, 429]
        assert int(found[-1].headers["retry-after"]) > 1
    assert all(served.get("/healthz", None).status_code == 200 for _ in range(5))


def test_trying_keys_is_slowed_down(serve: Serve) -> None:
    """An address that tries many is refused for a while, but keys in use there work on."""
    served = serve(failed_keys=0.1)
    assert served.get("/v1/pools").status_code == 200
    found = [served.get("/v1/pools", "eqp_1_x").status_code for _ in range(3)]
    assert found == [401, 429, 429]
    assert served.get("/v1/pools").status_code == 200


def test_what_is_remembered_is_forgotten_in_time() -> None:
    """After its time, and beyond the number that is kept."""
    known: ExpiringCache[int] = ExpiringCache(1.0, most=2)
    known.put("a", 1, 0.0)
    assert known.get("a", 0.9) == 1
    assert known.get("a", 1.0) is None
    for number in range(3):
        known.put(number, number, 0.0)
    assert known.get("a", 0.0) is None
    assert known.get(2, 0.0) == 2
