"""All that the client can ask, and the lines of HTTP that come of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import (
    InitialRequest,
    PoolChange,
    PoolRequest,
    ProfileRequest,
    SeasonRequest,
)
from equipoise.messages.questions import BalanceRequest, PredictRequest


def duel(number: int) -> MatchRequest:
    """Return the match "m<number>" of a and b."""
    return MatchRequest(f"m{number}", [TeamRequest(["a"], 0), TeamRequest(["b"], 1)])


#: Every call, and what it asks for.
EVERYTHING: list[tuple[Callable[[Any], Any], str]] = [
    (lambda c: c.pools(), "GET /v1/pools"),
    (lambda c: c.pool("p"), "GET /v1/pools/p"),
    (
        lambda c: c.set_initial_ratings("p", InitialRequest(pool="q")),
        "PUT /v1/pools/p/initial-ratings",
    ),
    (lambda c: c.set_profiles("p", [ProfileRequest("a", "Ana")]), "PUT /v1/pools/p/profiles"),
    (lambda c: c.overview("p"), "GET /v1/pools/p/overview"),
    (lambda c: c.initial_ratings("p", limit=3), "GET /v1/pools/p/initial-ratings?limit=3"),
    (lambda c: c.match("p", 7), "GET /v1/pools/p/matches/7"),
    (lambda c: c.matches("p", limit=2), "GET /v1/pools/p/matches?limit=2"),
    (lambda c: c.correct_match("p", "m", duel(1)), "PUT /v1/pools/p/matches/m"),
    (lambda c: c.void_match("p", "m", wait=2), "POST /v1/pools/p/matches/m/void?wait=2"),
    (lambda c: c.restore_match("p", "m"), "POST /v1/pools/p/matches/m/restore"),
    (lambda c: c.disqualify("p", "a", 5), "POST /v1/pools/p/players/a/disqualify"),
    (lambda c: c.reinstate("p", "a"), "POST /v1/pools/p/players/a/reinstate"),
    (lambda c: c.rename_player("p", "a", "b"), "POST /v1/pools/p/players/a/rename"),
    (
        lambda c: c.erase_player("p", "a", preview=True),
        "POST /v1/pools/p/players/a/erase?preview=true",
    ),
    (lambda c: c.amendment("p", 3), "GET /v1/pools/p/amendments/3"),
    (lambda c: c.amendments("p"), "GET /v1/pools/p/amendments"),
    (lambda c: c.replay("p"), "POST /v1/pools/p/replay"),
    (
        lambda c: c.leaderboard("p", provisional=False, inactive=True),
        "GET /v1/pools/p/leaderboard?provisional=false&inactive=true",
    ),
    (lambda c: c.player("p", "a", at=9), "GET /v1/pools/p/players/a?at=9"),
    (lambda c: c.player_history("p", "a"), "GET /v1/pools/p/players/a/history"),
    (lambda c: c.player_summary("p", "a"), "GET /v1/pools/p/players/a/summary"),
    (lambda c: c.matches("p", around="m"), "GET /v1/pools/p/matches?around=m"),
    (lambda c: c.against("p", "a", "b"), "GET /v1/pools/p/players/a/against/b"),
    (lambda c: c.explain("p", "a", "m"), "GET /v1/pools/p/players/a/explain?match=m"),
    (lambda c: c.predict("p", PredictRequest([["a"], ["b"]])), "POST /v1/pools/p/predict"),
    (lambda c: c.balance("p", BalanceRequest(["a", "b"])), "POST /v1/pools/p/balance"),
    (lambda c: c.rebalance({"session": {}}, method="greedy"), "POST /v1/rebalance?method=greedy"),
    (lambda c: c.matchmaking_tick({"now": 0}), "POST /v1/matchmaking/tick"),
    (
        lambda c: c.performance(b"1-0", "pgn", anchor=["1500", "a=9"], superiority=True),
        "POST /v1/performance?format=pgn&anchor=1500&anchor=a%3D9&superiority=true",
    ),
    (lambda c: c.strengths(b"", "csv", top=1), "POST /v1/strengths?format=csv&top=1"),
    (lambda c: c.end_season("p", SeasonRequest(season="1")), "POST /v1/pools/p/seasons"),
    (
        lambda c: c.preview_season("p", SeasonRequest(season="1")),
        "POST /v1/pools/p/seasons?preview=true",
    ),
    (lambda c: c.seasons("p"), "GET /v1/pools/p/seasons"),
    (lambda c: c.webhooks("p"), "GET /v1/pools/p/webhooks"),
    (lambda c: c.create_webhook("p", "https://e.org"), "POST /v1/pools/p/webhooks"),
    (lambda c: c.disable_webhook("p", 3), "POST /v1/pools/p/webhooks/3/disable"),
    (lambda c: c.enable_webhook("p", 3), "POST /v1/pools/p/webhooks/3/enable"),
    (lambda c: c.delete_webhook("p", 3), "DELETE /v1/pools/p/webhooks/3"),
    (lambda c: c.test_webhook("p", 3), "POST /v1/pools/p/webhooks/3/test"),
    (lambda c: c.audit("p", limit=2), "GET /v1/audit?pool=p&limit=2"),
    (lambda c: c.create_pool("p", PoolRequest()), "PUT /v1/pools/p"),
    (lambda c: c.change_pool("p", PoolChange(late="append")), "PATCH /v1/pools/p"),
    (
        lambda c: c.preview_change("p", PoolChange(late="append")),
        "PATCH /v1/pools/p?preview=true",
    ),
    (lambda c: c.delete_pool("p", "p"), "DELETE /v1/pools/p?confirm=p"),
    (lambda c: c.post_match("p", duel(1)), "POST /v1/pools/p/matches"),
    (lambda c: c.keys(), "GET /v1/keys"),
    (lambda c: c.create_key("n", "writer", "p", token="n" * 20), "POST /v1/keys"),
    (lambda c: c.rotate_key(4, token="r" * 20), "POST /v1/keys/4/rotate"),
    (lambda c: c.revoke_key(4), "POST /v1/keys/4/revoke"),
    (lambda c: c.ready(), "GET /readyz"),
    (lambda c: c.metrics(), "GET /metrics"),
    (lambda c: c.openapi(), "GET /openapi.json"),
]
