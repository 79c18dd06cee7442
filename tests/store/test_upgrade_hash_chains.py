"""A database from before the hash chains is chained, whatever interrupts the upgrade."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from equipoise.analysis.files.reading import HistoryRequest
from equipoise.errors import ConflictError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolChange
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.exchange.importing import ImportRequest, import_pool
from equipoise.pools.pool.pools import pool_messages
from equipoise.pools.pool.settings import change_settings, first_settings
from equipoise.pools.posting.planning import Post
from equipoise.pools.posting.posting import post_matches
from equipoise.pools.replay.chain_checks import verify_audit
from equipoise.pools.replay.replaying import maintain_pool, rerate
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store import chaining
from equipoise.store.connection import Store, migrate_schema, open_store
from equipoise.store.pools import get_pool
from pools.pool_trials import NOW
from trials.saved_database import restore

#: Every column, or every schema there ever was: a sweep.
pytestmark = pytest.mark.slow


def _pools(store: Store) -> list[str]:
    return [one.pool for one in pool_messages(store)]


def _check(store: Store) -> None:
    """Check that every pool and the audit log verify."""
    for name in _pools(store):
        found = verify_pool(store, name)
        assert found.identical, (name, found.differences)
    assert verify_audit(store).identical


def test_everything_is_chained(database_url: str, tmp_path: Path) -> None:
    """It verifies, says from which record on the chain attests, and goes on being chained."""
    restore(database_url, "0005", tmp_path)
    store = open_store(database_url)
    _check(store)
    rows = verify_audit(store)
    assert rows.chained_from == rows.rows + 1 > 1
    for name in _pools(store):
        with store.read() as connection:
            record = get_pool(connection, name)
        assert record.chained_from == record.last_seq + 1
        assert first_settings(record) is not None
        if record.closed is not None or record.last_time is None:
            continue
        two = [TeamRequest(["chained-1"], 0), TeamRequest(["chained-2"], 1)]
        time = None if "untimed" in name else record.last_time // 1_000_000 + 5
        post_matches(store, name, [Post([MatchRequest("chained", two, time=time)])], NOW)
        change_settings(store, name, PoolChange(inactive_days=77.0), NOW)
        assert verify_pool(store, name).chained_from == record.chained_from
    _check(store)
    for name in _pools(store):
        rerate(store, name)
        maintain_pool(store, name, owner="tester", stop=lambda: False)
    _check(store)
    store.close()


def test_a_moved_pool_keeps_its_head(sqlite_url: str, tmp_path: Path) -> None:
    """Also a pool that an upgrade has chained; the local head is of the database."""
    restore(sqlite_url, "0005", tmp_path)
    store = open_store(sqlite_url)
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    for name in _pools(store):
        path = tmp_path / f"{name}.ndjson"
        export_file(store, name, "log", str(path))
        request = ImportRequest(
            history=HistoryRequest(source=str(path)), create=True, future_seconds=None
        )
        done = import_pool(other, name.replace(".", "-"), request, NOW)
        assert done.same_head, name
        maintain_pool(store, name, owner="tester", stop=lambda: False)
        one, moved = (verify_pool(*at) for at in ((store, name), (other, done.pool)))
        assert (one.head, one.players, one.changes) == (moved.head, moved.players, moved.changes)
        assert one.local_head != moved.local_head
        assert moved.identical, moved.differences
        assert moved.chained_from == 1
    store.close()
    other.close()


class _KilledError(Exception):
    """The process ends here."""


@pytest.mark.parametrize("after", [0, 1, 5, 17])
def test_a_killed_upgrade_goes_on(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """Between two transactions. What is chained stays; nobody uses the database before the end."""
    restore(database_url, "0005", tmp_path)
    steps, chain_log = [], chaining._chain_log

    def killed(*given: Any) -> bool:
        steps.append(1)
        if len(steps) > after:
            raise _KilledError
        return chain_log(*given)

    monkeypatch.setattr(chaining, "_PIECE", 3)
    monkeypatch.setattr(chaining, "_chain_log", killed)
    with pytest.raises(_KilledError):
        open_store(database_url)
    with pytest.raises(ConflictError, match="not complete: `equipoise serve` continues it"):
        open_store(database_url, migrate=False)
    engine = create_engine(database_url)
    salts = text("SELECT pool, seq, salt FROM log WHERE salt IS NOT NULL")
    with engine.connect() as connection:
        before = {tuple(row) for row in connection.execute(salts)}
    assert len(before) <= 3 * after
    assert bool(before) == (after > 0)
    monkeypatch.setattr(chaining, "_chain_log", chain_log)
    store = open_store(database_url)
    with engine.connect() as connection:
        assert before <= {tuple(row) for row in connection.execute(salts)}
    engine.dispose()
    _check(store)
    migrate_schema(store.engine)
    _check(store)
    store.close()
