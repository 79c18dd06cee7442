"""Two versions of the service side by side on one PostgreSQL database, under posts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import equipoise
from trials.later_versions import EXPANDED, copy_later_version
from trials.rolling import RollingResult, rolling_trial

pytest.importorskip("uvicorn")

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
THIS = Path(equipoise.__file__).parents[1]
#: The commit from which on databases are upgraded, which has schema 0013.
PREVIOUS = "940f139c"


def _judge(result: RollingResult) -> None:
    assert min(result.counts) >= 100, result.counts
    assert result.refused == 0
    assert not result.lost
    assert not result.twice
    assert not result.different
    assert result.verdicts["new"][0] == 0, result.verdicts["new"][1]


def test_a_later_version_takes_over_under_posts(postgres_url: str, tmp_path: Path) -> None:
    """Both verify the database that both have written, and see the same head."""
    later = copy_later_version(EXPANDED, tmp_path / "later")
    result = rolling_trial(postgres_url, tmp_path, THIS, later)
    _judge(result)
    assert result.verdicts["old"] == result.verdicts["new"]


def test_this_version_takes_over_from_the_previous_schema(
    postgres_url: str, tmp_path: Path
) -> None:
    """The old program runs on, and again when it is started once more: nothing was taken away."""
    archive = ["git", "-C", str(ROOT), "archive", "--output", str(tmp_path / "old.tar"), PREVIOUS]
    try:
        done = subprocess.run([*archive, "src"], capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"git is not here: {error}")
    if done.returncode:
        pytest.skip(f"the program of commit {PREVIOUS[:8]} is not here: {done.stderr.strip()}")
    subprocess.run(["tar", "-xf", "old.tar"], cwd=tmp_path, check=True)
    result = rolling_trial(postgres_url, tmp_path, tmp_path / "src", THIS)
    _judge(result)
    assert result.verdicts["old"] == result.verdicts["new"]
