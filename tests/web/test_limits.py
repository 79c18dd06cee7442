"""Limits: a rate in the long run, a burst at once, bounded memory, and whom they count."""

from __future__ import annotations

import logging

import pytest

from equipoise.web.http.access import RateLimiter, Rates, caller_of
from equipoise.web.http.errors import TooManyRequestsError
from equipoise.web.settings import ServiceSettings


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
