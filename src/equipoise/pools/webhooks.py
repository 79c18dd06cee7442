"""Webhooks of pools: where they may lead, what is sent, and for how long it is kept.

An IPv6 address may contain an IPv4 address, to which a network that translates delivers: NAT64
turns 64:ff9b::7f00:1 into 127.0.0.1. So only known addresses count as public: global IPv4
addresses, and IPv6 addresses in the global unicast range that contain no IPv4 address.

The signature is that of the Standard Webhooks specification (1.0): "ID.TIMESTAMP.BODY" is signed
with HMAC-SHA256, by the bytes that follow "whsec_" in the secret, in Base64.

The log of a pool is kept for ever. The audit log and disabled webhooks may have an end.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import logging
import re
import secrets
import socket
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, NamedTuple, get_args
from urllib.parse import urlsplit

import msgspec
from sqlalchemy import Connection

from equipoise.errors import ConflictError, InvalidDataError, NotFoundError, Problem
from equipoise.messages.matches import MatchMessage
from equipoise.messages.upkeep import (
    AmendmentLine,
    CorrectedMessage,
    EventKind,
    EventMessage,
    NewWebhookMessage,
    WebhookList,
    WebhookMessage,
    WebhookRequest,
)
from equipoise.pools.pool.pools import read_pool
from equipoise.pools.pool.rules import iso, rules_of
from equipoise.pools.reading.matches import stored_matches
from equipoise.pools.replay.states import known_difference
from equipoise.pools.seasons import season_message
from equipoise.store import log, webhooks
from equipoise.store.connection import Store
from equipoise.store.keys import add_audit_row, cut_audit, last_audit_row_before
from equipoise.store.pools import PoolRecord, get_pool, last_through, pool_by_number, replay_of
from equipoise.store.webhooks import Event, WebhookRecord

#: Global unicast (RFC 4291). Outside of it are, among others, ::/96, ::ffff:0:0:0/96 and NAT64
#: (64:ff9b::/96, RFC 6052, and 64:ff9b:1::/48, RFC 8215), which contain IPv4 addresses, and
#: fec0::/10.
_GLOBAL = ipaddress.IPv6Network("2000::/3")
#: In that range, but not public: 6to4 and Teredo, which contain IPv4 addresses, and
#: addresses for documentation (RFC 9637), which not every version of Python knows.
_REFUSED = (
    ipaddress.IPv6Network("2002::/16"),
    ipaddress.IPv6Network("2001::/32"),
    ipaddress.IPv6Network("3fff::/20"),
)
#: Global, but not hosts of the internet: relays of 6to4 (RFC 7526), and protocols of the network
#: itself (RFC 6890), of which Python counts 192.0.0.9 and 192.0.0.10 as global.
_REFUSED_4 = (ipaddress.IPv4Network("192.88.99.0/24"), ipaddress.IPv4Network("192.0.0.0/24"))
#: Second half of an address of ISATAP without its last 32 bits, which are an address of IPv4.
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def is_public(address: str) -> bool:
    """Return whether an IP address is public. Raises : ValueError if it is no address."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is None:
            return _is_public_6(ip)
        ip = ip.ipv4_mapped
    refused = any(ip in network for network in _REFUSED_4)
    return ip.is_global and not ip.is_multicast and not refused


