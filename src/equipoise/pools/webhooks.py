"""Webhooks of a pool: created, listed, disabled, enabled and deleted, and their addresses."""

from __future__ import annotations

import base64
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import get_args
from urllib.parse import urlsplit

from sqlalchemy import Connection

from equipoise.errors import ConflictError, InvalidDataError, NotFoundError, Problem
from equipoise.messages.webhooks import (
    EventKind,
    NewWebhookMessage,
    WebhookList,
    WebhookMessage,
    WebhookRequest,
)
from equipoise.pools.pool.pools import check_open
from equipoise.pools.pool.rules import iso
from equipoise.pools.public_addresses import is_public
from equipoise.store import audit, webhooks
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, get_pool, pool_by_number
from equipoise.store.webhooks import WebhookRecord

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
        check_open(record)
        _check_number(connection, record)
        made = webhooks.add_webhook(connection, record.id, request.url, secret, events, now)
        detail = {"url": request.url, "events": events}
        what = "webhook.created"
        audit.note(connection, what, now=now, key=key, pool=pool, subject=made.id, **detail)
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
    """Disable a webhook, which then receives no more events; a disabled one does not change.

    reason : why the service does it
    Raises : NotFoundError
    """
    with _changing(store, pool, number, key, now) as change:
        if change.hook.disabled is None:
            webhooks.disable(change.connection, change.hook, now, reason or None)
            change.note("webhook.disabled", reason=reason)
        return change.message()


def enable_webhook(
    store: Store, pool: str, number: int, *, key: int | None, now: int
) -> WebhookMessage:
    """Enable a webhook, which receives events from now on; an enabled one does not change.

    Raises : NotFoundError; ConflictError as `create_webhook`
    """
    with _changing(store, pool, number, key, now) as change:
        if change.hook.disabled is not None:
            check_open(change.pool)
            _check_number(change.connection, change.pool)
            webhooks.enable(change.connection, change.hook)
            change.note("webhook.enabled")
        return change.message()


def delete_webhook(
    store: Store, pool: str, number: int, *, key: int | None, now: int, reason: str = ""
) -> WebhookMessage:
    """Delete a webhook for good, and return it as it was, disabled.

    reason : why the service does it
    Raises : NotFoundError
    """
    with _changing(store, pool, number, key, now) as change:
        hook = change.hook
        webhooks.delete_webhook(change.connection, hook)
        change.note("webhook.deleted", reason=reason)
        ended = now if hook.disabled is None else hook.disabled
        return _message(change.connection, replace(hook, disabled=ended))


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of a webhook: in which transaction, of which pool, by which key, and when."""

    connection: Connection
    pool: PoolRecord
    hook: WebhookRecord
    key: int | None
    now: int

    def note(self, action: str, **detail: str) -> None:
        """Write the change into the audit log."""
        audit.note(
            self.connection,
            action,
            now=self.now,
            key=self.key,
            pool=self.pool.name,
            subject=self.hook.id,
            url=self.hook.url,
            **detail,
        )

    def message(self) -> WebhookMessage:
        """Return the webhook as it is now."""
        found = webhooks.get_webhook(self.connection, self.pool.id, self.hook.id)
        return _message(self.connection, found)


@contextmanager
def _changing(store: Store, pool: str, number: int, key: int | None, now: int) -> Iterator[_Change]:
    """Give a webhook in a transaction that locks its pool. Raises : NotFoundError."""
    with store.write() as connection:
        record = get_pool(connection, pool, lock=True)
        hook = webhooks.get_webhook(connection, record.id, number)
        yield _Change(connection, record, hook, key, now)


def disable_far_behind(store: Store, most: int, now: int) -> None:
    """Disable the webhooks that more than `most` events wait for, so that the outbox is bounded."""
    with store.read() as connection:
        found = [
            (hook, pool)
            for hook in webhooks.far_behind(connection, most)
            if (pool := pool_by_number(connection, hook.pool)) is not None
        ]
    for hook, pool in found:
        reason = f"more than {most} events waited"
        if hook.failure is not None:
            reason = f"{reason}; the last failure: {hook.failure}"
        # It may have been deleted, or its pool renamed by the end of a season; the next call sees.
        with suppress(NotFoundError):
            disable_webhook(store, pool.name, hook.id, key=None, now=now, reason=reason)


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
