"""What must not matter to Elo-MMR and Elo-MMR-chi, and what must come out the same to the bit."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Floats
from equipoise.data.history import History
from equipoise.numeric.workers import Workers
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from equipoise.rating.elo_mmr.gaussian import gaussian_on_one_thread, gaussian_on_workers
from equipoise.rating.elo_mmr.performance import (
    order_by_place,
    solve_on_one_thread,
    solve_on_workers,
)
from equipoise.rating.replay import replay
from equipoise.rating.systems.contest import PARALLEL_FROM
from rating.histories import (
    Contest,
    Entrants,
    Trace,
    assert_same_bits,
    contests,
    dense,
    entrants,
    every_model,
    history_of,
    needs_jit,
    newcomers,
    one_contest,
    parameters,
    rate,
    run,
)

Model = type[EloMMRParameters]

#: Rating points: the same equations, their terms added up in another order.
ROUNDING = 1e-9


def assert_same_trace_bits(one: Trace, other: Trace) -> None:
    """Compare two traces; NaN is itself."""
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


# --- scale, direction, order -----------------------------------------------------------------


@every_model
@examples(60)
@given(
    contests(timed=True, weighted=True, capped=True),
    parameters(),
    st.sampled_from([0.01, 0.5, 3.0, 100.0]),
    st.sampled_from([-700.0, 0.0, 2500.0]),
)
def test_a_linear_change_of_scale_changes_results_likewise(
    model: Model, played: list[Contest], chosen: dict[str, float], factor: float, shift: float
) -> None:
    """[EM]_ section 4.1: applied to all location and scale parameters, and to the outputs."""
    scaled = dict(chosen)
    for name in ("sigma_limit", "beta", "gamma", "initial_deviation"):
        if name in scaled:
            scaled[name] *= factor
    scaled["initial_rating"] = 1500 * factor + shift
    scaled["drift_per_day"] = chosen.get("drift_per_day", 0.0) * factor**2
    moved = [
        contest._replace(
            ceiling=None if contest.ceiling is None else contest.ceiling * factor + shift
        )
        for contest in played
    ]
    _, before = run(model(**chosen), played)
    _, after = run(model(**scaled), moved)
    # Rounding of numbers of size 1500 factor + |shift|, after six contests.
    tolerance = 1e-11 * (1500 * factor + abs(shift))
    for name in ("rating", "performance"):
        expected = before[name] * factor + shift
        np.testing.assert_allclose(after[name], expected, rtol=0, atol=tolerance, err_msg=name)
    np.testing.assert_allclose(after["deviation"], before["deviation"] * factor, rtol=1e-12, atol=0)
    np.testing.assert_allclose(after["expected"], before["expected"], rtol=0, atol=1e-11)


@every_model
@examples(60)
@given(contests(timed=True, weighted=True), parameters())
def test_an_upside_down_history_mirrors_ratings(
    model: Model, played: list[Contest], chosen: dict[str, float]
) -> None:
    """Both models are symmetric: exchanging wins and losses mirrors ratings at 1500."""
    reversed_ = [
        contest._replace(ranks=tuple(-rank for rank in contest.ranks)) for contest in played
    ]
    _, before = run(model(**chosen), played)
    _, after = run(model(**chosen), reversed_)
    for name in ("rating", "performance"):
        np.testing.assert_allclose(after[name], 3000 - before[name], rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(after["deviation"], before["deviation"], rtol=0, atol=0)


@every_model
@examples(60)
@given(entrants(min_players=3), parameters(), st.data())
def test_the_order_of_tied_players_does_not_matter(
    model: Model, field: Entrants, chosen: dict[str, float], data: st.DataObject
) -> None:
    """Permuting the rows of players who share a place permutes their new ratings."""
    system = model(**chosen)
    ranks = np.array(field.ranks)
    ranks[1] = ranks[0]
    place = data.draw(st.sampled_from(sorted(set(ranks.tolist()))), label="place")
    tied = np.flatnonzero(ranks == place)
    order = np.arange(len(ranks))
    order[tied] = tied[data.draw(st.permutations(range(len(tied))), label="order")]
    ratings, deviations = np.array(field.ratings), np.array(field.deviations)
    before = rate(system, newcomers(system, ratings, deviations), one_contest(dense(ranks)))
    after = rate(
        system, newcomers(system, ratings[order], deviations[order]), one_contest(dense(ranks))
    )
    for name, column in before.items():
        np.testing.assert_allclose(after[name], column[order], rtol=0, atol=ROUNDING, err_msg=name)


# --- the same bits ---------------------------------------------------------------------------


def large_history(seed: int) -> History:
    """Return two contests, tied and not, large enough for threads, with small ones around them."""
    rng = np.random.default_rng(seed)
    played = []
    for size, places in ((40, 30), (PARALLEL_FROM + 700, 900), (3, 1), (PARALLEL_FROM, 5000)):
        players = rng.permutation(3000)[:size]
        ranks = rng.integers(0, places, size) + players // 10
        played.append(Contest(tuple(players.tolist()), tuple(ranks.tolist())))
    return history_of(played, 3000)


@needs_jit
@pytest.mark.parametrize(
    "system",
    [EloMMR(), EloMMR(rho=math.inf, split_ties=True), EloMMX(), EloMMX(split_ties=True)],
    ids=["elo-mmr", "elo-mmr-inf-split", "elo-mmx", "elo-mmx-split"],
)
def test_the_number_of_threads_changes_no_bit(system: EloMMRParameters) -> None:
    """1, 2 and 3 threads, on contests of more than 2,048 with ties: the same bits."""
    history = large_history(seed=4)
    assert history.sizes().max() > PARALLEL_FROM
    assert history.distinct_ranks().max() < history.sizes().max()
    one, *others = (replay(system, history, threads=n, trace=True) for n in (1, 2, 3))
    assert one.trace is not None
    for other in others:
        assert other.trace is not None
        assert_same_bits(other.state.state, one.state.state)
        assert_same_trace_bits(other.trace.columns, one.trace.columns)


@pytest.mark.parametrize(
    ("on_one_thread", "on_workers", "n"),
    [
        (solve_on_one_thread, solve_on_workers, 3000),
        (gaussian_on_one_thread, gaussian_on_workers, 1100),
        pytest.param(
            gaussian_on_one_thread, gaussian_on_workers, 3000, marks=[needs_jit, pytest.mark.slow]
        ),
        pytest.param(
            gaussian_on_one_thread, gaussian_on_workers, 20_000, marks=[needs_jit, pytest.mark.slow]
        ),
    ],
)
@pytest.mark.parametrize("split_ties", [False, True])
def test_threads_solve_what_one_kernel_solves(
    on_one_thread: Callable[..., tuple[Floats, float]],
    on_workers: Callable[..., tuple[Floats, float]],
    n: int,
    split_ties: bool,
) -> None:
    """Both ways through phase one give the same bits, so a contest's size is no cliff."""
    rng = np.random.default_rng(11)
    order, places = order_by_place(dense(rng.integers(0, n // 4, n)))
    ratings, slopes = rng.normal(1500, 300, n)[order], 1 / rng.uniform(110, 220, n)[order]
    alone, residual = on_one_thread(ratings, slopes, places, split_ties)
    assert residual < 0
    for threads in (1, 3):
        with Workers(threads) as workers:
            shared, residual = on_workers(ratings, slopes, places, split_ties, workers)
        assert residual < 0
        np.testing.assert_array_equal(shared, alone)
