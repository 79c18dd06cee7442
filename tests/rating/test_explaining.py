"""Explanations: the right match, from the right state, in parts that add up to the change."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from equipoise.data.explanation import Explanation
from equipoise.data.history import History
from equipoise.errors import (
    ConflictError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
)
from equipoise.rating.elo_mmr.elo_mmr import EloMMR
from equipoise.rating.explaining import explain, explain_change
from equipoise.rating.replay import replay
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem
from equipoise.rating.systems.elo import Elo
from equipoise.rating.systems.glicko2 import Glicko2
from rating.histories import Contest, history_of

SEASON = [
    Contest((0, 1, 2, 3, 4), (0, 1, 2, 3, 4), 100.0),
    Contest((0, 2, 4, 5), (1, 0, 1, 2), 101.0),
    Contest((0, 1, 5), (0, 0, 0), 104.0),
    Contest((0,), (0,), 105.0),
    Contest((1, 3, 5), (0, 2, 1), 108.0),
]
DUELS = [
    Contest((0, 1), (0, 1), 100.0),
    Contest((1, 2), (0, 0), 103.0),
    Contest((2, 0), (0, 1), 110.0),
    Contest((1, 0), (0, 1), 111.0),
]


def season() -> History:
    names = np.array(["ann", "bob", "cyd", "dan", "eve", "fay"], dtype=object)
    history = history_of(SEASON)
    return history.with_players(names, history.player)


def assert_adds_up(system: RatingSystem, history: History, found: Explanation) -> None:
    """Hold an explanation against the trace of a replay, and its parts against the change."""
    trace = replay(system, history, trace=True).trace
    assert trace is not None
    columns = trace.columns
    match = history.match_ids.tolist().index(found.match)
    rows = np.arange(history.offsets[match], history.offsets[match + 1])
    (row,) = rows[history.player_ids[history.player[rows]] == found.player]
    assert found.rating_before == pytest.approx(columns["rating_before"][row], abs=1e-9)
    assert found.rating == pytest.approx(columns["rating"][row], abs=1e-9)
    np.testing.assert_allclose(found.deviation, columns["deviation"][row], atol=1e-9)
    np.testing.assert_allclose(found.deviation_before, columns["deviation_before"][row], atol=1e-9)
    assert found.expected == pytest.approx(columns["expected"][row], abs=1e-9)
    assert found.rank == _place(history, rows, row)
    change = found.rating - found.rating_before
    # Promised by `Explanation`: 1e-9 rating points.
    assert math.fsum(one.change for one in found.contributions) == pytest.approx(change, abs=1e-9)
    if found.remembered:
        parts = [one.change for one in found.remembered]
        assert math.fsum(parts) == pytest.approx(change, abs=1e-9)
        assert math.fsum(one.weight for one in found.remembered) == pytest.approx(1, abs=1e-9)
    if not math.isnan(found.least_change):
        assert found.least_change - 1e-9 <= change <= found.largest_change + 1e-9


def _place(history: History, rows: np.ndarray, row: int) -> int:
    """Return the place from 1 of a participation: one more than the teams ranked above."""
    better = history.rank[rows] < history.rank[row]
    return 1 + len(np.unique(history.team[rows][better]))


@pytest.mark.parametrize(
    "system",
    [
        *(EloMMR(rho=rho) for rho in (0.0, 0.04, 1.0, math.inf)),
        EloMMR(rho=0.5, drift_per_day=4.0, rate_all_ties=True, remembered=1),
        Elo(k=20),
    ],
    ids=str,
)
def test_the_parts_of_every_match_add_up(system: RatingSystem) -> None:
    history = season()
    for match, contest in enumerate(SEASON):
        for player in contest.players:
            name = history.player_ids[player]
            if len(contest.players) < 2 or (match == 2 and system.capabilities.skips_all_tied):
                continue
            assert_adds_up(system, history, explain(system, history, name, match))


def test_the_last_match_that_changed_something_is_taken() -> None:
    """Not the one in which ann was alone, and the one in which all tied only where it counts."""
    history = season()
    assert explain(EloMMR(), history, "ann").match == 1
    assert explain(Elo(), history, "ann").match == 2
    assert explain(EloMMR(), history, "fay").match == 4


def test_ids_may_come_as_text() -> None:
    history = history_of(DUELS)
    found = explain(Elo(), history, "2", "1")
    assert (found.player, found.match) == (2, 1)


def test_what_cannot_be_explained_is_told() -> None:
    history, system = season(), EloMMR()
    with pytest.raises(NotFoundError, match=r"no player anne among .*; did you mean ann\?$"):
        explain(system, history, "anne")
    with pytest.raises(NotFoundError, match=r"no match 44 among the 5 of the history"):
        explain(system, history, "ann", 44)
    with pytest.raises(NotFoundError, match="dan did not take part in match 1, but in 2 others,"):
        explain(system, history, "dan", 1)
    with pytest.raises(InvalidDataError, match="match 2 changed no rating: all 3 tied"):
        explain(system, history, "ann", 2)
    with pytest.raises(InvalidDataError, match="match 3 changed no rating: it had a single"):
        explain(system, history, "ann", 3)
    with pytest.raises(InvalidDataError, match="no match of ann changed a rating"):
        explain(system, history.slice(2, 4), "ann")
    with pytest.raises(InvalidDataError, match="glicko2 cannot rate"):
        explain(Glicko2(), history, "ann")


def test_a_saved_state_goes_on_to_the_match() -> None:
    """The same explanation as from the start, to the last bit."""
    history, system = season(), EloMMR(rho=0.04)
    state = replay(system, history.slice(0, 2)).state
    straight = explain(system, history, "bob", 4)
    resumed = explain(system, history, "bob", 4, state=state)
    assert resumed == straight
    # The continuation alone does not know which matches the state remembers.
    rest = explain(system, history.slice(2, 5), "bob", state=state)
    assert replace(rest, remembered=()) == replace(straight, remembered=())
    assert [one.change for one in rest.remembered] == [one.change for one in straight.remembered]
    with pytest.raises(ConflictError, match="the saved state has rated match 1 already"):
        explain(system, history, "cyd", 1, state=state)
    with pytest.raises(InvalidParameterError, match=r"rho was 0\.04, not 1\.0"):
        explain(EloMMR(), history, "bob", state=state)


def test_the_history_is_rated_only_up_to_the_match() -> None:
    seen: list[tuple[int, int]] = []
    explain(Elo(), season(), "cyd", 1, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(5, 5)]
    assert explain(Elo(), season(), "cyd", 0).rating_before == 1500.0


def test_teams_share_a_place() -> None:
    """Elo: a team's players have the same explanation but for their own rating."""
    history = replace(
        history_of([Contest((0, 1, 2, 3), (0, 0, 1, 1))]), team=np.array([0, 0, 1, 1])
    )
    found = [explain(Elo(), history, player) for player in range(4)]
    assert [one.rank for one in found] == [1, 1, 2, 2]
    assert {(one.teams, one.tied) for one in found} == {(2, 0)}
    for one in found:
        assert_adds_up(Elo(), history, one)


class Explained(Elo):
    """A system with an explainer of its own."""

    def explain(self, before: State, history: History, match: int, row: int) -> Explanation:
        return replace(explain_change(Elo(), before, history, match, row), system="explained")


class Unknown(Elo):
    """A system of which the registry has not heard."""

    name = "unknown"


def test_a_system_of_ones_own_explains_itself_or_is_explained_in_general() -> None:
    """The registry names the explainers of the systems here, and of no others."""
    history = season()
    before = Elo().initial(history.players)
    found = explain_change(Elo(), before, history, 0, 1)
    own = explain_change(Explained(), before, history, 0, 1)
    assert (found.system, own.system) == ("elo", "explained")
    assert own.contributions == found.contributions
    general = explain_change(Unknown(), before, history, 0, 1)
    assert (general.rating, general.expected) == (found.rating, found.expected)
    assert_adds_up(Unknown(), history, general)
