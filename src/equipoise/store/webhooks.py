"""Webhooks and their outbox: the events of a pool, and how far each webhook has received them.

An event is written in the transaction of what happened. It is kept until all webhooks of the pool
that are not disabled have received it. A process that delivers to a webhook leases it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, ScalarSelect, delete, func, insert, select, update

from equipoise.errors import NotFoundError
from equipoise.store.bulk import insert_rows
from equipoise.store.pools import change_pool
from equipoise.store.schema import outbox, pools, webhooks

#: Kinds of events, a bit each in `pools.webhooks`.
KINDS = {"match.rated": 1, "ratings.corrected": 2, "season.ended": 4}


class Event(NamedTuple):
    """A row of the outbox.

    source : number of the pool in which it happened
    reference : number of a record of that pool's log, or one of its generations
    """

    number: int
    kind: str
    source: int
    reference: int
    created: int


_SHOWN_EVENTS = [outbox.c.id, outbox.c.kind, outbox.c.source, outbox.c.reference, outbox.c.created]


def append(
    connection: Connection,
    pool: int,
    last: int,
    source: int,
    happened: Sequence[tuple[str, int]],
    now: int,
) -> int:
    """Append events, and return the last number, which the caller keeps in the pool.

    last : the number of the last one before; happened : (kind, reference) of each
    """
    rows = [
        (pool, last + number, kind, source, reference, now)
        for number, (kind, reference) in enumerate(happened, start=1)
    ]
    insert_rows(connection, outbox, ("pool", "id", "kind", "source", "reference", "created"), rows)
    return last + len(rows)


def events_after(connection: Connection, pool: int, after: int, limit: int) -> list[Event]:
    """Return the next events of a pool after a number."""
    query = select(*_SHOWN_EVENTS).where(outbox.c.pool == pool, outbox.c.id > after)
    rows = connection.execute(query.order_by(outbox.c.id).limit(limit))
    return [Event._make(row) for row in rows]


def count_after(connection: Connection, pool: int, after: int) -> int:
    """Return the number of events of a pool after a number."""
    query = select(func.count()).where(outbox.c.pool == pool, outbox.c.id > after)
    return int(connection.execute(query).scalar_one())


def forget_through(connection: Connection, pool: int, through: int, limit: int) -> int:
    """Delete at most `limit` events up to a number; return how many."""
    mine = outbox.c.pool == pool
    oldest = select(outbox.c.id).where(mine, outbox.c.id <= through).order_by(outbox.c.id)
    ids = [int(row[0]) for row in connection.execute(oldest.limit(limit))]
    if ids:
        connection.execute(delete(outbox).where(mine, outbox.c.id <= ids[-1]))
    return len(ids)


def move(connection: Connection, old: int, new: int) -> None:
    """Move the webhooks of a pool to the pool of the next season, with their events."""
    for table in (webhooks, outbox):
        connection.execute(update(table).where(table.c.pool == old).values(pool=new))


@dataclass(frozen=True, slots=True)
class WebhookRecord:
    """A webhook; times in microseconds since 1970.

    events : kinds of events that it receives
    reason : why the service disabled it
    delivered : number of the last event that it has received or does not want
    failures : failed deliveries in a row, the first at `failing_since`
    failure : why the last one failed
    """

    id: int
    pool: int
    url: str
    secret: str
    events: tuple[str, ...]
    created: int
    disabled: int | None
    reason: str | None
    delivered: int
    last_delivery: int | None
    failures: int
    failing_since: int | None
    failure: str | None
    next_attempt: int


_SHOWN = [webhooks.c[name] for name in WebhookRecord.__dataclass_fields__]


def add_webhook(
    connection: Connection, pool: int, url: str, secret: str, events: Sequence[str], now: int
) -> WebhookRecord:
    """Add a webhook, which receives events from now on; the pool must be locked."""
    statement = insert(webhooks).values(
        pool=pool,
        url=url,
        secret=secret,
        events=json.dumps(list(events)),
        created=now,
        delivered=_last_event(pool),
    )
    number = int(connection.execute(statement.returning(webhooks.c.id)).scalar_one())
    _count(connection, pool)
    return get_webhook(connection, pool, number)


def disable(connection: Connection, hook: WebhookRecord, now: int, reason: str | None) -> None:
    """Disable a webhook and end its delivery; the pool must be locked."""
    _change(connection, hook, disabled=now, reason=reason, lease_owner=None, lease_until=0)


def enable(connection: Connection, hook: WebhookRecord) -> None:
    """Enable a webhook, which receives events from now on; the pool must be locked."""
    _change(
        connection,
        hook,
        disabled=None,
        reason=None,
        delivered=_last_event(hook.pool),
        failures=0,
        failing_since=None,
        failure=None,
        next_attempt=0,
    )


def delete_webhook(connection: Connection, hook: WebhookRecord) -> None:
    """Delete a webhook, which ends its delivery; the pool must be locked."""
    connection.execute(delete(webhooks).where(webhooks.c.id == hook.id))
    _count(connection, hook.pool)


def _change(connection: Connection, hook: WebhookRecord, **columns: Any) -> None:
    connection.execute(update(webhooks).where(webhooks.c.id == hook.id).values(**columns))
    _count(connection, hook.pool)


def _last_event(pool: int) -> ScalarSelect[int]:
    return select(pools.c.outbox_last).where(pools.c.id == pool).scalar_subquery()


def get_webhook(connection: Connection, pool: int, number: int) -> WebhookRecord:
    """Return a webhook of a pool. Raises : NotFoundError."""
    query = select(*_SHOWN).where(webhooks.c.id == number, webhooks.c.pool == pool)
    row = connection.execute(query).first()
    if row is None:
        raise NotFoundError(f"no webhook {number} of this pool")
    return _record(row)


def webhooks_of(connection: Connection, pool: int) -> list[WebhookRecord]:
    """Return the webhooks of a pool, disabled ones included, newest first."""
    query = select(*_SHOWN).where(webhooks.c.pool == pool).order_by(webhooks.c.id.desc())
    return [_record(row) for row in connection.execute(query)]


def not_awaited(connection: Connection) -> list[tuple[int, int]]:
    """Return pools with events that no webhook waits for, and the last such event of each."""
    active = (webhooks.c.pool == pools.c.id) & webhooks.c.disabled.is_(None)
    delivered = select(func.min(webhooks.c.delivered)).where(active).scalar_subquery()
    through = func.coalesce(delivered, pools.c.outbox_last)
    waiting = (
        select(outbox.c.id).where(outbox.c.pool == pools.c.id, outbox.c.id <= through).exists()
    )
    query = select(pools.c.id, through).where(pools.c.outbox_last > 0, waiting)
    return [(int(pool), int(last)) for pool, last in connection.execute(query)]


def far_behind(connection: Connection, most: int) -> list[WebhookRecord]:
    """Return the webhooks that more than `most` events wait for."""
    query = (
        select(*_SHOWN)
        .join(pools, pools.c.id == webhooks.c.pool)
        .where(webhooks.c.disabled.is_(None), pools.c.outbox_last - webhooks.c.delivered > most)
        .order_by(webhooks.c.id)
    )
    return [_record(row) for row in connection.execute(query)]


def disabled_before(connection: Connection, time: int) -> list[WebhookRecord]:
    """Return the webhooks that were disabled before a time."""
    query = select(*_SHOWN).where(webhooks.c.disabled < time).order_by(webhooks.c.id)
    return [_record(row) for row in connection.execute(query)]


def forget_webhooks(connection: Connection, pool: int) -> None:
    """Delete the webhooks of a pool that is deleted."""
    connection.execute(delete(webhooks).where(webhooks.c.pool == pool))


def due(connection: Connection, now: int, limit: int) -> list[int]:
    """Return webhooks that wait for a delivery and are not leased, longest waiting first."""
    query = (
        select(webhooks.c.id)
        .join(pools, pools.c.id == webhooks.c.pool)
        .where(
            webhooks.c.disabled.is_(None),
            webhooks.c.delivered < pools.c.outbox_last,
            webhooks.c.next_attempt <= now,
            webhooks.c.lease_until < now,
        )
        .order_by(webhooks.c.next_attempt, webhooks.c.id)
        .limit(limit)
    )
    return [int(row[0]) for row in connection.execute(query)]


def claim(
    connection: Connection, number: int, owner: str, now: int, until: int
) -> WebhookRecord | None:
    """Lease a webhook until a time; return None if another process has leased it."""
    mine = (
        update(webhooks)
        .where(
            webhooks.c.id == number,
            webhooks.c.disabled.is_(None),
            webhooks.c.next_attempt <= now,
            webhooks.c.lease_until < now,
        )
        .values(lease_owner=owner, lease_until=until)
        .returning(*_SHOWN)
    )
    row = connection.execute(mine).first()
    return None if row is None else _record(row)


def advance(connection: Connection, number: int, owner: str, **columns: Any) -> bool:
    """Write columns of a leased webhook; return whether the lease still holds."""
    mine = update(webhooks).where(webhooks.c.id == number, webhooks.c.lease_owner == owner)
    return connection.execute(mine.values(**columns)).rowcount > 0


def _count(connection: Connection, pool: int) -> None:
    """Write into the pool which kinds of events its webhooks receive."""
    wanted = 0
    for hook in webhooks_of(connection, pool):
        if hook.disabled is None:
            wanted |= sum(KINDS[kind] for kind in hook.events)
    change_pool(connection, pool, webhooks=wanted)


def _record(row: Row[Any]) -> WebhookRecord:
    values = dict(row._mapping)
    values["events"] = tuple(json.loads(values["events"]))
    return WebhookRecord(**values)
