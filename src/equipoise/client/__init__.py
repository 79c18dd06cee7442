"""A typed client of the service: `Client` waits for answers, `AsyncClient` is for asyncio.

    from equipoise.client import Client, MatchRequest, TeamRequest

    with Client("http://localhost:8000", key="...") as client:
        client.post_match("ladder", MatchRequest("m1", [TeamRequest(["a"], 0), ...]))
        for row in client.leaderboard("ladder").players:
            print(row.place, row.player, row.rating)

It imports `equipoise.messages` and `equipoise.errors`, and nothing else of the package.
"""

from __future__ import annotations

from equipoise.client.calls import Retries
from equipoise.client.clients import AsyncClient, Client
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.pools import (
    InitialMapping,
    InitialRating,
    InitialRequest,
    PoolChange,
    PoolRequest,
    ProfileRequest,
    SeasonRequest,
    SeasonSettings,
    Tier,
)
from equipoise.messages.questions import BalancePlayer, BalanceRequest, PredictRequest

__all__ = [
    "AsyncClient",
    "BalancePlayer",
    "BalanceRequest",
    "Client",
    "InitialMapping",
    "InitialRating",
    "InitialRequest",
    "MatchRequest",
    "ParticipationRequest",
    "PoolChange",
    "PoolRequest",
    "PredictRequest",
    "ProfileRequest",
    "Retries",
    "SeasonRequest",
    "SeasonSettings",
    "TeamRequest",
    "Tier",
]
