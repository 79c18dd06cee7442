"""A curve that corrects chances, learned along a history from earlier matches only.

A system whose chances are too sure, or too careful, stays so. The curve gives every team t another
centre and scale, with the outlook's own c_t and s_t, and so corrects whatever follows from them:

    scale_t = s_t exp(-a . f_t),    centre_t = c_t + s_t b . f_t,
    f_t = (1, mean of 1/sqrt(1 + n) over the members, share of newcomers, ln(number of members)),

with n earlier matches of a member, 0 for a newcomer. a is the scale, b the tilt: newcomers may be
better or worse than their ratings say, and so may large teams. With a = b = 0 nothing changes. The
first component of b has no effect, as it adds the same to all teams of equal scale.

The eight numbers minimise the logarithmic loss of the pairs of the matches so far, one Newton step
after each match, with the expected instead of the observed second derivatives (extended Kalman
filter: K. P. Murphy, Probabilistic Machine Learning: Advanced Topics, 2023, section 8.3). A match
of n teams weighs n/2 pairs: each team has up to eight opponents, as in `metrics`. A ridge of 20
pulls towards no correction, so a short history is hardly corrected. Each match also forgets 1/2000
of what earlier ones told, because systems drift with their players. Both were compared on first
halves of histories (benchmarks/results/calibration.md).

A pool that calibrates has its curve in `State.shared` under `CALIBRATION`: `learn` lets it follow
matches that were just rated, and `corrected` corrects the outlook of the teams of a coming match.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from equipoise._jit import inner_kernel, kernel
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.history import History
from equipoise.data.outlook import Outlook
from equipoise.display import HALF_WIDTH
from equipoise.numeric.functions import score_curve
from equipoise.rating.contexts import OFFSET, OFFSET_VARIANCE
from equipoise.rating.head_start import HEAD_START
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem

#: Name in `State.shared` of a curve: its eight numbers, the lower triangle of their precision by
#: rows, and how many matches it has followed. Absent: the pool does not calibrate.
CALIBRATION = "calibration"
#: Opponents of a team in a large match.
OPPONENTS = 8
#: Any number of its multiples, modulo 1, is spread as evenly over [0, 1) as possible.
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
#: Features of a team, and numbers of a curve.
FEATURES = 4
NUMBERS = 2 * FEATURES
#: Weight of no correction, in pairs with a feature of 1.
RIDGE = 20.0
#: Part of the past that a match forgets.
FORGET = 1.0 / 2000.0
#: Largest change of a number by one match.
_LARGEST_STEP = 0.5
#: Step of the differences of an expected score.
_DIFFERENCE = 1e-5
#: Least probability that derivatives are taken at.
_LEAST = 1e-12


class CurveTeams(NamedTuple):
    """The teams of some matches.

    offsets : shape (M + 1,); centre, scale : shape (T,), as the system predicts
    rank : shape (T,); features : shape (T, 4)
    """

    offsets: Ints
    centre: Floats
    scale: Floats
    rank: Ints
    features: Floats


class CurveState(NamedTuple):
    """A curve and how much is known of it, which kernels change.

    numbers : shape (8,), a then b; precision : shape (8, 8)
    gradient, slope : shape (8,), working; information : shape (8, 8), working
    """

    numbers: Floats
    precision: Floats
    gradient: Floats
    slope: Floats
    information: Floats


class CurveConstants(NamedTuple):
    """See `RIDGE` and `FORGET`."""

    ridge: float = RIDGE
    forget: float = FORGET


def new_curve(constants: CurveConstants) -> CurveState:
    """Return a curve that corrects nothing."""
    return CurveState(
        np.zeros(NUMBERS),
        constants.ridge * np.eye(NUMBERS),
        np.zeros(NUMBERS),
        np.zeros(NUMBERS),
        np.zeros((NUMBERS, NUMBERS)),
    )


@inner_kernel
def _correct(teams: CurveTeams, t: int, numbers: Floats) -> tuple[float, float]:
    """Return the corrected (centre, scale) of a team."""
    scale, tilt = 0.0, 0.0
    for k in range(FEATURES):
        scale += numbers[k] * teams.features[t, k]
        tilt += numbers[FEATURES + k] * teams.features[t, k]
    return teams.centre[t] + tilt * teams.scale[t], teams.scale[t] * math.exp(-scale)


@inner_kernel
def _add_pair(
    teams: CurveTeams, pair: tuple[int, int], centre: Floats, scale: Floats, normal: bool,
    weight: float, curve: CurveState,
) -> None:  # fmt: skip
    """Add the derivatives of the loss of a pair."""
    i, j = pair
    variance_i, variance_j = scale[i] * scale[i], scale[j] * scale[j]
    width = math.sqrt(variance_i + variance_j)
    z = (centre[i] - centre[j]) / width
    score = 0.5 * (teams.rank[i] < teams.rank[j]) + 0.5 * (teams.rank[i] <= teams.rank[j])
    # d loss/dz = (p - score) p'/(p (1 - p)), and its expected derivative p'^2/(p (1 - p)).
    p, ratio = score_curve(z, normal)
    first, second = (p - score) * ratio, p * (1.0 - p) * ratio * ratio
    share = z / (variance_i + variance_j)
    for k in range(FEATURES):
        one, other = teams.features[i, k], teams.features[j, k]
        curve.slope[k] = share * (variance_i * one + variance_j * other)
        curve.slope[FEATURES + k] = (teams.scale[i] * one - teams.scale[j] * other) / width
    for k in range(NUMBERS):
        curve.gradient[k] += weight * first * curve.slope[k]
        for n in range(k + 1):
            curve.information[k, n] += weight * second * curve.slope[k] * curve.slope[n]


@inner_kernel
def _step(curve: CurveState, constants: CurveConstants) -> None:
    """Move the numbers by a Newton step: Cholesky's decomposition, forward and back."""
    lower, x = curve.information, curve.gradient
    for k in range(NUMBERS):
        x[k] += constants.forget * constants.ridge * curve.numbers[k]
        for n in range(k + 1):
            curve.precision[k, n] *= 1.0 - constants.forget
            curve.precision[k, n] += lower[k, n]
            if n == k:
                curve.precision[k, k] += constants.forget * constants.ridge
            lower[k, n] = curve.precision[k, n]
    for k in range(NUMBERS):
        for n in range(k + 1):
            for i in range(n):
                lower[k, n] -= lower[k, i] * lower[n, i]
            lower[k, n] = math.sqrt(lower[k, k]) if n == k else lower[k, n] / lower[n, n]
        for i in range(k):
            x[k] -= lower[k, i] * x[i]
        x[k] /= lower[k, k]
    largest = 0.0
    for k in range(NUMBERS - 1, -1, -1):
        for i in range(k + 1, NUMBERS):
            x[k] -= lower[i, k] * x[i]
        x[k] /= lower[k, k]
        largest = max(largest, abs(x[k]))
    shorter = min(1.0, _LARGEST_STEP / largest) if largest > 0.0 else 0.0
    for k in range(NUMBERS):
        curve.numbers[k] -= shorter * x[k]


