"""Calls that make pools, post matches, and amend and read what was posted.

Calls for those who run a league: seasons, webhooks, the audit log.

Calls that read ratings of a pool, and ask what follows from them.

Calls that concern no pool, or the whole of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from equipoise.client.call import NDJSON, Call, Values, ask, in_pool, json_of, stream_lines
from equipoise.errors import EquipoiseError
from equipoise.messages.access import (
    AuditPage,
    KeyList,
    KeyMessage,
    KeyRequest,
    NewKeyMessage,
    Role,
)
from equipoise.messages.histories import ExplainMessage
from equipoise.messages.matches import (
    AmendmentMessage,
    AmendmentPage,
    DisqualifyRequest,
    Id,
    MatchMessage,
    MatchPage,
    MatchRequest,
    Moment,
    PostedMessage,
    ReasonRequest,
    StreamLine,
)
from equipoise.messages.performance import PerformanceMessage
from equipoise.messages.players import LeaderboardMessage, PlayerHistory, PlayerMessage
from equipoise.messages.pools import DeletedPool, PoolChange, PoolList, PoolMessage, PoolRequest
from equipoise.messages.questions import BalanceRequest, PredictMessage, PredictRequest
from equipoise.messages.seasons import SeasonList, SeasonMessage, SeasonPreview, SeasonRequest
from equipoise.messages.teams import BalanceMessage, RebalanceMessage
from equipoise.messages.webhooks import (
    EventKind,
    NewWebhookMessage,
    WebhookList,
    WebhookMessage,
    WebhookRequest,
    WebhookTestMessage,
)


def create_pool(pool: str, request: PoolRequest) -> Call[PoolMessage]:
    """Make a pool; again with the same content changes nothing."""
    return ask("PUT", in_pool(pool), PoolMessage, request)


def pool(pool: str) -> Call[PoolMessage]:
    """Return a pool as it is set and as it stands."""
    return ask("GET", in_pool(pool), PoolMessage)


def change_pool(pool: str, change: PoolChange) -> Call[PoolMessage]:
    """Change settings of a pool; those that the change leaves out stay."""
    return ask("PATCH", in_pool(pool), PoolMessage, change)


def delete_pool(pool: str, confirm: str) -> Call[DeletedPool]:
    """Delete a pool for good; confirm : its name once more."""
    return ask("DELETE", in_pool(pool), DeletedPool, query={"confirm": confirm}, repeatable=False)


def pools() -> Call[PoolList]:
    """Return the pools that the key may read."""
    return ask("GET", "/v1/pools", PoolList)


def post_match(pool: str, match: MatchRequest) -> Call[MatchMessage]:
    """Post one match, and return it with what it did to the ratings."""
    return ask("POST", in_pool(pool, "matches"), MatchMessage, match)


def post_matches(pool: str, matches: Sequence[MatchRequest]) -> Call[PostedMessage]:
    """Post many matches at once: all are recorded, or none."""
    return ask("POST", in_pool(pool, "matches"), PostedMessage, list(matches))


def stream_batch(
    pool: str, matches: Sequence[MatchRequest], before: int
) -> Call[tuple[list[StreamLine], EquipoiseError | None]]:
    """Post a batch of a stream, and return what is recorded and the error that ended it, if any.

    before : matches of the stream that came before the batch
    """
    return Call(
        method="POST",
        path=in_pool(pool, "matches"),
        read=lambda content: stream_lines(content, before),
        body=msgspec.json.Encoder().encode_lines(matches),
        content_type=NDJSON,
        lines_before=before,
    )


def match(pool: str, match: Id) -> Call[MatchMessage]:
    """Return a match as it counts now."""
    return ask("GET", in_pool(pool, "matches", match), MatchMessage)


def matches(pool: str, *, cursor: str | None = None, limit: int | None = None) -> Call[MatchPage]:
    """Return a page of the pool's matches, newest first."""
    return ask("GET", in_pool(pool, "matches"), MatchPage, query={"cursor": cursor, "limit": limit})


def correct_match(
    pool: str, match: Id, content: MatchRequest, *, preview: bool = False, wait: float | None = None
) -> Call[AmendmentMessage]:
    """Put other content in a match's place; what was posted stays in the log."""
    return _amend("PUT", in_pool(pool, "matches", match), content, preview, wait)


def void_match(
    pool: str, match: Id, reason: str = "", *, preview: bool = False, wait: float | None = None
) -> Call[AmendmentMessage]:
    """Void a match.

    preview : only tell what it would change; wait : seconds to wait for the replay
    """
    path = in_pool(pool, "matches", match, "void")
    return _amend("POST", path, ReasonRequest(reason), preview, wait)


def restore_match(
    pool: str, match: Id, reason: str = "", *, preview: bool = False, wait: float | None = None
) -> Call[AmendmentMessage]:
    """Let a match that was voided count again."""
    path = in_pool(pool, "matches", match, "restore")
    return _amend("POST", path, ReasonRequest(reason), preview, wait)


def disqualify(
    pool: str,
    player: Id,
    since: Moment | None = None,
    reason: str = "",
    *,
    match: Id | None = None,
    preview: bool = False,
    wait: float | None = None,
) -> Call[AmendmentMessage]:
    """Stop rating a player from a time on; without one, from now on.

    match : in this match only, instead
    """
    path = in_pool(pool, "players", player, "disqualify")
    return _amend("POST", path, DisqualifyRequest(since, reason, match), preview, wait)


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
    """Rate a disqualified player again from a time on; match : only in this one, instead."""
    path = in_pool(pool, "players", player, "reinstate")
    return _amend("POST", path, DisqualifyRequest(since, reason, match), preview, wait)


