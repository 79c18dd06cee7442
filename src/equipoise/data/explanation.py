"""Why one match changed one player's rating, in numbers that add up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """One part of a change of rating.

    name : its source, short: "this match", "earlier performances"
    change : rating points; all parts of an explanation add up to the total change
    reason : a sentence that explains its size
    """

    name: str
    change: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One intermediate number of the computation of the change.

    name : as in the documentation: "performance", "diffused deviation"
    value : in `unit`
    unit : "points", "places", "" for a plain number
    meaning : a sentence
    """

    name: str
    value: float
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opponent:
    """The effect of one opponent or opposing team.

    player : id
    rank : place, from 1
    rating, deviation : before the match
    score : 1 beaten, 1/2 tied, 0 lost to
    expected : the score that was expected
    effect : change of the performance by this result in rating points, or of the rating in systems
      without performances; to first order if the effects of opponents are not additive
    """

    player: object
    rank: int
    rating: float
    deviation: float
    score: float
    expected: float
    effect: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The part of one remembered performance in the new rating.

    match : id, None for the prior and the performances merged into it
    time : days since 1970, NaN if unknown
    performance : rating points
    weight : fraction of the new rating, which is the mean of performances with these weights
    change : weight x (performance - rating before): its part of the change
    """

    match: object
    time: float
    performance: float
    weight: float
    change: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why the rating of a player changed in a match.

    system : name
    match, player : ids
    time : days since 1970, NaN without times
    rank, tied, teams : place from 1, others in the same place, number of teams
    weight : of the match
    rating_before, deviation_before, rating, deviation : rating points; NaN for no deviation
    expected, score : expected and actual share of opponents beaten; a tie counts one half
    contributions : parts of the change; they sum to rating - rating_before to 1e-9
    quantities : the intermediate numbers from the result to the change, in order
    opponents : those with the largest effect, in that order
    remembered : newest first; empty for systems that remember nothing
    least_change, largest_change : bounds of the change over all possible results; NaN if the system
      has no bound
    """

    system: str
    match: object
    player: object
    time: float
    rank: int
    tied: int
    teams: int
    weight: float
    rating_before: float
    deviation_before: float
    rating: float
    deviation: float
    expected: float
    score: float
    contributions: tuple[Contribution, ...]
    quantities: tuple[Quantity, ...]
    opponents: tuple[Opponent, ...]
    remembered: tuple[Remembered, ...] = ()
    least_change: float
    largest_change: float
