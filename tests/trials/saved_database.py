"""Databases as earlier versions left them: dumps of SQLite below tests/store."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

from alembic import command
from sqlalchemy import Boolean, MetaData, create_engine

from equipoise.store.migrations.migrating import configuration
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
    engine = create_engine(url)
    with engine.begin() as connection:
        settings = configuration()
        settings.attributes["connection"] = connection
        command.upgrade(settings, schema.partition("_")[0])
    tables = MetaData()
    tables.reflect(engine)
    reading = sqlite3.connect(made)
    reading.row_factory = sqlite3.Row
    with engine.begin() as writing:
        for table in tables.sorted_tables:
            if table.name == "alembic_version":
                continue
            now = metadata.tables[table.name]
            flags = {one.name for one in now.columns if isinstance(one.type, Boolean)}
            order = " ORDER BY id" if "id" in table.columns else ""
            rows = [dict(row) for row in reading.execute(f"SELECT * FROM {table.name}{order}")]
            for row in rows:
                row.update({name: bool(row[name]) for name in flags & row.keys()})
                # PostgreSQL numbers them itself, from 1 without a gap as before.
                if table.name not in ("outbox", "audit_chain"):
                    row.pop("id", None)
            if table.name == "audit_chain":  # a step of the schema has made its row
                writing.execute(table.delete())
            if rows:
                writing.execute(table.insert(), rows)
    reading.close()
    engine.dispose()


def _load(path: str, dump: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(dump)
    connection.close()
