"""Exports and verification while others write: one state of the pool."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from equipoise.analysis.reading import HistoryRequest
from equipoise.errors import ConflictError
from equipoise.messages.matches import ReasonRequest
from equipoise.pools.erasing import erase_player
from equipoise.pools.exchange import exporting
from equipoise.pools.exchange.exporting import Format, What, export_bytes
from equipoise.pools.exchange.importing import ImportRequest, import_pool
from equipoise.pools.pool.pools import clear_deleted, delete_pool
from equipoise.pools.replay.replaying import collect_garbage
from equipoise.pools.replay.verifying import verify_pool
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import get_pool
from pools.pool_trials import NOW, Trial, duel

PLAYERS = ["ana", "bob", "cyd", "dan"]
#: Every piece of a short log is one of a long log.
SMALL = Sizes(matches=4, batch=6, ratings=2, rows=3)


def filled(store: Store, matches: int = 40) -> Trial:
    """Return a pool of duels ten seconds apart."""
    trial = Trial(store, late="replay")
    trial.post(*(numbered(number) for number in range(matches)))
    return trial


def numbered(number: int) -> Any:
    """Return duel m0, m1, ..."""
    first, second = PLAYERS[number % 4], PLAYERS[(number + 1 + number // 4 % 3) % 4]
    return duel(f"m{number}", first, second, 1_700_000_000 + 10 * number)


@pytest.fixture
def small(database_url: str) -> Iterator[Store]:
    """Give a new store whose steps are small."""
    store = open_store(database_url, sizes=SMALL)
    yield store
    store.close()


def disturbed(store: Store, what: What, format: Format, disturb: Callable[[], None]) -> bytes:
    """Return an export during which something happens after its third piece."""
    content = b""
    for number, piece in enumerate(export_bytes(store, "trial", what, format)):
        if number == 3:
            disturb()
        content += piece
    return content


CASES: list[tuple[What, Format]] = [
    ("log", "ndjson"),
    ("log", "csv"),
    ("log", "parquet"),
    ("ratings", "csv"),
    ("changes", "csv"),
]


@pytest.mark.parametrize(("what", "format"), CASES)
def test_an_export_is_of_one_moment(
    small: Store, monkeypatch: pytest.MonkeyPatch, what: What, format: Format
) -> None:
    """What is posted meanwhile is not in it."""
    monkeypatch.setattr(exporting, "_CHUNK", 100)
    trial = filled(small)
    before = b"".join(export_bytes(small, "trial", what, format))
    found = disturbed(
        small, what, format, lambda: trial.post(*(numbered(n) for n in range(40, 60))) and None
    )
    assert found == before
    assert b"".join(export_bytes(small, "trial", what, format)) != before


def test_changes_that_a_replay_replaces_are_exported_as_they_were(
    small: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is that of one generation."""
    monkeypatch.setattr(exporting, "_CHUNK", 100)
    trial = filled(small)
    before = b"".join(export_bytes(small, "trial", "changes", "csv"))

    def replace() -> None:
        trial.void("m1")
        assert trial.replay()
        collect_garbage(small, "trial")
        erase(small, "ana")

    assert disturbed(small, "changes", "csv", replace) == before
    after = b"".join(export_bytes(small, "trial", "changes", "csv"))
    assert after != before
    assert b"ana" not in after


@pytest.mark.parametrize(("what", "format"), CASES)
def test_no_transaction_waits_for_a_reader(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch, what: What, format: Format
) -> None:
    """After each piece with bytes SQLite can write its whole WAL into the database."""
    monkeypatch.setattr(exporting, "_CHUNK", 100)
    store = Store(sqlite_store.engine, SMALL)
    trial = filled(store)
    checked = 0
    for number, piece in enumerate(export_bytes(store, "trial", what, format)):
        if piece and checked < 5:
            trial.post(numbered(100 + number))
            with store.engine.connect() as connection:
                connection.detach()
                cursor = connection.connection.cursor()
                busy, *_ = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                cursor.close()
            assert not busy
            checked += 1
    assert checked


