"""Many rows in one statement, checkpoints, and numbers of a whole pool, on both databases."""

from __future__ import annotations

import math
import statistics
import struct
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import Connection, event, select

from equipoise.store import bulk, changes, checkpoints, ratings
from equipoise.store.changes import counts
from equipoise.store.checkpoints import Checkpoint
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import get_pool
from equipoise.store.schema import changes as changes_table
from equipoise.store.schema import keys
from equipoise.store.schema import ratings as table
from pools.pool_trials import Trial, duel


def rows_of(players: list[str], rating: float = 1500.0) -> dict[str, list[object]]:
    """Return ratings as columns."""
    count = len(players)
    return {
        "player": list(players),
        "ordering": [-rating] * count,
        "rating": [rating] * count,
        "deviation": [None] * count,
        "matches": [1] * count,
        "last_time": [None] * count,
        "provisional": [False] * count,
        "state": [b"\x00\xff" * 4] * count,
    }


def test_rows_come_back_as_they_were_given(store: Store) -> None:
    """Numbers to the bit, null, bytes, and text with all that arrays and SQL give a meaning.

    Minus zero is the exception: SQLite keeps whole numbers as such.
    """
    odd = ["NULL", "", '"', "\\", "{a,b}", "'", "%s", "é", "🎉", "\t", "a b", "null"]
    numbers = [0.0, 2.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, 1 / 3, 1e22] + [
        -1.5
    ] * 4
    columns = rows_of(odd)
    columns |= {
        "rating": numbers,
        "deviation": [None, *numbers[1:]],
        "last_time": [None, 2**62, -(2**62), *range(9)],
        "provisional": [True, False] * 6,
        "state": [bytes([n, 0, 255, 92]) for n in range(12)],
    }
    with store.write() as connection:
        ratings.put(connection, 1, 1, columns)
        wanted = [table.c[name] for name in columns]
        found = {row[0]: row for row in connection.execute(select(*wanted))}
    for index, name in enumerate(odd):
        given = tuple(values[index] for values in columns.values())
        assert [_bits(one) for one in found[name]] == [_bits(one) for one in given]


def _bits(value: object) -> object:
    if isinstance(value, float):
        return struct.pack("<d", value)
    return bytes(value) if isinstance(value, bytes | memoryview) else value


def players_of(connection: Connection, pool: int, generation: int) -> int:
    """Return the number of players whose rating is stored."""
    return sum(map(len, ratings.all_ratings(connection, pool, generation)))


def test_rows_of_the_same_key_are_overwritten_where_that_is_wanted(store: Store) -> None:
    """And nothing else is."""
    with store.write() as connection:
        ratings.put(connection, 1, 1, rows_of(["ada", "bob"]))
        ratings.put(connection, 1, 2, rows_of(["ada"]))
        ratings.put(connection, 1, 1, rows_of(["bob", "cyd"], 1600.0))
    with store.read() as connection:
        found = ratings.ratings_of(connection, 1, 1, ["ada", "bob", "cyd", "dan"])
        assert {name: row.rating for name, row in found.items()} == {
            "ada": 1500.0,
            "bob": 1600.0,
            "cyd": 1600.0,
        }
        assert players_of(connection, 1, 2) == 1


@pytest.mark.parametrize("count", [499, 500, 501, 1_000, 1_234])
@pytest.mark.parametrize("replace", [False, True])
def test_more_rows_than_one_statement_takes_are_all_written(
    store: Store, count: int, replace: bool
) -> None:
    """Each once and as it was given, at the borders of statements too."""
    names = [f"p{number}" for number in range(count)]
    columns = rows_of(names) | {"matches": list(range(count))}
    with store.write() as connection:
        if replace:
            ratings.put(connection, 1, 1, rows_of([*names[::3], "other"]))
        ratings.put(connection, 1, 1, columns, replace=replace)
    with store.read() as connection:
        shown = [table.c.player, table.c.matches, table.c.generation]
        found = {tuple(row) for row in connection.execute(select(*shown))}
    expected = {(name, number, 1) for number, name in enumerate(names)}
    assert found == expected | ({("other", 1, 1)} if replace else set())


def test_a_row_that_is_there_already_stops_all_of_them(store: Store) -> None:
    """Wherever it stands among them: the transaction is as if it had not begun."""
    names = [f"p{number}" for number in range(1_100)]
    for at in (0, 700, 1_099):
        with store.write() as connection:
            ratings.put(connection, at, 1, rows_of([names[at]], 1600.0))
        with pytest.raises(Exception, match=r"(?i)unique"), store.write() as connection:
            ratings.put(connection, at, 1, rows_of(names), replace=False)
        with store.read() as connection:
            assert players_of(connection, at, 1) == 1


