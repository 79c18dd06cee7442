"""Endpoints that need no pool: the performance table of a tournament, rebalancing a session."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from equipoise.analysis.balance import RebalanceOrder
from equipoise.analysis.balance.rebalance import rebalance_request
from equipoise.analysis.performance import (
    PerformanceRequest,
    StrengthsRequest,
    advantage_of,
    anchors_of,
    extra_columns,
    tie_breaks_of,
)
from equipoise.analysis.performance.computation import (
    estimate_strengths,
    message_of,
    rate_performance,
)
from equipoise.analysis.performance.computation import strengths_message as strengths_message_of
from equipoise.analysis.requests import HistoryRequest, assignments
from equipoise.data.rebalancing import MOST_MEGABYTES
from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.matchmaking.request import read_tick_request
from equipoise.messages.histories import PerformanceMessage, StrengthsMessage
from equipoise.messages.questions import (
    RebalanceMessage,
    TickMessage,
    rebalance_message,
    tick_message,
)
from equipoise.pools.pool.pools import pool_message
from equipoise.pools.reading.questions import ratings_in_pool
from equipoise.store.connection import Store
from equipoise.store.keys import KeyRecord
from equipoise.tournament.curves import CurveName
from equipoise.tournament.equilibrium import Select
from equipoise.tournament.rankings import Ties
from equipoise.tournament.tie_break_parts import Pairing, TieBreakRules, Unplayed
from equipoise.tournament.uncertainty import SuperiorityPrior
from equipoise.web.http.access import is_key_of, may_read
from equipoise.web.http.endpoints import (
    COLUMNS,
    ApiRequest,
    Body,
    Endpoint,
    check_sweeps,
    check_table,
    compression_of,
)
from equipoise.web.http.errors import (
    ForbiddenError,
    MalformedError,
    TooLargeError,
    UnauthorisedError,
)

T = TypeVar("T")

#: Uploads are text: a compressed file may be much larger than its upload.
GamesFormat: TypeAlias = Literal[
    "pgn", "trf", "games", "pairs", "crosstable", "history", "csv", "tsv", "jsonl", "json"
]
_TEXTS: TypeAlias = Annotated[tuple[str, ...], Meta(max_length=100)]
#: Maximum bytes of a request of parties.
_MOST = MOST_MEGABYTES * 1_000_000
#: Maximum number of players that are compared with one another.
_COMPARED = 100
#: Time limit of branch and bound, seconds.
_SECONDS = 5.0
#: Maximum number of parties in all sequences that are listed together.
_LISTED = 100_000
#: Maximum number of lines of a table of games; larger tables are for the command line.
_LINES = 20_000


class PerformanceQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a tournament is read and rated; the options of `equipoise performance`."""

    format: Annotated[GamesFormat, Meta(description="Format of the games.")]
    anchor: Annotated[
        _TEXTS, Meta(description="Average rating, or PLAYER=RATING to hold a player there.")
    ] = ()
    select: Select = "equal"
    confidence: Annotated[
        float, Meta(gt=0, lt=1, description="Confidence of errors and bounds.")
    ] = 0.95
    scale: Annotated[float, Meta(gt=0, le=100, description="Scale of the curve; 1 is Elo's.")] = 1.0
    curve: CurveName = "elo"
    draws: Literal["ignore", "davidson"] = "ignore"
    colour_advantage: (
        Annotated[
            str,
            Meta(max_length=50, description="Rating points of White's advantage, or `estimate`."),
        ]
        | None
    ) = None
    prior: Annotated[
        float, Meta(ge=0, le=1e6, description="Drawn games given to every player.")
    ] = 0.0
    superiority: Annotated[
        bool, Meta(description="Compute the probability that one player is better than another.")
    ] = False
    superiority_prior: Annotated[
        SuperiorityPrior,
        Meta(description="Strengths before the tournament: `field`, of its spread, or `flat`."),
    ] = "field"
    player: Annotated[
        tuple[str, ...],
        Meta(max_length=_COMPARED, description="Players to compare, and to compute errors for."),
    ] = ()
    also: Annotated[_TEXTS, Meta(description="Further columns: `linear`, `recursive`.")] = ()
    tie_breaks: Annotated[
        _TEXTS, Meta(description="Tie-breaks as further columns, such as `sonneborn-berger`.")
    ] = ()
    unplayed: Annotated[
        Unplayed,
        Meta(
            description="Rounds without a game in tie-breaks: by FIDE's rules, null where a round "
            "is not known; the same, but with absence there; or only played games."
        ),
    ] = "fide"
    pairing: Annotated[
        Pairing, Meta(description="Whether tie-breaks count forfeits as in a round robin.")
    ] = "auto"
    tie_break_rules: Annotated[
        TieBreakRules, Meta(description="Date of FIDE's rules for tie-breaks.")
    ] = "2026-03"
    by_points: Annotated[
        bool, Meta(description="Order players by points and then by the tie-breaks.")
    ] = False
    details: Annotated[
        tuple[str, ...],
        Meta(max_length=_COMPARED, description="Players whose tie-breaks are shown in parts."),
    ] = ()
    k_factor: (
        Annotated[
            float, Meta(gt=0, le=1000, description="K for a column with FIDE's rating change.")
        ]
        | None
    ) = None
    rating_rules: Annotated[
        Literal["2022-01", "2024-03", "2025-10"],
        Meta(description="Date of FIDE's rules for differences above 400 points."),
    ] = "2025-10"
    strict: Annotated[bool, Meta(description="Reject games without an equilibrium.")] = False
    column: Annotated[_TEXTS, Meta(description="NEW=OLD: the file has column OLD for NEW.")] = ()
    where: Annotated[_TEXTS, Meta(description="NAME=VALUE: only games with this value.")] = ()
    since: (
        Annotated[str, Meta(max_length=64, description="Only games from this time on.")] | None
    ) = msgspec.field(name="from", default=None)
    until: (
        Annotated[str, Meta(max_length=64, description="Only games before this time.")] | None
    ) = None


class StrengthsQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How rankings are read and strengths estimated; the options of `equipoise strengths`."""

    format: Annotated[
        Literal["csv", "tsv", "jsonl", "json"], Meta(description="Format of the matches.")
    ]
    top: (
        Annotated[int, Meta(ge=1, description="Use only the first places; 1 uses only who won.")]
        | None
    ) = None
    ties: Annotated[
        Ties, Meta(description="Ties above the last place: refused, or counted by Breslow's rule.")
    ] = "refuse"
    prior: Annotated[
        float, Meta(ge=0, le=1e6, description="Drawn games given to every player.")
    ] = 0.0
    scale: Annotated[float, Meta(gt=0, le=20, description="Scale of the ratings; 1 is Elo's.")] = (
        1.0
    )
    anchor: Annotated[float, Meta(ge=-1e6, le=1e6, description="Mean rating.")] = 0.0
    confidence: Annotated[float, Meta(gt=0, lt=1, description="Confidence of errors.")] = 0.95
    column: Annotated[_TEXTS, Meta(description="NEW=OLD: the file has column OLD for NEW.")] = ()
    where: Annotated[_TEXTS, Meta(description="NAME=VALUE: only matches with this value.")] = ()


class RebalanceQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a session is rebalanced; the options of `equipoise rebalance`."""

    method: (
        Annotated[
            Literal["permutation", "combination", "greedy", "optimal", "vertical"],
            Meta(description="Method, instead of the one in the ruleset."),
        ]
        | None
    ) = None
    all: Annotated[bool, Meta(description="List every sequence as `candidates`.")] = False
    max_sequences: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Maximum number of sequences that `all` lists; fewer for many parties.",
        ),
    ] = 1_000
    nodes: (
        Annotated[
            int,
            Meta(ge=1, le=1_000_000, description="Maximum number of nodes for branch and bound."),
        ]
        | None
    ) = None


async def performance(request: ApiRequest) -> PerformanceMessage:
    """Return the performance table of the games in the body."""
    return await _of_table(request, "games", _rated)


async def _of_table(request: ApiRequest, what: str, calculation: Callable[[bytes, Any], T]) -> T:
    """Return the result of a calculation with the table in the body; what : its rows."""
    content, query = request.body, request.query
    if content.count(b"\n") > _LINES and query.format not in ("pgn", "trf"):
        raise TooLargeError(f"a table of {what} must have at most {_LINES} lines here")
    check_table(content, query.format)
    compression = compression_of(content)
    if compression is not None:
        raise MalformedError(f"the {what} must be uncompressed text; got {compression}")
    return await request.while_connected(request.service.calculate(calculation, content, query))


def _rated(content: bytes, query: PerformanceQuery) -> PerformanceMessage:
    parameters = msgspec.structs.asdict(query)
    order = PerformanceRequest(
        games=io.BytesIO(content),
        columns=assignments(parameters.pop("column"), "column"),
        where=assignments(parameters.pop("where"), "where"),
        anchor=anchors_of(parameters.pop("anchor"), "anchor"),
        colour_advantage=advantage_of(parameters.pop("colour_advantage"), "colour_advantage"),
        players=parameters.pop("player"),
        also=extra_columns(parameters.pop("also"), "also"),
        tie_breaks=tie_breaks_of(parameters.pop("tie_breaks"), "tie_breaks"),
        order="points" if parameters.pop("by_points") else "ppr",
        **parameters,
    )
    return check_sweeps(message_of(rate_performance(order)))


async def strengths(request: ApiRequest) -> StrengthsMessage:
    """Return the strengths of the players of the matches in the body."""
    return await _of_table(request, "matches", _estimated)


def _estimated(content: bytes, query: StrengthsQuery) -> StrengthsMessage:
    parameters = msgspec.structs.asdict(query)
    order = StrengthsRequest(
        history=HistoryRequest(
            source=io.BytesIO(content),
            format=parameters.pop("format"),
            columns=assignments(parameters.pop("column"), "column"),
            where=assignments(parameters.pop("where"), "where"),
        ),
        **parameters,
    )
    return strengths_message_of(estimate_strengths(order), order)


async def rebalance(request: ApiRequest) -> RebalanceMessage:
    """Return the teams of the request in the body."""
    work = request.service.calculate(_rebalanced, request.body, request.query)
    return await request.while_connected(work)


