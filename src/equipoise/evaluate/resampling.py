"""How far ratings would have come out otherwise: ratings of resampled histories.

A system without deviations says nothing on how certain its ratings are. The bootstrap does: draw as
many matches as there are, with replacement, rate them in the order of the history, and see how much
the ratings of each player vary. This is the variation by the luck of which matches were played and
how they ended. It is not the distance to a strength that the ratings have yet to reach.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.history import History
from equipoise.numeric.workers import Workers
from equipoise.rating.draws import start_counting
from equipoise.rating.replay import check_fit, pieces
from equipoise.rating.system import RatingSystem

#: Least number of resampled histories with matches of a player, for a deviation of their ratings.
_LEAST_ROUNDS = 10


class RatingsAfter(NamedTuple):
    """Ratings of the P players of a history after some of its matches, each of shape (K, P).

    deviation : NaN if the system has none; matches : rated so far
    """

    rating: Floats
    deviation: Floats
    matches: Floats


def ratings_after(
    system: RatingSystem, history: History, stops: Ints, workers: Workers | None = None
) -> RatingsAfter:
    """Return the ratings after the first `stops[k]` matches, for each k.

    stops : shape (K,), never decreasing
    Raises : ConvergenceError
    """
    state = system.initial(0)
    state.grow(history.players)
    start_counting(state)
    everyone = np.arange(history.players)
    found = np.full((3, len(stops), history.players), np.nan)
    rated = 0
    for number, stop in enumerate(stops.tolist()):
        for low, high in pieces(history, rated, stop):
            system.run(state, history, low, high, None, workers)
        rated = stop
        columns = system.at(state, everyone, None)
        for part, name in zip(found, RatingsAfter._fields, strict=True):
            part[number] = columns[name]
    return RatingsAfter(*found)


def bootstrap_deviations(
    system: RatingSystem,
    history: History,
    stops: Ints,
    *,
    rounds: int,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Floats:
    """Return the standard deviation of every player's rating over resampled histories.

    stops : as in `ratings_after`; of a resampled history, the drawn ones of these matches count
    rounds : number of resampled histories
    progress : called with (rounds done, rounds)
    Returns : shape (K, P); NaN where fewer than ten of the histories have a match of the player
    Raises : ConvergenceError
    """
    check_fit(system, history)
    rng = np.random.default_rng(seed)
    ratings = np.full((rounds, len(stops), history.players), np.nan)
    with Workers(threads) as workers:
        for number in range(rounds):
            drawn = np.sort(rng.integers(0, history.matches, history.matches))
            ends = np.searchsorted(drawn, stops)
            after = ratings_after(system, some_matches(history, drawn), ends, workers)
            ratings[number] = np.where(after.matches > 0, after.rating, np.nan)
            if progress is not None:
                progress(number + 1, rounds)
    known = np.sum(~np.isnan(ratings), axis=0)
    enough = known >= _LEAST_ROUNDS
    found = np.full(enough.shape, np.nan)
    found[enough] = np.nanstd(ratings[:, enough], axis=0, ddof=1)
    return found


def some_matches(history: History, chosen: Ints) -> History:
    """Return some matches of a history with the same players, renumbered from 1.

    chosen : numbers of matches, never decreasing; one may be there several times
    """
    sizes = history.sizes()[chosen]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = np.arange(offsets[-1]) + np.repeat(history.offsets[chosen] - offsets[:-1], sizes)

    def of_rows(column: Ids | None) -> Ids | None:
        return None if column is None else column[rows]

    def of_matches(column: Ids | None) -> Ids | None:
        return None if column is None else column[chosen]

    return replace(
        history,
        match_ids=np.arange(1, len(chosen) + 1),
        offsets=offsets,
        player=history.player[rows],
        team=history.team[rows],
        rank=history.rank[rows],
        time=of_matches(history.time),
        order=of_matches(history.order),
        weight=of_matches(history.weight),
        performance_ceiling=of_matches(history.performance_ceiling),
        beta=of_matches(history.beta),
        gamma=of_matches(history.gamma),
        performance=of_rows(history.performance),
        share=of_rows(history.share),
        statistics={name: column[rows] for name, column in history.statistics.items()},
        attributes={name: column[rows] for name, column in history.attributes.items()},
        team_labels=of_rows(history.team_labels),
    )
