"""Calls that read ratings of a pool, and ask what follows from them."""

from __future__ import annotations

from typing import Literal

from equipoise.client.call import Call, ask, in_pool
from equipoise.messages.balance import BalanceMessage
from equipoise.messages.explain import ExplainMessage
from equipoise.messages.matches import Id, Moment
from equipoise.messages.players import LeaderboardMessage, PlayerHistory, PlayerMessage
from equipoise.messages.predict import PredictMessage
from equipoise.messages.service_requests import BalanceRequest, PredictRequest


def leaderboard(
    pool: str,
    *,
    cursor: str | None = None,
    limit: int | None = None,
    provisional: bool | None = None,
    inactive: bool | None = None,
    around: Id | None = None,
    disqualified: Literal["last", "ranked"] | None = None,
) -> Call[LeaderboardMessage]:
    """Return a page of the leaderboard.

    provisional, inactive : list those players too; around : the page that has this player
    disqualified : "last" lists them after all others, without a place; "ranked" by rating
    """
    return ask(
        "GET",
        in_pool(pool, "leaderboard"),
        LeaderboardMessage,
        query={
            "cursor": cursor,
            "limit": limit,
            "provisional": provisional,
            "inactive": inactive,
            "around": around,
            "disqualified": disqualified,
        },
    )


def player(pool: str, player: Id, at: Moment | None = None) -> Call[PlayerMessage]:
    """Return a player of a pool; at : time for which the numbers hold."""
    return ask("GET", in_pool(pool, "players", player), PlayerMessage, query={"at": at})


def player_history(
    pool: str, player: Id, *, cursor: str | None = None, limit: int | None = None
) -> Call[PlayerHistory]:
    """Return a page of a player's rated matches, newest first."""
    path = in_pool(pool, "players", player, "history")
    return ask("GET", path, PlayerHistory, query={"cursor": cursor, "limit": limit})


def explain(pool: str, player: Id, match: Id | None = None) -> Call[ExplainMessage]:
    """Return why a match, the last one unless named, changed a player's rating."""
    return ask(
        "GET", in_pool(pool, "players", player, "explain"), ExplainMessage, query={"match": match}
    )


def predict(pool: str, request: PredictRequest) -> Call[PredictMessage]:
    """Return what is expected of a match to come."""
    return ask("POST", in_pool(pool, "predict"), PredictMessage, request)


def balance(pool: str, request: BalanceRequest) -> Call[BalanceMessage]:
    """Return a lobby as fair teams."""
    return ask("POST", in_pool(pool, "balance"), BalanceMessage, request)
