"""Codeforces' system: published numbers, examples by hand, the slow reference, invariants."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Floats, Ints
from equipoise.errors import ConvergenceError, InvalidParameterError
from equipoise.rating.registry import make_system
from equipoise.rating.replay import replay
from equipoise.rating.state import State
from equipoise.rating.systems import codeforces
from equipoise.rating.systems.codeforces import Codeforces, perform_on_one_thread
from equipoise.rating.systems.contest import PARALLEL_FROM, mean_places
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
from reference.codeforces import SlowCodeforces

# Rating points; the documented tolerance. Both solve the same equations.
TOLERANCE = 1e-9

#: Fields that no contest would have, but a history may.
UNLIKELY = [
    [1500.0, 9_000.0],
    [-1e6, 0.0, 1e6],
    [1500.0] * 7 + [1501.0],
    [0.0, 1e4, 2e4, 3e4, 4e4, 5e4],
    [1e9, 1e9, 1e9 + 100.0],
    [1500.0 + 1e-9, 1500.0, 1500.0 - 1e-9],
]


def rated(system: Codeforces, ratings: Sequence[float] | Floats) -> State:
    """Return the state of players who stand at these ratings."""
    state = system.initial(len(ratings))
    state.column("rating")[:] = ratings
    return state


def one(system: Codeforces, ratings: Sequence[float] | Floats, ranks: Sequence[int]) -> Trace:
    """Rate one contest of players at these ratings."""
    return rate(system, rated(system, ratings), one_contest(ranks))


# --- published, and by hand --------------------------------------------------------------------


def test_400_points_are_ten_to_one() -> None:
    """[CF]_: the probability to win is 1/(1 + 10^(difference/400)); about 0.76 for 200 points."""
    pairs = Codeforces().outlook(np.array([1900.0, 1500.0]), np.full(2, 350.0)).pairs()
    assert pairs[0, 1] == pytest.approx(10 / 11, abs=1e-15)
    pairs = Codeforces().outlook(np.array([1700.0, 1500.0]), np.full(2, 350.0)).pairs()
    assert pairs[0, 1] == pytest.approx(1 / (1 + 10**-0.5), abs=1e-15)


def test_a_duel_of_newcomers_by_hand() -> None:
    """s = 3/2 for both; 2/(1 + e^y) = sqrt(r s) - 1/2 at y = (x - 1500) ln(10)/400, half of it."""
    trace = one(Codeforces(), [1500.0, 1500.0], [0, 1])
    for i, r in enumerate((1.0, 2.0)):
        y = math.log(2.0 / (math.sqrt(1.5 * r) - 0.5) - 1.0)
        performance = 1500.0 + 400.0 / math.log(10.0) * y
        assert trace["performance"][i] == pytest.approx(performance, abs=1e-10)
        assert trace["rating"][i] == pytest.approx((1500.0 + performance) / 2, abs=1e-10)
    # The geometric mean lies nearer to the better place: the winner gains more than was lost.
    assert trace["rating"].sum() > 3000.0


def test_whoever_finishes_where_expected_stays() -> None:
    """r = s makes sqrt(r s) = s, which the rating solves: so it is with equals who tie."""
    for ratings, ranks in (([1500.0] * 2, [0, 0]), ([1730.0] * 9, [0] * 9)):
        trace = one(Codeforces(rate_all_ties=True), ratings, ranks)
        np.testing.assert_allclose(trace["rating"], ratings, rtol=0, atol=1e-11)


def test_deviations_stay_as_they_began() -> None:
    """READINGS B12: deviations play no part; those after any contest are the initial one."""
    for deviation in (350.0, 20.0):
        state, trace = run(Codeforces(initial_deviation=deviation), [Contest((0, 1, 2), (0, 1, 2))])
        assert trace["deviation"].tolist() == [deviation] * 3
        assert trace["deviation_before"].tolist() == [deviation] * 3
    played = run(Codeforces(initial_deviation=20.0), [Contest((0, 1, 2), (0, 1, 2))])[1]
    np.testing.assert_array_equal(played["rating"], trace["rating"])
    assert state.players == 3


def test_places_of_those_who_tie_are_their_mean() -> None:
    """READINGS B12: (better - worse + n + 1)/2."""
    ranks = np.array([2, 0, 1, 1, 2, 2])
    places = [(np.sum(ranks < r) - np.sum(ranks > r) + len(ranks) + 1) / 2 for r in ranks]
    assert mean_places(ranks).tolist() == places == [5.0, 1.0, 2.5, 2.5, 5.0, 5.0]


# --- the slow reference --------------------------------------------------------------------------


@examples(200)
@given(
    contests(timed=None, weighted=True, capped=True, max_contests=8),
    st.floats(20.0, 900.0),
    st.floats(0.05, 20.0),
    st.booleans(),
)
def test_every_rating_equals_that_of_the_slow_reference(
    played: list[Contest], beta: float, weight: float, rate_all_ties: bool
) -> None:
    """Duels, ties, weights, contests that are skipped (B7, B12), ceilings (B8)."""
    options = {"beta": beta, "weight": weight, "rate_all_ties": rate_all_ties}
    slow = SlowCodeforces(**options)
    state, trace = run(Codeforces(**options), played)
    start = 0
    for contest in played:
        ceiling = math.inf if contest.ceiling is None else contest.ceiling
        done = slow.rate(contest.players, contest.ranks, contest.weight, ceiling)
        rows = slice(start, start + len(contest.players))
        for name in ("expected", "rating_before", "rating", "performance"):
            expected = getattr(done, name) if done else math.nan
            np.testing.assert_allclose(trace[name][rows], expected, rtol=0, atol=TOLERANCE)
        start = rows.stop
    for row, rating in enumerate(state.column("rating")):
        assert rating == pytest.approx(slow.rating(row), abs=TOLERANCE)


@pytest.mark.parametrize("ratings", UNLIKELY, ids=str)
def test_unlikely_fields_equal_the_slow_reference(ratings: list[float]) -> None:
    """Far apart, all but equal, huge: the two agree to rounding at that magnitude."""
    for ranks in (range(len(ratings)), range(len(ratings))[::-1], [0] * (len(ratings) - 1) + [1]):
        slow = SlowCodeforces(ratings=dict(enumerate(ratings)))
        done = slow.rate(range(len(ratings)), list(ranks))
        assert done is not None
        trace = one(Codeforces(), ratings, list(ranks))
        for name in ("rating", "performance", "expected"):
            np.testing.assert_allclose(trace[name], getattr(done, name), rtol=4e-16, atol=TOLERANCE)


def random_field(n: int, spread: float, seed: int) -> tuple[Floats, Ints]:
    """Return (ratings, ranks), many newcomers, many ties."""
    rng = np.random.default_rng(seed)
    ratings = rng.normal(1500, spread, n)
    ratings[rng.random(n) < 0.2] = 1500.0
    shown = rng.logistic(ratings, 150)
    return ratings, dense(-np.where(rng.random(n) < 0.5, np.round(shown, -2), np.round(shown)))


@pytest.mark.parametrize(
    ("n", "spread", "beta"),
    [
        (49, 300.0, 315.0),
        (50, 300.0, 315.0),
        (51, 300.0, 20.0),
        (60, 1e6, 315.0),  # sparse: more intervals than a series is worth
        pytest.param(400, 300.0, 65.0, marks=needs_jit),
    ],
)
def test_fields_on_both_sides_of_the_series_equal_the_slow_reference(
    n: int, spread: float, beta: float
) -> None:
    """Small and sparse fields are summed directly, others by series."""
    ratings, ranks = random_field(n, spread, seed=n)
    slow = SlowCodeforces(beta=beta, ratings=dict(enumerate(ratings.tolist())))
    done = slow.rate(range(n), ranks.tolist())
    assert done is not None
    trace = one(Codeforces(beta=beta), ratings, ranks.tolist())
    for name in ("rating", "performance", "expected"):
        np.testing.assert_allclose(
            trace[name], getattr(done, name), rtol=4e-16, atol=TOLERANCE, err_msg=name
        )


@needs_jit
@pytest.mark.parametrize("beta", [65.0, 315.0])
@pytest.mark.parametrize("n", [1_000, 10_000])
def test_large_contests_are_exact(n: int, beta: float) -> None:
    """The equation changes its sign within 1e-9 points of every performance looked at.

    It is summed over all players in numbers of 64 bits after the point; the first, the last, and
    a sample. It falls with x, so a change of sign is proof.
    """
    ratings, ranks = random_field(n, 350.0, seed=n)
    scale = math.sqrt(3.0) * beta / math.pi
    _, found, residual = perform_on_one_thread(ratings, mean_places(ranks), 1.0 / scale)
    assert residual < 0
    mu = ratings.astype(np.longdouble)

    def seen_above(x: np.longdouble) -> np.longdouble:
        return (1 / (1 + np.exp((x - mu) / np.longdouble(scale)))).sum()

    by_rating, by_rank = np.argsort(ratings), np.argsort(ranks)
    ends = [*by_rating[:4], *by_rating[-4:], *by_rank[:4], *by_rank[-4:]]
    for i in [*ends, *range(0, n, n // 40)]:
        r = np.longdouble(mean_places(ranks)[i])
        q = np.sqrt(r * (seen_above(mu[i]) + 0.5))
        x = np.longdouble(found[i])
        assert seen_above(x - TOLERANCE) + 0.5 > q > seen_above(x + TOLERANCE) + 0.5


# --- what it keeps -------------------------------------------------------------------------------


@examples(100)
@given(entrants(max_players=8), st.data())
def test_a_better_place_is_a_better_performance(field: Entrants, data: st.DataObject) -> None:
    """sqrt(r s) rises with the place: strictly better alone, all others as they were."""
    n = len(field.ratings)
    hero = data.draw(st.integers(0, n - 1))
    others = [i for i in range(n) if i != hero]
    shown = []
    for place in range(n):
        finish = [*others[:place], hero, *others[place:]]
        ranks = [finish.index(i) for i in range(n)]
        shown.append(one(Codeforces(), field.ratings, ranks)["performance"][hero])
    assert np.all(np.diff(shown) < 0)


@examples(60)
@given(entrants(max_players=8), st.floats(0.25, 4.0))
def test_stretching_ratings_and_beta_stretches_performances(field: Entrants, factor: float) -> None:
    """Only differences in units of beta count; zero at the middle, where rounding is least."""
    ratings = np.array(field.ratings) - 1500.0
    once = one(Codeforces(beta=100.0, rate_all_ties=True), ratings, field.ranks)
    wide = one(Codeforces(beta=100.0 * factor, rate_all_ties=True), factor * ratings, field.ranks)
    np.testing.assert_allclose(
        wide["performance"], factor * once["performance"], rtol=1e-12, atol=1e-9
    )


def test_a_weight_narrows_performances_and_counts_more() -> None:
    """The authors' program: beta over the square root of the weight of a match, weight times it."""
    ratings, ranks = [1400.0, 1500.0, 1700.0], (1, 0, 2)
    weighted = history_of([Contest((0, 1, 2), ranks, weight=4.0)])
    system = Codeforces(beta=200.0, weight=0.5)
    trace = rate(system, rated(system, ratings), weighted)
    same = one(Codeforces(beta=100.0, weight=2.0), ratings, ranks)
    for name in ("performance", "rating", "expected"):
        np.testing.assert_allclose(trace[name], same[name], rtol=0, atol=1e-10)


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_unlikely_weights_keep_ratings_finite(weight: float) -> None:
    """A match that counts for nothing, and one that counts for everything."""
    played = history_of([Contest((0, 1, 2), (1, 0, 2), weight=weight)])
    state = rated(Codeforces(), [1400.0, 1500.0, 1700.0])
    trace = rate(Codeforces(), state, played)
    assert np.all(np.isfinite(trace["rating"]))
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
        replay(Codeforces(), history, threads=threads, trace=True) for threads in (1, 2, 3)
    )
    by_kernel = rated(Codeforces(), np.full(3000, 1500.0))
    for m in range(4):
        job = Codeforces().job(by_kernel, history, m, m + 1, None)
        assert codeforces.rate(job, 0, 1)[0] == -1
    np.testing.assert_array_equal(by_kernel.table, one_thread.state.state.table)
    assert one_thread.trace is not None
    for other in others:
        assert other.trace is not None
        np.testing.assert_array_equal(other.state.state.table, one_thread.state.state.table)
        for name, column in one_thread.trace.columns.items():
            np.testing.assert_array_equal(other.trace.columns[name], column)


def test_a_solver_that_gives_up_is_an_error_that_names_the_match(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Never rate with half a root. The residual is made up: real ones have not been seen."""
    monkeypatch.setattr(Codeforces, "loop", lambda job, start, stop: (start + 1, 0.25))
    history = history_of([Contest((0, 1), (0, 1))] * 3)
    with pytest.raises(ConvergenceError, match=r"codeforces, match 1,.*0\.25"):
        Codeforces().run(Codeforces().initial(2), history, 0, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": 0}, "beta must be from 1e-6 to 1e9; got 0"),
        ({"beta": "inf"}, "beta must be from 1e-6 to 1e9; got inf"),
        ({"weight": 0}, "weight must be positive; got 0"),
        ({"weight": "inf"}, "weight must be positive; got inf"),
    ],
)
def test_wrong_parameters_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        make_system("codeforces", settings)
