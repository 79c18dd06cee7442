"""Explanations: the right match, from the right state, in parts that add up to the change."""

from __future__ import annotations

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
from test_every_system import assert_parts_sum_to_the_change

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
    match = history.match_ids.tolist().index(found.match)
    rows = np.arange(history.offsets[match], history.offsets[match + 1])
    (row,) = rows[history.player_ids[history.player[rows]] == found.player]
    for name in ("rating_before", "rating", "deviation", "deviation_before", "expected"):
        np.testing.assert_allclose(getattr(found, name), trace.columns[name][row], atol=1e-9)
    assert_parts_sum_to_the_change(found)


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


def test_teams_are_explained_in_general_too() -> None:
    """Two matches of four teams of two, whose players have one place and one explanation."""
    history = replace(
        history_of(
            [Contest(tuple(range(8)), ranks) for ranks in ((0, 0, 1, 1, 1, 1, 2, 2), RANKS)]
        ),
        team=np.tile(np.repeat(np.arange(4), 2), 2),
    )
    general, own = (explain(system, history, 0) for system in (Unknown(), Elo()))
    partner = explain(Elo(), history, 1)
    assert (own.rank, own.tied, own.teams) == (partner.rank, partner.tied, partner.teams)
    assert (own.rank, own.tied, own.teams) == (4, 0, 4)
    assert_adds_up(Elo(), history, own)
    change = own.rating - own.rating_before
    assert [part.change for part in general.contributions] == [change]
    assert (general.expected, general.score) == (own.expected, own.score)
    # Elo's change is a mean over the opponents. Without one of them it is the mean over the others.
    assert {one.player: (one.expected, one.effect) for one in general.opponents} == {
        one.player: (
            pytest.approx(one.expected),
            pytest.approx(change - (change - one.effect) * 3 / 2),
        )
        for one in own.opponents
    }


RANKS = (3, 3, 2, 2, 0, 0, 1, 1)
