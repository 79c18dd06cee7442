"""Updates of the order of a leaderboard.

It is updated every day where ratings shown decay, and once after a change of settings that affect
it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
from sqlalchemy import Connection

from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.data.missing import or_nan
from equipoise.pools.pool.rules import PoolRules, rules_of
from equipoise.pools.posting.rated_rows import day_of, days_idle, display
from equipoise.store import ratings
from equipoise.store.connection import Store
from equipoise.store.pools import START, PoolRecord, change_pool, get_pool
from equipoise.store.ratings import RatingRow
from equipoise.store.sizes import sizes_of


def decay_leaderboard(
    store: Store, pool: str, *, stop: Callable[[], bool] = lambda: False
) -> int | None:
    """Let ratings shown decay up to the day of the pool's last match.

    Only players without a match for long are read; a match puts its players in order anyway.
    Returns : number of players whose rating shown changed; None if no update is due, or if it was
        stopped and is left for later
    """
    with store.read() as connection:
        record = get_pool(connection, pool)
    rules = rules_of(record.settings)
    if record.board_day is None or record.last_time is None or record.dirty is not None:
        return None
    day = day_of(record.last_time)
    if day <= record.board_day:
        return None
    away = day - math.ceil(rules.settings.display_decay_after_days * MICROSECONDS_PER_DAY)
    after, changed = "", 0
    while not stop():
        with store.write() as connection:
            now = get_pool(connection, pool, lock=True)
            if now.id != record.id or now.generation != record.generation:
                return None
            limit = store.sizes.board
            rows = ratings.away_since(connection, now.id, now.generation, away, after, limit)
            orderings = _decayed(rules, rows, day)
            ratings.reorder(connection, now.id, now.generation, orderings)
            changed += len(orderings)
            if len(rows) < limit:
                change_pool(connection, now.id, board_day=day)
                return changed
        after = rows[-1].player
        time.sleep(0.001)
    return None


def fits_one_transaction(connection: Connection, pool: PoolRecord) -> bool:
    """Return whether changed settings of a pool can be written into its ratings at once."""
    return pool.players < sizes_of(connection).board


def rewrite_leaderboard(
    store: Store, pool: str, *, stop: Callable[[], bool] = lambda: False
) -> None:
    """Write changed settings into all ratings, in small steps, until `stop` returns True."""
    while not stop():
        with store.write() as connection:
            record = get_pool(connection, pool, lock=True)
            if record.board_from is None or rewrite_next(connection, record):
                return
        time.sleep(0.001)


def rewrite_next(connection: Connection, pool: PoolRecord) -> bool:
    """Write changed settings into the next ratings; return whether all have them.

    pool : locked
    """
    rules, after, limit = rules_of(pool.settings), pool.board_from or "", sizes_of(connection).board
    rows = ratings.ratings_after(connection, pool.id, pool.generation, after, limit)
    # At START nothing has decayed.
    day = START[0] if pool.board_day is None else pool.board_day
    ratings.reorder(connection, pool.id, pool.generation, _decayed(rules, rows, day))
    placing = rules.placement_matches
    for provisional in (False, True):
        changed = [
            row.player
            for row in rows
            if (row.matches < placing) == provisional and row.provisional != provisional
        ]
        ratings.mark_provisional(connection, pool.id, pool.generation, changed, provisional)
    done = len(rows) < limit
    change_pool(connection, pool.id, board_from=None if done else rows[-1].player)
    return done


def _decayed(rules: PoolRules, rows: Sequence[RatingRow], day: int) -> dict[str, float]:
    """Return the new places in the order, minus the rating shown, of players who move, by id."""
    last = or_nan(row.last_time for row in rows) / MICROSECONDS_PER_DAY
    shown = display(
        rules,
        np.array([row.rating for row in rows], np.float64),
        or_nan(row.deviation for row in rows),
        days_idle(last, day),
    )
    orderings = (-shown).tolist()
    return {
        row.player: ordering
        for row, ordering in zip(rows, orderings, strict=True)
        if row.ordering != ordering
    }
