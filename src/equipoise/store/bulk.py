"""Statements over many rows at once, and how many rows each step of a database takes.

Results do not depend on them. Every connection of a store has the sizes of that store.

They use the driver's own cursor, because SQLAlchemy's layers would cost more than the database.
SQLite takes rows as groups of parameters, PostgreSQL as one array for each column.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, cast

import msgspec
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Dialect,
    Double,
    Integer,
    LargeBinary,
    Select,
    Table,
    Text,
    Update,
    bindparam,
    func,
    literal,
    select,
)
from sqlalchemy.exc import DBAPIError


def is_name(text: str) -> bool:
    """Return whether a column of names can have this value. Requests may have other ids."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


#: Name of the execution option of a connection that holds its sizes.
OPTION = "equipoise_sizes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Limits of single steps, which bound memory and the time that writers wait.

    matches : of the log read at once; fewer if their content has more than `characters`, which is
        checked every `fetched` rows
    batch : participations that a verification rates at once, roughly
    ratings : players read at once
    board : players of a leaderboard updated in one transaction
    imported : matches or lines that an import posts at once; fewer if they have more than
        `characters`. Each time all players in them are written, so few large steps are faster;
        others who write wait for a step, a second or two
    rows : written or deleted by a replay in one transaction
    players_left : participations left to rate at which a replay locks writers out and finishes
    lease : microseconds for which a process leases a replay. It renews the lease every few rows.
        After a crash the pool waits so long for the next replay
    beat : seconds between two renewals while a replay reads: well within the lease
    checkpoints : most checkpoints of a pool; above that every second one is deleted and the
        interval doubles
    checkpoint_interval : participations between two checkpoints at first
    checkpoint_per_player : participations for each player between two checkpoints at least. A
        checkpoint has all players, so this keeps checkpoints a small part of the work
    partial_interval : participations between two partial checkpoints at least
    partial_bytes : bytes of states that a partial checkpoint may have for each participation since
        the one before. Where players remember many performances, there are fewer
    partial_rows : rows of partial checkpoints, of about 32 kB, deleted in one transaction
    """

    matches: int = 2_000
    characters: int = 16 * 2**20
    fetched: int = 250
    batch: int = 50_000
    ratings: int = 5_000
    board: int = 2_500
    imported: int = 50_000
    rows: int = 2_500
    players_left: int = 400
    lease: int = 10_000_000
    beat: float = 2.0
    checkpoints: int = 32
    checkpoint_interval: int = 20_000
    checkpoint_per_player: int = 2
    partial_interval: int = 2_000
    partial_bytes: int = 256
    partial_rows: int = 200


#: The default sizes.
SIZES = Sizes()


def sizes_of(connection: Connection) -> Sizes:
    """Return the sizes of the store that a connection belongs to."""
    sizes: Sizes = connection.get_execution_options().get(OPTION, SIZES)
    return sizes


class driver_cursor:  # noqa: N801 - a context manager; as a generator, a post would pay for it
    """Gives a cursor of the driver, in the transaction of a connection.

    name : of a cursor that PostgreSQL keeps
    Errors of the driver are raised as SQLAlchemy raises them, which callers expect.
    """

    def __init__(self, connection: Connection, *name: str) -> None:
        self._connection, self._name = connection, name

    def __enter__(self) -> Any:
        """Return the cursor."""
        try:
            self._cursor = self._connection.connection.cursor(*self._name)
        except Exception as error:
            self._translate(error)
            raise
        return self._cursor

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Close the cursor."""
        try:
            self._cursor.close()
        except Exception as failure:
            self._translate(failure)
            raise
        if error is not None:
            self._translate(error)

    def _translate(self, error: BaseException) -> None:
        """Raise the error of SQLAlchemy for an error of the driver."""
        connection, dialect = self._connection, self._connection.dialect
        base = dialect.loaded_dbapi.Error
        if not isinstance(error, base):
            return
        gone = dialect.is_disconnect(error, connection.connection.driver_connection, None)
        if gone:  # as SQLAlchemy does; otherwise an error of the rollback would hide this one
            connection.invalidate(error)
        raise DBAPIError.instance(
            None, None, error, base, connection_invalidated=gone, dialect=dialect
        ) from error


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause Python's search for cycles of objects while very many rows and matches are made.

    They have no cycles, and searching them again and again takes as long as making them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


#: Element types of the arrays in which PostgreSQL takes columns.
_ARRAYS: dict[type, str] = {
    BigInteger: "bigint",
    Integer: "integer",
    Double: "double precision",
    Boolean: "boolean",
    LargeBinary: "bytea",
}

#: Rows that SQLite inserts in one statement, far below its limit of parameters.
_GROUP = 500
#: Rows of PostgreSQL from which on columns are searched for those with one value.
_MANY = 1_000


