"""The home advantage once more, slowly: one match at a time, by public functions alone."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

import equipoise as eq

#: A season in which the second team of a match is at home as often as the first, a match is on
#: neutral ground, and a draw is among them: (players of both teams, ranks, side at home, weight).
Season = list[tuple[list[list[str]], list[int], int | None, float]]


def season(size: int = 1) -> Season:
    """Return a season of teams of this size."""
    names = [chr(ord("a") + i) for i in range(4 * size)]
    clubs = [names[i * size : (i + 1) * size] for i in range(4)]
    homes = [0, 1, 0, None, 1, 0, 0, 1, 0, 1, 0, 0]
    ranks = [[0, 1], [0, 1], [1, 0], [0, 1], [0, 0], [0, 1], [0, 1], [1, 0], [0, 0], [1, 0]]
    ranks += [[0, 1], [0, 1]]
    pairs = [(0, 1), (2, 3), (1, 2), (3, 0), (0, 2), (1, 3), (1, 0), (3, 2), (2, 1), (0, 3)]
    pairs += [(2, 0), (3, 1)]
    weights = [1.0, 1.0, 2.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    return [
        ([clubs[i], clubs[j]], rank, home, weight)
        for (i, j), rank, home, weight in zip(pairs, ranks, homes, weights, strict=True)
    ]


def table_of(matches: Season, column: str = "at_home") -> eq.History:
    """Return a season as a history; the side at home in `at_home`, or `side` white and black."""
    rows: dict[str, list[Any]] = {
        name: [] for name in ("match", "player", "team", "rank", "weight", "time", column)
    }
    for number, (teams, ranks, home, weight) in enumerate(matches):
        for t, team in enumerate(teams):
            for player in team:
                rows["match"].append(number)
                rows["player"].append(player)
                rows["team"].append(t)
                rows["rank"].append(ranks[t])
                rows["weight"].append(weight)
                rows["time"].append(1_700_000_000 + 86_400 * number)
                white = "" if home is None else "white" if home == t else "black"
                rows[column].append(home == t if column == "at_home" else white)
    return eq.read_history(rows)


def density(curve: str, z: float) -> float:
    """Return the density of a curve."""
    if curve == "normal":
        return NormalDist().pdf(z)
    p = 1.0 / (1.0 + math.exp(-z))
    return p * (1.0 - p)


def chance(curve: str, z: float) -> float:
    """Return the distribution function of a curve."""
    return NormalDist().cdf(z) if curve == "normal" else 1.0 / (1.0 + math.exp(-z))


def slowly(
    make: Callable[..., eq.HomeSystem],
    matches: Season,
    *,
    start: float,
    learns: bool,
    deviation: float = 80.0,
    drift: float = 0.0,
) -> tuple[dict[str, float], float, float]:
    """Return (ratings, advantage, its deviation) after a season.

    Every match is rated on neutral ground between players whose ratings were moved. The advantage
    is learned from the published `Outlook`, and the model of draws from `draw_margin`.
    make : makes the system, without an advantage
    """
    system = make()
    adds = system.capabilities.adds_players
    rows: dict[str, eq.Rating] = {}
    advantage, variance = start, deviation**2
    for number, (teams, ranks, home, weight) in enumerate(matches):
        time = 19675.925925925927 + number  # 1_700_000_000 seconds
        given = [[rows.get(name) or system.rating() for name in team] for team in teams]
        each = [
            0.0 if home != t else advantage / (len(team) if adds else 1)
            for t, team in enumerate(teams)
        ]
        if learns and home is not None:
            flat = [one for team in given for one in team]
            now = [one.at(time) for one in flat]
            rating = np.array([one["rating"] for one in now])
            width = np.array([one["deviation"] or 0.0 for one in now])
            team = np.repeat([0, 1], [len(one) for one in teams])
            outlook = system.outlook(rating, width).of_teams(team, 2)
            squared = float((outlook.scale**2).sum())
            if isinstance(system, eq.TrueSkill | eq.TrueSkillSPb):
                squared += system.draw_margin(len(flat)) ** 2
            scale, sign = math.sqrt(squared), 1.0 if home == 0 else -1.0
            z = (outlook.centre[0] - outlook.centre[1] + sign * advantage) / scale
            p, f = chance(outlook.curve, z), density(outlook.curve, z)
            score = 0.5 if ranks[0] == ranks[1] else float(ranks[0] < ranks[1])
            variance += drift**2
            known = weight * f**2 / (p * (1 - p)) / squared
            variance = 1.0 / (1.0 / variance + known)
            advantage += variance * weight * sign * (score - p) * f / (p * (1 - p)) / scale
        moved = [
            [shifted(one, step) for one in team] for team, step in zip(given, each, strict=True)
        ]
        rated = system.rate(moved, ranks=ranks, weight=weight, time=time)
        for team, new, step in zip(teams, rated, each, strict=True):
            for name, one in zip(team, new, strict=True):
                rows[name] = shifted(one, -step)
    return {name: one.rating for name, one in rows.items()}, advantage, math.sqrt(variance)


def shifted(one: eq.Rating, points: float) -> eq.Rating:
    """Return a rating moved by some points."""
    saved = one.to_dict()
    saved["state"]["rating"] += points
    return eq.Rating.from_dict(saved)


def neutral(system: eq.HomeSystem) -> eq.HomeSystem:
    """Return a system without an advantage."""
    changed: Any = {"home_advantage": 0.0, "learn_home_advantage": False}
    return dataclasses.replace(system, **changed)
