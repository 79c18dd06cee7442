"""What of a history is scored, the sums of the metrics over it, and their intervals.

Source: [EM]_ section 6.3 and READINGS B9. Scored are matches from a given one on, without the
participations of players who have too few earlier matches (or, in another reading of the document,
too few matches in all). Departures: the members of a team with enough matches stay, so the team
counts as many times; the prediction is that of the complete team.

A match has a result if two or more teams took part and not all of three or more tied (READINGS B7).
Only such matches are scored, and only they count as earlier matches, whether or not a system rates
the others. So all systems are scored on the same participations. A match in which all remaining
teams tied is not scored by order. It is scored by expected scores, as otherwise every expected
score would look too moderate.

Source: [EM]_ section 6.2: a metric is a mean over participations, whatever match they are in. The
intervals follow Efron and Tibshirani, An Introduction to the Bootstrap (1993), sections 8.6 and
13.3.

Sums are kept for blocks of consecutive matches. For an interval, blocks are drawn
with replacement, as many as there are. Up to a thousand matches each is a block; with more matches,
blocks have equal length. A metric is a ratio of sums over participations, so its value in a
resample follows from the sums of the blocks, and nothing is scored again. The bounds are
percentiles of the resamples. All systems use the same resamples, so the interval of a difference
takes into account that they predicted the same matches.

Matches of the same player are not independent: a rating that is off is off in all of them. So the
interval has the metric in its middle, and the distance of the percentiles is multiplied by the
ratio of two standard errors. The wider one adds the variance between players to that between
matches, and subtracts what both have (A. C. Cameron, J. B. Gelbach and D. L. Miller, Robust
inference with multiway clustering, 2011, (2.8)). A score of a player is shared with the opponents,
so a player's part of the metric is twice the player's own score. The variance between players is
never taken to be below 0.

The metric follows the part of a player who has many of the scores, which makes the squares of the
parts too small. So they are divided by one less the share of the scores, as in R. M. Bell and
D. F. McCaffrey, Bias reduction in standard errors for linear regression with multi-stage samples,
2002, and multiplied by n/(n - 1) for n players: with both, they are right to 1/n^2 if everyone
meets everyone and players add to a score. Student's distribution replaces the normal one, with one
degree of freedom less than there are matches, or players if these are fewer. Two players tell
nothing of others: their matches count as independent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.backtest import Calibration, Interval
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.errors import InvalidDataError, require
from equipoise.evaluate.scoring.metrics import (
    CALIBRATION,
    PredictedTeams,
    Scores,
    both_sides,
)
from equipoise.evaluate.scoring.order import COLUMNS, GROUP_RATIOS, GROUPS, PLAYERS, STARTS
from equipoise.evaluate.scoring.outcomes import Outcomes
from equipoise.rating.calibration_curve import GOLDEN, member_features

#: Number of first places of a match that are its top, before players are left out [READINGS B9].
TOP = 100

#: Ends the error when nothing is left to score.
ADVICE = ". Score more matches or lower this number"

#: int32: matches that a participation's player had before it.
Counts: TypeAlias = NDArray[np.int32]

#: Largest number of blocks of consecutive matches for resampling, and of rows of players.
BLOCKS = 1000
#: Least share of the scores without a player, for the variance between players.
_LEAST_LEFT = 0.1


class MatchColumns(NamedTuple):
    """Columns of a history with teams and ranks: offsets (M + 1,), team and rank (N,)."""

    offsets: Ints
    team: Ints
    rank: Ints


@kernel
def _count_earlier(offsets: Ints, player: Ints, has_result: Flags, players: int) -> Counts:
    """Return, for each participation, the player's number of earlier matches with a result."""
    seen = np.zeros(players, np.int32)
    earlier = np.empty(len(player), np.int32)
    for m in range(len(has_result)):
        for i in range(offsets[m], offsets[m + 1]):
            earlier[i] = seen[player[i]]
        if has_result[m]:
            for i in range(offsets[m], offsets[m + 1]):
                seen[player[i]] += 1
    return earlier


