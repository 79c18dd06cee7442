"""Plans in the shapes that farming of volatility is known to have.

Source: [EM]_ section 5.1 and its references: alternate bad results and good ones, then play one's
best. The authors' own example [EML]_ comes in last whenever the rating is above a threshold.

A plan throws some of the first matches, in one of these ways, and ends with honest ones. Thrown is
to come in last; option 0 of a match is honest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equipoise.evaluate.incentive_courses import Course, Plan

#: (matches of a beat, thrown beats of it, beats until it begins again): everything; alternating
#: blocks; one of three and two of three.
_RHYTHMS = (
    (1, 1, 1),
    *((block, 1, 2) for block in (1, 2, 3, 5, 10, 20)),
    (1, 1, 3),
    (1, 2, 3),
)

#: Thresholds, as shares of the way from the rating before the first match down to where throwing
#: everything leads.
_DEPTHS = (0.0, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)


def honest(course: Course) -> Plan:
    """Return the plan in which nothing is thrown."""
    return (0,) * len(course.options)


def last_places(course: Course) -> Plan:
    """Return the plan in which everything is thrown."""
    return tuple(options - 1 for options in course.options)


def farming_plans(course: Course) -> list[Plan]:
    """Return plans in these shapes, each once, in a fixed order."""
    plans = [
        plan
        for thrown in (*_rhythms(course), *_thresholds(course))
        for plan in _with_honest_end(thrown)
    ]
    return list(dict.fromkeys(plans))


def toggles_at_the_end(course: Course, matches: int) -> Iterator[Plan]:
    """Yield all plans that throw some of the last so many matches, in the order of numbers."""
    least, most = honest(course), last_places(course)
    first = len(least) - matches
    for pattern in range(2**matches):
        bits = [pattern >> (matches - 1 - n) & 1 for n in range(matches)]
        yield least[:first] + tuple(
            most[first + n] if bit else least[first + n] for n, bit in enumerate(bits)
        )


def _rhythms(course: Course) -> Iterator[Plan]:
    """Yield plans that throw in a rhythm, from the first match on or from the middle."""
    most = last_places(course)
    for start in (0, len(most) // 2):
        for block, thrown, period in _RHYTHMS:
            yield tuple(
                last if n >= start and (n - start) // block % period < thrown else 0
                for n, last in enumerate(most)
            )


def _thresholds(course: Course) -> Iterator[Plan]:
    """Yield plans that throw whenever the rating stands above a threshold."""
    most = last_places(course)
    before = course.before
    lowest = float(np.nanmin([before, *course.ratings(most)]))
    for depth in _DEPTHS:
        threshold = before - depth * (before - lowest)
        plan: Plan = ()
        rating = before
        for last in most:
            plan = (*plan, last if rating > threshold else 0)
            rating = float(course.ratings(plan)[-1])
        yield plan


def _with_honest_end(plan: Plan) -> Iterator[Plan]:
    """Yield a plan whose last matches are honest: 1, 2, 4, 8, ... of them."""
    honest_end = 1
    while honest_end < len(plan):
        yield plan[: len(plan) - honest_end] + (0,) * honest_end
        honest_end *= 2
