"""Messages about webhooks, and the events that are sent to them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

#: "match.rated": also for a match that waited for a replay. "ratings.corrected": a replay changed
#: ratings, after amendments or because it was requested.
EventKind: TypeAlias = Literal["match.rated", "ratings.corrected", "season.ended"]


class WebhookRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An address that receives the events of a pool from now on.

    events : kinds of events that it receives; empty: all
    """

    url: Annotated[str, Meta(min_length=1, max_length=2000, examples=["https://example.org/hook"])]
    events: list[EventKind] = []


class WebhookMessage(msgspec.Struct, frozen=True):
    """A webhook, and the state of its deliveries.

    disabled : when it was disabled; disabled_because : why the service disabled it, null if an
        administrator did
    waiting : number of events of all kinds that it has not received yet
    failures : number of failures since the last delivery, the first at `failing_since`
    failure : why the last attempt failed; next_attempt : earliest time of the next attempt
    """

    webhook: int
    url: str
    events: list[str]
    created: str
    disabled: str | None
    waiting: int
    last_delivery: str | None
    failures: int
    failure: str | None
    next_attempt: str | None
    disabled_because: str | None = None
    failing_since: str | None = None


class NewWebhookMessage(msgspec.Struct, frozen=True):
    """A webhook that was just created; `secret` signs its messages and is shown once."""

    webhook: WebhookMessage
    secret: str


class WebhookList(msgspec.Struct, frozen=True):
    """The webhooks of a pool, newest first."""

    webhooks: list[WebhookMessage]


class WebhookTestMessage(msgspec.Struct, frozen=True):
    """The result of a test message; status : of the answer, null if there was none."""

    delivered: bool
    status: int | None
    failure: str | None
    seconds: float


class AmendmentLine(msgspec.Struct, frozen=True):
    """An amendment that a replay took into account."""

    seq: int
    kind: str
    match: str | None
    player: str | None


class CorrectedMessage(msgspec.Struct, frozen=True):
    """The data of "ratings.corrected": a replay that was swapped in.

    amendments : those that it took into account, at most 100; amended : number of all of them
    matches : number of replayed matches; changed : players whose rating changed, null if unknown
    """

    generation: int
    amended: int
    amendments: list[AmendmentLine]
    matches: int | None
    changed: int | None


class EventMessage(msgspec.Struct, frozen=True):
    """An event as it is sent to a webhook.

    type : an EventKind or "webhook.test"
    timestamp : when it happened; pool : current name of the pool
    data : MatchMessage, CorrectedMessage or SeasonMessage
    """

    type: str
    timestamp: str
    pool: str
    data: Any