def test_an_export_of_a_pool_that_is_deleted_ends_with_an_error(
    small: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "_CHUNK", 100)
    filled(small)
    with small.read() as connection:
        number = get_pool(connection, "trial").id

    def delete() -> None:
        delete_pool(small, "trial", "trial", key=None, now=NOW)
        clear_deleted(small, number)

    with pytest.raises(ConflictError, match="deleted"):
        disturbed(small, "log", "ndjson", delete)


def erase(store: Store, player: str) -> None:
    """Replace the name of a player."""
    erase_player(store, "trial", player, ReasonRequest("asked for it"), key=None, now=NOW)


@pytest.mark.parametrize("format", ["ndjson", "csv"])
def test_the_export_of_a_log_ends_with_an_error_if_a_player_is_erased(
    small: Store, monkeypatch: pytest.MonkeyPatch, format: Format
) -> None:
    """It would have the old name in some records and the new one in others."""
    monkeypatch.setattr(exporting, "_CHUNK", 100)
    filled(small)
    with pytest.raises(ConflictError, match="a player was erased while the log was exported"):
        disturbed(small, "log", format, lambda: erase(small, "ana"))
    assert b"ana" not in b"".join(export_bytes(small, "trial", "log", format))


def test_a_log_exported_while_others_post_leads_to_its_head(
    small: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also after an erasure, whose records keep their first leaves."""
    monkeypatch.setattr(exporting, "_CHUNK", 100)
    trial = filled(small)
    erase(small, "ana")
    with small.read() as connection:
        head = get_pool(connection, "trial").head.hex()
    path = tmp_path / "log.ndjson"
    path.write_bytes(disturbed(small, "log", "ndjson", lambda: trial.post(numbered(40)) and None))
    imported = import_pool(
        small, "copy", ImportRequest(history=HistoryRequest(source=path), create=True), NOW
    )
    assert imported.same_head
    assert imported.head == head
    verified = verify_pool(small, "copy")
    assert verified.identical, verified.differences


def test_a_pool_is_verified_as_of_the_beginning(small: Store) -> None:
    """Whatever happens meanwhile: posts, late matches, voids, replays and erasures."""
    trial = filled(small)
    trial.post(numbered(1000))
    trial.void("m1000")
    assert trial.replay()
    steps = iter(range(1000))

    def progress(done: int, total: int) -> None:
        step = next(steps)
        if step < 3:
            trial.post(numbered(40 + step))
        elif step == 3:
            trial.post(duel("late", "ana", "dan", 1_700_000_005))
            trial.void("m7")
        elif step == 4:
            assert trial.replay()
            collect_garbage(small, "trial")
        elif step == 5:
            erase(small, "ana")

    verified = verify_pool(small, "trial", progress)
    assert verified.identical, verified.differences
    assert verified.matches == 40
    assert next(steps) > 6
    again = verify_pool(small, "trial")
    assert again.identical, again.differences
    assert again.matches == 43


def test_every_difference_is_found(small: Store) -> None:
    """A broken chain, a changed rating, a missing and an additional change, each with its place."""
    filled(small)
    with small.write() as connection:
        for change in (
            "UPDATE log SET received = received + 1 WHERE seq = 3",
            "UPDATE changes SET rating = 1.5 WHERE seq = 5",
            "DELETE FROM changes WHERE seq = 9",
            "UPDATE changes SET seq = 1000 WHERE seq = 40",
        ):
            connection.exec_driver_sql(change)
    verified = verify_pool(small, "trial")
    assert not verified.identical
    assert "hash chain" in verified.differences[0]
    text = " ".join(verified.differences)
    assert verified.different == 10, text
    for words in (
        "record 5, player",
        "stored rating 1.5",
        "record 9, player",
        "record 1000",
        "78 changes are stored, and the log gives 80",
    ):
        assert words in text


def test_a_step_that_is_not_durable_is_written(small: Store) -> None:
    """Others see it at once, and SQLite is durable again afterwards."""
    filled(small)
    with small.write(durable=False) as connection:
        connection.exec_driver_sql("UPDATE pools SET code = 'other'")
    with small.read() as connection:
        assert get_pool(connection, "trial").code == "other"
    if small.is_sqlite:
        with small.write() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
