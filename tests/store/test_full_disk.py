"""A full disk: SQLite cannot make the files beside a database. The reason is given as it is."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from equipoise.errors import NotFoundError
from equipoise.pools.backups import check_database
from equipoise.store.connection import open_store


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    """Give a sound database beside which SQLite cannot make its files, as on a full disk."""
    path = tmp_path / "service.db"
    open_store(f"sqlite:///{path}").close()
    path.with_name("service.db-wal").mkdir()
    return path


@pytest.mark.parametrize("full", [True, False])
def test_check_and_verify_say_why_a_database_cannot_be_opened(
    blocked: Path, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    """The database is there and sound, so neither its absence nor damage is the reason."""
    if full:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    reason = "the disk is full" if full else "unable to open database file"
    url = f"sqlite:///{blocked}"
    checks = {one.check: one for one in check_database(url).checks}
    for name in ("file", "schema", "indexes"):
        assert checks[name].status == "failed"
        assert reason in checks[name].detail
        assert "damaged" not in checks[name].detail
    with pytest.raises(NotFoundError) as refused:
        open_store(url, migrate=False)
    assert "cannot open the database" in str(refused.value)
    assert reason in str(refused.value)
    blocked.with_name("service.db-wal").rmdir()
    if not full:
        assert check_database(url).checks[0].status == "ok"