def insert(
    connection: Connection,
    table: Table,
    columns: Mapping[str, Sequence[Any]],
    *,
    replace: bool = False,
) -> None:
    """Insert rows given as columns of equal length.

    replace : overwrite rows that have the same primary key
    """
    names = tuple(columns)
    if connection.dialect.name == "sqlite":
        rows = list(zip(*columns.values(), strict=True))
        insert_rows(connection, table, names, rows, replace=replace)
    elif len(columns[names[0]]):
        _insert_arrays(connection, table, names, list(columns.values()), replace)


def insert_rows(
    connection: Connection,
    table: Table,
    names: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    *,
    replace: bool = False,
) -> None:
    """Insert rows; names : of their columns, in order."""
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        _insert_in_groups(connection, table, names, rows, replace)
    else:
        _insert_arrays(connection, table, names, list(zip(*rows, strict=True)), replace)


def _insert_in_groups(
    connection: Connection,
    table: Table,
    names: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    replace: bool,
) -> None:
    """Insert rows into SQLite, many in one statement, during which other threads can run."""
    whole = len(rows) - len(rows) % _GROUP
    statement = _for_sqlite(table, names, replace, _GROUP) if whole else ""
    with driver_cursor(connection) as cursor:
        for at in range(0, whole, _GROUP):
            cursor.execute(statement, list(chain.from_iterable(rows[at : at + _GROUP])))
        rows = rows[whole:]
        if rows:
            # SQLAlchemy's loop over parameters would cost more than SQLite's over rows.
            cursor.executemany(_for_sqlite(table, names, replace), rows)


def _insert_arrays(
    connection: Connection,
    table: Table,
    names: tuple[str, ...],
    columns: Sequence[Sequence[Any]],
    replace: bool,
) -> None:
    """Insert rows into PostgreSQL, one array for each column.

    Of very many rows, a column with one value is given once: mostly half of the columns are.
    """
    same: tuple[bool, ...] = (False,) * len(names)
    if len(columns[0]) >= _MANY:
        same = tuple(values.count(values[0]) == len(values) for values in columns)
        same = same if not all(same) else (False,) * len(names)
    kinds = [_array(table.c[name]) for name in names]
    arrays = [
        values[0] if once else _literal(values, kind)
        for values, kind, once in zip(columns, kinds, same, strict=True)
    ]
    with driver_cursor(connection) as cursor:
        cursor.execute(_for_postgresql(table, names, replace, same), arrays)


def _literal(values: Sequence[Any], kind: str) -> str:
    """Return values as a PostgreSQL array literal, which is faster than the driver's arrays."""
    if kind == "text":
        words = _quoted(values)
    elif kind == "bytea":
        words = ["NULL" if value is None else f'"\\\\x{value.hex()}"' for value in values]
    else:
        # PostgreSQL reads numbers and booleans as Python writes them.
        words = ["NULL" if value is None else repr(value) for value in values]
    return "{" + ",".join(words) + "}"


def _quoted(values: Sequence[str | None]) -> list[str]:
    """Return texts as quoted elements of an array literal."""
    every = "".join(value for value in values if value is not None)
    if "\\" in every or '"' in every:
        values = [
            None if value is None else value.replace("\\", "\\\\").replace('"', '\\"')
            for value in values
        ]
    return ["NULL" if value is None else f'"{value}"' for value in values]


def among(column: Column[Any], values: Iterable[Any], connection: Connection) -> Any:
    """Return the condition that a column of texts or whole numbers has one of many values."""
    is_text = isinstance(column.type, Text)
    wanted = _names(values) if is_text else list(values)
    if connection.dialect.name == "sqlite":
        return column.in_(select(_each(wanted).c.value))
    array = ARRAY(Text if is_text else BigInteger)
    return column == func.any(bindparam(None, wanted, array, unique=True))


def has_json(connection: Connection, column: Column[Any], text: str) -> Any:
    """Return the condition that JSON in a column has a text."""
    return has_text(connection, column, msgspec.json.encode(text).decode()[1:-1])


def has_text(connection: Connection, column: Column[Any], text: str) -> Any:
    """Return the condition that a column has a text."""
    find = func.instr if connection.dialect.name == "sqlite" else func.strpos
    return find(column, text) > 0


def _each(values: list[Any]) -> Any:
    """Return values as a table of SQLite."""
    return func.json_each(literal(json.dumps(values))).table_valued("value")


def _names(values: Iterable[str]) -> list[str]:
    """Return the values that a column of names can have."""
    wanted = list(values)
    return wanted if is_name("".join(wanted)) else [name for name in wanted if is_name(name)]


@lru_cache(maxsize=64)
def _for_sqlite(table: Table, names: tuple[str, ...], replace: bool, rows: int = 1) -> str:
    row = f"({', '.join('?' * len(names))})"
    start = f"INSERT INTO {table.name} ({_listed(names)}) VALUES {', '.join([row] * rows)}"
    return start + _update(table, names, replace)


