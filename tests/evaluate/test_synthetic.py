"""Simulated contests: seeded, of the stated size, and the sample in the repository."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from equipoise.errors import InvalidParameterError
from equipoise.evaluate.synthetic import ContestModel, contests, simulate_contests
from equipoise.formats import read_history, write_history

#: A study of many replays: `make test` has the tests of its parts.
pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_sizes_and_spreads_are_those_of_the_model() -> None:
    """READINGS B10; tolerances are four standard errors."""
    model = ContestModel(players=2500, contests=3, drift_deviation=0)
    history, skills = simulate_contests(model, rng=np.random.default_rng(1))
    assert (history.matches, history.participations) == (3, 7500)
    assert skills[:2500].std() == pytest.approx(300, abs=4 * 300 / np.sqrt(5000))
    assert skills[:2500].mean() == pytest.approx(1500, abs=4 * 300 / 50)
    assert history.distinct_ranks().tolist() == [2500] * 3


def test_attendance_of_nobody_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="attendance"):
        simulate_contests(
            ContestModel(players=1, contests=1, attendance=1e-9), rng=np.random.default_rng(0)
        )


def test_contests_one_by_one_are_those_of_the_history() -> None:
    """Numbered without gaps, though some are attended by nobody."""
    model = ContestModel(players=2, contests=40, attendance=0.3)
    history, skills = simulate_contests(model, rng=np.random.default_rng(6))
    found = list(contests(model, rng=np.random.default_rng(6)))
    assert history.matches == len(found) < 40
    assert [one.number for one in found] == history.match_ids.tolist()
    assert [one.time * 1_000_000 for one in found] == history.time.tolist()  # type: ignore[union-attr]
    np.testing.assert_array_equal(np.concatenate([one.player for one in found]), history.player)
    np.testing.assert_array_equal(np.concatenate([one.rank for one in found]), history.rank)
    np.testing.assert_array_equal(np.concatenate([one.skill for one in found]), skills)
    for one in found:
        np.testing.assert_array_equal(one.skills[one.player], one.skill)


def test_the_numbers_of_a_seed_never_change() -> None:
    """As drawn since the first version: files made from a seed can be made again."""
    history, skills = simulate_contests(
        ContestModel(players=5, contests=2, attendance=0.8, score_step=150),
        rng=np.random.default_rng(42),
    )
    assert history.player.tolist() == [2, 3, 1, 4, 2, 0, 1]
    assert history.rank.tolist() == [0, 1, 2, 3, 0, 1, 2]
    np.testing.assert_allclose(
        skills[:3], [1725.1353587419371, 1782.169414917364, 1188.0047681278513]
    )


def test_the_sample_is_what_its_script_makes(tmp_path: Path) -> None:
    """Neither copy is ever edited by hand, and the package's is that of the repository."""
    script = runpy.run_path(str(EXAMPLES / "make_contests.py"))
    write_history(script["season"](), tmp_path / "contests.csv")
    for place in script["PLACES"]:
        assert place.read_bytes() == (tmp_path / "contests.csv").read_bytes()
    assert read_history(EXAMPLES / "contests.csv").matches == 40


def test_score_steps_make_ties() -> None:
    model = ContestModel(players=500, contests=1, score_step=100)
    history, _ = simulate_contests(model, rng=np.random.default_rng(3))
    assert history.distinct_ranks()[0] < 30
