"""Webhooks: made, listed, disabled.

Signing what webhooks are sent, as the Standard Webhooks specification (1.0) has it.

What is signed is "ID.TIMESTAMP.BODY", with HMAC-SHA256 and the bytes that follow "whsec_" in the
secret, in Base64.

What webhooks are sent: events of the outbox, filled in from the log and what followed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple, get_args
from urllib.parse import urlsplit

import msgspec
from sqlalchemy import Connection

from equipoise.errors import ConflictError, InvalidDataError, Problem
from equipoise.messages.matches import DifferenceMessage, MatchMessage
from equipoise.messages.webhooks import (
    AmendmentLine,
    CorrectedMessage,
    EventKind,
    EventMessage,
    NewWebhookMessage,
    WebhookList,
    WebhookMessage,
    WebhookRequest,
)
from equipoise.pools.pool.pools import check_open, iso, rules_of
from equipoise.pools.reading.pool_reading import stored_matches
from equipoise.pools.seasons import season_message
from equipoise.store import audit, log, replays, webhooks
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, get_pool, pool_by_number
from equipoise.store.webhooks import Event, WebhookRecord

#: How secrets begin.
PREFIX = "whsec_"

#: Random bytes of a secret; the specification asks for 24 to 64.
_BYTES = 32


def new_secret() -> str:
    """Return a new secret."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def signed_headers(secret: str, message: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers that say who sent a body, and when.

    message : its id, the same whenever it is sent; timestamp : of this attempt, seconds
    """
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return {
        "webhook-id": message,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


#: Webhooks of a pool that are not disabled, at most.
_MOST = 20


def create_webhook(
    store: Store,
    pool: str,
    request: WebhookRequest,
    *,
    key: int | None,
    now: int,
    private: bool = False,
) -> NewWebhookMessage:
    """Create a webhook, which receives the events of the pool from now on.

    private : addresses that are not public are allowed
    Raises : NotFoundError, InvalidDataError, ConflictError where a pool has too many, or is closed
    """
    _check_url(request.url, private)
    events = sorted(set(request.events)) or list(get_args(EventKind))
    secret = new_secret()
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        check_open(record)
        known = webhooks.webhooks_of(connection, record.id)
        if sum(hook.disabled is None for hook in known) >= _MOST:
            raise ConflictError(f"pool {pool!r} already has {_MOST} webhooks, the maximum")
        made = webhooks.add_webhook(connection, record.id, request.url, secret, events, now)
        said = {"url": request.url, "events": events}
        what = "webhook.created"
        audit.note(connection, what, now=now, key=key, pool=pool, subject=made.id, **said)
        return NewWebhookMessage(_message(connection, made), secret)


def list_webhooks(store: Store, pool: str) -> WebhookList:
    """Return the webhooks of a pool, newest first. Raises : NotFoundError."""
    with store.read() as connection:
        record = get_pool(connection, pool)
        found = webhooks.webhooks_of(connection, record.id)
        return WebhookList([_message(connection, hook) for hook in found])


def disable_webhook(
    store: Store, pool: str, number: int, *, key: int | None, now: int, reason: str = ""
) -> WebhookMessage:
    """Tell a webhook nothing more; one that is disabled stays as it is.

    Raises : NotFoundError
    """
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        hook = webhooks.get_webhook(connection, record.id, number)
        if hook.disabled is None:
            webhooks.disable(connection, hook, now)
            said = {"url": hook.url, "reason": reason}
            what = "webhook.disabled"
            audit.note(connection, what, now=now, key=key, pool=pool, subject=number, **said)
        return _message(connection, webhooks.get_webhook(connection, record.id, number))


def find_webhook(store: Store, pool: str, number: int) -> WebhookRecord:
    """Return a webhook with its secret. Raises : NotFoundError, ConflictError if disabled."""
    with store.read() as connection:
        hook = webhooks.get_webhook(connection, get_pool(connection, pool).id, number)
    if hook.disabled is not None:
        raise ConflictError(f"webhook {number} is disabled")
    return hook


def is_public(address: str) -> bool:
    """Return whether an address, in numbers, can be reached by everybody."""
    found = ipaddress.ip_address(address)
    mapped = getattr(found, "ipv4_mapped", None)
    one = found if mapped is None else mapped
    return one.is_global and not one.is_multicast


def _message(connection: Connection, hook: WebhookRecord) -> WebhookMessage:
    active = hook.disabled is None
    return WebhookMessage(
        webhook=hook.id,
        url=hook.url,
        events=list(hook.events),
        created=iso(hook.created),
        disabled=None if hook.disabled is None else iso(hook.disabled),
        waiting=webhooks.count_after(connection, hook.pool, hook.delivered) if active else 0,
        last_delivery=None if hook.last_delivery is None else iso(hook.last_delivery),
        failures=hook.failures,
        failure=hook.failure,
        next_attempt=iso(hook.next_attempt) if active and hook.failures else None,
    )


def _check_url(url: str, private: bool) -> None:
    """Refuse an address that nothing can be sent to. Raises : InvalidDataError."""
    rule = _broken_rule(url, private)
    if rule is not None:
        raise InvalidDataError([Problem("", None, "url", rule, url[:200])])


def _broken_rule(url: str, private: bool) -> str | None:
    """Return the rule that an address breaks, or None."""
    if not (url.isascii() and url.isprintable()) or " " in url:
        return "must be ASCII without spaces; percent-encode other characters"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "must be an address: https://HOST/PATH"
    if parts.scheme not in ("http", "https") or not host or port == 0:
        return "must be an address: https://HOST/PATH"
    if parts.username is not None or parts.fragment:
        return "must have no user name and no fragment"
    if not private and not _may_be_public(host):
        return "must be a public address"
    return None


def _may_be_public(host: str) -> bool:
    """Return whether a host is not private for certain; names are looked up when it is sent to."""
    if host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        return is_public(host)
    except ValueError:
        return True


#: Amendments that a message lists.
_LISTED = 100

#: Microseconds for which a replay that has not yet said what it changed is waited for.
_TELLING = 10_000_000

#: Events deleted in one transaction.
_PIECE = 5_000


class Outgoing(NamedTuple):
    """An event as it is sent.

    number : in the outbox; message : its id, the same whenever it is sent
    body : JSON of EventMessage; None where it is not to be sent
    """

    number: int
    message: str
    body: bytes | None


def outgoing(
    store: Store, pool: int, after: int, kinds: Collection[str], limit: int, now: int
) -> list[Outgoing]:
    """Return the next events of a pool after a number, in order; those of other kinds unsent.

    It ends before an event of which not all is known yet.
    """
    with store.read() as connection:
        events = webhooks.events_after(connection, pool, after, limit)
        wanted = [event for event in events if event.kind in kinds]
        sources = {number: pool_by_number(connection, number) for number in _sources(wanted)}
        matches = _matches(connection, sources, wanted)
        found = []
        for event in events:
            source = sources.get(event.source)
            if event.kind not in kinds or source is None:
                found.append(Outgoing(event.number, "", None))
                continue
            ready, data = _data(connection, source, event, matches, now)
            if not ready:
                break
            found.append(_outgoing(event, source, data))
    return found


def forget_delivered(store: Store) -> None:
    """Delete events that every webhook of their pool has, in small steps."""
    with store.read() as connection:
        pools = webhooks.pools_with_webhooks(connection)
    for pool in pools:
        gone = _PIECE
        while gone == _PIECE:
            with store.read() as connection:
                through = webhooks.delivered_to_all(connection, pool)
                last = 2**62 if through is None else through
                oldest = webhooks.events_after(connection, pool, 0, 1)
            if not oldest or oldest[0].number > last:
                break
            with store.write() as connection:
                gone = webhooks.forget_through(connection, pool, last, _PIECE)


def _sources(events: Iterable[Event]) -> set[int]:
    return {event.source for event in events}


def _outgoing(event: Event, source: PoolRecord, data: Any) -> Outgoing:
    # With the moment at which it happened an id is not given anew where a backup was restored.
    message = f"msg_{event.source}_{event.number}_{event.created:x}"
    if data is None:
        return Outgoing(event.number, message, None)
    told = EventMessage(event.kind, iso(event.created), source.name, data)
    return Outgoing(event.number, message, msgspec.json.encode(told))


def _data(
    connection: Connection,
    source: PoolRecord,
    event: Event,
    matches: dict[tuple[int, int], MatchMessage],
    now: int,
) -> tuple[bool, Any]:
    """Return whether all is known of an event, and its data, None where there is nothing to say."""
    if event.kind == "match.rated":
        match = matches.get((event.source, event.reference))
        return True, None if match is None or match.status == "unrated" else match
    if event.kind == "season.ended":
        return True, season_message(connection, source.id)
    return _corrected(connection, source, event.reference, now)


def _matches(
    connection: Connection, sources: dict[int, PoolRecord | None], events: Iterable[Event]
) -> dict[tuple[int, int], MatchMessage]:
    """Return the matches that events are about, by pool and entry."""
    rated = [event for event in events if event.kind == "match.rated"]
    found: dict[tuple[int, int], MatchMessage] = {}
    for number in _sources(rated):
        source = sources[number]
        if source is None:
            continue
        seqs = [event.reference for event in rated if event.source == number]
        ids = log.match_ids(connection, number, seqs)
        stored = stored_matches(connection, source, rules_of(source.settings), ids.values())
        found |= {(number, seq): stored[match] for seq, match in ids.items() if match in stored}
    return found


def _corrected(
    connection: Connection, pool: PoolRecord, generation: int, now: int
) -> tuple[bool, CorrectedMessage | None]:
    """Return whether it is known what a replay changed, and what that was."""
    replay = replays.replay_of(connection, pool.id, generation)
    if replay is None:
        return True, None
    if not replay.difference and now - replay.finished < _TELLING:
        return False, None
    difference = None
    if replay.difference:
        difference = msgspec.json.decode(replay.difference, type=DifferenceMessage)
    before = replays.through_before(connection, pool.id, generation)
    entries = log.amendments(connection, pool.id, through=replay.through_seq)
    new = [entry for entry in entries if entry.seq > before]
    return True, CorrectedMessage(
        generation=generation,
        amended=len(new),
        amendments=[
            AmendmentLine(entry.seq, entry.kind, entry.match, entry.player)
            for entry in new[:_LISTED]
        ],
        matches=None if difference is None else difference.matches,
        changed=None if difference is None else difference.changed,
    )