@kernel
def _what_is_left(
    rows: MatchColumns, earlier: Counts, fewest: int, largest: int
) -> tuple[Ints, Flags]:
    """Return (number of teams that keep a player, whether these have different ranks), by match.

    largest : teams of the largest match
    """
    matches = len(rows.offsets) - 1
    left, decided = np.zeros(matches, np.int64), np.zeros(matches, np.bool_)
    marked = np.full(largest, -1)
    for m in range(matches):
        first = -1
        for i in range(rows.offsets[m], rows.offsets[m + 1]):
            if earlier[i] < fewest:
                continue
            if marked[rows.team[i]] != m:
                marked[rows.team[i]] = m
                left[m] += 1
            if first < 0:
                first = rows.rank[i]
            decided[m] |= rows.rank[i] != first
    return left, decided


@kernel
def _team_columns(
    rows: MatchColumns, first_team: Ints, earlier: Counts, fewest: int, scored: Flags
) -> tuple[Ints, Ints, Flags]:
    """Return (rank, number of scored participations, whether it is in the top) of every team."""
    teams = first_team[-1]
    rank, weight = np.zeros(teams, np.int64), np.zeros(teams, np.int64)
    top = np.zeros(teams, np.bool_)
    better = np.zeros(np.max(np.diff(first_team)) + 1, np.int64)
    for m in np.flatnonzero(scored):
        for i in range(rows.offsets[m], rows.offsets[m + 1]):
            t = first_team[m] + rows.team[i]
            rank[t] = rows.rank[i]
            if earlier[i] >= fewest:
                weight[t] += 1
        better[: first_team[m + 1] - first_team[m] + 1] = 0
        for t in range(first_team[m], first_team[m + 1]):
            better[rank[t] + 1] += 1
        for r in range(first_team[m + 1] - first_team[m]):
            better[r + 1] += better[r]
        for t in range(first_team[m], first_team[m + 1]):
            top[t] = better[rank[t]] < TOP
    return rank, weight, top


