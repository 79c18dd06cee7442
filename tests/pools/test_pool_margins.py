"""Pools in which scores and shares count: posts, batches and corrections, against a replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.pools.exchange.exporting import export_file
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.posting.running import StateCache
from equipoise.store.connection import Store
from pools.pool_trials import NOW, Trial

CASES: list[tuple[str, dict[str, Any]]] = [
    ("elo", {"margin_rule": "fivethirtyeight"}),
    ("plackett-luce", {"shares": "play", "margin": 2.0}),
    ("trueskill", {"shares": "play"}),
]


def season() -> tuple[list[MatchRequest], dict[str, list[Any]]]:
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
def test_posts_batches_and_a_replay_give_the_same_bits(
    sqlite_store: Store, tmp_path: Path, system: str, parameters: dict[str, Any]
) -> None:
    posted, table = season()
    given = {"system": system, "parameters": parameters, "late": "replay"}
    whole = Trial(sqlite_store, "whole", **given)
    whole.post(*posted)
    single, cache = Trial(sqlite_store, "single", **given), StateCache()
    for one in posted:
        post_matches(sqlite_store, "single", [Post([one])], NOW, cache)
    assert single.ratings() == whole.ratings()
    amended = Trial(sqlite_store, "amended", **given)
    for at, one in enumerate(posted):
        if at == 4:
            # Posted with the scores the other way round and full shares, and corrected later.
            first, second = one.teams
            teams = [
                TeamRequest([each.player for each in team.players], score=score)  # type: ignore[union-attr]
                for team, score in ((first, second.score), (second, first.score))
            ]
            amended.post(MatchRequest(match=one.match, teams=teams, time=one.time))
        else:
            amended.post(one)
    amended.correct(posted[4])
    amended.settle()
    assert amended.is_sound()
    assert amended.ratings() == whole.ratings()
    ratings = eq.replay(eq.make_system(system, parameters), eq.read_history(table)).ratings
    wanted = dict(zip(ratings.player_ids.tolist(), ratings.rating.tolist(), strict=True))
    assert whole.ratings() == wanted
    plain = eq.replay(eq.make_system(system), eq.read_history(table)).ratings
    assert plain.rating.tolist() != ratings.rating.tolist()
    export_file(sqlite_store, "whole", "log", str(tmp_path / "log.csv"))
    again = eq.replay(
        eq.make_system(system, parameters), eq.read_history(str(tmp_path / "log.csv"))
    )
    found = again.ratings
    assert dict(zip(found.player_ids.tolist(), found.rating.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("value", [10**400, "many", "inf", 1e308, True])
def test_an_attribute_that_is_no_score_is_refused(
    sqlite_store: Store, value: str | float | bool
) -> None:
    """Without a score of the team, the attribute counts, as the column of a history does."""
    pool = Trial(sqlite_store, system="elo", parameters={"margin_rule": "world-football"})
    players = [ParticipationRequest("a", attributes={"score": value}), ParticipationRequest("b")]
    teams = [TeamRequest([one], rank) for rank, one in enumerate(players)]
    error = pool.refused(MatchRequest(match="m1", teams=teams, time=1))
    assert "attributes.score: must be a number from -2^53 to 2^53" in str(error)
