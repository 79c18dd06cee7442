"""A pool of a system of another package, served: with it, and after it is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from equipoise.pools.pool.rules import rules_of
from plugged import Install
from web.conftest import Serve


def game(number: int, winner: str, loser: str, goals: tuple[int, int]) -> dict[str, Any]:
    """Return a match with goals, the winner at home."""
    sides = zip((winner, loser), goals, ("home", "away"), strict=True)
    teams = [
        {"players": [{"player": name, "performance": scored, "side": side}], "rank": rank}
        for rank, (name, scored, side) in enumerate(sides)
    ]
    return {"match": str(number), "teams": teams, "time": 1_700_000_000 + 86_400 * number}


def test_serves_a_pool_of_a_plugin(serve: Serve, football: Path, install: Install) -> None:
    served = serve(page=True)
    assert served.put(
        "/v1/pools/cup", {"system": "football-elo", "public": True, "placement_matches": 0}
    ).is_success
    for number in range(3):
        assert served.post("/v1/pools/cup/matches", game(number, "Ayr", "Bute", (3, 1))).is_success
    before = served.get("/v1/pools/cup/leaderboard").json()
    assert [row["player"] for row in before["players"]] == ["Ayr", "Bute"]

    install.remove(football)
    rules_of.cache_clear()
    assert served.get("/v1/pools/cup/leaderboard").json() == before
    for path in ("", "/players/Ayr", "/matches/0"):
        assert served.get(f"/v1/pools/cup{path}").status_code == 200, path
    refused = served.post("/v1/pools/cup/matches", game(9, "Ayr", "Bute", (1, 0)))
    assert refused.status_code == 503
    assert refused.json()["error"]["code"] == "plugin"
    assert "install equipoise-football==0.1.0" in refused.json()["error"]["message"]
    for path in ("", "/leaderboard", "/players/Ayr", "/matches/0"):
        assert served.get(f"/pools/cup{path}", None).status_code == 200, path
    found = served.post("/v1/pools/cup/predict", {"teams": [["Ayr"], ["Bute"]]})
    assert found.status_code == 503