@kernel
def _members(rows: MatchColumns, first_team: Ints, earlier: Counts, scored: Flags) -> Ints:
    """Return how many participations of every team are in each group, shape (T, 3)."""
    members = np.zeros((first_team[-1], len(STARTS)), np.int64)
    for m in np.flatnonzero(scored):
        for i in range(rows.offsets[m], rows.offsets[m + 1]):
            group = 0
            while group + 1 < len(STARTS) and earlier[i] >= STARTS[group + 1]:
                group += 1
            members[first_team[m] + rows.team[i], group] += 1
    return members


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scored:
    """The participations and matches of a history that are scored.

    earlier : shape (N,), int32; earlier matches with a result of the player
    counted : shape (N,), int32; `earlier`, or all matches of the player
    fewest : participations with fewer in `counted` are left out
    teams : shape (M,), number of teams of every match
    played : shape (M,), whether a match is late enough and has a result
    scored, decided : shape (M,); whether a match is scored, and whether by its order too
    """

    history: History
    earlier: Counts
    counted: Counts
    fewest: int
    teams: Ints
    played: Flags
    scored: Flags
    decided: Flags

    @classmethod
    def of(
        cls, history: History, *, min_history: int, first: int, min_total: int | None = None
    ) -> Scored:
        """Return what is scored of matches from `first` on.

        min_history : fewest earlier matches of players who are scored [READINGS B9]
        min_total : instead, fewest matches of these players in the complete history, later ones
            included, as in the wording of [EM]_ sec. 6.3
        Raises : InvalidParameterError, and InvalidDataError if nothing is left
        """
        require(min_history >= 0, "min_history", "at least 0", min_history)
        require(min_total is None or min_total >= 0, "min_total", "at least 0", min_total)
        require(0 <= first <= history.matches, "first", f"from 0 to {history.matches}", first)
        teams = history.teams()
        all_tied = (teams > 2) & (history.distinct_ranks() == 1)
        has_result = (teams > 1) & ~all_tied
        earlier = _count_earlier(history.offsets, history.player, has_result, history.players)
        counted = earlier if min_total is None else _in_all(history, has_result)
        fewest = min_history if min_total is None else min_total
        tallies = cls(
            history=history,
            earlier=earlier,
            counted=counted,
            fewest=fewest,
            teams=teams,
            played=has_result & (np.arange(history.matches) >= first),
            # Computed by `with_fewest`.
            scored=has_result,
            decided=has_result,
        ).with_fewest(counted, fewest)
        if not tallies.scored.any():
            which = "earlier matches" if min_total is None else "matches in all"
            raise InvalidDataError(
                [],
                f"nothing to score: no match in this part has two players or teams with {fewest} "
                f"or more {which} that do not all tie{ADVICE}",
            )
        return tallies

    def with_fewest(self, counted: Counts, fewest: int) -> Scored:
        """Return what is scored of the same matches for other players; it may be empty.

        counted : shape (N,); participations with fewer than `fewest` are left out
        """
        history = self.history
        rows = MatchColumns(history.offsets, history.team, history.rank)
        left, decided = _what_is_left(rows, counted, fewest, int(self.teams.max(initial=0)))
        scored = self.played & (left > 1)
        return replace(
            self, counted=counted, fewest=fewest, scored=scored, decided=decided & scored
        )

    @property
    def everybody(self) -> bool:
        """Whether no player is left out."""
        return self.fewest == 0

    def participations(self) -> int:
        """Return the number of scored participations."""
        kept = np.add.reduceat(self.counted >= self.fewest, self.history.offsets[:-1], dtype=int)
        return int(kept[self.scored].sum())

    def predicted_teams(self, start: int, stop: int, outlook: Outlook) -> PredictedTeams:
        """Return the teams of matches start:stop, as they were predicted to perform.

        outlook : of the participations of these matches, or of their teams
        """
        rows, first_team, part = self._teams(start, stop)
        outlook = self.team_outlook(start, stop, outlook)
        rank, weight, top = _team_columns(
            rows, first_team, self.counted[part], self.fewest, self.scored[start:stop]
        )
        return PredictedTeams(
            offsets=first_team,
            centre=outlook.centre,
            variance=outlook.scale * outlook.scale,
            rank=rank,
            weight=weight,
            top=top,
            decided=self.decided[start:stop],
        )

    def team_outlook(self, start: int, stop: int, outlook: Outlook) -> Outlook:
        """Return the outlook of the teams of matches start:stop.

        outlook : of the participations of these matches, or of their teams
        """
        rows, first_team, _ = self._teams(start, stop)
        teams = int(first_team[-1])
        if teams == len(outlook.centre):
            return outlook
        matches = np.repeat(first_team[:-1], np.diff(rows.offsets))
        return outlook.of_teams(matches + rows.team, teams)

    def features(self, start: int, stop: int) -> tuple[Floats, Floats, Ints]:
        """Return the arguments of `features_of` for every team of matches start:stop."""
        rows, first_team, part = self._teams(start, stop)
        team = np.repeat(first_team[:-1], np.diff(rows.offsets)) + rows.team
        return member_features(self.earlier[part], team, int(first_team[-1]))

    def ranks(self, start: int, stop: int) -> tuple[Ints, Ints]:
        """Return the number of the first team of each match, and the rank of every team."""
        rows, first_team, _ = self._teams(start, stop)
        rank = np.zeros(int(first_team[-1]), np.int64)
        rank[np.repeat(first_team[:-1], np.diff(rows.offsets)) + rows.team] = rows.rank
        return first_team, rank

    def members(self, start: int, stop: int) -> Ints:
        """Return how many participations of every team of matches start:stop are in each group.

        Shape (T, 3), see `experience`; the teams are those of `predicted_teams`.
        """
        rows, first_team, part = self._teams(start, stop)
        return _members(rows, first_team, self.earlier[part], self.scored[start:stop])

    def _teams(self, start: int, stop: int) -> tuple[MatchColumns, Ints, slice]:
        """Return matches start:stop, the number of the first team of each, and their rows."""
        history = self.history
        part = slice(int(history.offsets[start]), int(history.offsets[stop]))
        offsets = history.offsets[start : stop + 1] - part.start
        first_team = np.concatenate([[0], np.cumsum(self.teams[start:stop])])
        return MatchColumns(offsets, history.team[part], history.rank[part]), first_team, part


def _in_all(history: History, has_result: Flags) -> Counts:
    """Return, for each participation, the player's number of all matches with a result."""
    counts = np.repeat(has_result, np.diff(history.offsets))
    counts_of_player = np.bincount(history.player[counts], minlength=history.players)
    return counts_of_player[history.player].astype(np.int32)


