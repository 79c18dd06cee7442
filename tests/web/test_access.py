"""Who may do what, and in which order it is checked: the key, its right, the pool, the body."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sqlite3
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from equipoise.store.keys import list_keys
from equipoise.web import service
from equipoise.web.api import ENDPOINTS
from equipoise.web.http.access import ExpiringCache, RateLimiter, Rates, caller_of
from equipoise.web.http.endpoints import Endpoint
from equipoise.web.http.errors import TooManyRequestsError
from equipoise.web.settings import ServiceSettings
from trials.pace import stopwatch
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


@pytest.mark.parametrize("header", ["Bearer x", "Bearer ", "Basic YTpi", "Bearer " + "x" * 9999])
def test_a_key_that_is_none_is_refused_everywhere(served: Served, header: str) -> None:
    public = served.pool(public=True)
    for path in (f"/v1/pools/{public}/leaderboard", "/v1/pools", "/v1/pools/nothing"):
        answer = served.get(path, None, headers={"Authorization": header})
        assert status(answer) == (401, "unauthorised")


def test_a_refused_key_is_told_why(served: Served) -> None:
    key = served.key("reader")
    answer = served.get("/v1/pools", None, headers={"Authorization": key})
    assert "Authorization: Bearer KEY" in answer.json()["error"]["message"]
    assert "Bearer is missing" in answer.json()["error"]["message"]
    answer = served.get("/v1/pools", key[:-1] + ("a" if key[-1] != "a" else "b"))
    message = answer.json()["error"]["message"]
    assert f"unknown in the database {served.store.name}," in message


def test_expired_and_revoked_keys_are_refused(served: Served) -> None:
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
    assert status(served.post(matches, BAD, writer)) == (422, "invalid-data")


def test_a_key_of_one_pool_sees_no_other(served: Served) -> None:
    """Whether or not there is another one; public ones are for everybody, so for it too."""
    mine, private, public = served.pool(), served.pool(), served.pool(public=True)
    key = served.key("admin", mine)
    assert served.get(f"/v1/pools/{mine}", key).status_code == 200
    for other in (private, "nothing"):
        assert status(served.get(f"/v1/pools/{other}/players/a", key)) == (403, "forbidden")
    assert served.get(f"/v1/pools/{public}", key).status_code == 200
    assert status(served.post(f"/v1/pools/{public}/matches", duel("1"), key))[0] == 403
    assert served.get(f"/v1/audit?pool={mine}", key).status_code == 200
    assert status(served.get(f"/v1/audit?pool={private}", key)) == (403, "forbidden")
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
    path = endpoint.path.format(
        pool="nothing", match="m", player="p", other="q", seq=1, key=1, webhook=1
    )
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


@pytest.mark.parametrize(
    ("limits", "limited"),
    [
        ({"rate_limit": 0.01, "rate_burst": 2}, ("address", "key")),
        ({"address_rate": 0.001, "address_burst": 2}, ("address",)),
    ],
)
def test_each_caller_has_a_rate(
    serve: Serve, limits: dict[str, Any], limited: tuple[str, ...]
) -> None:
    """An address, and a key if the operator says so; what watches over the service has none."""
    served = serve(**limits)
    for caller, key in (("address", None), ("key", served.key("reader"))):
        answers = [served.get("/v1/pools", key) for _ in range(3)]
        last = 429 if caller in limited else 200
        assert [answer.status_code for answer in answers] == [200, 200, last]
        assert last == 200 or int(answers[-1].headers["retry-after"]) > 1
    assert all(served.get("/healthz", None).status_code == 200 for _ in range(5))


def test_a_valid_key_works_whatever_else_its_address_sends(serve: Serve) -> None:
    """Only wrong ones are refused. Before, so was a right key that was not in the cache."""
    served = serve(failed_keys=0.1, key_seconds=0.0)
    found = [served.get("/v1/pools", f"eqp_1_{n}").status_code for n in range(5)]
    assert found == [401, 429, 429, 429, 429]
    new = served.key("reader")
    for key in ("admin", new, new):
        assert served.get("/v1/pools", key).status_code == 200
    refused = served.get("/v1/pools", "eqp_1_x")
    assert status(refused) == (429, "too-many-requests")
    assert int(refused.headers["retry-after"]) > 1


@pytest.mark.slow
def test_requests_write_nothing_to_the_database_for_limits(serve: Serve) -> None:
    """SQLite counts the changes that each connection made: reads, keys and refusals make none."""
    served = serve(failed_keys=0.1, address_rate=0.1, address_burst=2)
    reader = served.key("reader")
    assert served.get("/v1/pools", reader).status_code == 200
    wait_for_last_use(served)
    with served.store.read() as connection:
        before = connection.execute(text("PRAGMA data_version")).scalar()
    for key in (reader, None, "eqp_1_x"):
        for _ in range(5):
            served.get("/v1/pools", key)
    with served.store.read() as connection:
        assert connection.execute(text("PRAGMA data_version")).scalar() == before


def wait_for_last_use(served: Served) -> None:
    """Wait until the last use of every key that was used is stored."""
    number = max(key.id for key in list_keys(served.store))
    begun = time.monotonic()
    while {key.id: key.last_used for key in list_keys(served.store)}[number] is None:
        assert time.monotonic() - begun < 120.0
        time.sleep(0.02)


def test_reading_never_waits_for_a_writer(serve: Serve) -> None:
    """While another process holds the lock of SQLite, keys are accepted and pools are read.

    Before, the first use of a key wrote to the database, in the threads that read: after two such
    requests, all reads and /readyz got 504.
    """
    served = serve(page=True, key_seconds=0.0)
    public, private = served.pool(public=True), served.pool()
    keys = [served.key("reader") for _ in range(6)]
    with sqlite3.connect(served.store.engine.url.database, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        post = {"content": json.dumps(duel("1")), "headers": {"Content-Type": "application/json"}}
        waiting = [
            served.running.start("POST", f"/v1/pools/{private}/matches", key=served.admin, **post),
            served.running.start("PUT", "/v1/pools/more", key=served.admin, content=b"{}"),
        ]
        with stopwatch() as watch:
            for key in keys:
                for path in (f"/v1/pools/{private}/leaderboard", "/v1/pools"):
                    assert served.get(path, key).status_code == 200
                for path in ("/readyz", f"/v1/pools/{public}", "/", f"/pools/{public}"):
                    assert served.get(path, None).status_code == 200
        assert watch.seconds < 10.0
        other.execute("ROLLBACK")
    assert [one.result(60).status_code for one in waiting] == [200, 200]
    wait_for_last_use(served)


@pytest.mark.slow
def test_signing_in_does_not_wait_for_a_writer(serve: Serve) -> None:
    """While another process holds the lock of SQLite, it gets 503 and a page that says so.

    So does signing out. Before, both waited for `request_seconds`, and behind other changes.
    """
    served = serve(page=True)
    headers = {"origin": "http://service"}
    form = {"key": served.key("reader"), "next": "/"}

    def sign_in() -> Any:
        return served.ask("POST", "/sign-in", None, data=form, headers=headers)

    assert sign_in().status_code == 303
    # Signed in, forms need the token of the session.
    form["token"] = re.findall('name="token" value="([^"]+)"', served.get("/", None).text)[0]
    with sqlite3.connect(served.store.engine.url.database, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        change = served.running.start("PUT", "/v1/pools/more", key=served.admin, content=b"{}")
        for path in ("/sign-in", "/sign-out"):
            begun = time.monotonic()
            answer = served.ask("POST", path, None, data=form, headers=headers)
            assert time.monotonic() - begun < 5.0  # one second, on a machine that is not busy
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
            assert "busy with another write" in answer.text
        assert served.get("/", None).status_code == 200
        other.execute("ROLLBACK")
    assert change.result(60).status_code == 200
    assert sign_in().status_code == 303


def test_a_form_that_does_not_come_is_given_up(serve: Serve) -> None:
    """With 408, as other bodies that are too slow."""
    served = serve(page=True, request_seconds=1.0)

    async def slow() -> AsyncIterator[bytes]:
        yield b"key="
        await asyncio.sleep(5)

    headers = {"origin": "http://service", "content-type": "application/x-www-form-urlencoded"}
    answer = served.ask("POST", "/sign-in", None, content=slow(), headers=headers)
    assert answer.status_code == 408
    assert "the form must arrive within 1 s" in answer.text


@pytest.mark.slow
def test_drops_last_uses_if_busy(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve(key_seconds=0.0)
    calls: list[object] = []

    def busy(store: object, uses: object) -> None:
        calls.append(uses)
        raise OperationalError("", None, Exception("database is locked"))

    with monkeypatch.context() as patched:
        patched.setattr(service, "note_uses", busy)
        assert served.get("/v1/pools").status_code == 200
        begun = time.monotonic()
        while not calls:
            assert time.monotonic() - begun < 120.0
            time.sleep(0.02)
    assert served.get("/readyz", None).status_code == 200
    assert served.get("/v1/pools").status_code == 200
    wait_for_last_use(served)


def test_what_is_remembered_is_forgotten_in_time() -> None:
    known: ExpiringCache[int] = ExpiringCache(1.0, most=2)
    known.put("a", 1, 0.0)
    assert known.get("a", 0.9) == 1
    assert known.get("a", 1.0) is None
    for number in range(3):
        known.put(number, number, 0.0)
    assert known.get("a", 0.0) is None
    assert known.get(2, 0.0) == 2


def test_a_burst_passes_and_then_the_rate() -> None:
    """Three at once, then one each half second; the wait that is told is long enough."""
    limiter = RateLimiter(2.0, 3)
    assert [limiter.take("a", 0.0) for _ in range(3)] == [0, 0, 0]
    wait = limiter.take("a", 0.0)
    assert wait == 0.5
    assert limiter.take("a", 0.4) > 0
    assert limiter.take("a", 0.5) == 0
    assert limiter.take("b", 0.5) == 0


def test_a_rate_of_nothing_limits_nothing() -> None:
    limiter = RateLimiter(0.0, 1)
    assert not any(limiter.take("a", 0.0) for _ in range(100))
    assert len(limiter) == 0


def test_memory_is_bounded() -> None:
    """Beyond the limit the bucket that was longest not used is forgotten."""
    limiter = RateLimiter(1.0, 1, buckets=10)
    for number in range(100):
        limiter.take(number, 0.0)
    assert len(limiter) == 10
    assert limiter.take(99, 0.0) > 0
    assert limiter.take(0, 0.0) == 0


def refusals(rates: Rates, addresses: list[str]) -> list[bool]:
    """Return which requests without a key are refused."""
    found = []
    for address in addresses:
        try:
            rates.check_address(address, [], 0.0)
        except TooManyRequestsError:
            found.append(True)
        else:
            found.append(False)
    return found


def test_addresses_of_one_network_count_as_one_caller() -> None:
    """Of IPv6: its first 64 bits. An IPv4 address is the same caller in both notations."""
    assert caller_of("2001:db8:1:2:3:4:5:6") == caller_of("2001:db8:1:2::") == "2001:db8:1:2::"
    assert caller_of("2001:db8:1:3::1") == "2001:db8:1:3::"
    assert caller_of("::ffff:192.0.2.1") == caller_of("192.0.2.1") == "192.0.2.1"
    assert caller_of("fe80::1%eth0") == "fe80::"
    assert caller_of("not:an address") == "not:an address"
    assert len(caller_of("x" * 10_000)) == len(caller_of(":" * 10_000)) == 64
    rates = Rates(ServiceSettings(address_rate=1.0, address_burst=2))
    addresses = [f"2001:db8::{number:x}" for number in range(4)] + ["2001:db8:0:1::"]
    assert refusals(rates, addresses) == [False, False, True, True, False]


def test_a_rate_of_the_operator_holds_for_keys_and_addresses() -> None:
    """As before there was a rate of addresses; without it, keys have none."""
    rates = Rates(ServiceSettings(rate_limit=1.0, rate_burst=3, address_burst=1))
    assert refusals(rates, ["a"] * 4) == [False, False, False, True]
    for _ in range(3):
        rates.check_key(1, 0.0)
    with pytest.raises(TooManyRequestsError):
        rates.check_key(1, 0.0)
    rates = Rates(ServiceSettings())
    for _ in range(10_000):
        rates.check_key(1, 0.0)
    assert refusals(rates, ["a"] * 400) == [False] * 300 + [True] * 100
    assert refusals(Rates(ServiceSettings(address_rate=0.0)), ["a"] * 1_000) == [False] * 1_000


@pytest.mark.parametrize("header", [b"x-forwarded-for", b"forwarded"])
def test_logs_an_unnamed_proxy_once(header: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """One that is named has put the address of its client into the place of its own."""
    rates = Rates(ServiceSettings())
    with caplog.at_level(logging.WARNING, "equipoise.web.http.access"):
        rates.check_address("192.0.2.7", [(header, b"192.0.2.7, 198.51.100.2")], 0.0)
        rates.check_address("192.0.2.7", [(b"host", b"x")], 0.0)
        assert caplog.records == []
        for _ in range(3):
            rates.check_address("10.0.0.1", [(b"host", b"x"), (header, b"192.0.2.7")], 0.0)
    (record,) = caplog.records
    assert "a proxy at 10.0.0.1 that the setting `proxies` does not name" in record.getMessage()
