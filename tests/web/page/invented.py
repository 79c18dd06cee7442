"""Invented pools: an arena of 60 players in 5v5, a private club of contests, hostile names."""

from __future__ import annotations

import numpy as np

from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.pools import PoolRequest

DASH = "\N{EN DASH}"
START, DAY = 1_788_300_000, 86_400
_FIRST = ("ada", "bo", "cleo", "dag", "eda", "finn", "gus", "hana", "ivo", "jun")
_FIRST += ("kai", "lea", "mio", "nia", "odd")
_LAST = ("-fox", "-otter", "_77", "lynx")
PLAYERS = [first + last for first in _FIRST for last in _LAST]

#: Names that have broken pages before.
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\u202egnp.elbatrohs\u202c",
    "ألفا البطل",
    "x" * 200,
    "W " * 99 + "W",
    "👩\u200d👩\u200d👧\u200d👦🏳️\u200d🌈🧑🏽\u200d🚀",
    "a/b/../c?d=e#f",
    "..",
    "{{ 7 * 7 }}{% raw %}",
    "Zal\u0301\u0302\u0303\u0304go\u0316\u0317\u0318\u0319",
    "日本語のとても長い名前のプレイヤーさん" * 4,
    "' OR 1=1; --",
    "&amp;&lt;b&gt;",
    "100%_\\",
]

ARENA = PoolRequest(
    system="team-glicko2", public=True, placement_matches=5, inactive_days=30.0, late="replay"
)
CLUB = PoolRequest(system="elo-mmr", placement_matches=0)
HOSTILE_POOL = PoolRequest(system="elo", public=True, placement_matches=0)


def arena(matches: int = 400) -> list[MatchRequest]:
    """Return 5v5 with performances; some play much more than others."""
    rng = np.random.default_rng(7)
    skill = rng.normal(0, 1, len(PLAYERS))
    eager = rng.gamma(1.5, 1.0, len(PLAYERS)) + 0.05
    found = []
    for number in range(matches):
        chosen = rng.choice(len(PLAYERS), 10, replace=False, p=eager / eager.sum())
        ahead = skill[chosen[:5]].sum() - skill[chosen[5:]].sum()
        wins = bool(rng.random() < 1 / (1 + np.exp(-ahead / 1.5)))
        sides = ((chosen[:5], wins, "red"), (chosen[5:], not wins, "blue"))
        teams = [_side(rng, side, won, label, skill) for side, won, label in sides]
        busy = 1 - 0.35 * np.cos(number / matches * 6)
        time = START + int(number * 80 * DAY / matches * busy / 0.83)
        found.append(MatchRequest(f"m{number + 1:04}", teams, time=time))
    times = sorted(int(one.time or 0) for one in found)
    return [
        MatchRequest(one.match, one.teams, time=time)
        for one, time in zip(found, times, strict=True)
    ]


def _side(
    rng: np.random.Generator, side: np.ndarray, won: bool, label: str, skill: np.ndarray
) -> TeamRequest:
    return TeamRequest(
        [
            ParticipationRequest(
                PLAYERS[one], performance=round(max(0.0, rng.normal(20 + 4 * skill[one], 5)), 1)
            )
            for one in side.tolist()
        ],
        rank=1 if won else 2,
        team=label,
    )


def club(contests: int = 40) -> list[MatchRequest]:
    """Return contests of 14 of 30."""
    rng = np.random.default_rng(8)
    names = [f"member {number}" for number in range(1, 31)]
    skill = rng.normal(0, 1, len(names))
    found = []
    for number in range(contests):
        chosen = rng.choice(len(names), 14, replace=False)
        order = np.argsort(-(skill[chosen] + rng.normal(0, 0.7, len(chosen)))).tolist()
        teams = [TeamRequest([names[chosen[one]]], rank=at) for at, one in enumerate(order, 1)]
        time = START + 7 * DAY * number // 3
        found.append(MatchRequest(f"round {number + 1}", teams, time=time))
    return found


def hostile() -> list[MatchRequest]:
    """Return duels between people whose names are attacks; matches and teams are called alike."""
    found = []
    for number, name in enumerate(HOSTILE):
        for at in range(1, 4):
            other = HOSTILE[(number + at) % len(HOSTILE)]
            teams = [TeamRequest([name], rank=1, team=name), TeamRequest([other], rank=1 + at % 2)]
            time = START + 3600 * (number * 3 + at)
            found.append(MatchRequest(f"{name[:150]} v {other[:20]} {at}", teams, time=time))
    return found


def game(number: int, first: str, second: str, goals: tuple[int, int]) -> MatchRequest:
    """Return a match with scores and a statistic."""
    one = ParticipationRequest(first, statistics={"shots": 9.0}, at_home=True)
    teams = [TeamRequest([one], score=goals[0]), TeamRequest([second], score=goals[1])]
    return MatchRequest(f"game {number}", teams, time=START + number * DAY)
