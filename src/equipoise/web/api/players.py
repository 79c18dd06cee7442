"""Endpoints for players, and for predictions and teams from their ratings.

Players: the leaderboard, a player, the player's matches, why a match changed the rating. Questions:
what is expected of a match, and how a lobby splits into fair teams.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from equipoise.errors import InvalidParameterError
from equipoise.messages.histories import ExplainMessage
from equipoise.messages.matches import (
    LeaderboardMessage,
    PlayerMessage,
)
from equipoise.messages.questions import (
    BalanceRequest,
    PredictRequest,
)
from equipoise.pools.reading import players, questions
from equipoise.pools.reading.overview import pool_overview
from equipoise.pools.reading.questions import LOBBY, PREDICTED_PLAYERS, SAMPLES
from equipoise.pools.reading.summaries import against, player_summary
from equipoise.web.api.matches import MatchesQuery
from equipoise.web.http.endpoints import (
    ApiRequest,
    Body,
    Cursor,
    Endpoint,
    IdText,
    Limit,
    PageQuery,
    TimeText,
    calculates,
    reads,
    time_of,
)


class LeaderboardQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which page of which leaderboard."""

    cursor: Cursor | None = None
    limit: Limit = 50
    provisional: Annotated[
        bool, Meta(description="Also list players with few matches (`placement_matches`).")
    ] = False
    inactive: Annotated[bool, Meta(description="Also list inactive players (`inactive_days`).")] = (
        False
    )
    around: (
        Annotated[IdText, Meta(description="Return the page with this player; without `cursor`.")]
        | None
    ) = None

    disqualified: Annotated[
        Literal["last", "ranked"],
        Meta(
            description="Where disqualified players are listed: after all others and without a "
            "place (last), or among the others by their ratings (ranked)."
        ),
    ] = "last"
    context: (
        Annotated[
            IdText,
            Meta(
                description="Show and sort ratings in this context, such as a surface or map, in "
                "pools with `context_deviation`."
            ),
        ]
        | None
    ) = None


class PlayerQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The time for which a player's numbers are returned."""

    at: TimeText | None = None


class ExplainQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which match is explained."""

    match: (
        Annotated[IdText, Meta(description="Match to explain; by default the player's last one.")]
        | None
    ) = None


#: Players on a page that is read without a thread.
_SHORT = 100


async def show_leaderboard(request: ApiRequest) -> LeaderboardMessage:
    """Return a page of the leaderboard."""
    query: LeaderboardQuery = request.query
    if query.cursor is not None and query.around is not None:
        raise InvalidParameterError("around cannot be combined with cursor")
    # Counting places and leaving out players take longer than reading an index.
    pool = request.known_pool
    lists_all = query.inactive or (pool is not None and pool.inactive_days is None)
    listed = lists_all and query.context is None
    short = listed and query.around is None and query.limit <= _SHORT
    parameters = request.parameters()
    if short:
        name = request.pool_name
        return await request.service.read_inline(players.leaderboard, name, **parameters)
    return await request.read(players.leaderboard, **parameters)


async def show_player(request: ApiRequest) -> PlayerMessage:
    """Return a player."""
    query: PlayerQuery = request.query
    return await request.read(players.player, request.path["player"], at=time_of(query.at))


async def explain(request: ApiRequest) -> ExplainMessage:
    """Return why a match changed a rating."""
    player, match = request.path["player"], request.query.match
    work = request.service.explain(questions.explain_player, request.pool_name, player, match)
    return await request.while_connected(work)


PLAYERS = (
    Endpoint(
        route="GET /v1/pools/{pool}/overview",
        name="showOverview",
        summary="Get the distribution of ratings, upsets, movers and records",
        description="Upsets and movers are of the 365 days before the pool's last match.",
        handler=calculates(pool_overview),
    ),
    Endpoint(
        route="GET /v1/pools/{pool}/leaderboard",
        name="showLeaderboard",
        summary="Get the leaderboard",
        description="Sorted by the rating shown (`rating` minus `display_deviations` "
        "deviations), then by id. Disqualified players come last, without a place. `next` and "
        "`previous` are the cursors of the adjacent pages. Pages stay in place while matches "
        "arrive.",
        handler=show_leaderboard,
        query=LeaderboardQuery,
    ),
    Endpoint(
        route="GET /v1/pools/{pool}/players/{player}",
        name="showPlayer",
        summary="Get a player",
        handler=show_player,
        query=PlayerQuery,
    ),
    Endpoint(
        route="GET /v1/pools/{pool}/players/{player}/history",
        name="showPlayerHistory",
        summary="List a player's rated matches, newest first",
        handler=reads(players.player_history),
        query=MatchesQuery,
    ),
    Endpoint(
        route="GET /v1/pools/{pool}/players/{player}/summary",
        name="showPlayerSummary",
        summary="Summarise a player's rated matches",
        description="Peak, record, streaks, the last ten matches, the best win, the opponents met "
        "most often and the greatest surprises.",
        handler=reads(player_summary),
    ),
    Endpoint(
        route="GET /v1/pools/{pool}/players/{player}/against/{other}",
        name="showAgainst",
        summary="Compare two players",
        description="The rated matches in which both played in different teams, newest first, who "
        "placed above how often, and the expected scores if they met now.",
        handler=reads(against),
        query=PageQuery,
    ),
    Endpoint(
        route="GET /v1/pools/{pool}/players/{player}/explain",
        name="explainPlayer",
        summary="Explain why a match changed a rating",
        description="Explains the last rated match of the player, or the match in `match`.",
        handler=explain,
        query=ExplainQuery,
        tagged=False,
        errors=(409,),
    ),
)


_PREDICT = {"teams": [["ana"], ["bo"]]}
_BALANCE = {"players": ["ana", "bo", "cy", {"player": "new", "rating": 1500}], "teams": 2}


QUESTIONS = (
    Endpoint(
        route="POST /v1/pools/{pool}/predict",
        name="predict",
        summary="Predict a match",
        description=f"At most {PREDICTED_PLAYERS} players and {SAMPLES} samples. Players who are "
        "not in the pool count as newcomers, and the response lists them.",
        handler=calculates(questions.predict_in_pool),
        body=Body(shape=PredictRequest, example=_PREDICT),
    ),
    Endpoint(
        route="POST /v1/pools/{pool}/balance",
        name="balance",
        summary="Make fair teams from a lobby",
        description=f"At most {LOBBY} players. Players who are not in the pool count as newcomers.",
        handler=calculates(questions.balance_in_pool),
        body=Body(shape=BalanceRequest, example=_BALANCE),
    ),
)
