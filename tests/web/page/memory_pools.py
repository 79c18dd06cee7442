"""Invented pools: an arena of 60 players in 5v5, a private club of contests, hostile names."""

from __future__ import annotations

import numpy as np

from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from web.page.memory_backend import MemoryBackend
from web.page.memory_pool import DAY, MemoryPool

START = 1_788_300_000
_FIRST = ("ada", "bo", "cleo", "dag", "eda", "finn", "gus", "hana", "ivo", "jun")
_FIRST += ("kai", "lea", "mio", "nia", "odd")
_LAST = ["-fox", "-otter", "_77", "lynx"]

#: Names that have broken pages before.
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\u202egnp.elbatrohs\u202c",
    "ألفا البطل",
    "x" * 200,
    "W " * 100,
    "👩‍👩‍👧‍👦🏳️‍🌈🧑🏽‍🚀",
    "a/b/../c?d=e#f",
    "..",
    "{{ 7 * 7 }}{% raw %}",
    "Zal\u0301\u0302\u0303\u0304go\u0316\u0317\u0318\u0319",
    "日本語のとても長い名前のプレイヤーさん" * 4,
    "' OR 1=1; --",
    "&amp;&lt;b&gt;",
    " spaced  out ",
]


def arena(matches: int = 400) -> MemoryPool:
    """Return 5v5 with performances."""
    rng = np.random.default_rng(7)
    names = [first + last for first in _FIRST for last in _LAST]
    skill = rng.normal(0, 1, len(names))
    eager = rng.gamma(1.5, 1.0, len(names)) + 0.05
    pool = MemoryPool(
        "arena",
        PoolRequest(system="team-glicko2", public=True, placement_matches=5, inactive_days=30.0),
    )
    for number in range(matches):
        chosen = rng.choice(len(names), 10, replace=False, p=eager / eager.sum())
        chances = skill[chosen[:5]].sum() - skill[chosen[5:]].sum()
        first_wins = rng.random() < 1 / (1 + np.exp(-chances / 1.5))
        teams = [
            TeamRequest(
                [
                    ParticipationRequest(
                        names[one],
                        performance=round(max(0.0, rng.normal(20 + 4 * skill[one], 5)), 1),
                    )
                    for one in side
                ],
                rank=1 if wins else 2,
                team=label,
            )
            for side, wins, label in (
                (chosen[:5], first_wins, "red"),
                (chosen[5:], not first_wins, "blue"),
            )
        ]
        time = START + int(number * 80 * DAY / matches + rng.integers(0, 3600))
        pool.add(MatchRequest(f"m{number + 1:04}", teams, time=time))
    pool.rate()
    return pool


def club(contests: int = 40) -> MemoryPool:
    """Return contests, not public."""
    rng = np.random.default_rng(8)
    names = [f"member {number}" for number in range(1, 31)]
    skill = rng.normal(0, 1, len(names))
    pool = MemoryPool("club", PoolRequest(system="elo-mmr"))
    for number in range(contests):
        chosen = rng.choice(len(names), 14, replace=False)
        order = np.argsort(-(skill[chosen] + rng.normal(0, 0.7, len(chosen))))
        teams = [TeamRequest([names[chosen[one]]], rank=at + 1) for at, one in enumerate(order)]
        pool.add(
            MatchRequest(f"round {number + 1}", teams, time=START + int(7 * DAY) * number // 3)
        )
    pool.rate()
    return pool


def hostile() -> MemoryPool:
    """Return duels between people whose names are attacks."""
    pool = MemoryPool("hostile", PoolRequest(system="elo", public=True))
    for number, name in enumerate(HOSTILE):
        for at in range(1, 4):
            other = HOSTILE[(number + at) % len(HOSTILE)]
            match = f"{name[:150]} v {other[:20]} {at}"
            teams = [TeamRequest([name], rank=1, team=name), TeamRequest([other], rank=1 + at % 2)]
            pool.add(MatchRequest(match, teams, time=START + 3600 * (number * 3 + at)))
    pool.rate()
    return pool


def everything() -> MemoryBackend:
    """Return all of them."""
    return MemoryBackend([arena(), club(), hostile()])
