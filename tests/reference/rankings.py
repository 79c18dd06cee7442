"""Plackett-Luce by its definition, choice by choice: slow, for a few players.

A choice is (chosen, set, weight), with `chosen` a member of `set`.
"""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np

Choice = tuple[int, tuple[int, ...], float]


def choices(ranking: list[tuple[int, int]], weight: float, top: int | None) -> list[Choice]:
    """Return the choices of a match; `ranking` has (player, rank), ties by Breslow's rule."""
    rows = sorted(ranking, key=lambda row: row[1])
    found: list[Choice] = []
    places = [[player for player, _ in tied] for _, tied in groupby(rows, key=lambda row: row[1])]
    for place, tied in enumerate(places[:-1]):
        if top is None or place < top:
            rest = tuple(player for below in places[place:] for player in below)
            found += [(player, rest, weight) for player in tied]
    return found


def log_likelihood(x: np.ndarray, made: list[Choice], prior: float) -> float:
    """Return the logarithm of the probability of all choices, and of the prior's draws."""
    total = 0.0
    for chosen, among, weight in made:
        total += weight * (x[chosen] - math.log(sum(math.exp(x[one]) for one in among)))
    for one in x:
        total -= 0.5 * prior * (math.log1p(math.exp(-one)) + math.log1p(math.exp(one)))
    return total


def derivatives(x: np.ndarray, made: list[Choice], prior: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient, and the information: minus the Hessian."""
    gradient, information = np.zeros(len(x)), np.zeros((len(x), len(x)))
    for chosen, among, weight in made:
        rows = list(among)
        share = np.exp(x[rows]) / np.exp(x[rows]).sum()
        gradient[chosen] += weight
        gradient[rows] -= weight * share
        information[np.ix_(rows, rows)] += weight * (np.diag(share) - np.outer(share, share))
    expected = 1.0 / (1.0 + np.exp(-x))
    gradient += prior * (0.5 - expected)
    information += prior * np.diag(expected * (1.0 - expected))
    return gradient, information


def has_maximum(made: list[Choice], players: int) -> bool:
    """Return whether nobody can be split off, by the chains of all who were chosen before whom."""
    beat, met = np.eye(players, dtype=bool), np.eye(players, dtype=bool)
    for chosen, among, _ in made:
        beat[chosen, list(among)] = True
    met |= beat | beat.T
    for middle in range(players):
        beat |= np.outer(beat[:, middle], beat[middle])
        met |= np.outer(met[:, middle], met[middle])
    return bool(np.array_equal(beat, met))
