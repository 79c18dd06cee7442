"""Pools that learn offsets in contexts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import InvalidParameterError
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from equipoise.messages.questions import PredictRequest
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.exchange.history_requests import requests_of
from equipoise.pools.precompiling import precompile
from equipoise.pools.reading.matches import match as get_match
from equipoise.pools.reading.players import leaderboard, player, player_history
from equipoise.pools.reading.questions import explain_player, predict_in_pool
from equipoise.store.connection import Store
from pools.pool_trials import Trial, same_bits

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


def test_the_chance_of_a_match_is_what_predict_answered(store: Store) -> None:
    pool = made(store)
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


def test_pages_of_a_context_follow_one_another(store: Store) -> None:
    pool = made(store, placement_matches=0)
    pool.post(*duels(5, 120, "ab"))
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