def amendment(pool: str, seq: int) -> Call[AmendmentMessage]:
    """Return an amendment, with what it changed once it is done."""
    return ask("GET", in_pool(pool, "amendments", seq), AmendmentMessage)


def amendments(
    pool: str, *, cursor: str | None = None, limit: int | None = None
) -> Call[AmendmentPage]:
    """Return a page of the pool's amendments, newest first."""
    return ask(
        "GET", in_pool(pool, "amendments"), AmendmentPage, query={"cursor": cursor, "limit": limit}
    )


def replay(pool: str) -> Call[PoolMessage]:
    """Have the whole log of a pool rated again, in the background."""
    return ask("POST", in_pool(pool, "replay"), PoolMessage)


def _amend(
    method: str, path: str, content: Any, preview: bool, wait: float | None
) -> Call[AmendmentMessage]:
    """Return an amendment; asked for twice it would be recorded twice, or refused."""
    return Call(
        method=method,
        path=path,
        read=json_of(AmendmentMessage),
        query={"preview": preview or None, "wait": wait},
        body=msgspec.json.encode(content),
        repeatable=preview,
        patience=wait or 0.0,
    )


def end_season(pool: str, request: SeasonRequest) -> Call[SeasonMessage]:
    """End a season: the pool becomes an archive, and a new one has its name."""
    return ask("POST", in_pool(pool, "seasons"), SeasonMessage, request)


def preview_season(pool: str, request: SeasonRequest) -> Call[SeasonPreview]:
    """Return what the end of a season would do; the season goes on."""
    query = {"preview": True}
    return ask("POST", in_pool(pool, "seasons"), SeasonPreview, request, query=query)


def seasons(pool: str) -> Call[SeasonList]:
    """Return the seasons of a pool that have ended, newest first."""
    return ask("GET", in_pool(pool, "seasons"), SeasonList)


def webhooks(pool: str) -> Call[WebhookList]:
    """Return the webhooks of a pool, and how they do."""
    return ask("GET", in_pool(pool, "webhooks"), WebhookList)


def create_webhook(
    pool: str, url: str, events: Sequence[EventKind] = ()
) -> Call[NewWebhookMessage]:
    """Have an address told what happens in a pool; the secret is never shown again."""
    request = WebhookRequest(url=url, events=list(events))
    return ask("POST", in_pool(pool, "webhooks"), NewWebhookMessage, request, repeatable=False)


def disable_webhook(pool: str, webhook: int) -> Call[WebhookMessage]:
    """Tell a webhook nothing more."""
    return ask("DELETE", in_pool(pool, "webhooks", webhook), WebhookMessage)


def test_webhook(pool: str, webhook: int) -> Call[WebhookTestMessage]:
    """Send a webhook a test message, and return what came of it."""
    return ask("POST", in_pool(pool, "webhooks", webhook, "test"), WebhookTestMessage)


def audit(
    pool: str | None = None, *, cursor: str | None = None, limit: int | None = None
) -> Call[AuditPage]:
    """Return a page of what administrators did, newest first."""
    query = {"pool": pool, "cursor": cursor, "limit": limit}
    return ask("GET", "/v1/audit", AuditPage, query=query)


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


What: TypeAlias = Literal["log", "ratings", "changes"]
Format: TypeAlias = Literal["parquet", "csv", "ndjson"]


def rebalance(request: Mapping[str, Any], **options: Values) -> Call[RebalanceMessage]:
    """Return a session's teams with new parties placed.

    request : as `equipoise rebalance` reads it; options : as its options
    """
    return ask("POST", "/v1/rebalance", RebalanceMessage, dict(request), query=options)


def performance(games: bytes, format: str, **options: Values) -> Call[PerformanceMessage]:
    """Return the performance table of a tournament.

    games : content of a file; format : "pgn", "trf", "csv", ...; options : as those of
        `equipoise performance`
    """
    return Call(
        method="POST",
        path="/v1/performance",
        read=json_of(PerformanceMessage),
        query={"format": format, **options},
        body=games,
        content_type="application/octet-stream",
    )


def keys() -> Call[KeyList]:
    """Return all keys, without their secrets."""
    return ask("GET", "/v1/keys", KeyList)


def create_key(
    name: str, role: Role, pool: str | None = None, expires: Moment | None = None
) -> Call[NewKeyMessage]:
    """Make a key, and return it with its secret, which is never shown again."""
    request = KeyRequest(name, role, pool, expires)
    return ask("POST", "/v1/keys", NewKeyMessage, request, repeatable=False)


def revoke_key(key: int) -> Call[KeyMessage]:
    """Take a key's rights away from now on."""
    return ask("POST", f"/v1/keys/{key:d}/revoke", KeyMessage)


def metrics() -> Call[str]:
    """Return the service's counters, as Prometheus reads them."""
    return Call(method="GET", path="/metrics", read=bytes.decode)


def openapi() -> Call[dict[str, Any]]:
    """Return the description of the service's interface."""
    return Call(method="GET", path="/openapi.json", read=json_of(dict[str, Any]))


def ready() -> Call[bool]:
    """Return True; the call fails while the service cannot do its work."""
    return Call(method="GET", path="/readyz", read=lambda _: True)


def export(pool: str, what: What, format: Format) -> Call[bytes]:
    """Return the log, the ratings or the changes of a pool as a file."""
    return Call(
        method="GET",
        path=in_pool(pool, "export"),
        read=bytes,
        query={"what": what, "format": format},
    )
