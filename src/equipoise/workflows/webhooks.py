"""Webhooks: made, listed, disabled."""

from __future__ import annotations

import ipaddress
from typing import get_args
from urllib.parse import urlsplit

from sqlalchemy import Connection

from equipoise.errors import ConflictError, InvalidDataError, Problem
from equipoise.messages.webhooks import (
    EventKind,
    NewWebhookMessage,
    WebhookList,
    WebhookMessage,
    WebhookRequest,
)
from equipoise.store import audit, outbox, webhooks
from equipoise.store.connection import Store
from equipoise.store.pools import get_pool
from equipoise.store.webhooks import WebhookRecord
from equipoise.workflows.pools import check_open, iso
from equipoise.workflows.signatures import new_secret

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
        waiting=outbox.count_after(connection, hook.pool, hook.delivered) if active else 0,
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
