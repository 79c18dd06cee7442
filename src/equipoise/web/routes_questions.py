"""Questions to a pool: what is expected of a match, how a lobby splits into fair teams."""

from __future__ import annotations

from equipoise.messages.balance import BalanceMessage
from equipoise.messages.predict import PredictMessage
from equipoise.messages.service_requests import BalanceRequest, PredictRequest
from equipoise.web.endpoints import ApiRequest, Body, Endpoint
from equipoise.workflows import pool_questions
from equipoise.workflows.pool_questions import LOBBY, PREDICTED_PLAYERS, SAMPLES

_PREDICT = {"teams": [["ana"], ["bo"]]}
_BALANCE = {"players": ["ana", "bo", "cy", {"player": "new", "rating": 1500}], "teams": 2}


async def predict(request: ApiRequest) -> PredictMessage:
    """Return what is expected of a match."""
    body: PredictRequest = request.body
    return await request.service.calculate(
        pool_questions.predict_in_pool, request.service.store, request.pool, body
    )


async def balance(request: ApiRequest) -> BalanceMessage:
    """Return a lobby as fair teams."""
    body: BalanceRequest = request.body
    return await request.service.calculate(
        pool_questions.balance_in_pool, request.service.store, request.pool, body
    )


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/pools/{pool}/predict",
        name="predict",
        group="Questions",
        summary="What is expected of a match",
        description=f"At most {PREDICTED_PLAYERS} players and {SAMPLES} samples. Players who "
        "are not in the pool count as newcomers, and the answer says so.",
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
        description=f"At most {LOBBY} players. Those who are not in the pool count as newcomers.",
        handler=balance,
        body=Body(shape=BalanceRequest, example=_BALANCE),
        shape=BalanceMessage,
    ),
)