@lru_cache(maxsize=64)
def _for_postgresql(
    table: Table, names: tuple[str, ...], replace: bool, same: tuple[bool, ...]
) -> str:
    """Return the statement; same : columns that are given as one value, the others as arrays."""
    kinds = [_array(table.c[name]) for name in names]
    shown = [
        f"%s::{kind}" if once else f"unnest(%s::{kind}[])"
        for kind, once in zip(kinds, same, strict=True)
    ]
    return (
        f"INSERT INTO {table.name} ({_listed(names)}) "
        f"SELECT {', '.join(shown)}{_update(table, names, replace)}"
    )


def _array(column: Column[Any]) -> str:
    """Return the element type of the array for a column."""
    return _ARRAYS.get(type(column.type), "text")


def _listed(names: Sequence[str]) -> str:
    """Return names of columns in quotes, as some are words of SQL."""
    return ", ".join(f'"{name}"' for name in names)


def _update(table: Table, names: Sequence[str], replace: bool) -> str:
    """Return the clause for rows that exist."""
    if not replace:
        return ""
    key = [column.name for column in table.primary_key.columns]
    rest = ", ".join(f'"{name}" = excluded."{name}"' for name in names if name not in key)
    return f" ON CONFLICT ({_listed(key)}) DO UPDATE SET {rest}"


class Prepared:
    """A statement compiled once. Its values are the driver's: booleans of SQLite are 0 and 1."""

    def __init__(self, query: Select[Any] | Update) -> None:
        self._query = query
        self._compiled: dict[str, _Statement] = {}

    def rows(self, connection: Connection, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Return the rows for these values of the parameters, all at once."""
        statement = self._statement(connection.dialect)
        with driver_cursor(connection) as cursor:
            cursor.execute(statement.text, statement.parameters(values))
            return cast("list[tuple[Any, ...]]", cursor.fetchall())

    def run(self, connection: Connection, values: Mapping[str, Any]) -> None:
        """Run a statement that has no rows as its result."""
        statement = self._statement(connection.dialect)
        with driver_cursor(connection) as cursor:
            cursor.execute(statement.text, statement.parameters(values))

    def pieces(
        self, connection: Connection, values: Mapping[str, Any], rows: int
    ) -> Generator[list[tuple[Any, ...]], None, None]:
        """Give the rows for these values in pieces, so that not all need be read."""
        statement = self._statement(connection.dialect)
        # A cursor with a name is one of the server: others of PostgreSQL get all rows at once.
        name = () if connection.dialect.name == "sqlite" else ("equipoise_rows",)
        with driver_cursor(connection, *name) as cursor:
            cursor.execute(statement.text, statement.parameters(values))
            while piece := cursor.fetchmany(rows):
                yield piece

    def _statement(self, dialect: Dialect) -> _Statement:
        statement = self._compiled.get(dialect.name)
        if statement is None:
            statement = self._compiled[dialect.name] = _statement(self._query, dialect)
        return statement


class PreparedEach:
    """A query, compiled once, for the rows that have one of many values, at most one each.

    query : with all columns, `column` among them, and all conditions except the value. An index
        that ends with `column` makes the value unique under these conditions.
    """

    def __init__(self, query: Select[Any], column: Column[Any]) -> None:
        listed = func.json_each(bindparam("each")).table_valued("value")
        self._sqlite = Prepared(query.where(column.in_(select(listed.c.value))))
        # One lookup for each value: with outdated statistics PostgreSQL would scan the table for
        # all values at once. The order and the limit force the index that ends with `column`; for
        # equality alone it may choose another index with the same first columns.
        array = bindparam("each", type_=ARRAY(Text))
        wanted = func.unnest(array).table_valued("value").render_derived("wanted")
        nearest = query.where(column >= wanted.c.value).order_by(column).limit(1).lateral()
        matches = nearest.c[column.name] == wanted.c.value
        self._postgresql = Prepared(select(nearest).select_from(wanted).join(nearest, matches))

    def rows(
        self, connection: Connection, wanted: Iterable[str], values: Mapping[str, Any]
    ) -> list[tuple[Any, ...]]:
        """Return the rows for these values of the column and of the parameters."""
        names = _names(wanted)
        if connection.dialect.name == "sqlite":
            each = msgspec.json.encode(names).decode()
            return self._sqlite.rows(connection, {"each": each, **values})
        return self._postgresql.rows(connection, {"each": names, **values})


class _Statement(NamedTuple):
    """A query compiled for one database.

    order : names of its parameters if they are positional, else None
    fixed : parameters that the query has itself
    """

    text: str
    order: list[str] | None
    fixed: dict[str, Any]

    def parameters(self, values: Mapping[str, Any]) -> list[Any] | dict[str, Any]:
        every = {**self.fixed, **values}
        return every if self.order is None else [every[name] for name in self.order]


def _statement(query: Select[Any] | Update, dialect: Dialect) -> _Statement:
    compiled = query.compile(dialect=dialect)
    order = list(compiled.positiontup or ()) if compiled.positional else None
    fixed = {name: value for name, value in compiled.params.items() if value is not None}
    return _Statement(str(compiled), order, fixed)
