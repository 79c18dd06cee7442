"""Every metric of a prediction, for the teams of some matches at once.

What each of them is stands with its kernels: the order of a match in `evaluate.order` [EM]_ sec.
6.2, expected scores in `evaluate.pairwise`.
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
    Entrants,
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


class Field(NamedTuple):
    """The teams of some matches, T in M of them, and how they were predicted to perform.

    offsets : shape (M + 1,); the teams of match m are offsets[m]:offsets[m + 1]
    centre, variance : shape (T,); of performances, the variance in units of the curve
    rank : shape (T,), from 0 within the match
    weight : shape (T,), participations of the team that are scored; 0 leaves it out
    top : shape (T,), whether the team was among the first of the whole match
    decided : shape (M,), whether the teams that are scored have different ranks
    """

    offsets: Ints
    centre: Floats
    variance: Floats
    rank: Ints
    weight: Ints
    top: Flags
    decided: Flags


class Rule(NamedTuple):
    """How matches are scored.

    as_authors : count pairs predicted equal as correct, with places in the order of the result
    normal : the curve of expected scores is the normal one, not the logistic
    all_pairs : largest number of teams of a match of which every pair is scored
    """

    as_authors: bool
    normal: bool
    all_pairs: int


class Room(NamedTuple):
    """Room for the teams of the largest match."""

    entrants: Entrants
    places: Places
    pairs: PairRoom


class Scores(NamedTuple):
    """Metrics of every team (0 where it is left out) and match of a field.

    pair_inversion, rank_deviation : shape (T,), percent; 0 in matches that are not decided
    log_loss, brier : shape (T,)
    gain : shape (M,), normalised discounted cumulative gain, 0 in matches not decided
    calibration : shape CALIBRATION, see `PairScores`
    by_experience : shape (M, groups, columns), see `evaluate.experience`; zero where not asked for
    """

    pair_inversion: Floats
    rank_deviation: Floats
    log_loss: Floats
    brier: Floats
    gain: Floats
    calibration: Floats
    by_experience: Floats


@inner_kernel
def _arrange(field: Field, m: int, entrants: Entrants, places: Places) -> int:
    """Fill in the teams of a match that are scored and the counts of better ones; return how many.

    A counting sort by rank.
    """
    start, stop = field.offsets[m], field.offsets[m + 1]
    better, placed = places.better, places.seen
    better[: stop - start + 1] = 0
    placed[: stop - start] = 0
    for t in range(start, stop):
        better[field.rank[t] + 1] += field.weight[t] > 0
    for r in range(stop - start):
        better[r + 1] += better[r]
    for t in range(start, stop):
        if field.weight[t] > 0:
            rank = field.rank[t]
            i = better[rank] + placed[rank]
            placed[rank] += 1
            entrants.centre[i] = field.centre[t]
            entrants.variance[i] = field.variance[t]
            entrants.rank[i] = rank
            entrants.team[i] = t
    count: int = better[stop - start]
    return count


@inner_kernel
def score_matches(
    field: Field,
    first_match: int,
    rule: Rule,
    scores: Scores,
    room: Room,
    experience: Experience,
) -> None:
    """Score the matches of a field, the first of which has this number.

    experience : without rows of members nothing is scored by it
    """
    entrants, places = room.entrants, room.places
    of_order = OrderScores(scores.pair_inversion, scores.rank_deviation)
    of_pairs = PairScores(scores.log_loss, scores.brier, scores.calibration)
    grouped = len(experience.members) > 0
    for m in range(len(field.decided)):
        count = _arrange(field, m, entrants, places)
        if count < 2:
            continue
        if field.decided[m]:
            sort_by_prediction(entrants, count, places)
            scores.gain[m] = score_order(entrants, count, places, rule.as_authors, of_order)
        if grouped:
            begin_match(entrants, count, m, experience)
            if field.decided[m]:
                add_order(entrants, count, places.order, rule.as_authors, of_order, m, experience)
        if is_even(entrants, count):
            score_even_pairs(entrants, count, places.better, field.weight, of_pairs)
            if grouped:
                add_even_pairs(entrants, count, m, experience)
        elif count <= rule.all_pairs:
            score_all_pairs(entrants, count, field.weight, rule.normal, of_pairs)
            if grouped:
                add_all_pairs(entrants, count, rule.normal, room.pairs, m, experience)
        else:
            numbers = (first_match + m, m)
            score_some_pairs(
                entrants,
                count,
                numbers,
                field.weight,
                rule.normal,
                room.pairs,
                of_pairs,
                experience,
            )


def score_field(field: Field, first_match: int, rule: Rule, members: Ints | None = None) -> Scores:
    """Return the metrics of every team and match of a field.

    first_match : number of its first match in the history; which pairs of a large match are
        scored depends on it
    members : shape (T, 3), see `Experience`; None scores nothing by experience
    """
    teams, matches = len(field.rank), len(field.offsets) - 1
    largest = int(np.diff(field.offsets).max(initial=0))
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
    score_matches(field, first_match, rule, scores, room, experience)
    return scores
