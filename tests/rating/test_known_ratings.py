"""Known ratings with which players begin: wherever a history is rated, or a match predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.history import History
from equipoise.data.ratings import InitialRatings
from equipoise.errors import InvalidParameterError
from equipoise.rating.pool_state import PoolState
from equipoise.rating.registry import make_system
from equipoise.rating.replay import replay
from test_every_system import assert_parts_sum_to_the_change

#: Duels, and contests of three; ann and zoe are known, and zoe never plays.
DUELS = {
    "match": [1, 1, 2, 2, 3, 3],
    "player": ["ann", "bob", "bob", "cyd", "cyd", "ann"],
    "rank": [1, 2, 1, 2, 2, 1],
}
KNOWN = InitialRatings(
    player_ids=np.array(["zoe", "ann"], dtype=object),
    rating=np.array([1200.0, 1800.0]),
    deviation=np.array([np.nan, 60.0]),
)

SYSTEMS = ("elo", "glicko2", "elo-mmr", "trueskill", "team-glicko2", "codeforces", "topcoder")
BOTH = {"entry": "learned", "hold_level": 0.5}


def duels() -> History:
    return eq.read_history(DUELS)


@pytest.mark.parametrize("parameters", [{}, BOTH])
@pytest.mark.parametrize("name", SYSTEMS)
def test_an_explanation_begins_with_the_known_rating(name: str, parameters: dict[str, Any]) -> None:
    """Its parts add up to the change that a replay traces."""
    system, history = make_system(name, parameters), duels()
    trace = replay(system, history, initial=KNOWN, trace=True).trace
    for match, row in ((1, 0), (3, 5)):
        found = eq.explain(system, history, "ann", match, initial=KNOWN)
        assert found.rating_before == trace.columns["rating_before"][row]
        assert found.rating == trace.columns["rating"][row]
        assert_parts_sum_to_the_change(found)
        told = [one.meaning for one in found.quantities if one.name == "known rating"]
        assert told == (["Started at 1800, known before the first match"] if match == 1 else [])
    others = eq.explain(system, history, "bob", 1, initial=KNOWN)
    assert not [one for one in others.quantities if one.name == "known rating"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_first_match_is_predicted_from_known_ratings(name: str) -> None:
    """A what-if is what rating the match would give."""
    system = make_system(name, BOTH)
    pool, teams = PoolState.new(system), [["ann"], ["bob"]]
    found = eq.what_if(system, pool, teams, "ann", initial=KNOWN)
    assert found.rating_before == 1800
    after = replay(system, duels().slice(0, 1), initial=KNOWN).ratings.of("ann")["rating"]
    assert found.rating[0] == after
    expects = eq.predict(system, pool, teams, initial=KNOWN)
    assert expects.newcomers == ("bob",)
    assert expects.expected[0] > 0.6
    assert len(pool.player_ids) == 0


def test_known_ratings_come_before_the_first_match() -> None:
    system, history = make_system("elo"), duels()
    state = replay(system, history.slice(0, 2), initial=KNOWN).state
    for call in (
        lambda: replay(system, history, state=state, initial=KNOWN),
        lambda: eq.explain(system, history, "ann", state=state, initial=KNOWN),
        lambda: eq.predict(system, state, [["ann"], ["bob"]], initial=KNOWN),
        lambda: eq.what_if(system, state, [["ann"], ["bob"]], initial=KNOWN),
    ):
        with pytest.raises(InvalidParameterError, match="initial ratings come before the first"):
            call()
    again = eq.explain(system, history, "ann", 1, state=state, restart=True, initial=KNOWN)
    assert again.rating_before == 1800
    with pytest.raises(InvalidParameterError, match="2 players of the saved state began with"):
        eq.explain(system, history, "ann", 1, state=state, restart=True)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"player": ["a"], "points": [1]}, "rating: must be a column of the table"),
        ({"player": ["a", "a"], "rating": [1, 2]}, "player: must not repeat a player"),
        ({"player": ["a"], "rating": ["x"]}, "rating: must be a number"),
        ({"player": ["a"], "rating": [""]}, "rating: must be a number"),
        ({"player": [""], "rating": [1500]}, "player: must not be empty"),
        (
            {"player": ["a"], "rating": [1500], "deviation": [0]},
            "deviation: must be positive",
        ),
    ],
)
def test_bad_known_ratings_are_named(table: dict[str, Any], problem: str) -> None:
    with pytest.raises(eq.InvalidDataError) as caught:
        eq.read_initial_ratings(table)
    found = [f"{one.field}: {one.rule}" for one in caught.value.problems]
    assert any(one.startswith(problem) for one in found), found


def test_players_of_numbers_have_known_ratings() -> None:
    """Of a table with ids as text; a text that is no number is refused."""
    numbered = {**DUELS, "player": [1, 2, 2, 3, 3, 1]}
    history, system = eq.read_history(numbered), make_system("elo")
    known = eq.read_initial_ratings({"player": ["1", "9"], "rating": [1800.0, 1500.0]})
    assert eq.explain(system, history, 1, 1, initial=known).rating_before == 1800
    found = eq.backtest(
        {"elo": system}, history, rng=np.random.default_rng(0), min_history=0, initial=known
    )
    assert found.systems[0].metrics["log_loss"] < 0.6
    named = eq.read_initial_ratings({"player": ["ann"], "rating": [1800.0]})
    with pytest.raises(InvalidParameterError, match="whole numbers, as the players"):
        eq.explain(system, history, 1, 1, initial=named)


def test_a_table_of_glicko2_says_that_its_scale_is_not_converted() -> None:
    known = eq.read_initial_ratings({"player": ["ann"], "rating": [1800.0], "volatility": [0.06]})
    (note,) = known.notes
    assert "volatility" in note
    assert "scale" in note
