"""Worse places of a team, the shapes of plans, and a search that looks past what throwing costs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.evaluate.incentive_plans import (
    Plan,
    farming_plans,
    placements,
    search,
    worse_spots,
)
from equipoise.rating.one_match import OneMatch, history_of
from equipoise.rating.system import Capabilities
from rating.histories import one_contest
from reference.incentives import all_ranks

#: A study of many replays: `make test` has the tests of its parts.
pytestmark = pytest.mark.slow

ALL = Capabilities()


def by_hand(match: History, row: int, capabilities: Capabilities = ALL) -> list[tuple[int, int]]:
    found = placements(match, row, capabilities)
    return list(zip(found.place.tolist(), found.tied.tolist(), strict=True))


def test_a_duel_that_was_won_may_be_drawn_or_lost() -> None:
    """(place, others in it); where a system knows no draws, it may be lost."""
    assert by_hand(one_contest([0, 1]), 0) == [(1, 0), (1, 1), (2, 0)]
    assert by_hand(one_contest([0, 0]), 0) == [(1, 1), (2, 0)]
    assert by_hand(one_contest([0, 1]), 1) == [(2, 0)]
    assert by_hand(one_contest([0, 1]), 0, Capabilities(draws=False)) == [(1, 0), (2, 0)]


def test_a_contest_has_every_place_below_ties_included() -> None:
    """Second of a: b, c and d, e behind: ties with c, between, with d and e, last."""
    found = by_hand(one_contest([1, 0, 2, 3, 3]), 0)
    assert found == [(2, 0), (2, 1), (3, 0), (3, 2), (5, 0)]


def test_of_many_places_some_are_spread_evenly_and_the_last_is_one_of_them() -> None:
    found = by_hand(one_contest(list(range(100))), 9)
    assert [place for place, _ in found] == [10, 40, 70, 100]
    assert found[-1] == (100, 0)


def test_a_tie_of_all_that_would_not_be_rated_is_no_place() -> None:
    """READINGS B7: throwing must not mean to stay away."""
    skips = Capabilities(skips_all_tied=True)
    match = one_contest([0, 1, 1])
    assert by_hand(match, 0) == [(1, 0), (1, 2), (3, 0)]
    assert by_hand(match, 0, skips) == [(1, 0), (3, 0)]
    assert by_hand(one_contest([0, 1]), 0, skips) == [(1, 0), (1, 1), (2, 0)]


@examples(60)
@given(st.lists(st.integers(0, 4), min_size=5, max_size=5), st.integers(0, 4))
def test_places_are_those_of_slow_code(ranks: list[int], row: int) -> None:
    """Every rank tried, and kept where fewer are below."""
    match = one_contest(ranks)
    expected = all_ranks(match, 0, row)
    others = np.unique(np.delete(match.rank, row))
    assert len(worse_spots(others, int(match.rank[row]), ties=True)) == len(expected) - 1
    found = placements(match, row, ALL)
    if len(expected) <= 7:
        np.testing.assert_array_equal(np.array(found.ranks), np.array(expected))


def test_the_whole_team_is_placed() -> None:
    match = history_of([OneMatch((2, 2, 2), (0, 1, 2))])
    found = placements(match, 1, ALL)
    assert [ranks.tolist() for ranks in found.ranks] == [
        [0, 0, 1, 1, 2, 2],
        [0, 0, 0, 0, 1, 1],
        [1, 1, 0, 0, 2, 2],
        [1, 1, 0, 0, 1, 1],
        [2, 2, 0, 0, 1, 1],
    ]
    assert found.tied.tolist() == [0, 1, 0, 1, 0]


@dataclass
class Volatile:
    """A rater by hand: throwing costs 10 now; every win pays 1 and 1 more for each earlier throw.

    So throwing the first half and winning the second is best: nothing shows before the end.
    """

    matches: int
    options: list[int] = field(init=False)
    before: float = 0.0
    tried: list[Plan] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.options = [2] * self.matches

    def ratings(self, plan: Plan) -> Floats:
        self.tried.append(plan)
        worth, rating, ratings = 1.0, 0.0, []
        for thrown in plan:
            rating += -10.0 if thrown else worth
            worth += 1.0 if thrown else 0.0
            ratings.append(rating)
        return np.array(ratings)

    def best(self) -> float:
        count = self.matches
        return max(self.ratings((1,) * n + (0,) * (count - n))[-1] for n in range(count + 1))


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize(("matches", "budget"), [(6, 100), (6, 64), (40, 300), (60, 300)])
def test_what_pays_only_at_the_end_is_found(matches: int, budget: int) -> None:
    """The best last rating, known in closed form; the best beginnings throw nothing."""
    rater = Volatile(matches)
    found = search(rater, budget, rng=rng())
    assert found.finals[found.gaining()] == rater.best()
    assert found.complete == (2**matches <= budget)


def test_the_budget_is_kept_and_every_plan_is_tried_once() -> None:
    rater, noted = Volatile(30), []
    found = search(rater, 150, rng=rng(), note=noted.append)
    assert len(found.finals) == 150
    assert noted == list(range(1, 151))


def test_where_nothing_pays_the_honest_plan_is_the_answer() -> None:
    """Also where another ends as high but for rounding."""

    class Rounding(Volatile):
        def ratings(self, plan: Plan) -> Floats:
            return np.array([1e-9 * sum(plan)] * len(plan))

    assert search(Rounding(5), 100, rng=rng()).gaining() == (0,) * 5


def test_plans_without_a_rating_are_counted_and_passed_over() -> None:
    class Runaway(Volatile):
        def ratings(self, plan: Plan) -> Floats:
            last = np.nan if sum(plan) > 2 else float(sum(plan))
            return np.array([0.0] * (len(plan) - 1) + [last])

    found = search(Runaway(4), 100, rng=rng())
    assert found.failed == 5
    assert found.finals[found.gaining()] == 2


def test_shapes_of_farming_end_honestly_and_are_each_tried_once() -> None:
    plans = farming_plans(Volatile(40))
    assert len(set(plans)) == len(plans) > 100
    assert all(plan[-1] == 0 for plan in plans)
    assert (1, 0) * 16 + (0,) * 8 in plans
    assert (1,) * 32 + (0,) * 8 in plans
