"""Voiding in a log while clients post and read; benchmarks/service_void.py has it at full size."""

from __future__ import annotations

from pathlib import Path

import pytest

from trials.void import void_trial

pytest.importorskip("uvicorn")


@pytest.mark.slow
def test_posting_and_reading_go_on_while_a_pool_is_replayed(
    database_url: str, tmp_path: Path
) -> None:
    """No request is refused, the ratings are swapped whole, and they are those of the library."""
    result = void_trial(database_url, tmp_path, matches=2500)
    assert not result.errors
    assert not result.different
    assert result.changed > 0
    assert len(result.generations) == 2
    assert result.posted > 0
