"""Systems and random histories for tests of one match at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.rating.base_system import System
from equipoise.rating.registry import SYSTEMS, make_system

#: Systems that are not rated by their defaults, because those leave most of their rules off.
_ALWAYS_SET = ("elo-mmr", "glicko", "stephenson", "team-glicko2")

#: Every system, and parameters that switch on what defaults leave off.
VARIANTS: list[tuple[str, dict[str, object]]] = [
    *((name, {}) for name in SYSTEMS if name not in _ALWAYS_SET),
    ("bradley-terry", {"pairing": "partial"}),
    ("codeforces", {"rules": "platform"}),
    ("dwz", {"rounded": False}),
    ("elo", {"home_advantage": 60}),
    ("elo-mmr", {"drift_per_day": 3, "rho": 0.3}),
    ("elo-mmr", {"remembered": 2}),
    ("elo-mmr", {"rate_all_ties": True, "split_ties": True, "rho": 0}),
    ("fide", {"rules": "2022-01", "initial_rating": 2350, "time_control": "blitz"}),
    ("glicko", {"drift": 0, "drift_per_day": 40}),
    ("glicko", {"period_days": 2.5}),
    ("glicko2", {"period_days": 2.5}),
    ("plackett-luce", {"shares": "play"}),
    ("bradley-terry", {"shares": "contribution", "limit_deviation": True}),
    ("stephenson", {"bonus": 1, "home_advantage": 30}),
    ("stephenson", {"period_days": 2.5}),
    ("team-glicko2", {"period_days": 1}),
    ("team-glicko2", {"conserve": True, "max_change": 90}),
    ("trueskill", {"shares": "play"}),
    ("trueskill", {"draw_rule": "rating", "draw_slope": 0.4}),
]


def by_speed(variants: Sequence[tuple[str, dict[str, object]]]) -> list[Any]:
    """Return parameters of tests: of every system the first variant, the others each night."""
    names = [name for name, _ in variants]
    return [
        pytest.param(*variant, marks=[pytest.mark.nightly] if variant[0] in names[:k] else [])
        for k, variant in enumerate(variants)
    ]


#: For tests that cost more than a look at a system.
BY_SPEED = by_speed(VARIANTS)

PLAYERS = 6


def system_of(name: str, parameters: dict[str, object]) -> System:
    """Return a system; all of the registry are of the base class."""
    system = make_system(name, parameters)
    assert isinstance(system, System)
    return system


@st.composite
def histories(draw: st.DrawFn, system: System) -> History:
    """Return a history with everything that the system uses, of up to 8 matches."""
    able = system.capabilities
    day, rows, columns = 0.0, [], []
    for match in range(draw(st.integers(1, 8))):
        day += draw(st.sampled_from([0.0, 0.3, 1.0, 9.0, 40.0]))
        order = draw(st.permutations(range(PLAYERS)))
        teams = draw(st.integers(2, min(able.max_teams or 4, 4)))
        most = min(able.max_team_size or PLAYERS // teams, PLAYERS // teams)
        ranks = draw(st.lists(st.integers(0, teams - 1), min_size=teams, max_size=teams))
        dense = np.unique(ranks, return_inverse=True)[1].tolist()
        at, weight = 0, draw(st.sampled_from([1.0, 0.3, 2.5]))
        ceiling = draw(st.sampled_from([math.nan, 1480.0]))
        columns.append((match, day, weight, ceiling))
        for team in range(teams):
            for _ in range(draw(st.integers(1, most))):
                performance = draw(st.sampled_from([math.nan, 1.0, 2.5, -3.0]))
                share = draw(st.sampled_from([1.0, 0.25, 0.0]))
                rows.append((match, order[at], team, dense[team], performance, share, team == 0))
                at += 1
    matches, player, team_of, rank, performances, shares, home = zip(*rows, strict=True)
    _, days, weights, ceilings = zip(*columns, strict=True)
    counts = np.bincount(matches)
    return History(
        match_ids=np.arange(len(counts)),
        player_ids=np.arange(PLAYERS),
        offsets=np.concatenate([[0], np.cumsum(counts)]),
        player=np.array(player),
        team=np.array(team_of),
        rank=np.array(rank),
        time=np.array([round(one * MICROSECONDS_PER_DAY) for one in days]),
        weight=np.array(weights),
        performance_ceiling=np.array(ceilings),
        performance=np.array(performances),
        share=np.array(shares),
        attributes={"at_home": np.array(home, np.float64)},
    )


def call_of(system: System, one: History) -> tuple[list[list[int]], dict[str, Any]]:
    """Return the players of a match by teams, and the arguments that say all that counts of it."""
    able, teams = system.capabilities, range(int(one.teams()[0]))

    def by_team(column: Any) -> list[list[Any]]:
        return [column[one.team == team].tolist() for team in teams]

    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(one.time[0]))
    said: dict[str, Any] = {"ranks": [ranks[0] for ranks in by_team(one.rank)], "time": at}
    columns = {"performance": one.performance, "share": one.share, **one.attributes}
    for name in {"performance", "share", "role"} & able.uses:
        values = by_team(columns[name])
        said[name] = [[None if value != value else value for value in team] for team in values]
    if "performance_ceiling" in able.uses and not math.isnan(one.performance_ceiling[0]):
        said["performance_ceiling"] = float(one.performance_ceiling[0])
    if "at_home" in able.uses:
        said["home"] = 0
    if "weight" in able.uses:
        said["weight"] = float(one.weights()[0])
    return by_team(one.player), said
