"""What was acknowledged survives a sudden end, in small; see benchmarks/service_crash.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from trials.crash import crash_trial

pytest.importorskip("uvicorn")


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(
    database_url: str, tmp_path: Path
) -> None:
    """Every match is there once, and the ratings are those of the library, bit for bit.

    Single posts, arrays and streams are under way at every kill, and a replay after a void.
    """
    result = crash_trial(database_url, tmp_path, matches=1200, kills=3)
    assert not result.lost
    assert not result.missing
    assert not result.twice
    assert not result.different
    assert result.interrupted > 0
    assert result.voided > 0


@pytest.mark.slow
@pytest.mark.parametrize("kills", [3, pytest.param(8, marks=pytest.mark.nightly)])
def test_nothing_is_lost_or_doubled_when_one_of_two_services_is_stopped_or_killed(
    postgres_url: str, tmp_path: Path, kills: int
) -> None:
    """Both post to one pool. A stopped one goes on under load, after what the other committed."""
    hits = ("stop", "kill", "stop", "all")
    result = crash_trial(
        postgres_url, tmp_path, matches=400 * kills, kills=kills, services=2, hits=hits, voids=False
    )
    assert not result.lost
    assert not result.missing
    assert not result.twice
    assert not result.different
