"""Explanations of `codeforces` and `topcoder`: what every opponent moved, bounds, and the cap."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.data.explanation import Explanation
from equipoise.rating.explaining import explain_change
from equipoise.rating.state import State
from equipoise.rating.systems.codeforces import Codeforces
from equipoise.rating.systems.topcoder import TopCoder
from rating.histories import Entrants, entrants, one_contest, rate, standing

Platform = Codeforces | TopCoder

every_platform = pytest.mark.parametrize(
    "system", [Codeforces(rate_all_ties=True), TopCoder(rate_all_ties=True)], ids=lambda s: s.name
)


def state_of(system: Platform, field: Entrants) -> State:
    """Return the state of these players."""
    if isinstance(system, Codeforces):
        return standing(system, rating=field.ratings)
    return standing(system, rating=field.ratings, deviation=field.deviations)


def explained(system: Platform, field: Entrants, row: int) -> Explanation:
    """Explain the only contest of these players to one of them."""
    return explain_change(system, state_of(system, field), one_contest(field.ranks), 0, row)


def value(found: Explanation, name: str) -> float:
    """Return a quantity."""
    return next(one.value for one in found.quantities if one.name == name)


@every_platform
@examples(60)
@given(entrants(max_players=9), st.data())
def test_effects_of_opponents_lead_from_the_rating_to_the_performance(
    system: Platform, field: Entrants, data: st.DataObject
) -> None:
    """They sum to the whole way, to 1e-9, and each has the sign of its surprise."""
    row = data.draw(st.integers(0, len(field.ratings) - 1))
    found = explained(system, field, row)
    way = value(found, "performance") - found.rating_before
    assert math.fsum(one.effect for one in found.opponents) == pytest.approx(way, abs=1e-9)
    for one in found.opponents:
        surprise = one.score - one.expected
        assert abs(surprise) < 1e-9 or one.effect * surprise > 0


@every_platform
@examples(40)
@given(entrants(max_players=7), st.data())
def test_bounds_are_the_changes_of_the_last_and_the_first_place(
    system: Platform, field: Entrants, data: st.DataObject
) -> None:
    """Alone in them; the system itself rates the contest with those results."""
    n = len(field.ratings)
    row = data.draw(st.integers(0, n - 1))
    found = explained(system, field, row)
    for bound, own in ((found.least_change, n), (found.largest_change, -1)):
        ranks = list(field.ranks)
        ranks[row] = own
        trace = rate(system, state_of(system, field), one_contest(ranks))
        assert bound == pytest.approx(trace["rating"][row] - field.ratings[row], abs=1e-9)


@every_platform
def test_places_are_said_as_people_count_them(system: Platform) -> None:
    """Expected and actual place from 1; those who tie share the mean of theirs."""
    found = explained(system, Entrants([1500.0] * 4, [200.0] * 4, [0, 1, 1, 2]), 1)
    assert value(found, "expected place") == pytest.approx(2.5, abs=1e-12)
    assert value(found, "place") == pytest.approx(2.5, abs=1e-12)
    assert found.expected == pytest.approx(0.5, abs=1e-12)
    assert found.score == pytest.approx(0.5, abs=1e-12)
    assert [part.name for part in found.contributions] == [
        "players beaten",
        "players tied with",
        "players lost to",
    ]
    duel = explained(system, Entrants([1500.0] * 2, [200.0] * 2, [0, 1]), 0)
    assert [part.name for part in duel.contributions] == ["the win"]
    assert duel.contributions[0].reason == "scored 1 where 0.50 was expected"


def test_the_cap_has_a_part_of_its_own() -> None:
    """[TC]_: what a change has beyond 150 + 1500/(k + 1) is taken off, with a reason."""
    field = Entrants([-9_000.0, *[1500.0] * 40], [300.0] * 41, list(range(41)))
    system = TopCoder()
    found = explained(system, field, 0)
    assert found.rating - found.rating_before == pytest.approx(900.0, abs=1e-9)
    cap = found.contributions[-1]
    assert (cap.name, value(found, "cap")) == ("the cap", 900.0)
    assert "contest 1 of this player changes the rating by at most 900 points" in cap.reason
    uncapped = value(found, "share") * (value(found, "performance") - found.rating_before)
    assert cap.change == pytest.approx(900.0 - uncapped, abs=1e-9)
    assert value(found, "volatility") == found.deviation
    # Where the cap is not reached, nothing is said of it.
    names = [part.name for part in explained(system, field, 20).contributions]
    assert names == ["players beaten", "players lost to"]


@every_platform
def test_a_ceiling_has_a_part_of_its_own(system: Platform) -> None:
    """READINGS B8: it caps what counts, not what was shown, and the parts still add up."""
    field = Entrants([1500.0] * 4, [200.0] * 4, [0, 1, 1, 2])
    free = explained(system, field, 0)
    state = state_of(system, field)
    held = explain_change(system, state, one_contest(field.ranks, ceiling=1520.0), 0, 0)
    assert value(held, "performance") == value(free, "performance") > 1520.0
    assert value(held, "performance ceiling") == 1520.0
    assert held.contributions[0] == free.contributions[0]
    part = held.contributions[-1]
    assert part.name == "the performance ceiling"
    share = value(held, "share")
    assert part.change == pytest.approx(share * (1520.0 - value(free, "performance")), abs=1e-9)
    change = math.fsum(one.change for one in held.contributions)
    assert change == pytest.approx(held.rating - held.rating_before, abs=1e-9)
    assert held.rating == pytest.approx(1500.0 + share * 20.0, abs=1e-9)
    # Who performs below it is rated as without it, to the bit.
    last = explain_change(system, state, one_contest(field.ranks, ceiling=1520.0), 0, 3)
    assert last.rating == explained(system, field, 3).rating
    assert "the performance ceiling" not in [one.name for one in last.contributions]
