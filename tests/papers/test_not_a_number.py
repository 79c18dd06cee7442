"""When a printed number counts as reproduced; a result that is no number is a violation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from papers.elo_mmr import fields, theorems
from papers.items import Facts
from papers.lines import Line, agrees, compared, dropped, holds, largest, never
from papers.performance import statements
from papers.rebalance import examples
from papers.team_glicko2 import claims

FEW = Facts(cases=10, seed=0, data=None)
NAN = float("nan")


def nothing(*shape: int) -> np.ndarray:
    return np.full(shape, np.nan)


def replayed(columns: dict[str, np.ndarray]) -> Callable[..., Any]:
    """Return a replay whose trace has these columns."""
    return lambda *_, **__: SimpleNamespace(trace=SimpleNamespace(columns=columns))


CURVE = SimpleNamespace(expected=lambda t: t * np.nan, slope=lambda t: t * np.nan)
POTENTIAL = SimpleNamespace(value=NAN, gradient=nothing(1), curvature=np.eye(1))


@pytest.mark.parametrize(
    ("place", "name", "value", "checks"),
    [
        (
            theorems,
            "_performances",
            lambda _, field: nothing(len(field[2])),
            [
                theorems.unique_zero,
                theorems.terms_added,
                theorems.better_place,
                theorems.monotonic_performance,
            ],
        ),
        (
            fields.Belief,
            "rating",
            property(lambda _: NAN),
            [theorems.monotonic_rating, theorems.robust],
        ),
        (
            theorems,
            "throwing",
            lambda *_, **__: SimpleNamespace(gain=NAN),
            [theorems.aligned_incentives],
        ),
        (
            theorems,
            "replay",
            replayed({"rating_before": nothing(80), "rating": nothing(80)}),
            [theorems.memoryless],
        ),
        (statements, "curve_of", lambda _: CURVE, [statements.curves]),
        (statements, "potential_of", lambda _, t: t * np.nan, [statements.potential]),
        (statements, "performance_potential", lambda *_: POTENTIAL, [statements.proposition_2]),
        (
            statements,
            "expected_scores",
            lambda games, *_: nothing(games.players),
            [statements.equivalence, statements.equation_1],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_theorems_differ(
    place: Any,
    name: str,
    value: Any,
    checks: list[Callable[[Facts], Iterable[Line]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(place, name, value)
    for check in checks:
        claimed = [line for line in check(FEW) if line.printed == "0 violations"]
        assert {line.outcome for line in claimed} == {"differs"}, check


def test_variances_of_beliefs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields.Belief, "variance", property(lambda _: NAN))
    wrong = {line.what for line in theorems.diffusion(FEW) if line.outcome == "differs"}
    assert "correct magnitude, 0 < rho < inf" in wrong
    assert "composability, 0 < rho < inf" in wrong


def test_team_glicko2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes by result and by performance."""
    rated = claims.rated(FEW.cases, FEW.seed)
    gone = {**rated.trace, "rating": nothing(len(rated.trace["rating"]))}
    monkeypatch.setattr(claims, "rated", lambda *_: rated._replace(trace=gone))
    monkeypatch.setattr(claims, "replay", replayed(gone))
    lines = [*claims.dominated(FEW), *claims.behaviour(FEW), *claims.incentives(FEW)]
    claimed = [line for line in lines if line.printed == "0 violations"]
    assert {line.outcome for line in claimed if not line.ours.endswith("in 0 cases")} == {"differs"}


def test_distances_of_rebalanced_teams(monkeypatch: pytest.MonkeyPatch) -> None:
    real = examples.rebalance

    def without_distance(request: Any, **more: Any) -> Any:
        answer = real(request, **more)
        names = ("method", "teams", "candidates", "member_count_difference")
        return SimpleNamespace(**{name: getattr(answer, name) for name in names}, distance=NAN)

    monkeypatch.setattr(examples, "rebalance", without_distance)
    wrong = {line.what for line in examples.rules_hold(FEW) if line.outcome == "differs"}
    assert "a listed sequence that is better than the answer" in wrong


# --- when a printed number counts as reproduced ------------------------------------------------


@pytest.mark.parametrize(
    ("line", "outcome", "ours"),
    [
        (compared("x", "78.5", 78.467), "reproduced", "78.47"),
        (compared("x", "78.5", 78.45), "reproduced", "78.45"),
        (compared("x", "78.5", 78.449, reason="other data"), "differs", "78.45"),
        (compared("x", "2,999", 2999.5), "reproduced", "2,999.5"),
        (compared("x", "1e3", 1501.0), "differs", "1,501"),
        (agrees("x", 1e-10, 1e-9, 1000), "reproduced", "within 1e-09 in 1,000 cases"),
        (agrees("x", 2e-9, 1e-9, 1000), "differs", ""),
        (agrees("x", largest(1.0, math.nan), 1e-9, 1), "differs", ""),
        (agrees("x", largest(math.nan, 1.0), 1e-9, 1), "differs", ""),
        (never("x", 0, 20, of="match"), "reproduced", "0 in 20 matches"),
        (never("x", 1, 20), "differs", ""),
        (dropped("x", 7, 20, of="lobby"), "beyond", "7 in 20 lobbies"),
    ],
)
def test_lines_say_whether_a_number_is_reproduced(line: Line, outcome: str, ours: str) -> None:
    """A number is, if it rounds to what is printed; one that is not a number never is."""
    assert line.outcome == outcome
    assert ours in line.ours


def test_a_stored_number_says_so_even_if_it_is_reproduced() -> None:
    stored = "Stored: commit 1234."
    assert compared("x", "78.5", 78.467, reason="other data", source=stored).reason == stored
    assert compared("x", "78.5", 78.4, reason="Other.", source=stored).reason == f"Other. {stored}"
    assert holds("x", "ahead", "+1", True, source=stored).reason == stored
