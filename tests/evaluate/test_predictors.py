"""What a search keeps for every participation: nothing, and its numbers do not show it."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.history import History
from equipoise.evaluate.backtest import SystemPredictor
from equipoise.evaluate.scoring.tally import Scored, Tally
from equipoise.numeric.workers import Workers
from equipoise.rating.replay import pieces

MATCHES = 3_000


def duels() -> History:
    """Return duels of 60 players."""
    rng = np.random.default_rng(5)
    one = rng.integers(0, 60, MATCHES)
    other = (one + rng.integers(1, 60, MATCHES)) % 60
    return eq.read_history(
        {
            "match": np.repeat(np.arange(MATCHES), 2),
            "player": np.column_stack([one, other]).ravel(),
            "rank": np.tile([1, 2], MATCHES),
        }
    )


@pytest.mark.parametrize("size", [6_000, 1_700, 37])
def test_expectations_are_the_ratings_before_whatever_the_pieces(size: int) -> None:
    history, system = duels(), eq.Glicko2()
    before = eq.replay(system, history, trace=True).trace
    assert before is not None
    predictor = SystemPredictor(system, history, Workers(1))
    centre = [
        predictor.predict(start, stop).centre
        for start, stop in pieces(history, 0, history.matches, size)
    ]
    whole = system.outlook(
        before.columns["rating_before"], before.columns["deviation_before"], history
    )
    assert np.array_equal(np.concatenate(centre), whole.centre)


@pytest.mark.parametrize("size", [6_000, 1_700, 37])
def test_blocks_are_those_of_the_complete_history(size: int) -> None:
    """Blocks of equally many scored matches, though they are computed piece by piece."""
    history = duels()
    scored = Scored.of(history, min_history=20, first=0)
    tally = Tally(scored)
    found = [
        tally._blocks(start, stop) for start, stop in pieces(history, 0, history.matches, size)
    ]
    length = -(-int(scored.scored.sum()) // 1000)
    wanted = np.maximum(np.cumsum(scored.scored) - 1, 0) // length
    assert np.array_equal(np.concatenate(found), wanted)
    # Pieces without a scored match are left out, and a piece may be asked for again.
    assert np.array_equal(tally._blocks(2_000, 2_100), wanted[2_000:2_100])
    assert np.array_equal(tally._blocks(2_500, 2_600), wanted[2_500:2_600])
    assert np.array_equal(tally._blocks(10, 20), wanted[10:20])
