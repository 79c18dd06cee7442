"""Processes share rate limits: each knows what the others have let through, a second later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError

from equipoise.errors import InvalidDataError
from equipoise.store import rate_counts
from equipoise.store.connection import Store, open_store
from equipoise.store.schema import rate_counts as table
from equipoise.web.http import settling
from equipoise.web.http.errors import TooManyRequestsError
from equipoise.web.http.rates import RateLimiter, Rates
from equipoise.web.http.settling import RateSettling
from equipoise.web.settings import ServiceSettings


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """Give a store in which nobody has used anything."""
    found = open_store(database_url)
    yield found
    found.close()


class Clock:
    """The clock of all processes and of the database, seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        monkeypatch.setattr(rate_counts, "_clock", lambda *_: round(self.now * 1_000_000))

    def __call__(self) -> float:
        return self.now


class Process:
    """One of several processes."""

    def __init__(self, store: Store, clock: Clock, settings: ServiceSettings) -> None:
        self.clock, self.rates = clock, Rates(settings, shared=True)
        self.settling = RateSettling(store, self.rates, clock)

    def passed(self, check: Callable[[], None], requests: int) -> int:
        """Return how many requests pass."""
        count = 0
        for _ in range(requests):
            try:
                check()
            except TooManyRequestsError:
                break
            count += 1
        return count

    def of_key(self, requests: int, key: int = 1) -> int:
        return self.passed(lambda: self.rates.check_key(key, self.clock()), requests)

    def of_address(self, requests: int, address: str = "192.0.2.1") -> int:
        return self.passed(lambda: self.rates.check_address(address, [], self.clock()), requests)

    def of_wrong(self, requests: int, address: str = "192.0.2.1") -> int:
        return self.passed(lambda: self.rates.check_wrong(address, self.clock()), requests)

    def settle(self) -> None:
        asyncio.run(self.settling.settle())


