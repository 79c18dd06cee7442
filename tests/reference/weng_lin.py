"""Weng and Lin's Algorithms as they are printed, a sum for every team, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: (mu, sigma) of every member.
Team = Sequence[tuple[float, float]]


def plackett_luce(teams: Sequence[Team], ranks: Sequence[int], beta: float) -> list[list[float]]:
    """Return [omega, delta] of every team."""
    mu = [math.fsum(m for m, _ in team) for team in teams]
    variance = [math.fsum(s * s for _, s in team) for team in teams]
    c = math.sqrt(math.fsum(v + beta * beta for v in variance))
    every = range(len(teams))
    results = []
    for i in every:
        omega, delta = [], []
        for q in every:
            if ranks[q] > ranks[i]:
                continue
            stage = math.fsum(math.exp((mu[s] - mu[i]) / c) for s in every if ranks[s] >= ranks[q])
            p = 1.0 / stage
            holders = sum(rank == ranks[q] for rank in ranks)
            omega.append(((1.0 if q == i else 0.0) - p) / holders)
            delta.append(p * (1.0 - p) / holders)
        gamma = math.sqrt(variance[i]) / c
        results.append(
            [variance[i] / c * math.fsum(omega), gamma * variance[i] / c**2 * math.fsum(delta)]
        )
    return results


def bradley_terry(teams: Sequence[Team], ranks: Sequence[int], beta: float) -> list[list[float]]:
    """Return [omega, delta] of every team."""
    mu = [math.fsum(m for m, _ in team) for team in teams]
    variance = [math.fsum(s * s for _, s in team) for team in teams]
    results = []
    for i in range(len(teams)):
        omega, delta = [], []
        for q in range(len(teams)):
            if q == i:
                continue
            c = math.sqrt(variance[i] + variance[q] + 2.0 * beta * beta)
            p = 1.0 / (1.0 + math.exp((mu[q] - mu[i]) / c))
            score = 0.5 if ranks[q] == ranks[i] else float(ranks[i] < ranks[q])
            omega.append(variance[i] / c * (score - p))
            delta.append(math.sqrt(variance[i]) / c * variance[i] / c**2 * p * (1.0 - p))
        results.append([math.fsum(omega), math.fsum(delta)])
    return results


def neighbours(ranks: Sequence[int], reach: int) -> list[list[int]]:
    """Return the teams up to `reach` places above and below every team; equal ranks in order."""
    order = sorted(range(len(ranks)), key=lambda t: ranks[t])
    return [
        [q for q in range(len(ranks)) if q != t and abs(order.index(q) - order.index(t)) <= reach]
        for t in range(len(ranks))
    ]


def pairs(
    teams: Sequence[Team],
    ranks: Sequence[int],
    beta: float,
    near: Sequence[Sequence[int]],
    eps: float | None = None,
    stretch: float = 1.0,
) -> list[list[float]]:
    """Return [omega, delta] of every team; with `eps` by Thurstone-Mosteller.

    near : the teams with which each is compared; stretch : multiplies c
    """
    mu = [math.fsum(m for m, _ in team) for team in teams]
    variance = [math.fsum(s * s for _, s in team) for team in teams]
    results = []
    for i, others in enumerate(near):
        omega, delta = [], []
        for q in others:
            c = stretch * math.sqrt(variance[i] + variance[q] + 2.0 * beta * beta)
            z = (mu[i] - mu[q]) / c
            if eps is None:
                p = 1.0 / (1.0 + math.exp(-z))
                v = (0.5 if ranks[q] == ranks[i] else float(ranks[i] < ranks[q])) - p
                w = p * (1.0 - p)
            elif ranks[i] == ranks[q]:
                # Mirrored to the lower tail, where differences keep their digits.
                a, b = -eps / c - abs(z), eps / c - abs(z)
                mass = _cdf(b) - _cdf(a)
                v = (_pdf(a) - _pdf(b)) / mass
                w = v * v - (a * _pdf(a) - b * _pdf(b)) / mass
                v = math.copysign(v, -z)
            else:
                sign = 1.0 if ranks[i] < ranks[q] else -1.0
                x = sign * z - eps / c
                one = _pdf(x) / _cdf(x)
                v, w = sign * one, one * (one + x)
            omega.append(variance[i] / c * v)
            delta.append(math.sqrt(variance[i]) / c * variance[i] / c**2 * w)
        results.append([math.fsum(omega), math.fsum(delta)])
    return results


def _pdf(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def updated(
    teams: Sequence[Team],
    results: Sequence[Sequence[float]],
    weight: float,
    drift: float,
    least_share: float,
) -> list[list[tuple[float, float]]]:
    """Return (mu, sigma) of every member; `teams` already include the drift."""
    after = []
    for team, (omega, delta) in zip(teams, results, strict=True):
        variance = math.fsum(s * s for _, s in team)
        members = []
        for mu, sigma in team:
            share = sigma * sigma / variance
            left = max(1.0 - weight * share * delta, least_share)
            members.append((mu + weight * share * omega, sigma * math.sqrt(left)))
        after.append(members)
    return after
