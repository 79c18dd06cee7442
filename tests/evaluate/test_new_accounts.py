"""New accounts: what they move and get is what a replay of the altered history gives."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.history import History
from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.rating.newcomers import ENTRY, MU
from equipoise.rating.registry import make_system
from equipoise.rating.state import State
from rating.entry_histories import BOTH, history_of
from release_scripts import script

STUDY = script("new_accounts", "benchmarks")
losing_accounts, taking_part = STUDY.losing_accounts, STUDY.taking_part

SYSTEMS = ["elo", "elo-mmr", "elo-mmx", "codeforces", "glicko", "plackett-luce"]


def entries(system: Any, history: History) -> list[float]:
    """Return the entry after each match."""
    state, found = system.initial(history.players), []
    for m in range(history.matches):
        system.run(state, history, m, m + 1)
        found.append(float(state.shared[ENTRY][MU]))
    return found


def with_last_places(history: History, match: int, count: int) -> History:
    """Return the history as a table would have it: new players are last in a match."""
    rows = []
    for m in range(history.matches):
        low, high = history.offsets[m : m + 2]
        players = history.player[low:high].tolist()
        rows += [
            (m, p, t, r)
            for p, t, r in zip(
                players,
                history.team[low:high].tolist(),
                history.rank[low:high].tolist(),
                strict=True,
            )
        ]
        if m == match:
            rows += [(m, 1000 + n, 900 + n, 500) for n in range(count)]
    matches, players, teams, ranks = (list(column) for column in zip(*rows, strict=True))
    table = {"match": matches, "player": players, "team": teams, "rank": ranks}
    read = eq.read_history(table)
    weight = history.weights()
    return dataclasses.replace(read, weight=weight, time=history.time)


@pytest.mark.parametrize("name", SYSTEMS)
def test_losing_accounts_move_the_entry_as_in_the_altered_history(name: str) -> None:
    """1e-9 points: rows of another order change sums by rounding."""
    system, history = make_system(name, {**BOTH, "entry_half_life": 2}), history_of(name, 3)
    honest = entries(system, history)
    rated = [m for m in range(40) if history.teams()[m] > 2 and history.distinct_ranks()[m] > 1]
    at = rated[5]
    for found in losing_accounts(system, history, [1, 7], match=at):
        altered = entries(system, with_last_places(history, at, found.accounts))
        effect = np.array(altered[at:]) - honest[at:]
        assert found.match == at
        assert found.entry == pytest.approx(honest[at - 1], abs=1e-9)
        assert found.honest == pytest.approx(honest[at], abs=1e-9)
        assert found.moved == pytest.approx(effect[0], abs=1e-8)
        assert found.moved != 0
        above = np.abs(effect) > abs(effect[0]) / 2
        expected = None if above[-1] else int(np.flatnonzero(above)[-1]) + 1
        assert found.half_matches == expected


def test_in_matches_of_two_each_account_loses_a_duel() -> None:
    system, history = make_system("glicko2", BOTH), history_of("glicko2", 4)
    one, many = losing_accounts(system, history, [1, 20])
    assert many.moved < one.moved < 0
    assert one.participants == 2


def test_accounts_that_face_one_another_move_less_than_as_many_in_many_matches() -> None:
    """The lever: of all newcomers alike, nothing is learned. So the effect does not grow on."""
    system, history = make_system("elo-mmr", BOTH), history_of("elo-mmr", 5)
    found = losing_accounts(system, history, [1, 10, 10_000])
    assert abs(found[1].moved) > abs(found[0].moved)
    assert abs(found[2].moved) < abs(found[1].moved)


@pytest.mark.parametrize("name", ["elo-mmr", "elo", "codeforces"])
def test_taking_part_is_what_the_trace_hands_out(name: str) -> None:
    """To a player added to every rated match, in the best row of so many matches."""
    system, history = make_system(name, {**BOTH, "level_step": 0.02}), history_of(name, 6)
    found = taking_part(system, history)
    state: State = system.initial(history.players)
    handed = []
    for m in range(history.matches):
        numbers = state.shared[ENTRY].copy()
        before = state.column("matches").copy()
        system.run(state, history, m, m + 1)
        if np.any(state.column("matches") != before):
            delta = min(max(0.3 * (numbers[3] - numbers[2]), 0), 0.02 * system.usual_deviation)  # type: ignore[attr-defined]
            handed.append((m, delta))
    sums = [sum(d for _, d in handed[n : n + 6]) for n in range(len(handed) - 5)]
    assert found.matches == 6
    assert found.best == pytest.approx(max(sums))
    assert found.best > 0
    assert found.mean == pytest.approx(np.mean(sums))
    assert found.first == handed[int(np.argmax(sums))][0]
    assert found.best <= found.most
    assert found.most == pytest.approx(6 * 0.02 * system.usual_deviation)  # type: ignore[attr-defined]
    # Elo and the others give back some of it, and none add to it.
    assert found.kept is not None
    assert 0 < found.kept <= found.best + 1e-9


def test_a_system_without_any_of_it_is_refused() -> None:
    history = history_of("elo", 7)
    with pytest.raises(InvalidParameterError, match="elo with these parameters has a fixed entry"):
        losing_accounts(make_system("elo"), history)
    with pytest.raises(InvalidParameterError, match="does not hold the level"):
        taking_part(make_system("elo"), history)
    with pytest.raises(NotFoundError, match="no rated match 'x' in this history"):
        losing_accounts(make_system("elo", BOTH), history, match="x")
    with pytest.raises(InvalidParameterError, match="accounts must be from 1 to 1,000,000; got 0"):
        losing_accounts(make_system("elo", BOTH), history, [0])
