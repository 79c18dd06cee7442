"""Pools of the service filled from histories, for tests."""

from __future__ import annotations

import numpy as np

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.messages.pools import PoolRequest
from equipoise.pools.exchange.history_requests import pieces_of, requests_of
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.store.connection import Store

#: When everything was received, microseconds since 1970.
NOW = 1_900_000_000_000_000


def fill(
    store: Store, name: str, history: eq.History, request: PoolRequest, size: int = 50
) -> None:
    """Make a pool and post a history to it, so many matches at a time."""
    create_pool(store, name, request, NOW)
    for start, stop in pieces_of(history, size):
        (answer,) = post_matches(
            store, name, [Post(requests_of(history, start, stop), detailed=False)], NOW
        )
        if isinstance(answer, EquipoiseError):
            raise answer


#: Weights of the statistics of `team_season`.
STATISTICS = {"kills": 1.0, "deaths": -0.5}


def team_season(matches: int = 30) -> dict[str, list[object]]:
    """Return a season of three against three with statistics, a match a day, as columns."""
    rng = np.random.default_rng(8)
    rows: dict[str, list[object]] = {
        name: [] for name in ("match", "time", "player", "team", "rank", "kills", "deaths")
    }
    for match in range(matches):
        places = rng.choice(3, 2, replace=False) if rng.random() < 0.9 else [0, 0]
        for seat, player in enumerate(rng.choice(14, 6, replace=False).tolist()):
            team = seat // 3
            kills, deaths = rng.integers(0, 12, 2).tolist()
            row = (f"m{match}", 1_700_000_000 + 86_400 * match, f"p{player:02}", "ab"[team])
            values = (*row, int(places[team]), kills, deaths)
            for column, value in zip(rows.values(), values, strict=True):
                column.append(value)
    return rows
