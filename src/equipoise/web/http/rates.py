"""Rate limits of keys and addresses, counted in memory.

Where several processes serve one database, each tells the others every second what it has counted:
`http.settling`. No request waits for that.

The setting `rate_limit` applies to keys and to addresses without a key. Without it, `address_rate`
limits only addresses. Attempts with wrong keys have a separate limit, and never count against a
valid key from the same address.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Hashable
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address

from equipoise.web.http.errors import TooManyRequestsError
from equipoise.web.settings import ServiceSettings

log = logging.getLogger(__name__)

#: Maximum number of buckets. Beyond that, the bucket unused for the longest time is dropped.
_BUCKETS = 20_000
#: The part of its burst that a caller uses before other processes hear of it.
_UNTOLD = 0.02
#: Seconds between two reports to other processes.
_TOLD = 1.0
#: Processes whose bursts a bucket can miss, and seconds on top of that.
_TOGETHER, _SLACK = 8, 60.0


class RateLimiter:
    """Token buckets that gain `rate` tokens a second up to `burst`; a rate of 0 limits nothing.

    shared : whether `take_used` is called, so that what is used must be counted
    """

    def __init__(
        self, rate: float, burst: float, buckets: int = _BUCKETS, *, shared: bool = False
    ) -> None:
        self._rate = rate
        self._burst = max(burst, 1.0)
        self._most = buckets
        self._shared = shared
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        # Tokens taken of which other processes have not heard.
        self._used: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    @property
    def longest(self) -> float:
        """Seconds in which a bucket is full again that many processes have emptied together."""
        return _TOGETHER * self._burst / self._rate + _SLACK if self._rate else 0.0

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
            self._used.pop(self._buckets.popitem(last=False)[0], None)
        missing = 1.0 - tokens
        if missing > 0:
            self._buckets[who] = (tokens, now)
            return missing / self._rate
        self._buckets[who] = (tokens - 1.0, now)
        if self._shared:
            self._used[who] = self._used.get(who, 0) + 1
        return 0.0

    def take_used(self, now: float) -> dict[Hashable, int]:
        """Return what callers have used since the last time, microseconds to fill it again.

        Who has used little waits for the next time. If the last time is long ago, because the
        database was away, what has been filled again since then does not count.
        """
        least = _UNTOLD * self._burst
        taken = {who: tokens for who, tokens in self._used.items() if tokens >= least}
        for who in taken:
            del self._used[who]
        return {
            who: round(1e6 * min(tokens / self._rate, self._until_full(who, now) + _TOLD))
            for who, tokens in taken.items()
        }

    def _until_full(self, who: Hashable, now: float) -> float:
        """Return the seconds until a bucket is full."""
        tokens, at = self._buckets[who]
        return max(0.0, (self._burst - tokens) / self._rate - (now - at))

    def settle(self, who: Hashable, missing: int, now: float) -> None:
        """Lower a bucket to what all processes together have left in it.

        missing : microseconds until it is full, without what was used since `take_used`
        """
        found = self._buckets.get(who)
        if found is not None:
            here = min(self._burst, found[0] + (now - found[1]) * self._rate)
            together = self._burst - missing / 1e6 * self._rate - self._used.get(who, 0)
            self._buckets[who] = (min(here, together), now)


#: Characters of an address that a proxy has passed on. It can be any text.
_ADDRESS = 64
#: Headers with which a proxy says for whom it sends a request.
_FORWARDED = frozenset({b"x-forwarded-for", b"forwarded"})
_EXCEEDED = "Rate limit exceeded"


class Rates:
    """The limits of a process: of keys, of addresses without one, and of wrong keys.

    shared : whether other processes are told
    """

    def __init__(self, settings: ServiceSettings, *, shared: bool = False) -> None:
        wrong, burst = settings.failed_keys, 10 * settings.failed_keys
        self._wrong = RateLimiter(wrong, burst, shared=shared)
        self._keys = RateLimiter(settings.rate_limit, settings.rate_burst, shared=shared)
        self._addresses = self._keys
        if not settings.rate_limit:
            rate, burst = settings.address_rate, settings.address_burst
            self._addresses = RateLimiter(rate, burst, shared=shared)
        self._warned = False

    @property
    def longest(self) -> float:
        """As in `RateLimiter`, for all limits."""
        return max(one.longest for one in (self._wrong, self._keys, self._addresses))

    def take_used(self, now: float) -> dict[bytes, tuple[RateLimiter, Hashable, int]]:
        """Return limit, caller and what it has used, by a hash that other processes share.

        Each is as in `RateLimiter.take_used`.
        """
        limits = {"wrong": self._wrong, "key": self._keys, "address": self._addresses}
        return {
            blake2b(f"{name} {who!r}".encode(), digest_size=16).digest(): (limit, who, used)
            for name, limit in limits.items()
            for who, used in limit.take_used(now).items()
        }

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
