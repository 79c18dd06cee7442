"""Many rows in one statement: as they were given, on both databases."""

from __future__ import annotations

import math
import struct

import pytest
from sqlalchemy import Connection, select

from equipoise.store import bulk, changes, ratings
from equipoise.store.connection import Store, open_store
from equipoise.store.schema import keys
from equipoise.store.schema import ratings as table


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
    """And nothing else is; otherwise it is an error."""
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

    def again() -> None:
        with store.write() as connection:
            ratings.put(connection, 1, 1, rows_of(["ada"]), replace=False)

    with pytest.raises(Exception, match=r"(?i)unique"):
        again()


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
