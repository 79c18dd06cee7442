"""The API: each module declares endpoints of one topic, and all are listed here."""

from __future__ import annotations

from dataclasses import replace

from equipoise.web.api import administration, calculations, matches, players, pools
from equipoise.web.http.endpoints import Endpoint, Group

#: Headings and their endpoints, in the order of the documentation.
_GROUPS: tuple[tuple[Group, tuple[Endpoint, ...]], ...] = (
    ("Pools", pools.POOLS),
    ("Pools", pools.ENDPOINTS),
    ("Matches", matches.MATCHES),
    ("Players", players.PLAYERS),
    ("Questions", players.QUESTIONS),
    ("Amendments", matches.AMENDMENTS),
    ("Seasons", pools.SEASONS),
    ("Webhooks", administration.WEBHOOKS),
    ("Pools", pools.EXPORT),
    ("Calculations", calculations.ENDPOINTS),
    ("Keys", administration.KEYS),
    ("Keys", administration.AUDIT),
    ("Operation", administration.ENDPOINTS),
)
ENDPOINTS = tuple(replace(row, group=group) for group, rows in _GROUPS for row in rows)
