"""TopCoder's system: examples by hand, the slow reference, what it keeps and what not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Floats, Ints
from equipoise.errors import InvalidParameterError
from equipoise.rating.registry import make_system
from equipoise.rating.replay import replay
from equipoise.rating.state import State
from equipoise.rating.systems import topcoder
from equipoise.rating.systems.contest import PARALLEL_FROM, mean_places
from equipoise.rating.systems.topcoder import TopCoder, places_on_one_thread, spread_of_field
from rating.histories import (
    Contest,
    Entrants,
    Trace,
    contests,
    dense,
    entrants,
    history_of,
    needs_jit,
    one_contest,
    rate,
    run,
)
from reference.topcoder import Player, SlowTopCoder

# Rating points; the documented tolerance. Both compute the same formulas.
TOLERANCE = 1e-9


def rated(
    system: TopCoder,
    ratings: Sequence[float] | Floats,
    volatilities: Sequence[float] | Floats | float,
    contests: Sequence[int] | int = 0,
) -> State:
    """Return the state of players who stand like this."""
    state = system.initial(len(ratings))
    state.column("rating")[:] = ratings
    state.column("deviation")[:] = volatilities
    state.column("matches")[:] = contests
    return state


def one(
    system: TopCoder,
    ratings: Sequence[float] | Floats,
    volatilities: Sequence[float] | Floats | float,
    ranks: Sequence[int],
) -> Trace:
    """Rate the first contest of players who stand like this."""
    return rate(system, rated(system, ratings, volatilities), one_contest(ranks))


# --- by hand -------------------------------------------------------------------------------------


def test_a_duel_of_newcomers_by_hand() -> None:
    """C = 350, e/n = 1/2, a/n = 1/4: one quartile, 0.6745 C, of which w/(1 + w) = 0.6."""
    trace = one(TopCoder(), [1500.0, 1500.0], 350.0, [0, 1])
    apart = 350.0 * 0.6744897501960817
    np.testing.assert_allclose(trace["performance"], [1500 + apart, 1500 - apart], atol=1e-10)
    np.testing.assert_allclose(
        trace["rating"], [1500 + 0.6 * apart, 1500 - 0.6 * apart], atol=1e-10
    )
    volatility = math.sqrt((0.6 * apart) ** 2 / 1.5 + 350.0**2 / 2.5)
    np.testing.assert_allclose(trace["deviation"], volatility, atol=1e-10)


def test_whoever_finishes_where_expected_stays_and_is_steadier() -> None:
    """e = a: no surprise, and the volatility falls by sqrt(1 + w), sqrt 2.5 the first time."""
    trace = one(TopCoder(rate_all_ties=True), [1730.0] * 9, 200.0, [0] * 9)
    np.testing.assert_allclose(trace["rating"], 1730.0, rtol=0, atol=1e-11)
    np.testing.assert_allclose(trace["deviation"], 200.0 / math.sqrt(2.5), rtol=1e-12)


@pytest.mark.parametrize(("contest", "cap"), [(1, 900.0), (2, 650.0), (5, 400.0), (99, 165.0)])
def test_no_change_passes_the_cap(contest: int, cap: float) -> None:
    """[TC]_: 150 + 1500/(k + 1) in the k-th contest, which an outsider's win reaches."""
    system = TopCoder()
    ratings = [-9_000.0, *[1500.0] * 200]
    state = rated(system, ratings, 300.0, contest - 1)
    trace = rate(system, state, one_contest(list(range(201))))
    assert trace["rating"][0] - ratings[0] == pytest.approx(cap, rel=1e-12)
    # The performance and the volatility are what they would be without it.
    assert trace["performance"][0] - ratings[0] > 2 * cap
    assert trace["deviation"][0] > 300.0