def _is_public_6(address: ipaddress.IPv6Address) -> bool:
    if address.scope_id is not None or (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return False
    inside = address in _GLOBAL and not any(address in network for network in _REFUSED)
    return inside and address.is_global


#: How secrets begin.
PREFIX = "whsec_"

#: Random bytes of a secret; the specification asks for 24 to 64.
_BYTES = 32

#: Webhooks of a pool that are not disabled, at most.
_MOST = 20

#: A host other than an IPv6 address whose last label is a decimal, octal or hexadecimal number.
_NUMBER_AT_END = re.compile(r"(?:[^:]*\.)?(?:\d+|0x[\da-f]*)", re.ASCII)


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

    private : whether addresses that are not public are allowed
    Raises : NotFoundError, InvalidDataError; ConflictError if the pool is closed or has the most
        webhooks that a pool may have
    """
    _check_url(request.url, private)
    events = sorted(set(request.events)) or list(get_args(EventKind))
    secret = new_secret()
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        record.check_open()
        _check_number(connection, record)
        hook = webhooks.add_webhook(connection, record.id, request.url, secret, events, now)
        _note(connection, "webhook.created", record, hook, key, now, events=events)
        return NewWebhookMessage(_message(connection, hook), secret)


def list_webhooks(store: Store, pool: str) -> WebhookList:
    """Return the webhooks of a pool, newest first. Raises : NotFoundError."""
    with read_pool(store, pool) as (connection, record, _):
        hooks = webhooks.webhooks_of(connection, record.id)
        return WebhookList([_message(connection, hook) for hook in hooks])


def disable_webhook(
    store: Store, pool: str, number: int, *, key: int | None, now: int, reason: str = ""
) -> WebhookMessage:
    """Disable a webhook, which then receives no more events; a disabled one does not change.

    reason : why the service does it
    Raises : NotFoundError
    """
    with _changing(store, pool, number) as (connection, record, hook):
        if hook.disabled is None:
            webhooks.disable(connection, hook, now, reason or None)
            _note(connection, "webhook.disabled", record, hook, key, now, reason=reason)
        return _message(connection, webhooks.get_webhook(connection, record.id, number))


def enable_webhook(
    store: Store, pool: str, number: int, *, key: int | None, now: int
) -> WebhookMessage:
    """Enable a webhook, which receives events from now on; an enabled one does not change.

    Raises : NotFoundError; ConflictError as `create_webhook`
    """
    with _changing(store, pool, number) as (connection, record, hook):
        if hook.disabled is not None:
            record.check_open()
            _check_number(connection, record)
            webhooks.enable(connection, hook)
            _note(connection, "webhook.enabled", record, hook, key, now)
        return _message(connection, webhooks.get_webhook(connection, record.id, number))


def delete_webhook(
    store: Store, pool: str, number: int, *, key: int | None, now: int, reason: str = ""
) -> WebhookMessage:
    """Delete a webhook for good, and return it as it was, disabled.

    reason : why the service does it
    Raises : NotFoundError
    """
    with _changing(store, pool, number) as (connection, record, hook):
        webhooks.delete_webhook(connection, hook)
        _note(connection, "webhook.deleted", record, hook, key, now, reason=reason)
        ended = now if hook.disabled is None else hook.disabled
        return _message(connection, replace(hook, disabled=ended))


@contextmanager
def _changing(
    store: Store, pool: str, number: int
) -> Iterator[tuple[Connection, PoolRecord, WebhookRecord]]:
    """Give a webhook and its pool in a transaction that locks the pool. Raises : NotFoundError."""
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        yield connection, record, webhooks.get_webhook(connection, record.id, number)


def _note(
    connection: Connection,
    action: str,
    pool: PoolRecord,
    hook: WebhookRecord,
    key: int | None,
    now: int,
    **detail: object,
) -> None:
    """Write what was done with a webhook into the audit log."""
    detail = {"url": hook.url, **detail}
    add_audit_row(connection, action, now=now, key=key, pool=pool.name, subject=hook.id, **detail)


def disable_far_behind(store: Store, most: int, now: int) -> None:
    """Disable the webhooks that more than `most` events wait for, so that the outbox is bounded."""
    with store.read() as connection:
        behind = _with_pools(connection, webhooks.far_behind(connection, most))
    for hook, pool in behind:
        failure = "" if hook.failure is None else f"; the last failure: {hook.failure}"
        reason = f"more than {most} events waited{failure}"
        # It may have been deleted, or its pool renamed by the end of a season; the next call sees.
        with suppress(NotFoundError):
            disable_webhook(store, pool.name, hook.id, key=None, now=now, reason=reason)


def _with_pools(
    connection: Connection, hooks: Iterable[WebhookRecord]
) -> list[tuple[WebhookRecord, PoolRecord]]:
    """Return webhooks with their pools."""
    pairs = [(hook, pool_by_number(connection, hook.pool)) for hook in hooks]
    return [(hook, pool) for hook, pool in pairs if pool is not None]


def find_webhook(store: Store, pool: str, number: int) -> WebhookRecord:
    """Return a webhook with its secret. Raises : NotFoundError, ConflictError if disabled."""
    with store.read() as connection:
        hook = webhooks.get_webhook(connection, get_pool(connection, pool).id, number)
    if hook.disabled is not None:
        raise ConflictError(f"webhook {number} is disabled")
    return hook


def _check_number(connection: Connection, pool: PoolRecord) -> None:
    """Check that a pool can have one more webhook. Raises : ConflictError."""
    known = webhooks.webhooks_of(connection, pool.id)
    if sum(hook.disabled is None for hook in known) >= _MOST:
        raise ConflictError(f"pool {pool.name!r} already has {_MOST} webhooks, the maximum")


def _message(connection: Connection, hook: WebhookRecord) -> WebhookMessage:
    active = hook.disabled is None
    return WebhookMessage(
        webhook=hook.id,
        url=hook.url,
        events=list(hook.events),
        created=iso(hook.created),
        disabled=None if hook.disabled is None else iso(hook.disabled),
        disabled_because=hook.reason,
        waiting=webhooks.count_after(connection, hook.pool, hook.delivered) if active else 0,
        last_delivery=None if hook.last_delivery is None else iso(hook.last_delivery),
        failures=hook.failures,
        failing_since=None if hook.failing_since is None else iso(hook.failing_since),
        failure=hook.failure,
        next_attempt=iso(hook.next_attempt) if active and hook.failures else None,
    )


def _check_url(url: str, private: bool) -> None:
    """Check the address of a webhook. Raises : InvalidDataError."""
    rule = _broken_rule(url, private)
    if rule is not None:
        raise InvalidDataError([Problem("", None, "url", rule, url[:200])])


def _broken_rule(url: str, private: bool) -> str | None:
    """Return the rule that the address of a webhook breaks, or None."""
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
    """Return whether a host may be public; its name is resolved only when an event is sent.

    Resolvers read a host that ends in a number as an IPv4 address, also 2130706433, 0x7f.1 and
    0177.1. No name ends in one.
    """
    host = host.removesuffix(".")
    if host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        if _NUMBER_AT_END.fullmatch(host):
            host = socket.inet_ntoa(socket.inet_aton(host))
        return is_public(host)
    except OSError:
        return False
    except ValueError:
        return True


def new_secret() -> str:
    """Return a new secret."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


#: Amendments that a message lists.
_LISTED = 100

#: Events deleted in one transaction.
_DELETED_AT_ONCE = 5_000


class Outgoing(NamedTuple):
    """An event as it is sent.

    number : in the outbox; message : its id, the same in every delivery
    body : JSON of EventMessage; None for an event that is not sent
    """

    number: int
    message: str
    body: bytes | None


def outgoing(
    store: Store, pool: int, after: int, kinds: Collection[str], limit: int
) -> list[Outgoing]:
    """Return the next events of a pool after a number, in order.

    Events of other kinds have no body.
    """
    with store.read() as connection:
        events = webhooks.events_after(connection, pool, after, limit)
        wanted = [event for event in events if event.kind in kinds]
        sources = {
            number: pool_by_number(connection, number)
            for number in {event.source for event in wanted}
        }
        matches = _matches(connection, filter(None, sources.values()), wanted)
        sent = []
        for event in events:
            source = sources.get(event.source) if event.kind in kinds else None
            if source is None:
                sent.append(Outgoing(event.number, "", None))
                continue
            data: Any = matches.get((event.source, event.reference))
            if event.kind == "season.ended":
                data = season_message(connection, source)
            elif event.kind != "match.rated":
                data = _corrected(connection, source, event.reference)
            body = None
            if data is not None:
                message = EventMessage(event.kind, iso(event.created), source.name, data)
                body = msgspec.json.encode(message)
            # The time makes ids unique also after a backup was restored.
            name = f"msg_{event.source}_{event.number}_{event.created:x}"
            sent.append(Outgoing(event.number, name, body))
    return sent


def _matches(
    connection: Connection, sources: Iterable[PoolRecord], events: Iterable[Event]
) -> dict[tuple[int, int], MatchMessage]:
    """Return the matches that are sent, by pool and record; unrated ones are not."""
    rated = [event for event in events if event.kind == "match.rated"]
    messages: dict[tuple[int, int], MatchMessage] = {}
    for source in sources:
        seqs = [event.reference for event in rated if event.source == source.id]
        ids = log.match_ids(connection, source.id, seqs)
        stored = stored_matches(connection, source, rules_of(source.settings), ids.values())
        for seq, name in ids.items():
            match = stored.get(name)
            if match is not None and match.status != "unrated":
                messages[source.id, seq] = match
    return messages


def _corrected(
    connection: Connection, pool: PoolRecord, generation: int
) -> CorrectedMessage | None:
    """Return what a replay changed."""
    replay = replay_of(connection, pool.id, generation)
    if replay is None:
        return None
    difference = known_difference(replay)
    before = last_through(connection, pool.id, before=generation)
    amendments = log.amendments(connection, pool.id, through=replay.through_seq)
    new = [
        AmendmentLine(amendment.seq, amendment.kind, amendment.match, amendment.player)
        for amendment in amendments
        if amendment.seq > before
    ]
    return CorrectedMessage(
        generation=generation,
        amended=len(new),
        amendments=new[:_LISTED],
        matches=None if difference is None else difference.matches,
        changed=None if difference is None else difference.changed,
    )


def forget_delivered(store: Store) -> None:
    """Delete events that no webhook of their pool waits for, in small steps."""
    with store.read() as connection:
        waiting = webhooks.not_awaited(connection)
    for pool, through in waiting:
        gone = _DELETED_AT_ONCE
        while gone == _DELETED_AT_ONCE:
            with store.write() as connection:
                gone = webhooks.forget_through(connection, pool, through, _DELETED_AT_ONCE)


def signed_headers(secret: str, message: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers that prove who sent a body, and when.

    message : id of the event, the same in every delivery
    timestamp : of this delivery, seconds since 1970
    """
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return {
        "webhook-id": message,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


logger = logging.getLogger(__name__)

_DAY = 86_400_000_000
#: Rows that are deleted in one transaction.
_AT_ONCE = 1_000


def clear_audit(
    store: Store, days: float, now: int, *, stop: Callable[[], bool] = lambda: False
) -> None:
    """Delete entries of the audit log that are older than some days, in small steps.

    Entries go from the oldest on, up to the first that is kept, whatever a clock that was set back
    wrote behind it.
    """
    with store.read() as connection:
        through = last_audit_row_before(connection, now - int(days * _DAY))
    if through is None:
        return
    done = False
    while not done and not stop():
        with store.write() as connection:
            done = cut_audit(connection, through, _AT_ONCE)
    logger.info("audit log deleted up to entry %d", through)


def clear_webhooks(store: Store, days: float, now: int) -> None:
    """Delete webhooks that were disabled more than some days ago."""
    with store.read() as connection:
        old = webhooks.disabled_before(connection, now - int(days * _DAY))
        old_hooks = _with_pools(connection, old)
    for hook, pool in old_hooks:
        reason = f"disabled more than {days:g} days ago"
        with suppress(NotFoundError):  # It was deleted meanwhile, or the season of its pool ended.
            delete_webhook(store, pool.name, hook.id, key=None, now=now, reason=reason)
