"""Pools that calibrate, learn offsets in contexts, or count scores, shares and own deviations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.data.matchmaking import MatchRuleset, Ticket
from equipoise.data.rebalancing import MatchedPlayer
from equipoise.errors import InvalidParameterError
from equipoise.matchmaking.ticking import tick
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.pools import PoolChange, PoolRequest, SeasonRequest
from equipoise.messages.questions import BalanceRequest, PredictRequest
from equipoise.pools import seasons
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.exchange.histories import requests_of
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.pool.settings import change_settings
from equipoise.pools.precompiling import precompile
from equipoise.pools.reading.matches import match as get_match
from equipoise.pools.reading.players import leaderboard, player, player_history
from equipoise.pools.reading.questions import (
    balance_in_pool,
    chances_now,
    explain_player,
    predict_in_pool,
    ratings_in_pool,
)
from equipoise.rating.calibration_curve import CALIBRATION, NUMBERS, LearnedCurve
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from pools.pool_trials import NOW, SMALL, Trial, duel, same_bits


def matches(seed: int, count: int, sides: tuple[int, ...] = (1, 1)) -> list[MatchRequest]:
    """Return matches of teams of these sizes; results are nearly certain, and newcomers appear."""
    rng, found = np.random.default_rng(seed), []
    for number in range(count):
        names = rng.choice(max(8, sum(sides)) + number // 10, sum(sides), replace=False)
        parts = np.split(names, np.cumsum(sides)[:-1])
        strength = [-part.mean() + 0.3 * rng.normal() for part in parts]
        ranks = np.argsort(np.argsort(-np.array(strength)))
        teams = [
            TeamRequest([ParticipationRequest(f"p{one}", side=side) for one in part], int(rank))
            for part, rank, side in zip(parts, ranks, sides_of(len(parts)), strict=True)
        ]
        context = ("clay", "grass", None)[number % 3]
        found.append(MatchRequest(f"m{number}", teams, time=100 * number, context=context))
    return found


def sides_of(teams: int) -> list[str]:
    """Return where the teams of a match play: the first at home."""
    return ["home"] + ["away"] * (teams - 1)


def curve(trial: Trial) -> list[float]:
    """Return the curve of a pool as it is stored."""
    with trial.store.read() as connection:
        found: list[float] = get_pool(connection, trial.name).shared[CALIBRATION].tolist()
    return found


@pytest.mark.parametrize(
    ("system", "parameters", "sides"),
    [
        ("glicko2", {"learn_home_advantage": True}, (1, 1)),
        ("trueskill", {}, (2, 1, 1)),
        ("elo-mmr", {}, (1,) * 11),
    ],
)
def test_the_curve_follows_from_the_log_to_the_bit(
    sqlite_store: Store,
    tmp_path: Path,
    system: str,
    parameters: dict[str, Any],
    sides: tuple[int, ...],
) -> None:
    """Single posts, late, void and corrected matches, imports and a replay give the same curve."""
    posted = matches(1, 40, sides)
    wrong = MatchRequest("m5", posted[6].teams, time=posted[5].time, context="wrong")
    given = {"system": system, "parameters": parameters, "calibrate": True}
    whole = same_bits(sqlite_store, tmp_path, posted, wrong, **given)
    numbers = curve(whole)
    assert any(numbers[:NUMBERS])
    assert numbers[-1] == len(posted)


def test_turning_it_on_and_off_replays_the_log(store: Store) -> None:
    posted = matches(2, 60)
    store = Store(store.engine, SMALL)
    pool = Trial(store, system="glicko2", late="replay")
    pool.post(*posted[:40])
    ratings = pool.ratings()
    told = change_settings(store, pool.name, PoolChange(calibrate=True), NOW)
    assert (told.pending, told.calibrate) == (True, False)
    pool.post(*posted[40:])
    assert pool.is_sound()
    pool.check()
    assert pool_message(store, pool.name).calibrate
    other = Trial(store, "other", system="glicko2", calibrate=True)
    other.post(*posted)
    assert curve(other) == curve(pool)
    assert other.ratings() == pool.ratings() != ratings

    change_settings(store, pool.name, PoolChange(calibrate=False), NOW)
    pool.check()
    assert not pool_message(store, pool.name).calibrate
    with store.read() as connection:
        assert CALIBRATION not in get_pool(connection, pool.name).shared


def test_predictions_and_teams_give_the_calibrated_chance_beside_the_uncorrected(
    store: Store,
) -> None:
    posted = matches(3, 120)
    pool = Trial(store, system="glicko2", calibrate=True)
    plain = Trial(store, "uncorrected", system="glicko2")
    for one in (pool, plain):
        one.post(*posted)
    request = PredictRequest([["p0"], ["p7"]], at=12_000)
    found = predict_in_pool(store, pool.name, request)
    uncorrected = predict_in_pool(store, plain.name, request)
    assert uncorrected.uncalibrated is None
    assert found.uncalibrated == [one.expected for one in uncorrected.teams]
    expected = [one.expected for one in found.teams]
    # Results are surer than Glicko-2 expects.
    assert expected[1] < 0.7 * found.uncalibrated[1]
    assert sum(expected) == pytest.approx(1.0)
    assert found.pairs[0][1] == expected[0]
    assert any("calibrated" in note for note in found.notes)
    assert not any("calibrated" in note for note in uncorrected.notes)
    now = 12_000 * 10**6
    assert chances_now(store, pool.name, "p0", ["p7"], now=now) == [tuple(expected)]

    lobby = BalanceRequest([f"p{number}" for number in range(4)], at=12_000)
    teams = balance_in_pool(store, pool.name, lobby)
    predicted = predict_in_pool(store, pool.name, PredictRequest(teams.teams, at=12_000))
    assert teams.expected == [one.expected for one in predicted.teams]
    assert teams.uncalibrated == predicted.uncalibrated
    low, high = found.calibrated_range or (0.0, 0.0)
    assert low < expected[0] < high
    assert uncorrected.calibrated_range is None
    assert balance_in_pool(store, plain.name, lobby).uncalibrated is None


@pytest.mark.parametrize(("system", "sides"), [("glicko2", (1, 1)), ("trueskill", (2, 3))])
def test_matchmaking_waits_for_the_calibrated_chance(
    store: Store, system: str, sides: tuple[int, int]
) -> None:
    """A match is made once its price is between the measures of the two chances."""
    posted = matches(6, 120, sides)
    pool = Trial(store, system=system, calibrate=True)
    pool.post(*posted)
    now, players = 12_000, [f"p{3 * number}" for number in range(sum(sides))]
    teams = [players[: sides[0]], players[sides[0] :]]
    found = predict_in_pool(store, pool.name, PredictRequest(teams, at=now))
    assert found.win is not None
    assert found.uncalibrated is not None
    # The measure is half of the difference of the chances, also with draws.
    calibrated = abs(found.win[0] - found.win[1]) / 2
    uncalibrated = abs(found.uncalibrated[0] - 0.5)
    assert abs(calibrated - uncalibrated) > 1e-4
    rules = MatchRuleset(
        min_number=2, max_number=2, player_min_number=min(sides), player_max_number=max(sides)
    )
    tickets = [
        Ticket(
            ticket=f"t{number}",
            created_at=0.0,
            players=tuple(MatchedPlayer(player=one) for one in team),
        )
        for number, team in enumerate(teams)
    ]
    rater, ratings, curve = ratings_in_pool(store, pool.name, players, now=now * 10**6)
    assert curve is not None

    def makes(measure: float, curve: LearnedCurve | None) -> bool:
        answer = tick(
            tickets,
            [],
            rules,
            100.0,
            objective="fair",
            system=rater,
            ratings=ratings,
            curve=curve,
            waiting_price=measure / 100.0,
        )
        return len(answer.matches) == 1

    for given, measure in ((curve, calibrated), (None, uncalibrated)):
        assert makes(1.0001 * measure, given)
        assert not makes(0.9999 * measure, given)


def test_a_season_begins_without_correction(store: Store) -> None:
    pool = Trial(store, system="elo", calibrate=True)
    pool.post(*matches(4, 30))
    before = curve(pool)
    seasons.end_season(store, pool.name, SeasonRequest(season="1"), key=None, now=NOW)
    posted = [
        MatchRequest(f"n{one.match}", one.teams, time=10_000 + int(str(one.time)))
        for one in matches(5, 10)
    ]
    pool.post(*posted)
    assert curve(pool)[-1] == 10
    assert curve(pool) != before
    assert pool.is_sound()


CONTEXTS: dict[str, Any] = {"context_deviation": 60.0}


def duels(seed: int, count: int, contexts: str = "abc-") -> list[MatchRequest]:
    """Return duels in which p0 is much stronger on a than on b; "-" is no context."""
    rng, found = np.random.default_rng(seed), []
    for number in range(count):
        one, other = rng.choice(6, 2, replace=False).tolist()
        context = contexts[int(rng.integers(len(contexts)))]
        lift = {"a": 2.0, "b": -2.0}.get(context, 0.0)
        lead = rng.normal() + 0.2 * (other - one) + lift * ((one == 0) - (other == 0))
        teams = [TeamRequest([f"p{one}"], int(lead < 0)), TeamRequest([f"p{other}"], int(lead > 0))]
        where = None if context == "-" else context
        found.append(MatchRequest(f"m{number}", teams, time=100 * number, context=where))
    return found


def made(store: Store, name: str = "trial", system: str = "glicko2", **settings: Any) -> Trial:
    given = {"system": system, "parameters": CONTEXTS, "late": "replay", **settings}
    return Trial(store, name, **given)


def test_contexts_give_the_same_bits_however_matches_come(
    sqlite_store: Store, tmp_path: Path
) -> None:
    """One is posted with another context, and corrected later."""
    posted = duels(1, 40)
    wrong = MatchRequest("m5", posted[5].teams, time=posted[5].time, context="wrong")
    same_bits(sqlite_store, tmp_path, posted, wrong, system="trueskill", parameters=CONTEXTS)


def test_a_pool_gives_the_bits_of_the_library(store: Store, tmp_path: Path) -> None:
    pool = made(store)
    posted = duels(2, 40)
    # A player's attribute goes before the context of the match.
    own = ParticipationRequest("p1", attributes={"context": "c"})
    teams = [TeamRequest([own], 0), TeamRequest(["p0"], 1)]
    pool.post(*posted, MatchRequest("own", teams, time=5000, context="a"))
    export_file(store, pool.name, "log", str(tmp_path / "log.csv"))
    history = eq.read_history(str(tmp_path / "log.csv"))
    assert history.attributes["context"][-2:].tolist() == ["c", "a"]
    ratings = eq.replay(eq.Glicko2(**CONTEXTS), history).ratings
    rated = dict(zip(ratings.player_ids.tolist(), ratings.rating.tolist(), strict=True))
    assert rated == pool.ratings()
    again = made(store, "again")
    requests = requests_of(history, 0, history.matches)
    assert [one.context for one in requests[:40]] == [one.context for one in posted]
    again.post(*requests)
    assert again.ratings() == pool.ratings()


def test_predictions_and_explanations_know_the_context(store: Store) -> None:
    pool = made(store)
    pool.post(*duels(3, 80))
    chances = {
        context: predict_in_pool(
            store, pool.name, PredictRequest([["p0"], ["p1"]], context=context)
        )
        .teams[0]
        .expected
        for context in ("a", None, "b")
    }
    assert chances["a"] > chances[None] > chances["b"]
    last = player_history(store, pool.name, "p0", limit=1).matches[0]
    why = explain_player(store, pool.name, "p0", last.match)
    total = sum(part.change for part in why.contributions)
    assert total == pytest.approx(why.rating - why.rating_before, abs=1e-9)
    named = [part.name for part in why.contributions]
    assert ("the context" in named) == (get_match(store, pool.name, last.match).context is not None)
    # The chance of a match is what a prediction answered before it.
    pool = made(store, "chances")
    posted = duels(4, 60, "ab")
    pool.post(*posted[:-1])
    last = posted[-1]
    teams = [list(team.players) for team in last.teams]
    asked = PredictRequest(teams, at=last.time, context=last.context)  # type: ignore[arg-type]
    told = predict_in_pool(store, pool.name, asked)
    pool.post(last)
    found = get_match(store, pool.name, str(last.match))
    assert [one.chance for one in found.teams] == pytest.approx(
        [one.expected for one in told.teams], abs=1e-9
    )


def test_players_have_offsets_and_leaderboards_follow_them(store: Store) -> None:
    pool = made(store, placement_matches=0)
    pool.post(*duels(5, 120, "ab"))
    offsets = {one.context: one.offset for one in player(store, pool.name, "p0").contexts}
    assert list(offsets) == ["a", "b"]
    assert offsets["a"] > 0 > offsets["b"]
    plain, strong, weak = (
        {one.player: one for one in leaderboard(store, pool.name, context=name).players}
        for name in (None, "a", "b")
    )
    assert strong["p0"].rating == pytest.approx(plain["p0"].rating + offsets["a"])
    assert weak["p0"].place > strong["p0"].place  # type: ignore[operator]
    assert [one.place for one in weak.values()] == list(range(1, 7))
    assert [one.display for one in weak.values()] == sorted(
        (one.display for one in weak.values()), reverse=True
    )
    # Pages follow one another.
    whole = leaderboard(store, pool.name, context="b").players
    first = leaderboard(store, pool.name, context="b", limit=4)
    second = leaderboard(store, pool.name, context="b", limit=4, cursor=first.next)
    assert [*first.players, *second.players] == whole
    assert second.next is None
    back = leaderboard(store, pool.name, context="b", limit=4, cursor=second.previous)
    assert back.players == first.players
    around = leaderboard(store, pool.name, context="b", limit=3, around=whole[2].player)
    assert around.players == whole[1:4]


def test_a_pool_without_contexts_tells_that_they_are_not_used(store: Store) -> None:
    pool = made(store, parameters={})
    pool.post(*duels(6, 3, "a"))
    assert get_match(store, pool.name, "m0").unused == ["context"]
    assert player(store, pool.name, "p0").contexts == []
    with pytest.raises(InvalidParameterError, match="unless context_deviation is set"):
        leaderboard(store, pool.name, context="a")


@pytest.mark.parametrize("parameters", [CONTEXTS, {"learn_home_advantage": True}])
def test_kernels_can_be_compiled_ahead(parameters: dict[str, Any]) -> None:
    assert precompile(PoolRequest(system="glicko", parameters=parameters))


CASES: list[tuple[str, dict[str, Any]]] = [
    ("elo", {"margin_rule": "fivethirtyeight"}),
    ("plackett-luce", {"shares": "play", "margin": 2.0}),
]


def scored_season() -> tuple[list[MatchRequest], dict[str, list[Any]]]:
    """Return matches of two against two with scores and shares, and the same as a table."""
    rng = np.random.default_rng(3)
    posted, rows = [], []
    for m in range(20):
        players = [f"p{one}" for one in rng.permutation(7)[:4]]
        scores = rng.integers(0, 9, 2).tolist()
        share = rng.choice([1.0, 0.5, 0.0], 4).tolist()
        teams = [
            TeamRequest(
                [
                    ParticipationRequest(players[i], share=share[i])
                    for i in range(2 * team, 2 * team + 2)
                ],
                score=float(scores[team]),
            )
            for team in range(2)
        ]
        posted.append(MatchRequest(match=f"m{m}", teams=teams, time=100 * m))
        rows += [(f"m{m}", 100 * m, players[i], i // 2, scores[i // 2], share[i]) for i in range(4)]
    names = ("match", "time", "player", "team", "score", "share")
    return posted, dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize(("system", "parameters"), CASES, ids=[name for name, _ in CASES])
def test_scores_and_shares_give_the_same_bits_however_matches_come(
    sqlite_store: Store, tmp_path: Path, system: str, parameters: dict[str, Any]
) -> None:
    """One is posted with the scores the other way round and full shares, and corrected later."""
    posted, table = scored_season()
    first, second = posted[5].teams
    teams = [
        TeamRequest([each.player for each in team.players], score=score)  # type: ignore[union-attr]
        for team, score in ((first, second.score), (second, first.score))
    ]
    wrong = MatchRequest(match=posted[5].match, teams=teams, time=posted[5].time)
    whole = same_bits(sqlite_store, tmp_path, posted, wrong, system=system, parameters=parameters)
    for counted in (parameters, {}):
        ratings = eq.replay(eq.make_system(system, counted), eq.read_history(table)).ratings
        rated = dict(zip(ratings.player_ids.tolist(), ratings.rating.tolist(), strict=True))
        assert (whole.ratings() == rated) == (counted is parameters)


SEASON = (
    duel("1", "ada", "bob", 10, beta=120.0),
    duel("2", "bob", "cyd", 20, gamma=0.0, beta=300.0),
    duel("3", "cyd", "ada", 30),
    duel("4", "cyd", "bob", 40, gamma=90.0, weight=2.0),
)


@pytest.mark.parametrize("name", ["elo-mmr", "elo-mmx"])
def test_the_ratings_are_those_of_the_history(
    sqlite_store: Store, tmp_path: Path, name: str
) -> None:
    """One by one and together; the exported table has the columns, and gives them again."""
    pool = Trial(sqlite_store, system=name)
    pool.post(SEASON[0])
    pool.post(*SEASON[1:])
    path = tmp_path / "log.csv"
    export_file(sqlite_store, pool.name, "log", str(path))
    history = eq.read_history(path)
    assert history.gamma is not None
    assert history.beta.tolist()[:2] == [120.0, 300.0]
    assert history.gamma.tolist()[1::2] == [0.0, 90.0]
    rated = eq.replay(eq.make_system(name), history).ratings
    assert pool.ratings() == dict(zip(rated.player_ids, rated.rating, strict=True))
    assert pool.is_sound()
    pool.void("1")
    pool.check()
    again = requests_of(history, 0, 4)
    assert [(one.beta, one.gamma) for one in again] == [(one.beta, one.gamma) for one in SEASON]