def test_high_ratings_move_less_from_2000_and_from_2500_on() -> None:
    """[TC]_: a performance weighs 0.9 and 0.8 times as much; the same contest at three heights.

    So the zero of the scale is not arbitrary, unless the two bounds move with it.
    """
    moved = {}
    for height in (1999.0, 2000.0, 2499.0, 2500.0, 6500.0):
        trace = one(TopCoder(), [height, height], 350.0, [0, 1])
        moved[height] = trace["rating"][0] - height
        along = TopCoder(high_rating=height + 500, top_rating=height + 1000)
        trace = one(along, [height, height], 350.0, [0, 1])
        assert trace["rating"][0] - height == pytest.approx(moved[1999.0], abs=1e-9)
    apart = 350.0 * 0.6744897501960817
    for height, factor in ((1999.0, 1.0), (2000.0, 0.9), (2499.0, 0.9), (2500.0, 0.8)):
        w = 1.5 * factor
        assert moved[height] == pytest.approx(apart * w / (1 + w), abs=1e-9)
    assert moved[6500.0] == pytest.approx(moved[2500.0], abs=1e-9)


def test_the_chance_to_win_is_that_of_two_normal_performances() -> None:
    """READINGS B12: Phi((mu_i - mu_j)/sqrt(sigma_i^2 + sigma_j^2))."""
    pairs = TopCoder().outlook(np.array([1600.0, 1500.0]), np.array([300.0, 400.0])).pairs()
    assert pairs[0, 1] == pytest.approx(NormalDist().cdf(100 / 500), abs=1e-15)


# --- the slow reference --------------------------------------------------------------------------


@examples(200)
@given(
    contests(timed=None, weighted=True, capped=True, max_contests=8),
    st.floats(0.05, 0.95),
    st.floats(0.05, 0.95),
    st.sampled_from([800.0, 1500.0, 1990.0, 2490.0]),
    st.booleans(),
)
def test_every_rating_equals_that_of_the_slow_reference(
    played: list[Contest], noob: float, limit: float, initial: float, rate_all_ties: bool
) -> None:
    """Duels, ties, weights, caps, high ratings, ceilings, contests that are skipped (B7, B8)."""
    options = {
        "weight_noob": noob,
        "weight_limit": limit,
        "initial_rating": initial,
        "rate_all_ties": rate_all_ties,
    }
    slow = SlowTopCoder(**options)
    state, trace = run(TopCoder(**options), played)
    start = 0
    for contest in played:
        ceiling = math.inf if contest.ceiling is None else contest.ceiling
        done = slow.rate(contest.players, contest.ranks, contest.weight, ceiling)
        rows = slice(start, start + len(contest.players))
        for name, column in trace.items():
            expected = getattr(done, name) if done else math.nan
            np.testing.assert_allclose(column[rows], expected, rtol=0, atol=TOLERANCE, err_msg=name)
        start = rows.stop
    for row in range(state.players):
        player = slow.player(row)
        assert state.column("rating")[row] == pytest.approx(player.rating, abs=TOLERANCE)
        assert state.column("deviation")[row] == pytest.approx(player.volatility, abs=TOLERANCE)
        assert state.column("matches")[row] == player.contests


def random_field(n: int, spread: float, seed: int) -> tuple[Floats, Floats, Ints]:
    """Return (ratings, volatilities, ranks), many newcomers, many ties."""
    rng = np.random.default_rng(seed)
    ratings = rng.normal(1500, spread, n)
    volatilities = np.exp(rng.uniform(math.log(40), math.log(900), n))
    newcomers = rng.random(n) < 0.2
    ratings[newcomers], volatilities[newcomers] = 1500.0, 350.0
    shown = rng.normal(ratings, volatilities)
    ranks = dense(-np.where(rng.random(n) < 0.5, np.round(shown, -2), np.round(shown)))
    return ratings, volatilities, ranks


