"""Who asks and how often: keys, sessions, roles, and limits of rates.

The setting `rate_limit` applies to keys and to addresses without a key. Without it, `address_rate`
limits only addresses. Attempts with wrong keys have a separate limit, and never count against a
valid key from the same address.

The checks have an order: first the key itself (401), then its right (403), and only then whether
the pool exists (404). So a key cannot find out which pools exist beyond its own. Anybody may read
a public pool, but a key that is sent must be valid even there.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Generic, TypeVar, get_args

from starlette.requests import HTTPConnection
from starlette.types import Scope

from equipoise.errors import NotFoundError
from equipoise.messages.pools import PoolMessage
from equipoise.messages.upkeep import Role
from equipoise.pools.pool import pools as pools_workflow
from equipoise.store.connection import Store
from equipoise.store.keys import KeyRecord, find_key, find_session
from equipoise.store.schema import now
from equipoise.web.http.endpoints import ApiRequest
from equipoise.web.http.errors import ForbiddenError, TooManyRequestsError, UnauthorisedError
from equipoise.web.settings import ServiceSettings

if TYPE_CHECKING:
    from equipoise.web.service import BoundedExecutor

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
        bucket = self._buckets.get(who)
        if bucket is not None:
            tokens = min(tokens, bucket[0] + (now - bucket[1]) * self._rate)
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
        ip = ip_address(address)
    except ValueError:
        return address[:_ADDRESS]
    if not isinstance(ip, IPv6Address):
        return address
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(IPv6Address(int(ip) >> 64 << 64))


T = TypeVar("T")

_RANK = {role: rank for rank, role in enumerate(get_args(Role))}
#: Maximum number of values in a cache.
_CACHED = 10_000
INVALID_KEY = "invalid key: unknown in the database {database}, expired or revoked"
WITHOUT_BEARER = "the word Bearer is missing: send the header Authorization: Bearer KEY"
MISSING_KEY = "missing key: send the header Authorization: Bearer KEY"
SESSION_COOKIE = "equipoise-session"
#: A longer text is no key.
LONGEST_SECRET = 512


class ExpiringCache(Generic[T]):
    """Values by key that expire after some seconds, in bounded memory."""

    def __init__(self, seconds: float, most: int = _CACHED) -> None:
        self._seconds = seconds
        self._most = most
        self._values: OrderedDict[object, tuple[float, T]] = OrderedDict()

    def get(self, key: object, now: float) -> T | None:
        """Return the value, None if there is none or it has expired."""
        entry = self._values.get(key)
        return entry[1] if entry is not None and now < entry[0] else None

    def put(self, key: object, value: T, now: float) -> None:
        """Store a value."""
        self._values[key] = (now + self._seconds, value)
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)

    def clear(self) -> None:
        """Remove all values."""
        self._values.clear()


#: Microseconds between two updates of a key's last use.
_LAST_USED_EVERY = 60_000_000


class KeyUses:
    """When keys were last used, until the background thread stores it.

    A request that reads must not wait for a write, so requests only remember it here.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[int, int] = {}

    def note(self, key: KeyRecord, now: int) -> None:
        """Remember the use of a key, unless the stored one is at most a minute old."""
        if key.last_used is None or now - key.last_used > _LAST_USED_EVERY:
            with self._lock:
                self._times[key.id] = now

    def take(self) -> dict[int, int]:
        """Return times by the numbers of keys, and forget them."""
        with self._lock:
            times, self._times = self._times, {}
        return times


