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
from equipoise.parallel.tasks import WorkerLostError


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


def test_a_problem_keeps_the_beginning_of_a_long_text() -> None:
    """A request of 5 MB with an unknown field was answered with 10 MB."""
    long = "x" * 5_000_000
    error = InvalidDataError([Problem("", None, long, f"must not be {long}", long)])
    assert len(str(error)) < 10_000
    assert error.problems[0].got == "x" * 1_997 + "..."
