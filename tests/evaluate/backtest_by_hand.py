"""Backtests made by hand: metrics, intervals and differences as they are given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations

import numpy as np

from equipoise.data.backtest import (
    BASELINE,
    METRICS,
    Backtest,
    Calibration,
    Difference,
    Interval,
    SystemScores,
)

NAN = math.nan
#: What is reached without ratings.
WITHOUT = {
    "pair_inversion": 50.0,
    "rank_deviation": 50.0,
    "ndcg": 0.8,
    "log_loss": 0.7,
    "brier": 0.3,
}


def backtest_by_hand(
    values: Mapping[str, Mapping[str, float]],
    *,
    apart: Mapping[tuple[str, str, str], Interval] | None = None,
    resamples: int = 100,
    min_history: int = 5,
) -> Backtest:
    """Return a backtest of systems by label, and the baseline.

    values : metric -> value of each; metrics that are left out are NaN, those of the top are those
        of all
    apart : (first, second, metric) -> bounds of their difference; a hair around it where left out
    """
    systems = {**values, BASELINE: WITHOUT}
    return Backtest(
        systems=tuple(_scores(label, given, resamples) for label, given in systems.items()),
        differences=tuple(
            _difference(one, other, values, apart or {}, resamples)
            for one, other in combinations(values, 2)
        ),
        over_baseline=tuple(
            _difference(one, BASELINE, systems, apart or {}, resamples) for one in values
        ),
        matches=30,
        participations=1200,
        undecided=0,
        learned=4,
        min_history=min_history,
        ties_as_authors=False,
        confidence=0.95,
        resamples=resamples,
    )


def _metrics(given: Mapping[str, float]) -> dict[str, float]:
    return {name: given.get(name.removesuffix("_top100"), NAN) for name in METRICS}


def _scores(label: str, given: Mapping[str, float], resamples: int) -> SystemScores:
    metrics = _metrics(given)
    bounds = {name: (value - 0.01, value + 0.01) for name, value in metrics.items()}
    return SystemScores(
        label=label,
        system="constant-rate" if label == BASELINE else "elo",
        parameters={},
        metrics=metrics,
        intervals=bounds if resamples else {},
        calibration=Calibration(
            participations=np.array([300.0, 900.0]),
            expected=np.array([0.25, 0.75]),
            observed=np.array([0.125, 0.875]),
        ),
    )


def _difference(
    one: str,
    other: str,
    values: Mapping[str, Mapping[str, float]],
    apart: Mapping[tuple[str, str, str], Interval],
    resamples: int,
) -> Difference:
    first, second = _metrics(values[one]), _metrics(values[other])
    metrics = {name: first[name] - second[name] for name in METRICS}
    close = {name: (value - 1e-6, value + 1e-6) for name, value in metrics.items()}
    given = {name: apart.get((one, other, name), close[name]) for name in METRICS}
    return Difference(
        first=one, second=other, metrics=metrics, intervals=given if resamples else {}
    )