@pytest.mark.parametrize(
    ("n", "spread"), [(31, 300.0), (32, 300.0), (33, 1e6), (90, 300.0), (400, 300.0)]
)
def test_fields_with_and_without_waves_equal_the_slow_reference(n: int, spread: float) -> None:
    """Small and sparse fields are summed directly, others by waves."""
    ratings, volatilities, ranks = random_field(n, spread, seed=n)
    known = zip(ratings.tolist(), volatilities.tolist(), strict=True)
    slow = SlowTopCoder(players={i: Player(*values) for i, values in enumerate(known)})
    done = slow.rate(range(n), ranks.tolist())
    assert done is not None
    trace = one(TopCoder(), ratings, volatilities, ranks.tolist())
    for name, column in trace.items():
        np.testing.assert_allclose(
            column, getattr(done, name), rtol=4e-16, atol=TOLERANCE, err_msg=name
        )


@needs_jit
@pytest.mark.parametrize("spread", [150.0, 350.0, 1000.0])
@pytest.mark.parametrize("n", [1_000, 10_000])
def test_large_contests_are_exact(n: int, spread: float) -> None:
    """Performances, by exactly rounded sums of the C library's erfc over all players.

    The first, the last, the steadiest, and a sample.
    """
    ratings, volatilities, ranks = random_field(n, spread, seed=n)
    places = mean_places(ranks)
    found = places_on_one_thread(ratings, volatilities, places)
    spread_of_all = math.sqrt(
        math.fsum(volatilities**2) / n
        + math.fsum((ratings - math.fsum(ratings) / n) ** 2) / (n - 1)
    )
    assert spread_of_field(ratings, volatilities) == pytest.approx(spread_of_all, rel=1e-14)

    def deviate(above: float, below: float) -> float:
        z = NormalDist().inv_cdf(min(above, below) / n)
        return z if above < below else -z

    order, steady = np.argsort(ratings), np.argsort(volatilities)
    for i in [*order[:6], *order[-6:], *steady[:6], *range(0, n, n // 40)]:
        z = (ratings - ratings[i]) / np.hypot(volatilities, volatilities[i]) / math.sqrt(2)
        above = math.fsum(0.5 * math.erfc(-value) for value in z.tolist())
        below = math.fsum(0.5 * math.erfc(value) for value in z.tolist())
        actual = places[i] - 0.5
        apart = deviate(above, below) - deviate(actual, n - actual)
        assert spread_of_all * found.surprise[i] == pytest.approx(
            spread_of_all * apart, abs=TOLERANCE
        )


# --- what it keeps, and what it does not ---------------------------------------------------------


@examples(100)
@given(entrants(max_players=8), st.data())
def test_a_better_place_is_a_better_performance(field: Entrants, data: st.DataObject) -> None:
    """Strictly better alone, all others as they were; the rating may stand at a cap."""
    n = len(field.ratings)
    hero = data.draw(st.integers(0, n - 1))
    others = [i for i in range(n) if i != hero]
    shown = []
    for place in range(n):
        finish = [*others[:place], hero, *others[place:]]
        ranks = [finish.index(i) for i in range(n)]
        shown.append(one(TopCoder(), field.ratings, field.deviations, ranks)["performance"][hero])
    assert np.all(np.diff(shown) < 0)


def place_in(places: Sequence[int]) -> float:
    """Return the rating after contests with these places among 19 steady players, always as new.

    They stand evenly from 1140 to 1860 with a volatility of 60, finish in that order, and have
    twenty contests behind them.
    """
    others = 19
    system = TopCoder()
    ratings = np.append(1500.0 + 800.0 * (np.arange(others) - 9.0) / 20.0, 1500.0)
    state = rated(system, ratings, [60.0] * others + [350.0], [20] * others + [0])
    fresh = state.table[:others].copy()
    for place in places:
        state.table[:others] = fresh
        order = list(range(others))[::-1]
        order.insert(place - 1, others)
        ranks = [order.index(i) for i in range(others + 1)]
        rate(system, state, one_contest(ranks))
    return float(state.table[others, 0])


def test_a_thrown_contest_can_raise_a_later_rating() -> None:
    """[EM]_ section 5.1: losing on purpose raises the volatility, which then pays.

    Second of twenty eighteen times, or the same with the eleventh contest thrown: the rating seven
    contests later is higher by more than 50 points. Elo-MMR excludes that (Theorem 5.5).
    """
    honest = [2] * 18
    thrown = [2] * 10 + [20] + [2] * 7
    assert place_in(thrown) > place_in(honest) + 50.0


def test_no_surprise_for_ever_leaves_a_positive_volatility() -> None:
    """Draws of equals shrink it by sqrt(1 + w) each; at 1e-6 points it is held."""
    history = history_of([Contest((0, 1), (0, 0))] * 300)
    system = TopCoder()
    state = system.initial(2)
    system.run(state, history, 0, 300)
    assert state.column("deviation").tolist() == [1e-6, 1e-6]
    trace = rate(system, state, history_of([Contest((0, 1), (0, 1))]))
    assert np.all(np.isfinite(trace["rating"]))


def test_a_weight_sharpens_chances_and_counts_more() -> None:
    """The authors' program: differences count sqrt m times as much, w is multiplied by m."""
    played = history_of([Contest((0, 1, 2), (1, 0, 2), weight=4.0)])
    known = [Player(1400.0, 200.0), Player(1500.0, 300.0), Player(1700.0, 100.0)]
    slow = SlowTopCoder(players=dict(enumerate(known)))
    done = slow.rate(range(3), [1, 0, 2], 4.0)
    assert done is not None
    state = rated(TopCoder(), [1400.0, 1500.0, 1700.0], [200.0, 300.0, 100.0])
    trace = rate(TopCoder(), state, played)
    for name, column in trace.items():
        np.testing.assert_allclose(column, getattr(done, name), rtol=0, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_unlikely_weights_keep_ratings_finite(weight: float) -> None:
    """A match that counts for nothing, and one that counts for everything."""
    played = history_of([Contest((0, 1, 2), (1, 0, 2), weight=weight)])
    state = rated(TopCoder(), [1400.0, 1500.0, 1700.0], 350.0)
    trace = rate(TopCoder(), state, played)
    assert np.all(np.isfinite(trace["rating"]))
    assert np.all(trace["deviation"] > 0)
    if weight < 1:
        np.testing.assert_allclose(trace["rating"], trace["rating_before"], rtol=0, atol=1e-9)


@needs_jit
def test_the_number_of_threads_changes_no_bit() -> None:
    """1, 2 and 3 threads, large contests among small ones, with ties: the same bits."""
    rng = np.random.default_rng(4)
    played = []
    for size, places in ((40, 30), (PARALLEL_FROM + 700, 900), (3, 1), (PARALLEL_FROM, 5000)):
        players = rng.permutation(3000)[:size]
        ranks = rng.integers(0, places, size) + players // 10
        played.append(Contest(tuple(players.tolist()), tuple(ranks.tolist())))
    history = history_of(played, 3000)
    one_thread, *others = (
        replay(TopCoder(), history, threads=threads, trace=True) for threads in (1, 2, 3)
    )
    by_kernel = TopCoder().initial(3000)
    for m in range(4):
        topcoder.rate(TopCoder().job(by_kernel, history, m, m + 1, None), 0, 1)
    np.testing.assert_array_equal(by_kernel.table, one_thread.state.state.table)
    assert one_thread.trace is not None
    for other in others:
        assert other.trace is not None
        np.testing.assert_array_equal(other.state.state.table, one_thread.state.state.table)
        for name, column in one_thread.trace.columns.items():
            np.testing.assert_array_equal(other.trace.columns[name], column)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weight_noob": 1}, "weight_noob must be between 0 and 1; got 1"),
        ({"weight_limit": 0}, "weight_limit must be between 0 and 1; got 0"),
        ({"cap_noob": -1}, "cap_noob must be at least 0; got -1"),
        ({"cap_limit": 0}, "cap_limit must be positive; got 0"),
        ({"top_factor": 0}, "top_factor must be positive; got 0"),
        ({"high_rating": 2600}, "high_rating must be at most top_rating; got 2600"),
    ],
)
def test_wrong_parameters_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        make_system("topcoder", settings)
