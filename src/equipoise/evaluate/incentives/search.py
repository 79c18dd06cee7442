"""A search for the plan that ends with the highest rating.

The search compares complete plans by their last rating. Extending the best beginnings would find
nothing, because volatility pays only at the end and costs rating until then. So the search tries

1. all plans, if the budget allows; the answer is then exact,
2. otherwise plans in the known shapes of farming,
3. all ways to throw some of the last matches,
4. from the best of these, changes of blocks and single matches and exchanges of neighbours, as long
   as the rating rises,
5. the same from random plans, until the budget is spent.

The plan it finds exists, so its gain is a lower bound of the possible gain. If it finds none, that
proves nothing, unless all plans were tried.

Source of the shapes: [EM]_ section 5.1 and its references: players alternate bad and good results,
then play their best. The authors' own example [EML]_ comes in last whenever the rating is above a
threshold. A plan throws some of the first matches in one of these ways and ends with honest ones.
To throw a match is to come in last; option 0 of a match is honest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import product

import numpy as np

from equipoise.data.audits import LEAST_GAIN
from equipoise.evaluate.incentives.plans import Plan, PlanRater

#: (matches of a block, thrown blocks, blocks of a period): everything; alternating blocks; one of
#: three and two of three.
_RHYTHMS = (
    (1, 1, 1),
    *((block, 1, 2) for block in (1, 2, 3, 5, 10, 20)),
    (1, 1, 3),
    (1, 2, 3),
)

#: Thresholds, as fractions of the way from the rating before the first match down to the lowest
#: rating when everything is thrown.
_DEPTHS = (0.0, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)


def honest(rater: PlanRater) -> Plan:
    """Return the plan in which nothing is thrown."""
    return (0,) * len(rater.options)


def last_places(rater: PlanRater) -> Plan:
    """Return the plan in which everything is thrown."""
    return tuple(options - 1 for options in rater.options)


def farming_plans(rater: PlanRater) -> list[Plan]:
    """Return plans in these shapes, each once, in a fixed order."""
    plans = [
        plan
        for thrown in (*_rhythms(rater), *_thresholds(rater))
        for plan in _with_honest_end(thrown)
    ]
    return list(dict.fromkeys(plans))


def toggles_at_the_end(rater: PlanRater, matches: int) -> Iterator[Plan]:
    """Yield all plans that throw some of the last `matches` matches, in binary order."""
    least, most = honest(rater), last_places(rater)
    first = len(least) - matches
    for pattern in range(2**matches):
        bits = [pattern >> (matches - 1 - n) & 1 for n in range(matches)]
        yield least[:first] + tuple(
            most[first + n] if bit else least[first + n] for n, bit in enumerate(bits)
        )


def _rhythms(rater: PlanRater) -> Iterator[Plan]:
    """Yield plans that throw in a rhythm, from the first match on or from the middle."""
    most = last_places(rater)
    for start in (0, len(most) // 2):
        for block, thrown, period in _RHYTHMS:
            yield tuple(
                last if n >= start and (n - start) // block % period < thrown else 0
                for n, last in enumerate(most)
            )


def _thresholds(rater: PlanRater) -> Iterator[Plan]:
    """Yield plans that throw whenever the rating is above a threshold."""
    most = last_places(rater)
    before = rater.before
    lowest = float(np.nanmin([before, *rater.ratings(most)]))
    for depth in _DEPTHS:
        threshold = before - depth * (before - lowest)
        plan: Plan = ()
        rating = before
        for last in most:
            plan = (*plan, last if rating > threshold else 0)
            rating = float(rater.ratings(plan)[-1])
        yield plan


def _with_honest_end(plan: Plan) -> Iterator[Plan]:
    """Yield a plan whose last matches are honest: 1, 2, 4, 8, ... of them."""
    honest_end = 1
    while honest_end < len(plan):
        yield plan[: len(plan) - honest_end] + (0,) * honest_end
        honest_end *= 2


#: Fractions of the budget for plans in the shapes of farming, and for the last matches.
_SHAPES, _LAST = 0.4, 0.2
#: Number of last matches of which all ways to throw some are tried, at most.
_MOST_LAST = 10
#: Number of best plans from which changes start, before random plans.
_STARTS = 4


class _SpentError(Exception):
    """All plans that the budget allows were tried."""


class Search:
    """Plans that were tried, and the last rating of each; -inf if there is none."""

    def __init__(
        self, rater: PlanRater, budget: int, note: Callable[[int], None] | None = None
    ) -> None:
        """`note` is called with the number of plans tried."""
        self._rater, self._budget, self._note = rater, budget, note
        self.finals: dict[Plan, float] = {}
        self.complete = False
        self.final(honest(rater))

    def final(self, plan: Plan) -> float:
        """Return the last rating of a plan. Raises : _SpentError before one too many is tried."""
        if plan not in self.finals:
            if len(self.finals) >= self._budget:
                raise _SpentError
            last = float(self._rater.ratings(plan)[-1])
            self.finals[plan] = last if math.isfinite(last) else -math.inf
            if self._note is not None:
                self._note(len(self.finals))
        return self.finals[plan]

    @property
    def failed(self) -> int:
        """Number of plans that leave the player without a rating."""
        return sum(final == -math.inf for final in self.finals.values())

    def best(self, count: int = 1) -> list[Plan]:
        """Return the plans with the highest last ratings; of equal ones, the first tried."""
        return sorted(self.finals, key=lambda plan: -self.finals[plan])[:count]

    def gaining(self) -> Plan:
        """Return the best plan, or the honest one if none gains more than rounding errors."""
        plan, fair = self.best()[0], honest(self._rater)
        return plan if self.finals[plan] - self.finals[fair] > LEAST_GAIN else fair

    def try_all(self, plans: Sequence[Plan], most: int) -> None:
        """Try at most `most` of these plans, evenly spread."""
        picked = np.linspace(0, len(plans) - 1, min(most, len(plans))).round().astype(np.int64)
        for number in picked.tolist():
            self.final(plans[number])

    def climb(self, plan: Plan) -> None:
        """Change blocks and single matches of a plan while that raises its last rating."""
        best, value, improved = plan, self.final(plan), True
        changes = _changes(last_places(self._rater))
        while improved:
            improved = False
            for change in changes:
                other = change(best)
                if other != best and self.final(other) > value:
                    best, value, improved = other, self.final(other), True


def search(
    rater: PlanRater,
    budget: int,
    *,
    rng: np.random.Generator,
    first: Sequence[Plan] = (),
    note: Callable[[int], None] | None = None,
) -> Search:
    """Return the plans that were tried, at most `budget` of them; at least 1 for the honest one.

    first : plans to start with, up to half the budget, instead of those in the shapes of farming
    rng : generator of the random plans
    """
    found = Search(rater, budget, note)
    found.complete = math.prod(rater.options) <= budget
    if found.complete:
        found.try_all(list(product(*map(range, rater.options))), budget)
        return found
    with suppress(_SpentError):
        if first:
            found.try_all(first[: budget // 2], budget)
        else:
            found.try_all(farming_plans(rater), int(_SHAPES * budget))
            _try_last(found, rater, int(_LAST * budget))
        for plan in found.best(_STARTS):
            found.climb(plan)
        for plan in _random_plans(rater, budget, rng):
            found.climb(plan)
    return found


def _try_last(found: Search, rater: PlanRater, budget: int) -> None:
    """Try all ways to throw some of the last matches, as many matches as the budget allows."""
    matches = min(_MOST_LAST, len(rater.options), max(budget, 1).bit_length() - 1)
    for plan in toggles_at_the_end(rater, matches):
        found.final(plan)


def _random_plans(rater: PlanRater, count: int, rng: np.random.Generator) -> Iterator[Plan]:
    """Yield plans that throw a random share of the matches before a random one."""
    most = last_places(rater)
    for _ in range(count):
        end, share = rng.integers(1, len(most) + 1), rng.choice([0.2, 0.5, 0.8])
        thrown = rng.random(len(most)) < share
        yield tuple(last if thrown[n] and n < end else 0 for n, last in enumerate(most))


def _changes(most: Plan) -> list[Callable[[Plan], Plan]]:
    """Return changes of a plan: of long blocks, then of shorter ones, then of single matches.

    Changes of late matches come first, as the beginnings of such plans are already rated.
    """
    count, nothing = len(most), (0,) * len(most)
    lengths = [2**power for power in range(max(count // 4, 1).bit_length() - 1, -1, -1)]
    places = range(count - 1, -1, -1)
    return [
        *(
            partial(_with_block, start=start, block=values[start : start + length])
            for length in lengths
            for start in range((count - 1) // length * length, -1, -length)
            for values in (nothing, most)
        ),
        *(partial(_exchanged, n=n - 1, most=most) for n in places if n),
        *(
            partial(_with_block, start=n, block=(option,))
            for n in places
            for option in range(1, most[n])
        ),
    ]


def _with_block(plan: Plan, start: int, block: Plan) -> Plan:
    """Return the plan with other options for some matches in a row."""
    return (*plan[:start], *block, *plan[start + len(block) :])


def _exchanged(plan: Plan, n: int, most: Plan) -> Plan:
    """Return the plan with match n thrown instead of n + 1, or n + 1 instead of n."""
    if bool(plan[n]) == bool(plan[n + 1]):
        return plan
    thrown = (0, most[n + 1]) if plan[n] else (most[n], 0)
    return (*plan[:n], *thrown, *plan[n + 2 :])
