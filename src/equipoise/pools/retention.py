"""Retention: what is deleted because of its age, if the settings say so.

The log of a pool is kept for ever. The audit log and disabled webhooks may have an end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from equipoise.errors import NotFoundError
from equipoise.pools.webhooks import delete_webhook
from equipoise.store import audit, webhooks
from equipoise.store.connection import Store
from equipoise.store.pools import pool_by_number

log = logging.getLogger(__name__)

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
        through = audit.last_before(connection, now - int(days * _DAY))
    if through is None:
        return
    done = False
    while not done and not stop():
        with store.write() as connection:
            done = audit.cut_through(connection, through, _AT_ONCE)
    log.info("audit log deleted up to entry %d", through)


def clear_webhooks(store: Store, days: float, now: int) -> None:
    """Delete webhooks that were disabled more than some days ago."""
    with store.read() as connection:
        found = [
            (hook, pool)
            for hook in webhooks.disabled_before(connection, now - int(days * _DAY))
            if (pool := pool_by_number(connection, hook.pool)) is not None
        ]
    for hook, pool in found:
        reason = f"disabled more than {days:g} days ago"
        with suppress(NotFoundError):  # It was deleted meanwhile, or the season of its pool ended.
            delete_webhook(store, pool.name, hook.id, key=None, now=now, reason=reason)
