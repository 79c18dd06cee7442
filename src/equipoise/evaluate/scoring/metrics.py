"""All metrics of a prediction: order, logarithmic and quadratic loss, calibration.

The score s of a pair is 1 for a win, 1/2 for a tie, 0 for a loss, and p is the expected score. The
logarithmic loss is -s ln p - (1 - s) ln(1 - p), in nats; the quadratic (Brier) loss is (s - p)^2. A
team's loss is the mean over its opponents. In matches of up to `all_pairs` teams, these are all
other teams. In larger matches, there are eight. To choose them, the teams are placed on a circle in
the order of the result, with ties in the order of rows. A team's opponents are at eight distances
on the circle, spread evenly from a start that differs between matches. The mean over the teams of a
match is then the mean over eight such rings of pairs, of all that together have all pairs. Neither
system nor prediction influences which pairs are chosen, and errors of different matches cancel.
Where all teams are predicted equal, the losses of all pairs follow from the sizes of the ties.

`order` defines the metrics of the order of a match [EM]_ sec. 6.2, and the parts of all metrics by
the number of earlier matches.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel
from equipoise.arrays import Flags, Floats, Ints
from equipoise.evaluate.scoring.order import (
    BRIER,
    CHANCES,
    GROUPS,
    LOG_LOSS,
    Experience,
    MatchTeams,
    OrderScores,
    Places,
    add_even_pairs,
    add_order,
    begin_match,
    experience_room,
    members_in,
    room_for,
    score_order,
    sort_by_prediction,
)
from equipoise.numeric.functions import exp, normal_cdf
from equipoise.rating.calibration_curve import GOLDEN, OPPONENTS

#: Bins of equal width in which expected scores are compared with observed ones.
BINS = 10
#: Limit of a product of loss factors, above which its logarithm is taken before it overflows.
_LARGE = 1e280
#: Shape of the calibration: a row for even pairs, then the bins from one half on.
CALIBRATION = (BINS // 2 + 1, 3)


class PairRoom(NamedTuple):
    """Buffers for the teams of one match: differences, their tails, and loss factors."""

    z: Floats
    tail: Floats
    factor: Floats


@inner_kernel
def _differences(ranked: MatchTeams, start: int, stop: int, ahead: int, z: Floats) -> None:
    """Fill z[start:stop] with the scaled differences of each team and the team `ahead` of it."""
    for i in range(start, stop):
        variance = ranked.variance[i] + ranked.variance[i + ahead]
        z[i] = (ranked.centre[i] - ranked.centre[i + ahead]) / math.sqrt(variance)


@inner_kernel
def _tails(count: int, z: Floats, tail: Floats) -> None:
    """Fill tail[:count] with e^-|z|."""
    for i in range(count):
        tail[i] = exp(-abs(z[i]))


@inner_kernel
def _score(ranked: MatchTeams, i: int, j: int) -> float:
    """Return the score of i against j."""
    # Without branches, as the processor could not predict them.
    won, not_lost = ranked.rank[i] < ranked.rank[j], ranked.rank[i] <= ranked.rank[j]
    points: float = 0.5 * won + 0.5 * not_lost
    return points


@inner_kernel
def _loss(z: float, tail: float, s: float, normal: bool) -> tuple[float, float, float]:
    """Return the expected score p and (a, b) of the loss a + ln b.

    For the logistic curve -s ln p - (1 - s) ln(1 - p) = max(z, 0) - s z + ln(1 + e^-|z|). Factors
    b from 1 to 2 can be multiplied before the one logarithm is taken.
    """
    if normal:
        p, q = normal_cdf(z), normal_cdf(-z)
        return p, -s * math.log(p) - (1.0 - s) * math.log(q), 1.0
    smaller = tail / (1.0 + tail)
    return (1.0 - smaller if z >= 0.0 else smaller), max(z, 0.0) - s * z, 1.0 + tail


@inner_kernel
def _note(calibration: Floats, p: float, s: float, weight: float) -> None:
    """Add a pair, seen from the side of the favourite, to its bin."""
    favoured = 1.0 if p >= 0.5 else 0.0
    expected = favoured * p + (1.0 - favoured) * (1.0 - p)
    observed = favoured * s + (1.0 - favoured) * (1.0 - s)
    row = min(int(BINS * expected), BINS - 1) - BINS // 2 + 1
    row = 0 if p == 0.5 else row
    calibration[row, 0] += weight
    calibration[row, 1] += weight * expected
    calibration[row, 2] += weight * observed


def both_sides(calibration: Floats) -> Floats:
    """Return the calibration, shape (BINS, 3), with half of each pair seen from either side.

    Both sides of an even pair are in the bin above one half.
    """
    above, even = 0.5 * calibration[1:], calibration[0, 0]
    below = np.column_stack([above[:, :1], above[:, :1] - above[:, 1:]])[::-1]
    bins: Floats = np.concatenate([below, above])
    bins[BINS // 2] += (even, 0.5 * even, 0.5 * even)
    return bins


@inner_kernel
def is_even(ranked: MatchTeams, count: int) -> bool:
    """Return whether all teams are predicted equal."""
    even = True
    for i in range(1, count):
        even &= ranked.centre[i] == ranked.centre[0]
    return even


@inner_kernel
def score_even_pairs(
    ranked: MatchTeams, count: int, better: Ints, weight: Ints, scores: Scores
) -> None:
    """Score all pairs of a match in which every expected score is one half."""
    for i in range(count):
        rank, team = ranked.rank[i], ranked.team[i]
        decided = (count - (better[rank + 1] - better[rank])) / (count - 1.0)
        scores.log_loss[team] = math.log(2.0)
        scores.brier[team] = 0.25 * decided
        _note(scores.calibration, 0.5, 0.5, weight[team])


@inner_kernel
def score_all_pairs(
    ranked: MatchTeams, count: int, weight: Ints, normal: bool, scores: Scores
) -> None:
    """Score every pair of a match. weight : of the predicted teams, participations."""
    share = 1.0 / (count - 1.0)
    for i in range(count):
        one = ranked.team[i]
        for j in range(i + 1, count):
            other = ranked.team[j]
            variance = ranked.variance[i] + ranked.variance[j]
            z = (ranked.centre[i] - ranked.centre[j]) / math.sqrt(variance)
            s = _score(ranked, i, j)
            p, loss, factor = _loss(z, exp(-abs(z)), s, normal)
            log_loss = share * (loss + math.log(factor))
            brier = share * (s - p) * (s - p)
            for team in (one, other):
                scores.log_loss[team] += log_loss
                scores.brier[team] += brier
            _note(scores.calibration, p, s, share * (weight[one] + weight[other]))


@inner_kernel
def add_all_pairs(
    ranked: MatchTeams, count: int, normal: bool, room: PairRoom, match: int, experience: Experience
) -> None:
    """Add the losses of every pair of a match to the group of its less experienced player."""
    for ahead in range(1, count):
        _differences(ranked, 0, count - ahead, ahead, room.z)
        _differences(ranked, count - ahead, count, ahead - count, room.z)
        _tails(count, room.z, room.tail)
        _add_circle(ranked, count, ahead, 1.0 / (count - 1.0), normal, room, match, experience)


@inner_kernel
def _add_circle(
    ranked: MatchTeams,
    count: int,
    ahead: int,
    share: float,
    normal: bool,
    room: PairRoom,
    match: int,
    experience: Experience,
) -> None:
    """Add the losses of every team against the team `ahead` of it to the groups below the last.

    share : weight of each pair; room : has the differences of these pairs and their tails
    """
    product = (1.0, 1.0)
    for i in range(count):
        j = i + ahead if i + ahead < count else i + ahead - count
        if experience.least[i] == 2 and experience.best[j] == 2:
            continue
        s = _score(ranked, i, j)
        p, loss, factor = _loss(room.z[i], room.tail[i], s, normal)
        brier, team = (s - p) * (s - p), ranked.team[i]
        for group in range(GROUPS):
            weight = members_in(experience.members, team, experience.best[j], group)
            if weight == 0:
                continue
            sums = experience.sums[match, group]
            sums[CHANCES] += share * weight
            sums[BRIER] += share * weight * brier
            sums[LOG_LOSS] += share * weight * loss
            if weight > 1:
                sums[LOG_LOSS] += share * weight * math.log(factor)
            elif group == 0:
                product = (product[0] * factor, product[1])
            else:
                product = (product[0], product[1] * factor)
        if max(product) > _LARGE:
            _flush(product, share, match, experience)
            product = (1.0, 1.0)
    _flush(product, share, match, experience)


@inner_kernel
def _flush(product: tuple[float, float], share: float, match: int, experience: Experience) -> None:
    """Add the logarithms of products of loss factors."""
    experience.sums[match, 0, LOG_LOSS] += share * math.log(product[0])
    experience.sums[match, 1, LOG_LOSS] += share * math.log(product[1])


@inner_kernel
def score_some_pairs(
    ranked: MatchTeams,
    count: int,
    numbers: tuple[int, int],
    weight: Ints,
    normal: bool,
    room: PairRoom,
    scores: Scores,
    experience: Experience,
) -> None:
    """Score eight pairs of every team, also by experience where `experience` has members.

    numbers : of the match in the history and in `PredictedTeams`
    """
    number, match = numbers
    share = 1.0 / OPPONENTS
    shift = (number + 1) * GOLDEN
    shift -= math.floor(shift)
    room.factor[:count] = 1.0
    for turn in range(OPPONENTS):
        ahead = 1 + int((turn + shift) * (count - 1) / OPPONENTS)
        _differences(ranked, 0, count - ahead, ahead, room.z)
        _differences(ranked, count - ahead, count, ahead - count, room.z)
        _tails(count, room.z, room.tail)
        for i in range(count):
            j = i + ahead if i + ahead < count else i + ahead - count
            team = ranked.team[i]
            s = _score(ranked, i, j)
            p, loss, factor = _loss(room.z[i], room.tail[i], s, normal)
            room.factor[i] *= factor
            scores.log_loss[team] += share * loss
            scores.brier[team] += share * (s - p) * (s - p)
            _note(scores.calibration, p, s, share * weight[team])
        if len(experience.members) > 0:
            _add_circle(ranked, count, ahead, share, normal, room, match, experience)
    for i in range(count):
        scores.log_loss[ranked.team[i]] += share * math.log(room.factor[i])


class PredictedTeams(NamedTuple):
    """The teams of some matches, T in M of them, and how they were predicted to perform.

    offsets : shape (M + 1,); the teams of match m are offsets[m]:offsets[m + 1]
    centre, variance : shape (T,); of performances, the variance in units of the curve
    rank : shape (T,), from 0 within the match
    weight : shape (T,), number of scored participations of the team; 0 leaves it out
    top : shape (T,), whether the team was among the first of all teams of the match
    decided : shape (M,), whether the scored teams have different ranks
    """

    offsets: Ints
    centre: Floats
    variance: Floats
    rank: Ints
    weight: Ints
    top: Flags
    decided: Flags


class Rule(NamedTuple):
    """Rules of scoring.

    as_authors : count pairs predicted equal as correct, with places in the order of the result
    normal : the curve of expected scores is normal, not logistic
    all_pairs : largest number of teams of a match of which every pair is scored
    """

    as_authors: bool
    normal: bool
    all_pairs: int


class Room(NamedTuple):
    """Buffers for the teams of the largest match."""

    ranked: MatchTeams
    places: Places
    pairs: PairRoom


class Scores(NamedTuple):
    """Metrics of every team (0 if it is left out) and match.

    pair_inversion, rank_deviation : shape (T,), percent; 0 in matches that are not decided
    log_loss, brier : shape (T,)
    gain : shape (M,), normalised discounted cumulative gain, 0 in matches not decided
    calibration : shape CALIBRATION; participations, expected and observed score of even pairs and
        of each bin above 1/2, from the side of the favourite
    by_experience : shape (M, groups, columns), see `experience`; zero if not requested
    outcome_log_loss, rps : shape (M,), of win, draw and loss, see `outcomes`; NaN without them
    """

    pair_inversion: Floats
    rank_deviation: Floats
    log_loss: Floats
    brier: Floats
    gain: Floats
    calibration: Floats
    by_experience: Floats
    outcome_log_loss: Floats
    rps: Floats


@inner_kernel
def _arrange(predicted: PredictedTeams, m: int, ranked: MatchTeams, places: Places) -> int:
    """Fill in the scored teams of a match and the counts of better ones; return their number.

    This is a counting sort by rank.
    """
    start, stop = predicted.offsets[m], predicted.offsets[m + 1]
    better, placed = places.better, places.seen
    better[: stop - start + 1] = 0
    placed[: stop - start] = 0
    for t in range(start, stop):
        better[predicted.rank[t] + 1] += predicted.weight[t] > 0
    for r in range(stop - start):
        better[r + 1] += better[r]
    for t in range(start, stop):
        if predicted.weight[t] > 0:
            rank = predicted.rank[t]
            i = better[rank] + placed[rank]
            placed[rank] += 1
            ranked.centre[i] = predicted.centre[t]
            ranked.variance[i] = predicted.variance[t]
            ranked.rank[i] = rank
            ranked.team[i] = t
    count: int = better[stop - start]
    return count


@inner_kernel
def score_matches(
    predicted: PredictedTeams,
    first_match: int,
    rule: Rule,
    scores: Scores,
    room: Room,
    experience: Experience,
) -> None:
    """Score the matches of some teams, the first of which has this number.

    experience : without rows of members it gets no scores
    """
    ranked, places = room.ranked, room.places
    of_order = OrderScores(scores.pair_inversion, scores.rank_deviation)
    grouped = len(experience.members) > 0
    for m in range(len(predicted.decided)):
        count = _arrange(predicted, m, ranked, places)
        if count < 2:
            continue
        if predicted.decided[m]:
            sort_by_prediction(ranked, count, places)
            scores.gain[m] = score_order(ranked, count, places, rule.as_authors, of_order)
        if grouped:
            begin_match(ranked, count, m, experience)
            if predicted.decided[m]:
                add_order(ranked, count, places.order, rule.as_authors, of_order, m, experience)
        if is_even(ranked, count):
            score_even_pairs(ranked, count, places.better, predicted.weight, scores)
            if grouped:
                add_even_pairs(ranked, count, m, experience)
        elif count <= rule.all_pairs:
            score_all_pairs(ranked, count, predicted.weight, rule.normal, scores)
            if grouped:
                add_all_pairs(ranked, count, rule.normal, room.pairs, m, experience)
        else:
            numbers, weight = (first_match + m, m), predicted.weight
            score_some_pairs(
                ranked, count, numbers, weight, rule.normal, room.pairs, scores, experience
            )


def score_teams(
    predicted: PredictedTeams, first_match: int, rule: Rule, members: Ints | None = None
) -> Scores:
    """Return the metrics of all predicted teams and their matches.

    first_match : number of the first match in the history; the pairs chosen in large matches
        depend on it
    members : shape (T, 3), see `Experience`; None for no scores by experience
    """
    teams, matches = len(predicted.rank), len(predicted.offsets) - 1
    largest = int(np.diff(predicted.offsets).max(initial=0))
    room = Room(*room_for(largest), PairRoom(*np.empty((3, largest))))
    if members is None:
        experience = experience_room(np.zeros((0, 3), np.int64), 0, 0)
    else:
        experience = experience_room(members, matches, largest)
    scores = Scores(
        np.zeros(teams),
        np.zeros(teams),
        np.zeros(teams),
        np.zeros(teams),
        np.zeros(matches),
        np.zeros(CALIBRATION),
        experience.sums,
        np.full(matches, np.nan),
        np.full(matches, np.nan),
    )
    score_matches(predicted, first_match, rule, scores, room, experience)
    return scores