#: Columns of sums: participations scored by expected scores, by order, and by order among the top;
#: then the sums of the metrics; and at the end the participations scored by win, draw and loss, and
#: the sums of these metrics.
(
    ALL,
    DECIDED,
    TOP_GROUP,
    INVERSION,
    DEVIATION,
    INVERSION_TOP,
    DEVIATION_TOP,
    GAIN,
    LOG_LOSS,
    BRIER,
    OUTCOMES,
    OUTCOME_LOSS,
    RANKED_SCORE,
) = range(13)
#: Number of columns of sums.
SUMS = RANKED_SCORE + 1
#: For each of `METRICS` (column of its sum, column of the number of terms).
RATIOS = {
    "pair_inversion": (INVERSION, DECIDED),
    "rank_deviation": (DEVIATION, DECIDED),
    "pair_inversion_top100": (INVERSION_TOP, TOP_GROUP),
    "rank_deviation_top100": (DEVIATION_TOP, TOP_GROUP),
    "ndcg": (GAIN, DECIDED),
    "log_loss": (LOG_LOSS, ALL),
    "brier": (BRIER, ALL),
    "outcome_log_loss": (OUTCOME_LOSS, OUTCOMES),
    "rps": (RANKED_SCORE, OUTCOMES),
}


class Sums(NamedTuple):
    """Sums in the columns above.

    blocks : shape (blocks, SUMS)
    players, cells : shape (BLOCKS, SUMS), parts of the metrics that depend on a player: those of
        every player, and of every participation. Players and participations beyond share rows
    """

    blocks: Floats
    players: Floats
    cells: Floats


@inner_kernel
def add_teams(predicted: PredictedTeams, scores: Scores, block: Ints, sums: Sums) -> None:
    """Add the metrics of every team to the block of its match.

    block : shape (M,), rows of `sums.blocks`
    """
    for m in range(len(block)):
        row = sums.blocks[block[m]]
        for t in range(predicted.offsets[m], predicted.offsets[m + 1]):
            if predicted.weight[t] > 0:
                _add_all(row, m, t, predicted, scores, predicted.weight[t])


@inner_kernel
def _add_all(
    row: Floats, m: int, t: int, predicted: PredictedTeams, scores: Scores, weight: int
) -> None:
    """Add the metrics of a team, which count `weight` times, and those of its match."""
    decided = predicted.decided[m]
    row[ALL] += weight
    row[LOG_LOSS] += weight * scores.log_loss[t]
    row[BRIER] += weight * scores.brier[t]
    if decided:
        row[DECIDED] += weight
        row[INVERSION] += weight * scores.pair_inversion[t]
        row[DEVIATION] += weight * scores.rank_deviation[t]
        row[GAIN] += weight * scores.gain[m]
    if not math.isnan(scores.rps[m]):
        row[OUTCOMES] += weight
        row[OUTCOME_LOSS] += weight * scores.outcome_log_loss[m]
        row[RANKED_SCORE] += weight * scores.rps[m]
    if decided and predicted.top[t]:
        row[TOP_GROUP] += weight
        row[INVERSION_TOP] += weight * scores.pair_inversion[t]
        row[DEVIATION_TOP] += weight * scores.rank_deviation[t]


@inner_kernel
def add_participations(
    predicted: PredictedTeams,
    scores: Scores,
    match: Ints,
    team: Ints,
    player: Ints,
    first: int,
    counts: Flags,
    sums: Sums,
) -> None:
    """Add the metrics of each participation's team to the player's row, and to its own.

    match, team : shape (n,), rows of `PredictedTeams`; counts : shape (n,), whether it is scored
    first : number of the first participation in the history
    """
    for i in range(len(team)):
        if not counts[i] or predicted.weight[team[i]] == 0:
            continue
        # The score of a team counts for every member, and so does what opponents have of it.
        part = 2 * predicted.weight[team[i]]
        # Participations that share a row are far apart, whatever the period of a schedule.
        cell = int(BLOCKS * ((first + i + 1.0) * GOLDEN % 1.0))
        _add_all(sums.players[player[i] % BLOCKS], match[i], team[i], predicted, scores, part)
        _add_all(sums.cells[cell], match[i], team[i], predicted, scores, part)


