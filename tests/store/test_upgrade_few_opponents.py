"""Schema 0014 takes the parameter `opponents` of Elo-MMR from pools, which are rated again.

Files were written by commit 940f139c: `few` has `opponents` 3, `every` has null, `plain` has none.
The first two have ended a season.
"""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from equipoise.pools.backups import restore_backup
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.replay.replaying import maintain_pool
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store.connection import Store, open_store
from pools.pool_trials import Trial, import_file
from trials.saved_database import restore

POOLS = ("few.one", "few", "every.one", "every", "plain")


def _ratings(store: Store, name: str) -> dict[str, float]:
    return Trial.existing(store, name).ratings()


def test_pools_are_rated_again_without_it(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    restore(database_url, "0013_few_opponents", tmp_path)
    caplog.set_level(logging.INFO)
    store = open_store(database_url)
    try:
        named = [one.message for one in caplog.records if "opponents=" in one.message]
        assert named == [
            f"pool {name}: opponents=3 was removed from elo-mmr; its log is rated again without it"
            for name in POOLS[:2]
        ]
        before = {name: _ratings(store, name) for name in POOLS}
        assert [name for name in POOLS if pool_message(store, name).pending] == list(POOLS[:2])
        for name in POOLS[2:]:
            assert verify_pool(store, name).identical
        changed = []
        for name in POOLS:
            replayed = maintain_pool(store, name, owner="tester", stop=lambda: False)
            changed.append(None if replayed is None else replayed.changed)
            assert verify_pool(store, name).identical
            assert "opponents" not in pool_message(store, name).parameters
        assert changed == [12, 12, None, None, None]
        assert [name for name in POOLS if _ratings(store, name) != before[name]] == list(POOLS[:2])
        # A log of that version gives the same, and its hash chain stays.
        log = Path(__file__).parents[1] / "trials" / "log_few_opponents.ndjson"
        assert import_file(store, "imported", log).same_head
        assert _ratings(store, "imported") == _ratings(store, "few")
    finally:
        store.close()


def test_a_backup_is_restored_and_verified(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    backup = tmp_path / "backup.db"
    restore(f"sqlite:///{backup}", "0013_few_opponents", tmp_path)
    restored = restore_backup(backup, f"sqlite:///{tmp_path / 'restored.db'}")
    assert (restored.pools, restored.schema, restored.verified) == (len(POOLS), "0013", True)
    assert "pool few was rated again: 12 ratings changed" in caplog.messages