@inner_kernel
def _has_result(teams: CurveTeams, start: int, stop: int) -> bool:
    """Return whether a match tells something: not all of three or more teams tie, none is NaN."""
    tied, known = True, stop - start > 1
    for t in range(start, stop):
        tied &= teams.rank[t] == teams.rank[start]
        known &= not math.isnan(teams.centre[t])
    return known and (stop - start == 2 or not tied)


@kernel
def follow(
    teams: CurveTeams, first_match: int, normal: bool, constants: CurveConstants, curve: CurveState
) -> tuple[Floats, Floats]:
    """Correct each match by the curve of earlier ones, then learn from it.

    Return the corrected centres and scales, shape (T,).
    """
    centre, scale = np.empty(len(teams.centre)), np.empty(len(teams.centre))
    for m in range(len(teams.offsets) - 1):
        start, stop = teams.offsets[m], teams.offsets[m + 1]
        for t in range(start, stop):
            centre[t], scale[t] = _correct(teams, t, curve.numbers)
        if not _has_result(teams, start, stop):
            continue
        curve.gradient[:] = 0.0
        curve.information[:] = 0.0
        count = stop - start
        rings = min(count - 1, OPPONENTS)
        shift = (first_match + m + 1) * GOLDEN
        shift -= math.floor(shift)
        for turn in range(rings):
            ahead = 1 + turn
            if count - 1 > OPPONENTS:
                ahead = 1 + int((turn + shift) * (count - 1) / OPPONENTS)
            for i in range(count):
                pair = (start + i, start + (i + ahead) % count)
                _add_pair(teams, pair, centre, scale, normal, 0.5 / rings, curve)
        _step(curve, constants)
    return centre, scale


