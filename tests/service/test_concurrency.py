"""Many clients at once; benchmarks/service_crash.py has it at full size."""

from __future__ import annotations

from pathlib import Path

import pytest

from trials.concurrency import concurrency_trial

pytest.importorskip("uvicorn")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "services"),
    [("postgres_url", 2), pytest.param("sqlite_url", 1, marks=pytest.mark.nightly)],
)
def test_no_update_is_lost_when_many_post_at_once(
    url: str, services: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Nothing is refused, and ratings and answers are what the library makes of the log."""
    database = request.getfixturevalue(url)
    result = concurrency_trial(database, tmp_path, matches=400, services=services)
    assert not result.refused
    assert not result.missing
    assert not result.different
    assert not result.answered_otherwise
    assert result.compared > 250
