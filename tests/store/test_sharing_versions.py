"""Two versions of the program on one database: who may use it after a later one migrated."""

from __future__ import annotations

import inspect
import re
import threading
import time
from typing import Any

import pytest
from sqlalchemy import text

from equipoise.errors import ConflictError, UnavailableError
from equipoise.pools.backups import checks_of
from equipoise.pools.reading.players import leaderboard
from equipoise.store import migrations
from equipoise.store.connection import Store, open_store
from equipoise.store.keys import create_key
from equipoise.store.migrations import CURRENT, STEPS
from pools.pool_trials import Trial, duel
from trials.later_versions import CONTRACTED, EXPANDED, later_version


def _upgrade(url: str, revision: str) -> None:
    """Upgrade a database to the schema of a later version."""
    with later_version(revision):
        open_store(url).close()


def _state(url: str) -> tuple[str, str]:
    """Return what a database says of its schema, and the check of it."""
    check = next(one for one in checks_of(url, quick=True) if one.check == "schema")
    return check.status, check.detail


def test_after_an_expanding_migration_this_version_goes_on(database_url: str) -> None:
    """With the database open, and opened again; both versions post to one pool, and verify it."""
    store = open_store(database_url)
    pool = Trial(store)
    pool.post(duel("before", "ana", "ben", None))
    _upgrade(database_url, EXPANDED)
    store.notice_upgrades()
    pool.post(duel("running", "ben", "cyd", None))

    again = open_store(database_url)
    pool.store = again
    pool.post(duel("opened", "cyd", "ana", None))
    with later_version(EXPANDED):
        newer = open_store(database_url)
        pool.store = newer
        pool.post(duel("later", "ana", "cyd", None))
        assert pool.is_sound()
        newer.close()
    pool.store = again
    assert pool.is_sound()
    assert leaderboard(store, "trial", provisional=True).players_in_pool == 3
    sentence = f"version {EXPANDED}, which this version of equipoise may use as {CURRENT}"
    assert _state(database_url) == ("ok", sentence)
    open_store(database_url, migrate=False).close()
    for one in (store, again):
        one.close()


def test_after_a_contracting_migration_this_version_refuses(database_url: str) -> None:
    """At the start in a sentence, and where it runs already before it writes."""
    store = open_store(database_url)
    create_key(store, "before", "admin", None, None, 0)
    _upgrade(database_url, CONTRACTED)
    sentence = (
        f"the database has schema {CONTRACTED}, which versions of equipoise from schema {EXPANDED} "
        f"on can use, and this one knows {CURRENT} at most: use the version that wrote it"
    )
    store.notice_upgrades()
    with pytest.raises(UnavailableError, match=sentence):
        create_key(store, "after", "admin", None, None, 0)
    store.close()
    for migrate in (True, False):
        with pytest.raises(ConflictError, match=sentence):
            open_store(database_url, migrate=migrate)
    status, detail = _state(database_url)
    assert status == "failed"
    assert sentence in detail
    with later_version(EXPANDED):  # the version before it may go on
        open_store(database_url).close()


@pytest.mark.parametrize("revision", [EXPANDED, CONTRACTED])
def test_a_later_version_may_be_faster(sqlite_url: str, revision: str) -> None:
    """It has migrated while this one waited to do so."""
    _upgrade(sqlite_url, revision)
    engine = open_raw(sqlite_url)
    if revision == CONTRACTED:
        with pytest.raises(ConflictError, match=f"schema {CONTRACTED}"):
            migrations._migrate(engine)
    else:
        migrations._migrate(engine)
    with engine.connect() as connection:
        assert migrations.schema_version(connection) == revision
    engine.dispose()


def open_raw(url: str) -> Any:
    """Return an engine as a store has it, without any check."""
    from equipoise.store.connection import _engine, checked_url

    return _engine(checked_url(url)).execution_options(equipoise_writes=True)


def test_a_migration_does_not_hold_up_posts_while_it_waits(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup holds locks on all tables. The migration gives up its place in the queue."""
    monkeypatch.setattr(migrations, "_PAUSE", 0.2)
    store = open_store(postgres_url)
    pool = Trial(store)
    with store.engine.connect() as backup, backup.begin():
        backup.execute(text("LOCK TABLE pools, log IN ACCESS SHARE MODE"))
        newer = threading.Thread(target=_upgrade, args=(postgres_url, EXPANDED))
        newer.start()
        until = time.monotonic() + 3.0
        count = 0
        while time.monotonic() < until or count < 3:
            pool.post(duel(f"m{count}", "ana", "ben", None))
            count += 1
        assert newer.is_alive()
        assert _version(store) == CURRENT
    newer.join(120)
    assert _version(store) == EXPANDED
    pool.post(duel("after", "ben", "ana", None))
    assert pool.is_sound()
    store.close()


def test_a_migration_that_gets_no_locks_ends_in_a_sentence(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "_PATIENCE", 0.0)
    store = open_store(postgres_url)
    with store.engine.connect() as backup, backup.begin():
        backup.execute(text("LOCK TABLE pools IN ACCESS SHARE MODE"))
        with pytest.raises(ConflictError, match="others held locks on the tables"):
            _upgrade(postgres_url, EXPANDED)
    assert _version(store) == CURRENT
    store.close()


def _version(store: Store) -> str | None:
    with store.read() as connection:
        return migrations.schema_version(connection)


def test_a_migration_after_which_earlier_programs_go_on_only_adds() -> None:
    """New columns can be null or have a default, as earlier programs do not know them."""
    for step in STEPS:
        assert step.oldest <= step.schema
        if step.oldest == step.schema:
            continue
        source = inspect.getsource(step.take)
        assert not re.search(r"\b(DROP|RENAME|ALTER COLUMN)\b", source), step.schema
        for column in re.findall(r"ADD COLUMN[^\n]*NOT NULL[^\n]*", source):
            assert "DEFAULT" in column, column
