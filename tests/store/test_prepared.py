"""Prepared queries give what SQLAlchemy gives, and fail as it fails, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from sqlalchemy import column, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from equipoise.store import ratings
from equipoise.store.bulk import Prepared
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import PoolRecord, find_pool, pool_by_number
from equipoise.store.ratings import RatingRow
from equipoise.store.schema import ratings as table
from pools.pool_trials import Trial, duel

ODD = ["'", '"', "%s", "%(player)s", ":player", "?", "é", "🎉", "", "\\", "NULL", "{a,b}"]


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    """Give a store with a pool of odd names, half of them provisional, some disqualified."""
    found = open_store(database_url)
    with found.write() as connection:
        count = len(ODD)
        columns = {
            "player": ODD,
            "ordering": [-1500.0 - number // 3 for number in range(count)],
            "rating": [1500.0 + number / 3 for number in range(count)],
            "deviation": [None, *[50.0] * (count - 1)],
            "matches": list(range(count)),
            "last_time": [None, 2**62, -(2**62), *range(count - 3)],
            "provisional": [number % 2 == 0 for number in range(count)],
            "disqualified": [number % 5 == 1 for number in range(count)],
            "state": [b"\x00"] * count,
        }
        ratings.put(connection, 1, 1, columns)
    yield found
    found.close()


def test_a_page_is_what_the_table_has(store: Store) -> None:
    """From the top and after every player, with every kind of name in the mark."""
    cases = product([False, True], [False, True], [False, True, None], [None, 3, -(2**62)])
    with store.read() as connection:
        wanted = [table.c[name] for name in RatingRow._fields]
        every = sorted(
            (RatingRow._make(row) for row in connection.execute(select(*wanted))),
            key=lambda row: (row.ordering, row.player.encode()),
        )
        marks = [None, *((row.ordering, row.player) for row in every)]
        for mark, (backwards, provisional, disqualified, since) in product(marks, list(cases)):
            page = ratings.leaderboard(
                connection,
                1,
                1,
                after=mark,
                limit=5,
                provisional=provisional,
                disqualified=disqualified,
                active_since=since,
                backwards=backwards,
            )
            listed = [row for row in every if disqualified in (None, row.disqualified)]
            assert page == _page(listed, mark, provisional, since, backwards)[:5]
            assert all(type(row.provisional) is bool for row in page)
            assert all(type(row.disqualified) is bool for row in page)


def _page(
    every: list[RatingRow],
    mark: tuple[float, str] | None,
    provisional: bool,
    since: int | None,
    backwards: bool,
) -> list[RatingRow]:
    """Return all rows of a leaderboard after a mark, or before it."""
    at = None if mark is None else (mark[0], mark[1].encode())
    found = []
    for row in every:
        here = (row.ordering, row.player.encode())
        beyond = at is None or (here < at if backwards else here > at)
        active = since is None or (row.last_time is not None and row.last_time >= since)
        if beyond and active and (provisional or not row.provisional):
            found.append(row)
    return found[::-1] if backwards else found


def same(one: PoolRecord | None, other: PoolRecord) -> bool:
    """Return whether two records have the same columns, arrays compared by their numbers."""
    assert one is not None
    for name in PoolRecord.__struct_fields__:
        values = [getattr(record, name) for record in (one, other)]
        if name == "shared":
            values = [{name: part.tolist() for name, part in value.items()} for value in values]
        if values[0] != values[1]:
            return False
    return True


def test_a_pool_is_read_as_it_is_locked(store: Store) -> None:
    """All of its columns, whatever it has been through."""
    pool = Trial(store, late="replay", display_decay_per_day=1.0)
    for step in (
        lambda: pool.post(duel("a", "ana", "bob", 5), duel("b", "bob", "ana", 9)),
        lambda: pool.void("a"),
        pool.replay,
        pool.settle,
    ):
        with store.write() as connection:
            locked = find_pool(connection, pool.name, lock=True)
            assert locked is not None
            assert same(find_pool(connection, pool.name), locked)
            assert same(pool_by_number(connection, locked.id), locked)
        step()
    with store.read() as connection:
        found = find_pool(connection, pool.name)
        assert type(found.garbage) is bool
        for odd in ("", "no\0pool", "\ud800", "'", "%s"):
            assert find_pool(connection, odd) is None


def test_what_the_driver_raises_is_raised_as_by_sqlalchemy(store: Store) -> None:
    """Whoever answers for a database that is away knows no driver."""
    absent = Prepared(select(column("id")).select_from(text("nowhere")))
    with store.read() as connection, pytest.raises(DBAPIError, match="nowhere"):
        absent.rows(connection, {})
    columns = {"player": ["ana", "ana"], "ordering": [0.0] * 2, "rating": [0.0] * 2}
    columns |= {"matches": [0] * 2, "provisional": [True] * 2, "state": [b""] * 2}
    with pytest.raises(IntegrityError), store.write() as connection:
        ratings.put(connection, 1, 1, columns, replace=False)