class TallyParts(NamedTuple):
    """The sums of a tally; see `Tally`."""

    sums: Sums
    calibration: Floats
    by_experience: Floats | None
    outcomes: tuple[Outcomes, ...]


class Tally:
    """The sums of one system, added up piece after piece.

    It keeps nothing for every match: every worker of a search has one, but all share the history.

    scored : the participations that are scored
    sums : see `Sums`
    calibration : see `Scores`
    by_experience : shape (blocks, groups, columns), see `experience`; None without
        scores by experience
    outcomes : predictions of scored matches of two teams, piece after piece; only if kept
    """

    def __init__(self, scored: Scored, by_experience: bool = False) -> None:
        self.scored = scored
        self.outcomes: tuple[Outcomes, ...] = ()
        every = int(scored.scored.sum())
        self._length = max(math.ceil(every / BLOCKS), 1)
        # Of how many matches it is known how many are scored, and this number.
        self._counted = (0, 0)
        self.sums = Sums(
            np.zeros((math.ceil(every / self._length), SUMS)),
            *np.zeros((2, BLOCKS, SUMS)),
        )
        self.calibration = np.zeros(CALIBRATION)
        blocks = len(self.sums.blocks)
        self.by_experience = np.zeros((blocks, GROUPS, COLUMNS)) if by_experience else None

    def kept_outcomes(self) -> Outcomes:
        """Return the predictions of all pieces."""
        return Outcomes(*(np.concatenate(column) for column in zip(*self.outcomes, strict=True)))

    def parts(self) -> TallyParts:
        """Return the sums without what is scored, to be passed between processes."""
        return TallyParts(self.sums, self.calibration, self.by_experience, self.outcomes)

    @classmethod
    def of_parts(cls, scored: Scored, parts: TallyParts) -> Tally:
        """Return the tally of which these are the `parts`."""
        tally = cls(scored, parts.by_experience is not None)
        tally.sums, tally.calibration, tally.by_experience, tally.outcomes = parts
        return tally

    def add(self, start: int, stop: int, predicted: PredictedTeams, scores: Scores) -> None:
        """Add the metrics of matches start:stop."""
        scored = self.scored
        block = self._blocks(start, stop)
        add_teams(predicted, scores, block, self.sums)
        offsets = scored.history.offsets[start : stop + 1]
        rows = slice(int(offsets[0]), int(offsets[-1]))
        match = np.repeat(np.arange(stop - start), np.diff(offsets))
        team = predicted.offsets[match] + scored.history.team[rows]
        counts = scored.counted[rows] >= scored.fewest
        player = scored.history.player[rows]
        add_participations(predicted, scores, match, team, player, rows.start, counts, self.sums)
        self.calibration += scores.calibration
        if self.by_experience is not None:
            np.add.at(self.by_experience, block, scores.by_experience)

    def _blocks(self, start: int, stop: int) -> Ints:
        """Return the block of each of the matches start:stop."""
        known, number = self._counted if self._counted[0] <= start else (0, 0)
        number += int(np.count_nonzero(self.scored.scored[known:start]))
        so_far = number + np.cumsum(self.scored.scored[start:stop])
        self._counted = (stop, int(so_far[-1]) if stop > start else number)
        blocks: Ints = np.maximum(so_far - 1, 0) // self._length
        return blocks

    def metrics(self, group: int | None = None) -> dict[str, float]:
        """Return every metric, of all that is scored or of a group; NaN if nothing is scored."""
        total = self.sums_of(group).blocks.sum(axis=0)
        ratios = RATIOS if group is None else GROUP_RATIOS
        return {name: _ratio(total, *columns) for name, columns in ratios.items()}

    def sums_of(self, group: int | None) -> Sums:
        """Return the sums of a group of `experience`, of which only those of blocks are known.

        group : None returns those of all that is scored
        """
        if group is None:
            return self.sums
        none = np.zeros((0, COLUMNS))
        blocks = np.zeros((len(self.sums.blocks), COLUMNS))
        if self.by_experience is not None:
            blocks = self.by_experience[:, group]
        return Sums(blocks, none, none)

    def participations(self, group: int | None = None) -> int:
        """Return the number of participations that are scored, or in a group."""
        if group is None:
            return self.scored.participations()
        return round(float(self.sums_of(group).blocks[:, PLAYERS].sum()))

    def calibrated(self) -> Calibration:
        """Return the calibration: expected and observed scores by bin."""
        bins = both_sides(self.calibration)
        weight = bins[:, 0]
        with np.errstate(invalid="ignore"):
            expected, observed = bins[:, 1:].T / weight
        return Calibration(participations=weight, expected=expected, observed=observed)


