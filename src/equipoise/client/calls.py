"""All calls of the service: each function returns the request, and both clients send it.

In order: pools, matches, amendments, seasons, webhooks and the audit log, players and their
ratings, calculations without a pool, keys, operation.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from equipoise.client.call import NDJSON, Call, Values, in_pool, json_call, json_of, stream_lines
from equipoise.errors import EquipoiseError
from equipoise.messages.access import (
    KEEP_SECONDS,
    AuditPage,
    KeyList,
    KeyMessage,
    KeyRequest,
    NewKeyMessage,
    Role,
    RotationRequest,
)
from equipoise.messages.histories import ExplainMessage
from equipoise.messages.matches import (
    AmendmentMessage,
    AmendmentPage,
    DisqualifyRequest,
    Effect,
    Id,
    MatchMessage,
    MatchPage,
    MatchRequest,
    Moment,
    PostedMessage,
    ReasonRequest,
    ReinstateRequest,
    StreamLine,
)
from equipoise.messages.players import LeaderboardMessage, PlayerHistory, PlayerMessage
from equipoise.messages.pools import (
    DeletedPool,
    InitialMessage,
    InitialPage,
    InitialRequest,
    PoolChange,
    PoolList,
    PoolMessage,
    PoolRequest,
)
from equipoise.messages.questions import BalanceRequest, PredictMessage, PredictRequest
from equipoise.messages.seasons import SeasonList, SeasonMessage, SeasonPreview, SeasonRequest
from equipoise.messages.teams import BalanceMessage, RebalanceMessage
from equipoise.messages.tournaments.performance import PerformanceMessage
from equipoise.messages.tournaments.strengths import StrengthsMessage
from equipoise.messages.upkeep import ErasureMessage
from equipoise.messages.webhooks import (
    EventKind,
    NewWebhookMessage,
    WebhookList,
    WebhookMessage,
    WebhookRequest,
    WebhookTestMessage,
)

What: TypeAlias = Literal["log", "ratings", "changes"]
Format: TypeAlias = Literal["parquet", "csv", "ndjson"]


def create_pool(pool: str, request: PoolRequest) -> Call[PoolMessage]:
    """Create a pool. The same request again changes nothing."""
    return json_call("PUT", in_pool(pool), PoolMessage, request)


def pool(pool: str) -> Call[PoolMessage]:
    """Return the settings and the current state of a pool."""
    return json_call("GET", in_pool(pool), PoolMessage)


def change_pool(pool: str, change: PoolChange) -> Call[PoolMessage]:
    """Change settings of a pool. Settings that are left out keep their values.

    Other parameters of the entry and level rate the whole log again, in the background.
    """
    return json_call("PATCH", in_pool(pool), PoolMessage, change)


def preview_change(pool: str, change: PoolChange) -> Call[AmendmentMessage]:
    """Return which ratings a change of settings would change. Nothing changes."""
    return json_call("PATCH", in_pool(pool), AmendmentMessage, change, query={"preview": True})


def set_initial_ratings(pool: str, request: InitialRequest) -> Call[InitialMessage]:
    """Set the known ratings with which players of a pool begin, before its first match.

    The same request again changes nothing.
    """
    return json_call("PUT", in_pool(pool, "initial-ratings"), InitialMessage, request)


def initial_ratings(
    pool: str, *, cursor: str | None = None, limit: int | None = None
) -> Call[InitialPage]:
    """Return a page of the known ratings with which players of a pool began."""
    query = {"cursor": cursor, "limit": limit}
    return json_call("GET", in_pool(pool, "initial-ratings"), InitialPage, query=query)


def delete_pool(pool: str, confirm: str) -> Call[DeletedPool]:
    """Delete a pool permanently; confirm : its name, repeated."""
    return json_call(
        "DELETE", in_pool(pool), DeletedPool, query={"confirm": confirm}, repeatable=False
    )


def pools() -> Call[PoolList]:
    """Return the pools that the key may read."""
    return json_call("GET", "/v1/pools", PoolList)


def export(pool: str, what: What, format: Format, raw: bool) -> Call[bytes]:
    """Return the log, the ratings or the changes of a pool as a file.

    raw : whether text that spreadsheets run is left as it is in CSV
    """
    return Call(
        method="GET",
        path=in_pool(pool, "export"),
        read=bytes,
        query={"what": what, "format": format, "raw": raw or None},
    )


def post_match(pool: str, match: MatchRequest) -> Call[MatchMessage]:
    """Post one match, and return it with the changes of ratings."""
    return json_call("POST", in_pool(pool, "matches"), MatchMessage, match)


def post_matches(pool: str, matches: Sequence[MatchRequest]) -> Call[PostedMessage]:
    """Post many matches at once. Either all are recorded or none."""
    return json_call("POST", in_pool(pool, "matches"), PostedMessage, list(matches))


def stream_batch(
    pool: str, matches: Sequence[MatchRequest], before: int
) -> Call[tuple[list[StreamLine], EquipoiseError | None]]:
    """Post a batch of a stream, and return the answer and the error that ended it, if any.

    before : number of matches of the stream before the batch
    """
    return Call(
        method="POST",
        path=in_pool(pool, "matches"),
        read=lambda content: stream_lines(content, before),
        body=msgspec.json.Encoder().encode_lines(matches),
        content_type=NDJSON,
        lines_before=before,
    )


def match(
    pool: str,
    match: Id,
    *,
    cursor: str | None = None,
    limit: int | None = None,
    around: Id | None = None,
) -> Call[MatchMessage]:
    """Return a match as it counts now; of a match of over a thousand players only a part.

    limit : maximum number of players listed; around : the player in their middle
    """
    query = {"cursor": cursor, "limit": limit, "around": around}
    return json_call("GET", in_pool(pool, "matches", match), MatchMessage, query=query)


def matches(pool: str, *, cursor: str | None = None, limit: int | None = None) -> Call[MatchPage]:
    """Return a page of the pool's matches, newest first."""
    return json_call(
        "GET", in_pool(pool, "matches"), MatchPage, query={"cursor": cursor, "limit": limit}
    )


