"""Errors cross from one process to another with all they hold."""

from __future__ import annotations

import pickle

import pytest

from equipoise.errors import (
    ConvergenceError,
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NoEquilibriumError,
    NoStrengthsError,
    Problem,
    Sweep,
)
from equipoise.parallel.processes import WorkerLostError


@pytest.mark.parametrize(
    "error",
    [
        EquipoiseError("plain"),
        InvalidParameterError("k must be positive; got -1"),
        ConvergenceError("the volatility", 100, 0.5),
        InvalidDataError([Problem("a.csv", 3, "rank", "must be a number", "x")], advice="look"),
        NoEquilibriumError([Sweep(winners=("ann",), losers=("ben",), games=4)]),
        NoStrengthsError([[("ann",), ("ben",)]]),
        WorkerLostError("it is gone"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_cross_processes(error: EquipoiseError) -> None:
    error.add_note("in league 5")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert repr(copy.__dict__) == repr(error.__dict__)
