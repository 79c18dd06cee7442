"""The API: each module declares endpoints of one topic, and all are listed here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from equipoise.web.api import administration, calculations, matches, players, pools
from equipoise.web.http.endpoints import Endpoint, Group

#: Headings with their endpoints, in the order of the documentation, and what all of these share.
_GROUPS: tuple[tuple[Group, tuple[Endpoint, ...], dict[str, Any]], ...] = (
    ("Pools", pools.POOLS, {}),
    ("Pools", pools.ENDPOINTS, {}),
    ("Matches", matches.MATCHES, {}),
    ("Players", players.PLAYERS, {}),
    ("Questions", players.QUESTIONS, {}),
    ("Amendments", matches.AMENDMENTS, {}),
    ("Seasons", pools.SEASONS, {}),
    ("Webhooks", administration.WEBHOOKS, {"right": "admin"}),
    ("Pools", pools.EXPORT, {}),
    ("Calculations", calculations.ENDPOINTS, {}),
    ("Keys", administration.KEYS, {"right": "admin", "all_pools": True}),
    ("Keys", administration.AUDIT, {"right": "admin"}),
    ("Operation", administration.ENDPOINTS, {"right": None}),
)
ENDPOINTS = tuple(
    replace(row, group=group, **shared) for group, rows, shared in _GROUPS for row in rows
)
