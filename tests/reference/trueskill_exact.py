"""Posterior moments of skills by integration on a grid: what message passing approximates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Moments = tuple[NDArray[np.float64], NDArray[np.float64]]


def duel(
    mean: tuple[float, float],
    deviation: tuple[float, float],
    beta: float,
    margin: float,
    tied: bool,
) -> Moments:
    """Return (means, deviations) of two skills after the first won by `margin` or both tied.

    Performances are integrated on a grid of 4001 x 4001 points, skills given them in closed form.
    """
    grids, densities = [], []
    for m, s in zip(mean, deviation, strict=True):
        spread = np.hypot(s, beta)
        grid = np.linspace(m - 9 * spread, m + 9 * spread, 4001)
        grids.append(grid)
        densities.append(np.exp(-0.5 * ((grid - m) / spread) ** 2))
    apart = grids[0][:, None] - grids[1][None, :]
    inside = np.abs(apart) <= margin if tied else apart > margin
    joint = densities[0][:, None] * densities[1][None, :] * inside
    joint /= joint.sum()
    means, deviations = np.empty(2), np.empty(2)
    for axis in (0, 1):
        mass = joint.sum(axis=1 - axis)
        first = mass @ grids[axis]
        variance = mass @ (grids[axis] - first) ** 2
        m, s = mean[axis], deviation[axis]
        gain = s * s / (s * s + beta * beta)
        means[axis] = m + gain * (first - m)
        deviations[axis] = np.sqrt(gain * beta * beta + gain * gain * variance)
    return means, deviations
