"""Token buckets: a rate in the long run, a burst at once, and bounded memory."""

from __future__ import annotations

from equipoise.web.http.access import RateLimiter


def test_a_burst_passes_and_then_the_rate() -> None:
    """Three at once, then one each half second; the wait that is told is long enough."""
    limiter = RateLimiter(2.0, 3)
    assert [limiter.take("a", 0.0) for _ in range(3)] == [0, 0, 0]
    wait = limiter.take("a", 0.0)
    assert wait == 0.5
    assert limiter.take("a", 0.4) > 0
    assert limiter.take("a", 0.5) == 0


def test_callers_have_buckets_of_their_own() -> None:
    limiter = RateLimiter(1.0, 1)
    assert limiter.take("a", 0.0) == 0
    assert limiter.take("b", 0.0) == 0
    assert limiter.take("a", 0.0) > 0


def test_looking_takes_nothing() -> None:
    limiter = RateLimiter(1.0, 1)
    assert limiter.missing("a", 0.0) == 0
    assert limiter.take("a", 0.0) == 0
    assert limiter.missing("a", 0.0) == 1


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
