"""Databases as earlier versions left them: dumps of SQLite below tests/store."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

from sqlalchemy import Boolean, Connection, MetaData, create_engine, text

from equipoise.store.schema import metadata

FOLDER = Path(__file__).parents[1] / "store"


def restore(url: str, schema: str, folder: Path) -> None:
    """Fill an empty database with what a version of this schema wrote.

    schema : its number, and words after "_"
    url : of a new database; folder : for a file of SQLite, from which PostgreSQL is filled
    """
    dump = gzip.decompress((FOLDER / f"schema_{schema}.sql.gz").read_bytes()).decode()
    if url.startswith("sqlite"):
        _load(url.removeprefix("sqlite:///"), dump)
        return
    made = str(folder / "dumped.db")
    _load(made, dump)
    reading = sqlite3.connect(made)
    engine = create_engine(url)
    with engine.begin() as connection:
        _make_tables(connection, reading)
    tables = MetaData()
    tables.reflect(engine)
    reading.row_factory = sqlite3.Row
    with engine.begin() as writing:
        for table in tables.sorted_tables:
            flags = {one.name for one in table.columns if isinstance(one.type, Boolean)}
            order = " ORDER BY id" if "id" in table.columns else ""
            rows = [dict(row) for row in reading.execute(f"SELECT * FROM {table.name}{order}")]
            for row in rows:
                row.update({name: bool(row[name]) for name in flags & row.keys()})
                # PostgreSQL numbers them itself, from 1 without a gap as before.
                if table.name not in ("outbox", "audit_chain"):
                    row.pop("id", None)
            if rows:
                writing.execute(table.insert(), rows)
    reading.close()
    engine.dispose()


def _make_tables(connection: Connection, dumped: sqlite3.Connection) -> None:
    """Make the tables of the code, without the columns and tables that a dump does not have."""
    metadata.create_all(connection)
    connection.execute(text("CREATE TABLE alembic_version (version_num TEXT, oldest TEXT)"))
    for table in metadata.sorted_tables:
        kept = {row[1] for row in dumped.execute(f"PRAGMA table_info({table.name})")}
        if not kept:
            connection.execute(text(f"DROP TABLE {table.name}"))
        for gone in {column.name for column in table.columns} - kept if kept else ():
            connection.execute(text(f"ALTER TABLE {table.name} DROP COLUMN {gone}"))


def _load(path: str, dump: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(dump)
    connection.close()
