"""The simplest server that keeps matches: what benchmarks/service.py compares the service with.

A bare ASGI function on uvicorn, with the same event loop and HTTP parser as the service. A post is
one INSERT of the match and one upsert of a count for each of its players, committed to SQLite (WAL,
synchronous=FULL) before the answer. Nothing is checked, rated or compared.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

#: Environment variable with the file of its database.
FILE = "BARE_SERVER_FILE"

_PRAGMAS = ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 32768")
_TABLES = (
    "CREATE TABLE log (id INTEGER PRIMARY KEY, match TEXT NOT NULL UNIQUE, content TEXT NOT NULL)",
    "CREATE TABLE players (player TEXT PRIMARY KEY, matches INTEGER NOT NULL) WITHOUT ROWID",
)
_INSERT = "INSERT INTO log (match, content) VALUES (?, ?)"
_UPSERT = (
    "INSERT INTO players VALUES (?, 1), (?, 1) "
    "ON CONFLICT (player) DO UPDATE SET matches = matches + 1"
)
_decoder = msgspec.json.Decoder()
_HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"15")]


def _opened() -> sqlite3.Connection:
    """Return the database, empty."""
    connection = sqlite3.connect(os.environ[FILE], isolation_level=None)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    for table in _TABLES:
        connection.execute(table)
    return connection


_connection = _opened() if FILE in os.environ else sqlite3.connect(":memory:")


async def app(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Record the match of a post between two players, and answer when it is committed."""
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    match = _decoder.decode(body)
    players = [player for team in match["teams"] for player in team["players"]]
    _connection.execute("BEGIN IMMEDIATE")
    _connection.execute(_INSERT, (match["match"], body.decode()))
    _connection.execute(_UPSERT, players)
    _connection.execute("COMMIT")
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": b'{"status":"ok"}'})
