"""Win, draw and loss in backtests: against predictions of pools, and against sums by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from equipoise import Elo, Glicko2, TrueSkill, backtest, predict, replay
from equipoise.errors import InvalidDataError
from equipoise.evaluate.scoring.outcomes import Outcomes
from equipoise.formats import read_history
from equipoise.rating.system import RatingSystem
from evaluate.histories import duels, with_draws


@pytest.mark.parametrize("system", [Elo(), Glicko2(), TrueSkill(draw_probability=0.3)])
def test_chances_are_those_that_a_pool_predicts(system: RatingSystem) -> None:
    """`predict`, asked before each match, has the same win, draw and loss."""
    history = with_draws()
    found = backtest({"one": system}, history, min_history=0, predictions=True, resamples=0)
    rows = {row["match"]: row for row in found.predictions.to_dicts()}
    for match in (49, 50, 70, 89):
        row = rows[match]
        pool = replay(system, history.slice(0, match)).state
        expects = predict(system, pool, [[row["first"]], [row["second"]]])
        assert row["expected"] == pytest.approx(expects.expected[0], abs=1e-12)
        if expects.win is None:
            assert (match, row["win"]) == (49, None)
            continue
        assert expects.draw == pytest.approx(row["draw"], abs=1e-12)
        assert expects.win == pytest.approx((row["win"], row["loss"]), abs=1e-12)


def test_metrics_are_means_over_the_matches_with_chances() -> None:
    """-ln of the chance of what happened, and half of the squares of win and loss."""
    found = backtest({"elo": Elo()}, with_draws(), min_history=0, predictions=True, resamples=0)
    losses, ranked = [], []
    for row in found.predictions.drop_nulls("draw").to_dicts():
        losses.append(-math.log(row[row["outcome"]]))
        won, lost = row["outcome"] == "win", row["outcome"] == "loss"
        ranked.append(0.5 * ((row["win"] - won) ** 2 + (row["loss"] - lost) ** 2))
    assert len(losses) == 40
    metrics = found.of("elo").metrics
    assert metrics["outcome_log_loss"] == pytest.approx(np.mean(losses), abs=1e-12)
    assert metrics["rps"] == pytest.approx(np.mean(ranked), abs=1e-12)


def test_an_impossible_outcome_has_a_finite_loss() -> None:
    one = np.ones(1)
    loss, ranked = Outcomes(np.zeros(1, np.int64), one, 0.0 * one, 0.0 * one).scores()
    assert (loss[0], ranked[0]) == (pytest.approx(math.log(1e6)), 1.0)


def test_a_history_without_draws_has_no_metrics_of_outcomes() -> None:
    history = duels([1.0, 0.0] * 40)
    found = backtest({"elo": Elo()}, history, predictions=True, resamples=0)
    assert math.isnan(found.of("elo").metrics["rps"])
    assert found.predictions["draw"].unique().to_list() == [0.0]


def test_matches_of_many_teams_have_no_predictions_to_keep() -> None:
    rows = [
        {"match": m, "player": player, "rank": rank}
        for m in range(8)
        for rank, player in enumerate("abc")
    ]
    with pytest.raises(InvalidDataError, match="no scored match is of two teams"):
        backtest({"elo": Elo()}, read_history(pl.DataFrame(rows)), predictions=True)
