"""Token buckets that all processes share: when the bucket of each caller is full again.

This one number is all that a bucket needs. Processes may add to it in any order. Time is that of
the database, so the clocks of machines need not agree.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from sqlalchemy import BigInteger, Connection, cast, delete, extract, func, select
from sqlalchemy.dialects import postgresql, sqlite

from equipoise.store.connection import Store
from equipoise.store.schema import rate_counts

#: Microseconds of an hour.
_LONGEST = 3_600_000_000
#: Rows of one statement. SQLite takes 32,766 parameters.
_ROWS = 5_000


def settle(
    store: Store,
    used: Mapping[bytes, int],
    *,
    longest: int = _LONGEST,
    patience: float | None = None,
) -> dict[bytes, int]:
    """Take from buckets what callers have used, and return how empty they are now.

    Both are microseconds in which a bucket is filled, by caller. A bucket that more was taken from
    than it had is filled later, so nothing is forgiven.
    It does not wait for the disk: a crash may forget a second.

    longest : microseconds; a bucket that would be filled later than that is filled then, because
        the clock was set back. Otherwise a caller could do nothing until it is as late as before
    patience : as in `Store.write`
    Raises : TimeoutError
    """
    callers = sorted(used)  # processes lock rows in the same order
    found: dict[bytes, int] = {}
    insert = sqlite.insert if store.is_sqlite else postgresql.insert
    latest = func.max if store.is_sqlite else func.greatest
    earliest = func.min if store.is_sqlite else func.least
    with store.write(durable=False, patience=patience) as connection:
        now = _clock(store, connection)
        for first in range(0, len(callers), _ROWS):
            rows = [
                {"caller": caller, "full": now + used[caller]}
                for caller in callers[first : first + _ROWS]
            ]
            added = insert(rate_counts).values(rows)
            before = earliest(latest(rate_counts.c.full, now), now + longest)
            full = before + added.excluded.full - now
            both = added.on_conflict_do_update(
                index_elements=[rate_counts.c.caller], set_={"full": full}
            )
            settled = connection.execute(both.returning(rate_counts.c.caller, rate_counts.c.full))
            found.update({bytes(caller): full - now for caller, full in settled})
    return found


def clear_full(store: Store, *, patience: float | None = None) -> None:
    """Delete the buckets that are full. Raises : TimeoutError."""
    with store.write(durable=False, patience=patience) as connection:
        now = _clock(store, connection)
        connection.execute(delete(rate_counts).where(rate_counts.c.full <= now))


def _clock(store: Store, connection: Connection) -> int:
    """Return the time of the database, microseconds since 1970."""
    if store.is_sqlite:
        return time.time_ns() // 1000
    seconds = extract("epoch", func.clock_timestamp())
    return int(connection.execute(select(cast(seconds * 1_000_000, BigInteger))).scalar_one())
