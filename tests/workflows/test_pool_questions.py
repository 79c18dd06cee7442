"""What a pool of the service answers, held against the command line on the same history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError
from equipoise.messages.pools import PoolRequest
from equipoise.messages.predict import PredictMessage
from equipoise.messages.service_requests import BalancePlayer, BalanceRequest, PredictRequest
from equipoise.store.connection import Store, open_store
from equipoise.workflows import balance as balancing
from equipoise.workflows import predict as predicting
from equipoise.workflows.pool_questions import balance_in_pool, predict_in_pool
from equipoise.workflows.reading import with_performance
from workflows.posted_history import STATISTICS, fill, team_season

ROOT = Path(__file__).parents[2]
CONTESTS = ROOT / "examples" / "contests.csv"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Give a store with three pools: contests, teams with form, and duels without times."""
    found = open_store(f"sqlite:///{tmp_path_factory.mktemp('pools') / 'pools.db'}")
    fill(found, "contests", eq.read_history(CONTESTS), PoolRequest(parameters={"rho": 0.5}))
    league = eq.read_history(team_season(), statistics=tuple(STATISTICS))
    fill(found, "league", league, PoolRequest(system="team-glicko2", statistics=STATISTICS))
    duels = {"match": [1, 1, 2, 2], "player": [7, 8, 8, 9], "rank": [0, 1, 0, 1]}
    fill(found, "duels", eq.read_history(duels), PoolRequest(system="elo", times="none"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the path of a saved state of the same contests."""
    path = tmp_path_factory.mktemp("states") / "contests.npz"
    result = eq.replay(eq.EloMMR(rho=0.5), eq.read_history(CONTESTS))
    result.state.save(path)
    return str(path)


def test_a_prediction_is_that_of_the_command_line(store: Store, state: str) -> None:
    """Of the same history, to the bit: expected scores, places, what each place would do."""
    names = ["jade-kite", "cedar-bear", "amber-deer"]
    same = predicting.PredictRequest(
        state=state, teams=names, at="2021-06-01", samples=500, seed=3, what_if=True
    )
    asked = PredictRequest(
        teams=[[name] for name in names],
        at="2021-06-01",
        samples=500,
        seed=3,
        what_if=["jade-kite"],
    )
    there, here = predicting.predict_match(same), predict_in_pool(store, "contests", asked)
    assert here.at == 1_622_505_600
    for field in set(PredictMessage.__struct_fields__) - {"at"}:
        assert getattr(here, field) == getattr(there, field), field


def test_ids_may_be_numbers_and_are_answered_as_text(store: Store) -> None:
    found = predict_in_pool(store, "duels", PredictRequest(teams=[[7], ["9"]]))
    assert [team.players[0].player for team in found.teams] == ["7", "9"]
    assert found.teams[0].expected > 0.5
    assert found.at is None
    assert found.what_if == []


@pytest.mark.parametrize(
    ("pool", "request_", "error", "message"),
    [
        ("none", PredictRequest(teams=[["a"], ["b"]]), NotFoundError, "no pool 'none'"),
        ("duels", PredictRequest(teams=[[7], ["b", "c"]]), NotFoundError, "no players 'b', 'c' in"),
        ("duels", PredictRequest(teams=[[7]]), InvalidParameterError, "at least two"),
        ("duels", PredictRequest(teams=[[7], [7]]), InvalidParameterError, "twice"),
        ("duels", PredictRequest(teams=[[7], [8]], at=1), InvalidParameterError, "no times"),
        ("duels", PredictRequest(teams=[[7], [8]], home=1), InvalidParameterError, "home"),
        ("duels", PredictRequest(teams=[[7], [8]], samples=0), InvalidParameterError, "samples"),
        ("duels", PredictRequest(teams=[[7], [8]], what_if=[9]), NotFoundError, "9 is not among"),
        ("duels", PredictRequest(teams=[[7], [8]], what_if=[7] * 21), InvalidParameterError, "20"),
        ("duels", PredictRequest(teams=[[i] for i in range(1001)]), InvalidParameterError, "1000"),
        (
            "contests",
            PredictRequest(teams=[["jade-kite"], ["cedar-bear"]], at=0),
            InvalidParameterError,
            "before the last match of",
        ),
        (
            "contests",
            PredictRequest(teams=[["jade-kite"]] * 500, samples=100_000),
            InvalidParameterError,
            "samples times players",
        ),
    ],
)
def test_what_cannot_be_predicted_is_refused(
    store: Store, pool: str, request_: PredictRequest, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        predict_in_pool(store, pool, request_)


def test_a_large_field_tries_a_selection_of_places(store: Store) -> None:
    """Every place of every player of a large field would take too long for an answer."""
    names = sorted(set(eq.read_history(CONTESTS).player_ids.tolist()))[:110]
    asked = PredictRequest(teams=[[name] for name in names], what_if=names[:1])
    outcomes = predict_in_pool(store, "contests", asked).what_if[0].outcomes
    assert [one.place for one in outcomes] == [1, 2, 3, 5, 10, 20, 30, 50, 100, 110]


def test_teams_are_those_of_the_command_line(store: Store, tmp_path: Path) -> None:
    """The rating table of the same history gives the same split of the same players."""
    history = eq.read_history(team_season(), statistics=tuple(STATISTICS))
    rated = eq.replay(eq.TeamGlicko2(), with_performance(history, STATISTICS)).ratings
    table, names = tmp_path / "ratings.csv", sorted(rated.player_ids.tolist())[:10]
    rated.to_polars().write_csv(table)
    there = balancing.balance_lobby(balancing.BalanceRequest(ratings=str(table), players=names))
    here = balance_in_pool(store, "league", BalanceRequest(players=names))
    assert here == balancing.message_of(there)
    assert {name for team in here.teams for name in team} == set(names)


def test_parties_locks_and_avoided_players_are_kept(store: Store) -> None:
    names = sorted(eq.read_history(CONTESTS).player_ids.tolist())[:8]
    lobby = [
        BalancePlayer(player=names[0], party="x", team=1),
        BalancePlayer(player=names[1], party="x"),
        BalancePlayer(player=names[2], team=2),
        BalancePlayer(player=names[3], avoid=[names[4]]),
        *names[4:],
    ]
    found = balance_in_pool(store, "contests", BalanceRequest(players=lobby))
    side = {str(name): number for number, team in enumerate(found.teams) for name in team}
    assert side[names[0]] == side[names[1]] != side[names[2]]
    assert side[names[3]] != side[names[4]]
    assert {"party:x", f"lock:{names[2]}", f"avoid:{names[3]};{names[4]}"} <= {
        one.name for one in found.constraints
    }


def test_who_is_not_known_counts_as_a_newcomer_or_as_told(store: Store) -> None:
    """A stranger's rating and deviation count, a known player's are those of the pool."""
    lobby: list[BalancePlayer | str | int] = [
        "new",
        BalancePlayer(player="told", rating=1600.0, deviation=10.0),
        BalancePlayer(player=7, rating=9999.0),
        8,
    ]
    found = balance_in_pool(store, "duels", BalanceRequest(players=lobby, top_two=False))
    known = {"new": 1500.0, "told": 1600.0, "7": 1516.0, "8": 1500.0}
    best = min(
        abs(
            known["told"]
            + known[mate]
            - sum(known[one] for one in known if one not in (mate, "told"))
        )
        for mate in ("new", "7", "8")
    )
    assert found.rating_difference == pytest.approx(best / 2, abs=1.0)
    assert sorted(name for team in found.teams for name in team) == ["7", "8", "new", "told"]


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        (BalanceRequest(players=[7, "7"]), InvalidDataError, "must be named once"),
        (BalanceRequest(players=[7]), InvalidDataError, "at least two"),
        (BalanceRequest(players=[]), InvalidDataError, "at least two"),
        (BalanceRequest(players=["", 7]), InvalidDataError, "1 to 200 characters"),
        (BalanceRequest(players=list(range(201))), InvalidParameterError, "at most 200"),
        (BalanceRequest(players=[7, 8], objective="best"), InvalidParameterError, "'mean' or"),
        (BalanceRequest(players=[7, 8], size=0), InvalidParameterError, "size"),
        (BalanceRequest(players=[7, 8], size=1, teams=2), InvalidParameterError, "one of them"),
        (BalanceRequest(players=[7, 8], teams=3), InvalidParameterError, "at most 2"),
        (BalanceRequest(players=[7, 8], alternatives=101), InvalidParameterError, "100"),
        (BalanceRequest(players=[7, 8], at=5), InvalidParameterError, "no times"),
        (
            BalanceRequest(players=[7, BalancePlayer(player=8, team=0)]),
            InvalidDataError,
            "number of a team",
        ),
        (
            BalanceRequest(players=[7, BalancePlayer(player=8, avoid=["x"])]),
            InvalidDataError,
            "other players of the lobby",
        ),
        (
            BalanceRequest(players=[7, BalancePlayer(player="x", rating=float("nan"))]),
            InvalidDataError,
            "must be a number",
        ),
    ],
)
def test_a_lobby_that_makes_no_sense_is_refused(
    store: Store, request_: BalanceRequest, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        balance_in_pool(store, "duels", request_)


def test_ratings_are_read_at_the_time_asked_for(store: Store) -> None:
    """The effective rating of a player who has been away counts less of the form."""
    history = eq.read_history(team_season(), statistics=tuple(STATISTICS))
    names = sorted(history.player_ids.tolist())[:9]
    days = np.asarray(history.time)[-1] // 1_000_000 + 400 * 86_400
    now = balance_in_pool(store, "league", BalanceRequest(players=names, alternatives=0))
    later = balance_in_pool(
        store, "league", BalanceRequest(players=names, alternatives=0, at=int(days))
    )
    assert now.objective != later.objective