def _rebalanced(content: bytes, query: RebalanceQuery) -> RebalanceMessage:
    order = RebalanceOrder(
        source=content,
        method=query.method,
        candidates=query.all,
        max_sequences=query.max_sequences,
        nodes=query.nodes,
        time_limit=_SECONDS,
    )
    message = rebalance_message(rebalance_request(order).result)
    parties = max(1, sum(map(len, message.teams)))
    most = max(1, _LISTED // parties)
    if len(message.candidates) <= most:
        return message
    return msgspec.structs.replace(message, candidates=message.candidates[:most], truncated=True)


async def matchmaking_tick(request: ApiRequest) -> TickMessage:
    """Return who of the queue in the body plays with whom."""
    work = request.service.calculate_from_store(_ticked, request.body, request.key)
    return await request.while_connected(work)


def _ticked(store: Store, content: bytes, key: KeyRecord | None) -> TickMessage:
    """Return the answer of a tick, with the ratings of a pool that the key may read."""
    request = read_tick_request(content)
    if request.pool is not None:
        try:
            readable = may_read(key, pool_message(store, request.pool))
        except NotFoundError:
            readable = False
        if not readable and key is None:
            raise UnauthorisedError("the ratings of this pool need a key")
        if not readable and not is_key_of(key, request.pool):
            raise ForbiddenError("the key is for another pool")
        if request.objective != "fair":
            raise InvalidParameterError("pool needs objective fair; got accelbyte")
        system, ratings, curve = ratings_in_pool(store, request.pool, request.players)
        request = replace(request, system=system, ratings=ratings, curve=curve)
    return tick_message(request.tick())


def example_ruleset(players: int, **distance: float) -> dict[str, Any]:
    """Return rules for two teams of at most so many players.

    distance : further fields of the rule of distance
    """
    alliance = {"min_number": 2, "max_number": 2, "player_min_number": 1}
    rule = {"attribute": "mmr", "criteria": "distance", "reference": 100, **distance}
    return {"alliance": {**alliance, "player_max_number": players}, "matching_rule": [rule]}


_TICK: dict[str, Any] = {
    "now": 60,
    "ruleset": example_ruleset(1),
    "tickets": [
        {
            "ticket": name,
            "created_at": at,
            "players": [{"player": name, "attributes": {"mmr": mmr}}],
        }
        for name, at, mmr in (("ana", 10, 1500), ("bo", 20, 1580), ("cy", 30, 1900))
    ],
}

_REBALANCE: dict[str, Any] = {
    "ruleset": example_ruleset(2, max=50),
    "parties": [
        {"party": party, "players": [{"player": name, "attributes": {"mmr": mmr}}]}
        for party, name, mmr in (("p1", "ana", 70), ("p2", "bo", 60), ("p3", "cy", 40))
    ],
}

ENDPOINTS = (
    Endpoint(
        route="POST /v1/performance",
        name="performance",
        summary="Compute a tournament's performance ratings",
        description="The body is the file, as uncompressed text: PGN, TRF or a table. A table "
        f"has at most {_LINES} lines and {COLUMNS} columns. If no equilibrium exists, the "
        "response says which players took every point from which others.",
        handler=performance,
        query=PerformanceQuery,
        body=Body(
            shape=bytes,
            media=("application/octet-stream", "text/csv", "text/plain", "*/*"),
            example="white,black,result\nana,bo,1-0\nbo,cy,1/2-1/2\ncy,ana,1-0\n",
        ),
        errors=(404,),
    ),
    Endpoint(
        route="POST /v1/strengths",
        name="strengths",
        summary="Estimate strengths from rankings and choices",
        description="The body is a table of matches, as uncompressed text, with a row for each "
        f"player in each match. It has at most {_LINES} lines and {COLUMNS} columns. If a group of "
        "players was never beaten by the others, no strengths exist, and the response names the "
        "groups.",
        handler=strengths,
        query=StrengthsQuery,
        body=Body(
            shape=bytes,
            media=("application/octet-stream", "text/csv", "text/plain", "*/*"),
            example="match,player,rank\n1,ana,1\n1,bo,2\n2,bo,1\n2,ana,2\n",
        ),
    ),
    Endpoint(
        route="POST /v1/rebalance",
        name="rebalance",
        summary="Make even teams from matched parties",
        description="The body is a request in the format of `equipoise rebalance`. Branch and "
        f"bound ends after at most {_SECONDS:g} s.",
        handler=rebalance,
        query=RebalanceQuery,
        body=Body(shape=bytes, most=_MOST, example=_REBALANCE),
    ),
    Endpoint(
        route="POST /v1/matchmaking/tick",
        name="matchmaking_tick",
        summary="Match the tickets of a queue",
        description="The body is a request in the format of `equipoise matchmaking tick`. Instead "
        "of `system` and `ratings` it may name a `pool`, whose system and ratings are used; a pool "
        "that is not public needs a key for it.",
        handler=matchmaking_tick,
        body=Body(shape=bytes, most=_MOST, example=_TICK),
        errors=(404,),
    ),
)
