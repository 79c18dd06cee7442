"""Rate limits of keys and addresses, counted in memory.

The setting `rate_limit` applies to keys and to addresses without a key. Without it, `address_rate`
limits only addresses. Attempts with wrong keys have a separate limit, and never count against a
valid key from the same address.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Hashable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from equipoise.web.http.errors import TooManyRequestsError
from equipoise.web.settings import ServiceSettings

log = logging.getLogger(__name__)

#: Maximum number of buckets. Beyond that, the bucket unused for the longest time is dropped.
_BUCKETS = 20_000


class RateLimiter:
    """Token buckets that gain `rate` tokens a second up to `burst`; a rate of 0 limits nothing."""

    def __init__(self, rate: float, burst: float, buckets: int = _BUCKETS) -> None:
        self._rate = rate
        self._burst = max(burst, 1.0)
        self._most = buckets
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, who: Hashable, now: float) -> float:
        """Take a token and return 0. If there is none, return the seconds until there is one.

        now : seconds of a clock that never goes back
        """
        if not self._rate:
            return 0.0
        # All in one function, because most requests pass here.
        tokens = self._burst
        found = self._buckets.get(who)
        if found is not None:
            tokens = min(tokens, found[0] + (now - found[1]) * self._rate)
            self._buckets.move_to_end(who)
        elif len(self._buckets) >= self._most:
            self._buckets.popitem(last=False)
        missing = 1.0 - tokens
        if missing > 0:
            self._buckets[who] = (tokens, now)
            return missing / self._rate
        self._buckets[who] = (tokens - 1.0, now)
        return 0.0


#: Characters of an address that a proxy has passed on. It can be any text.
_ADDRESS = 64
#: Headers with which a proxy says for whom it sends a request.
_FORWARDED = frozenset({b"x-forwarded-for", b"forwarded"})
_EXCEEDED = "Rate limit exceeded"


class Rates:
    """The limits of a process: of keys, of addresses without one, and of wrong keys."""

    def __init__(self, settings: ServiceSettings) -> None:
        wrong, burst = settings.failed_keys, 10 * settings.failed_keys
        self._wrong = RateLimiter(wrong, burst)
        self._keys = RateLimiter(settings.rate_limit, settings.rate_burst)
        self._addresses = self._keys
        if not settings.rate_limit:
            rate, burst = settings.address_rate, settings.address_burst
            self._addresses = RateLimiter(rate, burst)
        self._warned = False

    def check_key(self, number: int, now: float) -> None:
        """Count a request of a key. Raises : TooManyRequestsError."""
        if seconds := self._keys.take(number, now):
            raise TooManyRequestsError(_EXCEEDED, seconds)

    def check_address(self, address: str, headers: list[tuple[bytes, bytes]], now: float) -> None:
        """Count a request without a key. Raises : TooManyRequestsError."""
        if not self._warned:
            for name, value in headers:
                if name in _FORWARDED and not self._warned:
                    self._warn_of_proxy(address, value)
        if seconds := self._addresses.take(caller_of(address), now):
            raise TooManyRequestsError(_EXCEEDED, seconds)

    def check_wrong(self, address: str, now: float) -> None:
        """Count an attempt with a wrong key. Raises : TooManyRequestsError."""
        if seconds := self._wrong.take(caller_of(address), now):
            raise TooManyRequestsError("Too many attempts with invalid keys", seconds)

    def _warn_of_proxy(self, address: str, forwarded: bytes) -> None:
        """Warn, once, of a proxy that the settings do not name."""
        # Behind a proxy that is named, the address is one of those in the header.
        if address.encode() not in forwarded:
            self._warned = True
            log.warning(
                "requests come through a proxy at %s that the setting `proxies` does not name: all "
                "its clients share one rate limit. Name it, and let it send X-Forwarded-For",
                address[:_ADDRESS],
            )


@lru_cache(maxsize=4096)
def caller_of(address: str) -> str:
    """Return for whom requests of an address count: the first half of an IPv6 address.

    A customer of an internet provider has all addresses that begin with it.
    """
    if ":" not in address:
        return address[:_ADDRESS]
    try:
        found = ip_address(address)
    except ValueError:
        return address[:_ADDRESS]
    if not isinstance(found, IPv6Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(IPv6Address(int(found) >> 64 << 64))
