"""Sums of the metrics over participations, and intervals of the metrics by resampling.

Source: [EM]_ section 6.2: a metric is a mean over participations, whatever match they are in. The
intervals follow Efron and Tibshirani, An Introduction to the Bootstrap (1993), sections 8.6 and
13.3.

Sums are kept for blocks of consecutive matches and for slices. For an interval, blocks are drawn
with replacement, as many as there are. Up to a thousand matches each is a block; with more matches,
blocks have equal length. A metric is a ratio of sums over participations, so its value in a
resample follows from the sums of the blocks, and nothing is scored again. The bounds are
percentiles of the resamples. All systems use the same resamples, so the interval of a difference
takes into account that they predicted the same matches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.backtest import METRICS, Calibration, Interval, Slice
from equipoise.evaluate.scoring.experience import COLUMNS, GROUP_RATIOS, GROUPS, PLAYERS
from equipoise.evaluate.scoring.metrics import PredictedTeams, Scores
from equipoise.evaluate.scoring.pairwise import CALIBRATION, both_sides
from equipoise.evaluate.scoring.scored import Counts, Scored

#: Largest number of blocks of consecutive matches for resampling.
BLOCKS = 1000

#: Fewest earlier matches, and fewest teams of a match, of every slice.
EARLIER_EDGES = np.array([0, 1, 5, 10, 25, 100])
SIZE_EDGES = np.array([2, 3, 11, 101, 1_001, 10_001])

#: Columns of sums: participations scored by expected scores, by order, and by order among the top;
#: then the sums of the metrics.
ALL, DECIDED, TOP, INVERSION, DEVIATION, INVERSION_TOP, DEVIATION_TOP, GAIN, LOG_LOSS, BRIER = (
    range(10)
)
#: For each of `METRICS` (column of its sum, column of the number of terms).
RATIOS = {
    "pair_inversion": (INVERSION, DECIDED),
    "rank_deviation": (DEVIATION, DECIDED),
    "pair_inversion_top100": (INVERSION_TOP, TOP),
    "rank_deviation_top100": (DEVIATION_TOP, TOP),
    "ndcg": (GAIN, DECIDED),
    "log_loss": (LOG_LOSS, ALL),
    "brier": (BRIER, ALL),
}
#: Metrics that make sense for a part of the participants of a match.
SLICE_METRICS = ("pair_inversion", "rank_deviation", "log_loss", "brier")


class Sums(NamedTuple):
    """Sums in the columns above.

    blocks : shape (blocks, 10)
    earlier, size : shape (slices, 10); the columns of the top and of the gain stay 0
    """

    blocks: Floats
    earlier: Floats
    size: Floats


@inner_kernel
def _add(sums: Floats, team: int, scores: Scores, weight: int, decided: bool) -> None:
    """Add the metrics of a team, which count `weight` times."""
    sums[ALL] += weight
    sums[LOG_LOSS] += weight * scores.log_loss[team]
    sums[BRIER] += weight * scores.brier[team]
    if decided:
        sums[DECIDED] += weight
        sums[INVERSION] += weight * scores.pair_inversion[team]
        sums[DEVIATION] += weight * scores.rank_deviation[team]


@inner_kernel
def add_teams(
    predicted: PredictedTeams, scores: Scores, block: Ints, size: Ints, sums: Sums
) -> None:
    """Add the metrics of every team to the block and the slice of its match.

    block, size : shape (M,), rows of `sums.blocks` and `sums.size`
    """
    for m in range(len(block)):
        row = sums.blocks[block[m]]
        decided = predicted.decided[m]
        for t in range(predicted.offsets[m], predicted.offsets[m + 1]):
            weight = predicted.weight[t]
            if weight == 0:
                continue
            _add(row, t, scores, weight, decided)
            _add(sums.size[size[m]], t, scores, weight, decided)
            if decided:
                row[GAIN] += weight * scores.gain[m]
            if decided and predicted.top[t]:
                row[TOP] += weight
                row[INVERSION_TOP] += weight * scores.pair_inversion[t]
                row[DEVIATION_TOP] += weight * scores.rank_deviation[t]


@inner_kernel
def add_participations(
    predicted: PredictedTeams,
    scores: Scores,
    match: Ints,
    team: Ints,
    earlier: Counts,
    counts: Flags,
    sums: Sums,
) -> None:
    """Add the metrics of each participation's team to the slice of the player's earlier matches.

    match, team : shape (n,), rows of `PredictedTeams`; counts : shape (n,), whether it is scored
    """
    for i in range(len(team)):
        if not counts[i] or predicted.weight[team[i]] == 0:
            continue
        row = 0
        while row + 1 < len(EARLIER_EDGES) and earlier[i] >= EARLIER_EDGES[row + 1]:
            row += 1
        _add(sums.earlier[row], team[i], scores, 1, predicted.decided[match[i]])


class TallyParts(NamedTuple):
    """The sums of a tally; see `Tally`."""

    sums: Sums
    calibration: Floats
    by_experience: Floats | None


class Tally:
    """The sums of one system, added up piece after piece.

    It keeps nothing for every match: every worker of a search has one, but all share the history.

    scored : the participations that are scored
    sums : see `Sums`
    calibration : see `PairScores`
    by_experience : shape (blocks, groups, columns), see `experience`; None without
        scores by experience
    """

    def __init__(self, scored: Scored, by_experience: bool = False) -> None:
        self.scored = scored
        every = int(scored.scored.sum())
        self._length = max(math.ceil(every / BLOCKS), 1)
        # Of how many matches it is known how many are scored, and this number.
        self._counted = (0, 0)
        self.sums = Sums(
            np.zeros((math.ceil(every / self._length), 10)),
            np.zeros((len(EARLIER_EDGES), 10)),
            np.zeros((len(SIZE_EDGES), 10)),
        )
        self.calibration = np.zeros(CALIBRATION)
        blocks = len(self.sums.blocks)
        self.by_experience = np.zeros((blocks, GROUPS, COLUMNS)) if by_experience else None

    def parts(self) -> TallyParts:
        """Return the sums without what is scored, to be passed between processes."""
        return TallyParts(self.sums, self.calibration, self.by_experience)

    @classmethod
    def of_parts(cls, scored: Scored, parts: TallyParts) -> Tally:
        """Return the tally of which these are the `parts`."""
        tally = cls(scored, parts.by_experience is not None)
        tally.sums, tally.calibration, tally.by_experience = parts
        return tally

    def add(self, start: int, stop: int, predicted: PredictedTeams, scores: Scores) -> None:
        """Add the metrics of matches start:stop."""
        scored = self.scored
        block = self._blocks(start, stop)
        size = np.searchsorted(SIZE_EDGES, scored.teams[start:stop], side="right") - 1
        add_teams(predicted, scores, block, size, self.sums)
        offsets = scored.history.offsets[start : stop + 1]
        rows = slice(int(offsets[0]), int(offsets[-1]))
        match = np.repeat(np.arange(stop - start), np.diff(offsets))
        team = predicted.offsets[match] + scored.history.team[rows]
        counts = scored.counted[rows] >= scored.fewest
        add_participations(predicted, scores, match, team, scored.earlier[rows], counts, self.sums)
        self.calibration += scores.calibration
        if self.by_experience is not None:
            np.add.at(self.by_experience, block, scores.by_experience)

    def _blocks(self, start: int, stop: int) -> Ints:
        """Return the block of each of the matches start:stop."""
        known, number = self._counted if self._counted[0] <= start else (0, 0)
        number += int(np.count_nonzero(self.scored.scored[known:start]))
        so_far = number + np.cumsum(self.scored.scored[start:stop])
        self._counted = (stop, int(so_far[-1]) if stop > start else number)
        found: Ints = np.maximum(so_far - 1, 0) // self._length
        return found

    def metrics(self) -> dict[str, float]:
        """Return every metric; NaN if nothing is scored."""
        total = self.sums.blocks.sum(axis=0)
        return {name: _ratio(total, *RATIOS[name]) for name in METRICS}

    def of_group(self, number: int) -> Floats:
        """Return the sums of a group of `experience`, shape (blocks, columns)."""
        if self.by_experience is None:
            return np.zeros((len(self.sums.blocks), COLUMNS))
        return self.by_experience[:, number]

    def group(self, number: int) -> dict[str, float]:
        """Return the metrics of a group; NaN if nothing is scored."""
        total = self.of_group(number).sum(axis=0)
        return {name: _ratio(total, *columns) for name, columns in GROUP_RATIOS.items()}

    def players(self, number: int) -> int:
        """Return the number of participations in a group."""
        return round(float(self.of_group(number)[:, PLAYERS].sum()))

    def slices(self) -> tuple[Slice, ...]:
        """Return the metrics of every slice with scored participations."""
        return (
            *_slices("earlier", self.sums.earlier, EARLIER_EDGES, self.scored.fewest_earlier),
            *_slices("size", self.sums.size, SIZE_EDGES, 2),
        )

    def calibrated(self) -> Calibration:
        """Return the calibration: expected and observed scores by bin."""
        bins = both_sides(self.calibration)
        weight = bins[:, 0]
        with np.errstate(invalid="ignore"):
            expected, observed = bins[:, 1:].T / weight
        return Calibration(participations=weight, expected=expected, observed=observed)


def _ratio(sums: Floats, column: int, of: int) -> float:
    return float(sums[column] / sums[of]) if sums[of] > 0 else math.nan


def _slices(by: Literal["earlier", "size"], sums: Floats, edges: Ints, lowest: int) -> list[Slice]:
    """Return the slices with these edges; the first slice starts at `lowest` or above."""
    last = [*(int(edge) - 1 for edge in edges[1:]), None]
    return [
        Slice(
            by=by,
            first=max(int(edges[row]), lowest),
            last=last[row],
            participations=round(sums[row, ALL]),
            metrics={name: _ratio(sums[row], *RATIOS[name]) for name in SLICE_METRICS},
        )
        for row in range(len(edges))
        if sums[row, ALL] > 0
    ]


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
    """Return the value of every metric in every resample, shape (resamples,); NaN if none.

    blocks : shape (blocks, columns), the sums of `tally`
    drawn : result of `draw`
    ratios : metric -> (column of its sum, column of the number of terms)
    """
    sums = np.zeros((len(drawn), blocks.shape[1]))
    _sum_drawn(np.ascontiguousarray(blocks), drawn, sums)
    found = {}
    for name, (column, of) in ratios.items():
        weight = sums[:, of]
        # Rounding may leave a trace of a score in a group without pairs.
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
