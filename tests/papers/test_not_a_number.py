"""A result that is no number is a violation, not one that a comparison passes over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from papers.elo_mmr import fields, theorems
from papers.items import Facts
from papers.lines import Line
from papers.performance import statements
from papers.rebalance import examples
from papers.team_glicko2 import claims

FEW = Facts(cases=10, seed=0, data=None)


def nothing(*shape: int) -> np.ndarray:
    return np.full(shape, np.nan)


def claimed(lines: Iterable[Line]) -> list[Line]:
    """Return the lines of theorems, which must all differ."""
    found = [line for line in lines if line.printed == "0 violations"]
    assert found
    return found


@pytest.mark.parametrize(
    "statement",
    [
        theorems.unique_zero,
        theorems.terms_added,
        theorems.better_place,
        theorems.monotonic_performance,
    ],
)
def test_performances(
    statement: Callable[[Facts], Iterable[Line]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theorems, "_performances", lambda _, field: nothing(len(field[2])))
    assert {line.outcome for line in claimed(statement(FEW))} == {"differs"}


@pytest.mark.parametrize("statement", [theorems.monotonic_rating, theorems.robust])
def test_ratings_of_beliefs(
    statement: Callable[[Facts], Iterable[Line]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fields.Belief, "rating", property(lambda _: float("nan")))
    assert {line.outcome for line in claimed(statement(FEW))} == {"differs"}


def test_variances_of_beliefs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields.Belief, "variance", property(lambda _: float("nan")))
    wrong = {line.what for line in theorems.diffusion(FEW) if line.outcome == "differs"}
    assert "correct magnitude, 0 < rho < inf" in wrong
    assert "composability, 0 < rho < inf" in wrong


def test_gains_of_thrown_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theorems, "throwing", lambda *_, **__: SimpleNamespace(gain=float("nan")))
    assert {line.outcome for line in claimed(theorems.aligned_incentives(FEW))} == {"differs"}


def replayed(columns: dict[str, np.ndarray]) -> Callable[..., Any]:
    """Return a replay whose trace has these columns."""
    return lambda *_, **__: SimpleNamespace(trace=SimpleNamespace(columns=columns))


def test_traces_of_histories(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"rating_before": nothing(80), "rating": nothing(80)}
    monkeypatch.setattr(theorems, "replay", replayed(columns))
    assert {line.outcome for line in claimed(theorems.memoryless(FEW))} == {"differs"}


def test_curves_and_potentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Definition 1 and the convexity of G."""
    curve = SimpleNamespace(expected=lambda t: t * np.nan, slope=lambda t: t * np.nan)
    monkeypatch.setattr(statements, "curve_of", lambda _: curve)
    monkeypatch.setattr(statements, "potential_of", lambda _, t: t * np.nan)
    for statement in (statements.curves, statements.potential):
        assert {line.outcome for line in claimed(statement(FEW))} == {"differs"}


@pytest.mark.parametrize(
    "statement", [statements.equivalence, statements.equation_1, statements.proposition_2]
)
def test_expected_scores(
    statement: Callable[[Facts], Iterable[Line]], monkeypatch: pytest.MonkeyPatch
) -> None:
    if statement is statements.proposition_2:
        found = SimpleNamespace(value=float("nan"), gradient=nothing(1), curvature=np.eye(1))
        monkeypatch.setattr(statements, "performance_potential", lambda *_: found)
    else:
        monkeypatch.setattr(statements, "expected_scores", lambda games, *_: nothing(games.players))
    assert {line.outcome for line in claimed(statement(FEW))} == {"differs"}


def test_team_glicko2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes by result and by performance."""
    one = claims.rated(FEW.cases, FEW.seed)
    gone = {**one.trace, "rating": nothing(len(one.trace["rating"]))}
    monkeypatch.setattr(claims, "rated", lambda *_: one._replace(trace=gone))
    found = [*claims.dominated(FEW), *claims.behaviour(FEW)]
    assert {line.outcome for line in claimed(found) if not line.ours.endswith("in 0 cases")} == {
        "differs"
    }
    monkeypatch.setattr(claims, "replay", replayed(gone))
    assert {line.outcome for line in claimed(claims.incentives(FEW))} == {"differs"}


def test_distances_of_rebalanced_teams(monkeypatch: pytest.MonkeyPatch) -> None:
    real = examples.rebalance

    def without_distance(request: Any, **more: Any) -> Any:
        answer = real(request, **more)
        return SimpleNamespace(
            method=answer.method,
            teams=answer.teams,
            candidates=answer.candidates,
            member_count_difference=answer.member_count_difference,
            distance=float("nan"),
        )

    monkeypatch.setattr(examples, "rebalance", without_distance)
    wrong = {line.what for line in examples.rules_hold(FEW) if line.outcome == "differs"}
    assert "a listed sequence that is better than the answer" in wrong