def correct_match(
    pool: str, match: Id, content: MatchRequest, *, preview: bool = False, wait: float | None = None
) -> Call[AmendmentMessage]:
    """Replace the content of a match; the log keeps the posted one."""
    return _amend("PUT", in_pool(pool, "matches", match), content, preview, wait)


def void_match(
    pool: str, match: Id, reason: str = "", *, preview: bool = False, wait: float | None = None
) -> Call[AmendmentMessage]:
    """Void a match.

    preview : return what it would change, and change nothing; wait : seconds to wait for the replay
    """
    path = in_pool(pool, "matches", match, "void")
    return _amend("POST", path, ReasonRequest(reason), preview, wait)


def restore_match(
    pool: str, match: Id, reason: str = "", *, preview: bool = False, wait: float | None = None
) -> Call[AmendmentMessage]:
    """Restore a voided match."""
    path = in_pool(pool, "matches", match, "restore")
    return _amend("POST", path, ReasonRequest(reason), preview, wait)


def disqualify(
    pool: str,
    player: Id,
    since: Moment | None = None,
    reason: str = "",
    *,
    effect: Effect | None = None,
    match: Id | None = None,
    preview: bool = False,
    wait: float | None = None,
) -> Call[AmendmentMessage]:
    """Disqualify a player from a time on; without one, from now on.

    effect : "without" rates the matches without the player, "keep" as they were played, "void" not
        at all. None for "keep" if the player played in teams, otherwise "without"
    match : only from this match, instead
    """
    path = in_pool(pool, "players", player, "disqualify")
    return _amend("POST", path, DisqualifyRequest(since, reason, match, effect), preview, wait)


def reinstate(
    pool: str,
    player: Id,
    since: Moment | None = None,
    reason: str = "",
    *,
    match: Id | None = None,
    preview: bool = False,
    wait: float | None = None,
) -> Call[AmendmentMessage]:
    """Reinstate a player from a time on; match : only in this match, instead."""
    path = in_pool(pool, "players", player, "reinstate")
    return _amend("POST", path, ReinstateRequest(since, reason, match), preview, wait)


