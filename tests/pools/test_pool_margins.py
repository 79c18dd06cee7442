"""Pools in which scores and shares count: posts, batches and corrections, against a replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.store.connection import Store
from pools.pool_trials import same_bits

CASES: list[tuple[str, dict[str, Any]]] = [
    ("elo", {"margin_rule": "fivethirtyeight"}),
    ("plackett-luce", {"shares": "play", "margin": 2.0}),
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
def test_scores_and_shares_give_the_same_bits_however_matches_come(
    sqlite_store: Store, tmp_path: Path, system: str, parameters: dict[str, Any]
) -> None:
    """One is posted with the scores the other way round and full shares, and corrected later."""
    posted, table = season()
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
