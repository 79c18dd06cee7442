"""Matches of very many players in the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from trials.large_matches import large_matches_trial

pytest.importorskip("uvicorn")


@pytest.mark.slow
def test_a_large_match_stops_nobody(sqlite_url: str, tmp_path: Path) -> None:
    """Its page is small, and small posts are acknowledged while it is read.

    One whose post takes too long is not recorded, does not hold up the end of the service, and may
    be sent again.
    """
    found = large_matches_trial(
        sqlite_url,
        tmp_path,
        players=20_000,
        large=2,
        seconds=3.0,
        patience=0.4,
        system="codeforces",
    )
    assert all(seconds < 30.0 for seconds in found.posted)
    assert found.page < 200_000
    assert found.message < 1_000_000
    assert found.pages > 0
    assert found.posts
    assert found.failed == 0
    assert max(found.health) < 5.0
    assert found.given_up == 504
    assert not found.recorded
    assert found.end < 10.0
    assert found.again == 200
