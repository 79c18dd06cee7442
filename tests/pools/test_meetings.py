"""The matches of two players against each other."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.questions import PredictRequest
from equipoise.pools.reading.players import player_history
from equipoise.pools.reading.questions import chances_now, predict_in_pool
from equipoise.pools.reading.summaries import against
from equipoise.store.connection import Store
from pools.pool_trials import NOW, Trial, duel


def draw(match: str, first: list[str], second: list[str], time: int) -> MatchRequest:
    return MatchRequest(match, [TeamRequest(first, rank=1), TeamRequest(second, rank=1)], time)


def test_a_record_of_duels_has_results_lines_and_chances(store: Store) -> None:
    """Each player's view is the other's turned round, and a voided match does not count."""
    pool = Trial(store, system="glicko2", late="replay")
    pool.post(
        duel("a", "ada", "bob", 1),
        duel("b", "bob", "ada", 2),
        draw("c", ["ada"], ["bob"], 3),
        duel("d", "ada", "cyd", 4),
        duel("e", "ada", "bob", 5),
        duel("void", "bob", "ada", 6),
    )
    pool.void("void")
    pool.settle()
    found = against(store, pool.name, "ada", "bob")
    assert (found.matches, found.won, found.drawn, found.lost) == (4, 2, 1, 1)
    assert (found.duels, found.together) == (4, 0)
    assert [(one.line.match, one.result) for one in found.meetings] == [
        ("e", "win"),
        ("c", "draw"),
        ("b", "loss"),
        ("a", "win"),
    ]
    lines = {one.match: one for one in player_history(store, pool.name, "ada").matches}
    theirs = {one.match: one for one in player_history(store, pool.name, "bob").matches}
    for one in found.meetings:
        assert one.line == lines[one.line.match]
        other = theirs[one.line.match]
        assert (one.rank, one.rating_before, one.rating) == (
            other.rank,
            other.rating_before,
            other.rating,
        )
    predicted = predict_in_pool(store, pool.name, PredictRequest([["ada"], ["bob"]]))
    assert [found.chance, found.other_chance] == [team.expected for team in predicted.teams]
    turned = against(store, pool.name, "bob", "ada")
    assert (turned.won, turned.drawn, turned.lost) == (1, 1, 2)


@pytest.mark.parametrize(
    ("system", "parameters"),
    [
        ("elo", {"home_advantage": 50.0}),
        ("glicko", {"learn_home_advantage": True}),
        ("glicko2", {}),
        ("trueskill", {}),
        ("elo-mmr", {"drift_per_day": 2.0}),
        ("egf", {}),
        ("codeforces", {}),
    ],
)
def test_chances_now_are_those_of_a_prediction(
    sqlite_store: Store, system: str, parameters: dict[str, Any]
) -> None:
    """At the same time, to the last bit."""
    pool = Trial(sqlite_store, system=system, parameters=parameters)
    for at, two in enumerate([("ada", "bob"), ("ada", "cyd"), ("cyd", "bob"), ("bob", "ada")]):
        pool.post(duel(str(at), *two, 1_000 * at))
    found = chances_now(sqlite_store, pool.name, "ada", ["bob", "cyd"], now=NOW)
    asked = [PredictRequest([["ada"], [other]]) for other in ("bob", "cyd")]
    predicted = [predict_in_pool(sqlite_store, pool.name, one, now=NOW).teams for one in asked]
    assert found == [(one.expected, other.expected) for one, other in predicted]


def test_mates_do_not_meet_and_many_teams_tell_who_placed_above(store: Store) -> None:
    """Equal ranks are a draw of two teams, and nothing within one, also with 101 teams."""
    pool = Trial(store, system="bradley-terry")
    crowd = [TeamRequest([f"p{at:03}"], rank=at + 3) for at in range(99)]
    pool.post(
        draw("mates", ["ada", "bob"], ["cyd", "dan"], 1),
        MatchRequest(
            "cup",
            [TeamRequest(["cyd"], rank=1), TeamRequest(["bob"], rank=2), TeamRequest(["ada"], 3)],
            2,
        ),
        MatchRequest("tie", [TeamRequest(["ada"], 1), TeamRequest(["bob"], 1), *crowd], 3),
        MatchRequest("pair", [TeamRequest(["ada", "bob"], 1), TeamRequest(["x"], 2), *crowd], 4),
    )
    found = against(store, pool.name, "ada", "bob")
    assert [(one.line.match, one.result, one.rank) for one in found.meetings] == [
        ("tie", "draw", 1),
        ("cup", "loss", 2),
    ]
    assert (found.duels, found.together) == (0, 2)
    assert against(store, pool.name, "ada", "dan").duels == 1


def test_pages_follow_one_another(store: Store) -> None:
    pool = Trial(store)
    pool.post(*(duel(f"m{at}", "ada", "bob", at) for at in range(5)))
    names: list[str] = []
    cursor = None
    for _ in range(3):
        page = against(store, pool.name, "ada", "bob", cursor=cursor, limit=2)
        assert page.matches == 5
        names += [one.line.match for one in page.meetings]
        cursor = page.next
    assert cursor is None
    assert names == ["m4", "m3", "m2", "m1", "m0"]


def test_rejects_one_player_twice_and_unknown_players(store: Store) -> None:
    pool = Trial(store)
    pool.post(duel("a", "ada", "bob", 1))
    with pytest.raises(InvalidParameterError, match="two different ones"):
        against(store, pool.name, "ada", "ada")
    with pytest.raises(NotFoundError, match="nobody"):
        against(store, pool.name, "ada", "nobody")
