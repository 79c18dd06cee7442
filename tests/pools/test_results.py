"""What answers say of results: scores, chances beforehand, opponents, and a player's summary."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.questions import PredictRequest
from equipoise.pools.reading.matches import match, matches
from equipoise.pools.reading.players import player_history
from equipoise.pools.reading.questions import predict_in_pool
from equipoise.pools.reading.summaries import player_summary
from equipoise.store.connection import Store
from pools.pool_trials import Trial, duel

DAY = 86_400


def game(
    name: str, first: str, second: str, goals: tuple[float, float], time: int, **home: bool
) -> MatchRequest:
    """Return a match with scores; home : whether the first is at home."""
    side = ParticipationRequest(first, **home, statistics={"shots": 7.0}, side=None)  # type: ignore[arg-type]
    return MatchRequest(
        name, [TeamRequest([side], score=goals[0]), TeamRequest([second], score=goals[1])], time
    )


SYSTEMS: list[tuple[str, dict[str, Any]]] = [
    ("elo", {}),
    ("elo-mmr", {}),
    ("glicko", {}),
    ("glicko2", {}),
    ("glicko2", {"home_advantage": 60.0}),
    ("team-glicko2", {}),
    ("trueskill", {}),
    ("bradley-terry", {}),
    ("thurstone-mosteller", {}),
    ("uscf", {}),
    ("topcoder", {}),
]


@pytest.mark.parametrize(
    ("system", "parameters", "bound"),
    [
        *((system, parameters, 1e-12) for system, parameters in SYSTEMS),
        # Its changes have the deviation before with what the match itself adds to it.
        ("stephenson", {}, 1e-4),
    ],
)
def test_chances_are_those_that_predict_gave_before(
    sqlite_store: Store, system: str, parameters: dict[str, Any], bound: float
) -> None:
    """After an absence too, when a deviation has grown."""
    store = sqlite_store
    pool = Trial(store, system=system, parameters=parameters)
    home = {"at_home": True} if parameters else {}
    for at in range(6):
        pool.post(game(f"m{at}", "ada", "bob" if at % 2 else "cyd", (at % 3, 1), at * DAY, **home))
    time = 400 * DAY
    wanted = PredictRequest([["ada"], ["bob"]], at=time, home=0 if home else None)
    before = predict_in_pool(store, pool.name, wanted)
    pool.post(game("last", "ada", "bob", (2, 3), time, **home))
    teams = match(store, pool.name, "last").teams
    expected = [team.expected for team in before.teams]
    assert [team.chance for team in teams] == pytest.approx(expected, abs=bound)
    assert [side.chance for side in matches(store, pool.name).matches[0].sides] == [
        team.chance for team in teams
    ]
    line = player_history(store, pool.name, "ada", limit=1).matches[0]
    assert line.chance == teams[0].chance
    assert (line.result, line.score, line.opponent_score) == ("loss", 2.0, 3.0)
    assert line.at_home == (True if home else None)
    (opponent,) = line.opponents
    assert opponent.player == "bob"
    assert opponent.rating_before == teams[1].players[0].rating_before


def test_answers_return_what_was_posted_of_players(store: Store) -> None:
    pool = Trial(store)
    pool.post(game("a", "ada", "bob", (2, 0), 1))
    found = match(store, pool.name, "a")
    assert [team.score for team in found.teams] == [2.0, 0.0]
    assert found.teams[0].players[0].statistics == {"shots": 7.0}
    assert found.teams[1].players[0].statistics == {}
    assert not found.upset


def test_the_winner_with_a_low_chance_is_an_upset(store: Store) -> None:
    """As it was corrected, too."""
    pool = Trial(store, system="elo", late="replay")
    pool.post(*(duel(f"m{at}", "ada", "bob", at) for at in range(30)))
    pool.post(duel("upset", "bob", "ada", 50))
    assert match(store, pool.name, "upset").upset
    assert [one.upset for one in matches(store, pool.name, limit=2).matches] == [True, False]
    pool.correct(duel("upset", "ada", "bob", 50))
    pool.settle()
    assert not match(store, pool.name, "upset").upset
    assert player_summary(store, pool.name, "bob").won == 0


def test_lines_of_many_teams_have_places_and_ten_opponents(store: Store) -> None:
    pool = Trial(store, system="elo-mmr")
    names = [f"p{number:02d}" for number in range(15)]
    teams = [TeamRequest([name], rank) for rank, name in enumerate(names)]
    pool.post(MatchRequest("contest", teams, 1))
    line = player_history(store, pool.name, "p03").matches[0]
    assert (line.result, line.rank, line.teams, line.opponent_score) == (None, 4, 15, None)
    assert [one.player for one in line.opponents] == [n for n in names if n != "p03"][:10]
    (shown,) = matches(store, pool.name).matches
    assert [side.players for side in shown.sides] == [["p00"], ["p01"], ["p02"]]
    found = player_summary(store, pool.name, "p03")
    assert found.places is not None
    assert (found.places.median, found.places.top3, found.places.top10) == (4, 0, 1)
    assert found.streak is None
    assert [one.match for one in found.best_performances] == ["contest"]


def test_a_summary_counts_results_streaks_and_rivals(store: Store) -> None:
    """Mates in a team are no rivals, and draws end no series without a loss."""
    pool = Trial(store, system="glicko2", placement_matches=2)
    sides = [TeamRequest(["ada", "bob"], rank=1), TeamRequest(["cyd", "dan"], rank=1)]
    pool.post(
        duel("first", "bob", "ada", 0),
        game("second", "ada", "bob", (1, 1), DAY),
        game("third", "ada", "cyd", (3, 1), 2 * DAY),
        duel("fourth", "ada", "bob", 500 * DAY),
    )
    found = player_summary(store, pool.name, "ada")
    assert (found.won, found.drawn, found.lost, found.covered) == (2, 1, 1, 4)
    assert found.streak is not None
    assert (found.streak.result, found.streak.matches) == ("win", 2)
    assert (found.streak.unbeaten, found.streak.most_unbeaten) == (3, 3)
    assert [(one.player, one.won, one.drawn, one.lost) for one in found.most_played] == [
        ("bob", 1, 1, 1),
        ("cyd", 1, 0, 0),
    ]
    history = player_history(store, pool.name, "ada").matches
    assert found.last == history
    assert found.best_win == history[0]
    assert found.peak is not None
    assert found.peak.rating == max(one.rating for one in history[:-1])
    assert found.change == history[0].rating - history[1].rating
    team = Trial(store, "teams", system="team-glicko2")
    team.post(MatchRequest("draw", sides, 1))
    rivals = player_summary(store, "teams", "ada").most_played
    assert [(one.player, one.drawn) for one in rivals] == [("cyd", 1), ("dan", 1)]


def test_a_voided_match_has_no_chance_and_leaves_the_summary(store: Store) -> None:
    pool = Trial(store, late="replay")
    pool.post(duel("a", "ada", "bob", 1), duel("b", "ada", "bob", 2))
    pool.void("b")
    pool.settle()
    assert match(store, pool.name, "b").teams[0].chance is None
    assert player_summary(store, pool.name, "ada").won == 1
