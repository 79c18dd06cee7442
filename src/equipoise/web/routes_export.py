"""A pool as a file."""

from __future__ import annotations

from equipoise.web.endpoints import Endpoint

ENDPOINTS: tuple[Endpoint, ...] = ()
