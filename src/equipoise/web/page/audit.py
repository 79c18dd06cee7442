"""The audit log: what administrators did, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from equipoise.messages.audit import AuditEntry
from equipoise.messages.pools import PoolMessage
from equipoise.web.errors import ForbiddenError
from equipoise.web.page.amendments import KINDS
from equipoise.web.page.backend import KeyHolder
from equipoise.web.page.settings import bound
from equipoise.web.page.visit import Visit
from equipoise.web.page.wording import path

PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class AuditLine:
    """Something that was done.

    by : name of the key that did it, where whoever asks may know it
    place : the pool in which it is found now, None where that is gone: when a season ends, its log
        goes with the archive
    """

    entry: AuditEntry
    by: str | None
    place: PoolMessage | None


async def audit_page(visit: Visit) -> Response:
    """Return what was done, in one pool or in all; the key of a pool sees its own."""
    holder = visit.need_admin()
    wanted = visit.query("pool") or None
    if holder.pool is not None and wanted not in (None, holder.pool):
        raise ForbiddenError("the key is for another pool")
    pool = holder.pool or wanted
    cursor = visit.query("cursor") or None
    found, pools = await visit.settings.read(
        bound(
            visit.backend.together,
            lambda backend: (
                backend.audit(pool, cursor=cursor, limit=PAGE_SIZE),
                backend.pools(),
            ),
        )
    )
    names = await _names(visit, holder)
    shown = None if holder.pool else wanted
    return visit.page(
        "audit.html",
        lines=[AuditLine(one, names.get(one.key), place_of(one, pools)) for one in found.entries],
        names=names,
        kinds=KINDS,
        wanted=pool,
        choices=[] if holder.pool else [one.pool for one in pools if one.closed is None],
        next=None if found.next is None else path("audit", pool=shown, cursor=found.next),
        first=path("audit", pool=shown) if cursor else None,
    )


async def _names(visit: Visit, holder: KeyHolder) -> dict[int | None, str]:
    """Return names of keys by number, as far as whoever asks may know them."""
    if not holder.rules_all:
        return {holder.key: holder.name}
    return {one.key: one.name for one in await visit.settings.read(bound(visit.backend.keys))}


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
