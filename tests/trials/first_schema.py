"""A database as the first version of the service left it, with data in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from alembic import command
from sqlalchemy import Connection, MetaData, create_engine, select, text

from equipoise.messages.matches import MatchRequest, ReasonRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from equipoise.pools.amending import void_match
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.posting.planning import Post
from equipoise.pools.posting.posting import post_matches
from equipoise.pools.replay.replaying import maintain_pool
from equipoise.rating.draws import DRAWS
from equipoise.store.changes import SHOWN, change_row
from equipoise.store.connection import open_store
from equipoise.store.keys import create_key
from equipoise.store.migrations.migrating import configuration
from equipoise.store.schema import changes

NOW = 1_900_000_000_000_000

#: What the pool is made with; the same again must find it set alike after an upgrade.
SETTINGS = PoolRequest(system="glicko2", parameters={"tau": 0.7}, late="replay")

#: Settings that the first version did not know, and so did not store.
_LATER = (
    '"display_floor":null,',
    '"display_decay_per_day":0.0,',
    '"display_decay_after_days":30.0,',
)


def make_first_schema(url: str, folder: Path) -> None:
    """Fill an empty database with tables of schema 0001 and a pool `old` of 30 matches."""
    make_schema(url, folder, "0001", _fill)


def make_schema(url: str, folder: Path, step: str, fill: Callable[[str], None]) -> None:
    """Fill an empty database with tables of a schema before 0003.

    fill : fills a database with what the new one is to hold, given its address; its pools are
        numbered from 1 without a gap
    """
    made = f"sqlite:///{folder / 'made.db'}"
    fill(made)
    engine = create_engine(url)
    with engine.begin() as connection:
        settings = configuration()
        settings.attributes["connection"] = connection
        command.upgrade(settings, step)
    source = create_engine(made)
    tables = MetaData()
    tables.reflect(engine)
    with source.connect() as reading, engine.begin() as writing:
        for table in tables.sorted_tables:
            if table.name == "alembic_version":
                continue
            if table.name == "changes":
                rows = _changes(reading)
            else:
                names = [column.name for column in table.columns]
                listed = ", ".join(f'"{name}"' for name in names)
                order = " ORDER BY id" if "id" in names else ""
                rows = [
                    dict(zip(names, row, strict=True))
                    for row in reading.execute(text(f"SELECT {listed} FROM {table.name}{order}"))
                ]
            for row in rows:
                _as_it_was(row)
                # The database numbers pools and keys itself, from 1 as before.
                row.pop("id", None)
            if rows:
                writing.execute(table.insert(), rows)
    source.dispose()
    engine.dispose()


def _changes(reading: Connection) -> list[dict[str, object]]:
    """Return the changes with a column a number, as they were."""
    rows = []
    for stored in reading.execute(select(changes.c.pool, changes.c.generation, *SHOWN)):
        pool, generation, *columns = stored
        row = change_row(columns)._asdict()
        del row["previous"]
        rows.append({"pool": pool, "generation": generation, **row})
    return rows


def _as_it_was(row: dict[str, object]) -> None:
    """Turn a row of SQLite into what both databases take, without what came later."""
    for name in ("needs_replay", "garbage", "provisional"):
        if name in row:
            row[name] = bool(row[name])
    if "shared" in row:
        shared = json.loads(str(row["shared"]))
        shared.pop(DRAWS, None)
        row["shared"] = json.dumps(shared)
    if "settings" in row:
        for later in _LATER:
            row["settings"] = str(row["settings"]).replace(later, "")


def _fill(url: str) -> None:
    store = open_store(url)
    create_pool(store, "old", SETTINGS, NOW)
    create_key(store, "server", "writer", "old", None, NOW)
    names = ["ana", "ben", "cyd", "dee"]
    matches = [
        MatchRequest(
            f"m{number}",
            [TeamRequest([names[number % 4]], 0), TeamRequest([names[(number * 3 + 1) % 4]], 1)],
            time=1_700_000_000 + 3600 * number,
        )
        for number in range(30)
        if number % 4 != (number * 3 + 1) % 4
    ]
    post_matches(store, "old", [Post(matches)], NOW)
    void_match(store, "old", matches[3].match, ReasonRequest("no show"), key=1, now=NOW)  # type: ignore[arg-type]
    maintain_pool(store, "old", owner="made", stop=lambda: False)
    store.close()
