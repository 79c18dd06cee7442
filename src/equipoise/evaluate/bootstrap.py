"""Intervals by resampling matches.

Matches are drawn with replacement, as many as there are, in blocks of consecutive ones: of one
match each up to a thousand matches, of equal length beyond. A metric is a ratio of sums over
participations, so that its value in a resample follows from the sums of every block, and nothing
is scored again. The bounds are percentiles of the resamples. Systems are resampled together: the
interval of a difference knows that both predicted the same matches.

Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), sections 8.6 and 13.3.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from equipoise._jit import kernel
from equipoise.arrays import Floats, Ints
from equipoise.data.backtest import Interval
from equipoise.evaluate.tally import RATIOS


@kernel
def _sum_drawn(blocks: Floats, drawn: Ints, out: Floats) -> None:
    """Fill out[r] with the sum of the rows blocks[drawn[r, :]]."""
    for r in range(drawn.shape[0]):
        for k in range(drawn.shape[1]):
            row = blocks[drawn[r, k]]
            for column in range(len(row)):
                out[r, column] += row[column]


def draw(blocks: int, resamples: int, *, rng: np.random.Generator) -> Ints:
    """Return the blocks of every resample, shape (resamples, blocks)."""
    return rng.integers(0, blocks, size=(resamples, blocks))


def resampled(
    blocks: Floats, drawn: Ints, ratios: Mapping[str, tuple[int, int]] = RATIOS
) -> dict[str, Floats]:
    """Return the value of every metric in every resample, shape (resamples,); NaN where none.

    blocks : shape (blocks, columns), the sums of `evaluate.tally`
    drawn : as `draw` gives it
    ratios : metric -> (column of its sum, of what it is the sum of)
    """
    sums = np.zeros((len(drawn), blocks.shape[1]))
    _sum_drawn(np.ascontiguousarray(blocks), drawn, sums)
    found = {}
    for name, (column, of) in ratios.items():
        weight = sums[:, of]
        # Of a group without pairs rounding may leave a trace of their score.
        with np.errstate(invalid="ignore", divide="ignore"):
            found[name] = np.where(weight > 0, sums[:, column] / weight, np.nan)
    return found


def interval(values: Floats, confidence: float) -> Interval:
    """Return the percentiles between which a share `confidence` of the values lies.

    Resamples without a value (NaN) are left out; without any the bounds are NaN.
    """
    present = values[~np.isnan(values)]
    if not len(present):
        return np.nan, np.nan
    outside = 0.5 * (1.0 - confidence)
    lower, upper = np.quantile(present, [outside, 1.0 - outside])
    return float(lower), float(upper)
