"""Who is best, and whether noise may explain it: by hand."""

from __future__ import annotations

import math

import pytest

from equipoise.evaluate.standings import Standing, standings
from evaluate.backtest_by_hand import NAN, backtest_by_hand


def of(found: tuple[Standing, ...], metric: str) -> Standing:
    return next(one for one in found if one.metric == metric)


def test_more_is_better_of_some_metrics_and_less_of_others() -> None:
    """How far a system is behind is positive either way, and so are its bounds turned."""
    values = {
        "a": {"pair_inversion": 80.0, "brier": 0.2},
        "b": {"pair_inversion": 83.0, "brier": 0.1},
        "c": {"pair_inversion": 82.0, "brier": 0.4},
    }
    apart = {("a", "b", "pair_inversion"): (-4.0, -1.0), ("a", "b", "brier"): (-0.05, 0.25)}
    found = standings(backtest_by_hand(values, apart=apart))
    order, loss = of(found, "pair_inversion"), of(found, "brier")
    assert (order.best, order.value) == ("b", 83.0)
    assert [rival.label for rival in order.rivals] == ["c", "a"]
    assert order.rivals[1] == ("a", 3.0, 1.0, 4.0)
    assert order.rivals[1].beyond_noise is True
    assert (loss.best, loss.rivals[0].label) == ("b", "a")
    assert loss.rivals[0].behind == pytest.approx(0.1)
    assert loss.rivals[0][2:] == (-0.05, 0.25)
    assert loss.rivals[0].beyond_noise is False
    assert loss.not_told_apart == ("a",)


def test_bounds_are_those_of_the_difference_whoever_is_named_first() -> None:
    values = {"a": {"log_loss": 0.4}, "b": {"log_loss": 0.5}}
    ahead = standings(backtest_by_hand(values, apart={("a", "b", "log_loss"): (-0.3, 0.1)}))
    turned = dict(reversed(values.items()))
    behind = standings(backtest_by_hand(turned, apart={("b", "a", "log_loss"): (-0.1, 0.3)}))
    assert of(ahead, "log_loss") == of(behind, "log_loss")
    assert of(ahead, "log_loss").rivals[0][2:] == (-0.1, 0.3)


def test_equals_are_level_and_the_first_named_stands_first() -> None:
    values = {"a": {"ndcg": 0.9}, "b": {"ndcg": 0.95}, "c": {"ndcg": 0.95}}
    found = of(standings(backtest_by_hand(values)), "ndcg")
    assert found.leaders == ("b", "c")
    assert [rival.label for rival in found.behind] == ["a"]
    assert math.copysign(1, found.rivals[0].behind) == 1


def test_without_resamples_nobody_knows() -> None:
    values = {"a": {"brier": 0.1}, "b": {"brier": 0.2}}
    found = of(standings(backtest_by_hand(values, resamples=0)), "brier")
    assert found.rivals[0].beyond_noise is None
    assert found.not_told_apart == ()


def test_what_is_not_scored_has_no_standing() -> None:
    """Neither a metric of which there is no number, nor the baseline."""
    found = standings(backtest_by_hand({"a": {"brier": 0.4}, "b": {"brier": NAN}}))
    assert [one.metric for one in found] == ["brier"]
    assert (found[0].best, found[0].rivals) == ("a", ())


def test_a_lead_too_small_to_matter_is_none() -> None:
    """Whatever the interval says; the least differences are those of the backtest."""
    values = {"a": {"brier": 0.2}, "b": {"brier": 0.2001}, "c": {"brier": 0.201}}
    found = of(standings(backtest_by_hand(values)), "brier")
    near, far = found.rivals
    assert (near.beyond_noise, far.beyond_noise) == (True, True)
    assert found.judged(near) == "no difference that matters"
    assert found.judged(far) == "beyond noise"