def erase_player(
    pool: str, player: Id, reason: str = "", *, preview: bool = False
) -> Call[ErasureMessage]:
    """Replace a player's name with a pseudonym in a pool and the archives of its seasons.

    It cannot be undone. preview : count what would be rewritten, and change nothing
    """
    return json_call(
        "POST",
        in_pool(pool, "players", player, "erase"),
        ErasureMessage,
        ReasonRequest(reason),
        query={"preview": preview or None},
        repeatable=preview,
    )


def amendment(pool: str, seq: int) -> Call[AmendmentMessage]:
    """Return an amendment, and once it is done, what it changed."""
    return json_call("GET", in_pool(pool, "amendments", seq), AmendmentMessage)


def amendments(
    pool: str, *, cursor: str | None = None, limit: int | None = None
) -> Call[AmendmentPage]:
    """Return a page of the pool's amendments, newest first."""
    return json_call(
        "GET", in_pool(pool, "amendments"), AmendmentPage, query={"cursor": cursor, "limit": limit}
    )


def replay(pool: str) -> Call[PoolMessage]:
    """Request a replay of the complete log of a pool, in the background."""
    return json_call("POST", in_pool(pool, "replay"), PoolMessage)


def _amend(
    method: str, path: str, content: Any, preview: bool, wait: float | None
) -> Call[AmendmentMessage]:
    """Return the call for an amendment, which sent twice would be recorded twice, or refused."""
    return json_call(
        method,
        path,
        AmendmentMessage,
        content,
        query={"preview": preview or None, "wait": wait},
        repeatable=preview,
        patience=wait or 0.0,
    )


def end_season(pool: str, request: SeasonRequest) -> Call[SeasonMessage]:
    """End a season: the pool becomes an archive, and a new pool takes its name."""
    return json_call("POST", in_pool(pool, "seasons"), SeasonMessage, request)


def preview_season(pool: str, request: SeasonRequest) -> Call[SeasonPreview]:
    """Return what the end of a season would do. The season does not end."""
    query = {"preview": True}
    return json_call("POST", in_pool(pool, "seasons"), SeasonPreview, request, query=query)


def seasons(pool: str) -> Call[SeasonList]:
    """Return the seasons of a pool that have ended, newest first."""
    return json_call("GET", in_pool(pool, "seasons"), SeasonList)


def webhooks(pool: str) -> Call[WebhookList]:
    """Return the webhooks of a pool, with the state of their deliveries."""
    return json_call("GET", in_pool(pool, "webhooks"), WebhookList)


def create_webhook(
    pool: str, url: str, events: Sequence[EventKind] = ()
) -> Call[NewWebhookMessage]:
    """Create a webhook. Its secret is in this answer only."""
    request = WebhookRequest(url=url, events=list(events))
    return json_call(
        "POST", in_pool(pool, "webhooks"), NewWebhookMessage, request, repeatable=False
    )


def disable_webhook(pool: str, webhook: int) -> Call[WebhookMessage]:
    """Disable a webhook. It receives no more events."""
    return json_call("POST", in_pool(pool, "webhooks", webhook, "disable"), WebhookMessage)


def enable_webhook(pool: str, webhook: int) -> Call[WebhookMessage]:
    """Enable a webhook, which receives events from now on."""
    return json_call("POST", in_pool(pool, "webhooks", webhook, "enable"), WebhookMessage)


def delete_webhook(pool: str, webhook: int) -> Call[WebhookMessage]:
    """Delete a webhook permanently."""
    return json_call("DELETE", in_pool(pool, "webhooks", webhook), WebhookMessage, repeatable=False)


def test_webhook(pool: str, webhook: int) -> Call[WebhookTestMessage]:
    """Send a webhook a test message, and return the result."""
    return json_call("POST", in_pool(pool, "webhooks", webhook, "test"), WebhookTestMessage)


def audit(
    pool: str | None = None, *, cursor: str | None = None, limit: int | None = None
) -> Call[AuditPage]:
    """Return a page of the audit log, newest first."""
    query = {"pool": pool, "cursor": cursor, "limit": limit}
    return json_call("GET", "/v1/audit", AuditPage, query=query)


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

    provisional, inactive : include these players; around : return the page with this player
    disqualified : "last" lists them after all others, without a place; "ranked" by rating
    """
    return json_call(
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
    """Return a player of a pool; at : time for which the numbers are given."""
    return json_call("GET", in_pool(pool, "players", player), PlayerMessage, query={"at": at})


def player_history(
    pool: str, player: Id, *, cursor: str | None = None, limit: int | None = None
) -> Call[PlayerHistory]:
    """Return a page of a player's rated matches, newest first."""
    path = in_pool(pool, "players", player, "history")
    return json_call("GET", path, PlayerHistory, query={"cursor": cursor, "limit": limit})


