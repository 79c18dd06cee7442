"""The API: each module declares endpoints of one topic, and all are listed here."""

from __future__ import annotations

from equipoise.web.api import administration, calculations, matches, players, pools
from equipoise.web.http.endpoints import Endpoint

#: In the order of the documentation.
ENDPOINTS: tuple[Endpoint, ...] = (
    *pools.POOLS,
    *pools.ENDPOINTS,
    *matches.MATCHES,
    *players.PLAYERS,
    *players.QUESTIONS,
    *matches.AMENDMENTS,
    *pools.SEASONS,
    *administration.WEBHOOKS,
    *pools.EXPORT,
    *calculations.ENDPOINTS,
    *administration.KEYS,
    *administration.AUDIT,
    *administration.ENDPOINTS,
)