def features_of(newness: Floats, newcomers: Floats, members: Ints) -> Floats:
    """Return the features of teams, shape (T, 4).

    newness, newcomers : shape (T,), means of 1/sqrt(1 + n) and of n = 0 over the members
    members : shape (T,), their number
    """
    return np.column_stack([np.ones(len(newness)), newness, newcomers, np.log(members)])


def member_features(earlier: ArrayLike, team: Ints, teams: int) -> tuple[Floats, Floats, Ints]:
    """Return the arguments of `features_of` for teams.

    earlier : shape (n,), matches of each player before; team : shape (n,), the player's team
    """
    members = np.bincount(team, minlength=teams)
    newness, newcomers = (
        np.bincount(team, values, teams) / members for values in experience_of(earlier)
    )
    return newness, newcomers, members


def experience_of(earlier: ArrayLike) -> Floats:
    """Return 1/sqrt(1 + n) and whether n is 0, shape (2, players), n their earlier matches."""
    matches = np.asarray(earlier, np.float64)
    return np.stack([1.0 / np.sqrt(1.0 + matches), matches == 0.0])


def outlook_before(system: RatingSystem, trace: Mapping[str, Floats], history: History) -> Outlook:
    """Return how players were expected to perform before each match of a history.

    trace : its columns, with `HEAD_START` if the system learns its home advantage
    """
    rating, deviation = trace["rating_before"], trace["deviation_before"]
    if OFFSET in trace:
        rating = rating + trace[OFFSET]
        deviation = np.sqrt(deviation**2 + trace[OFFSET_VARIANCE])
    if HEAD_START in trace:
        return system.outlook(rating + trace[HEAD_START], deviation)
    return system.outlook(rating, deviation, history)


#: Rows and columns of the part of the precision that the kernels read.
_LOWER = np.tril_indices(NUMBERS)
#: Length of `State.shared[CALIBRATION]`.
STORED = NUMBERS + len(_LOWER[0]) + 1


def start_calibrating(state: State) -> None:
    """Give a pool a curve that corrects nothing, unless it has one."""
    if CALIBRATION not in state.shared:
        precision = new_curve(CurveConstants()).precision[_LOWER]
        state.shared[CALIBRATION] = np.concatenate([np.zeros(NUMBERS), precision, [0.0]])


def learn(
    system: RatingSystem,
    state: State,
    history: History,
    start: int,
    stop: int,
    trace: Mapping[str, Floats],
) -> None:
    """Let the curve of a pool follow matches start:stop, which were just rated.

    state : after these matches
    trace : columns of the history, with `HEAD_START` if the system learns its home advantage
    """
    part = slice(int(history.offsets[start]), int(history.offsets[stop]))
    columns = {name: values[part] for name, values in trace.items()}
    history = history.slice(start, stop)
    outlook = outlook_before(system, columns, history)
    first_team = np.concatenate([[0], np.cumsum(history.teams())])
    team = np.repeat(first_team[:-1], history.sizes()) + history.team
    count = int(first_team[-1])
    teams = outlook.of_teams(team, count)
    rank = np.zeros(count, np.int64)
    rank[team] = history.rank
    after = system.at(state, history.player, None)["matches"]
    earlier = _earlier(after, history.player, np.isfinite(columns["rating"]))
    features = features_of(*member_features(earlier, team, count))
    stored = state.shared[CALIBRATION].copy()
    constants = CurveConstants()
    curve = new_curve(constants)
    curve.numbers[:] = stored[:NUMBERS]
    curve.precision[_LOWER] = stored[NUMBERS:-1]
    followed = int(stored[-1])
    rows = CurveTeams(first_team, teams.centre, teams.scale, rank, features)
    follow(rows, followed, teams.curve == "normal", constants, curve)
    stored[:NUMBERS], stored[NUMBERS:-1] = curve.numbers, curve.precision[_LOWER]
    stored[-1] = followed + history.matches
    state.shared[CALIBRATION] = stored


