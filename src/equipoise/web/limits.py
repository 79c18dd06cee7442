"""How often one key, or one address, may ask: token buckets in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

#: Buckets kept; beyond that the one that was longest not used is forgotten, as if it were full.
_BUCKETS = 20_000


class RateLimiter:
    """Buckets that fill with `rate` tokens a second up to `burst`; a rate of 0 limits nothing."""

    def __init__(self, rate: float, burst: float, buckets: int = _BUCKETS) -> None:
        self._rate = rate
        self._burst = max(burst, 1.0)
        self._most = buckets
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, who: Hashable, now: float) -> float:
        """Take a token; return 0, or the seconds until there is one and take none.

        now : seconds of a clock that never goes back
        """
        if not self._rate:
            return 0.0
        tokens = self._filled(who, now)
        missing = 1.0 - tokens
        self._put(who, tokens if missing > 0 else tokens - 1.0, now)
        return missing / self._rate if missing > 0 else 0.0

    def missing(self, who: Hashable, now: float) -> float:
        """Return the seconds until there is a token, 0 if there is one; take none."""
        return max(0.0, (1.0 - self._filled(who, now)) / self._rate) if self._rate else 0.0

    def _filled(self, who: Hashable, now: float) -> float:
        found = self._buckets.get(who)
        if found is None:
            return self._burst
        tokens, then = found
        return min(self._burst, tokens + (now - then) * self._rate)

    def _put(self, who: Hashable, tokens: float, now: float) -> None:
        self._buckets[who] = (tokens, now)
        self._buckets.move_to_end(who)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
