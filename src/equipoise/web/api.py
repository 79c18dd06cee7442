"""All endpoints of the service."""

from __future__ import annotations

from equipoise.web import (
    routes_amendments,
    routes_audit,
    routes_calculations,
    routes_export,
    routes_keys,
    routes_matches,
    routes_operation,
    routes_players,
    routes_pools,
    routes_questions,
    routes_seasons,
    routes_webhooks,
)
from equipoise.web.endpoints import Endpoint

#: In the order of the documentation.
ENDPOINTS: tuple[Endpoint, ...] = (
    *routes_pools.ENDPOINTS,
    *routes_matches.ENDPOINTS,
    *routes_players.ENDPOINTS,
    *routes_questions.ENDPOINTS,
    *routes_amendments.ENDPOINTS,
    *routes_seasons.ENDPOINTS,
    *routes_webhooks.ENDPOINTS,
    *routes_export.ENDPOINTS,
    *routes_calculations.ENDPOINTS,
    *routes_keys.ENDPOINTS,
    *routes_audit.ENDPOINTS,
    *routes_operation.ENDPOINTS,
)
