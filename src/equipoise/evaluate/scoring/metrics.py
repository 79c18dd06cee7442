"""All metrics of a prediction, for the teams of several matches at once.

`order` defines the metrics of the order of a match [EM]_ sec. 6.2, `pairwise` those of expected
scores, `experience` their parts by the number of earlier matches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel
from equipoise.arrays import Flags, Floats, Ints
from equipoise.evaluate.scoring.experience import (
    Experience,
    add_even_pairs,
    add_order,
    begin_match,
    experience_room,
)
from equipoise.evaluate.scoring.order import (
    MatchTeams,
    OrderScores,
    Places,
    room_for,
    score_order,
    sort_by_prediction,
)
from equipoise.evaluate.scoring.pairwise import (
    CALIBRATION,
    PairRoom,
    PairScores,
    add_all_pairs,
    is_even,
    score_all_pairs,
    score_even_pairs,
    score_some_pairs,
)


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
    calibration : shape CALIBRATION, see `PairScores`
    by_experience : shape (M, groups, columns), see `experience`; zero if not requested
    """

    pair_inversion: Floats
    rank_deviation: Floats
    log_loss: Floats
    brier: Floats
    gain: Floats
    calibration: Floats
    by_experience: Floats


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
    of_pairs = PairScores(scores.log_loss, scores.brier, scores.calibration)
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
            score_even_pairs(ranked, count, places.better, predicted.weight, of_pairs)
            if grouped:
                add_even_pairs(ranked, count, m, experience)
        elif count <= rule.all_pairs:
            score_all_pairs(ranked, count, predicted.weight, rule.normal, of_pairs)
            if grouped:
                add_all_pairs(ranked, count, rule.normal, room.pairs, m, experience)
        else:
            numbers = (first_match + m, m)
            score_some_pairs(
                ranked,
                count,
                numbers,
                predicted.weight,
                rule.normal,
                room.pairs,
                of_pairs,
                experience,
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
    room = Room(
        *room_for(largest), PairRoom(np.empty(largest), np.empty(largest), np.empty(largest))
    )
    if members is None:
        experience = experience_room(np.zeros((0, 3), np.int64), 0, 0, room.places.discount)
    else:
        experience = experience_room(members, matches, largest, room.places.discount)
    scores = Scores(
        np.zeros(teams),
        np.zeros(teams),
        np.zeros(teams),
        np.zeros(teams),
        np.zeros(matches),
        np.zeros(CALIBRATION),
        experience.sums,
    )
    score_matches(predicted, first_match, rule, scores, room, experience)
    return scores