def _ratio(sums: Floats, column: int, of: int) -> float:
    return float(sums[column] / sums[of]) if sums[of] > 0 else math.nan


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


def sampled(
    sums: Sums, drawn: Ints, ratios: Mapping[str, tuple[int, int]] = RATIOS
) -> dict[str, Sampled]:
    """Return every metric in every resample, with the sums that widen its interval."""
    values = resampled(sums.blocks, drawn, ratios)
    parts = (sums.blocks, sums.players, sums.cells)
    return {
        name: Sampled(values[name], *(part[:, columns] for part in parts))
        for name, columns in ratios.items()
    }


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
    values = {}
    for name, (column, of) in ratios.items():
        weight = sums[:, of]
        # Rounding may leave a trace of a score in a group without pairs.
        with np.errstate(invalid="ignore", divide="ignore"):
            values[name] = np.where(weight > 0, sums[:, column] / weight, np.nan)
    return values


class Sampled(NamedTuple):
    """A metric of a system, or the difference of two, as intervals need it.

    values : shape (resamples,); matches, players, cells : shape (rows, 2), the sum of scores and
        their number; without rows of players, matches count as independent
    """

    values: Floats
    matches: Floats
    players: Floats
    cells: Floats

    def less(self, other: Sampled) -> Sampled:
        """Return the difference from another system, of which the same is scored."""
        values, *parts = (number - another for number, another in zip(self, other, strict=True))
        for difference, part in zip(parts, self[1:], strict=True):
            difference[:, 1] = part[:, 1]
        return Sampled(values, *parts)

    def scored(self) -> int:
        """Return the number of matches, at most `BLOCKS`."""
        return len(_scored(self.matches))

    def interval(self, confidence: float) -> Interval:
        """Return the interval by matches and players; NaN without a value."""
        lower, upper = interval(self.values, confidence)
        if math.isnan(lower):
            return lower, upper
        value, _ = self._value()
        half = 0.5 * (upper - lower) * self._wider(confidence)
        return value - half, value + half

    def _value(self) -> tuple[float, float]:
        """Return the metric and its number of terms."""
        total, terms = self.matches.sum(axis=0).tolist()
        return total / terms, terms

    def _wider(self, confidence: float) -> float:
        """Return the width of the interval over that of the percentiles."""
        value, terms = self._value()
        matches, players = _scored(self.matches), _scored(self.players)
        if len(matches) < 2:
            return 1.0

        def squares(part: Floats) -> Floats:
            return np.asarray((part[:, 0] - value * part[:, 1]) ** 2)

        def between(part: Floats) -> float:
            left = np.maximum(1.0 - part[:, 1] / terms, _LEAST_LEFT)
            return float(np.sum(squares(part) / left)) * len(part) / (len(part) - 1)

        plain, total = float(np.sum(squares(matches))), between(matches)
        count = len(matches)
        if len(players) > 2:
            total += max(between(players) - float(np.sum(squares(self.cells))), 0.0)
            count = min(count, len(players))
        if plain == 0:
            return 1.0
        return _student(confidence, count - 1) * math.sqrt(total / plain)


def _scored(part: Floats) -> Floats:
    """Return the rows in which something is scored."""
    return part[part[:, 1] > 0]


def _student(confidence: float, freedom: float) -> float:
    """Return the width of an interval of Student's distribution over that of the normal one.

    A series in 1/freedom: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    z = NormalDist().inv_cdf(0.5 + 0.5 * confidence) ** 2
    first = (z + 1) / 4
    second = ((5 * z + 16) * z + 3) / 96
    third = (((3 * z + 19) * z + 17) * z - 15) / 384
    return 1 + (first + (second + third / freedom) / freedom) / freedom


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
