"""Queries that are asked all the time: compiled once, and run without SQLAlchemy's layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection, Dialect, Select

from equipoise.store.driver import driver_cursor


class Prepared:
    """A query; what it returns is as the driver gives it, so that SQLite's booleans are 0 and 1."""

    def __init__(self, query: Select[Any]) -> None:
        self._query = query
        self._compiled: dict[str, _Statement] = {}

    def rows(self, connection: Connection, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Return the rows for these values of the parameters, all at once."""
        dialect = connection.dialect
        statement = self._compiled.get(dialect.name)
        if statement is None:
            statement = self._compiled[dialect.name] = _statement(self._query, dialect)
        with driver_cursor(connection) as cursor:
            cursor.execute(statement.text, statement.parameters(values))
            return cast("list[tuple[Any, ...]]", cursor.fetchall())


class _Statement(NamedTuple):
    """A query in the words of one database.

    order : names of its parameters where those go by their order; fixed : those it brings along
    """

    text: str
    order: list[str] | None
    fixed: dict[str, Any]

    def parameters(self, values: Mapping[str, Any]) -> list[Any] | dict[str, Any]:
        every = {**self.fixed, **values}
        return every if self.order is None else [every[name] for name in self.order]


def _statement(query: Select[Any], dialect: Dialect) -> _Statement:
    found = query.compile(dialect=dialect)
    order = list(found.positiontup or ()) if found.positional else None
    fixed = {name: value for name, value in found.params.items() if value is not None}
    return _Statement(str(found), order, fixed)