class Access:
    """The checks that come before anything else in a request."""

    def __init__(
        self,
        store: Store,
        settings: ServiceSettings,
        executor: BoundedExecutor,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._executor = executor
        self._clock = clock
        self._keys: ExpiringCache[KeyRecord] = ExpiringCache(settings.key_seconds)
        self._pools: ExpiringCache[PoolMessage] = ExpiringCache(settings.key_seconds)
        self.rates = Rates(settings)
        self.uses = KeyUses()
        self._open_calculations = settings.calculations == "open"

    def forget(self) -> None:
        """Clear the caches, after a key or a pool was changed."""
        self._keys.clear()
        self._pools.clear()

    async def admit(self, request: ApiRequest) -> None:
        """Check whether a request is allowed, and set its key.

        Raises : UnauthorisedError, ForbiddenError, NotFoundError, TooManyRequestsError
        """
        endpoint = request.endpoint
        if endpoint.is_open:
            return  # Monitoring has no limits.
        request.key = key = await (
            self._of_session(request) if endpoint.page else self.identify(request)
        )
        if key is None:
            scope = request.scope
            self.rates.check_address(address_of(scope), scope["headers"], self._clock())
        else:
            self.rates.check_key(key.id, self._clock())
        pool = await self._pool(request.pool_name) if endpoint.of_pool else None
        self._check_right(request, pool)
        request.known_pool = pool

    async def identify(self, request: ApiRequest) -> KeyRecord | None:
        """Return the key of a request, None if it has none.

        A valid key is accepted even after wrong keys from its address.
        Raises : UnauthorisedError for a wrong key, TooManyRequestsError after too many of them
        """
        header = request.header(b"authorization")
        if header is None:
            return None
        scheme, _, secret = header.partition(" ")
        is_bearer = scheme.lower() == "bearer"
        key = await self.of_secret(secret.strip() if is_bearer else "", request.scope)
        if key is None:
            raise self.invalid_key() if is_bearer else UnauthorisedError(WITHOUT_BEARER)
        return key

    def invalid_key(self) -> UnauthorisedError:
        """Return the error for a wrong key, which names the database it was looked for in."""
        return UnauthorisedError(INVALID_KEY.format(database=self._store.name))

    async def of_secret(self, secret: str, scope: Scope) -> KeyRecord | None:
        """Return the key of a secret, None for a wrong one.

        Raises : TooManyRequestsError after too many wrong ones
        """
        key = None
        if secret.isascii() and secret.isprintable() and 0 < len(secret) <= LONGEST_SECRET:
            digest = hashlib.sha256(secret.encode()).digest()
            key = self._keys.get(digest, self._clock())
            if key is None and (key := await self._used(find_key, secret)) is not None:
                self._keys.put(digest, key, self._clock())
        if key is None:
            self.rates.check_wrong(address_of(scope), self._clock())
        return key

    async def _of_session(self, request: ApiRequest) -> KeyRecord | None:
        """Return the key of the session of a page, None without one, or if it has ended.

        Raises : TooManyRequestsError after too many wrong tokens
        """
        token = HTTPConnection(request.scope).cookies.get(SESSION_COOKIE)
        if token is None:
            return None
        fits = 0 < len(token) <= LONGEST_SECRET
        key = await self._used(find_session, token) if fits else None
        if key is None:
            self.rates.check_wrong(address_of(request.scope), self._clock())
        return key

    async def _used(
        self, find: Callable[[Store, str, int], KeyRecord | None], secret: str
    ) -> KeyRecord | None:
        """Return the key of a secret or of a session, and remember its use."""
        at = now()
        key = await self._executor.run(find, self._store, secret, at)
        if key is not None:
            self.uses.note(key, at)
        return key

    async def _pool(self, name: str) -> PoolMessage | None:
        """Return a pool as it was lately, None if there is none of this name."""
        now = self._clock()
        pool = self._pools.get(name, now)
        if pool is None:
            try:
                pool = await self._executor.run(pools_workflow.pool_message, self._store, name)
            except NotFoundError:
                return None
            self._pools.put(name, pool, now)
        return pool

    def _check_right(self, request: ApiRequest, pool: PoolMessage | None) -> None:
        """Check the key of a request, its role, and whether its pool exists."""
        endpoint, key = request.endpoint, request.key
        public = pool is not None and pool.public and endpoint.right == "reader"
        free = public if endpoint.of_pool else endpoint.right is None
        if endpoint.group == "Calculations":
            free = self._open_calculations and (public or not endpoint.of_pool)
        if free:
            return
        if key is None:
            raise UnauthorisedError(MISSING_KEY)
        if endpoint.of_pool and not public:
            archive_of = None if pool is None else pool.archive_of
            if not is_key_of(key, request.pool_name, archive_of):
                raise ForbiddenError("the key is for another pool")
        if endpoint.all_pools and key.pool is not None:
            raise ForbiddenError("this needs a key for all pools")
        needed = endpoint.right
        if needed is not None and not has_role(key, needed):
            article = "an" if needed == "admin" else "a"
            raise ForbiddenError(f"this needs {article} {needed}'s key; got a {key.role}'s")
        if endpoint.of_pool and pool is None and not endpoint.new_pool:
            raise NotFoundError(f"no pool {request.pool_name!r}")


def has_role(key: KeyRecord | None, role: Role) -> bool:
    """Return whether a key has a role, or one that includes it, in any pool."""
    return key is not None and _RANK[key.role] >= _RANK[role]


def is_key_of(key: KeyRecord | None, pool: str, archive_of: str | None = None) -> bool:
    """Return whether a key is for a pool. A key for a pool is also for its past seasons."""
    return key is not None and key.pool in (None, pool, archive_of)


def rules_all_pools(key: KeyRecord | None) -> bool:
    """Return whether a key may create keys and pools."""
    return key is not None and key.pool is None and key.role == "admin"


def may_read(key: KeyRecord | None, pool: PoolMessage) -> bool:
    """Return whether a pool is public, or a key is for it."""
    return pool.public or is_key_of(key, pool.pool, pool.archive_of)


def audited_pool(key: KeyRecord | None, pool: str | None) -> str | None:
    """Return the pool whose audit log a request for `pool` gets, None for all pools.

    Raises : ForbiddenError if the key is for another pool
    """
    own = None if key is None else key.pool
    if own is not None and pool not in (None, own):
        raise ForbiddenError("the key is for another pool")
    return own or pool


def address_of(scope: Scope) -> str:
    """Return the address of the client, "" if it is not known."""
    client = scope.get("client")
    return str(client[0]) if client else ""