def test_no_rows_are_no_statement(store: Store) -> None:
    """Neither columns nor rows."""
    with store.write() as connection:
        ratings.put(connection, 1, 1, rows_of([]))
        bulk.insert_rows(connection, keys, ("id", "name"), [])
        changes.put(connection, 1, 1, {name: [] for name in changes.COLUMNS})
        assert players_of(connection, 1, 1) == 0


@pytest.fixture
def crowded(database_url: str) -> Store:
    """Give a store with 5,000 players."""
    store = open_store(database_url)
    with store.write() as connection:
        ratings.put(connection, 1, 1, rows_of([f"p{number}" for number in range(5_000)]))
    return store


@pytest.mark.parametrize("count", [0, 1, 50_000])
def test_any_number_of_values_may_be_asked_for(crowded: Store, count: int) -> None:
    """None, one, or more than a statement may have parameters."""
    asked = [f"p{number}" for number in range(count)]
    with crowded.read() as connection:
        found = ratings.states_of(connection, 1, 1, asked)
    assert set(found) == set(asked[:5_000])
    assert all(bytes(one.state) == b"\x00\xff" * 4 for one in found.values())
    crowded.close()


def test_values_that_no_column_can_have_are_not_among_them(crowded: Store) -> None:
    """The others are found all the same; twice the same is once."""
    with crowded.read() as connection:
        found = ratings.states_of(connection, 1, 1, ["\ud800", "p1", "p\0", "p1", "p2"])
    assert set(found) == {"p1", "p2"}
    crowded.close()


def test_all_players_come_in_the_order_of_their_bytes(crowded: Store) -> None:
    """In pieces that leave nobody out."""
    with crowded.write() as connection:
        ratings.put(connection, 1, 1, rows_of(["Z", "a", "é", "🎉", "_", "\uffff"]))
    with crowded.read() as connection:
        told = [row[0] for rows in ratings.all_states(connection, 1, 1) for row in rows]
        shown = [row.player for rows in ratings.all_ratings(connection, 1, 1) for row in rows]
    assert told == shown == sorted(told, key=str.encode)
    assert len(told) == 5_006
    crowded.close()


def checkpoint(time: int, seq: int, content: bytes = b"state") -> Checkpoint:
    """Return a checkpoint at a position."""
    return Checkpoint((time, seq), 7, "code", content)


def test_checkpoints_are_found_replaced_and_deleted_by_position(store: Store) -> None:
    """By time, then by number; one at the position itself has seen too much."""
    content = bytes(range(256)) * 8
    with store.write() as connection:
        for pool in (1, 2):
            for one in ((-5, 9), (0, 1), (0, 4), (7, 2)):
                checkpoints.add_checkpoint(connection, pool, checkpoint(*one))
        checkpoints.add_checkpoint(connection, 1, checkpoint(7, 2, content))
        asked = {(-5, 9): None, (0, 1): (-5, 9), (0, 5): (0, 4), (7, 2): (0, 4)}
        for position, expected in asked.items():
            found = checkpoints.last_before(connection, 1, position)
            assert (None if found is None else found.position) == expected
        assert checkpoints.last_before(connection, 1, (9, 0)) == checkpoint(7, 2, content)
        checkpoints.forget_from(connection, 1, (0, 4))
        assert checkpoints.positions(connection, 1) == [(-5, 9), (0, 1)]
        assert len(checkpoints.positions(connection, 2)) == 4


def test_thinning_keeps_the_last_one(sqlite_store: Store) -> None:
    """It is the one that most replays start from."""
    most = sqlite_store.sizes.checkpoints
    with sqlite_store.write() as connection:
        for number in range(most):
            checkpoints.add_checkpoint(connection, 1, checkpoint(number, number))
        assert not checkpoints.thin(connection, 1)
        checkpoints.add_checkpoint(connection, 1, checkpoint(most, most))
        assert checkpoints.thin(connection, 1)
        left = checkpoints.positions(connection, 1)
    assert left == [(number, number) for number in range(0, most + 1, 2)]


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
        where = changes_table.c.seq if by_seq else changes_table.c.time
        rows = connection.execute(
            select(where, changes_table.c.rating).where(
                counts(record),
                where >= since * unit,
                # Of two of five players, every third by name is read.
                changes_table.c.player.in_(NAMES if players > 5 else NAMES[2::3]),
            )
        ).all()
        found = changes.means_by_bin(
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
        changes.means_by_bin(
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
