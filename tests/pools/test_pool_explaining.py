"""Why a match changed a rating in a pool: the same numbers as are stored, and as a file gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import equipoise as eq
from equipoise.analysis.explain.computation import ExplainRequest, explain_matches
from equipoise.analysis.reading import HistoryRequest
from equipoise.errors import InvalidDataError, NotFoundError
from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.reading import players
from equipoise.pools.reading.questions import explain_player
from equipoise.pools.replay.states import keep_checkpoints
from equipoise.store.bulk import Sizes
from equipoise.store.connection import Store, open_store
from pools.pool_trials import NOW, STATISTICS, Trial, duel, fill, team_season

ROOT = Path(__file__).parents[2]
CONTESTS = str(ROOT / "examples" / "contests.csv")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give an empty store whose pools keep checkpoints often."""
    sizes = Sizes(checkpoint_interval=300)
    found = open_store(f"sqlite:///{tmp_path / 'pools.db'}", sizes=sizes)
    yield found
    found.close()


def assert_as_stored(store: Store, pool: str, player: str, matches: int) -> None:
    """The numbers of the explanations are those of the player's history, bit for bit."""
    rows = players.player_history(store, pool, player, limit=1000).matches
    assert rows
    for row in rows[:matches]:
        found = explain_player(store, pool, player, row.match)
        for name in ("match", "time", "rating_before", "deviation_before"):
            assert getattr(found, name) == getattr(row, name), name
        assert (found.rating, found.deviation) == (row.rating, row.deviation)
        assert found.change == row.change
        assert sum(one.change for one in found.contributions) == pytest.approx(row.change, abs=1e-9)
    assert explain_player(store, pool, player) == explain_player(store, pool, player, rows[0].match)


def texts(value: Any) -> Any:
    """Return a message with all ids of matches as text."""
    plain = msgspec.to_builtins(value)
    for one in (plain, *plain["remembered"]):
        one["match"] = None if one["match"] is None else str(one["match"])
    return plain


def test_an_explanation_is_that_of_the_command_line(store: Store) -> None:
    """With remembered performances, which bring their matches and times."""
    history = HistoryRequest(source=CONTESTS)
    fill(store, "contests", eq.read_history(CONTESTS), PoolRequest(parameters={"rho": 0.5}))
    assert keep_checkpoints(store, "contests")
    for player, match in (("jade-kite", None), ("jade-ant", "21"), ("cedar-bear", "1")):
        (there,), _ = explain_matches(
            eq.EloMMR(rho=0.5), ExplainRequest(history=history, player=player, match=match)
        )
        assert texts(explain_player(store, "contests", player, match)) == texts(there)


def test_teams_are_explained_with_their_statistics(store: Store) -> None:
    season = eq.read_history(team_season(), statistics=tuple(STATISTICS))
    request = PoolRequest(system="team-glicko2", statistics=STATISTICS, times="datetime")
    fill(store, "teams", season, request, size=7)
    assert_as_stored(store, "teams", "p03", 30)
    found = explain_player(store, "teams", "p03")
    assert {one.name for one in found.quantities[:2]} == set(STATISTICS)
    assert str(found.time).endswith("Z")


def test_pools_without_times_are_explained(store: Store) -> None:
    duels = {"match": [1, 1, 2, 2], "player": [7, 8, 8, 9], "rank": [0, 1, 0, 1]}
    fill(store, "duels", eq.read_history(duels), PoolRequest(system="elo", times="none"))
    assert_as_stored(store, "duels", "8", 2)
    assert explain_player(store, "duels", "8").time is None


def test_amended_pools_are_explained_as_readers_see_them(store: Store) -> None:
    """While a replay is waited for as the ratings still are, afterwards as they then are."""
    fill(store, "contests", eq.read_history(CONTESTS), PoolRequest(late="replay"))
    pool = Trial.existing(store, "contests")
    played = players.player_history(store, "contests", "jade-kite", limit=50).matches
    first, second, third = (row.match for row in played[-3:][::-1])
    pool.void(first)
    pool.post(duel("late", "jade-kite", "x", int(played[-2].time or 0) + 1))
    assert_as_stored(store, "contests", "jade-kite", 50)
    with pytest.raises(InvalidDataError, match="late did not change the rating of jade-kite"):
        explain_player(store, "contests", "jade-kite", "late")
    turned = [TeamRequest(["x"], 0), TeamRequest(["jade-kite"], 1), TeamRequest(["jade-ant"], 2)]
    pool.correct(MatchRequest(match=second, teams=turned, time=played[-1].time))
    assert_as_stored(store, "contests", "jade-kite", 50)
    assert pool.replay()
    assert_as_stored(store, "contests", "jade-kite", 50)
    assert explain_player(store, "contests", "jade-kite", "late").change > 0
    assert explain_player(store, "contests", "jade-kite", second).teams == 3
    with pytest.raises(InvalidDataError, match="it is void"):
        explain_player(store, "contests", "jade-kite", first)
    pool.disqualify("jade-kite", int(played[-3].time or 0))
    assert pool.replay()
    with pytest.raises(InvalidDataError, match=f"{third} .*: jade-kite was disqualified"):
        explain_player(store, "contests", "jade-kite", third)
    assert_as_stored(store, "contests", "jade-ant", 5)


def test_what_cannot_be_explained_is_refused(store: Store) -> None:
    create_pool(store, "few", PoolRequest(times="none"), NOW)
    pair = [TeamRequest(["ann"], 0), TeamRequest(["bob"], 1)]
    posted = [
        MatchRequest(match="alone", teams=[TeamRequest(["cyd"], 0)]),
        MatchRequest(match="off", teams=pair, rated=False),
        MatchRequest(
            match="tied", teams=[TeamRequest([name], 0) for name in ("ann", "bob", "cyd")]
        ),
        MatchRequest(match="fine", teams=pair),
    ]
    post_matches(store, "few", [Post(posted)], NOW)
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
            explain_player(store, "few", player, match)
    with pytest.raises(NotFoundError, match="no pool"):
        explain_player(store, "none", "ann")
