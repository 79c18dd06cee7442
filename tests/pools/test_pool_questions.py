"""What a pool of the service answers, held against the command line on the same history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import equipoise as eq
from equipoise.analysis.balance import computation as balancing
from equipoise.analysis.explain.computation import ExplainRequest, explain_matches
from equipoise.analysis.predict import computation as predicting
from equipoise.analysis.reading import HistoryRequest, with_performance
from equipoise.errors import InvalidDataError, InvalidParameterError, NotFoundError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from equipoise.messages.questions import (
    BalanceMessage,
    BalancePlayer,
    BalanceRequest,
    PredictMessage,
    PredictRequest,
)
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.reading import players
from equipoise.pools.reading.questions import balance_in_pool, explain_player, predict_in_pool
from equipoise.pools.replay.states import keep_checkpoints
from equipoise.rating.state import DRAWS
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import get_pool
from pools.pool_trials import NOW, STATISTICS, Trial, duel, fill, team_season

ROOT = Path(__file__).parents[2]
CONTESTS = ROOT / "examples" / "contests.csv"
CONTESTS_PLAYERS = ["jade-kite", "cedar-bear", "amber-deer", "dune-crane"]
LEAGUE_PLAYERS = sorted(eq.read_history(team_season()).player_ids.tolist())[:6]
#: Long after all matches of these pools, microseconds since 1970.
LATER = 1_900_000_000_000_000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Give a store with pools: contests, teams with form; without times duels, and draws."""
    found = open_store(f"sqlite:///{tmp_path_factory.mktemp('pools') / 'pools.db'}")
    fill(found, "contests", eq.read_history(CONTESTS), PoolRequest(parameters={"rho": 0.5}))
    league = eq.read_history(team_season(), statistics=tuple(STATISTICS))
    fill(found, "league", league, PoolRequest(system="team-glicko2", statistics=STATISTICS))
    games: dict[str, list[object]] = {"match": [], "player": [], "team": [], "rank": []}
    for number in range(60):
        for side, team in enumerate(("ab", "cd")):
            for player in team:
                games["match"].append(number)
                games["player"].append(player)
                games["team"].append(side)
                games["rank"].append(0 if number % 4 == 0 else (side + number // 7) % 2)
    for pool, system in (("drawn", "trueskill"), ("luce", "plackett-luce")):
        fill(found, pool, eq.read_history(games), PoolRequest(system=system, times="none"))
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
        state=state,
        teams=tuple(names),
        at="2021-06-01",
        places=True,
        samples=500,
        seed=3,
        what_if=True,
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
    for field in set(PredictMessage.__struct_fields__) - {"at", "notes"}:
        assert getattr(here, field) == getattr(there, field), field
    # The note on an option is of the command line alone.
    assert [one for one in there.notes if "--at" not in one] == here.notes


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
        ("duels", PredictRequest(teams=[[7], [""]]), InvalidDataError, "1 to 200 characters"),
        ("duels", PredictRequest(teams=[[7], [8]], at=1), InvalidParameterError, "no times"),
        ("duels", PredictRequest(teams=[[7], [8]], what_if=[9]), NotFoundError, "9 is not among"),
        ("duels", PredictRequest(teams=[[7], [8]], what_if=[7] * 21), InvalidParameterError, "20"),
        ("duels", PredictRequest(teams=[[i] for i in range(1001)]), InvalidParameterError, "1,000"),
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
    """The saved state of the same history gives the same split, chances and newcomers."""
    history = eq.read_history(team_season(), statistics=tuple(STATISTICS))
    rated = eq.replay(eq.TeamGlicko2(), with_performance(history, STATISTICS))
    path = str(tmp_path / "league.npz")
    rated.state.save(path)
    names = [*sorted(rated.ratings.player_ids.tolist())[:9], "stranger"]
    asked = balancing.BalanceRequest(state=path, players=names)
    there = balancing.message_of(balancing.balance_lobby(asked))
    here = balance_in_pool(store, "league", BalanceRequest(players=names), now=0)
    assert here.newcomers == there.newcomers == ["stranger"]
    assert here.notes == ["not in pool 'league', so a newcomer: stranger"]
    assert there.notes == ["not among the 14 rated players, so a newcomer: stranger"]
    for field in set(BalanceMessage.__struct_fields__) - {"at", "notes"}:
        assert getattr(here, field) == getattr(there, field), field
    assert {name for team in here.teams for name in team} == set(names)


@pytest.mark.parametrize("pool", ["contests", "league", "duels", "drawn", "luce"])
def test_balance_and_predict_answer_alike(store: Store, pool: str) -> None:
    """Of the same teams, without a time: both as of now, and by the pool's own system."""
    names = {"contests": CONTESTS_PLAYERS, "league": LEAGUE_PLAYERS}.get(pool, list("abcd"))
    if pool == "duels":
        names = ["7", "8", "9", "stranger"]
    split = balance_in_pool(store, pool, BalanceRequest(players=names), now=LATER)
    found = predict_in_pool(store, pool, PredictRequest(teams=split.teams), now=LATER)
    assert [team.expected for team in found.teams] == split.expected == split.win_probability
    told = (split.win, split.draw, split.draw_by, split.by, split.at)
    assert (found.win, found.draw, found.draw_by, found.by, found.at) == told
    assert sorted(map(str, found.newcomers)) == sorted(map(str, split.newcomers))
    # elo-mmr rates single players only: teams of two are compared by their means.
    own = {"league": "team-glicko2", "duels": "elo", "drawn": "trueskill", "luce": "plackett-luce"}
    assert split.by == own.get(pool, "team mean")
    if split.win is not None and split.draw is not None:
        for win, expected in zip(split.win, split.expected, strict=True):
            assert win + split.draw / 2 == pytest.approx(expected, abs=1e-15)
    assert split.draw_by == {"drawn": "trueskill", "luce": "estimate"}.get(pool)


def test_a_pool_counts_draws_as_a_replay_does(store: Store) -> None:
    """The same bits, posted in pieces or rated from a file in one go."""
    with store.read() as connection:
        stored = {name: get_pool(connection, name).shared for name in ("league", "luce")}
    history = with_performance(
        eq.read_history(team_season(), statistics=tuple(STATISTICS)), STATISTICS
    )
    rated = eq.replay(eq.TeamGlicko2(), history).state.state.shared[DRAWS]
    assert stored["league"][DRAWS].tobytes() == rated.tobytes()
    assert stored["luce"][DRAWS][:2].tolist() == [60, 15]


def test_deviations_are_as_of_now_unless_a_time_is_given(store: Store) -> None:
    """For a match and for a lobby alike; a pool whose clock is ahead counts from its last match."""
    asked = PredictRequest(teams=[[LEAGUE_PLAYERS[0]], [LEAGUE_PLAYERS[1]]])
    found = {now: predict_in_pool(store, "league", asked, now=now) for now in (0, LATER, 2 * LATER)}
    deviation = {now: one.teams[0].players[0].deviation for now, one in found.items()}
    assert deviation[0] < deviation[LATER] <= deviation[2 * LATER]
    at_last = predict_in_pool(store, "league", PredictRequest(teams=asked.teams, at=found[0].at))
    assert at_last.teams == found[0].teams


def test_a_draw_rate_of_a_request_counts_and_is_named(store: Store) -> None:
    """The pool has too few matches for an estimate; quality is there and says that it is one."""
    asked = PredictRequest(teams=[["jon"], ["jan"]], draw_rate=0.25)
    found = predict_in_pool(store, "duels", asked)
    assert (found.win, found.draw, found.draw_by) == ([0.375, 0.375], 0.25, "draw_rate")
    assert (found.quality, found.quality_by) == (1.0, "estimate")
    assert not [one for one in found.notes if "model draws" in one]
    with pytest.raises(InvalidParameterError, match="draw_rate must be a probability"):
        predict_in_pool(store, "duels", PredictRequest(teams=asked.teams, draw_rate=2.0))


def test_newcomers_are_predicted_and_named(store: Store) -> None:
    """Whoever misspells a name sees it: in the team, in a list, and in a sentence."""
    asked = PredictRequest(teams=[[7], ["jon"]], what_if=["jon"])
    found = predict_in_pool(store, "duels", asked)
    assert [one.newcomer for team in found.teams for one in team.players] == [False, True]
    assert found.newcomers == ["jon"]
    new, draws = found.notes
    assert new == "not in pool 'duels', so a newcomer: jon"
    assert "elo does not model draws" in draws
    assert found.teams[1].rating == 1500.0
    assert found.what_if[0].outcomes[0].change > 0


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


def test_teams_have_equal_chances_by_the_system_of_the_pool(store: Store) -> None:
    """Three players: one against two, and the rules only if asked for."""
    lobby: list[BalancePlayer | str | int] = [
        BalancePlayer(player="a", rating=1700.0, deviation=60.0),
        BalancePlayer(player="b", rating=1100.0, deviation=60.0),
        BalancePlayer(player="c", rating=700.0, deviation=60.0),
    ]
    found = balance_in_pool(store, "drawn", BalanceRequest(players=lobby))
    assert (found.objective_kind, found.by, found.gap) == ("chance", "trueskill", 0.0)
    assert found.teams == [["a"], ["b", "c"]]
    assert found.objective == pytest.approx(max(found.expected) - min(found.expected), abs=1e-12)
    assert not found.constraints
    ruled = BalanceRequest(players=lobby, top_two=True, uneven=True)
    names = [one.name for one in balance_in_pool(store, "drawn", ruled).constraints]
    assert names == ["top-two", "uneven"]
    # elo-mmr rates single players only.
    names_ = sorted(eq.read_history(CONTESTS).player_ids.tolist())[:3]
    other = balance_in_pool(store, "contests", BalanceRequest(players=names_))
    assert other.objective_kind == "mean"
    assert other.notes == [
        "elo-mmr cannot predict such teams, so their ratings are compared.",
        "The sizes of the teams differ, and a comparison of mean ratings ignores this.",
    ]


def test_who_is_not_known_counts_as_a_newcomer_or_as_told(store: Store) -> None:
    """A stranger's rating and deviation count, a known player's are those of the pool."""
    lobby: list[BalancePlayer | str | int] = [
        "new",
        BalancePlayer(player="told", rating=1600.0, deviation=10.0),
        BalancePlayer(player=7, rating=9999.0),
        8,
    ]
    found = balance_in_pool(store, "duels", BalanceRequest(players=lobby, top_two=False))
    assert sorted(name for team in found.teams for name in team) == ["7", "8", "new", "told"]
    # 1600 for the one who is told of, 1516 for 7, and 1500 for both others.
    assert found.rating_difference == pytest.approx((1600 + 1500 - 1500 - 1516) / 2, abs=1.0)


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        # Rules of lobbies are those of the command line; each field arrives.
        (BalanceRequest(players=[7, "7"]), InvalidDataError, "must be named once"),
        (BalanceRequest(players=["", 7]), InvalidDataError, "1 to 200 characters"),
        (BalanceRequest(players=list(range(201))), InvalidParameterError, "at most 200"),
        (BalanceRequest(players=[7, 8], objective="best"), InvalidParameterError, "chance, mean"),
        (BalanceRequest(players=[7, 8], size=1, teams=2), InvalidParameterError, "cannot be comb"),
        (BalanceRequest(players=[7, 8], alternatives=101), InvalidParameterError, "100"),
        (BalanceRequest(players=[7, 8], at=5), InvalidParameterError, "no times"),
        (BalanceRequest([7, BalancePlayer(8, team=0)]), InvalidDataError, "number of a team"),
        (BalanceRequest([7, BalancePlayer(8, avoid=["x"])]), InvalidDataError, "other players of"),
        (
            BalanceRequest([7, BalancePlayer("x", rating=float("nan"))]),
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


CONTESTS_FILE = str(ROOT / "examples" / "contests.csv")


@pytest.fixture
def emptied(tmp_path: Path) -> Iterator[Store]:
    """Give an empty store whose pools keep checkpoints often."""
    sizes = Sizes(checkpoint_interval=300)
    found = open_store(f"sqlite:///{tmp_path / 'pools.db'}", sizes=sizes)
    yield found
    found.close()


def assert_as_stored(emptied: Store, pool: str, player: str, matches: int) -> None:
    """The numbers of the explanations are those of the player's history, bit for bit."""
    rows = players.player_history(emptied, pool, player, limit=1000).matches
    assert rows
    for row in rows[:matches]:
        found = explain_player(emptied, pool, player, row.match)
        for name in ("match", "time", "rating_before", "deviation_before"):
            assert getattr(found, name) == getattr(row, name), name
        assert (found.rating, found.deviation) == (row.rating, row.deviation)
        assert found.change == row.change
        assert sum(one.change for one in found.contributions) == pytest.approx(row.change, abs=1e-9)
    assert explain_player(emptied, pool, player) == explain_player(
        emptied, pool, player, rows[0].match
    )


def texts(value: Any) -> Any:
    """Return a message with all ids of matches as text."""
    plain = msgspec.to_builtins(value)
    for one in (plain, *plain["remembered"]):
        one["match"] = None if one["match"] is None else str(one["match"])
    return plain


def test_an_explanation_is_that_of_the_command_line(emptied: Store) -> None:
    """With remembered performances, which bring their matches and times."""
    history = HistoryRequest(source=CONTESTS_FILE)
    fill(emptied, "contests", eq.read_history(CONTESTS_FILE), PoolRequest(parameters={"rho": 0.5}))
    assert keep_checkpoints(emptied, "contests")
    for player, match in (("jade-kite", None), ("jade-ant", "21"), ("cedar-bear", "1")):
        (there,), _ = explain_matches(
            eq.EloMMR(rho=0.5), ExplainRequest(history=history, player=player, match=match)
        )
        assert texts(explain_player(emptied, "contests", player, match)) == texts(there)


def test_teams_are_explained_with_their_statistics(emptied: Store) -> None:
    season = eq.read_history(team_season(), statistics=tuple(STATISTICS))
    request = PoolRequest(system="team-glicko2", statistics=STATISTICS, times="datetime")
    fill(emptied, "teams", season, request, size=7)
    assert_as_stored(emptied, "teams", "p03", 30)
    found = explain_player(emptied, "teams", "p03")
    assert {one.name for one in found.quantities[:2]} == set(STATISTICS)
    assert str(found.time).endswith("Z")


def test_pools_without_times_are_explained(emptied: Store) -> None:
    duels = {"match": [1, 1, 2, 2], "player": [7, 8, 8, 9], "rank": [0, 1, 0, 1]}
    fill(emptied, "duels", eq.read_history(duels), PoolRequest(system="elo", times="none"))
    assert_as_stored(emptied, "duels", "8", 2)
    assert explain_player(emptied, "duels", "8").time is None


def test_amended_pools_are_explained_as_readers_see_them(emptied: Store) -> None:
    """While a replay is waited for as the ratings still are, afterwards as they then are."""
    fill(emptied, "contests", eq.read_history(CONTESTS_FILE), PoolRequest(late="replay"))
    pool = Trial.existing(emptied, "contests")
    played = players.player_history(emptied, "contests", "jade-kite", limit=50).matches
    first, second, third = (row.match for row in played[-3:][::-1])
    pool.void(first)
    pool.post(duel("late", "jade-kite", "x", int(played[-2].time or 0) + 1))
    assert_as_stored(emptied, "contests", "jade-kite", 50)
    with pytest.raises(InvalidDataError, match="late did not change the rating of jade-kite"):
        explain_player(emptied, "contests", "jade-kite", "late")
    turned = [TeamRequest(["x"], 0), TeamRequest(["jade-kite"], 1), TeamRequest(["jade-ant"], 2)]
    pool.correct(MatchRequest(match=second, teams=turned, time=played[-1].time))
    assert_as_stored(emptied, "contests", "jade-kite", 50)
    assert pool.replay()
    assert_as_stored(emptied, "contests", "jade-kite", 50)
    assert explain_player(emptied, "contests", "jade-kite", "late").change > 0
    assert explain_player(emptied, "contests", "jade-kite", second).teams == 3
    with pytest.raises(InvalidDataError, match="it is void"):
        explain_player(emptied, "contests", "jade-kite", first)
    pool.disqualify("jade-kite", int(played[-3].time or 0))
    assert pool.replay()
    with pytest.raises(InvalidDataError, match=f"{third} .*: jade-kite was disqualified"):
        explain_player(emptied, "contests", "jade-kite", third)
    assert_as_stored(emptied, "contests", "jade-ant", 5)


def test_what_cannot_be_explained_is_refused(emptied: Store) -> None:
    create_pool(emptied, "few", PoolRequest(times="none"), NOW)
    pair = [TeamRequest(["ann"], 0), TeamRequest(["bob"], 1)]
    posted = [
        MatchRequest(match="alone", teams=[TeamRequest(["cyd"], 0)]),
        MatchRequest(match="off", teams=pair, rated=False),
        MatchRequest(
            match="tied", teams=[TeamRequest([name], 0) for name in ("ann", "bob", "cyd")]
        ),
        MatchRequest(match="fine", teams=pair),
    ]
    post_matches(emptied, "few", [Post(posted)], NOW)
    for player, match, error, message in (
        ("zoe", None, NotFoundError, "no player 'zoe'"),
        ("ann", "none", NotFoundError, "no match 'none'"),
        ("cyd", "fine", NotFoundError, "cyd did not take part"),
        ("cyd", None, InvalidDataError, "no match of cyd changed a rating"),
        ("cyd", "alone", InvalidDataError, "single player"),
        ("ann", "off", InvalidDataError, "not rated"),
        ("ann", "tied", InvalidDataError, "all 3 tied"),
    ):
        with pytest.raises(error, match=message):
            explain_player(emptied, "few", player, match)
    with pytest.raises(NotFoundError, match="no pool"):
        explain_player(emptied, "none", "ann")