def rows(store: Store) -> int:
    with store.read() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def test_a_limit_holds_for_all_processes_within_a_second_of_each(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller asks three processes for as much as it can get, for a minute.

    By arithmetic: in the first second each lets a burst and a second through. In all that time no
    more passes than the burst, the rate times the time, and that once for each process more.
    """
    clock = Clock(monkeypatch)
    settings = ServiceSettings(rate_limit=10.0, rate_burst=20)
    three = [Process(store, clock, settings) for _ in range(3)]
    passed = 0
    for _ in range(60):
        passed += sum(one.of_key(100) for one in three)
        clock.now += 1.0
        for one in three:
            one.settle()
    assert 20 + 10 * 55 <= passed <= 20 + 10 * 60 + 3 * (20 + 10)


def test_a_caller_of_one_process_finds_its_bucket_empty_at_the_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the next settlement of each until the bucket is filled; other callers have their own."""
    clock = Clock(monkeypatch)
    settings = ServiceSettings(rate_limit=1.0, rate_burst=50, failed_keys=1.0)
    one, other = (Process(store, clock, settings) for _ in range(2))
    assert one.of_key(60) == 50
    one.settle()
    assert other.of_key(5) == 5  # it has not heard of it
    other.settle()
    assert other.of_key(1) == 0
    clock.now += 6.5
    assert other.of_key(60) == 1
    assert other.of_key(60, key=2) == 50
    assert other.of_address(60) == 50


def test_who_kept_to_the_limit_while_the_database_hung_is_not_locked_out(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A minute of requests, told at once, was taken for a burst that a minute must fill."""
    clock = Clock(monkeypatch)
    one, other = (
        Process(store, clock, ServiceSettings(rate_limit=10.0, rate_burst=20)) for _ in range(2)
    )
    for _ in range(60):
        assert one.of_key(9) == 9
        clock.now += 1.0
    one.settle()
    assert one.of_key(9) == 9
    # What it cannot have filled again counts.
    clock.now += 60.0
    assert one.of_key(99) == 20
    one.settle()
    assert other.of_key(1) == 1
    other.settle()
    assert other.of_key(1) == 0


def test_a_clock_that_is_set_back_locks_nobody_out(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By arithmetic: 8 bursts of 50 s and 60 s, instead of the day by which the clock was wrong."""
    clock, database = Clock(monkeypatch), Clock(monkeypatch)
    settings = ServiceSettings(rate_limit=1.0, rate_burst=50)
    process = Process(store, clock, settings)
    assert process.of_key(99) == 50
    database.now += 86_400.0
    process.settle()
    database.now -= 86_400.0
    clock.now += 50.0
    assert process.of_key(1) == 1  # the first that the database hears of after the clock was set
    process.of_key(10)
    process.settle()
    for _ in range(8 * 50 + 60 + 50):
        clock.now += 1.0
        database.now += 1.0
    assert process.of_key(99) == 50
    process.settle()
    clock.now += 50.0
    database.now += 50.0
    assert process.of_key(99) == 50


@pytest.mark.parametrize("kind", ["of_address", "of_wrong"])
def test_addresses_and_wrong_keys_are_shared_too(
    store: Store, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """But separately. The address is not in the database."""
    clock = Clock(monkeypatch)
    settings = ServiceSettings(address_rate=1.0, address_burst=10, failed_keys=1.0)
    one, other = (Process(store, clock, settings) for _ in range(2))
    assert getattr(one, kind)(99) == 10
    one.settle()
    getattr(other, kind)(1)
    other.settle()
    assert getattr(other, kind)(1) == 0
    third = "of_wrong" if kind == "of_address" else "of_address"
    assert getattr(other, third)(1) == 1
    with store.read() as connection:
        (caller,) = connection.execute(select(table.c.caller)).scalars()
    assert len(caller) == 16
    assert b"192" not in bytes(caller)


def test_what_is_used_during_a_settlement_counts_after_it() -> None:
    """Requests go on while the database is asked."""
    limiter = RateLimiter(1.0, 10, shared=True)
    for _ in range(4):
        limiter.take("a", 0.0)
    assert limiter.take_used(0.0) == {"a": 4_000_000}
    for _ in range(3):
        limiter.take("a", 0.0)
    limiter.settle("a", 5_000_000, 0.0)  # another process has let one through
    assert [limiter.take("a", 0.0) > 0 for _ in range(3)] == [False, False, True]
    limiter.settle("b", 5_000_000, 0.0)  # not known here any more
    assert len(limiter) == 1


def test_a_visitor_now_and_then_is_not_written(store: Store) -> None:
    """A fiftieth of the burst; and memory is bounded."""
    limiter = RateLimiter(100.0, 300, buckets=10, shared=True)
    for number in range(100):
        for _ in range(5):
            limiter.take(number, 0.0)
    assert limiter.take_used(0.0) == {}
    assert len(limiter._used) == 10
    limiter.take(99, 0.0)
    assert limiter.take_used(0.0) == {99: 60_000}
    assert len(limiter._used) == 9
    alone = RateLimiter(1.0, 1)
    alone.take("a", 0.0)
    assert alone.take_used(0.0) == {}


def test_full_buckets_are_deleted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a minute, by whoever settles."""
    clock = Clock(monkeypatch)
    monkeypatch.setattr(settling, "_CLEARING", 2)
    process = Process(store, clock, ServiceSettings(rate_limit=1.0, rate_burst=10))
    process.of_key(5, key=1)
    process.settle()
    clock.now += 4.9
    process.of_key(1, key=2)
    process.settle()
    assert rows(store) == 2
    clock.now += 0.1
    process.of_key(1, key=3)
    process.settle()
    assert rows(store) == 3
    process.of_key(1, key=3)
    process.settle()
    assert rows(store) == 2


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError("locked"),
        OperationalError("", {}, Exception("away")),
        InvalidDataError([]),
    ],
)
def test_without_the_database_each_process_has_its_own_counts(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """What could not be told is forgotten, and no bucket gets fuller by that."""
    clock = Clock(monkeypatch)
    process = Process(store, clock, ServiceSettings(rate_limit=1.0, rate_burst=10))

    def fail(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(rate_counts, "settle", fail)
        assert process.of_key(99) == 10
        process.settle()
        assert process.of_key(1) == 0
    clock.now += 5
    assert process.of_key(99) == 5
    process.settle()
    clock.now += 5
    assert process.of_key(99) == 5


def test_many_callers_are_settled_at_once(store: Store) -> None:
    """In more statements than one; and processes that settle the same callers lock in order."""
    used = {number.to_bytes(16): 1_000_000 + number for number in range(12_000)}
    first = rate_counts.settle(store, used)
    assert first == used
    second = rate_counts.settle(store, used)
    # The clock goes on between the two.
    assert all(used[one] <= second[one] <= 2 * used[one] for one in used)
    rate_counts.settle(store, {b"x": -1})
    rate_counts.clear_full(store)
    assert rows(store) <= 12_000


def test_the_clock_of_the_database_is_used(store: Store) -> None:
    """On this machine it is the clock of the machine."""
    with store.read() as connection:
        found = rate_counts._clock(store, connection)
    assert abs(found / 1e6 - time.time()) < 60.0


def test_the_task_settles_every_second(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after a failure; and ends when it is told to."""
    real = rate_counts.settle
    failures = [ZeroDivisionError()]

    def fails_once(*args: Any, **kwargs: Any) -> dict[bytes, int]:
        if failures:
            raise failures.pop()
        return real(*args, **kwargs)

    monkeypatch.setattr(rate_counts, "settle", fails_once)
    monkeypatch.setattr(settling, "SECONDS", 0.01)
    rates = Rates(ServiceSettings(rate_limit=1.0, rate_burst=10), shared=True)
    rates.check_key(1, 0.0)

    async def go() -> None:
        task = RateSettling(store, rates)
        await task.stop()
        task.start()
        while failures:
            await asyncio.sleep(0.01)
        rates.check_key(1, 0.0)
        while await asyncio.to_thread(rows, store) == 0:
            await asyncio.sleep(0.01)
        await task.stop()

    asyncio.run(asyncio.wait_for(go(), 60))
