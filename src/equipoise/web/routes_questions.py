"""Questions to a pool: what is expected of a match, how a lobby splits into fair teams."""

from __future__ import annotations

from equipoise.errors import InvalidParameterError, require
from equipoise.messages.balance import BalanceMessage
from equipoise.messages.predict import PredictMessage
from equipoise.messages.service_requests import BalanceRequest, PredictRequest
from equipoise.web.endpoints import Asked, Body, Endpoint
from equipoise.workflows import pool_questions

#: What is asked for may be no larger, so that an answer takes seconds at most.
_PLAYERS = 2_000
_SAMPLES = 100_000
_SAMPLED_PLAYERS = 20_000_000
_LOBBY = 100
_WHAT_IF = 100
_ALTERNATIVES = 100

_PREDICT = {"teams": [["ana"], ["bo"]]}
_BALANCE = {"players": ["ana", "bo", "cy", {"player": "new", "rating": 1500}], "teams": 2}


async def predict(asked: Asked) -> PredictMessage:
    """Return what is expected of a match."""
    request: PredictRequest = asked.body
    players = sum(map(len, request.teams))
    _at_most("teams", "players", players, _PLAYERS)
    _at_most("what_if", "players", len(request.what_if), _WHAT_IF)
    if request.samples is not None:
        require(request.samples <= _SAMPLES, "samples", f"at most {_SAMPLES}", request.samples)
        drawn = request.samples * players
        require(
            drawn <= _SAMPLED_PLAYERS,
            "samples times players",
            f"at most {_SAMPLED_PLAYERS}",
            drawn,
        )
    return await asked.service.calculate(
        pool_questions.predict_in_pool, asked.service.store, asked.pool, request
    )


async def balance(asked: Asked) -> BalanceMessage:
    """Return a lobby as fair teams."""
    request: BalanceRequest = asked.body
    _at_most("players", "players", len(request.players), _LOBBY)
    require(
        request.alternatives <= _ALTERNATIVES,
        "alternatives",
        f"at most {_ALTERNATIVES}",
        request.alternatives,
    )
    return await asked.service.calculate(
        pool_questions.balance_in_pool, asked.service.store, asked.pool, request
    )


def _at_most(name: str, what: str, count: int, most: int) -> None:
    if count > most:
        raise InvalidParameterError(f"{name} must have at most {most} {what}; got {count}")


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/predict",
        name="predict",
        group="Questions",
        summary="What is expected of a match",
        description=f"At most {_PLAYERS} players and {_SAMPLES} samples.",
        handler=predict,
        body=Body(shape=PredictRequest, example=_PREDICT),
        shape=PredictMessage,
    ),
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/balance",
        name="balance",
        group="Questions",
        summary="Fair teams from a lobby",
        description=f"At most {_LOBBY} players. Who is not in the pool counts as a newcomer.",
        handler=balance,
        body=Body(shape=BalanceRequest, example=_BALANCE),
        shape=BalanceMessage,
    ),
)
