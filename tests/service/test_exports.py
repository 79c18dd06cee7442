"""Exports while others read slowly and post."""

from __future__ import annotations

from pathlib import Path

import pytest

from trials.slow_readers import slow_readers_trial

pytest.importorskip("uvicorn")

#: SQLite copies its WAL into the database when it has 128 MB, and a transaction may add to that.
#: With exports in one transaction it grew with every post: 625 MB in 20 s.
_MOST_WAL = 200_000_000
#: Matches that take 235 MB in the database, so that a WAL which kept them all would be too large.
_ENOUGH = 60_000


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["log", "ratings"])
def test_slow_readers_hold_up_nobody(sqlite_url: str, tmp_path: Path, what: str) -> None:
    found = slow_readers_trial(
        sqlite_url, tmp_path, before=6000, seconds=15.0, what=what, enough=_ENOUGH
    )
    assert found.posted > 2000
    assert found.third is not None
    assert found.wal < _MOST_WAL


@pytest.mark.slow
def test_a_reader_below_the_minimum_rate_is_cut_off(sqlite_url: str, tmp_path: Path) -> None:
    """The service stops waiting for both slow readers, and its log says why."""
    settings = {"EQUIPOISE_EXPORT_RATE": "1000000"}
    found = slow_readers_trial(
        sqlite_url,
        tmp_path,
        before=6000,
        seconds=40.0,
        settings=settings,
        until=lambda log: log.count("an export was cut off") == 2,
    )
    assert found.log.count("an export was cut off") == 2