def _earlier(after: Floats, player: Ints, rated: Flags) -> Floats:
    """Return the matches of each participation's player before it, shape (N,).

    after : matches of the player after all of them; rated : whether the participation is counted
    """
    order = np.argsort(player, kind="stable")
    players, counts = player[order], np.cumsum(rated[order])
    last = counts[np.searchsorted(players, players, side="right") - 1]
    earlier = np.empty(len(player))
    earlier[order] = after[order] - (last - counts + rated[order])
    return earlier


class LearnedCurve(NamedTuple):
    """A curve that corrects chances, and how many matches each player has had.

    numbers : shape (8,) or longer, without units: scale and tilt; the state of a pool that
        calibrates begins with them
    earlier : matches so far by id of the player; players who are not in it are newcomers
    """

    numbers: Floats
    earlier: Mapping[int | str, float]


def corrected(numbers: Floats, teams: Outlook, team: Ints, earlier: Floats) -> Outlook:
    """Return the outlook of teams as a curve corrects it.

    numbers : of the curve; those of `State.shared[CALIBRATION]` begin with them
    team : shape (n,), the team of each player; earlier : shape (n,), the matches before
    """
    features = features_of(*member_features(earlier, team, len(teams.centre)))
    centre, scale = corrected_by(numbers, features, teams.centre, teams.scale)
    return replace(teams, centre=centre, scale=scale)


def calibrated_range(stored: Floats, expected: Callable[[Floats], float]) -> tuple[float, float]:
    """Return the 95 % range of an expected score by how well the numbers of a curve are known.

    Their covariance is the inverse of the precision; the log odds are taken to be linear in them.

    stored : `State.shared[CALIBRATION]`; expected : the score that follows from the numbers
    """
    precision = np.zeros((NUMBERS, NUMBERS))
    precision[_LOWER] = stored[NUMBERS:-1]
    precision += np.tril(precision, -1).T
    score = min(max(expected(stored[:NUMBERS]), _LEAST), 1.0 - _LEAST)
    steps = _DIFFERENCE * np.eye(NUMBERS)
    slope = np.array(
        [expected(stored[:NUMBERS] + step) - expected(stored[:NUMBERS] - step) for step in steps]
    )
    slope /= 2.0 * _DIFFERENCE * score * (1.0 - score)
    half = HALF_WIDTH * math.sqrt(slope @ np.linalg.solve(precision, slope))
    centre = math.log(score / (1.0 - score))
    low, high = (1.0 / (1.0 + math.exp(-odds)) for odds in (centre - half, centre + half))
    return low, high


def corrected_sums(
    numbers: Floats, sums: Floats, centre: Floats, scale: Floats
) -> tuple[Floats, Floats]:
    """Return centres and scales of teams as a curve corrects them.

    sums : over the teams' players, shape (rows, ...); row 0 counts them, and the last two rows are
        of 1/sqrt(1 + n) and of n = 0, n the earlier matches of a player
    """
    features = [np.ones_like(centre), *(sums[-2:] / sums[0]), np.log(sums[0])]
    return corrected_by(numbers, np.stack(features, axis=-1), centre, scale)


def corrected_by(
    numbers: Floats, features: Floats, centre: Floats, scale: Floats
) -> tuple[Floats, Floats]:
    """Return centres and scales of teams as a curve corrects them, of any one shape.

    features : shape (..., 4)
    """
    narrower = (features * numbers[:FEATURES]).sum(axis=-1)
    tilt = (features * numbers[FEATURES:NUMBERS]).sum(axis=-1)
    return centre + tilt * scale, scale * np.exp(-narrower)
