"""The audit log: administrator actions, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from equipoise.messages.audit import AuditEntry, AuditPage
from equipoise.messages.pools import PoolMessage
from equipoise.store.connection import Store
from equipoise.store.keys import KeyRecord
from equipoise.web.access import audited_pool, rules_all_pools
from equipoise.web.page.amendments import KINDS
from equipoise.web.page.visit import PageContext
from equipoise.web.page.wording import path
from equipoise.workflows import auditing
from equipoise.workflows.keys import all_keys
from equipoise.workflows.pools import pool_messages

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class AuditLine:
    """A line of the audit log.

    by : name of the key that did it, if the sender may know it
    place : the pool in which it is found now, None where that is gone: when a season ends, its log
        goes with the archive
    """

    entry: AuditEntry
    by: str | None
    place: PoolMessage | None


async def audit_page(context: PageContext) -> Response:
    """Return the actions in one pool or in all; the key of a pool sees its own."""
    key = context.need_admin()
    wanted = context.query("pool") or None
    pool = audited_pool(key, wanted)
    cursor = context.query("cursor") or None
    found, pools = await context.service.read(_page_and_pools, pool, cursor)
    names = await _names(context, key)
    shown = None if key.pool else wanted
    return context.render(
        "audit.html",
        lines=[AuditLine(one, names.get(one.key), place_of(one, pools)) for one in found.entries],
        names=names,
        kinds=KINDS,
        wanted=pool,
        choices=[] if key.pool else [one.pool for one in pools if one.closed is None],
        next=None if found.next is None else path("audit", pool=shown, cursor=found.next),
        first=path("audit", pool=shown) if cursor else None,
    )


def _page_and_pools(
    store: Store, pool: str | None, cursor: str | None
) -> tuple[AuditPage, list[PoolMessage]]:
    """Return a page of the log and all pools, read in one transaction."""
    with store.moment() as moment:
        page = auditing.audit_page(moment, pool=pool, cursor=cursor, limit=PAGE_SIZE)
        return page, pool_messages(moment)


async def _names(context: PageContext, key: KeyRecord) -> dict[int | None, str]:
    """Return names of keys by number, as far as the sender may know them."""
    if not rules_all_pools(key):
        return {key.id: key.name}
    return {one.key: one.name for one in (await context.service.read(all_keys)).keys}


def place_of(entry: AuditEntry, pools: list[PoolMessage]) -> PoolMessage | None:
    """Return the pool that had the name of an entry's pool when it was written."""
    at = _moment(entry.time)
    held = [one for one in pools if entry.pool in (one.pool, one.archive_of)]
    # A season ends, and the next begins, at the same time: what happened then is of the next.
    held = [one for one in held if one.closed is None or at < _moment(one.closed)]
    # One that was deleted may have had the name before.
    held = [one for one in held if at >= _moment(one.created)]
    return min(held, key=lambda one: _moment(one.created), default=None)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
