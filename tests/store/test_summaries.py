"""Numbers of a whole pool: those of a plain query, found without going through the pool twice."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from sqlalchemy import event, select

from equipoise.store import changes as summaries
from equipoise.store.changes import counts
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from equipoise.store.schema import changes
from pools.pool_trials import Trial, duel

NAMES = ["ada", "bob", "cyd", "dan", "eve"]


def played(store: Store, **settings: Any) -> Trial:
    """Return a pool of 40 duels, a second apart where it has times, two of them void."""
    pool = Trial(store, **settings)
    timed = settings.get("times") != "none"
    for number in range(40):
        two = NAMES[number % 5], NAMES[(number * 3 + 1 + number // 5) % 5]
        if two[0] != two[1]:
            pool.post(duel(f"m{number}", *two, number if timed else None))
    for match in ("m21", "m3"):
        pool.void(match)
        pool.settle()
    return pool


@pytest.mark.parametrize("by_seq", [False, True])
def test_means_are_those_of_a_plain_query(store: Store, by_seq: bool) -> None:
    """Of all changes since then that count, whichever generation they are of, bin by bin."""
    pool = played(store, **({"times": "none"} if by_seq else {"late": "replay"}))
    for since, players in product([0, 11, 39, 100], [1000, 2]):
        _compare_means(store, pool, since, by_seq, players)


def _compare_means(store: Store, pool: Trial, since: int, by_seq: bool, players: int) -> None:
    """Compare the means since a time or number of some players with those of a plain query."""
    unit = 1 if by_seq else 1_000_000
    with store.read() as connection:
        record = get_pool(connection, pool.name)
        where = changes.c.seq if by_seq else changes.c.time
        rows = connection.execute(
            select(where, changes.c.rating).where(
                counts(record),
                where >= since * unit,
                # Of two of five players, every third by name is read.
                changes.c.player.in_(NAMES if players > 5 else NAMES[2::3]),
            )
        ).all()
        found = summaries.means_by_bin(
            connection,
            record,
            players=players,
            since=since * unit,
            width=7 * unit,
            by_seq=by_seq,
            about=1500.0,
        )
    bins: dict[int, list[float]] = {}
    for place, rating in rows:
        bins.setdefault((place - since * unit) // (7 * unit), []).append(rating)
    assert [(one.bin, one.participations) for one in found] == [
        (number, len(bins[number])) for number in sorted(bins)
    ]
    for one in found:
        assert one.mean == pytest.approx(statistics.fmean(bins[one.bin]), rel=1e-12)
        squares = [(rating - 1500.0) ** 2 for rating in bins[one.bin]]
        assert one.square == pytest.approx(statistics.fmean(squares), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("by_seq", [False, True])
def test_means_of_some_players_look_each_change_up_by_its_key(
    sqlite_store: Store, by_seq: bool
) -> None:
    """SQLite would else go through all changes for each one: a minute for a few ten thousand."""
    pool = Trial(sqlite_store)
    said: list[tuple[str, Any]] = []

    def note(*given: Any) -> None:
        said.append((given[2], given[3]))

    with sqlite_store.read() as connection:
        record = replace(get_pool(connection, pool.name), players=18)
        event.listen(sqlite_store.engine, "before_cursor_execute", note)
        summaries.means_by_bin(
            connection, record, players=9, since=5, width=7, by_seq=by_seq, about=0.0
        )
        event.remove(sqlite_store.engine, "before_cursor_execute", note)
        ((query, values),) = said
        plan = _plan(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", values).all())
    assert [line for line in plan if " changes " in line] == [
        "SEARCH changes USING PRIMARY KEY (pool=? AND time=? AND seq=? AND player=?)"
    ]


def _plan(rows: Sequence[Any]) -> list[str]:
    return [str(row[-1]) for row in rows]
