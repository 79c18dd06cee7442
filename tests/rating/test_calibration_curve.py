"""The curve that corrects chances: what it learns, and from which matches."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import polars as pl
import pytest

import equipoise as eq
from equipoise import Elo, backtest
from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.data.outlook import Curve, Outlook
from equipoise.errors import InvalidParameterError
from equipoise.evaluate.backtest import CurveLearner
from equipoise.evaluate.scoring.tally import Scored
from equipoise.formats import read_history
from equipoise.rating.calibration_curve import CALIBRATION, FEATURES, NUMBERS, features_of
from evaluate.histories import duels, with_draws
from rating.histories import needs_jit


def learner_of(history: History) -> CurveLearner:
    return CurveLearner(Scored.of(history, min_history=0, first=0))


def outlook_of(centre: Floats, curve: Curve = "logistic") -> Outlook:
    return Outlook(centre=centre, scale=np.full(len(centre), math.sqrt(0.5)), curve=curve)


def by_lead(matches: int, factor: float) -> tuple[History, Floats]:
    """Return duels in which the log odds are `factor` times the lead, and centres of all rows."""
    rng = np.random.default_rng(7)
    lead = rng.normal(0.0, 1.5, matches)
    won = rng.random(matches) < 1.0 / (1.0 + np.exp(-factor * lead))
    history = duels(np.where(won, 1.0, 0.0).tolist(), players=40)
    return history, np.column_stack([0.5 * lead, -0.5 * lead]).ravel()


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_the_scale_of_chances_is_found(factor: float) -> None:
    """The corrected lead is that of the results, to what 4,000 duels with a memory of half tell."""
    history, centre = by_lead(4000, factor)
    learner = learner_of(history)
    learner.follow(0, history.matches, outlook_of(centre))
    features = features_of(np.full(2, 0.07), np.zeros(2), np.ones(2, np.int64))
    lead = outlook_of(np.array([1.0, -1.0]))
    scale, tilt = features @ learner.numbers[:FEATURES], features @ learner.numbers[FEATURES:]
    centres, scales = lead.centre + tilt * lead.scale, lead.scale * np.exp(-scale)
    ratio = (centres[0] - centres[1]) / np.hypot(*scales) / 2.0
    assert ratio == pytest.approx(factor, rel=0.15)


@pytest.mark.parametrize("curve", ["logistic", "normal"])
def test_a_chance_follows_from_earlier_matches_alone(curve: Curve) -> None:
    """Other results from match 60 on change no chance up to that of match 60."""
    history, centre = by_lead(100, 2.0)
    rank = history.rank.copy()
    rank[120:] = 1 - rank[120:]
    other = dataclasses.replace(history, rank=rank)
    one, changed = (
        learner_of(each).follow(0, 100, outlook_of(centre, curve)) for each in (history, other)
    )
    np.testing.assert_array_equal(one.scale[:122], changed.scale[:122])
    np.testing.assert_array_equal(one.centre[:122], changed.centre[:122])
    assert not np.array_equal(one.scale, changed.scale)


def test_pieces_change_no_bit() -> None:
    history, centre = by_lead(90, 0.5)
    complete = learner_of(history).follow(0, 90, outlook_of(centre))
    learner = learner_of(history)
    parts = [
        learner.follow(start, stop, outlook_of(centre[2 * start : 2 * stop]))
        for start, stop in ((0, 1), (1, 41), (41, 90))
    ]
    np.testing.assert_array_equal(complete.centre, np.concatenate([one.centre for one in parts]))
    np.testing.assert_array_equal(complete.scale, np.concatenate([one.scale for one in parts]))


def test_players_who_lose_at_first_are_tilted_down() -> None:
    """Each match is a newcomer who loses to a regular, both rated equal."""
    rows = [
        {"match": m, "player": player, "rank": rank}
        for m in range(200)
        for rank, player in enumerate((f"r{m % 5}", f"new{m}"))
    ]
    history = read_history(pl.DataFrame(rows))
    found = learner_of(history).follow(0, 200, outlook_of(np.zeros(400)))
    lead = (found.centre[-2] - found.centre[-1]) / np.hypot(*found.scale[-2:])
    assert lead > 2.0


@needs_jit
def test_calibrated_chances_stand_beside_the_uncorrected_ones() -> None:
    """Elo with a scale that is far too narrow becomes better, and its own figures stay."""
    with pytest.raises(InvalidParameterError, match="'elo calibrated' is reserved"):
        backtest({"elo calibrated": Elo()}, with_draws(), calibrate=True)
    history, _ = by_lead(600, 1.0)
    systems = {"elo": Elo(k=64), "slow": Elo(k=8)}
    plain = backtest(systems, history)
    found = backtest(systems, history, calibrate=True, predictions=True)
    labels = [one.label for one in found.systems]
    assert labels == ["elo", "elo calibrated", "slow", "slow calibrated", "baseline"]
    for one in plain.systems:
        assert found.of(one.label).metrics == pytest.approx(one.metrics, nan_ok=True, abs=0)
    assert found.of("elo calibrated").metrics["log_loss"] < found.of("elo").metrics["log_loss"]
    assert found.of("elo calibrated").intervals["log_loss"][0] > 0
    assert found.predictions["win_calibrated"].is_between(0, 1).all()


@pytest.mark.parametrize("name", ["glicko2", "trueskill"])
def test_the_range_of_a_chance_is_that_of_curves_drawn_from_what_is_known(name: str) -> None:
    """Against 1,000 curves whose numbers have the inverse precision as covariance."""
    league = eq.read_history("examples/league.csv")
    system = eq.make_system(name, {"draw_probability": 0.2} if name == "trueskill" else {})
    pool = eq.replay(system, league, calibrate=True).state
    teams = [["ada"], ["ben"]]
    prediction = eq.predict(system, pool, teams)
    stored = pool.state.shared[CALIBRATION]
    precision = np.zeros((NUMBERS, NUMBERS))
    precision[np.tril_indices(NUMBERS)] = stored[NUMBERS:-1]
    precision += np.tril(precision, -1).T
    rng, scores = np.random.default_rng(0), []
    known, covariance = stored[:NUMBERS].copy(), np.linalg.inv(precision)
    for numbers in rng.multivariate_normal(known, covariance, 1000):
        pool.state.shared[CALIBRATION] = np.concatenate([numbers, stored[NUMBERS:]])
        scores.append(eq.predict(system, pool, teams).expected[0])
    assert prediction.calibrated_range is not None
    # The ends of 1,000 draws are known to about 0.01, and log odds are nearly linear.
    expected = np.quantile(scores, [0.025, 0.975])
    assert prediction.calibrated_range == pytest.approx(expected, abs=0.015)
    assert expected[1] - expected[0] > 0.03
    three = [*teams, ["cem"]]
    assert name != "trueskill" or eq.predict(system, pool, three).calibrated_range is None