def explain(pool: str, player: Id, match: Id | None = None) -> Call[ExplainMessage]:
    """Return why a match changed a player's rating; match : None for the last one."""
    return json_call(
        "GET", in_pool(pool, "players", player, "explain"), ExplainMessage, query={"match": match}
    )


def predict(pool: str, request: PredictRequest) -> Call[PredictMessage]:
    """Return the prediction of a match."""
    return json_call("POST", in_pool(pool, "predict"), PredictMessage, request)


def balance(pool: str, request: BalanceRequest) -> Call[BalanceMessage]:
    """Return fair teams of a lobby."""
    return json_call("POST", in_pool(pool, "balance"), BalanceMessage, request)


def rebalance(request: Mapping[str, Any], **options: Values) -> Call[RebalanceMessage]:
    """Return even teams of matched parties.

    request : in the format of `equipoise rebalance`; options : those of the command
    """
    return json_call("POST", "/v1/rebalance", RebalanceMessage, dict(request), query=options)


def performance(games: bytes, format: str, **options: Values) -> Call[PerformanceMessage]:
    """Return the performance table of a tournament.

    games : content of a file; format : "pgn", "trf", "csv", ...
    options : those of `equipoise performance`
    """
    return Call(
        method="POST",
        path="/v1/performance",
        read=json_of(PerformanceMessage),
        query={"format": format, **options},
        body=games,
        content_type="application/octet-stream",
    )


def strengths(history: bytes, format: str, **options: Values) -> Call[StrengthsMessage]:
    """Return the strengths of players from rankings and choices.

    history : content of a table of matches; format : "csv", "tsv", "jsonl" or "json"
    options : those of `equipoise strengths`
    """
    return Call(
        method="POST",
        path="/v1/strengths",
        read=json_of(StrengthsMessage),
        query={"format": format, **options},
        body=history,
        content_type="application/octet-stream",
    )


def keys() -> Call[KeyList]:
    """Return all keys, without their secrets."""
    return json_call("GET", "/v1/keys", KeyList)


def create_key(
    name: str,
    role: Role,
    pool: str | None = None,
    expires: Moment | None = None,
    *,
    token: str | None = None,
) -> Call[NewKeyMessage]:
    """Create a key. Only this answer has its secret.

    token : random text. A repeated request with the same token creates only one key, and every
        answer has its secret. By default the client makes a new one, for its own retries
    """
    request = KeyRequest(name, role, pool, expires, token or _new_token())
    return json_call("POST", "/v1/keys", NewKeyMessage, request)


def rotate_key(
    key: int, keep_seconds: int = KEEP_SECONDS, *, token: str | None = None
) -> Call[NewKeyMessage]:
    """Give a key a new secret. The previous secret remains valid for `keep_seconds`.

    token : as in `create_key`
    """
    request = RotationRequest(keep_seconds, token or _new_token())
    return json_call("POST", f"/v1/keys/{key:d}/rotate", NewKeyMessage, request)


def _new_token() -> str:
    return secrets.token_urlsafe(24)


def revoke_key(key: int) -> Call[KeyMessage]:
    """Revoke a key permanently."""
    return json_call("POST", f"/v1/keys/{key:d}/revoke", KeyMessage)


def metrics() -> Call[str]:
    """Return the metrics of the service, as Prometheus reads them."""
    return Call(method="GET", path="/metrics", read=bytes.decode)


def openapi() -> Call[dict[str, Any]]:
    """Return the description of the API as OpenAPI."""
    return Call(method="GET", path="/openapi.json", read=json_of(dict[str, Any]))


def ready() -> Call[bool]:
    """Return True. The call fails while the service is not ready."""
    return Call(method="GET", path="/readyz", read=lambda _: True)
